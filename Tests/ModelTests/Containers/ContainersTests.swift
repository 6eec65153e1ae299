// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// The container that a URL lies in (R5.3).
@Suite struct ContainersTests {
  static func container(_ identifier: String, _ folder: String, real: String? = nil) throws -> Container {
    try Container(identifier: identifier, folder: folder, realFolder: real.map { Array($0.utf8) })
  }

  /// Docs at /home/anna/My Docs, in truth /data/docs; inside of it, photos.
  static func some() throws -> Containers {
    var containers = Containers()
    try containers.add(container("docs", "/home/anna/My Docs", real: "/data/docs"))
    try containers.add(container("photos", "/home/anna/My Docs/photos", real: "/data/docs/photos"))
    return containers
  }

  @Test(
    arguments: [
      // The URL is that of the real path, also for a link inside the container.
      ("/elsewhere/a.txt", "/data/docs/a.txt", "/data/docs/a.txt"),
      ("/home/anna/My%20Docs/link/a.txt", "/data/docs/sub/a.txt", "/data/docs/sub/a.txt"),
      ("/data/docs/link/a.txt", "/data/docs/sub/a.txt", "/data/docs/sub/a.txt"),
      ("/home/anna/My%20Docs/a.txt", "/data/docs/photos/a.txt", "/data/docs/photos/a.txt"),
      // It leads out of the container.
      ("/home/anna/My%20Docs/a.txt", "/etc/hostname", "/etc/hostname"),
      // The same file of the container.
      ("/home/anna/My%20Docs/a.txt", "/data/docs/a.txt", nil),
      ("/home/anna/My%20Docs//a%2Etxt", "/data/docs/a.txt", nil),
      // Both in none; no such path.
      ("/elsewhere/a.txt", "/etc/hostname", nil),
      ("/home/anna/My%20Docs/a.txt", nil, nil), ("/elsewhere/a.txt", nil, nil),
      // The container's own folder is not there: that of the document is another one.
      ("/srv/later/a.txt", "/mnt/later/a.txt", "/mnt/later/a.txt"), ("/srv/later/a.txt", nil, nil),
      ("/srv/later/a.txt", "/data/docs/a.txt", "/data/docs/a.txt"),
    ] as [(String, String?, String?)])
  func `a document is where its real path is (R5.1)`(named: String, real: String?, expected: String?) throws {
    var containers = try Self.some()
    try containers.add(Self.container("later", "/srv/later"))
    let url = containers.url(ofDocument: "file://\(named)", real: real.map { "file://\($0)" })
    #expect(url == "file://\(expected ?? named)")
  }

  @Test func `a folder that comes later has the real path of then (R5.1)`() throws {
    var containers = try Self.some()
    try containers.add(Self.container("later", "/srv/later"))
    func url(_ name: String, _ real: String) -> String {
      containers.url(ofDocument: "file:///srv/later/\(name)", real: "file://\(real)")
    }
    let later = try #require(containers["later"])
    #expect(containers.withoutFolder.map { $0.identifier } == ["later"])
    let isTaken = !containers.found(later, at: Array("/data/docs".utf8))
    #expect(isTaken && containers.withoutFolder.count == 1, "another one has that folder")
    let docs = try #require(containers["docs"])
    let isFound = containers.found(later, at: Array("/mnt/later".utf8))
    #expect(isFound && containers.withoutFolder.isEmpty)
    let isFoundAgain = containers.found(later, at: Array("/mnt/other".utf8))
    #expect(!isFoundAgain, "it was replaced")
    #expect(containers["docs"] === docs && containers["later"]?.folder == later.folder)
    #expect(url("a.txt", "/mnt/later/a.txt") == "file:///srv/later/a.txt")
    #expect(url("link", "/etc/hostname") == "file:///etc/hostname")
    #expect(containers.place(of: "file:///mnt/later/a.txt")?.container.identifier == "later")
  }

  /// The container and the path of a URL, as one text.
  private func place(_ url: String) throws -> String? {
    try Self.some().place(of: url).map { "\($0.container.identifier): \(String(decoding: $0.path, as: UTF8.self))" }
  }

