// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueApp
import SegueModel
import SegueOpenSSL
import SegueRuntime
import SegueSystem
import SegueTransport

/// The process that asks one site for its file, `segue-fetch` (R12.9): what comes from the Internet is parsed here, and
/// not beside the keys of the agent. It executes nothing, writes no file, reads none of the user once it has the
/// settings of the host, and ends within 10 s. Its output is
/// `SiteFetchOutput`.
enum SiteFetchProcess {
  static let name = "segue-fetch"
  /// Seconds for all of it: the system then ends the process.
  static let time: UInt32 = 10

  /// - Parameter arguments: a host, `well-known` or `root`, and perhaps `developer`.
  static func run(_ arguments: [String]) -> Int32 {
    _ = linux_name_process(name)
    linux_ignore_pipe_signal()
    alarm(time)
    let result: SiteFetchResult
    do throws(SegueError) {
      guard let fetch = SiteFetch(words: arguments) else {
        throw SegueError(.invalidArgument, "\(name): expected HOST, well-known or root, and perhaps developer")
      }
      result = try answer(fetch)
    } catch {
      result = .failed(error.message)
    }
    HelperProcess.write(SiteFetchOutput.encode(result))
    return 0
  }

  /// The certificates that the environment names, beside the usual ones.
  private static var readable: [String] {
    let named = (Environment.variable("SSL_CERT_DIR") ?? "").utf8.split(separator: UInt8(ascii: ":"))
    return HelperProcess.readable + named.map { String(decoding: Array($0), as: UTF8.self) }
  }

  private static func answer(_ fetch: SiteFetch) throws(SegueError) -> SiteFetchResult {
    let settings = try settings(of: fetch.host)
    // Libraries and certificates are read before.
    let session = try SiteSession.make(for: fetch.host, authorities: settings.authorities)
    _ = try Confinement.apply(writing: [], reading: readable)
    let addresses = try addresses(of: fetch, settings)
    var failure = SegueError(.connectionUnavailable, "\(fetch.host): has no address")
    for address in addresses {
      do throws(SegueError) {
        return try ask(fetch, session, at: address, port: settings.port)
      } catch {
        // Another address of the same site may answer.
        failure = error
        guard error.status == .connectionUnavailable else { throw error }
      }
    }
    throw failure
  }

  private static func ask(
    _ fetch: SiteFetch, _ session: SiteSession, at address: NetworkAddress, port: UInt16
  ) throws(SegueError) -> SiteFetchResult {
    let socket = try connect(to: address)
    defer { _ = close(socket) }
    let host = port == 443 ? fetch.host : String(joining: "\(fetch.host):\(Int(port))")
    let request = Text.bytes(
      String(
        joining: """
          GET \(fetch.path.text) HTTP/1.1\r\nHost: \(host)\r\nUser-Agent: segue\r\nAccept: application/json, \
          application/pkcs7-mime\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n
          """))
    let answer = try session.ask(request, over: socket)
    // CMS begins so, an object of JSON never does.
    if answer.status == 200, answer.body.first == 0x30 {
      return .answered(status: 200, body: try session.content(ofSigned: answer.body))
    }
    return .answered(status: answer.status, body: answer.body)
  }

  // MARK: Addresses

  /// Looks a host up, once: what is dialled is what was checked, so that a second answer of the resolver is none (W13).
  private static func addresses(
    of fetch: SiteFetch, _ settings: SiteSettings
  ) throws(SegueError) -> [NetworkAddress] {
    var found = [linux_address](repeating: linux_address(), count: 16)
    let count = found.withUnsafeMutableBufferPointer { linux_look_up(fetch.host, $0.baseAddress, Int32($0.count)) }
    guard count > 0 else {
      throw SegueError(.connectionUnavailable, "\(fetch.host): the name is not found")
    }
    let addresses = found.prefix(Int(count)).map { NetworkAddress($0).with(port: settings.port) }
    if settings.allowsPrivate, fetch.isForDevelopers { return addresses }
    for address in addresses where !GlobalAddress.contains(address.bytes) {
      throw SegueError(
        .notAllowed, "\(fetch.host): has the address \(address.host), which is not one of the whole Internet")
    }
    return addresses
  }

  private static func connect(to address: NetworkAddress) throws(SegueError) -> Int32 {
    var system = address.system
    let socket = linux_dial(&system)
    guard socket >= 0 else { throw unreachable(address, linux_errno()) }
    var waiting = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
    var ready: Int32 = 0
    // A quarter of the time for each address.
    repeat { ready = poll(&waiting, 1, Int32(time) * 250) } while ready < 0 && linux_errno() == EINTR
    let number = ready == 0 ? ETIMEDOUT : linux_socket_error(socket)
    guard number == 0, linux_set_blocking(socket) == 0 else {
      _ = close(socket)
      throw unreachable(address, number)
    }
    return socket
  }

  private static func unreachable(_ address: NetworkAddress, _ number: Int32) -> SegueError {
    SegueError(.connectionUnavailable, "\(address.text): \(String(cString: strerror(number)))")
  }

  // MARK: Files

  /// The user's settings for the host: `$XDG_CONFIG_HOME/segue/sites`.
  private static func settings(of host: String) throws(SegueError) -> SiteSettings {
    guard let folder = settingsFolder else { return SiteSettings() }
    let file = linux_openat(
      AT_FDCWD, String(joining: "\(folder)/segue/sites"), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0)
    guard file >= 0 else {
      if linux_errno() == ENOENT || linux_errno() == ENOTDIR { return SiteSettings() }
      throw .system("\(folder)/segue/sites")
    }
    defer { _ = close(file) }
    let bytes = [UInt8](unsafeUninitializedCapacity: SiteSettings.sizeLimit + 1) { buffer, count in
      while count < buffer.count {
        let more = read(file, buffer.baseAddress! + count, buffer.count - count)
        guard more > 0 else { return }
        count += more
      }
    }
    let found: Result<SiteSettings, SegueError> = bytes.withUnsafeBytes { bytes in
      do throws(SegueError) { return .success(try SiteSettings(bytes, for: host)) } catch { return .failure(error) }
    }
    return try found.get()
  }

  private static var settingsFolder: String? {
    if let folder = Environment.variable("XDG_CONFIG_HOME"), folder.utf8.first == UInt8(ascii: "/") { return folder }
    return Environment.variable("HOME").map { String(joining: "\($0)/.config") }
  }
}
