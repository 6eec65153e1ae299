// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// An immutable value that other languages can hold by a handle.
public final class SharedBox<Content>: HandleObject {
  public let content: Content
  public init(_ content: Content) { self.content = content }
}
