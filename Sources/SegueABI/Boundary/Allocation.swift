// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#if hasFeature(Embedded)
  import CLinux

  /// Replaces `posix_memalign` in this library (`--wrap`). The Swift runtime takes all memory from it. glibc serves
  /// `malloc` from a cache of the thread, and `posix_memalign` from the heap, which costs several times as much.
  @_cdecl("__wrap_posix_memalign")
  func allocate(_ out: UnsafeMutablePointer<UnsafeMutableRawPointer?>, _ alignment: Int, _ size: Int) -> Int32 {
    // `malloc` aligns for all C types; `aligned_alloc` takes a multiple of the alignment.
    let memory =
      alignment <= 16
      ? malloc(size) : aligned_alloc(alignment, (size &+ alignment &- 1) & ~(alignment &- 1))
    guard let memory else { return ENOMEM }
    out.pointee = memory
    return 0
  }
#endif
