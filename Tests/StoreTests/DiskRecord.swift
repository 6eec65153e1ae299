// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation

@testable import StoreProbe

/// The record of disk.c, and the disks that a loss of power may leave behind.
struct DiskRecord {
  enum Change {
    case create(file: UInt64, path: String, isFolder: Bool)
    case write(file: UInt64, offset: Int, Data)
    case truncate(file: UInt64, size: Int)
    case synchroniseFile(UInt64)
    case synchroniseFolder(UInt64)
    case rename(String, to: String)
    case remove(String)
    /// A line of standard output.
    case said(String)
  }

  let changes: [Change]

  init(contentsOf path: String) throws {
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    var (place, found) = (0, [Change]())
    func number(_ offset: Int) -> Int {
      data[place + offset..<place + offset + 8].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    while place < data.count {
      let (file, offset, size) = (UInt64(number(1)), number(9), number(17))
      let bytes = Data(data[place + 25..<place + 25 + size])
      let text = String(decoding: bytes, as: UTF8.self)
      switch data[place] {
      case UInt8(ascii: "C"): found.append(.create(file: file, path: text, isFolder: false))
      case UInt8(ascii: "D"): found.append(.create(file: file, path: text, isFolder: true))
      case UInt8(ascii: "W"): found.append(.write(file: file, offset: offset, bytes))
      case UInt8(ascii: "T"): found.append(.truncate(file: file, size: offset))
      case UInt8(ascii: "S"): found.append(.synchroniseFile(file))
      case UInt8(ascii: "F"): found.append(.synchroniseFolder(file))
      case UInt8(ascii: "R"):
        let names = text.split(separator: "\0").map { String($0) }
        found.append(.rename(names[0], to: names[1]))
      case UInt8(ascii: "U"): found.append(.remove(text))
      default: found.append(.said(String(text.dropLast())))
      }
      place += 25 + size
    }
    changes = found
  }

  /// The lines of standard output among the first `count` changes.
  func lines(_ count: Int) -> [String] {
    changes.prefix(count).compactMap { if case .said(let line) = $0 { line } else { nil } }
  }
}

/// The writes without synchronisation that a loss of power takes away.
enum Loss {
  /// All of it.
  case everything
  /// Nothing: the process alone has ended.
  case nothing
  /// Some writes, whole or in part; of each folder the last changes of its entries.
  case some(seed: UInt64)
}

/// A disk: files, each with what is durable and what has been written since, and folders of names alike.
struct SimulatedDisk {
  private struct File {
    var durable = Data()
    var pending: [DiskRecord.Change] = []
  }
  private enum Entry {
    case add(name: String, file: Int)
    case remove(name: String)
  }
  private struct Folder {
    var durable: [String: Int] = [:]
    var pending: [Entry] = []
  }
  private let root: String
  /// By their order of appearance: the numbers of the system are used again.
  private var files: [File] = []
  private var folders: [Int: Folder] = [0: Folder()]
  private var numbers: [UInt64: Int] = [:]
  /// The folder of a path, and what a path leads to, as programs see it.
  private var paths: [String: Int]

  /// - Parameter root: a folder that is there, empty and durable.
  init(root: String, number: UInt64) {
    self.root = root
    files.append(File())
    paths = [root: 0]
    numbers = [number: 0]
  }

  mutating func apply(_ change: DiskRecord.Change) {
    switch change {
    case .create(let number, let path, let isFolder):
      files.append(File())
      let file = files.count - 1
      numbers[number] = file
      paths[path] = file
      if isFolder { folders[file] = Folder() }
      note(.add(name: path.name, file: file), in: path.folder)
    case .write(let number, _, _), .truncate(let number, _):
      if let file = numbers[number] { files[file].pending.append(change) }
    case .synchroniseFile(let number):
      guard let file = numbers[number] else { return }
      for change in files[file].pending { Self.apply(change, to: &files[file].durable) }
      files[file].pending = []
    case .synchroniseFolder(let number):
      guard let folder = numbers[number], let entries = folders[folder]?.pending else { return }
      for entry in entries { Self.apply(entry, to: &folders[folder]!.durable) }
      folders[folder]!.pending = []
    case .rename(let old, let new):
      guard let file = paths.removeValue(forKey: old) else { return }
      paths[new] = file
      // One change of the folder, not two: the name is there all the time.
      note(.add(name: new.name, file: file), in: new.folder)
      note(.remove(name: old.name), in: old.folder)
    case .remove(let path):
      paths.removeValue(forKey: path)
      note(.remove(name: path.name), in: path.folder)
    case .said: break
    }
  }

  private mutating func note(_ entry: Entry, in folder: String) {
    if let number = paths[folder] { folders[number]?.pending.append(entry) }
  }

  private static func apply(_ change: DiskRecord.Change, to data: inout Data, _ bytes: Int = .max) {
    switch change {
    case .write(_, let offset, let written):
      let part = written.prefix(bytes)
      if data.count < offset + part.count { data.append(Data(count: offset + part.count - data.count)) }
      data.replaceSubrange(offset..<offset + part.count, with: part)
    case .truncate(_, let size):
      data = data.count > size ? data.prefix(size) : data + Data(count: size - data.count)
    default: break
    }
  }

  private static func apply(_ entry: Entry, to names: inout [String: Int]) {
    switch entry {
    case .add(let name, let file): names[name] = file
    case .remove(let name): names.removeValue(forKey: name)
    }
  }

  /// Writes what is left to a folder that is there and empty.
  func write(to target: String, losing loss: Loss) throws {
    var random = Workload(seed: 0)
    if case .some(let seed) = loss { random = Workload(seed: seed) }
    try writeFolder(0, target, loss, &random)
  }

  private func writeFolder(_ folder: Int, _ target: String, _ loss: Loss, _ random: inout Workload) throws {
    guard let entries = folders[folder] else { return }
    var names = entries.durable
    let kept =
      switch loss {
      case .everything: 0
      case .nothing: entries.pending.count
      case .some: random.below(entries.pending.count + 1)
      }
    for entry in entries.pending.prefix(kept) { Self.apply(entry, to: &names) }
    for (name, file) in names.sorted(by: { $0.key < $1.key }) {
      let path = "\(target)/\(name)"
      if folders[file] != nil {
        try FileManager.default.createDirectory(
          atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try writeFolder(file, path, loss, &random)
        continue
      }
      var data = files[file].durable
      for change in files[file].pending {
        switch loss {
        case .everything: break
        case .nothing: Self.apply(change, to: &data)
        case .some:
          // A sector is written whole or not at all; sectors of one write may be torn apart.
          let share = random.below(3)
          if share == 0 { Self.apply(change, to: &data) }
          if share == 1 { Self.apply(change, to: &data, 512 * random.below(8)) }
        }
      }
      try data.write(to: URL(fileURLWithPath: path))
    }
  }
}

extension String {
  fileprivate var folder: String { String(self[..<(lastIndex(of: "/") ?? startIndex)]) }
  fileprivate var name: String { String(split(separator: "/").last ?? "") }
}
