// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Glibc

/// The targets by name: each takes any bytes, and ends the process if a statement about them does not hold.
private let targets: [String: @Sendable (UnsafeRawBufferPointer) -> Void] = [
  "account": fuzzAccount,
  "app": fuzzApp,
  "beacons": fuzzBeacons,
  "desktop-entries": fuzzDesktopEntries,
  "device": fuzzDevice,
  "documents": fuzzDocuments,
  "frames": fuzzFrames,
  "hub": fuzzHub,
  "json": fuzzJSON,
  "link": fuzzLink,
  "link-bytes": fuzzLinkBytes,
  "messages": fuzzMessages,
  "property-lists": fuzzPropertyLists,
  "provisional": fuzzProvisional,
  "sites": fuzzSites,
  "strangers": fuzzStrangers,
  "texts": fuzzTexts,
  "urls": fuzzURLs,
  "values": fuzzValues,
  "writer": fuzzWriter,
]

/// The target that the environment variable SEGUE_FUZZ_TARGET names.
private let target: @Sendable (UnsafeRawBufferPointer) -> Void = {
  guard let name = getenv("SEGUE_FUZZ_TARGET"), let target = targets[String(cString: name)] else {
    fatalError("SEGUE_FUZZ_TARGET names no target")
  }
  return target
}()

/// Called by libFuzzer with each input, a copy of its own: AddressSanitizer sees each byte that is read beyond it.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  target(UnsafeRawBufferPointer(start: start, count: count))
  return 0
}

/// Ends the process, which makes the input a finding, if the condition does not hold.
func require(_ condition: Bool, _ what: @autoclosure () -> String) {
  guard !condition else { return }
  fatalError(what())
}
