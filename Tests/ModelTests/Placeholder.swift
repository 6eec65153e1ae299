import SegueModel
import Testing

@Test func `an identifier has 16 bytes`() {
  #expect(Identifier(bytes: [UInt8](1...16))?.bytes == [UInt8](1...16))
  #expect(Identifier(bytes: [1, 2]) == nil)
}
