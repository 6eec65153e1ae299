// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// Web pages that the agent hands to apps that are associated with their site, and to browsers (R12.1, R12.2, R12.3).
@Suite final class PageTests: InboxScene {
  private let url = "https://example.com/a?b#c"

  /// - Parameter form: of what the app "viewer" gets.
  private func offerPage(
    as form: ChosenApp.Form, type: String = "com.example.note", state: Value = .integer(7)
  ) throws -> Identifier {
    agent.app = ChosenApp(bundleIdentifier: "com.example.viewer", name: "viewer", types: [], form: form)
    let id = world.identifier()
    var activity = try Activity(type: type)
    try activity.setTitle("Page")
    try activity.setWebpageURL(url)
    try activity.setReferrerURL("https://example.org/")
    try activity.setUserInfo(
      try .dictionary([
        (key: .string("SegueBrowserState"), value: state), (key: .string("secret"), value: .integer(8)),
      ]), limit: Limits.value)
    editor.add(activity, as: id)
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    world.settle()
    return id
  }

  private func entries(_ activity: Activity) -> [String] {
    activity.userInfo?.entries?.map { $0.key.string ?? "" } ?? ["none"]
  }

  @Test func `an offer of an activity with a page says whose page it is (R12.1)`() throws {
    let id = try offerPage(as: .activity)
    let chooser = world.open("chooser", chooser: true)
    #expect(chooser.engine.offers[id]?.description.webOrigin?.text == "https://example.com")
    try editor.change(id) { try $0.setWebpageURL("http://example.com:8080/other") }
    world.wait(200)
    #expect(chooser.engine.offers[id]?.description.webOrigin?.text == "http://example.com:8080")
    try editor.change(id) { try $0.setWebpageURL(nil) }
    world.wait(200)
    #expect(chooser.engine.offers[id].map { $0.description.webOrigin == nil } == true)
  }

  @Test(arguments: [Activity.PageContents.nothing, .browserState])
  func `the app of a site gets the page and nothing else, a browser its state besides (R12.2, R6.4)`(
    contents: Activity.PageContents
  ) throws {
    let id = try offerPage(as: .page(contents))
    world.ask(agent, for: id)
    #expect(agent.launches == ["com.example.viewer"])
    let viewer = openViewer()
    let activity = try #require(viewer.continued.first?.activity)
    #expect(activity.type == "NSUserActivityTypeBrowsingWeb" && activity.webpageURL == url)
    #expect(entries(activity) == (contents == .browserState ? ["SegueBrowserState"] : []))
    #expect(activity.referrerURL == nil && activity.title == "Page" && activity.attachments.isEmpty)
    #expect(viewer.continued.first?.from.offer.description.type == "NSUserActivityTypeBrowsingWeb")
    #expect(agent.outcomes == [.restored] && editor.receipts.map { $0.outcome } == [.restored])
  }

  @Test func `the app of a page's site gets the activity of the page, and nothing of the browser (R12.7)`() throws {
    let id = try offerPage(as: .page(.ownActivity))
    world.ask(agent, for: id)
    let viewer = openViewer()
    let activity = try #require(viewer.continued.first?.activity)
    #expect(activity.type == "com.example.note" && activity.webpageURL == url && entries(activity) == ["secret"])
    #expect(activity.referrerURL == nil && activity.title == "Page")
    #expect(viewer.continued.first?.from.offer.description.type == "com.example.note")
    #expect(agent.outcomes == [.restored])
  }

  @Test func `a browser gets the activity of a page enclosed, for the page alone (R12.7)`() throws {
    let id = try offerPage(as: .page(.enclosedActivity))
    world.ask(agent, for: id)
    let host = openViewer()
    let activity = try #require(host.continued.first?.activity)
    #expect(activity.type == "NSUserActivityTypeBrowsingWeb" && activity.webpageURL == url)
    #expect(entries(activity) == ["SegueBrowserState", "SeguePageActivity"])
    let enclosed = activity.userInfo?["SeguePageActivity"]
    #expect(enclosed?["type"]?.string == "com.example.note")
    #expect(enclosed?["userInfo"]?.entries?.map { $0.key.string } == ["secret"])
  }

