// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The connections of the agent's second socket (docs/protocol.md, "The second socket of the agent"). No I/O. For one
/// thread.
public final class ControlServer: AgentTimerOwner {
  /// Connections at a time; of one process a quarter. Further ones get `goodbye`.
  static let connectionLimit = 16

  let environment: any AgentEnvironment
  let requests: ControlRequests
  let quota = RequestQuota()
  private var connections: [ControlConnection] = []
  private var timer: (any AgentTimer)?
  private var lastNumber: UInt64 = 0

  /// Throws SYSTEM.
  public init(_ requests: ControlRequests, in environment: any AgentEnvironment) throws(SegueError) {
    self.environment = environment
    self.requests = requests
    // `close` is called before this object is released.
    timer = try environment.makeTimer(for: self)
  }

  /// Closes all connections. No events may follow.
  public func close() {
    timer?.close()
    timer = nil
    for connection in connections { connection.close() }
    connections = []
  }

  /// The open connections.
  var connectionCount: Int { connections.count }

  /// Returns a number for a connection, which was not used before.
  public func takeNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// Takes over a connection of a process of this user.
  /// - Parameter number: of `takeNumber`; `readable` and `writable` are called with it.
  public func admit(_ connection: any ByteConnection, as number: UInt64, ofProcess process: Int32) {
    let principal = Principal.process(process)
    if let error = rejection(of: principal) { return refuse(connection, error, process) }
    let client = ControlClient(number: number, principal: principal)
    connections.append(ControlConnection(connection, of: client, at: self))
    setTimer()
  }

  /// Closes a connection of a process, and tells it why.
  public func refuse(_ connection: any ByteConnection, _ error: SegueError, _ process: Int32) {
    environment.log(.error, "control: refused process \(process): \(error.message)")
    ControlConnection.refuse(connection, error)
  }

  public func readable(_ number: UInt64) { find(number)?.readable() }
  public func writable(_ number: UInt64) { find(number)?.writable() }

  private func find(_ number: UInt64) -> ControlConnection? { connections.first { $0.client.number == number } }

  /// Nil if there is room for a connection. Those that the other side has closed make room at once: the loop may learn
  /// of a new connection before it learns of their end.
  private func rejection(of principal: Principal) -> SegueError? {
    guard currentRejection(of: principal) != nil else { return nil }
    for connection in connections where connection.isGone { connection.end() }
    return currentRejection(of: principal)
  }

  private func currentRejection(of principal: Principal) -> SegueError? {
    let share = Self.connectionLimit / Principal.share
    guard connections.count(where: { $0.client.principal == principal }) < share else {
      return SegueError(.limitExceeded, "control: \(share) connections of this process are there, which is the most")
    }
    guard connections.count < Self.connectionLimit else {
      return SegueError(.limitExceeded, "control: \(Self.connectionLimit) connections are there, which is the most")
    }
    return nil
  }

  /// Called when a connection has closed itself.
  func ended(_ connection: ControlConnection) {
    connections.removeAll { $0 === connection }
    setTimer()
  }

  func setTimer() { timer?.set(connections.map { $0.deadline }.min()) }

  public func timerIsDue(_ timer: any AgentTimer) {
    for connection in connections where connection.deadline <= environment.uptime {
      connection.tick(environment.uptime)
    }
    setTimer()
  }
}
