// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@Suite struct ArrayTests {
  private func shortened(_ text: String, to limit: Int) -> String {
    var letters = Array(text)
    letters.shorten(to: limit) { $0.lowercased() == $1.lowercased() }
    return String(letters)
  }

  @Test func `the largest group loses its first element, of equals that whose first comes first`() {
    #expect(shortened("abAcaA", to: 5) == "bAcaA")
    #expect(shortened("abAcaA", to: 3) == "bcA", "a has more than the others until one is left")
    #expect(shortened("abAB", to: 3) == "bAB" && shortened("baAB", to: 3) == "aAB")
    #expect(shortened("abc", to: 2) == "bc")
  }

  @Test(arguments: [-1, 0, 3, 4])
  func `what is short enough stays, and nothing is removed from nothing`(limit: Int) {
    #expect(shortened("", to: limit) == "")
    #expect(shortened("abc", to: limit) == (limit < 3 ? "" : "abc"))
  }
}
