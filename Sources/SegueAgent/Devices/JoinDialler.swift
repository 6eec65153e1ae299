import SegueModel
import SegueRuntime
import SegueTLS
import SegueTransport
import SegueTrust

/// Dials all addresses of an invite at once, until one of them has answered with its key. For the loop.
final class JoinDialler: DeviceConnectionOwner {
  /// The uptime at which it gives up.
  let deadline: Int64
  private let invite: Invite
  private let done: (Result<DeviceConnection, SegueError>) -> Void
  private var connections: [DeviceConnection] = []
  private var lastNumber: UInt64 = 0
  private var isOver = false
  /// Why the last address failed, and whether any device was reached.
  private var failure = SegueError(.connectionUnavailable, "the invite has no address that this device can dial")
  private var isReached = false

  /// - Parameter done: called once, with a connection that the callee owns then, or why there is none; not before
  ///   `start` has returned.
  init(_ invite: Invite, until deadline: Int64, _ done: @escaping (Result<DeviceConnection, SegueError>) -> Void) {
    self.invite = invite
    self.deadline = deadline
    self.done = done
  }

  /// The most addresses that are dialled: each of an invite, some on each interface.
  private static let limit = 32

  /// What to dial. Link-local addresses come last.
  private func targets() -> [NetworkAddress] {
    let interfaces = NetworkInterface.all()
    var all: [NetworkAddress] = []
    for host in invite.addresses {
      do throws(SegueError) {
        all += try NetworkAddress.read(host: host, port: invite.port).onInterfaces(interfaces)
      } catch { failure = error }
    }
    return Array((all.filter { !$0.isLinkLocal } + all.filter { $0.isLinkLocal }).prefix(Self.limit))
  }

  func start(on loop: Loop) {
    for address in targets() {
      do throws(SegueError) {
        let channel = try SecureChannel(joiningWith: invite, nonce: try Randomness.identifier().bytes)
        lastNumber += 1
        let connection = DeviceConnection(
          try TCPSocket.dial(address), address, as: lastNumber, isDialled: true, channel, of: self)
        try connection.start(on: loop)
        connections.append(connection)
      } catch {
        failure = error
      }
    }
    if connections.isEmpty { loop.post { [self] in finish(.failure(explained)) } }
  }

  /// Gives up. Calls nothing afterwards.
  func cancel() {
    isOver = true
    for connection in connections { connection.terminate() }
  }

  func tick(_ uptime: Int64) {
    guard deadline <= uptime, !isOver else { return }
    if connections.contains(where: { !$0.isConnecting }) { isReached = true }
    failure = SegueError(.remoteApplicationTimedOut, "nothing has answered in time")
    finish(.failure(explained))
  }

  func isUp(_ connection: DeviceConnection) {
    connections.removeAll { $0 === connection }
    finish(.success(connection))
  }

  func failed(_ connection: DeviceConnection, _ error: SegueError) {
    if !connection.isConnecting { isReached = true }
    failure = error
    Log.debug("no join over \(connection.address.text): \(error.message)")
    connection.terminate()
    if connections.isEmpty { finish(.failure(explained)) }
  }

  func ended(_ connection: DeviceConnection) { connections.removeAll { $0 === connection } }

  private func finish(_ result: Result<DeviceConnection, SegueError>) {
    guard !isOver else { return }
    cancel()
    done(result)
  }

  /// What the user can do about it.
  private var explained: SegueError {
    isReached
      ? SegueError(
        .notAllowed,
        """
        join: the other device does not take this invite (it is used up, older than ten minutes, or its agent was \
        started again); ask for a new one
        """)
      : SegueError(
        .connectionUnavailable,
        """
        join: the other device is not reached: \(failure.message); are both devices in one network, and does its \
        firewall let TCP port \(Int(invite.port)) through?
        """)
  }
}
