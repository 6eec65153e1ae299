// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The `.desktop` files of all `applications` folders, by desktop id. The first of several files with one id counts; a
/// broken file hides no other.
struct DesktopFiles {
  /// A file that counts for its id.
  struct File {
    let id: String
    /// The index of its data folder.
    let folder: Int
    let entry: DesktopEntry
  }

  private struct Place {
    let id: String
    let path: String
    let folder: Int
  }

  private var paths: [ByteKey: [Place]] = [:]
  /// In the order in which they were found.
  private var ids: [Place] = []

  /// Adds a file; those of higher precedence come first.
  mutating func add(_ id: String, path: String, folder: Int) {
    let place = Place(id: id, path: path, folder: folder)
    if paths[ByteKey(id)] == nil { ids.append(place) }
    paths[ByteKey(id), default: []].append(place)
  }

  /// The file that counts for an id. Throws why there is none: NOT_FOUND, or what is wrong with the only ones.
  func file(_ id: String, _ reader: ManifestFileReader) throws(SegueError) -> File {
    var failure: SegueError?
    for place in paths[ByteKey(id)] ?? [] {
      do throws(SegueError) {
        return File(
          id: id, folder: place.folder,
          entry: try DesktopEntry.read(try reader.read(place.path), path: place.path))
      } catch {
        failure = failure ?? SegueError(error.status, "\(place.path): \(error.message)")
      }
    }
    throw failure ?? SegueError(.notFound, "\(id): there is no such file in a folder of applications")
  }

  /// Reads every file that counts for an id and has a key of Segue's.
  /// - Parameter body: gets path, index of the data folder, the file or what is wrong with it, and how many bytes it
  ///   has; returns false if the next file with that id counts.
  /// - Returns: the ids of the files that may be of a browser, in the order of `forEachManifest`.
  func forEachManifest(
    _ reader: ManifestFileReader, until isCancelled: () -> Bool,
    _ body: (_ path: String, _ folder: Int, _ file: Result<File, SegueError>, _ size: Int) -> Bool
  ) -> [String] {
    var handlers: [String] = []
    for first in ids {
      for place in paths[ByteKey(first.id)] ?? [] {
        guard !isCancelled() else { return handlers }
        // A file that cannot be read may have such keys, or not: most have none.
        guard let bytes = try? reader.read(place.path) else { continue }
        if Self.has("x-scheme-handler/http", bytes) { handlers.append(first.id) }
        guard Self.has(DesktopEntryManifest.prefix, bytes) else { break }
        if body(place.path, place.folder, file(bytes, place), bytes.count) { break }
      }
    }
    return handlers
  }

  private func file(_ bytes: UnsafeRawBufferPointer, _ place: Place) -> Result<File, SegueError> {
    do throws(SegueError) {
      return .success(
        File(id: place.id, folder: place.folder, entry: try DesktopEntry.read(bytes, path: place.path)))
    } catch {
      return .failure(error)
    }
  }

  /// Whether the bytes contain a word.
  private static func has(_ word: StaticString, _ bytes: UnsafeRawBufferPointer) -> Bool {
    let word = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard bytes.count >= word.count else { return false }
    for start in 0...bytes.count - word.count where bytes[start] == word[0] {
      if bytes[start..<start + word.count].elementsEqual(word) { return true }
    }
    return false
  }
}

/// A text as a key: its UTF-8 bytes.
struct ByteKey: Hashable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: ByteKey, right: ByteKey) -> Bool { Text.isSame(left.text, right.text) }

  func hash(into hasher: inout Hasher) { Text.withBytes(text) { hasher.combine(bytes: $0) } }
}
