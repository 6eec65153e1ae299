/// A problem of an activity as a whole, or a likely surprise for its user (R1.14). Setters refuse values that are wrong
/// by themselves. So these problems appear only between properties, or over time.
public struct Problem: Sendable {
  /// The location, such as `user_info/"cursor"`.
  public let path: String
  public let status: Status
  public let message: String
}

extension Activity {
  /// All problems at once.
  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - containers: those of the activity's app.
  ///   - userInfoLimit: the most bytes of user_info.
  public func problems(
    at now: Double, _ containers: Containers = .none, userInfoLimit: Int = Limits.value
  ) -> [Problem] {
    var problems: [Problem] = []
    func report(_ path: DiagnosticText, _ status: Status, _ message: DiagnosticText) {
      problems.append(Problem(path: path.string, status: status, message: message.string))
    }
    if isExpired(at: now) { report("expiration_date", .invalidArgument, "is past: it is not offered") }
    if let requiredUserInfoKeys {
      var reader = ValueReader(requiredUserInfoKeys)
      _ = reader.next()
      // Both are in the order of their encodings.
      var entries = EntryFinder(userInfo ?? .emptyDictionary)
      while reader.next()?.kind != nil, let key = reader.take() {
        guard !entries.has(key) else { continue }
        report("user_info/\(key.briefDiagnostic)", .notFound, "is required, but absent")
      }
    }
    if eligibility.contains(.search), title == nil {
      report("title", .invalidArgument, "eligible for search, but there is nothing to find it by")
    }
    guard let userInfo else { return problems }
    if userInfo.encoding.count > Limits.advisedPayload {
      report(
        "user_info", .limitExceeded,
        "\(userInfo.encoding.count) bytes; \(Limits.advisedPayload) are advised, so that it continues at once")
    }
    var reader = ValueReader(userInfo)
    reader.forEachURL(path: "user_info") { path, url in
      if let missing = ContainerReference.missing(url) {
        guard containers[missing] == nil else { return }
        report(DiagnosticText(of: path), .notFound, "a file of the container \"\(missing)\", which the app lacks")
      } else if AbsoluteURL.isFileWithMore(url) {
        report(DiagnosticText(of: path), .invalidURL, "\(AbsoluteURL.more)")
      } else if AbsoluteURL(url)?.hasScheme("file") ?? false, containers.place(of: url) == nil {
        report(
          DiagnosticText(of: path), .invalidURL,
          "a file: URL outside every container means something on this device only")
      }
    }
    do throws(SegueError) {
      var writer = ValueWriter()
      try writer.put(userInfo, travellingFrom: containers, limit: userInfoLimit)
    } catch {
      report("user_info", error.status, "cannot travel, with files in containers as they do: \(error.message)")
    }
    return problems
  }
}

extension ValueReader {
  /// Every URL in the next item, with its path. Depth is bounded by `Limits.nesting`.
  fileprivate mutating func forEachURL(path: String, _ body: (String, String) -> Void) {
    guard let item = next(), let kind = item.kind else { return }
    switch kind {
    case .url:
      if let url = string { body(path, url) }
    case .array, .set:
      for index in 0..<item.count { forEachURL(path: String(joining: "\(path)/\(index)"), body) }
      _ = next()
    case .dictionary:
      for _ in 0..<item.count {
        let key = nextKey
        forEachURL(path: path, body)
        forEachURL(path: String(joining: "\(path)/\(key)"), body)
      }
      _ = next()
    default: break
    }
  }

  /// The next item, for people. Not inlined: a reader would be on the stack at each depth.
  private var nextKey: String {
    @inline(never) get {
      var reader = copy()
      _ = reader.next()
      return reader.take()?.briefDiagnostic ?? ""
    }
  }
}
