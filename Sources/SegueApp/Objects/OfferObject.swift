// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// An offer, as the host holds it.
public final class OfferObject: HandleObject {
  public let offer: Offer
  private let environment: any AppEnvironment

  public init(_ offer: Offer, _ environment: any AppEnvironment) {
    self.offer = offer
    self.environment = environment
  }

  /// Milliseconds since the activity was made current.
  public var age: Int64 { max(0, environment.now.uptime - offer.activatedAt) }
}
