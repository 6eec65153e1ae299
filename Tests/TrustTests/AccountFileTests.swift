// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel
import SegueOpenSSL
import Testing

@testable import SegueStore
@testable import SegueAgentCore

/// The file of an account in the state folder.
@Suite struct AccountFileTests {
  private final class Folder {
    let path: String

    init() {
      let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
      var template = Array("\(parent)/segue-account-XXXXXX".utf8CString)
      path = String(cString: mkdtemp(&template)!)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var file: String { path + "/state/account" }

    func open(machine: String = "0123456789abcdef0123456789abcdef") throws -> StateFolder {
      try StateFolder.open(path + "/state", on: MachineIdentity(ofMachine: machine))
    }

    func names() -> [String] {
      ((try? FileManager.default.contentsOfDirectory(atPath: path + "/state")) ?? []).sorted()
    }
  }

  private let folder = Folder()
  private let world = World(.openSSL)

  private func service(_ state: StateFolder) throws -> AccountService {
    AccountService(storage: AccountFile(in: state), cryptography: try world.cryptography())
  }

  private func create() throws {
    let service = try service(try folder.open())
    _ = try service.create(name: "Home", deviceName: "laptop", platform: "linux", at: world.now)
  }

  private func refusal(_ state: StateFolder) throws -> SegueError? {
    if case .unusable(let error) = try service(state).status { error } else { nil }
  }

  @Test func `it is written whole, for its user alone, and read again`() throws {
    try create()
    let mode = try FileManager.default.attributesOfItem(atPath: folder.file)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(folder.names() == ["account", "lock", "machine"])
    let service = try service(try folder.open())
    #expect(service.accountName == "Home" && service.isManager)
    _ = try service.leave()
    #expect(folder.names() == ["lock", "machine"])
  }

  @Test func `another mode, owner, kind or name of the file is refused (R10.8)`() throws {
    try create()
    let state = try folder.open()
    for mode: mode_t in [0o644, 0o640, 0o604, 0o660, 0o4600] {
      chmod(folder.file, mode)
      #expect(try refusal(state)?.message.contains("mode is not 0600") == true)
    }
    chmod(folder.file, 0o600)
    #expect(try refusal(state) == nil)
    if geteuid() == 0 {
      chown(folder.file, 65_534, 65_534)
      #expect(try refusal(state)?.message.contains("another user") == true)
      chown(folder.file, 0, 0)
    }
    #expect(link(folder.file, folder.path + "/copy") == 0)
    #expect(try refusal(state)?.message.contains("hard link") == true)
    #expect(rename(folder.path + "/copy", folder.path + "/moved") == 0 && unlink(folder.file) == 0)
    #expect(symlink(folder.path + "/moved", folder.file) == 0)
    #expect(try refusal(state)?.message.contains("symbolic link") == true)
    #expect(unlink(folder.file) == 0 && mkdir(folder.file, 0o700) == 0)
    #expect(try refusal(state)?.message.contains("no regular file") == true)
    #expect(rmdir(folder.file) == 0 && mkfifo(folder.file, 0o600) == 0)
    #expect(try refusal(state)?.message.contains("no regular file") == true)
    #expect(
      unlink(folder.file) == 0 && FileManager.default.createFile(atPath: folder.file, contents: Data(count: 400_000)))
    chmod(folder.file, 0o600)
    #expect(try refusal(state)?.message.contains("too large") == true)
  }

  @Test func `what an interrupted write has left does no harm`() throws {
    try create()
    try Data("half".utf8).write(to: URL(fileURLWithPath: folder.file + ".new"))
    let service = try service(try folder.open())
    #expect(service.accountName == "Home")
    _ = try service.rename(nil, "desk", at: world.now)
    #expect(folder.names() == ["account", "lock", "machine"])
  }

  @Test func `a copy on another machine is not used before the user leaves, and is kept then (R10.8)`() throws {
    try create()
    let elsewhere = String(repeating: "f", count: 32)
    do {
      let state = try folder.open(machine: elsewhere)
      let error = try #require(try refusal(state))
      #expect(error.message.contains("another machine") && error.message.contains("account leave"))
      let service = try service(state)
      #expect(thrown { try service.credentials(at: self.world.now) } == error)
      #expect(
        thrown { try service.create(name: "x", deviceName: "y", platform: "", at: self.world.now) }?.status
          == .invalidState)
      // Joining is refused before anything is dialled.
      #expect(thrown { try service.checkMayJoin() }?.message.contains("leave") == true)
      #expect(try service.leave().aside == ["account.foreign-1"])
      #expect(folder.names() == ["account.foreign-1", "lock", "machine"])
      #expect(thrown { try service.leave() }?.status == .notFound)
      _ = try service.create(name: "New", deviceName: "y", platform: "", at: world.now)
    }
    #expect(try service(try folder.open(machine: elsewhere)).accountName == "New")
    // A folder that has lost the identity of its machine is refused, too.
    #expect(unlink(folder.path + "/state/machine") == 0)
    #expect(try refusal(try folder.open(machine: elsewhere)) != nil)
  }

  @Test(arguments: [false, true])
  func `a folder of another machine without an account is this one's with the first (R10.8)`(_ joins: Bool) throws {
    _ = try folder.open()
    try Data("inbox".utf8).write(to: URL(fileURLWithPath: folder.path + "/state/inbox.db"))
    let state = try folder.open(machine: String(repeating: "f", count: 32))
    #expect(state.refusal != nil)
    let device = Device("laptop", try world.cryptography(), world)
    device.service = AccountService(storage: AccountFile(in: state), cryptography: device.cryptography)
    if joins {
      let manager = try world.account("desk")[0]
      let invite = try manager.service.invite(addresses: ["192.0.2.1"], port: 4711, at: world.now)
      let connection = try JoinConnection(manager, device, invite)
      connection.run()
      #expect(connection.guestEnd == nil && connection.hasGuestEnded)
    } else {
      device.events = try device.service.create(name: "New", deviceName: "y", platform: "", at: world.now)
    }
    #expect(device.notices().contains { $0.contains("inbox.db.foreign-1") })
    #expect(state.refusal == nil)
    #expect(folder.names() == ["account", "inbox.db.foreign-1", "lock", "machine"])
  }

  @Test func `every file that is set aside is kept, and none that was not written whole`() throws {
    for number in 1...7 {
      try create()
      let damaged = Data("segue account\n\(number)".utf8)
      try damaged.write(to: URL(fileURLWithPath: folder.file))
      #expect(try service(try folder.open()).leave().aside == ["account.damaged-\(number)"])
    }
    for number in 1...7 {
      let kept = try Data(contentsOf: URL(fileURLWithPath: folder.file + ".damaged-\(number)"))
      #expect(kept == Data("segue account\n\(number)".utf8))
    }
    try create()
    try Data("half".utf8).write(to: URL(fileURLWithPath: folder.file + ".new"))
    _ = try service(try folder.open()).leave()
    #expect(folder.names().filter { !$0.contains("damaged") } == ["lock", "machine"])
  }

  @Test func `a damaged file is set aside when the user leaves`() throws {
    try create()
    let damaged = Data("segue account\n".utf8) + Data(count: 500)
    try damaged.write(to: URL(fileURLWithPath: folder.file))
    let service = try service(try folder.open())
    #expect(try service.leave().aside == ["account.damaged-1"])
    #expect(folder.names() == ["account.damaged-1", "lock", "machine"])
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file + ".damaged-1")) == damaged)
  }
}
