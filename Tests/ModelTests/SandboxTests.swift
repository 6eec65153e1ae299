// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// The words of the system on a process in a sandbox, and the words of an app in one (R13.8, A29).
@Suite struct SandboxTests {
  private func flatpak(_ info: String) -> [String]? { flatpak(Array(info.utf8)) }

  private func flatpak(_ info: [UInt8]) -> [String]? {
    info.withUnsafeBytes { Sandbox(flatpak: $0) }?.identifiers
  }

  private func unit(_ cgroup: String) -> [String]? {
    Array(cgroup.utf8).withUnsafeBytes { Sandbox(cgroup: $0) }?.identifiers
  }

  private func app(_ bundle: String, chooser: Bool = false) -> AppIdentity {
    AppIdentity(
      secret: Identifier(high: 0, low: 1), bundleIdentifier: bundle, name: "n", team: "T", types: [],
      isChooser: chooser)
  }

  @Test func `a Flatpak is the application that its file names (R13.8)`() {
    #expect(flatpak("[Application]\nname=org.example.App\nruntime=runtime/org.x/x86_64/1\n") == ["org.example.App"])
    #expect(flatpak("# words\n\n[Instance]\nname=other\n[Application]\nname=org.example.App") == ["org.example.App"])
    for none in [
      "", "[Runtime]\nname=org.x.Platform\n", "name=org.example.App", "[Application]\n[Other]\nname=a",
      "[Application]\nruntime=r\n", "[Application]\nname=\n", "[Application]\nname=org.example.App\nname=org.b.C\n",
      "[Application]\nname=org.example.App\n[Application]\nname=org.b.C\n", "[Application\nname=org.example.App\n",
      "[Application]\nname=org.example.App\nno key\n", "[Application]\n=org.example.App\n",
      "[Application]\nname=org.example.App\r\n", "[Application]\nname= org.example.App\n",
      "[Application]\nname=org.example.Äpp\n", "[Application]\nname=org/example\n",
      "[Application]\nname=\(String(repeating: "a", count: Limits.identifier + 1))\n",
    ] {
      #expect(flatpak(none) == nil, "\(none)")
    }
  }

  @Test func `a hostile file of a Flatpak names no app (R13.8, A29)`() {
    let good = Array("[Application]\nname=org.example.App\n".utf8)
    let blank = { (count: Int) in [UInt8](repeating: UInt8(ascii: "\n"), count: count) }
    #expect(flatpak(good + blank(Sandbox.fileLimit - good.count)) == ["org.example.App"])
    #expect(flatpak(good + blank(Sandbox.fileLimit - good.count + 1)) == nil, "one byte more than is read")
    #expect(flatpak(good + [0]) == nil)
    #expect(flatpak(good + Array("key=".utf8) + [0]) == nil)
    #expect(flatpak(Array("[Application]\nname=org.example.App".utf8) + [0] + Array(".Other\n".utf8)) == nil)
    #expect(flatpak([UInt8](repeating: UInt8(ascii: "["), count: Sandbox.fileLimit)) == nil, "no end of a line")
    #expect(flatpak([0xff, 0xfe, 0]) == nil)
    for length in 0..<good.count - 1 {
      let name = flatpak(Array(good[..<length]))?.first ?? ""
      #expect("org.example.App".hasPrefix(name), "\(length) bytes")
    }
  }

  @Test func `a control group says which Flatpak or Snap it is of (R13.8)`() {
    let app = "0::/user.slice/user-1.slice/user@1.service/app.slice"
    let uuid = "0f9d1f2e-aaaa-bbbb-cccc-0123456789ab"
    #expect(unit("\(app)/app-flatpak-org.example.App-123.scope\n") == ["org.example.App"])
    #expect(unit("\(app)/app-flatpak-org.example.My\\x2dApp-123.scope\n") == ["org.example.My-App"])
    #expect(unit("\(app)/snap.my-editor.editor-\(uuid).scope\n") == ["my-editor", "my-editor_editor"])
    #expect(unit("\(app)/snap.my-editor.editor.\(uuid).scope\n") == ["my-editor", "my-editor_editor"])
    #expect(unit("\(app)/snap.my-editor_two.an-app-\(uuid).scope\n") == ["my-editor_two", "my-editor_two_an-app"])
    #expect(unit("0::/system.slice/snap.my-editor.daemon.service\n") == ["my-editor", "my-editor_daemon"])
    // Version 1 has a line for each kind of group.
    #expect(unit("7:freezer:/snap.my-editor\n1:name=systemd:/user.slice\n0::/\n") == ["my-editor"])
    #expect(
      unit("1:name=systemd:/a.slice/snap.my-editor.editor.\(uuid).scope\n7:freezer:/snap.my-editor\n")
        == ["my-editor", "my-editor_editor"])
    // A group inside of another one.
    #expect(unit("\(app)/app-flatpak-org.example.App-1.scope/app-flatpak-org.b.C-2.scope\n") == ["org.b.C"])
    for none in [
      "", "0::/", "\(app)/app-org.example.App-123.scope", "\(app)/app-flatpak-x.scope", "snap...", "0::/snap.",
      "\(app)/app-flatpak-a-b-c.scope", "\(app)/app-flatpak--1.scope", "0::/snap.a b.c.service", "0::/snap.x.scope",
      "\(app)/my-snap.editor.service",
    ] { #expect(unit(none) == nil, "\(none)") }
  }

  @Test func `an app in a sandbox is the one that the sandbox is of, and never a chooser (R13.8, A29)`() {
    let sandbox = Sandbox(identifiers: ["org.example.App"])
    #expect(sandbox.refusal(of: app("org.example.App")) == nil)
    #expect(
      sandbox.refusal(of: app("org.example.Other"))?.message
        == "the sandbox is that of org.example.App, and the app says that it is org.example.Other")
    #expect(sandbox.refusal(of: app("org.example.App", chooser: true))?.status == .notAllowed)
    #expect(Sandbox.nameless.refusal(of: app("any")) == nil)
    #expect(Sandbox.nameless.refusal(of: app("any", chooser: true))?.status == .notAllowed)
  }
}
