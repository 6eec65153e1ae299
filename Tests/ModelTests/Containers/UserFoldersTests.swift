// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// The text that names the folders of the user (R13.4).
@Suite struct UserFoldersTests {
  private func folders(_ text: String) -> UserFolders { UserFolders(Array(text.utf8)) }

  @Test func `a line has an identifier and a path, and for apps the real path`() {
    let read = folders("# mine\n\nnotes\t/home/anna/My Notes/\ngit:example.com/a b\t/src/a\t/data/src/a\n")
    #expect(read.problem == nil)
    #expect(read.list.map { $0.identifier } == ["notes", "git:example.com/a b"])
    #expect(read.list.map { String(decoding: $0.folder, as: UTF8.self) } == ["/home/anna/My Notes", "/src/a"])
    #expect(read.list.map { $0.realFolder.map { String(decoding: $0, as: UTF8.self) } } == [nil, "/data/src/a"])
  }

  @Test func `R13.4: of two checkouts of one repository the first one counts`() {
    let read = folders("git:x\t/first\nother\t/other\ngit:x\t/second")
    #expect(read.problem == nil)
    #expect(read.list.map { String(decoding: $0.folder, as: UTF8.self) } == ["/first", "/other"])
  }

  @Test(arguments: [
    "one", "\t/a", "a\t", "a\trelative", "a\t/", "a\t/b/../c", "a\t/b\t/c\td", "a\u{0}\t/b",
    String(repeating: "i", count: 256) + "\t/b", "a\t/" + String(repeating: "b", count: 4_095),
  ])
  func `a line that cannot be used does not count, and is named`(_ line: String) {
    let read = folders("good\t/good\n\(line)\nlast\t/last")
    #expect(read.list.map { $0.identifier } == ["good", "last"])
    #expect(read.problem?.message.hasPrefix("folders: line 2: ") ?? false)
  }

  @Test func `what is not UTF-8 or too much does not count`() {
    #expect(UserFolders(Array("a\t/".utf8) + [0xFF]).list.isEmpty)
    let many = folders((0..<65).map { "f\($0)\t/\($0)\n" }.joined())
    #expect(many.list.count == 64 && many.problem?.status == .limitExceeded)
    let long = UserFolders([UInt8](repeating: UInt8(ascii: "#"), count: UserFolders.sizeLimit + 1))
    #expect(long.list.isEmpty && long.problem?.status == .limitExceeded)
  }

  @Test func `apps read what the agent makes of the file`() {
    let file = folders("notes\t/home/anna/Notes\nlost\t/lost\nodd\t/odd\n")
    let text = file.text { folder in
      switch String(decoding: folder, as: UTF8.self) {
      case "/home/anna/Notes": Array("/data/notes".utf8)
      case "/odd": Array("/a\nb".utf8)
      default: nil
      }
    }
    #expect(
      String(decoding: text, as: UTF8.self) == "notes\t/home/anna/Notes\t/data/notes\nlost\t/lost\nodd\t/odd\n")
    let long = folders((0..<64).map { "f\($0)\t/" + String(repeating: "p", count: 300) + "\n" }.joined())
    let told = UserFolders(long.text { _ in [UInt8(ascii: "/")] + [UInt8](repeating: 0x71, count: 600) })
    #expect(told.problem == nil && (20..<64).contains(told.list.count))
  }
}
