import SegueEngine

import SegueModel

/// A connection to the control socket, as the services that it asks know it.
public struct ControlClient {
  /// Never used again.
  public let number: UInt64
  /// The account to which the use of its process is charged.
  public let account: Account

  public init(number: UInt64, account: Account) { (self.number, self.account) = (number, account) }

  /// The answer to what it asks. Called once, perhaps later.
  public typealias Answer = (Result<Value, SegueError>) -> Void

  public static func map<Success>(
    _ result: Result<Success, SegueError>, _ body: (Success) throws(SegueError) -> Value
  ) -> Result<Value, SegueError> {
    do throws(SegueError) { return .success(try body(try result.get())) } catch { return .failure(error) }
  }
}
