// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The cause of a notice: the list of notices is shared among the causes.
public enum NoticeSource: Equatable, Sendable {
  /// This device, or its user.
  case here
  /// Another device of the account.
  case device(Identifier)
  /// The clock of another device of the account, of which there is one notice at a time.
  case clock(of: Identifier)
  /// A device that the account does not list, or that has not shown which one it is.
  case unlisted

  /// The source whose share of the list it uses.
  public var owner: NoticeSource { if case .clock(let device) = self { .device(device) } else { self } }
}
