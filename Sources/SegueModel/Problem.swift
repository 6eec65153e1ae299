// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A problem of an activity as a whole, or a likely surprise for its user (R1.14). Setters refuse values that are wrong
/// by themselves. So these problems appear only between properties, or over time.
public struct Problem: Sendable {
  /// The location, such as `user_info/"cursor"`.
  public let path: String
  public let status: Status
  public let message: String
}

/// The problems of an activity, as many as there is room for.
private struct ProblemList {
  /// The most bytes of paths and messages, except those of the last problem.
  private static let limit = 1024 * 1024

  private(set) var problems: [Problem] = []
  private var size = 0
  private var omitted = 0

  var isFull: Bool { size >= Self.limit }

  mutating func add(_ path: DiagnosticText, _ status: Status, _ message: DiagnosticText) {
    guard !isFull else { return omit() }
    let problem = Problem(path: path.string, status: status, message: message.string)
    size += Text.size(problem.path) + Text.size(problem.message)
    problems.append(problem)
  }

  /// Counts a problem for which there is no room.
  mutating func omit() { omitted += 1 }

  /// Adds the number of problems for which there was no room.
  mutating func end() {
    guard omitted > 0 else { return }
    let message: DiagnosticText = "has \(omitted) more problems, which are not listed"
    problems.append(Problem(path: "user_info", status: .limitExceeded, message: message.string))
  }
}

extension Activity {
  /// All problems at once; of more than 1 MiB the last one says how many more there are.
  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - containers: those of the activity's app.
  ///   - userInfoLimit: the most bytes of user_info.
  public func problems(
    at now: Double, _ containers: Containers = .none, userInfoLimit: Int = Limits.value
  ) -> [Problem] {
    var list = ProblemList()
    if isExpired(at: now) { list.add("expiration_date", .invalidArgument, "is past: it is not offered") }
    if let requiredUserInfoKeys {
      var reader = ValueReader(requiredUserInfoKeys)
      _ = reader.next()
      // Both are in the order of their encodings.
      var entries = EntryFinder(userInfo ?? .emptyDictionary)
      while reader.next()?.kind != nil, let key = reader.take() {
        guard !entries.has(key) else { continue }
        list.add("user_info/\(key.briefDiagnostic)", .notFound, "is required, but absent")
      }
    }
    if eligibility.contains(.search), title == nil {
      list.add("title", .invalidArgument, "eligible for search, but there is nothing to find it by")
    }
    if let userInfo { list.add(problemsOf: userInfo, containers, limit: userInfoLimit) }
    list.end()
    return list.problems
  }
}

extension ProblemList {
  fileprivate mutating func add(problemsOf userInfo: Value, _ containers: Containers, limit: Int) {
    if userInfo.encoding.count > Limits.advisedPayload {
      add(
        "user_info", .limitExceeded,
        "\(userInfo.encoding.count) bytes; \(Limits.advisedPayload) are advised, so that it continues at once")
    }
    do throws(SegueError) {
      var writer = ValueWriter()
      try writer.put(userInfo, travellingFrom: containers, limit: limit)
    } catch {
      add("user_info", error.status, "cannot travel, with files in containers as they do: \(error.message)")
    }
    var reader = ValueReader(userInfo)
    var path = Array("user_info".utf8)
    reader.forEachURL(&path) { path, url in
      guard let (status, message) = Self.problem(of: url, containers) else { return }
      if isFull { omit() } else { add(DiagnosticText(of: Text.decoded(path)), status, message) }
    }
  }

  /// Nil if the URL means the same on other devices.
  private static func problem(of url: String, _ containers: Containers) -> (Status, DiagnosticText)? {
    if let missing = ContainerReference.missing(url) {
      guard containers[missing] == nil else { return nil }
      return (.notFound, "a file of the container \"\(missing)\", which the app lacks")
    }
    if AbsoluteURL.isFileWithMore(url) { return (.invalidURL, "\(AbsoluteURL.more)") }
    guard AbsoluteURL(url)?.hasScheme("file") ?? false, containers.place(of: url) == nil else { return nil }
    return (.invalidURL, "a file: URL outside every container means something on this device only")
  }
}

extension ValueReader {
  /// Every URL in the next item, with its path. Depth is bounded by `Limits.nesting`.
  /// - Parameter path: that of the item, as text.
  fileprivate mutating func forEachURL(_ path: inout [UInt8], _ body: ([UInt8], String) -> Void) {
    let length = path.count
    guard let item = next(), let kind = item.kind else { return }
    switch kind {
    case .url:
      if let url = string { body(path, url) }
    case .array, .set:
      for index in 0..<item.count {
        path.append(contentsOf: String(joining: "/\(index)").utf8)
        forEachURL(&path, body)
        path.removeLast(path.count - length)
      }
      _ = next()
    case .dictionary:
      for _ in 0..<item.count {
        let key = nextKey
        forEachURL(&path, body)
        path.append(contentsOf: String(joining: "/\(key)").utf8)
        forEachURL(&path, body)
        path.removeLast(path.count - length)
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
