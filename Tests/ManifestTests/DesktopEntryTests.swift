import SegueManifests
import SegueModel
import SegueRouting
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
    #expect(app.domains == ["example.com"])
    #expect(app.desktopFile == "vendor-notes.desktop")
    #expect(app.command?.arguments == ["notes", "--name=A Name"])
    #expect(app.command?.folder == "/tmp")
    #expect(app.command?.isGraphical == false)
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
    ("Terminal=true", "Terminal: an app that needs a terminal is not started; expected false"),
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
    let app = try #require(folders.read(searchPath: ["/bin"])["org.example.notes"])
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
    #expect(try arguments(#"app "\\$HOME" "\\\\" "100%%""#) == ["app", "$HOME", "\\", "100%"])
    for bad in ["app $HOME", "app \"$HOME\"", "app 'x'", "app \"x", "app \"%f\"", "app %q", "A=1 app", "./app", "%f"] {
      #expect(throws: SegueError.self, "\(bad)") { try arguments(bad) }
    }
  }
}
