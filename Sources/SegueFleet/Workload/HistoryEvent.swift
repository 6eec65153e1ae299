// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// An act of a scripted app, or a report to it, as far as a checker of the whole history has to know it.
enum HistoryEvent {
  /// An activity of the app is in a new state; nil if it has ended.
  case activity(Identifier, Activity?)
  /// An activity that the app has continued is in a new state.
  case kept(ContinuedFrom, Activity)
  /// The app begins to take the state of its activity back: under this name, of that activity.
  case resumes(Identifier, Identifier)
  /// The state of its activity was replaced by one that came back.
  case replaced(Identifier, Activity)
  /// The app begins a continuation.
  case continues(Identifier, Offer)
  /// The app, as the receiver, intends this outcome.
  case answers(Identifier, Outcome)
  /// A callback of the receiver runs.
  case step(ContinuationStep, of: Identifier)
  /// The origin learns how a continuation of its activity has ended.
  case receipt(Receipt, of: Identifier)
  case offer(Delivery.OfferEvent, Identifier)
  /// The app sends a request, and has to get its content as the answer.
  case requests(UInt64, [UInt8])
  /// The app learns the result of its request.
  case answered(UInt64, [UInt8], Status?)
  /// The app has read the end of an attachment.
  case fetched(Identifier, isComplete: Bool)
}