  @Test(arguments: [
    ("file:///home/anna/My%20Docs/a.txt", "docs: a.txt"),
    ("file:///data/docs/a.txt", "docs: a.txt"),
    ("FILE:///home/anna/My%20Docs/a.txt", "docs: a.txt"),
    ("file:/home/anna/My%20Docs/a.txt", "docs: a.txt"),
    ("file://localhost/home/anna/My%20Docs/a.txt", "docs: a.txt"),
    ("file:///home/%61nna/My%20Docs/%61.txt", "docs: a.txt"),
    ("file:///home/anna/My%20Docs//b.txt", "docs: b.txt"),
    ("file:////home//anna/My%20Docs///a//b.txt", "docs: a/b.txt"),
    ("file:///home/anna/My%20Docs//", "docs: "),
    ("file:///home/anna/My%20Docs/folder//", "docs: folder/"),
    ("file:///home/anna/My%20Docs//photos//p", "photos: p"),
    ("file:///home/anna/My%20Docs//etc/passwd", "docs: etc/passwd"),
    ("file:///home/anna/My%20Docs/%3F.txt", "docs: ?.txt"),
    ("file:///home/anna/My%20Docs/C%23.txt", "docs: C#.txt"),
    ("file:///home/anna/My%20Docs", "docs: "),
    ("file:///home/anna/My%20Docs/", "docs: "),
    ("file:///home/anna/My%20Docs/folder/", "docs: folder/"),
    ("file:///home/anna/My%20Docs/photos/p", "photos: p"),
    ("file:///data/docs/photos", "photos: "),
    ("file:///home/anna/My%20Docs/photos2/p", "docs: photos2/p"),
    ("file:///home/anna/My%20Docs/...", "docs: ..."),
    ("file:///home/anna/My%20Docs/..a/.b", "docs: ..a/.b"),
  ])
  func `a file: URL is in the innermost container (R5.3)`(url: String, found: String) throws {
    #expect(try place(url) == found)
  }

  @Test(arguments: [
    ("", nil), ("/", nil), ("/a/..", nil), ("/a.txt", "a.txt"), ("/folder/", "folder"), ("/folder/b%20%C3%A9", "b é"),
    ("/%ff", "\u{fffd}"), ("/" + String(repeating: "a", count: 1024), String(repeating: "a", count: 1024)),
    ("/" + String(repeating: "a", count: 1025), nil),
  ])
  func `a file has the last component of its path as its name, as far as a title may be (R5.1)`(
    path: String, name: String?
  ) {
    #expect(AbsoluteURL.fileName("file://\(path)") == name)
  }

  @Test(arguments: [("file:///a", true), ("FILE:/a", true), ("file:a", false), ("file:", false), ("http:/a", false)])
  func `the URL of a file has an absolute path (R5.1)`(url: String, isFile: Bool) {
    #expect(AbsoluteURL.isFile(Array(url.utf8)) == isFile)
  }

  @Test(arguments: [
    "file:///home/anna/My%20Docs/../secret", "file:///home/anna/My%20Docs/a/../../secret",
    "file:///home/anna/My%20Docs/%2e%2E/secret", "file:///home/anna/My%20Docs/./a", "file:///home/anna/My%20Docs/a/..",
    "file:///home/../home/anna/My%20Docs/a", "file:///home/anna/My%20Docs/a%2F..%2F..%2Fsecret",
    "file:///home/anna/My%20Docs%2Fa", "file:///home/anna/My%20Docs/a%2Fb.txt", "file:///home/anna/My%20Docs//../a",
    "file:///home/anna/My%20Docs/a%00b", "file:///home/anna/My%20Docs2/a", "file:///home/anna/My%20Docs/test?file",
    "file:///home/anna/My%20Docs/C#.txt", "file:///home/anna/My%20Docs?", "file:///home/anna/My%20Docs/#",
    "file:///home/anna/my%20docs/a", "file:///home/anna", "file:///", "file:home/anna/My%20Docs/a",
    "file://host/home/anna/My%20Docs/a", "file://localhosthome/anna/My%20Docs/a", "file://user@/data/docs/a",
    "https:///home/anna/My%20Docs/a", "files:///data/docs/a", "file:///data/docs/\u{e9}", "/data/docs/a", "",
  ])
  func `R5.3: a URL that leads outside, or looks as if, is in no container`(url: String) throws {
    #expect(try place(url) == nil)
  }

  /// One container inside another by its real path, and a symbolic link.
  static func nested() throws -> Containers {
    var containers = Containers()
    try containers.add(container("outer", "/s", real: "/r"))
    try containers.add(container("inner", "/t", real: "/s/b"))
    try containers.add(container("link", "/s/c", real: "/x"))
    try containers.add(container("deep", "/y/deep", real: "/s/c/d"))
    return containers
  }