  @Test func `more than a page may have reaches neither a page nor an app (R12.7, W5)`() throws {
    for form in [Activity.PageContents.ownActivity, .enclosedActivity] {
      var activity = try Activity(type: "com.example.note")
      try activity.setWebpageURL(url)
      for (size, count) in [(Limits.pageUserInfo - 20, 1), (Limits.pageUserInfo, 0)] {
        let entry = (key: Value.string("data"), value: Value.data([UInt8](repeating: 7, count: size)))
        try activity.setUserInfo(try .dictionary([entry]), limit: Limits.value)
        let page = try activity.page(form)
        let own = form == .ownActivity ? page.userInfo : page.userInfo?["SeguePageActivity"]?["userInfo"]
        #expect(own?.entries?.count == count)
      }
    }
  }

  @Test func `a browser is started once with the page, and nothing says whether it opens it (R12.3)`() throws {
    let id = try offerPage(as: .argument)
    world.ask(agent, for: id)
    #expect(agent.pages.map { $0.url } == [url] && agent.launches.isEmpty)
    #expect(agent.inbox.open.isEmpty && agent.answers.isEmpty, "its entry ends before, not after")
    let continuation = try #require(agent.pages.first?.continuation)
    agent.engine.shown(continuation, nil, world.now)
    world.settle()
    #expect(agent.outcomes == [.unknown] && editor.receipts.map { $0.outcome } == [.unknown])
    world.wait(60_000)
    let host = openViewer()
    #expect(agent.pages.count == 1 && host.continued.isEmpty)
    #expect(agent.inbox.owed.isEmpty && agent.answers.count == 1)
  }

  @Test func `a page that was saved is opened in the browser, too (R8.3, R12.3)`() throws {
    var state = try Activity(type: "com.example.note")
    try state.setWebpageURL(url)
    agent.app = ChosenApp(bundleIdentifier: "firefox", name: "Firefox", types: [], form: .argument)
    let request = try SavedStartRequest(
      number: 7, activity: world.identifier(), document: try ActivityDocument.encode(state, .none), app: "firefox",
      team: "TEAM", appName: "Firefox")
    agent.engine.open(request, world.now)
    world.settle()
    #expect(agent.pages.map { $0.url } == [url] && agent.inbox.open.isEmpty)
  }

  @Test func `a browser that cannot be started is a failure, and nothing waits (R12.3)`() throws {
    let id = try offerPage(as: .argument)
    world.ask(agent, for: id)
    let continuation = try #require(agent.pages.first?.continuation)
    agent.engine.shown(continuation, SegueError(.invalidState, "no display"), world.now)
    world.settle()
    #expect(agent.answers.count == 1 && agent.outcomes == [nil])
    #expect(editor.receipts.map { $0.outcome } == [.failed] && editor.receipts.first?.reason == "no display")
    #expect(agent.inbox.open.isEmpty)
  }

  @Test(arguments: [(Activity.browsingWeb, "#c:~:text=Two%20words"), ("com.example.note", "#c")])
  func `a browser is started at the place that another browser names (R12.6)`(type: String, end: String) throws {
    let state = try Value.dictionary([(key: .string("text"), value: .string("Two words"))])
    let id = try offerPage(as: .argument, type: type, state: state)
    world.ask(agent, for: id)
    #expect(agent.pages.map { $0.url } == ["https://example.com/a?b\(end)"])
  }

