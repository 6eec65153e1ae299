// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueManifests
import SegueModel
import Testing

/// Manifests that are property lists (R6.1).
@Suite struct PropertyListManifestTests {
  private let all: [String: Any] = [
    "CFBundleIdentifier": "org.example.notes", "CFBundleName": "Notes", "CFBundleVersion": "7",
    "NSUserActivityTypes": ["org.example.note", "org.example.list"],
    "com.apple.developer.team-identifier": "TEAM",
    "com.apple.developer.associated-domains": [
      "activitycontinuation:Example.com", "applinks:other.com", "activitycontinuation:*.example.org?mode=developer",
    ],
    "CFBundleDocumentTypes": [
      [
        "CFBundleTypeName": "Text", "CFBundleTypeRole": "Editor", "LSItemContentTypes": ["text/plain", "public.text"],
        "NSUbiquitousDocumentUserActivityType": "org.example.document",
      ], [:],
    ],
    "SegueAlternativeIdentifiers": ["notes", "old-notes", "notes"],
    "SeguePayloadVersions": [2, 1, 2], "SegueDesktopFile": "notes.desktop", "LSBackgroundOnly": true,
    "UnknownKey": ["1": 1.5, "2": Data([1]), "3": Date(timeIntervalSince1970: 0)] as [String: Any],
  ]

  @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
  func `both forms say the same of an app (R6.1)`(_ format: PropertyListSerialization.PropertyListFormat) throws {
    let folders = DataFolders()
    try folders.write("home/segue/apps/notes.plist", all, format)
    try folders.write("system/applications/notes.desktop", exec: "notes %U")
    let catalogue = folders.read()
    #expect(catalogue.problems == [])
    let app = try #require(catalogue["org.example.notes"])
    #expect(app.name == "Notes")
    #expect(app.version == "7")
    #expect(app.team == "TEAM")
    #expect(app.types == ["org.example.note", "org.example.list", "org.example.document"])
    #expect(app.alternativeIdentifiers == ["notes", "old-notes"], "R13.6")
    #expect(app.payloadVersions == [1, 2])
    #expect(app.domains.map { $0.text } == ["example.com", "*.example.org"])
    #expect(app.domains.map { $0.isForDevelopers } == [false, true])
    #expect(app.applicationIdentifier == "TEAM.org.example.notes")
    #expect(app.documentTypes.count == 2)
    #expect(app.documentTypes[0].name == "Text")
    #expect(app.documentTypes[0].role == .editor)
    #expect(app.documentTypes[0].contentTypes == ["text/plain", "public.text"])
    #expect(app.documentTypes[1].role == .none)
    #expect(app.desktopFile == "notes.desktop")
    #expect(app.command?.arguments == ["notes"])
    #expect(app.command?.isGraphical == false)
  }

