import SegueFleet
import SegueModel
import SegueTransport

/// An offer, as the host holds it.
public final class HeldOffer: Handled {
  public let offer: Offer
  /// Nil for the system's clock.
  private let clock: FleetClock?

  init(_ offer: Offer, _ clock: FleetClock?) {
    self.offer = offer
    self.clock = clock
  }

  /// Milliseconds since the activity was made current.
  public var age: Int64 { max(0, (clock?.uptime ?? Clock.uptime) - offer.activatedAt) }
}
