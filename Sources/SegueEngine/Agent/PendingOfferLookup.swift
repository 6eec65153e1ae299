// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// An offer that may be on its way to the agent.
struct PendingOfferLookup {
  enum Purpose {
    /// Its app pushes it (R3.15).
    case start(AgentContinuationRequest)
    /// The owner wants to know it.
    case look(Identifier, wanted: String?, number: UInt64)
  }

  let purpose: Purpose
  let until: Int64

  var activity: Identifier {
    switch purpose {
    case .start(let request): request.activity
    case .look(let activity, _, _): activity
    }
  }

  /// The requester's.
  var number: UInt64 {
    switch purpose {
    case .start(let request): request.number
    case .look(_, _, let number): number
    }
  }
}
