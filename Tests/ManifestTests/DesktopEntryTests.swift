// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueManifests
import SegueModel
import Testing

/// Manifests that are `.desktop` files, and launchers (R6.1), by the Desktop Entry Specification.
@Suite struct DesktopEntryTests {
  private let own = "X-Segue-BundleIdentifier=org.example.notes"

  @Test func `a desktop file says the same as a property list (R6.1)`() throws {
    let folders = DataFolders()
    try folders.write(
      "home/applications/vendor/notes.desktop", exec: "notes --name=%c %U", own,
      "X-Segue-ActivityTypes=org.example.note;with\\;semicolon", "X-Segue-TeamIdentifier=TEAM",
      "X-Segue-DocumentTypes=text/plain:Editor:org.example.document;", "X-Segue-PayloadVersions=3;0x1;",
      "X-Segue-AssociatedDomains=activitycontinuation:example.com", "X-Segue-Version=7",
      "X-Segue-BackgroundOnly=true", "Path=/tmp", "Name[de]=Notizen", "[Desktop Action new]", "Exec=other")
    let catalogue = folders.read()
    #expect(catalogue.problems == [])
    let app = try #require(catalogue["org.example.notes"])
    #expect(app.name == "A Name")
    #expect(app.team == "TEAM")
    #expect(app.version == "7")
    #expect(app.types == ["org.example.note", "with;semicolon", "org.example.document"])
    #expect(app.payloadVersions == [1, 3])
    #expect(app.domains.map { $0.text } == ["example.com"])
    #expect(app.desktopFile == "vendor-notes.desktop")
    #expect(app.command?.arguments == ["notes", "--name=A Name"])
    #expect(app.command?.folder == "/tmp")
    #expect(app.command?.isGraphical == false)
  }

  @Test(arguments: [
    ("org.example.Notes", true), ("org.example-two.Notes_3", true), ("notes", false), ("org.3example.Notes", false),
    ("org..Notes", false), ("org.example.Büro", false), ("org.example.a b", false),
  ])
  func `an entry that the bus can activate has the name of its file`(name: String, isName: Bool) throws {
    let folders = DataFolders()
    let file = "home/applications/\(name).desktop"
    try folders.write(file, exec: "notes --new %U", own, "DBusActivatable=true")
    #expect(folders.read()["org.example.notes"]?.command?.busName == (isName ? name : nil))
    #expect(folders.read()["org.example.notes"]?.command?.arguments == ["notes", "--new"])
    try folders.write(file, exec: "notes", own, "DBusActivatable=false")
    #expect(folders.read()["org.example.notes"]?.command?.busName == nil)
    // The bus alone can start it.
    try folders.write(
      file, text: "[Desktop Entry]\nType=Application\nName=Notes\nDBusActivatable=true\n\(own)\n")
    let bare = folders.read()["org.example.notes"]?.command
    #expect(bare?.arguments == (isName ? ["gapplication", "launch", name] : nil))
  }

  @Test func `files without keys of Segue's are none of its business`() throws {
    let folders = DataFolders()
    try folders.write("home/applications/other.desktop")
    try folders.write("home/applications/broken.desktop", text: "nonsense")
    #expect(folders.read().entries.isEmpty)
  }

  @Test func `of one desktop id the user's file counts, unless it is broken (R6.1)`() throws {
    let folders = DataFolders()
    try folders.write("system/applications/a-b.desktop", exec: "theirs", own)
    try folders.write("home/applications/a/b.desktop", exec: "mine", own)
    #expect(folders.read()["org.example.notes"]?.command?.arguments == ["mine"])
    try folders.write("home/applications/a/b.desktop", exec: "mine")
    #expect(folders.read()["org.example.notes"] == nil)
    try folders.write("home/applications/a/b.desktop", text: "X-Segue-BundleIdentifier=a")
    #expect(folders.read()["org.example.notes"]?.command?.arguments == ["theirs"])
    #expect(folders.read().problems == ["line 1: expected a group before the first key"])
    try folders.write("home/applications/a/b.desktop", exec: "mine", "X-Segue-Version=1")
    #expect(folders.read()["org.example.notes"]?.command?.arguments == ["theirs"])
  }

