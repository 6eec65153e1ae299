// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CExpat
import SegueModel
import SegueSystem

/// expat, loaded when the first property list in XML is read, and never unloaded.
enum Expat {
  private static let loaded = LoadedFunctions<expat> { expat_load($0) }

  /// Throws SYSTEM if it cannot be loaded.
  static var functions: UnsafePointer<expat> {
    get throws(SegueError) {
      try loaded.table { missing in
        SegueError(.system, "\(missing): cannot be loaded, and property lists in XML need it")
      }
    }
  }
}
