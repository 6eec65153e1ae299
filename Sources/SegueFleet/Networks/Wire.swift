// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueSystem

/// A TCP connection: two ends, in order, and silent for ever from when one of them has moved. What is sent while its
/// hosts are cut off from each other arrives after that.
public final class Wire {
  /// An event at an end.
  public enum Event {
    case connected
    /// Nobody listens at the other end.
    case refused
    case bytes([UInt8])
    case closed
  }

  private struct End {
    let host: Host
    let place: Place
    var isOpen = true
    var lastAt: Int64 = 0
    var handle: (Event) -> Void = { _ in }
  }

  private var ends: [End]
  /// Whether an end has moved, or lost its power: nothing arrives any more.
  private var isDead = false
  private let isRouted: Bool
  /// The deliveries that wait until its hosts reach each other again.
  private var held: [() -> Void] = []

  /// - Parameters:
  ///   - dialler: end 0.
  ///   - listener: end 1.
  ///   - isRouted: whether their networks have to reach each other.
  init?(_ dialler: Host, _ listener: Host, isRouted: Bool = true) {
    self.isRouted = isRouted
    guard let one = dialler.place, let two = listener.place else { return nil }
    ends = [End(host: dialler, place: one), End(host: listener, place: two)]
  }

  private var simulation: any NetworkSimulation { ends[0].host.simulation }
  public func host(_ end: Int) -> Host { ends[end].host }
  public func place(_ end: Int) -> Place { ends[end].place }

  public func open(_ end: Int, _ handle: @escaping (Event) -> Void) { ends[end].handle = handle }

  private var isWhole: Bool {
    !isDead && ends.allSatisfy { $0.host.place == $0.place }
      && (!isRouted || simulation.isRouted(ends[0].place.network, to: ends[1].place.network))
  }

  /// The dialler asks for the connection.
  func call(at port: UInt16) {
    let listener = ends[1].host
    deliver(to: 1) { [self] in
      guard listener.listens(at: port) else { return send(.refused, from: 1) }
      send(.connected, from: 1)
      listener.accept(self, at: port)
    }
  }

  public func send(_ bytes: [UInt8], from end: Int) { send(.bytes(bytes), from: end) }

  public func send(_ event: Event, from end: Int) {
    guard ends[end].isOpen else { return }
    deliver(to: 1 - end) { [self] in if ends[1 - end].isOpen { ends[1 - end].handle(event) } }
  }

  /// Closes an end; the other one learns of it.
  public func close(_ end: Int) {
    guard ends[end].isOpen else { return }
    send(.closed, from: end)
    release(end)
  }

  private func release(_ end: Int) {
    ends[end].isOpen = false
    ends[end].handle = { _ in }
    if !ends[1 - end].isOpen { held = [] }
  }

  /// The power of an end is gone: nobody is told.
  func vanish(_ end: Int) {
    isDead = true
    held = []
    release(end)
  }

  private func deliver(to end: Int, _ body: @escaping () -> Void) {
    let at = max(ends[end].lastAt, simulation.uptime + simulation.drawDelay())
    ends[end].lastAt = at
    simulation.later(at - simulation.uptime) { [self] in arrive(at: end, body) }
  }

  private func arrive(at end: Int, _ body: @escaping () -> Void) {
    guard isWhole else { return isDead = true }
    if !held.isEmpty || simulation.isCut(ends[0].host, ends[1].host) {
      return held.append { [self] in arrive(at: end, body) }
    }
    ends[end].host.whenAwake { if self.isWhole { body() } else { self.isDead = true } }
  }

  /// Its hosts reach each other again.
  func resumed() {
    let held = self.held
    self.held = []
    // In order: both directions have waited alike.
    for body in held { body() }
  }
}
