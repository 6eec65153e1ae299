/// The hard limit of user_info, which the setter enforces (section 9).
enum UserInfoSize {
  static func check(_ userInfo: Value, limit: Int) throws(SegueError) {
    let size = userInfo.encoding.count
    guard size > limit else { return }
    let largest = (userInfo.entries ?? [])
      .map { (key: $0.key, size: $0.value.encoding.count) }
      .sorted { $0.size > $1.size }
      .prefix(3)
      .map { "\(abbreviated($0.key.diagnostic)) \($0.size)" }
    throw SegueError(
      .userInfoTooLarge,
      "user_info: \(size) bytes, at most \(limit) are allowed; largest entries: \(joined(largest))")
  }

  private static func abbreviated(_ text: String) -> String {
    text.utf8.count <= 64 ? text : String(text.prefix(60)) + "…"
  }

  private static func joined(_ parts: [String]) -> String {
    var text = ""
    for part in parts { text += (text.isEmpty ? "" : ", ") + part }
    return text
  }
}