  @Test func `a hidden file counts as removed, and so does what it overrides (R6.1)`() throws {
    let folders = DataFolders()
    try folders.write("system/applications/a.desktop", own)
    try folders.write("system/segue/apps/p.plist", ["CFBundleIdentifier": "p", "SegueDesktopFile": "a.desktop"])
    #expect(folders.read()["org.example.notes"] != nil)
    #expect(folders.read()["p"]?.command != nil)
    try folders.write("home/applications/a.desktop", own, "Hidden=true")
    #expect(folders.read()["org.example.notes"] == nil)
    #expect(folders.read().problems == [])
    #expect(folders.read()["p"]?.obstacle?.hasSuffix("Hidden: the launcher counts as removed") == true)
  }

  @Test func `a user's manifest comes before the system's, whatever its form (R6.1)`() throws {
    let folders = DataFolders()
    try folders.write("system/segue/apps/notes.plist", ["CFBundleIdentifier": "org.example.notes"])
    try folders.write("home/applications/notes.desktop", own)
    #expect(folders.read()["org.example.notes"]?.desktopFile == "notes.desktop")
    try folders.write("home/segue/apps/notes.plist", ["CFBundleIdentifier": "org.example.notes"])
    #expect(folders.read()["org.example.notes"]?.path.hasSuffix("home/segue/apps/notes.plist") == true)
    #expect(folders.read().entries.count == 3)
  }

  @Test(arguments: [
    (
      "Terminal=true",
      "Terminal: neither xdg-terminal-exec nor x-terminal-emulator is in PATH, and the app needs a terminal"
    ),
    ("TryExec=/nonexistent/app", "TryExec: there is no program /nonexistent/app"),
    ("TryExec=nonexistent-app", "TryExec: there is no program nonexistent-app"),
    ("Path=relative", "Path: expected an absolute path, found relative"),
    ("Terminal=1", "Terminal: expected true or false, found 1"),
  ])
  func `a launcher that cannot be used says why, and the app stays declared (R6.5)`(
    _ line: String, _ expected: String
  ) throws {
    let folders = DataFolders()
    try folders.write("home/applications/a.desktop", own, line)
    let app = try #require(folders.read(searchPath: ["/nonexistent"])["org.example.notes"])
    #expect(app.obstacle == "\(app.path): \(expected)")
  }

  @Test(arguments: [
    ("app " + String(repeating: "x", count: 70_000), "Exec: 70003 bytes with Path, at most 32768 are allowed"),
    (String(repeating: "app ", count: 1_025), "Exec: 1025 arguments, at most 1024 are allowed"),
    ("app a\0b", "Exec: there is a NUL in it"),
  ])
  func `a launcher that could never start says so (R6.5)`(_ exec: String, _ expected: String) throws {
    let folders = DataFolders()
    try folders.write("home/applications/a.desktop", exec: exec, own)
    let app = try #require(folders.read(searchPath: ["/bin"])["org.example.notes"])
    #expect(app.obstacle == "\(app.path): \(expected)")
  }

  @Test func `a program that TryExec names is looked for in PATH`() throws {
    let folders = DataFolders()
    try folders.write("home/applications/a.desktop", own, "TryExec=sh")
    #expect(folders.read(searchPath: ["/nonexistent", "/bin"])["org.example.notes"]?.command != nil)
    #expect(folders.read()["org.example.notes"]?.command == nil)
  }

