// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A continuation of a workload.
final class Attempt {
  /// The callbacks of a receiver in a continuation.
  enum Callback: Equatable {
    case willContinue
    case continued(isStale: Bool)
    case failed(Status)
  }

  let activity: Identifier
  let receiver: AppIdentity
  /// The activity as its app had it when the attempt began; nil if it was gone.
  let state: Activity?
  /// The number of times that the activity had been replaced by then (R3.10).
  let replacements: Int
  var callbacks: [Callback] = []
  /// The state of the activity that the receiver got.
  var number: Int?
  /// The outcome that the receiver intended; nil if it has not answered yet.
  var answer: Outcome?
  var receipt: Receipt?

  init(_ activity: Identifier, _ receiver: AppIdentity, _ state: Activity?, replacements: Int) {
    self.activity = activity
    self.receiver = receiver
    self.state = state
    self.replacements = replacements
  }
}

/// A request of a workload.
struct Asked {
  let app: Identifier
  /// The number by the app's count.
  let number: UInt64
  let bytes: [UInt8]
  var hasEnded = false
  /// Nil, if it has ended with the answer.
  var error: Status?
}
