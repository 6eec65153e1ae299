// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel

/// Any bytes as what a site sends, as what the process that asks sites writes, as the user's settings for sites, and as
/// the URL of a page.
func fuzzSites(_ bytes: UnsafeRawBufferPointer) {
  let all = Array(bytes)
  if let answer = (try? HTTPAnswer.read(all, isEnded: true)) ?? nil {
    require(100...999 ~= answer.status && answer.body.count <= HTTPAnswer.bodyLimit, "an answer beyond its bounds")
    require(answer.status == 200 || answer.body.isEmpty, "a body of what was no success")
    if let early = (try? HTTPAnswer.read(all, isEnded: false)) ?? nil {
      require(early.status == answer.status && early.body == answer.body, "the end makes another answer")
    }
  }
  if case .apps(let apps) = AssociationFile.answer(bytes, about: ["T.a", "T.b"]) {
    require(apps.count <= 2 && apps.allSatisfy { $0 == "T.a" || $0 == "T.b" }, "an app that nobody has asked about")
  }
  if case .answered(let status, let body) = SiteFetchOutput.decode(all) {
    require(100...599 ~= status && body.count <= HTTPAnswer.bodyLimit, "an output beyond its bounds")
    require(status == 200 || body.isEmpty, "a body of what was no success")
  }
  if let settings = try? SiteSettings(bytes, for: "a") { require(settings.port > 0, "no port") }
  let text = String(decoding: bytes, as: UTF8.self)
  if let origin = WebOrigin.of(text) {
    require(Text.size(origin.text) <= Limits.webOrigin, "an origin that is too long")
    require(WebOrigin.isSame(WebOrigin.read(origin.text), origin), "the text of an origin is another one")
    require(AbsoluteURL(origin.text) != nil, "an origin that is no URL")
  }
  if let domain = try? AssociatedDomain.read("activitycontinuation:\(text)") {
    require(HostName.read(domain.host)?.isName == true, "a claim on no host")
  }
}
