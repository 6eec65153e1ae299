/// The hard limit of user_info, which the setter enforces (section 9).
enum UserInfoSize {
  static func check(_ userInfo: Value, limit: Int) throws(SegueError) {
    let size = userInfo.encoding.count
    guard size > limit else { return }
    let largest = (userInfo.entries ?? [])
      .map { (key: $0.key, size: $0.value.encoding.count) }
      .sorted { $0.size > $1.size }
      .prefix(3)
      .map { String(joining: "\(abbreviated($0.key.diagnostic)) \($0.size)") }
    throw SegueError(
      .userInfoTooLarge,
      "user_info: \(size) bytes, at most \(limit) are allowed; largest entries: \(largest.joined(by: ", "))")
  }

  private static func abbreviated(_ text: String) -> String {
    text.utf8.count <= 64 ? text : String(joining: "\(String(text.prefix(60)))…")
  }
}
