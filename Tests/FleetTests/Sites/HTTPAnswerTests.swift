// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// The answers of sites over HTTP (R12.9, W14).
@Suite struct HTTPAnswerTests {
  private func read(_ text: String, isEnded: Bool = true) throws(SegueError) -> HTTPAnswer? {
    try HTTPAnswer.read(Array(text.utf8), isEnded: isEnded)
  }

  private func body(_ text: String, isEnded: Bool = true) throws -> String? {
    try read(text, isEnded: isEnded).map { String(decoding: $0.body, as: UTF8.self) }
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 200\r\ncontent-length:2\r\n\r\n{}{}",
    "HTTP/1.0 200 OK\nContent-Encoding: identity\n\n{}", "HTTP/1.1 200 OK\r\n\r\n{}",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nX: y\r\n\r\n",
    "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
  ])
  func `a body comes by length, in chunks, or up to the end`(text: String) throws { #expect(try body(text) == "{}") }

  @Test func `whatever part has come, the rest is awaited or the end is an error`() throws {
    for text in [
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    ] {
      let bytes = Array(text.utf8)
      let last = text.contains("chunked") ? bytes.count - 2 : bytes.count
      for count in 0..<last - 1 {
        let part = Array(bytes[..<count])
        #expect(try HTTPAnswer.read(part, isEnded: false) == nil, "\(count)")
        #expect(throws: SegueError.self) { try HTTPAnswer.read(part, isEnded: true) }
      }
      #expect(try body(text, isEnded: false) == "abcde")
    }
  }

  @Test func `an answer without success has a status and no body (W12)`() throws {
    let moved = try read("HTTP/1.1 301 Moved\r\nLocation: https://evil.test/\r\n\r\n{}")
    #expect(moved?.status == 301 && moved?.body == [])
    #expect(try read("HTTP/1.1 404 Not Found\r\n\r\n")?.status == 404)
    #expect(try read("HTTP/1.1 503 x\r\nContent-Encoding: gzip\r\n\r\n", isEnded: false)?.status == 503)
  }

  @Test(arguments: [
    "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000\r\n\r\n", "HTTP/1.1 099 x\r\n\r\n", "\r\n\r\n",
    "HTTP/1.1  200\r\n\r\n", "SSH-2.0\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\na",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
  ])
  func `lying and compressed answers are refused (W14)`(text: String) {
    #expect(throws: SegueError.self) { try read(text) }
  }

  @Test func `endless answers are refused at their bounds (W14)`() {
    let head = "HTTP/1.1 200 OK\r\n"
    let field = String(repeating: "X-Y: z\r\n", count: HTTPAnswer.headLimit / 8 + 1)
    #expect(throws: SegueError.self) { try read(head + field, isEnded: false) }
    #expect(throws: SegueError.self) { try read(head + field + "\r\n", isEnded: false) }
    let much = String(repeating: "a", count: HTTPAnswer.bodyLimit + 1)
    #expect(throws: SegueError.self) { try read(head + "\r\n" + much, isEnded: false) }
    #expect(throws: SegueError.self) { try read(head + "Content-Length: \(HTTPAnswer.bodyLimit + 1)\r\n\r\n") }
    let chunks = String(repeating: "1\r\na\r\n", count: HTTPAnswer.bodyLimit)
    #expect(throws: SegueError.self) { try read(head + "Transfer-Encoding: chunked\r\n\r\n" + chunks, isEnded: false) }
    let half = HTTPAnswer.bodyLimit / 2 + 1
    let halves = String(repeating: String(half, radix: 16) + "\r\n" + much.prefix(half) + "\r\n", count: 2)
    #expect(status { try read(head + "Transfer-Encoding: chunked\r\n\r\n" + halves + "0\r\n\r\n") } == .limitExceeded)
    // Interim answers count as parts of the head, however many bytes have come.
    for count in [HTTPAnswer.headLimit / 18 + 1, HTTPAnswer.readLimit / 18 + 1] {
      let interim = String(repeating: "HTTP/1.1 100 a\r\n\r\n", count: count)
      #expect(status { try read(interim, isEnded: false) } == .limitExceeded)
      #expect(status { try read(interim + head + "\r\n") } == .limitExceeded)
    }
    let interim = "HTTP/1.1 100 a\r\n\r\n", start = "HTTP/1.1 204 b\r\n"
    let padding = HTTPAnswer.headLimit - interim.utf8.count - start.utf8.count - "X: \r\n\r\n".utf8.count
    for (more, wanted) in [(0, nil), (1, Status.limitExceeded), (4, .limitExceeded)] {
      let field = "X: " + String(repeating: "y", count: padding + more)
      #expect(status { try read(interim + start + field + "\r\n\r\n") } == wanted)
    }
  }

  private func status<Result>(_ body: () throws -> Result) -> Status? {
    do { _ = try body() } catch { return (error as? SegueError)?.status }
    return nil
  }
}

