import SegueModel

/// A program that the launcher is to start, as it crosses the socket between agent and launcher.
public struct LaunchRequest: Sendable {
  /// Bytes of an encoded request.
  static let sizeLimit = 64 * 1024
  /// The only variables that a request may set: where a program shows itself, and in which language.
  static let variables = [
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_SESSION_ID", "LANG",
    "XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID",
  ]

  /// The name of an environment variable and its value.
  public struct Variable: Sendable {
    public let name: String
    public let value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The bundle identifier of the app.
  public let app: String
  /// The program, by its absolute path or to be found in PATH, and its arguments.
  public let arguments: [String]
  /// The folder in which the program starts, absolute; nil: the launcher's.
  public let folder: String?
  /// From the local asker: of `variables`, those that replace the launcher's own.
  public let environment: [Variable]
  /// Whether the program needs a display: DISPLAY or WAYLAND_DISPLAY.
  public let isGraphical: Bool

  public init(
    app: String, arguments: [String], folder: String? = nil, environment: [Variable] = [], isGraphical: Bool
  ) {
    self.app = app
    self.arguments = arguments
    self.folder = folder
    self.environment = environment
    self.isGraphical = isGraphical
  }

  /// Throws INVALID_ARGUMENT, which names what is wrong.
  func check() throws(SegueError) {
    try Text.check(app, "launch: app", atMost: Limits.identifier)
    guard let program = arguments.first, !program.utf8.isEmpty else {
      throw SegueError(.invalidArgument, "launch of \(app): names no program")
    }
    guard arguments.count <= Limits.launchArguments else {
      throw SegueError(
        .limitExceeded, "launch of \(app): \(arguments.count) arguments, at most \(Limits.launchArguments) are allowed")
    }
    for text in arguments + (folder.map { [$0] } ?? []) + environment.map({ $0.value }) where text.utf8.contains(0) {
      throw SegueError(.invalidArgument, "launch of \(app): there is a NUL in an argument, a folder or a variable")
    }
    if let folder, folder.utf8.first != UInt8(ascii: "/") {
      throw SegueError(.invalidArgument, "launch of \(app): the folder \(folder) is not an absolute path")
    }
    for variable in environment where !Self.variables.contains(where: { Text.isSame($0, variable.name) }) {
      throw SegueError(.invalidArgument, "launch of \(app): the variable \(variable.name) may not be set")
    }
  }

  // MARK: - Encoding

  /// Encodes the request with its number. Throws LIMIT_EXCEEDED if it is too long.
  func encoded(as number: UInt64) throws(SegueError) -> [UInt8] {
    var writer = ValueWriter()
    try writer.begin(.array)
    try writer.put(number)
    try writer.put(app)
    if let folder { try writer.put(folder) } else { try writer.putNull() }
    try writer.put(isGraphical)
    try writer.begin(.array)
    for argument in arguments { try writer.put(argument) }
    try writer.end()
    try writer.begin(.array)
    for variable in environment {
      try writer.put(variable.name)
      try writer.put(variable.value)
    }
    try writer.end()
    try writer.end()
    guard writer.count <= Self.sizeLimit else {
      throw SegueError(
        .limitExceeded, "launch of \(app): \(writer.count) bytes, at most \(Self.sizeLimit) can be sent")
    }
    return writer.withWritten { Array($0) }
  }

  /// Nil unless the bytes are a numbered request.
  static func decode(_ bytes: UnsafeRawBufferPointer) -> (number: UInt64, request: LaunchRequest)? {
    guard bytes.count <= sizeLimit, var reader = FlatReader(bytes), reader.array() == 6,
      let number = reader.unsigned(), let app = reader.string(atMost: sizeLimit)
    else { return nil }
    var folder: String?
    if !reader.null() {
      guard let path = reader.string(atMost: sizeLimit) else { return nil }
      folder = path
    }
    guard let isGraphical = reader.bool(), let arguments = texts(&reader), let words = texts(&reader),
      words.count % 2 == 0
    else { return nil }
    let environment = stride(from: 0, to: words.count, by: 2).map { Variable(name: words[$0], value: words[$0 + 1]) }
    let request = LaunchRequest(
      app: app, arguments: arguments, folder: folder, environment: environment, isGraphical: isGraphical)
    return (number, request)
  }

  private static func texts(_ reader: inout FlatReader) -> [String]? {
    guard let count = reader.array() else { return nil }
    var texts: [String] = []
    for _ in 0..<count {
      guard let text = reader.string(atMost: sizeLimit) else { return nil }
      texts.append(text)
    }
    return texts
  }
}
