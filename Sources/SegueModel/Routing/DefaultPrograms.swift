// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The desktop's default program for each content type, by `mimeapps.list`. Immutable: a change of the files makes
/// another.
public final class DefaultPrograms: Sendable {
  private let files: [TextKey: String]

  /// - Parameter files: content types and desktop ids; the first of a content type counts.
  public init(_ files: [(contentType: String, desktopFile: String)] = []) {
    var all: [TextKey: String] = .init()
    for file in files where all[TextKey(file.contentType)] == nil {
      all[TextKey(file.contentType)] = file.desktopFile
    }
    self.files = all
  }

  /// The desktop id of the default program for a content type; nil: there is none.
  public subscript(contentType: String) -> String? { files[TextKey(contentType)] }
}
