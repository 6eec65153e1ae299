// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A responder in the engine of its app: which activity it has, and what follows it in the chain (R4.1, R4.3).
public final class Responder {
  /// The same in no other call of `AppEngine.addResponder`.
  public let number: UInt64
  /// The host's object; valid until the responder is removed, which its owner does before it lets the object go.
  public unowned(unsafe) let host: AnyObject
  fileprivate let updates: Bool
  /// If it is a document's: the URL of that (R5.1).
  fileprivate var documentURL: String?
  /// Whether `documentChanged` is delivered, and not yet taken.
  fileprivate var hasChanged = false
  fileprivate var managed: ManagedActivity?
  /// Its number in the list of that.
  fileprivate var place: UInt64 = 0
  fileprivate var next: Responder? {
    willSet {
      next?.leading -= 1
      newValue?.leading += 1
    }
  }
  /// The number of responders that it follows directly in a chain.
  fileprivate var leading = 0
  fileprivate var isRemoved = false
  /// The last plan in whose chain it was.
  fileprivate var lastPlan: UInt64 = 0

  init(_ number: UInt64, _ host: AnyObject, updates: Bool, documentURL: String?) {
    self.number = number
    self.host = host
    self.updates = updates
    self.documentURL = documentURL
  }

  /// Whether a save has something from it: its state, or the URL of its document.
  fileprivate var contributes: Bool { updates || documentURL != nil }

  fileprivate var following: Responder? { next.flatMap { $0.isRemoved ? nil : $0 } }

  /// It has no activity any longer, and no place in a chain.
  fileprivate func leave() {
    isRemoved = true
    managed = nil
    next = nil
  }
}

/// An activity that responders have, or had until the next delivery.
private final class ManagedActivity {
  let id: Identifier
  /// In the order in which it was given to them.
  var responders = OrderedEntries<Responder>()
  /// Its number in the list of all.
  var place: UInt64 = 0
  /// The number of them that contribute to a save.
  var contributing = 0
  /// Whether `orphaned` is delivered, and not yet decided (R4.4).
  var isUndecided = false

  init(_ id: Identifier) { self.id = id }

  /// No responder has it any longer.
  /// - Returns: those that had it.
  @discardableResult func leave() -> [Responder] {
    let former = responders.all
    responders.removeAll()
    for responder in former { responder.managed = nil }
    return former
  }
}

/// A plan for a save of an activity: the responders to ask, and the properties to reset before (R4.2).
public struct SavePlan {
  /// Whether responders have the activity: `user_info` is then filled apart, and replaced only if all goes well.
  public let isManaged: Bool
  /// The responders to ask for their state, in this order. If there are any, `user_info` is emptied first.
  public let responders: [Responder]
  /// The URL that is put back before any of them is asked; nil: none of them is a document's.
  public let documentURL: String?
}

/// The responders of an app: which activity each has, and the chain that decides which one is current (R4).
///
/// Plain state, without effects on other features: `CurrentActivity.follow` acts on it.
final class Responders: AppFeature {
  private let app: AppContext
  private var managed = OrderedEntries<ManagedActivity>()
  /// The same by their identifiers.
  private var managedByID: [Identifier: ManagedActivity] = .init()
  /// The responder where the chain starts.
  private var main: Responder?
  private var plans: UInt64 = 0

  init(_ app: AppContext) { self.app = app }

  /// An app that dies does not close. Its responders and their activities hold each other.
  deinit {
    for gone in managed.all { gone.leave() }
  }

  // MARK: For the app

  func add(_ host: AnyObject, updates: Bool, documentURL: String?) -> Responder {
    Responder(app.takeNumber(), host, updates: updates, documentURL: documentURL)
  }

  func setDocumentURL(_ url: String, of responder: Responder) { responder.documentURL = url }

  /// Its activity is free, and chains that lead to it end there.
  func remove(_ responder: Responder) {
    detach(responder)
    responder.leave()
    if main === responder { main = nil }
  }

  /// Gives it an activity in place of the former one; nil: none (R4.1). No effect if that was invalidated.
  func set(_ activity: Identifier?, of responder: Responder) {
    guard !responder.isRemoved, responder.managed?.id != activity else { return }
    if let activity, app.owner.activity(activity) == nil { return }
    detach(responder)
    guard let activity else { return }
    let found = find(activity) ?? ManagedActivity(activity)
    if found.responders.isEmpty, !found.isUndecided {
      found.place = managed.append(found)
      managedByID[activity] = found
    }
    responder.place = found.responders.append(responder)
    if responder.contributes { found.contributing += 1 }
    responder.managed = found
    noteChange(of: responder)
  }

