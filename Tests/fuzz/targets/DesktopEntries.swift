// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

@testable import SegueManifests

/// Any bytes as a `.desktop` file: what it says of an app is what a manifest may, and its launcher names a program.
func fuzzDesktopEntries(_ bytes: UnsafeRawBufferPointer) {
  guard let entry = try? DesktopEntry.read(bytes, path: "/a.desktop") else { return }
  if let contents = try? DesktopEntryManifest.contents(entry, id: "a.desktop") { checkContents(contents) }
  guard case .command(let command) = DesktopLauncher(searchPath: []).launch(entry, isGraphical: true) else { return }
  require(!(command.arguments.first ?? "").utf8.isEmpty, "a launcher without a program")
  require((command.folder ?? "/").utf8.first == UInt8(ascii: "/"), "a folder that is not absolute")
  // A field code becomes a name or a path; all else comes from the file.
  let size = command.arguments.reduce(0) { $0 + $1.utf8.count }
  require(size <= bytes.count * bytes.count, "more text than there can be")
}