  /// The agent dies at each step of the disk, and comes back; then the user asks again.
  @Test(arguments: 0..<6) func `kills around the opening of a page open it once at most (W19, R12.3)`(
    steps: Int
  ) throws {
    let id = try offerPage(as: .argument)
    // No process has the identifier of the program: the native host of a browser has another one.
    agent.app = ChosenApp(bundleIdentifier: "browser-esr", name: "Browser", types: [], form: .argument)
    agent.isStuck = true
    world.ask(agent, for: id)
    for _ in 0..<steps {
      agent.isStuck = false
      _ = agent.poll()
      agent.isStuck = true
      world.settle()
    }
    let shown = agent.pages.count
    if steps == 0 || steps == 5 { #expect(shown == steps / 5) }
    let inbox = agent.inbox
    world.killAgent()
    world.wait(2_000)
    let next = world.startAgent(inbox)
    next.app = agent.app
    world.wait(5_000)
    #expect(next.pages.isEmpty, "nobody has asked for it")
    world.ask(next, for: id)
    #expect(next.pages.map { $0.url } == [url])
    #expect(inbox.open.isEmpty, "what the kill has left makes room")
  }

  @Test func `a page opens although the disk is slower than those who ask (R12.3)`() throws {
    let id = try offerPage(as: .argument)
    agent.isStuck = true
    world.ask(agent, for: id)
    // The inbox says that nothing waits; then it stands still.
    agent.isStuck = false
    _ = agent.poll()
    agent.isStuck = true
    world.settle()
    world.wait(120_000)
    #expect(agent.outcomes == [.unknown] && agent.pages.isEmpty)
    agent.isStuck = false
    world.settle()
    world.wait(1_000)
    #expect(agent.pages.map { $0.url } == [url] && agent.inbox.open.isEmpty)
  }

  @Test(arguments: [ChosenApp.Form.page(.nothing), .argument])
  func `a page whose host hides behind a user is opened nowhere (W2, W10)`(form: ChosenApp.Form) throws {
    let id = try offerPage(as: form)
    try editor.change(id) { try $0.setWebpageURL("https://accounts.example.org%2F@example.com/") }
    world.wait(200)
    world.ask(agent, for: id)
    #expect(agent.pages.isEmpty && agent.launches.isEmpty && agent.inbox.entries.isEmpty)
    #expect(editor.receipts.map { $0.outcome } == [.failed])
  }

  @Test func `an extension that opens meanwhile does not get what the browser is started with (R12.3, W19)`() throws {
    let id = try offerPage(as: .argument)
    agent.isStuck = true
    world.ask(agent, for: id)
    let host = openViewer()
    agent.isStuck = false
    world.settle()
    world.wait(100)
    #expect(agent.pages.count + host.continued.count == 1)
  }

  @Test func `a disk that refuses opens nothing, and the page waits for the browser (R12.3)`() throws {
    let id = try offerPage(as: .argument)
    agent.isStuck = true
    world.ask(agent, for: id)
    // The entry is stored, and its end is not.
    for _ in 0..<10 where agent.inbox.entries.isEmpty {
      agent.isStuck = false
      _ = agent.poll()
      agent.isStuck = true
      world.settle()
    }
    agent.inbox.failure = SegueError(.system, "the disk is full")
    agent.isStuck = false
    world.settle()
    #expect(agent.pages.isEmpty && agent.outcomes == [nil])
    #expect(editor.receipts.map { $0.outcome } == [.unknown], "an app of the browser may get it yet")
    agent.inbox.failure = nil
    world.wait(60_000)
    #expect(agent.pages.isEmpty && agent.inbox.open.count == 1)
  }

  @Test(arguments: [
    ChosenApp.Form.page(.nothing), .page(.browserState), .page(.ownActivity), .page(.enclosedActivity), .argument,
    .activity,
  ])
  func `a page of another site than was offered is opened nowhere (R12.1, W11)`(form: ChosenApp.Form) throws {
    let id = try offerPage(as: form)
    // The origin says another thing when it is asked than it has offered.
    editor.onSave = { editor in editor.change(id) { try? $0.setWebpageURL("https://evil.test/") } }
    world.ask(agent, for: id)
    world.settle()
    #expect(agent.pages.isEmpty && agent.launches.isEmpty && agent.inbox.entries.isEmpty)
    guard case .failure(let error)? = agent.answers.first else { return _ = Issue.record("it was continued") }
    #expect(error.status == .handoffFailed && error.message.contains("https://evil.test"))
  }

  @Test(arguments: [ChosenApp.Form.page(.nothing), .page(.ownActivity), .argument])
  func `an activity that has lost its page is opened nowhere (R12.1)`(form: ChosenApp.Form) throws {
    let id = try offerPage(as: form)
    editor.onSave = { editor in editor.change(id) { try? $0.setWebpageURL(nil) } }
    world.ask(agent, for: id)
    #expect(agent.pages.isEmpty && agent.launches.isEmpty && agent.inbox.entries.isEmpty)
    #expect(agent.outcomes == [nil])
  }

  @Test func `an app that sees the offer is not given a page of another site either (R12.1, W11)`() throws {
    let id = try offerPage(as: .activity)
    let viewer = world.open("viewer")
    editor.onSave = { editor in editor.change(id) { try? $0.setWebpageURL("https://evil.test/") } }
    let offer = try #require(viewer.engine.offers[id])
    world.tell(viewer) { $0.continue(offer, id: world.identifier(), timeout: nil, $1) }
    world.settle()
    #expect(viewer.continued.isEmpty && viewer.failures.map { $0.status } == [.handoffFailed])
  }
}