  /// All responders of one activity get another (R5.2).
  func move(_ activity: Identifier, to other: Identifier) {
    for responder in find(activity)?.responders.all ?? [] { set(other, of: responder) }
  }

  private func detach(_ responder: Responder) {
    guard let left = responder.managed.take() else { return }
    noteChange(of: responder)
    left.responders.remove(responder.place)
    if responder.contributes { left.contributing -= 1 }
    guard left.responders.isEmpty, !left.isUndecided else { return }
    left.isUndecided = true
    app.deliver(.orphaned(activity: left.id))
  }

  /// The observers of a document are told once, however often its activity changes until then (R5.2).
  private func noteChange(of responder: Responder) {
    guard responder.documentURL != nil, !responder.hasChanged else { return }
    responder.hasChanged = true
    app.deliver(.documentChanged(responder: responder.number))
  }

  /// Its document is told of the activity that it has now; nil: none.
  func takeChange(of responder: Responder) -> Identifier? {
    responder.hasChanged = false
    return responder.managed?.id
  }

  /// Continues the chain behind it; nil ends it there (R4.3).
  /// - Returns: the error for a loop, or nil.
  func setNext(_ next: Responder?, of responder: Responder) -> SegueError? {
    // A responder that follows no other closes no loop, except with itself. So a chain that grows at its start is not
    // walked.
    var found = responder.leading > 0 || next === responder ? next : nil
    while let here = found {
      guard here !== responder else {
        return SegueError(.invalidArgument, "next: leads back to the responder, in a loop")
      }
      found = here.following
    }
    if !responder.isRemoved { responder.next = next }
    return nil
  }

  func setMain(_ responder: Responder?) { main = responder.flatMap { $0.isRemoved ? nil : $0 } }

  func activity(of responder: Responder) -> Identifier? { responder.managed?.id }

  /// Whether an activity is left alone at its turn, and so ends (R4.4).
  func decide(_ activity: Identifier) -> Bool {
    guard let found = find(activity) else { return false }
    found.isUndecided = false
    return found.responders.isEmpty
  }

  /// The activity was invalidated: no responder has it any longer.
  func remove(activity: Identifier) {
    guard let gone = managedByID.removeValue(forKey: activity) else { return }
    managed.remove(gone.place)
    release(gone)
  }

  private func release(_ gone: ManagedActivity) {
    for responder in gone.leave() { noteChange(of: responder) }
  }

  // MARK: For other features

  private func find(_ activity: Identifier) -> ManagedActivity? { managedByID[activity] }

  func manages(_ activity: Identifier) -> Bool { find(activity) != nil }

  /// Whether responders had it, and none has it now.
  func orphaned(_ activity: Identifier) -> Bool { find(activity)?.responders.isEmpty ?? false }

  /// Whether a save of it has something from responders: state, or the URL of a document.
  func contribute(to activity: Identifier) -> Bool { (find(activity)?.contributing ?? 0) > 0 }

  /// Whether a responder has that activity and `update_state`.
  func updates(_ activity: Identifier, _ responder: Responder) -> Bool {
    responder.updates && responder.managed?.id == activity
  }

  /// The activity of the first responder in the chain that has one (R4.3).
  var first: Identifier? {
    var next = main
    while let here = next {
      if let found = here.managed { return found.id }
      next = here.following
    }
    return nil
  }

  /// Documents, then other responders in the order in which they were attached; those of the main chain last, outermost
  /// first, so that the focused one wins (R4.2).
  func plan(for activity: Identifier) -> SavePlan {
    guard let found = find(activity) else { return SavePlan(isManaged: false, responders: [], documentURL: nil) }
    plans += 1
    var chain: [Responder] = []
    var next = found.contributing > 0 ? main : nil
    while let here = next {
      here.lastPlan = plans
      if here.managed === found { chain.append(here) }
      next = here.following
    }
    var all: [Responder] = []
    var documentURL: String?
    all.reserveCapacity(found.contributing)
    for isDocument in [true, false] {
      for responder in found.responders.all
      where responder.lastPlan != plans && (responder.documentURL != nil) == isDocument {
        if responder.updates { all.append(responder) }
        documentURL = responder.documentURL ?? documentURL
      }
    }
    while let outermost = chain.popLast() {
      if outermost.updates { all.append(outermost) }
      documentURL = outermost.documentURL ?? documentURL
    }
    return SavePlan(isManaged: true, responders: all, documentURL: documentURL)
  }

  // MARK: Life cycle

  func close(_ error: SegueError, _ now: Instant) {
    for gone in managed.all { release(gone) }
    managed.removeAll()
    managedByID = .init()
    main = nil
  }

  var leak: StaticString? {
    managed.all.contains { app.owner.activity($0.id) == nil } ? "app: a responder has an activity that is gone" : nil
  }
}
