/// What a value can be (R1.2). Raw values are those of `SEGUE_KIND_…` in segue.h.
public enum Kind: Int32, Sendable, CaseIterable {
  case null = 1
  case bool = 2
  case integer = 3
  case double = 4
  case string = 5
  case data = 6
  case date = 7
  case url = 8
  case uuid = 9
  case array = 10
  case dictionary = 11
  case set = 12

  public var isContainer: Bool { self == .array || self == .dictionary || self == .set }
}
