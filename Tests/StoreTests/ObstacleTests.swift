// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel
import SegueSystem
import Testing

@testable import SegueStore

/// Something that another process of the user can put in the place of the agent's files before the agent makes them.
enum Obstacle: String, CaseIterable {
  case folder
  case fullFolder
  case pipe
  case link
  case socket

  func put(_ path: String) {
    switch self {
    case .folder: #expect(mkdir(path, 0o700) == 0)
    case .fullFolder:
      #expect(mkdir(path, 0o700) == 0)
      #expect(FileManager.default.createFile(atPath: path + "/kept", contents: Data("kept".utf8)))
    case .pipe: #expect(mkfifo(path, 0o600) == 0)
    case .link: #expect(symlink("missing", path) == 0)
    case .socket: #expect(mknod(path, S_IFSOCK | 0o600, 0) == 0)
    }
  }
}

/// The state folder is used whatever stands in the place of its files, and no content is lost.
@Suite struct ObstacleTests {
  private let folder = TemporaryFolder()

  private func isFile(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Names in a folder that have the content of a full one in it.
  private func kept(in path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).filter { name in
      FileManager.default.contents(atPath: "\(path)/\(name)/kept") == Data("kept".utf8)
    }
  }

  @Test(arguments: Obstacle.allCases)
  func `a lock is made in place of what is no file, and no content is lost`(obstacle: Obstacle) throws {
    let path = folder.path + "/lock"
    obstacle.put(path)
    let fd = PrivateFile.open(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC)
    #expect(fd >= 0 && isFile(path))
    #expect(try kept(in: folder.path).count == (obstacle == .fullFolder ? 1 : 0))
    guard fd >= 0 else { return }
    #expect(write(fd, "x", 1) == 1)
    close(fd)
    let again = PrivateFile.open(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("x".utf8), "a file stays")
    close(again)
  }

  @Test(arguments: [O_RDONLY | O_NOFOLLOW | O_NONBLOCK, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW])
  func `nothing else removes it`(flags: Int32) {
    for obstacle in Obstacle.allCases {
      let path = folder.path + "/\(obstacle)"
      obstacle.put(path)
      close(PrivateFile.open(AT_FDCWD, path, flags))
      #expect(!isFile(path) && (access(path, F_OK) == 0 || obstacle == .link))
    }
  }

  @Test func `what another user owns is never touched`() throws {
    guard geteuid() == 0 else { return }
    for obstacle in Obstacle.allCases {
      let path = folder.path + "/\(obstacle)"
      obstacle.put(path)
      #expect(lchown(path, 65534, 65534) == 0)
      close(PrivateFile.open(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW))
      var status = stat()
      #expect(lstat(path, &status) == 0 && status.st_uid == 65534)
    }
    #expect(mkdir(folder.state, 0o700) == 0 && mkdir(folder.state + "/machine", 0o700) == 0)
    #expect(chown(folder.state + "/machine", 65534, 65534) == 0)
    #expect(thrown { try folder.open() }?.message.contains("belongs to another user") == true)
    #expect(folder.names() == ["lock", "machine"])
  }

  @Test(arguments: Obstacle.allCases, ["lock", "machine", "machine.new", "participant", "participant.new"])
  func `the state folder is opened and written, whatever has the name of its files`(
    obstacle: Obstacle, name: String
  ) throws {
    #expect(mkdir(folder.state, 0o700) == 0)
    obstacle.put("\(folder.state)/\(name)")
    for _ in 0..<2 {
      let state = try folder.open()
      #expect(state.refusal == nil)
      var reports: [String] = []
      let secret = try state.participantSecret({ () throws(SegueError) in Identifier(7) }, { reports.append($0) })
      #expect(secret == Identifier(7) && reports.allSatisfy { $0.contains("participant.damaged-1") })
      #expect(["lock", "machine", "participant"].allSatisfy { isFile("\(folder.state)/\($0)") })
      #expect(thrown { try folder.open() }?.status == .busy)
    }
    #expect(try kept(in: folder.state).count == (obstacle == .fullFolder ? 1 : 0))
  }

  @Test(arguments: Obstacle.allCases)
  func `each time again, more often than copies are kept`(obstacle: Obstacle) throws {
    for name in ["machine", "participant"] {
      for _ in 0..<7 {
        let state = try folder.open()
        let secret = try state.participantSecret({ () throws(SegueError) in Identifier(7) }, { _ in })
        #expect(secret == Identifier(7) && state.refusal == nil)
        #expect(unlink("\(folder.state)/\(name)") == 0)
        obstacle.put("\(folder.state)/\(name)")
      }
      _ = try folder.open().participantSecret({ () throws(SegueError) in Identifier(7) }, { _ in })
    }
    #expect(try kept(in: folder.state).count == (obstacle == .fullFolder ? 14 : 0))
  }

  @Test(arguments: Obstacle.allCases)
  func `an inbox whose folder has no identity is refused, and the reason is true`(obstacle: Obstacle) throws {
    _ = try Inbox.open(in: folder.open()).put(.sample(1), at: 0)
    #expect(unlink(folder.state + "/machine") == 0)
    obstacle.put(folder.state + "/machine")
    for _ in 0..<2 {
      let state = try folder.open()
      #expect(state.refusal?.message.contains("its file 'machine' was lost") == true)
      #expect(thrown { try Inbox.open(in: state) }?.status == .invalidState)
    }
    let state = try folder.open()
    #expect(try state.rejoin() == ["inbox.db.foreign-1"])
    #expect(state.refusal == nil)
  }

  // MARK: The folder itself

  private func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
  }

  @Test(arguments: [mode_t(0o755), 0o777, 0o710, 0o701])
  func `a folder of the user in a private one is closed to others`(mode: mode_t) throws {
    // O_PATH, which Swift does not see.
    let place: Int32 = 0o10_000_000
    for flags in [O_RDONLY, place] {
      let path = folder.path + "/\(flags)"
      #expect(mkdir(path, 0o700) == 0 && chmod(path, mode) == 0)
      let fd = open(path, flags | O_DIRECTORY)
      defer { close(fd) }
      try PrivateFolder.check(fd, path, "a folder")
      #expect(self.mode(path) == 0o700)
    }
    let path = folder.path + "/segue"
    #expect(mkdir(path, 0o700) == 0 && chmod(path, mode) == 0)
    close(try PrivateFolder.open(path, "a folder"))
    #expect(self.mode(path) == 0o700)
  }

  @Test func `a folder in one that others may enter, or of another user, stays as it is`() throws {
    let path = folder.path + "/segue"
    #expect(mkdir(path, 0o755) == 0 && chmod(path, 0o755) == 0)
    for outer: mode_t in [0o755, 0o711, 0o1777] {
      #expect(chmod(folder.path, outer) == 0)
      let error = thrown { try PrivateFolder.open(path, "a folder") }
      #expect(error?.status == .unsafeFolder && error?.message.contains("mode must be 0700") == true)
      #expect(mode(path) == 0o755)
    }
    #expect(chmod(folder.path, 0o700) == 0)
    guard geteuid() == 0 else { return }
    #expect(chown(path, 65534, 65534) == 0)
    #expect(thrown { try PrivateFolder.open(path, "a folder") }?.message.contains("another user") == true)
    #expect(chown(path, 0, 0) == 0 && chown(folder.path, 65534, 65534) == 0)
    #expect(thrown { try PrivateFolder.open(path, "a folder") }?.message.contains("mode must be 0700") == true)
    #expect(mode(path) == 0o755)
  }
}
