// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// The state of an account after its process has ended, or the disk was full, before or after each write: the device
/// works, or says what to do.
@Suite struct CrashTests {
  /// A write that fails: which device's, which of its writes in this step, and how.
  struct Failure: CustomTestStringConvertible {
    let device: Int
    let write: Int
    let fault: MemoryStorage.Fault

    var testDescription: String { "device \(device), write \(write), \(fault)" }

    /// None of the steps below has more than two writes at one device.
    static let all = [0, 1].flatMap { device in
      [0, 1].flatMap { write in
        [MemoryStorage.Fault.full, .diesBefore, .diesAfter].map { Failure(device: device, write: write, fault: $0) }
      }
    }
  }

  private func inject(_ failure: Failure, _ devices: [Device]) {
    let storage = devices[failure.device].storage
    (storage.faultIn, storage.fault) = (failure.write, failure.fault)
  }

  /// Starts all devices again, and checks each: it is in no account, or works with the manager.
  private func settle(_ manager: Device, _ others: [Device]) throws {
    for device in [manager] + others { device.restart() }
    for device in others {
      switch device.service.status {
      case .none: try device.service.checkMayJoin()
      case .member:
        manager.link(device)
        _ = try manager.service.accepted(try device.certificate, at: manager.world.now)
        _ = try device.service.accepted(try manager.certificate, at: manager.world.now)
        _ = try device.service.credentials(at: manager.world.now)
        #expect(try device.number == manager.number)
        #expect(try device.names() == manager.names())
        #expect(
          try device.service.epochKeys(at: manager.world.now)[0].knock
            == manager.service.epochKeys(at: manager.world.now)[0].knock)
        #expect(try manager.service.devices().first { try $0.id == device.id }?.isConfirmed == true)
      case .unusable(let error): #expect(error.message.contains("leave the account"))
      }
    }
    // Whatever was left, the next change works.
    _ = try manager.service.rename(nil, "laptop again", at: manager.world.now)
  }

  @Test(arguments: Failure.all)
  func `joining (R10.8)`(_ failure: Failure) throws {
    let world = World()
    let manager = try world.account("laptop")[0]
    let phone = try world.device("phone")
    let made = try manager.service.invite(addresses: ["::1"], port: 1, at: world.now)
    inject(failure, [manager, phone])
    let connection = try JoinConnection(manager, phone, made)
    connection.run()
    connection.close()
    // The device that did not store says so, and the user of the other one sees it.
    if failure.fault == .full, failure.write == 0 {
      #expect(connection.guestEnd != nil && connection.inviterEnd != nil && phone.storage.file == nil)
      #expect(try manager.names() == ["laptop"])
    }
    try settle(manager, [phone])
    // The invite is void, whatever happened.
    #expect(manager.service.invite(forKey: made.keyIdentity, at: world.now) == nil)
    if phone.service.identity == nil { try phone.join(manager) }
    try settle(manager, [phone])
  }

  @Test(arguments: Failure.all)
  func `renewing (R10.8)`(_ failure: Failure) throws {
    let world = World()
    let devices = try world.account("laptop", "phone")
    world.wait(days: 200)
    inject(failure, devices)
    devices[0].link(devices[1])
    try settle(devices[0], [devices[1]])
    world.wait(days: 2)
    devices[0].link(devices[1])
    #expect(try !devices[1].member.isRenewalDue(at: world.now.seconds))
  }

  @Test(arguments: Failure.all)
  func `revoking (R10.8)`(_ failure: Failure) throws {
    let world = World()
    let devices = try world.account("laptop", "phone", "lost")
    let (manager, phone, lost) = (devices[0], devices[1], try devices[2].id)
    let certificate = try devices[2].certificate
    inject(failure, devices)
    let isDone = (try? manager.service.revoke(lost, at: world.now)) != nil
    manager.link(phone)
    try settle(manager, [phone])
    // A revocation that was reported as done lasts. One that failed can be made again.
    if isDone { #expect(thrown { try phone.service.accepted(certificate, at: world.now) } != nil) }
    if try manager.member.roster[lost] != nil { _ = try manager.service.revoke(lost, at: world.now) }
    try settle(manager, [phone])
    for device in [manager, phone] {
      #expect(thrown { try device.service.accepted(certificate, at: world.now) }?.message.contains("removed") == true)
    }
  }

  @Test(arguments: Failure.all)
  func `becoming the manager (R10.8)`(_ failure: Failure) throws {
    let world = World()
    let devices = try world.account("laptop", "phone")
    let file = try devices[0].service.recoveryFile(passphrase: "correct horse battery")
    inject(failure, devices)
    _ = try? devices[1].service.recover(file, passphrase: "correct horse battery", at: world.now)
    devices[0].link(devices[1])
    for device in devices { device.restart() }
    devices[0].link(devices[1])
    // One of them is the manager, and both agree which.
    #expect(devices.filter { $0.service.isManager }.count == 1)
    let manager = try #require(devices.first { $0.service.isManager })
    try settle(manager, devices.filter { $0 !== manager })
  }

  @Test(arguments: [MemoryStorage.Fault.full, .diesBefore, .diesAfter])
  func `creating and leaving (R10.8)`(_ fault: MemoryStorage.Fault) throws {
    let world = World()
    let device = try world.device("laptop")
    (device.storage.faultIn, device.storage.fault) = (0, fault)
    let error = thrown { try device.service.create(name: "Home", deviceName: "laptop", platform: "", at: world.now) }
    #expect(error?.status == .system)
    // Not used before it is stored.
    #expect(device.service.identity == nil)
    device.restart()
    #expect((device.service.identity != nil) == (fault == .diesAfter))
    if device.service.identity == nil {
      _ = try device.service.create(name: "Home", deviceName: "laptop", platform: "", at: world.now)
    }
    (device.storage.faultIn, device.storage.fault) = (0, fault)
    #expect(thrown { try device.service.leave() }?.status == .system)
    #expect(device.service.identity != nil)
    device.restart()
    #expect((device.service.identity == nil) == (fault == .diesAfter))
  }

  @Test func `each step is one write at each device`() throws {
    let world = World()
    let devices = try world.account("laptop")
    let (manager, phone) = (devices[0], try world.device("phone"))
    func writes(_ body: () throws -> Void) rethrows -> [Int] {
      let before = [manager.storage.changes, phone.storage.changes]
      try body()
      return [manager.storage.changes - before[0], phone.storage.changes - before[1]]
    }
    #expect(manager.storage.changes == 1)
    // Admitted, and confirmed.
    #expect(try writes { try phone.join(manager) } == [2, 1])
    #expect(writes { manager.link(phone) } == [0, 1])
    world.wait(days: 200)
    // The new certificate, the list that has it, and the same list at the other end.
    #expect(writes { manager.link(phone) } == [1, 2])
    #expect(try writes { _ = try manager.service.revoke(try phone.id, at: world.now) } == [1, 0])
    #expect(try writes { _ = try manager.service.leave() } == [1, 0])
  }
}
