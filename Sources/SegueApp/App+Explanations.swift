// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// "Why is it not offered there?" (R6.5)
extension App {
  public func explain(_ activity: LiveActivity, _ callback: ExplainCallback) throws(SegueError) {
    let state = activity.isStillValid ? activity.read { $0 } : nil
    try perform { engine, now in
      let request = engine.explain(activity.id, state, now)
      observer?.began(.explanation(request), deadline: nil)
      pending.add(request, .explanation(callback))
    }
  }
}
