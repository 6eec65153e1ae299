// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueOpenSSL
import SegueStore
import SegueSystem
import SegueTransport
import Testing

@testable import SegueAgent
@testable import SegueAgentCore

/// Joins at the agent: their connections, and who is told of them.
@Suite struct AccountJoinsTests {
  /// One end of a connection.
  private final class End: DeviceConnectionOwner {
    private let isDone: (DeviceConnection?) -> Void
    /// - Parameter isDone: called with the connection when TLS is up, with nil when it has failed.
    init(_ isDone: @escaping (DeviceConnection?) -> Void) { self.isDone = isDone }
    func isUp(_ connection: DeviceConnection) { isDone(connection) }
    func failed(_ connection: DeviceConnection, _ error: SegueError) {
      connection.terminate()
      isDone(nil)
    }
    func ended(_ connection: DeviceConnection) {}
  }

  /// The owner of the joins, which is told of those that are refused.
  private final class Owner: AccountJoinsOwner {
    private(set) var refusals: [SegueError] = []
    func joinsHaveChanged() {}
    func joinWasRefused(_ error: SegueError) { refusals.append(error) }
    func hasJoined(at address: NetworkAddress) {}
  }

  /// A gate at which another thread waits until it is opened.
  private final class Gate: @unchecked Sendable {
    private let lock = ConditionLock()
    private var isOpen = false

    func open() {
      lock.lock()
      isOpen = true
      lock.notifyAll()
      lock.unlock()
    }

    func pass() {
      lock.lock()
      while !isOpen { lock.wait() }
      lock.unlock()
    }
  }

  private func invite() throws -> Invite {
    func digits(_ digit: String, _ count: Int) -> String { String(repeating: digit, count: count) }
    let link = "segue:join?v=1&a=\(digits("1", 32))&f=\(digits("2", 64))&t=\(digits("7", 64))&p=4711&h=::1&n=Home"
    return try Invite(link + String(decoding: Invite.end(of: Array(link.utf8)), as: UTF8.self))
  }

  /// An answer of the account's thread after `close` is not passed on: the owner has gone.
  @Test(arguments: [false, true]) func `a join that the account refuses as the agent ends is told nobody`(
    isClosed: Bool
  ) throws {
    var template = Array("/tmp/segue-joins-XXXXXX".utf8CString)
    let place = try #require(mkdtemp(&template).map { String(cString: $0) })
    defer { _ = system("rm -r \(place)") }
    let loop = try Loop()
    defer { loop.stop() }
    let thread = AccountThread(try StateFolder.open(place + "/state"))
    try thread.start()
    // The thread is busy, as with a passphrase or a slow disk.
    let (isFree, isAccepted) = (Gate(), Gate())
    try thread.post { _ in isFree.pass() }
    let environment = LoopEnvironment(loop)
    let joins = AccountJoins(
      AccountClient(AccountJobs(thread, on: loop)), in: environment, over: TCPTransport(on: loop), TLSSecurity())
    let owner = Owner()
    var wasUp = false
    let server = End { connection in
      if let connection { joins.accept(connection) }
      wasUp = connection != nil
      isAccepted.open()
    }
    let client = End { _ in }
    var dialled: DeviceConnection?
    let (invite, address) = (try invite(), try NetworkAddress.read("127.0.0.1:4711"))
    let nonces = (try Randomness.identifier().bytes, try Randomness.identifier().bytes)
    let answering = SecureChannel(
      answering: [], invites: [invite], nonce: nonces.0, try TLSContext(joiningWith: invite))
    let joining = try SecureChannel(joiningWith: invite, nonce: nonces.1)
    var sockets: [Int32] = [-1, -1]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &sockets) == 0)
    loop.perform { [sockets] in
      joins.owner = owner
      let made = DeviceConnection(
        TCPConnection(sockets[0], address, on: loop), .address(address), as: 1, isDialled: true, joining, of: client,
        in: environment)
      dialled = made
      let accepted = DeviceConnection(
        TCPConnection(sockets[1], address, on: loop), .address(address), as: 2, isDialled: false, answering, of: server,
        in: environment)
      do {
        try made.start()
        try accepted.start()
      } catch { isAccepted.open() }
    }
    isAccepted.pass()
    if isClosed { loop.perform { joins.close() } }
    isFree.open()
    // Its answers are with the loop then.
    thread.end()
    loop.perform {
      joins.close()
      dialled?.terminate()
    }
    #expect(wasUp && owner.refusals.count == (isClosed ? 0 : 1))
  }
}
