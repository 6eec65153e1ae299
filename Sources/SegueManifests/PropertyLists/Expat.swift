import CExpat
import SegueModel

/// expat, loaded when the first property list in XML is read, and never unloaded.
enum Expat {
  private static let loaded = Loaded()

  /// Throws SYSTEM if it cannot be loaded.
  static var functions: UnsafePointer<expat> {
    get throws(SegueError) {
      guard let missing = loaded.missing else { return UnsafePointer(loaded.table) }
      throw SegueError(.system, "\(String(cString: missing)): cannot be loaded, and property lists in XML need it")
    }
  }
}

/// The table and what it lacks.
private struct Loaded: @unchecked Sendable {
  let table: UnsafeMutablePointer<expat>
  let missing: UnsafePointer<CChar>?

  init() {
    let size = MemoryLayout<expat>.size
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: MemoryLayout<expat>.alignment)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    table = memory.bindMemory(to: expat.self, capacity: 1)
    missing = expat_load(table)
  }
}
