// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import Testing

/// Runs of StoreProbe, with the disk of disk.c between it and its folder.
enum Probe {
  struct Broken: Error { let what: String }

  /// The output of a run, and its end.
  struct Run {
    let lines: [String]
    let status: Int32
    let wasKilled: Bool

    /// The calls that have returned, in order.
    var done: [Int] { lines.compactMap { $0.hasPrefix("done ") ? Int($0.split(separator: " ")[1]) : nil } }
    var error: String? { lines.first { $0.hasPrefix("error ") } }
  }

  /// The library of disk.c, compiled once.
  static let disk: Result<String, Broken> = {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "disk.c").path
    let target = "/proc/self/exe".resolved + ".disk.\(getpid()).so"
    let compiler = Process()
    compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    compiler.arguments = ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o", target, source, "-ldl"]
    do { try compiler.run() } catch { return .failure(Broken(what: "cc: \(error)")) }
    compiler.waitUntilExit()
    guard compiler.terminationStatus == 0 else { return .failure(Broken(what: "disk.c does not compile")) }
    atexit { unlink("/proc/self/exe".resolved + ".disk.\(getpid()).so") }
    return .success(target)
  }()

  /// Runs it to its end. Without DISK variables the disk is the real one.
  static func run(_ arguments: [String], root: String? = nil, _ environment: [String: String] = [:]) throws -> Run {
    let process = Process()
    let program = URL(fileURLWithPath: "/proc/self/exe".resolved).deletingLastPathComponent()
    process.executableURL = program.appending(path: "StoreProbe")
    process.arguments = arguments
    var variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    if let root {
      variables["DISK_ROOT"] = root
      variables["LD_PRELOAD"] = try disk.get()
    }
    process.environment = variables
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return Run(
      lines: text.split(separator: "\n").map { String($0) }, status: process.terminationStatus,
      wasKilled: process.terminationReason == .uncaughtSignal)
  }
}

extension String {
  /// The target of a symbolic link; of another path the path itself.
  fileprivate var resolved: String { (try? FileManager.default.destinationOfSymbolicLink(atPath: self)) ?? self }
}
