// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

@testable import SegueModel

/// Any order of calls of a writer: what fails has no effect, and what is finished is a value.
func fuzzWriter(_ bytes: UnsafeRawBufferPointer) {
  var writer = ValueWriter()
  var input = Input(bytes)
  // The same calls, but for those that failed.
  var successes = ValueWriter()
  while !input.isEmpty {
    var retry = input
    let depth = writer.depth
    do throws(SegueError) {
      try call(&writer, &input)
    } catch {
      require(writer.depth == depth, "a call that failed opened or closed a container")
      if isEnd(retry), error.status != .invalidState { return checkUnusable(&writer) }
      continue
    }
    require((try? call(&successes, &retry)) != nil, "a call that failed before had an effect")
  }
  finish(&writer, &successes)
}

/// An `end` that fails for what is inside leaves nothing that could be finished.
private func checkUnusable(_ writer: inout ValueWriter) {
  require((try? writer.putNull()) == nil && (try? writer.end()) == nil, "an unusable writer writes")
  require((try? writer.written()) == nil && (try? writer.finish()) == nil, "an unusable writer is finished")
  writer.reset()
  require((try? writer.putNull()) != nil && (try? writer.finish()) == .null, "a writer that was reset does not write")
}

private func finish(_ writer: inout ValueWriter, _ successes: inout ValueWriter) {
  while writer.depth > 0 {
    do throws(SegueError) { try writer.end() } catch { return }
    require((try? successes.end()) != nil, "containers differ")
  }
  let written = try? writer.written()
  let value = try? writer.finish()
  require(value == written && value == (try? successes.finish()), "two writers wrote two values")
  guard let value else { return }
  require(value.encoding.withUnsafeBytes { CanonicalScan.accepts($0) }, "what was written is not deterministic")
  require((try? writer.finish()) == nil && writer.depth == 0, "the writer is not empty")
}

private func isEnd(_ input: Input) -> Bool {
  var input = input
  return input.number(below: 16) == 15
}

private func call(_ writer: inout ValueWriter, _ input: inout Input) throws(SegueError) {
  switch input.number(below: 16) {
  case 0: try writer.putNull()
  case 1: try writer.put(input.bool())
  case 2: try writer.put(Int64(bitPattern: input.number()))
  case 3: try writer.put(input.number())
  case 4: try writer.put(Double(bitPattern: input.number()))
  case 5: try writer.putDate(Double(bitPattern: input.number()))
  case 6: try writer.put(input.text())
  case 7: try writer.put(utf8: input.bytes())
  case 8: try writer.put(data: input.bytes())
  case 9: try writer.put(url: input.bytes())
  case 10: try writer.put(input.anyIdentifier())
  case 11: if let value = try? Value(cbor: input.bytes()) { try writer.put(value) }
  case 12: try writer.begin(.array)
  case 13: try writer.begin(.dictionary)
  case 14: try writer.begin(.set)
  default: try writer.end()
  }
}
