/// The name of an environment variable for a program that is started, and its value.
public struct LaunchVariable: Sendable {
  public let name: String
  public let value: String

  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}
