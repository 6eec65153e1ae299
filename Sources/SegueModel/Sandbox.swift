// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The sandbox in which the process of an app runs, as the system tells (R13.8).
public struct Sandbox: Sendable {
  /// The bundle identifiers that an app in it may have; empty: the system does not say which app it is.
  public let identifiers: [String]

  public init(identifiers: [String]) { self.identifiers = identifiers }

  /// The system does not say which app is in it, or whether there is one.
  public static var unknown: Sandbox { Sandbox(identifiers: []) }

  /// Why an app that says this of itself may not register, or nil.
  public func refusal(of app: AppIdentity) -> SegueError? {
    if app.isChooser { return SegueError(.notAllowed, "an app in a sandbox sees what is for it, and is no chooser") }
    guard let first = identifiers.first, !identifiers.contains(where: { Text.isSame($0, app.bundleIdentifier) }) else {
      return nil
    }
    return SegueError(
      .notAllowed, "the sandbox is that of \(first), and the app says that it is \(app.bundleIdentifier)")
  }

  // MARK: What the system says

  /// The sandbox of a Flatpak.
  /// - Parameter info: the file `.flatpak-info` (flatpak-metadata(5)).
  public init(flatpak info: UnsafeRawBufferPointer) {
    var isApplication = false
    var name: String?
    for line in info.split(separator: UInt8(ascii: "\n")) {
      if line.first == UInt8(ascii: "[") {
        isApplication = line.elementsEqual("[Application]".utf8)
      } else if isApplication, name == nil, line.starts(with: "name=".utf8) {
        name = Text.decoded(Array(line.dropFirst(5)))
      }
    }
    self.init(identifiers: name.map { [$0] } ?? [])
  }

  /// The sandbox that the control group of a process is of: a Flatpak's or a Snap's.
  /// - Parameter cgroup: the file `/proc/PID/cgroup`.
  /// Nil: of none.
  public init?(cgroup: UnsafeRawBufferPointer) {
    for unit in cgroup.split(whereSeparator: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\n") }) {
      // app-flatpak-ID-NUMBER.scope, where a dash of ID is \x2d
      if unit.starts(with: "app-flatpak-".utf8) {
        let words = unit.dropFirst(12).split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard words.count == 2 else { continue }
        self.init(identifiers: [Text.decoded(Self.unescaped(words[0]))])
        return
      }
      // snap.NAME.APP.service, snap.NAME.APP-UUID.scope
      if unit.starts(with: "snap.".utf8) {
        let words = unit.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard words.count >= 4, !words[1].isEmpty else { continue }
        var app = Array(words[2])
        if words[words.count - 1].elementsEqual("scope".utf8) { app.removeLast(min(app.count, 37)) }
        self.init(identifiers: [Text.decoded(Array(words[1])), Text.decoded(words[1] + [UInt8(ascii: "_")] + app)])
        return
      }
    }
    return nil
  }

  /// Whether systemd keeps the process in a unit, so that its control group says what it is.
  public static func isInUnit(cgroup: UnsafeRawBufferPointer) -> Bool {
    let line = cgroup.split(separator: UInt8(ascii: "\n")).first ?? cgroup[..<0]
    return line.reversed().starts(with: "epocs.".utf8) || line.reversed().starts(with: "ecivres.".utf8)
  }

  /// Text with `\x2d` for a dash.
  private static func unescaped(_ text: Slice<UnsafeRawBufferPointer>) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.first {
      let isDash = rest.starts(with: "\\x2d".utf8)
      bytes.append(isDash ? UInt8(ascii: "-") : byte)
      rest = rest.dropFirst(isDash ? 4 : 1)
    }
    return bytes
  }
}
