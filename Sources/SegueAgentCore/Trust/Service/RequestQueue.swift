// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The requests of devices to the manager whose results are stored. One of each device is due at a time, so that
/// endless requests cost no more. A request that comes too early waits: for a device, the newest one of each kind.
struct RequestQueue {
  /// Milliseconds between two requests of one device.
  static let interval: Int64 = 5_000

  enum Kind {
    /// Another certificate, for the one that the device has shown.
    case renewal(CertificateFields)
    case name(String)

    func isSame(as other: Kind) -> Bool {
      switch (self, other) {
      case (.renewal, .renewal), (.name, .name): true
      default: false
      }
    }
  }

  private var waiting: [(device: Identifier, kind: Kind)] = []
  /// The devices whose certificates wait for a clock to be set: they are looked at again when the account is.
  private var held: [Identifier] = []
  private var last: [(device: Identifier, uptime: Int64)] = []

  /// Keeps the place of an older one of its kind.
  mutating func add(_ kind: Kind, of device: Identifier) {
    if let index = waiting.firstIndex(where: { $0.device == device && $0.kind.isSame(as: kind) }) {
      waiting[index].kind = kind
    } else {
      waiting.append((device, kind))
    }
  }

  /// The device has got another name meanwhile.
  mutating func removeName(of device: Identifier) {
    waiting.removeAll { request in
      if case .name = request.kind { request.device == device } else { false }
    }
  }

  /// The next request whose time has come.
  /// - Parameter holdsRenewal: whether a device gets no certificate for now.
  mutating func take(
    at uptime: Int64, holdsRenewal: (Identifier) -> Bool = { _ in false }
  ) -> (device: Identifier, kind: Kind)? {
    last.removeAll { uptime - $0.uptime >= Self.interval || $0.uptime > uptime }
    held = []
    for (device, kind) in waiting { if case .renewal = kind, holdsRenewal(device) { held.append(device) } }
    let index = waiting.firstIndex { request in
      !isHeld(request) && !last.contains { $0.device == request.device }
    }
    guard let index else { return nil }
    let request = waiting.remove(at: index)
    last.append((request.device, uptime))
    return request
  }

  private func isHeld(_ request: (device: Identifier, kind: Kind)) -> Bool {
    if case .renewal = request.kind { held.contains(request.device) } else { false }
  }

  /// The uptime at which a request is due.
  var deadline: Int64? {
    waiting.filter { !isHeld($0) }.map { request in
      last.first { $0.device == request.device }.map { $0.uptime + Self.interval } ?? 0
    }.min()
  }
}
