// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel
import Testing

@testable import SegueStore

/// The folder: whose it is, who may use it, on which machine.
@Suite struct StateFolderTests {
  let folder = TemporaryFolder()

  @Test func `a folder is made with all that leads to it, and closed to others`() throws {
    let path = folder.path + "/a/b/segue"
    let state = try StateFolder.open(path, on: TemporaryFolder.machine)
    for each in [path, folder.path + "/a", folder.path + "/a/b"] {
      let mode = try FileManager.default.attributesOfItem(atPath: each)[.posixPermissions] as? Int
      #expect(mode == 0o700)
    }
    _ = try Inbox.open(in: state)
    let mode = try FileManager.default.attributesOfItem(atPath: path + "/inbox.db")[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(state.refusal == nil)
  }

  @Test(arguments: ["0777", "0277", "0400"])
  func `whatever the umask, its files can be used by their user`(umask: String) throws {
    let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", "umask \(umask) && exec \"$0\" inbox \"$1\" 1 3", program.appending(path: "StoreProbe").path, folder.state,
    ]
    process.standardOutput = Pipe()
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0 && folder.names().contains("machine") && folder.names().contains("lock"))
    for name in folder.names() {
      let mode = try FileManager.default.attributesOfItem(atPath: "\(folder.state)/\(name)")[.posixPermissions] as? Int
      #expect(mode == 0o600, "\(name)")
    }
    // As an earlier version has left it.
    #expect(chmod(folder.state + "/lock", 0) == 0)
    _ = try folder.open()
    var status = stat()
    #expect(stat(folder.state + "/lock", &status) == 0 && status.st_mode & 0o777 == 0o600)
  }

  @Test func `one process uses it, and another is told which`() throws {
    let first = try folder.open()
    let error = try #require(thrown { try folder.open() })
    #expect(error.status == .busy && error.message.contains("another process, or this one, uses it"))
    withExtendedLifetime(first) {}
  }

  @Test func `settings that are a symbolic link are written through, and no link to anything else is read`() throws {
    let state = try folder.open()
    let (target, link) = (folder.path + "/settings", folder.state + "/devices")
    try Data([1, 2, 3]).write(to: URL(fileURLWithPath: target))
    #expect(state.linkedDeviceSettings == nil)
    #expect(symlink(target, link) == 0)
    #expect(try state.deviceSettings() == [1, 2, 3] && state.linkedDeviceSettings == link)
    for bytes: [UInt8] in [[4, 5, 6, 7], [8]] {
      try state.storeDeviceSettings(bytes)
      #expect(try state.deviceSettings() == bytes)
      #expect(try Array(Data(contentsOf: URL(fileURLWithPath: target))) == bytes)
    }
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
    // Without a link it is replaced, whole or not at all.
    #expect(unlink(link) == 0)
    try state.storeDeviceSettings([9])
    #expect(try Array(folder.data("devices")) == [9] && state.linkedDeviceSettings == nil)
    #expect(unlink(link) == 0 && symlink("/dev/null", link) == 0)
    #expect(thrown { try state.deviceSettings() }?.status == .unsafeFolder)
    #expect(thrown { try state.storeDeviceSettings([1]) }?.status == .unsafeFolder)
  }

  @Test func `settings behind a link are replaced whole, with their mode, and leave nothing beside them`() throws {
    let state = try folder.open()
    let (kept, link) = (folder.path + "/kept", folder.state + "/devices")
    #expect(mkdir(kept, 0o700) == 0)
    try Data([1, 2, 3]).write(to: URL(fileURLWithPath: kept + "/settings"))
    #expect(chmod(kept + "/settings", 0o640) == 0 && symlink("../kept/settings", link) == 0)
    // A reader has the old one or the new one, not half of it.
    let reader = open(kept + "/settings", O_RDONLY)
    defer { close(reader) }
    try state.storeDeviceSettings([4, 5])
    var bytes = [UInt8](repeating: 0, count: 8)
    #expect(read(reader, &bytes, 8) == 3 && bytes[0] == 1)
    #expect(try state.deviceSettings() == [4, 5])
    let attributes = try FileManager.default.attributesOfItem(atPath: kept + "/settings")
    #expect(attributes[.posixPermissions] as? Int == 0o640)
    #expect(try FileManager.default.contentsOfDirectory(atPath: kept) == ["settings"])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "../kept/settings")
    #expect(folder.names() == ["devices", "lock", "machine"])
  }

  @Test func `settings where no new file may be made are written in place, and a half write counts for nothing`() throws
  {
    let state = try folder.open()
    let (kept, link) = (folder.path + "/kept", folder.state + "/devices")
    #expect(mkdir(kept, 0o700) == 0)
    try Data([1, 2, 3]).write(to: URL(fileURLWithPath: kept + "/settings"))
    #expect(symlink(kept + "/settings", link) == 0)
    // As where a confined process may write the file alone: also root makes none here.
    #expect(mkdir(kept + "/settings.new", 0o700) == 0)
    try state.storeDeviceSettings([4, 5, 6, 7])
    #expect(try Array(Data(contentsOf: URL(fileURLWithPath: kept + "/settings"))) == [4, 5, 6, 7])
    try state.storeDeviceSettings([8])
    #expect(try state.deviceSettings() == [8] && folder.names() == ["devices", "lock", "machine"])
    // The process has died in the middle of the write: the copy of what there was counts, until something is stored.
    try folder.write(Data([8]), "devices.former")
    try Data([9, 9]).write(to: URL(fileURLWithPath: kept + "/settings"))
    #expect(try state.deviceSettings() == [8])
    try state.storeDeviceSettings([10])
    #expect(try state.deviceSettings() == [10] && folder.names() == ["devices", "lock", "machine"])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == kept + "/settings")
  }

  @Test func `a link to damaged settings, or to none, stays a link`() throws {
    let state = try folder.open()
    let (target, link) = (folder.path + "/settings", folder.state + "/devices")
    try Data("damaged".utf8).write(to: URL(fileURLWithPath: target))
    #expect(symlink(target, link) == 0)
    #expect(try state.setDeviceSettingsAside() == "devices.damaged-1")
    #expect(try folder.data("devices.damaged-1") == Data("damaged".utf8))
    try state.storeDeviceSettings([1])
    #expect(try state.setDeviceSettingsAside() == "devices.damaged-2")
    #expect(try Array(Data(contentsOf: URL(fileURLWithPath: target))) == [1])
    // The disk with the settings is not there: they are unknown, not none.
    #expect(unlink(target) == 0)
    #expect(thrown { try state.deviceSettings() }?.message.contains("to a file that there is not") == true)
    #expect(state.linkedDeviceSettings == nil)
    try state.storeDeviceSettings([2, 3])
    #expect(try Array(Data(contentsOf: URL(fileURLWithPath: target))) == [2, 3])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
  }

  @Test func `a folder that is open to others, or no folder, is refused`() throws {
    #expect(chmod(folder.path, 0o755) == 0 && mkdir(folder.state, 0o755) == 0)
    #expect(thrown { try folder.open() }?.message.contains("mode must be 0700") == true)
    #expect(rmdir(folder.state) == 0 && symlink("/tmp", folder.state) == 0)
    #expect(thrown { try folder.open() }?.message.contains("symbolic link") == true)
    #expect(unlink(folder.state) == 0)
    try Data().write(to: URL(fileURLWithPath: folder.state))
    #expect(thrown { try folder.open() }?.status == .unsafeFolder)
    #expect(thrown { try StateFolder.open("state", on: nil) }?.status == .invalidArgument)
  }

  @Test func `a folder of another user gets no new folder, unless it is for all`() throws {
    // As with sudo -E: the environment is the user's, and the process root's. Without root's rights, / is another's.
    let isRoot = geteuid() == 0
    let home = isRoot ? folder.path + "/home" : ""
    if isRoot {
      #expect(mkdir(home, 0o755) == 0 && chown(home, 65534, 65534) == 0)
    }
    for path in [home + "/segue-test-state", home + "/segue-test-a/b/segue/"] {
      let error = try #require(thrown { try StateFolder.open(path, on: nil) })
      #expect(error.status == .unsafeFolder && error.message.contains("state folder \(home)/segue-test-"))
      #expect(error.message.contains("because \(isRoot ? home : "/") belongs to another user"))
    }
    guard isRoot else { return }
    #expect(try FileManager.default.contentsOfDirectory(atPath: home).isEmpty)
    for mode: mode_t in [0o777, 0o1775] {
      #expect(chmod(home, mode) == 0)
      #expect(thrown { try StateFolder.open(home + "/state", on: nil) }?.status == .unsafeFolder)
    }
    #expect(chmod(home, 0o1777) == 0)
    _ = try StateFolder.open(home + "/state", on: nil)
  }

  @Test func `an inbox of another machine is refused until the user rejoins, and search is not`() throws {
    _ = try Inbox.open(in: folder.open()).put(.sample(1), at: 0)
    let other = MachineIdentity(ofMachine: "ffffffffffffffffffffffffffffffff")
    for machine in [other, nil] {
      let state = try folder.open(on: machine)
      let refusal = try #require(state.refusal)
      #expect(refusal.message.contains("another machine") && refusal.message.contains("leave"))
      #expect(thrown { try Inbox.open(in: state) } == refusal)
      #expect(try SavedActivities.open(in: state).count == 0)
    }
    do {
      let state = try folder.open(on: other)
      #expect(try state.rejoin() == ["inbox.db.foreign-1"])
      #expect(thrown { try state.rejoin() }?.status == .invalidState)
      #expect(try Inbox.open(in: state).entries().isEmpty)
    }
    #expect(try folder.open(on: other).refusal == nil)
    #expect(try folder.open().refusal != nil)
    #expect(folder.names().contains("inbox.db.foreign-1"))
  }

  @Test func `an inbox whose identity was lost, or is no identity, is another machine's`() throws {
    _ = try Inbox.open(in: folder.open())
    try folder.write(Data("x".utf8), "machine")
    for _ in 0..<2 {
      #expect(try folder.open().refusal?.message.contains("its file 'machine' was lost") == true)
      #expect(try folder.data("machine.damaged-1") == Data("x".utf8) && !folder.names().contains("machine"))
    }
  }

  @Test func `the machine id itself is not in the folder`() throws {
    _ = try folder.open()
    let text = String(decoding: try folder.data("machine"), as: UTF8.self)
    // openssl dgst -sha256 -hmac org.segue.state-folder
    #expect(text == MachineIdentity(ofMachine: "0123456789abcdef0123456789abcdef").text + "\n")
    #expect(text.utf8.count == 65 && !text.contains("0123456789abcdef0123"))
  }
}
