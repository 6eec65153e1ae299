// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// A connection to the control socket, as the services that it asks know it.
public struct ControlClient {
  /// Never used again.
  public let number: UInt64
  /// The principal to which the use of its process is charged.
  public let principal: Principal

  public init(number: UInt64, principal: Principal) { (self.number, self.principal) = (number, principal) }

  /// The answer to what it asks. Called once, perhaps later.
  public typealias Answer = (Result<Value, SegueError>) -> Void

  public static func map<Success>(
    _ result: Result<Success, SegueError>, _ body: (Success) throws(SegueError) -> Value
  ) -> Result<Value, SegueError> {
    do throws(SegueError) { return .success(try body(try result.get())) } catch { return .failure(error) }
  }
}
