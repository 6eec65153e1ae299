// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// Answers of the control socket that have as many items as fit into a message.
@Suite struct PageTests {
  private func page(_ sizes: [Int], atMost limit: Int) throws -> (count: Int, hasMore: Bool) {
    let value = try ControlRequests.page("items", of: sizes, atMost: limit) { size throws(SegueError) in
      .string(String(repeating: "x", count: size))
    }
    #expect(value.encoding.count <= 64 * 1024)
    return (try #require(value["items"]?.elements).count, try #require(value["more"]?.bool as Bool?))
  }

  @Test func `a page ends before it is too long, and says whether there is more`() throws {
    #expect(try page([], atMost: 64) == (0, false))
    #expect(try page([Int](repeating: 10, count: 64), atMost: 64) == (64, false))
    #expect(try page([Int](repeating: 10, count: 65), atMost: 64) == (64, true))
    // Items as long as an entry of the inbox may be.
    #expect(try page([Int](repeating: 2_400, count: 64), atMost: 64) == (13, true))
    #expect(try page([40_000, 1], atMost: 64) == (1, true))
  }
}
