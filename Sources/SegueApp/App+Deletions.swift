// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// The deletion of an app's saved activities (R8.2).
extension App {
  /// Deletes saved activities of this app (R8.2).
  /// - Parameter names: a set of persistent identifiers; nil: all.
  public func deleteSaved(_ names: Value?, _ callback: DeletionCallback) throws(SegueError) {
    try perform { engine, now in
      let number = engine.deleteSaved(names, now)
      observer?.began(.request(number), deadline: now.uptime + engine.limits.continuation)
      pending.add(number, .deletion(callback))
    }
  }

  func deleted(_ bytes: [UInt8], _ error: SegueError?, _ callback: DeletionCallback) -> CallbackInvocation {
    {
      do throws(SegueError) {
        if let error { throw error }
        guard let count = try Value(cbor: bytes)["count"]?.int64, let count = Int(exactly: count) else {
          throw SegueError(.malformed, "the agent's answer is no count")
        }
        callback.deleted(self, count, nil)
      } catch {
        callback.deleted(self, 0, SharedBox(error))
      }
      return true
    }
  }
}