  @Test(arguments: [
    ("file:/r/%62/i", "inner", "i"), ("file:///r/b", "inner", ""), ("file:///s/b/i", "inner", "i"),
    ("file:///r/c/d/e", "deep", "e"), ("file:///r/c/e", "link", "e"), ("file:///t/i", "inner", "i"),
    ("file:///r/a", "outer", "a"), ("file:///r/bb", "outer", "bb"),
  ])
  func `R5.3: a URL by a real path is in the container that its registered path is in`(
    url: String, name: String, path: String
  ) throws {
    let place = try #require(try Self.nested().place(of: url))
    #expect(place.container.identifier == name && String(decoding: place.path, as: UTF8.self) == path)
  }

  @Test func `R5.3: composed and decomposed names are two`() throws {
    var containers = Containers()
    try containers.add(Self.container("c", "/caf\u{e9}"))
    #expect(containers.place(of: "file:///caf%C3%A9/a") != nil)
    #expect(containers.place(of: "file:///cafe%CC%81/a") == nil)
    #expect(try containers.requirePlace(of: "file:///caf%c3%a9/e%CC%81").path == Array("e\u{301}".utf8))
    // Names of files need not be UTF-8.
    #expect(try containers.requirePlace(of: "file:///caf%C3%A9/%FF").path == [0xff])
  }

  @Test func `why a URL is in no container is said`() throws {
    let containers = try Self.some()
    func status(_ url: String) -> Status? {
      do throws(SegueError) {
        _ = try containers.requirePlace(of: url)
        return nil
      } catch {
        return error.status
      }
    }
    #expect(status("file:///data/docs/a") == nil)
    #expect(status("file:///etc/passwd") == .notAllowed && status("https://example.com/") == .notAllowed)
    #expect(status("not a URL") == .invalidURL && status("segue-container:other/a") == .notFound)
    #expect(status("file:///data/docs/test?file") == .invalidURL && status("file:///data/docs/C#.txt") == .invalidURL)
  }

  @Test(arguments: [
    ("file:///a/b%20c", "/a/b c"), ("FILE:/a", "/a"), ("file://localhost//a//b/", "/a/b/"), ("file:///%FF", nil),
    ("file:///a?b", nil), ("file:///a#b", nil), ("file://host/a", nil), ("file:///a%2Fb", nil), ("file:///a%00", nil),
    ("file:///a/../b", nil), ("file:a", nil), ("https:///a", nil),
  ])
  func `the path of a file is that of its URL, without a second reading (R5.3)`(url: String, path: String?) {
    let found = AbsoluteURL.filePath(url)
    #expect(url.hasSuffix("%FF") ? found == [0x2f, 0xff] : found.map { String(decoding: $0, as: UTF8.self) } == path)
    if let path, !path.hasSuffix("/") { #expect(AbsoluteURL.filePath(AbsoluteURL.file(Array(path.utf8))) == found) }
  }

  @Test(arguments: ["", "relative", "/", "//", "/a//b", "/a/../b", "/a/.", "/a//", "/a\u{0}b"])
  func `a folder has one spelling`(folder: String) {
    #expect(throws: SegueError.self) { try Self.container("c", folder) }
  }

  @Test func `a container is replaced by its identifier, and has its folder alone`() throws {
    var containers = try Self.some()
    try containers.add(Self.container("docs", "/srv/docs/"))
    #expect(containers.place(of: "file:///data/docs/a") == nil)
    #expect(containers.place(of: "file:///srv/docs/a")?.container.identifier == "docs")
    for other in [("/srv/docs", nil), ("/x", "/srv/docs"), ("/data/docs/photos", nil)] as [(String, String?)] {
      #expect(throws: SegueError.self) { try containers.add(Self.container("other", other.0, real: other.1)) }
    }
    try containers.remove("docs")
    #expect(containers.place(of: "file:///srv/docs/a") == nil && containers["photos"] != nil)
    #expect(throws: SegueError.self) { try containers.remove("docs") }
    #expect(throws: SegueError.self) { try Self.container("", "/a") }
    #expect(throws: SegueError.self) { try Self.container(String(repeating: "i", count: 256), "/a") }
    #expect(throws: SegueError.self) { try Self.container("a\u{0}", "/a") }
    #expect(throws: SegueError.self) { try Self.container("c", "/" + String(repeating: "a", count: 4095)) }
  }

  @Test func `an app has 64 containers at most`() throws {
    var containers = Containers()
    for number in 0..<64 { try containers.add(Self.container("\(number)", "/\(number)")) }
    #expect(throws: SegueError.self) { try containers.add(Self.container("64", "/64")) }
    try containers.add(Self.container("0", "/64"))
  }
}
