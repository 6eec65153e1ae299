// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The settings for how bytes travel in a fleet. Between devices they travel as over TCP: lost segments are
/// retransmitted, duplicates dropped, reordered ones wait. So engines see only the time that this takes, silence during
/// a partition, and ends.
public struct Network: Sendable {
  /// The delay of a segment between two devices, in milliseconds.
  public private(set) var leastDelay: Int64 = 5
  public private(set) var mostDelay: Int64 = 20
  /// Probabilities per segment.
  public private(set) var loss = 0.0
  public private(set) var duplication = 0.0
  public private(set) var reordering = 0.0

  /// Milliseconds of the longest delay that can be set.
  public static let delayLimit: Int64 = 10_000
  /// Milliseconds until a lost segment is retransmitted; doubled for each further time.
  private static let retransmissionTime: Int64 = 200
  /// The most losses of one segment.
  private static let lossLimit = 3
  /// The most milliseconds from the end of a partition to the first retransmission.
  static let recoveryTime: Int64 = 500

  public mutating func setDelay(_ least: Int64, _ most: Int64) throws(SegueError) {
    guard least >= 0, least <= most, most <= Self.delayLimit else {
      throw SegueError(.invalidArgument, "delay: must be 0...\(Self.delayLimit) ms, the least not above the most")
    }
    leastDelay = least
    mostDelay = most
  }

  /// - Parameter loss: a probability from 0 to 1, like the others.
  public mutating func setFaults(loss: Double, duplication: Double, reordering: Double) throws(SegueError) {
    for probability in [loss, duplication, reordering] where !(probability >= 0 && probability <= 1) {
      throw SegueError(.invalidArgument, "network: a probability is not in 0...1")
    }
    self.loss = loss
    self.duplication = duplication
    self.reordering = reordering
  }

  /// Draws the delay of the next segment, in milliseconds.
  func delay(_ random: inout SeededRandom) -> Int64 {
    var delay = random.within(leastDelay, mostDelay)
    var wait = Self.retransmissionTime
    for _ in 0..<Self.lossLimit {
      guard random.chance(loss) else { break }
      delay += wait
      wait *= 2
    }
    // It is overtaken; the segments that overtake it wait for it at the other end.
    if random.chance(reordering) { delay += random.within(leastDelay, mostDelay) }
    return delay
  }

  /// The most milliseconds for any segment.
  var longestDelay: Int64 {
    var longest = mostDelay
    if reordering > 0 { longest += mostDelay }
    if loss > 0 { longest += Self.retransmissionTime * ((1 << Self.lossLimit) - 1) }
    return longest
  }
}
