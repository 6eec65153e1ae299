// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueManifests
import SegueModel

// A process that reads manifests, for tests that compare it with other readers, and for the benchmark.
//
//     ManifestProbe lists     property lists: a path a line on standard input; the value, or the error, as a line
//     ManifestProbe exec      values of Exec, as hexadecimal digits, a line each; the arguments, or the error
//     ManifestProbe read      the manifests of this environment (XDG_DATA_HOME, XDG_DATA_DIRS), a line each
//     ManifestProbe bench N   figures, as "name value" lines: N readings of these manifests, and choices

func say(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  var written = 0
  while written < bytes.count {
    let count = bytes.withUnsafeBytes { write(1, $0.baseAddress! + written, $0.count - written) }
    guard count > 0 else { return }
    written += count
  }
}

func hex(_ text: String) -> String {
  let digits = Array("0123456789abcdef".utf8)
  var result: [UInt8] = []
  for byte in text.utf8 {
    result.append(digits[Int(byte >> 4)])
    result.append(digits[Int(byte & 15)])
  }
  return String(decoding: result, as: UTF8.self)
}

func shown(_ value: PropertyList) -> String {
  switch value {
  case .string(let text): return "s" + hex(text)
  case .integer(let number): return String(joining: "i\(number)")
  case .boolean(let answer): return answer ? "b1" : "b0"
  case .other: return String(joining: "o(\(value.kind))")
  case .array(let elements): return "a[" + elements.map(shown).joined(separator: ",") + "]"
  case .dictionary(let entries):
    return "d{" + entries.map { hex($0.key) + ":" + shown($0.value) }.joined(separator: ",") + "}"
  }
}

/// As one line, as everything that shows an error does: its message may quote a line break of a manifest.
func shown(_ error: SegueError) -> String {
  let message = String(decoding: Text.oneLine(error.message), as: UTF8.self)
  return String(joining: "error \(error.status.rawValue) \(message)")
}

/// The bytes of a file, as far as a manifest may have them and a byte more.
func bytes(of path: String) -> [UInt8] {
  let fd = linux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0)
  defer { _ = close(fd) }
  var bytes = [UInt8](repeating: 0, count: Limits.manifestBytes + 1)
  let count = read(fd, &bytes, bytes.count)
  return Array(bytes.prefix(max(0, count)))
}

func forEachLine(_ body: ([UInt8]) -> Void) {
  var pending: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 65_536)
  while true {
    let count = read(0, &buffer, buffer.count)
    guard count > 0 else { return }
    pending += buffer[..<count]
    while let end = pending.firstIndex(of: 0x0A) {
      body(Array(pending[..<end]))
      pending = Array(pending[(end + 1)...])
    }
  }
}

func readList(_ path: [UInt8]) {
  let content = bytes(of: String(decoding: path, as: UTF8.self))
  content.withUnsafeBytes { content in
    do throws(SegueError) { say(shown(try PropertyList.read(content))) } catch { say(shown(error)) }
  }
}

func readExec(_ digits: [UInt8]) {
  var value: [UInt8] = []
  for index in stride(from: 0, to: digits.count - 1, by: 2) {
    value.append(UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) ?? 0)
  }
  let fields = ExecLine.Fields(icon: "icon", name: "The Name", path: "/the/path.desktop")
  do throws(SegueError) {
    say(try ExecLine.arguments(value, fields).map(hex).joined(separator: " "))
  } catch {
    say(shown(error))
  }
}

func shown(_ app: AppDeclaration) -> String {
  var parts = [app.bundleIdentifier, "team=" + app.team, "name=" + app.name, "version=" + (app.version ?? "")]
  parts.append("types=" + app.types.joined(separator: ","))
  parts.append(
    "documents="
      + app.documentTypes.map { type in
        [type.name ?? "", type.contentTypes.joined(separator: "+"), type.role.name, type.activityType ?? ""]
          .joined(separator: ":")
      }.joined(separator: ","))
  parts.append("takes=" + (app.payloadVersions.map { $0.map { String($0) }.joined(separator: ",") } ?? "all"))
  parts.append("domains=" + app.domains.map { $0.text }.joined(separator: ","))
  parts.append("desktop=" + (app.desktopFile ?? ""))
  switch app.launch {
  case .command(let command):
    parts.append("launch=" + command.arguments.map(hex).joined(separator: ","))
    parts.append("folder=" + (command.folder ?? ""))
    parts.append(command.isGraphical ? "display=yes" : "display=no")
  case .impossible(let error): parts.append("impossible=" + error.message)
  }
  return parts.joined(separator: "\t")
}

func readManifests() {
  for entry in ManifestReader(.fromEnvironment()).read().entries {
    switch entry.state {
    case .declared(let app): say("declared\t" + entry.path + "\t" + shown(app))
    case .shadowed(let app, let by): say("shadowed\t" + entry.path + "\t" + by + "\t" + shown(app))
    case .broken(let error): say("broken\t" + entry.path + "\t" + String(error.status.rawValue) + "\t" + error.message)
    }
  }
}

/// The arguments of the program; Embedded Swift has no CommandLine.
func arguments() -> [String] {
  bytes(of: "/proc/self/cmdline").split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
}

let words = arguments()
switch words.count > 1 ? words[1] : "" {
case "lists": forEachLine(readList)
case "exec": forEachLine(readExec)
case "read": readManifests()
case "bench": bench(words.count > 2 ? Int(words[2]) ?? 1 : 1)
default:
  say("usage: ManifestProbe lists|exec|read|bench")
  exit(2)
}