  @Test func `a launcher that is no application, or has no Exec, says so`() throws {
    let folders = DataFolders()
    try folders.write("home/applications/a.desktop", text: "[Desktop Entry]\nType=FramedConnection\n\(own)")
    #expect(
      folders.read()["org.example.notes"]?.obstacle?.hasSuffix("Type: expected Application, found FramedConnection")
        == true)
    try folders.write("home/applications/a.desktop", text: "[Desktop Entry]\nType=Application\n\(own)")
    #expect(
      folders.read()["org.example.notes"]?.obstacle?.hasSuffix("Exec: is missing; expected a command") == true)
  }

  @Test func `what a launcher expands to, quotes, or is named for is bounded (R6.1)`() throws {
    let folders = DataFolders()
    let codes = String(repeating: "%c", count: 20_000)
    let name = "Name=" + String(repeating: "n", count: 100_000)
    try folders.write(
      "home/applications/a.desktop", text: "[Desktop Entry]\nType=Application\n\(name)\nExec=/x \(codes)")
    try folders.write("home/segue/apps/a.plist", ["CFBundleIdentifier": "a", "SegueDesktopFile": "a.desktop"])
    let spread = (0..<1_000).map { _ in "%c" }.joined(separator: " ")
    try folders.write(
      "home/applications/b.desktop", text: "[Desktop Entry]\nType=Application\n\(name)\nExec=/x \(spread)")
    try folders.write("home/segue/apps/b.plist", ["CFBundleIdentifier": "b", "SegueDesktopFile": "b.desktop"])
    try folders.write("home/applications/c.desktop", "TryExec=" + String(repeating: "x", count: 200_000))
    try folders.write("home/segue/apps/c.plist", ["CFBundleIdentifier": "c", "SegueDesktopFile": "c.desktop"])
    let catalogue = folders.read()
    func refusal(_ app: String) throws -> SegueError {
      guard case .impossible(let error) = try #require(catalogue[app]).launch else {
        throw SegueError(.ok, "it can be launched")
      }
      return error
    }
    for app in ["a", "b"] {
      #expect(try refusal(app).status == .limitExceeded)
      #expect(try refusal(app).message.hasSuffix("Exec: more than 262144 bytes with its field codes"))
    }
    #expect(try refusal("c").message.contains("TryExec: there is no program xxx"))
    #expect(try refusal("c").message.utf8.count < 3_000)
  }

  @Test func `Exec is unescaped, then unquoted, then its field codes are resolved, and no shell sees it`() throws {
    func arguments(_ exec: String) throws -> [String] {
      try ExecLine.arguments(Array(exec.utf8), ExecLine.Fields(icon: "icon", name: "A Name", path: "/a"))
    }
    #expect(try arguments(#"app "a b" \s %f %i %c %k %%"#) == ["app", "a b", "--icon", "icon", "A Name", "/a", "%"])
    #expect(try arguments("app %f %d %D %n %N %v %m %u a%d") == ["app", "a"], "a word of a code alone is left out")
    #expect(try arguments(#"app "\\$HOME" "\\\\" "100%%""#) == ["app", "$HOME", "\\", "100%"])
    for bad in ["app $HOME", "app \"$HOME\"", "app 'x'", "app \"x", "app \"%f\"", "app %q", "A=1 app", "./app", "%f"] {
      #expect(throws: SegueError.self, "\(bad)") { try arguments(bad) }
    }
  }

  @Test func `an app that needs a terminal is started in the user's, else in the system's`() throws {
    let folders = DataFolders()
    try folders.write(
      "home/applications/a.desktop", exec: "app --one %U", own, "Terminal=true", "X-Segue-BackgroundOnly=true")
    func command() throws -> LaunchCommand? {
      try #require(folders.read(searchPath: ["\(folders.path)/bin"])["org.example.notes"]).command
    }
    try folders.writeProgram("bin/x-terminal-emulator")
    #expect(try command()?.arguments == ["x-terminal-emulator", "-e", "app", "--one"])
    try folders.writeProgram("bin/xdg-terminal-exec")
    #expect(try command()?.arguments == ["xdg-terminal-exec", "app", "--one"])
    #expect(try command()?.isGraphical == true, "a terminal needs a display")
    try folders.write("home/applications/a.desktop", exec: "-app", own, "Terminal=true")
    #expect(try command()?.arguments == ["x-terminal-emulator", "-e", "-app"])
  }
}

/// Lines of `.desktop` files that are wrong: what no reader needs hides no app (R6.1).
@Suite struct DesktopEntryBlemishTests {
  private let head = "[Desktop Entry]\nType=Application\nName=Notes\nExec=/bin/true %U\n"
  private let keys = "X-Segue-BundleIdentifier=org.example.notes\nX-Segue-ActivityTypes=org.example.editing;\n"

  private func read(_ text: String) throws -> AppDeclaration? { try read(Array(text.utf8)) }

  private func read(_ bytes: [UInt8]) throws -> AppDeclaration? {
    let folders = DataFolders()
    try folders.write("home/applications/a.desktop", bytes: bytes)
    return folders.read()["org.example.notes"]
  }

  private func problem(_ text: String) throws -> [String] {
    let folders = DataFolders()
    try folders.write("home/applications/a.desktop", text: text)
    return folders.read().problems
  }

