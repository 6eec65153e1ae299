// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The replies of the host's callbacks, section 4 of segue.h.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

extension Reply {
  /// Nil if this number is no reply; the log names the callback then.
  init?(_ number: segue_reply, of callback: StaticString) {
    guard let reply = Reply(rawValue: number) else {
      Log.error("\(callback) gave \(number), which is no segue_reply")
      return nil
    }
    self = reply
  }
}
