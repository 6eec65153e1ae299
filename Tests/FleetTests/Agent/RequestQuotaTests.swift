// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import Testing

@testable import SegueAgentCore

/// The number of questions without an answer that a process may have.
@Suite struct RequestQuotaTests {
  @Test func `a process has its share of the questions until they are answered or dropped`() throws {
    let quota = RequestQuota()
    var places: [RequestQuota.Place] = []
    for _ in 0..<RequestQuota.principalLimit { places.append(try quota.take(.process(1))) }
    #expect(throws: SegueError.self) { try quota.take(.process(1)) }
    // Others have room.
    for process in Int32(2)...4 {
      for _ in 0..<RequestQuota.principalLimit { places.append(try quota.take(.process(process))) }
    }
    #expect(places.count == RequestQuota.limit)
    #expect(throws: SegueError.self) { try quota.take(.process(5)) }
    places.removeFirst()
    places.append(try quota.take(.process(5)))
    #expect(throws: SegueError.self) { try quota.take(.process(1)) }
    places = []
    for _ in 0..<RequestQuota.principalLimit { places.append(try quota.take(.process(1))) }
  }
}