  @Test func `a byte order mark hides no app, and is reported`() throws {
    let app = try #require(try read([0xEF, 0xBB, 0xBF] + Array((head + keys).utf8)))
    #expect(app.types == ["org.example.editing"] && app.command != nil)
    #expect(app.warnings == ["line 1: begins with a byte order mark; expected none"])
  }

  @Test func `a doubled name in another language hides no app, and is reported`() throws {
    let app = try #require(try read(head + keys + "Name[ko]=A\nName[ko]=B\n"))
    #expect(app.warnings == ["line 8: the key Name[ko] is there twice"])
  }

  @Test func `a line without an equals sign hides no app, and is reported`() throws {
    let app = try #require(try read(head + "just a line\n" + keys))
    #expect(app.warnings == ["line 5: expected KEY=VALUE"])
  }

  @Test func `Latin-1 in comments hides no app, and is reported`() throws {
    var bytes = Array((head + keys + "Comment=Espa").utf8) + [0xF1] + Array("a\n# ".utf8) + [0xE9]
    bytes += Array("\n[Desktop Action new]\nName=".utf8) + [0xE9, 0x0A]
    let app = try #require(try read(bytes))
    #expect(
      app.warnings == ["line 7: the value of Comment is not UTF-8", "line 8: is not UTF-8", "line 10: is not UTF-8"])
  }

  @Test func `a key with wrong characters, a key before all groups and half a header hide no app`() throws {
    let app = try #require(try read("Early=1\n" + head + keys + "A B=1\n[Half\nExec=other\n"))
    #expect(app.command?.arguments == ["/bin/true"])
    #expect(
      app.warnings == [
        "line 1: expected a group before the first key",
        "line 8: the key A B has other characters than A-Z, a-z, 0-9 and -", "line 9: expected [GROUP]",
      ])
  }

  @Test func `what is needed must be right, and said once`() throws {
    #expect(try problem(head + keys + "Exec=other\n") == ["line 7: the key Exec is there twice"])
    #expect(try problem(head + keys + "X-Segue-TeamIdentifier\n") == ["line 7: expected KEY=VALUE"])
    #expect(try problem("X-Segue-A=1\n" + head + keys) == ["line 1: expected a group before the first key"])
    #expect(try problem(head + keys + "[Desktop Entry]\n") == ["line 7: the group [Desktop Entry] is there twice"])
    let folders = DataFolders()
    try folders.write("home/applications/a.desktop", bytes: Array((head + keys + "X-Segue-Version=").utf8) + [0xE9])
    #expect(folders.read().problems == ["line 7: the value of X-Segue-Version is not UTF-8"])
  }

  @Test func `blanks around types, domains and parts of document types are none of them`() throws {
    let app = try #require(
      try read(
        head + """
          X-Segue-BundleIdentifier=org.example.notes
          X-Segue-ActivityTypes= org.example.a ;\torg.example.b ;\\sorg.example.c
          X-Segue-DocumentTypes= text/plain : Editor : org.example.document ;
          X-Segue-AssociatedDomains= activitycontinuation:example.com ;
          X-Segue-PayloadVersions= 1 ; 2
          """))
    #expect(app.types == ["org.example.a", "org.example.b", "org.example.c", "org.example.document"])
    #expect(app.documentTypes[0].contentTypes == ["text/plain"] && app.documentTypes[0].role == .editor)
    #expect(app.domains.map { $0.text } == ["example.com"] && app.payloadVersions == [1, 2] && app.warnings == [])
  }

  @Test func `a domain that is wrong has no effect in a desktop file either`() throws {
    let app = try #require(try read(head + keys + "X-Segue-AssociatedDomains=activitycontinuation:a..b;\n"))
    #expect(app.domains.isEmpty && app.warnings.count == 1)
    let escaped = try #require(try read(head + keys + "X-Segue-AssociatedDomains=a\\q;\n"))
    #expect(escaped.domains.isEmpty && escaped.warnings.first?.contains("backslash") == true)
  }

  @Test func `a file that is nothing but wrong costs few warnings`() throws {
    let lines = (0..<10_000).map { "line \($0)" }.joined(separator: "\n")
    let app = try #require(try read(head + keys + lines))
    #expect(app.warnings.count == 8 && app.warnings.last == "there is more that has no effect")
    let long = try #require(try read(head + keys + "\(String(repeating: "x ", count: 5_000))=1"))
    #expect(long.warnings[0].utf8.count <= 256)
  }
}
