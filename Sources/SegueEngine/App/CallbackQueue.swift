// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The queue of callbacks for the host, oldest first. It stays bounded for a host that does not dispatch, such as
/// behind a dialog or a debugger. Once the host is behind, only the last event of each offer waits, and receipts up to
/// `receiptLimit`, since the engine then accepts no further continuations (`AppEngineOwner.isBacklogged`). Everything
/// else has its own limits.
public struct CallbackQueue<Other> {
  public enum Item {
    case delivery(Delivery)
    /// Entries that the owner adds itself.
    case other(Other)
  }

  /// The most bytes of receipts.
  public static var receiptLimit: Int { 1024 * 1024 }
  /// With more waiting entries the host counts as behind.
  public static var fewWaiting: Int { 64 }
  /// The most empty places before compaction.
  private static var fewHoles: Int { 64 }

  /// Nil if it was taken, or is obsolete.
  private var items: [Item?] = []
  private var first = 0
  public private(set) var count = 0
  /// The positions of the last event of each offer, and of those of the connection.
  private var offerPlaces: [Identifier: Int] = .init()
  private var connectionPlaces: [Int] = []
  private var receiptBytes = 0
  /// The activities of the ends of attempts that wait, in the order of these.
  private var ends: [Identifier] = []

  public init() {}

  public var isEmpty: Bool { count == 0 }
  /// Including those that were taken, or are obsolete.
  var placeCount: Int { items.count }
  public var isFull: Bool { receiptBytes >= Self.receiptLimit }
  /// Whether the end of an attempt to continue an activity waits.
  public func hasEnd(of activity: Identifier) -> Bool { ends.contains(activity) }

  public mutating func append(_ other: Other) { add(.other(other)) }

  public mutating func append(_ delivery: Delivery) {
    switch delivery {
    case .offer(let event, let offer): append(event, offer)
    case .connection(let isReady): append(isReady: isReady)
    default:
      receiptBytes += Self.receiptSize(delivery)
      if case .continuationEnded(let activity, _) = delivery { ends.append(activity) }
      add(.delivery(delivery))
    }
  }

  public mutating func popFirst() -> Item? {
    while first < items.count {
      // Releases it now: the others may stay much longer, and are released under the lock.
      let item = items[first].take()
      first += 1
      guard let item else { continue }
      count -= 1
      forget(item)
      pack()
      return item
    }
    return nil
  }

  private mutating func forget(_ item: Item) {
    guard case .delivery(let delivery) = item else { return }
    switch delivery {
    case .offer(_, let offer):
      if offerPlaces[offer.description.id] == first - 1 { offerPlaces[offer.description.id] = nil }
    case .connection: if !connectionPlaces.isEmpty { connectionPlaces.removeFirst() }
    default:
      receiptBytes -= Self.receiptSize(delivery)
      if case .continuationEnded = delivery { ends.removeFirst() }
    }
  }

  private mutating func add(_ item: Item) {
    items.append(item)
    count += 1
  }

  private mutating func remove(at place: Int) {
    items[place] = nil
    count -= 1
    pack()
  }

  /// A host that is behind gets one event per offer.
  private mutating func append(_ event: Delivery.OfferEvent, _ offer: Offer) {
    let id = offer.description.id
    guard count > Self.fewWaiting, let place = offerPlaces[id], case .delivery(.offer(let waiting, _))? = items[place]
    else {
      offerPlaces[id] = items.count
      return add(.delivery(.offer(event, offer)))
    }
    switch (waiting, event) {
    case (.appeared, .gone):
      offerPlaces[id] = nil
      remove(at: place)
    case (.appeared, _): items[place] = .delivery(.offer(.appeared, offer))
    case (_, .gone): items[place] = .delivery(.offer(.gone, offer))
    default: items[place] = .delivery(.offer(.changed, offer))
    }
  }

  /// Ready and searching alternate, so the state before the last two is the current one.
  private mutating func append(isReady: Bool) {
    if connectionPlaces.count == 2, let last = connectionPlaces.popLast() { return remove(at: last) }
    connectionPlaces.append(items.count)
    add(.delivery(.connection(isReady: isReady)))
  }

  /// Compacts when most places are empty.
  private mutating func pack() {
    guard items.count > Self.fewHoles, count < items.count / 2 else {
      if count == 0, first == items.count { clear() }
      return
    }
    let former = items[first...]
    clear()
    for item in former {
      guard let item else { continue }
      if case .delivery(.offer(_, let offer)) = item { offerPlaces[offer.description.id] = items.count }
      if case .delivery(.connection) = item { connectionPlaces.append(items.count) }
      items.append(item)
    }
  }

  private mutating func clear() {
    items.removeAll(keepingCapacity: items.count <= Self.fewHoles)
    first = 0
    offerPlaces.removeAll()
    connectionPlaces.removeAll()
  }

  /// The bytes of a receipt; 0 for all other entries.
  private static func receiptSize(_ delivery: Delivery) -> Int {
    switch delivery {
    case .wasContinued(_, let receipt), .continuationEnded(_, let receipt):
      let receiver = receipt.receiver
      return 256 + Text.size(receipt.reason) + Text.size(receiver.deviceName) + Text.size(receiver.appName)
        + Text.size(receiver.bundleIdentifier)
    default: return 0
    }
  }
}
