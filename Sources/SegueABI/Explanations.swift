// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 5 of segue.h: "why is it not offered there?"
import CSegue
import SegueApp
import SegueEngine
import SegueModel
import SegueRuntime

/// The host's callback for an explanation.
private final class HostExplainCallback: ExplainCallback {
  private let function: segue_explain_function?
  private let context: Context

  init(_ function: segue_explain_function?, _ context: Context) {
    self.function = function
    self.context = context
  }

  override func explained(_ app: App, _ reasons: [Reason]) {
    guard let function, let list = try? value(of: reasons) else { return }
    let context = self.context.pointer
    _ = handles.lend(app, .app) { app in
      handles.lend(HeldValue(list), .value) { list in function(context, app, list) }
    }
  }

  private func value(of reasons: [Reason]) throws(SegueError) -> Value {
    var list: [Value] = []
    for reason in reasons {
      var entries: [(key: Value, value: Value)] = [
        (key: .string("reason"), value: .string(reason.reason)),
        (key: .string("message"), value: .string(reason.message)),
      ]
      if let app = reason.app { entries.append((key: .string("app"), value: .string(app))) }
      if let device = reason.device { entries.append((key: .string("device"), value: .string(device))) }
      list.append(try .dictionary(entries))
    }
    return try .array(list)
  }
}

@_cdecl("segue_activity_explain") @implementation
public func segue_activity_explain(
  _ activity: OpaquePointer?, _ function: segue_explain_function?, _ context: UnsafeMutableRawPointer?,
  _ destroy: segue_destroy?
) -> segue_status {
  let callback = HostExplainCallback(function, Context(context, destroy))
  return handles.call(activity, .activity) { (activity) throws(SegueError) in
    _ = try Arguments.required(function, "function")
    guard let app = activity.app else { throw SegueError(.invalidState, "activity: was made without an app") }
    try app.explain(activity, callback)
  }
}
