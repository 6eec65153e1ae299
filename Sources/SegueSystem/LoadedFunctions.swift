// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A table of the functions of a library that is loaded when they are needed first, and never unloaded: a process that
/// does not need it never loads it, nor is linked with it. Keep it in a static property, which is made once, whichever
/// thread is first. Unchecked: the table does not change once it is made.
public struct LoadedFunctions<Table>: @unchecked Sendable {
  private let table: UnsafeMutablePointer<Table>
  /// The name of what is missing, the library or a function of it; nil: all is there.
  private let missing: UnsafePointer<CChar>?

  /// - Parameter load: loads the library and fills the table, of zeros until then. Returns the name of what is missing.
  public init(_ load: (UnsafeMutablePointer<Table>) -> UnsafePointer<CChar>?) {
    let size = MemoryLayout<Table>.size
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: MemoryLayout<Table>.alignment)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    table = memory.bindMemory(to: Table.self, capacity: 1)
    missing = load(table)
  }

  /// Returns the table, which lives as long as the process. Any thread. Throws the error for the name of what is
  /// missing.
  public func table(_ error: (String) -> SegueError) throws(SegueError) -> UnsafePointer<Table> {
    if let missing { throw error(String(cString: missing)) }
    return UnsafePointer(table)
  }
}
