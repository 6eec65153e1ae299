// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// The file `apple-app-site-association` (R12.8).
@Suite struct AssociationFileTests {
  private let apps = ["TEAM.com.example.a", "TEAM.com.example.b"]

  private func answer(_ text: String) -> SiteAnswer {
    Array(text.utf8).withUnsafeBytes { AssociationFile.answer($0, about: apps) }
  }

  @Test func `the apps under activitycontinuation count, byte by byte (R12.8)`() {
    let file = #"{"activitycontinuation": {"apps": ["TEAM.com.example.b", "team.com.example.a", "OTHER.x", 7]}}"#
    #expect(answer(file) == .apps(["TEAM.com.example.b"]))
    #expect(answer(#"{"activitycontinuation": {"apps": []}}"#) == .apps([]))
    #expect(answer(" \n" + file) == .apps(["TEAM.com.example.b"]))
  }

  @Test func `details belong to applinks, and list no app here (R12.8)`() {
    let details = #"{"details": [{"appIDs": ["TEAM.com.example.a"]}], "apps": []}"#
    #expect(answer(#"{"applinks": \#(details)}"#) == .onlyAppLinks)
    #expect(answer(#"{"applinks": \#(details), "activitycontinuation": \#(details)}"#) == .apps([]))
    #expect(answer(#"{"activitycontinuation": {"apps": {"TEAM.com.example.a": 1}}}"#).isNothing)
  }

  @Test(arguments: ["<!DOCTYPE html>", " \r\n\t<html>", "\u{feff}<?xml", "<"])
  func `a page in place of the file is told apart (R12.9)`(text: String) { #expect(answer(text) == .html) }

  @Test(arguments: [
    "", "{", "[]", "null", "\"a\"", "{\"webcredentials\": {}}", "{\"activitycontinuation\": []}",
    "{\"activitycontinuation\": {}}", "{\"a\": 1, \"a\": 2}", "{} {}", "{\"a\": \u{0}}", "0\u{1}",
  ])
  func `anything else lists nothing, and says why (R12.8)`(text: String) { #expect(answer(text).isNothing) }

  @Test func `size and depth are bounded before anything is decoded (W14)`() {
    func nested(_ depth: Int) -> String {
      #"{"activitycontinuation": {"apps": []}, "x": "# + String(repeating: "[", count: depth)
        + String(repeating: "]", count: depth) + "}"
    }
    #expect(answer(nested(15)) == .apps([]))
    #expect(answer(nested(16)).isNothing)
    #expect(answer(String(repeating: "[", count: AssociationFile.sizeLimit)).isNothing)
    // Brackets in strings are none.
    #expect(answer(#"{"activitycontinuation": {"apps": []}, "x": "[[[[[[[[[[[[[[[[[[[[\"[[[[["}"#) == .apps([]))
    let many = (0..<10_000).map { "\"T.a\($0)\"" }.joined(separator: ",")
    let file = #"{"activitycontinuation": {"apps": ["# + many + #", "TEAM.com.example.a"]}}"#
    #expect(file.utf8.count < AssociationFile.sizeLimit)
    #expect(answer(file) == .apps(["TEAM.com.example.a"]))
    #expect(answer(file + String(repeating: " ", count: AssociationFile.sizeLimit)).isNothing)
  }
}

extension SiteAnswer {
  var isNothing: Bool { if case .nothing(let reason) = self { !reason.isEmpty } else { false } }
}
