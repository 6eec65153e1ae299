import SegueModel

/// How bytes travel in a fleet. Between devices they travel as over TCP: what is lost is sent again, what comes twice is
/// dropped, what comes out of order waits. So engines see none of that but the time that it takes, silence while two
/// devices are cut off, and ends.
public struct Network: Sendable {
  /// Milliseconds that a segment is under way between two devices.
  public private(set) var leastDelay: Int64 = 5
  public private(set) var mostDelay: Int64 = 20
  /// Probabilities, segment by segment.
  public private(set) var loss = 0.0
  public private(set) var duplication = 0.0
  public private(set) var reordering = 0.0

  /// Milliseconds of the longest delay that can be set.
  public static let delayLimit: Int64 = 10_000
  /// Milliseconds after which a lost segment is sent again; each further time it takes twice as long.
  private static let retransmissionTime: Int64 = 200
  /// Times that one segment is lost at most.
  private static let lossLimit = 3
  /// Milliseconds from the end of a silence to the first retransmission, at most.
  static let recoveryTime: Int64 = 500

  public mutating func setDelay(_ least: Int64, _ most: Int64) throws(SegueError) {
    guard least >= 0, least <= most, most <= Self.delayLimit else {
      throw SegueError(.invalidArgument, "delay: must be 0...\(Self.delayLimit) ms, the least not above the most")
    }
    leastDelay = least
    mostDelay = most
  }

  /// - Parameter loss: probabilities of 0 to 1, each of them.
  public mutating func setFaults(loss: Double, duplication: Double, reordering: Double) throws(SegueError) {
    for probability in [loss, duplication, reordering] where !(probability >= 0 && probability <= 1) {
      throw SegueError(.invalidArgument, "network: a probability is not in 0...1")
    }
    self.loss = loss
    self.duplication = duplication
    self.reordering = reordering
  }

  /// Milliseconds that the next segment is under way.
  func delay(_ random: inout SeededRandom) -> Int64 {
    var delay = random.within(leastDelay, mostDelay)
    var wait = Self.retransmissionTime
    for _ in 0..<Self.lossLimit {
      guard random.chance(loss) else { break }
      delay += wait
      wait *= 2
    }
    // It is overtaken; those that overtake it wait for it at the other end.
    if random.chance(reordering) { delay += random.within(leastDelay, mostDelay) }
    return delay
  }

  /// Milliseconds that any segment takes, at most.
  var longestDelay: Int64 {
    var longest = mostDelay
    if reordering > 0 { longest += mostDelay }
    if loss > 0 { longest += Self.retransmissionTime * ((1 << Self.lossLimit) - 1) }
    return longest
  }
}
