// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueEngine
import SegueModel
import SegueRuntime
import SegueSystem
import SegueTransport

/// The agent's second socket, `control` in a folder of its own beside the runtime folder: what is not for every app
/// that has the runtime folder, such as approving a device, is asked here. A sandbox that is given the runtime folder
/// cannot reach it, and only processes of this user may connect. For the loop.
final class ControlSocket {
  /// Connections that are accepted in one turn.
  private static let turn = 16

  private let fd: Int32
  private let loop: Loop
  private let server: ControlServer
  private let looks: SandboxClient
  private var acceptor: Acceptor?

  /// Creates the folder unless it is there, and listens in it. Closes the server, too.
  /// Throws UNSAFE_FOLDER if another user may enter it, SYSTEM.
  convenience init(in folder: String, on loop: Loop, _ server: ControlServer, _ looks: SandboxClient) throws(SegueError)
  {
    do throws(SegueError) {
      let directory = try PrivateFolder.open(folder, "the agent's folder")
      defer { _ = CLinux.close(directory) }
      try self.init(try ListeningSocket.make("control", in: directory, folder), on: loop, server, looks)
    } catch {
      server.close()
      throw error
    }
  }

  private init(
    _ fd: Int32, on loop: Loop, _ server: ControlServer, _ looks: SandboxClient
  ) throws(SegueError) {
    self.fd = fd
    self.looks = looks
    self.loop = loop
    self.server = server
    do throws(SegueError) {
      // The acceptor keeps this object until `close`.
      acceptor = try Acceptor(
        at: fd, on: loop, most: Self.turn, { [self] in Acceptor.accept(fd, "control") { admit($0) } })
    } catch {
      close()
      throw error
    }
  }

  func close() {
    acceptor?.close()
    acceptor = nil
    server.close()
    ListeningSocket.close(fd)
  }

  /// Takes over the connection.
  private func admit(_ connection: Int32) {
    let process = Socket.peerProcess(connection)
    // A sandbox that was given the folder has no business here (R13.8): all who ask are choosers.
    switch PeerSandbox.glance(at: connection) {
    case .known(let standing): admit(connection, process, standing)
    case .hidden(let held):
      looks.look(held, process) { standing in self.admit(connection, process, standing) }
    }
  }

  /// Takes over the connection.
  private func admit(_ connection: Int32, _ process: Int32, _ standing: PeerStanding) {
    guard acceptor != nil else { return Descriptors.closeConnection(connection) }
    let number = server.takeNumber()
    do throws(SegueError) {
      let bytes = try UnixConnection(connection, as: number, on: loop, for: server)
      switch standing {
      case .free: server.admit(bytes, as: number, ofProcess: process)
      case .sandboxed: server.refuse(bytes, SegueError(.notAllowed, "control: no app in a sandbox asks here"), process)
      case .refused(let error): server.refuse(bytes, error, process)
      }
    } catch {
      Descriptors.closeConnection(connection)
      Log.error("control: \(error.message)")
    }
  }
}

extension ControlServer: UnixConnectionOwner {}
