// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

@testable import SegueFleet

/// The states of all continued activities, to check what comes back (R3.10): one that the receiver had after it had
/// continued the activity, and none older than it had when the origin asked.
struct ResumptionHistory {
  /// The states of one continued activity, by their numbers, oldest first.
  private struct Kept {
    let continuation: Identifier
    /// The origin's activity.
    let activity: Identifier
    var numbers: [Int]
  }

  private var kept: [Kept] = []
  /// The numbers of states that the activities had when a resumption began. Dictionaries here are never iterated.
  private var begun: [Identifier: [Int]] = [:]
  private var replaced: [Identifier: [Int]] = [:]
  private(set) var ended: [Identifier: Int] = [:]

  mutating func note(_ state: Activity, _ from: ContinuedFrom) {
    guard let number = ScriptedApp.number(of: state) else { return }
    if let index = kept.firstIndex(where: { $0.continuation == from.continuation }) {
      kept[index].numbers.append(number)
    } else {
      kept.append(Kept(continuation: from.continuation, activity: from.offer.description.id, numbers: [number]))
    }
  }

  mutating func begin(_ id: Identifier, of activity: Identifier) { begun[id] = kept.map { $0.numbers.count } }

  mutating func noteReplaced(_ id: Identifier, _ state: Activity) {
    guard let number = ScriptedApp.number(of: state) else { return }
    replaced[id, default: []].append(number)
  }

  /// The states by which an activity was replaced, oldest first.
  func replacements(of activity: Identifier) -> [Int] { replaced[activity] ?? [] }

  mutating func violation(by resumed: ResumedState, _ id: Identifier) -> StaticString? {
    guard let counts = begun.removeValue(forKey: id) else { return "R3.10: a state comes back out of nothing" }
    guard let number = ScriptedApp.number(of: resumed.state) else {
      return "R3.10: a state was damaged on its way back"
    }
    ended[id] = number
    let places = kept.indices.filter { kept[$0].activity == resumed.activity && kept[$0].numbers.contains(number) }
    guard !places.isEmpty else { return "R3.10: what comes back was never where the activity was continued" }
    let isNew = places.contains { place in
      // The last state that there was counts, too.
      let since = place < counts.count ? max(0, counts[place] - 1) : 0
      return kept[place].numbers[since...].contains(number)
    }
    return isNew || resumed.isStale ? nil : "R3.10: an older state comes back than there was when it was asked for"
  }
}