  @Test func `only the identifier is required (R6.1)`() throws {
    let folders = DataFolders()
    try folders.write("home/segue/apps/a.plist", ["CFBundleIdentifier": "a"])
    let app = try #require(folders.read()["a"])
    #expect(app.name == "a")
    #expect(app.team == "a")
    #expect(app.version == nil)
    #expect(app.types.isEmpty)
    #expect(app.takes(.max))
    #expect(
      app.obstacle == "\(app.path): SegueDesktopFile: is missing; expected the desktop id of a launcher")
  }

  @Test func `a launcher that is missing or broken leaves the app declared, and says why (R6.1, R6.5)`() throws {
    let folders = DataFolders()
    try folders.write("home/segue/apps/a.plist", ["CFBundleIdentifier": "a", "SegueDesktopFile": "a.desktop"])
    let key = "\(folders.path)/home/segue/apps/a.plist: SegueDesktopFile"
    #expect(folders.read()["a"]?.obstacle == "\(key): a.desktop: there is no such file in a folder of applications")
    try folders.write("system/applications/a.desktop", text: "nonsense")
    #expect(
      folders.read()["a"]?.obstacle
        == "\(key): \(folders.path)/system/applications/a.desktop: there is no group [Desktop Entry]"
    )
  }

  @Test func `the bounds of names, types, versions and domains hold (section 9)`() throws {
    let folders = DataFolders()
    let (most, more) = (String(repeating: "a", count: 255), String(repeating: "a", count: 256))
    let types = (0..<256).map { "t\($0)" }
    try folders.write("home/segue/apps/1.plist", ["CFBundleIdentifier": most, "NSUserActivityTypes": types])
    #expect(folders.read()[most]?.types.count == 256)
    try folders.write("home/segue/apps/1.plist", ["CFBundleIdentifier": more])
    try folders.write("home/segue/apps/2.plist", ["CFBundleIdentifier": "a", "NSUserActivityTypes": types + ["x"]])
    try folders.write("home/segue/apps/3.plist", ["CFBundleIdentifier": "a", "NSUserActivityTypes": [more]])
    try folders.write("home/segue/apps/4.plist", ["CFBundleIdentifier": "a", "SeguePayloadVersions": [1 << 32]])
    try folders.write("home/segue/apps/6.plist", ["CFBundleIdentifier": "a\u{7f}"])
    #expect(
      folders.read().problems == [
        "CFBundleIdentifier: 256 bytes, at most 255 are allowed",
        "NSUserActivityTypes: 257 types, at most 256 are allowed",
        "NSUserActivityTypes[0]: 256 bytes, at most 255 are allowed",
        "SeguePayloadVersions[0]: expected an integer from 0 to 4294967295, found 4294967296",
        "CFBundleIdentifier: has a control character",
      ])
  }

  @Test func `what is no regular file is not read, and hides no other (R6.1)`() throws {
    let folders = DataFolders()
    try folders.write("home/segue/apps/a.plist", ["CFBundleIdentifier": "a"])
    #expect(symlink("/dev/zero", "\(folders.path)/home/segue/apps/0.plist") == 0)
    #expect(mkfifo("\(folders.path)/home/segue/apps/1.plist", 0o600) == 0)
    #expect(folders.read()["a"] != nil)
    #expect(
      folders.read().problems == [
        "is no regular file, nor a link to one", "is no regular file, nor a link to one",
      ])
  }

  private let key = "com.apple.developer.associated-domains"

  @Test func `associated domains that are wrong have no effect, are reported, and hide no app (R6.4)`() throws {
    let folders = DataFolders()
    try folders.write(
      "home/segue/apps/a.plist",
      [
        "CFBundleIdentifier": "a",
        key: [
          "applinks:example.com", "webcredentials:example.com", "activitycontinuation:example.com?mode=developer",
          "activitycontinuation:example.org:8443", "activitycontinuation:bücher.example",
          "activitycontinuation:*.example.net", 7, " activitycontinuation:example.edu\n", "activitycontinuation:*.com",
        ] as [Any],
      ])
    let app = try #require(folders.read()["a"])
    #expect(app.domains.map { $0.text } == ["example.com", "*.example.net", "example.edu"])
    let expected = "has no effect: expected only an ASCII host after the service, found activitycontinuation:"
    #expect(
      app.warnings == [
        "\(key)[6]: has no effect: expected a string, found an integer", "\(key)[3]: \(expected)example.org:8443",
        "\(key)[4]: \(expected)bücher.example", "\(key)[8]: \(expected)*.com",
      ])
  }

  @Test func `domains of a wrong kind, and too many of them, hide no app (R6.4)`() throws {
    let folders = DataFolders()
    try folders.write("home/segue/apps/a.plist", ["CFBundleIdentifier": "a", key: "activitycontinuation:a.b"])
    try folders.write(
      "home/segue/apps/b.plist", ["CFBundleIdentifier": "b", key: (0..<300).map { "activitycontinuation:h\($0).b" }])
    #expect(folders.read()["a"]?.warnings == ["\(key): expected an array, found a string"])
    #expect(folders.read()["b"]?.domains.count == Limits.domainsPerApp)
    #expect(folders.read()["b"]?.warnings == ["\(key): the first 30 claims of Handoff have an effect"])
  }

  @Test func `sites know an app by TEAM.bundle, or by the identifier that its manifest says (R12.8)`() throws {
    let folders = DataFolders()
    try folders.write(
      "home/segue/apps/a.plist",
      ["CFBundleIdentifier": "a", "com.apple.developer.team-identifier": "T", "application-identifier": "OLD.a"])
    try folders.write("home/segue/apps/b.plist", ["CFBundleIdentifier": "b"])
    #expect(folders.read()["a"]?.applicationIdentifier == "OLD.a")
    #expect(folders.read()["b"]?.applicationIdentifier == "b.b")
  }

  @Test func `blanks around identifiers, teams and types are none of them`() throws {
    let folders = DataFolders()
    try folders.write(
      "home/segue/apps/a.plist",
      [
        "CFBundleIdentifier": "\n  org.example.a\n", "com.apple.developer.team-identifier": " TEAM ",
        "NSUserActivityTypes": [" org.example.b ", "org.example.c"],
      ], .xml)
    let app = try #require(folders.read()["org.example.a"])
    #expect(app.team == "TEAM" && app.types == ["org.example.b", "org.example.c"])
  }

  @Test(arguments: ["CFBundleIdentifier", "com.apple.developer.team-identifier"])
  func `an entity that is not declared is an error with its line, and never dropped (R6.1)`(_ key: String) throws {
    let folders = DataFolders()
    let type = "<!DOCTYPE plist PUBLIC '-//Apple//DTD PLIST 1.0//EN' 'http://www.apple.com/DTDs/PropertyList-1.0.dtd'>"
    func list(_ value: String) -> String {
      """
      <?xml version="1.0"?>
      \(type)
      <plist><dict><key>CFBundleIdentifier</key><string>a</string><key>Other</key><string/>
      <key>\(key == "CFBundleIdentifier" ? "Third" : key)</key><string>\(value)</string></dict></plist>
      """
    }
    try folders.write("home/segue/apps/a.plist", text: list("org.example&dot;notes"))
    #expect(folders.read().apps.isEmpty)
    #expect(folders.read().problems == ["line 4: the entity &dot; is not declared"])
    try folders.write("home/segue/apps/a.plist", text: list("one &amp; two&#46;"))
    #expect(folders.read().problems == [])
  }

  @Test func `a running app loads the same manifest by the same reader (R6.1)`() throws {
    let folders = DataFolders()
    try folders.write("home/segue/apps/notes.plist", all)
    let (manifest, warnings) = try AppManifest.read(
      "\(folders.path)/home/segue/apps/notes.plist", of: "org.example.notes")
    #expect(manifest.name == "Notes" && manifest.team == "TEAM" && warnings == [])
    #expect(manifest.types == ["org.example.note", "org.example.list"])
    #expect(manifest.documents.map { $0.contentType } == ["text/plain", "public.text"])
    #expect(manifest.documents.allSatisfy { $0.role == .editor && $0.activityType == "org.example.document" })
    #expect(folders.read()["org.example.notes"]?.manifest.documents.count == 2)
    try folders.write("a.desktop", "X-Segue-BundleIdentifier=a", "X-Segue-ActivityTypes=b;", "no equals sign")
    let (other, blemishes) = try AppManifest.read("\(folders.path)/a.desktop", of: "a")
    #expect(other.name == "A Name" && other.team == nil && other.types == ["b"] && blemishes.count == 1)
  }

  @Test func `a manifest of another app, and one that cannot be read, are errors that name the file (R6.1)`() throws {
    let folders = DataFolders()
    try folders.write("a.plist", ["CFBundleIdentifier": "b"])
    func error(_ name: String) -> SegueError? {
      do throws(SegueError) {
        _ = try AppManifest.read("\(folders.path)/\(name)", of: "a")
        return nil
      } catch {
        return error
      }
    }
    #expect(error("a.plist")?.status == .invalidArgument)
    #expect(error("a.plist")?.message == "\(folders.path)/a.plist: describes b, and the app is a")
    #expect(error("none.plist")?.message == "\(folders.path)/none.plist: cannot be read: No such file or directory")
  }

  @Test func `a manifest declares no more than a running app can, documents included (section 9)`() throws {
    let folders = DataFolders()
    func documents(_ count: Int, _ kinds: Int) -> [[String: Any]] {
      (0..<count).map { number in
        [
          "LSItemContentTypes": (0..<kinds).map { "k\(number).\($0)" }, "CFBundleTypeRole": "Viewer",
          "NSUbiquitousDocumentUserActivityType": "d\(number)",
        ]
      }
    }
    func read(_ types: [String], _ documents: [[String: Any]]) throws -> [String] {
      try folders.write(
        "home/segue/apps/a.plist",
        ["CFBundleIdentifier": "a", "NSUserActivityTypes": types, "CFBundleDocumentTypes": documents])
      return folders.read().problems
    }
    #expect(try read((0..<200).map { "t\($0)" }, documents(56, 4)) == [])
    #expect(try read((0..<200).map { "t\($0)" }, documents(57, 4)).first?.hasPrefix("257 types of") == true)
    #expect(try read([], documents(2, 129)).first?.hasPrefix("258 content types of documents") == true)
    let long = (0..<200).map { "\($0)" + String(repeating: "x", count: 240) }
    #expect(try read(long, []).first?.contains("at most 256 of 32768 bytes") == true)
  }
}
