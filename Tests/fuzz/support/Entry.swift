/// What libFuzzer calls with each input, a copy of its own, so that AddressSanitizer sees each byte that is read beyond
/// it. Every target defines `fuzz`.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  fuzz(UnsafeRawBufferPointer(start: start, count: count))
  return 0
}

/// What must be so whatever the input; else the input is a finding.
func require(_ condition: Bool, _ what: @autoclosure () -> String) {
  guard !condition else { return }
  fatalError(what())
}
