// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueRuntime
import SegueTransport

/// The file of what is known about sites, on the thread of the account, which has the state folder. For the loop.
final class SiteFile: SiteStorage {
  private let thread: AccountThread
  private let loop: Loop

  /// - Parameter thread: has been started.
  init(_ thread: AccountThread, on loop: Loop) { (self.thread, self.loop) = (thread, loop) }

  func loadSites(_ done: @escaping ([UInt8]) -> Void) {
    thread.use(on: loop) { store throws(SegueError) in
      store.sites()
    } _: { (result: Result<[UInt8], SegueError>) in
      if case .success(let file) = result { done(file) } else { done([]) }
    }
  }

  func storeSites(_ file: [UInt8]) {
    thread.use(on: loop, size: file.count) { store throws(SegueError) in
      try store.storeSites(file)
    } _: { (result: Result<Void, SegueError>) in
      if case .failure(let error) = result { Log.debug("sites: not stored: \(error.message)") }
    }
  }
}