/// The addresses of sites (W13), their settings, and the output of the process that asks them.
@Suite struct SiteAddressTests {
  private func bytes(_ text: String) -> [UInt8] {
    let parts = text.split(separator: ".").compactMap { UInt8($0) }
    guard parts.count != 4 else { return [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + parts }
    let groups = text.split(separator: ":", omittingEmptySubsequences: false).map { String($0) }
    let gap = groups.firstIndex(of: "") ?? groups.count
    let front = groups[..<gap].filter { $0 != "" }, back = groups[gap...].filter { $0 != "" }
    let words = front + [String](repeating: "0", count: 8 - front.count - back.count) + back
    return words.flatMap { word in UInt16(word, radix: 16).map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } ?? [] }
  }

  @Test(arguments: [
    "1.1.1.1", "8.8.8.8", "11.0.0.1", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.1.1",
    "198.17.0.1", "198.20.0.1", "223.255.255.255", "2606:4700::1", "2a00:1450::2", "2001:4860::8888", "2003::1",
  ])
  func `these are addresses of the whole Internet`(text: String) { #expect(GlobalAddress.contains(bytes(text))) }

  @Test(arguments: [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254", "169.254.1.1",
    "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.9.9",
    "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1",
    "fc00::1", "fd12::1", "ff02::1", "2001:db8::1", "2001::1", "2001:0:53aa::1", "2001:1ff::1", "2002:7f00:1::",
    "3fff::1", "64:ff9b::7f00:1", "64:ff9b:1::1", "::7f00:1", "100::1", "5f00::1", "4000::1",
  ])
  func `these are not: loopback, private, link-local, mapped, translated, reserved (W13)`(text: String) {
    #expect(!GlobalAddress.contains(bytes(text)))
  }

  @Test func `what is no address is none of the Internet`() {
    #expect(!GlobalAddress.contains([]) && !GlobalAddress.contains([8, 8, 8, 8]))
  }

  private func settings(_ text: String, _ host: String = "example.com") throws(SegueError) -> SiteSettings {
    let bytes = Array(text.utf8)
    let result: Result<SiteSettings, SegueError> = bytes.withUnsafeBytes { bytes in
      do throws(SegueError) { return .success(try SiteSettings(bytes, for: host)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  @Test func `the user's settings are those of one host (R12.9)`() throws {
    let file = #"{"example.com": {"private": true, "port": 8443, "ca": "/etc/ca.pem"}, "b": {"port": "x"}}"#
    let own = try settings(file)
    #expect(own.allowsPrivate && own.port == 8443 && own.authorities == "/etc/ca.pem")
    let other = try settings(file, "example.org")
    #expect(!other.allowsPrivate && other.port == 443 && other.authorities == nil)
    for wrong in [
      "", "[]", #"{"example.com": 7}"#, #"{"example.com": {"port": 0}}"#, #"{"example.com": {"port": 65536}}"#,
      #"{"example.com": {"private": 1}}"#, #"{"example.com": {"ca": "ca.pem"}}"#, #"{"example.com": {"x": 1}}"#,
    ] { #expect(throws: SegueError.self) { try settings(wrong) } }
    #expect(throws: SegueError.self) { try settings(String(repeating: " ", count: SiteSettings.sizeLimit + 1)) }
  }

  @Test func `the output of the process is one line and the body, and anything else a failure (R12.9)`() {
    func read(_ result: SiteFetchResult) -> SiteFetchResult { SiteFetchOutput.decode(SiteFetchOutput.encode(result)) }
    #expect("\(read(.answered(status: 200, body: [1, 10, 2])))" == "answered(status: 200, body: [1, 10, 2])")
    #expect("\(read(.answered(status: 404, body: [])))" == "answered(status: 404, body: [])")
    #expect("\(read(.failed("no\nroute")))" == #"failed("no route")"#)
    func fails(_ bytes: [UInt8]) -> Bool { if case .failed = SiteFetchOutput.decode(bytes) { true } else { false } }
    for text in [
      "", "\n", "200\n", "2000 0\n", "-1 0\n", "x", "700 0\n", "200 a\n", "200 1\n", "200 0\nx", "200 00\n",
      String(repeating: "a", count: 1_000),
    ] { #expect(fails(Array(text.utf8)), "\(text)") }
    let many = HTTPAnswer.bodyLimit + 1
    #expect(fails(Array("200 \(many)\n".utf8) + [UInt8](repeating: 1, count: many)))
    // A process may end while it writes.
    let whole = SiteFetchOutput.encode(.answered(status: 200, body: Array("{\"a\":1}".utf8)))
    for count in whole.indices { #expect(fails(Array(whole.prefix(count)))) }
  }
}
