// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The hard limit of user_info, which the setter enforces (section 9).
enum UserInfoSize {
  static func check(_ userInfo: Value, limit: Int) throws(SegueError) {
    let size = userInfo.encoding.count
    guard size > limit else { return }
    // A copy of each key and value, and the text of a key.
    try Memory.check(8 * size + 128 * (userInfo.count ?? 0))
    // A sort would be 5 KB of machine code.
    var largest: [(key: Value, size: Int)] = []
    for entry in userInfo.entries ?? [] {
      let size = entry.value.encoding.count
      largest.insert((entry.key, size), at: largest.firstIndex { $0.size < size } ?? largest.count)
      if largest.count > 3 { largest.removeLast() }
    }
    let texts = largest.map { String(joining: "\(abbreviated($0.key.diagnostic)) \($0.size)") }
    throw SegueError(
      .userInfoTooLarge,
      "user_info: \(size) bytes, at most \(limit) are allowed; largest entries: \(texts.joined(by: ", "))")
  }

  private static func abbreviated(_ text: String) -> String {
    guard Text.size(text) > 64 else { return text }
    return String(joining: "\(Text.start(of: text, atMost: 60))…")
  }
}
