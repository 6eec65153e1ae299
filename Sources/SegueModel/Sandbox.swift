// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The sandbox in which the process of an app runs, as the system tells (R13.8).
public struct Sandbox: Sendable {
  /// The bundle identifiers that an app in it may have; empty: the hub cannot ask which app is in it.
  public let identifiers: [String]

  public init(identifiers: [String]) { self.identifiers = identifiers }

  /// One that the hub cannot look into, because it is in a container itself or would have to ask a process.
  public static var nameless: Sandbox { Sandbox(identifiers: []) }

  /// Why an app that says this of itself may not register, or nil.
  public func refusal(of app: AppIdentity) -> SegueError? {
    guard !app.isChooser else {
      return SegueError(
        .notAllowed,
        identifiers.isEmpty
          ? "the hub cannot see where the app runs, and takes no chooser; segue-agent would"
          : "an app in a sandbox sees what is for it, and is no chooser")
    }
    guard let first = identifiers.first, !identifiers.contains(where: { Text.isSame($0, app.bundleIdentifier) }) else {
      return nil
    }
    return SegueError(
      .notAllowed, "the sandbox is that of \(first), and the app says that it is \(app.bundleIdentifier)")
  }

  // MARK: The words of the system

  /// The bytes of `.flatpak-info`, or of a file of procfs, that are read at most.
  public static let fileLimit = 64 * 1024

  /// The sandbox of a Flatpak.
  /// - Parameter info: the file `.flatpak-info`, in groups of keys (flatpak-metadata(5)).
  /// Nil unless all of its lines are of that form, and exactly one of them names the app.
  public init?(flatpak info: UnsafeRawBufferPointer) {
    guard info.count <= Self.fileLimit, !info.contains(0) else { return nil }
    var group: Slice<UnsafeRawBufferPointer>?
    var name: Slice<UnsafeRawBufferPointer>?
    for line in info.split(separator: UInt8(ascii: "\n")) where line.first != UInt8(ascii: "#") {
      if line.first == UInt8(ascii: "[") {
        guard line.count > 2, line.last == UInt8(ascii: "]") else { return nil }
        group = line
      } else {
        guard let group, let sign = line.firstIndex(of: UInt8(ascii: "=")), sign > line.startIndex else { return nil }
        guard group.elementsEqual("[Application]".utf8), line[..<sign].elementsEqual("name".utf8) else { continue }
        guard name == nil else { return nil }
        name = line[(sign + 1)...]
      }
    }
    guard let name, Self.isName(name) else { return nil }
    identifiers = [String(decoding: name, as: UTF8.self)]
  }

  /// The sandbox that the control group of a process is of: a Flatpak's or a Snap's.
  /// - Parameter cgroup: the file `/proc/PID/cgroup`. The innermost group counts, and before others one that names the
  ///   app of a Snap.
  /// Nil: of none.
  public init?(cgroup: UnsafeRawBufferPointer) {
    var found: [String] = []
    for unit in cgroup.split(whereSeparator: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\n") }) {
      let names = Self.flatpak(unit) ?? Self.snap(unit) ?? []
      if !names.isEmpty, names.count >= found.count { found = names }
    }
    guard !found.isEmpty else { return nil }
    identifiers = found
  }

  /// The app of `app-flatpak-ID-NUMBER.scope`, where a hyphen of ID is `\x2d`.
  private static func flatpak(_ unit: Slice<UnsafeRawBufferPointer>) -> [String]? {
    guard unit.starts(with: "app-flatpak-".utf8) else { return nil }
    let words = unit.dropFirst(12).split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard words.count == 2 else { return nil }
    var name: [UInt8] = []
    var rest = words[0]
    while let byte = rest.first {
      let isHyphen = rest.starts(with: "\\x2d".utf8)
      name.append(isHyphen ? UInt8(ascii: "-") : byte)
      rest = rest.dropFirst(isHyphen ? 4 : 1)
    }
    return isName(name) ? [String(decoding: name, as: UTF8.self)] : nil
  }

  /// The Snap of `snap.NAME.APP-UUID.scope` (`.UUID` before snapd 2.57) or `snap.NAME.APP.service`, and `snap.NAME` in
  /// the freezer of version 1 of control groups. The app may have the Snap's name, or both with `_` between.
  private static func snap(_ unit: Slice<UnsafeRawBufferPointer>) -> [String]? {
    guard unit.starts(with: "snap.".utf8) else { return nil }
    var tag = unit.dropFirst(5)
    if tag.reversed().starts(with: "epocs.".utf8) {
      // The suffix, the UUID and what is before it.
      tag = tag.dropLast(6 + 37)
    } else if tag.reversed().starts(with: "ecivres.".utf8) {
      tag = tag.dropLast(8)
    }
    let end = tag.firstIndex(of: UInt8(ascii: ".")) ?? tag.endIndex
    let name = tag[..<end]
    guard isName(name) else { return nil }
    let app = tag[end...].dropFirst()
    let first = String(decoding: name, as: UTF8.self)
    return isName(app) ? [first, String(joining: "\(first)_\(String(decoding: app, as: UTF8.self))")] : [first]
  }

  /// Whether it is of the characters of which identifiers of Flatpaks and names of Snaps are made.
  private static func isName(_ bytes: some Collection<UInt8>) -> Bool {
    !bytes.isEmpty && bytes.count <= Limits.identifier
      && bytes.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}

/// The standing of the process at the other end of a connection (R13.8).
public enum PeerStanding: Sendable {
  /// It is in no Flatpak and no Snap.
  case free
  case sandboxed(Sandbox)
  /// The system does not tell, or not in time. An app in a sandbox can bring that about, so it is taken for none.
  case refused(SegueError)
}
