// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueStore

// A process that uses a state folder, for tests that kill it or take the disk away, and for the benchmark.
//
//     StoreProbe inbox FOLDER SEED COUNT     random calls; a line on standard output before and after each
//     StoreProbe stubborn FOLDER SEED COUNT  the same, and each call that fails is made again
//     StoreProbe saved FOLDER SEED COUNT     the same of saved activities
//     StoreProbe open FOLDER                 opens both
//     StoreProbe bench FOLDER …              figures, as "name value" lines (Bench.swift)

/// The machine to which the folders belong, whatever machine this is.
let machine = MachineIdentity(ofMachine: "0123456789abcdef0123456789abcdef")

/// A line, in one write: the tests place it among the writes to the disk.
func say(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  _ = write(1, bytes, bytes.count)
}

/// Makes a call again and again if it fails, and says so.
func insist<Result>(_ isStubborn: Bool, _ call: () throws(SegueError) -> Result) throws(SegueError) -> Result {
  for _ in 0..<(isStubborn ? 1_000 : 0) {
    do throws(SegueError) { return try call() } catch { say("failed \(error.status.rawValue) \(error.message)") }
  }
  return try call()
}

func run(_ arguments: [String]) throws(SegueError) {
  guard arguments.count >= 3 else { throw SegueError(.invalidArgument, "usage: StoreProbe ROLE FOLDER …") }
  func number(_ index: Int) -> Int { index < arguments.count ? Int(arguments[index]) ?? 0 : 0 }
  if Text.isSame(arguments[1], "bench") { return try bench(arguments[2], number(3), number(4)) }
  let isStubborn = Text.isSame(arguments[1], "stubborn")
  let folder = try insist(isStubborn) { () throws(SegueError) in try StateFolder.open(arguments[2], on: machine) }
  switch arguments[1] {
  case "inbox", "stubborn":
    var workload = Workload(seed: UInt64(number(3)))
    var inbox: Inbox? = try insist(isStubborn) { () throws(SegueError) in try .open(in: folder) }
    say("open")
    for index in 0..<number(4) {
      let operation = workload.next()
      if index % 17 == 16 {
        inbox = nil
        inbox = try insist(isStubborn) { () throws(SegueError) in try .open(in: folder) }
      }
      say("begin \(index)")
      let result = try insist(isStubborn) { () throws(SegueError) in
        try inbox?.run(operation, at: workload.now) ?? ""
      }
      say("done \(index) \(result)")
    }
  case "saved":
    var workload = Workload(seed: UInt64(number(3)))
    let saved = try SavedActivities.open(in: folder)
    say("open")
    for index in 0..<number(4) {
      let operation = workload.nextSaved()
      say("begin \(index)")
      let result = try saved.run(operation, at: workload.now)
      say("done \(index) \(result)")
    }
  default:
    let inbox = try Inbox.open(in: folder)
    let saved = try SavedActivities.open(in: folder)
    say("\(try inbox.entries().count) entries, \(saved.count) saved")
  }
}

/// The arguments of the program; Embedded Swift has no CommandLine.
func arguments() -> [String] {
  let file = linux_openat(AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0)
  defer { _ = close(file) }
  var bytes = [UInt8](repeating: 0, count: 16_384)
  let count = read(file, &bytes, bytes.count)
  return bytes.prefix(max(0, count)).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
}

do throws(SegueError) {
  try run(arguments())
} catch {
  say("error \(error.status.rawValue) \(error.message)")
  exit(1)
}
