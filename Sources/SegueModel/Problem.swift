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

  /// - Parameter path: not asked for if there is no room.
  mutating func add(_ path: () -> DiagnosticText, _ status: Status, _ message: DiagnosticText) {
    guard size < Self.limit else { return omitted += 1 }
    let problem = Problem(path: path().string, status: status, message: message.string)
    size += Text.size(problem.path) + Text.size(problem.message)
    problems.append(problem)
  }

  mutating func add(_ path: DiagnosticText, _ status: Status, _ message: DiagnosticText) {
    add({ path }, status, message)
  }

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
    var reader = ValueReader(userInfo)
    var path = ValuePlace()
    reader.forEachURL(&path) { path, url in
      if let missing = ContainerReference.missing(url) {
        guard containers[missing] == nil else { return }
        add({ path.text }, .notFound, "a file of the container \"\(missing)\", which the app lacks")
      } else if AbsoluteURL.isFileWithMore(url) {
        add({ path.text }, .invalidURL, "\(AbsoluteURL.more)")
      } else if AbsoluteURL(url)?.hasScheme("file") ?? false, containers.place(of: url) == nil {
        add({ path.text }, .invalidURL, "a file: URL outside every container means something on this device only")
      }
    }
    do throws(SegueError) {
      var writer = ValueWriter()
      try writer.put(userInfo, travellingFrom: containers, limit: limit)
    } catch {
      add("user_info", error.status, "cannot travel, with files in containers as they do: \(error.message)")
    }
  }
}

/// The place of a value in user_info: its text is made only where a problem is reported.
private struct ValuePlace {
  enum Step {
    case index(Int)
    case key(String)
  }

  var steps: [Step] = []

  var text: DiagnosticText {
    var text = "user_info"
    for step in steps {
      switch step {
      case .index(let index): text = String(joining: "\(text)/\(index)")
      case .key(let key): text = String(joining: "\(text)/\(key)")
      }
    }
    return DiagnosticText(of: text)
  }
}

extension ValueReader {
  /// Every URL in the next item, with its path. Depth is bounded by `Limits.nesting`.
  fileprivate mutating func forEachURL(_ path: inout ValuePlace, _ body: (ValuePlace, String) -> Void) {
    guard let item = next(), let kind = item.kind else { return }
    switch kind {
    case .url:
      if let url = string { body(path, url) }
    case .array, .set:
      for index in 0..<item.count {
        path.steps.append(.index(index))
        forEachURL(&path, body)
        path.steps.removeLast()
      }
      _ = next()
    case .dictionary:
      for _ in 0..<item.count {
        let key = nextKey
        forEachURL(&path, body)
        path.steps.append(.key(key))
        forEachURL(&path, body)
        path.steps.removeLast()
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
