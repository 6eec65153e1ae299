// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// The words of the system on a process in a sandbox, and the words of an app in one (R13.8, A29).
@Suite struct SandboxTests {
  private func flatpak(_ info: String) -> [String] {
    Array(info.utf8).withUnsafeBytes { Sandbox(flatpak: $0) }.identifiers
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
    #expect(
      flatpak("[Instance]\nname=other\n[Application]\nname=org.example.App\nname=second\n") == ["org.example.App"])
    for none in [
      "", "[Runtime]\nname=org.x.Platform\n", "name=org.example.App", "[Application]\n[Other]\nname=a", "\0\u{ff}",
    ] {
      #expect(flatpak(none) == [], "\(none)")
    }
  }

  @Test func `a control group says which Flatpak or Snap it is of (R13.8)`() {
    let app = "0::/user.slice/user-1.slice/user@1.service/app.slice"
    #expect(unit("\(app)/app-flatpak-org.example.App-123.scope\n") == ["org.example.App"])
    #expect(unit("\(app)/app-flatpak-org.example.My\\x2dApp-123.scope\n") == ["org.example.My-App"])
    #expect(
      unit("\(app)/snap.my-editor.editor-0f9d1f2e-aaaa-bbbb-cccc-0123456789ab.scope\n")
        == ["my-editor", "my-editor_editor"])
    #expect(unit("0::/system.slice/snap.my-editor.daemon.service\n") == ["my-editor", "my-editor_daemon"])
    for none in [
      "", "0::/", "\(app)/app-org.example.App-123.scope", "\(app)/app-flatpak-x.scope", "0::/snap.x", "snap...",
      "\(app)/app-flatpak-a-b-c.scope",
    ] { #expect(unit(none) == nil, "\(none)") }
  }

  @Test func `an app in a sandbox is the one that the sandbox is of, and never a chooser (R13.8, A29)`() {
    let sandbox = Sandbox(identifiers: ["org.example.App"])
    #expect(sandbox.refusal(of: app("org.example.App")) == nil)
    #expect(
      sandbox.refusal(of: app("org.example.Other"))?.message
        == "the sandbox is that of org.example.App, and the app says that it is org.example.Other")
    #expect(sandbox.refusal(of: app("org.example.App", chooser: true))?.status == .notAllowed)
    #expect(Sandbox.unknown.refusal(of: app("any")) == nil)
    #expect(Sandbox.unknown.refusal(of: app("any", chooser: true))?.status == .notAllowed)
  }
}
