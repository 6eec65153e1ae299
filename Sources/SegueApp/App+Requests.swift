// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// An app's requests (R7.5).
extension App {
  public func ask(_ request: Request, _ bytes: [UInt8], _ from: ContinuedFrom, timeout: Int64?) throws(SegueError) {
    try checkRequest(bytes.count, "the request")
    try perform { engine, now in
      let number = engine.request(bytes, from, timeout: timeout, now)
      request.begin(number)
      pending.add(number, .request(request))
      observer?.began(.request(number), deadline: now.uptime + (timeout ?? engine.limits.continuation))
    }
  }

  /// Throws LIMIT_EXCEEDED if that many bytes cannot be sent.
  func checkRequest(_ count: Int, _ what: String) throws(SegueError) {
    monitor.lock()
    let rejection = engine?.rejection(toSize: UInt64(count), of: what)
    monitor.unlock()
    if let rejection { throw rejection }
  }

  // MARK: Deliveries

  func answered(_ number: UInt64, _ bytes: [UInt8], _ error: SegueError?) -> CallbackInvocation {
    switch pending.remove(number) {
    case .request(let request)?:
      return {
        request.answered(bytes, error)
        return true
      }
    case .deletion(let callback)?: return deleted(bytes, error, callback)
    default: return { false }
    }
  }

  func requestCame(_ number: UInt64, _ id: Identifier, _ bytes: [UInt8]) -> CallbackInvocation {
    // The activity was invalidated, and its requests have ended with it.
    guard let activity = activities[id] else { return { false } }
    let request = Request(activity, toAnswer: number)
    let turn = tell(id) { delegate, activity in delegate.didReceiveRequest(activity, request, bytes) }
    return {
      let isTold = turn()
      // Its delegate was released meanwhile.
      if !isTold { request.giveUp() }
      return isTold
    }
  }
}
