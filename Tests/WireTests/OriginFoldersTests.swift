// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueWire
import Testing

@testable import SegueModel

/// The folders of an origin for a receiver on the same device (R13.4).
@Suite struct OriginFoldersTests {
  private func containers(_ folders: (String, String)...) throws -> Containers {
    var containers = Containers()
    for (identifier, folder) in folders {
      try containers.add(Container(identifier: identifier, folder: folder, realFolder: nil))
    }
    return containers
  }

  private func document(_ urls: String..., containers: Containers) throws -> [UInt8] {
    var activity = try Activity(type: "com.example.note")
    let entries = try urls.map { (key: try Value.url($0), value: Value.data([0xda, 0x53, 0x65, 0x67, 0x75])) }
    try activity.setUserInfo(.dictionary(entries), limit: Limits.value)
    return try ActivityDocument.encode(activity, containers)
  }

  private func text(_ bytes: [UInt8]) -> String { Text.decoded(bytes) }

  @Test func `R13.4: each container that the document names is in the text, once`() throws {
    let own = try containers(("a\tb/c", "/home/anna/My docs"), ("git:x", "/src"), ("other", "/other"))
    let named = try document(
      "file:///home/anna/My%20docs/1", "file:///home/anna/My%20docs/2", "file:///src", "file:///etc/hosts",
      containers: own)
    #expect(
      text(OriginFolders.text(for: named, own)) == """
        segue-container:a%09b%2Fc\tfile:///home/anna/My%20docs
        segue-container:git%3Ax\tfile:///src

        """)
    #expect(OriginFolders.text(for: named, .none).isEmpty)
    #expect(OriginFolders.text(for: try document("file:///etc/hosts", containers: own), own).isEmpty)
  }

  @Test func `R13.4: a receiver without the container has the URL of the origin, one with it its own`() throws {
    let own = try containers(("docs", "/home/anna/docs"))
    let named = try document("file:///home/anna/docs/a%20b?x#y", containers: own)
    let origin = OriginFolders(OriginFolders.text(for: named, own))
    func url(_ containers: Containers) throws -> String? {
      let activity = try ActivityDocument.decode(named, ReferenceReader(containers, origin), userInfoLimit: 1_000)
      return activity.userInfo?.entries?.first?.key.url
    }
    #expect(try url(.none) == "file:///home/anna/docs/a%20b?x#y")
    #expect(try url(containers(("docs", "/srv"))) == "file:///srv/a%20b?x#y")
  }

  @Test(arguments: [
    "segue-container:docs file:///etc", "segue-container:docs\tfile:///etc\tfile:///srv", "docs\tfile:///etc",
    "segue-container:docs/a\tfile:///etc", "segue-container:docs\thttps://example.com/etc",
    "segue-container:docs\tfile://host/etc", "segue-container:docs\tfile:///etc/../root",
    "segue-container:docs\tfile:///", "segue-container:docs\tfile:///etc%00", "segue-container:docs\tfile:///%ff",
    "segue-container:docs\tfile:///etc?x", "segue-container:\tfile:///etc", "\t", "segue-container:docs\t",
  ])
  func `R13.4: a line that is wrong does not count`(line: String) throws {
    let read = OriginFolders(Text.bytes(line + "\nsegue-container:good\tfile:///srv\n"))
    #expect(read.containers["docs"] == nil && read.containers["good"] != nil)
  }

  @Test func `R13.4: the text has at most 32 KiB, and of two lines for one container or folder the first counts`()
    throws
  {
    let line = "segue-container:docs\tfile:///srv\n"
    let twice = OriginFolders(Text.bytes(line + "segue-container:other\tfile:///srv\n"))
    #expect(twice.containers["docs"] != nil && twice.containers["other"] == nil)
    let long = Text.bytes(line) + [UInt8](repeating: UInt8(ascii: "\n"), count: OriginFolders.sizeLimit)
    #expect(OriginFolders(long).containers.isEmpty)
    let deep = "/" + String(repeating: "l", count: 1_000)
    var many = Containers()
    for number in 0..<64 {
      try many.add(Container(identifier: "\(number)", folder: "\(deep)\(number)", realFolder: nil))
    }
    var activity = try Activity(type: "com.example.note")
    let entries = try (0..<64).map { (key: try Value.url("file://\(deep)\($0)/a"), value: Value.bool(true)) }
    try activity.setUserInfo(.dictionary(entries), limit: Limits.value)
    let named = try ActivityDocument.encode(activity, many)
    let text = OriginFolders.text(for: named, many)
    #expect(text.count <= OriginFolders.sizeLimit && text.count > OriginFolders.sizeLimit - 1_100)
  }

  @Test func `a document that is cut anywhere is read without a trap`() throws {
    let own = try containers(("docs", "/home/anna/docs"))
    let named = try document("file:///home/anna/docs/a", containers: own)
    for count in 0..<named.count { _ = OriginFolders.text(for: Array(named[..<count]), own) }
  }
}
