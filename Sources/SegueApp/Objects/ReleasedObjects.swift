// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Objects that are no longer in use, to be released once no lock is held: the host's functions destroy contexts.
final class ReleasedObjects {
  private var objects: [HandleObject] = []

  func add(_ object: HandleObject) { objects.append(object) }
}
