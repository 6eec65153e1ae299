// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs inputs once more, without libFuzzer: FuzzReplay FILE..., for the target that SEGUE_FUZZ_TARGET names. A file
// *.hex has an input a line, in hexadecimal digits; any other is one input. A statement that does not hold ends the
// process; the last line on standard error that begins with "input" names the one that did it.
import Glibc

private func say(_ message: String) {
  var line = message + "\n"
  _ = line.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

private func fail(_ message: String) -> Never {
  say(message)
  exit(2)
}

private func digit(_ character: UInt8) -> UInt8? {
  switch character {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
  default: nil
  }
}

private func bytes(_ line: some Collection<UInt8>) -> [UInt8]? {
  guard line.count.isMultiple(of: 2) else { return nil }
  var bytes: [UInt8] = []
  var high: UInt8?
  for character in line {
    guard let digit = digit(character) else { return nil }
    if let first = high { bytes.append(first << 4 | digit) }
    high = high == nil ? digit : nil
  }
  return bytes
}

private func contents(_ path: String) -> [UInt8] {
  guard let file = fopen(path, "r") else { fail("\(path): cannot be opened") }
  defer { fclose(file) }
  var contents: [UInt8] = []
  var block = [UInt8](repeating: 0, count: 1 << 16)
  while case let count = fread(&block, 1, block.count, file), count > 0 { contents += block[..<count] }
  return contents
}

private func run(_ input: [UInt8], _ name: String) {
  say("input \(name)")
  alarm(20)  // seconds, as for libFuzzer
  _ = input.withUnsafeBufferPointer { testOneInput($0.baseAddress, $0.count) }
}

run([], "of no bytes")
var count = 1
for path in CommandLine.arguments.dropFirst() {
  guard path.hasSuffix(".hex") else {
    run(contents(path), path)
    count += 1
    continue
  }
  for (index, line) in contents(path).split(separator: UInt8(ascii: "\n")).enumerated() {
    guard let input = bytes(line) else { fail("\(path):\(index + 1): not hexadecimal digits") }
    run(input, "\(path):\(index + 1)")
    count += 1
  }
}
alarm(0)
print("\(count) inputs")
