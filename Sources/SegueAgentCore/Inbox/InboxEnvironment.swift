// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The inbox of the agent on the disk, as its service uses it: a thread of its own in the product, a simulated disk in
/// the fleet. Calls are done one after the other. Each `done` is called once, in a later turn.
public protocol InboxExecutor: AnyObject {
  /// Does what the engine asks for.
  /// - Parameter done: not called for a request that has no reply now.
  func perform(_ request: InboxRequest, _ done: @escaping (InboxReply) -> Void)
  /// Lists the entries, the oldest first, those that have expired by a date that may be wrong among them.
  func list(_ done: @escaping (Result<[InboxEntry], SegueError>) -> Void)
  /// Forgets an entry.
  /// - Parameter done: gets whether there was one.
  func remove(_ continuation: Identifier, _ done: @escaping (Result<Bool, SegueError>) -> Void)
  /// Lets the app of an entry get it again.
  /// - Parameter done: gets whether there was one.
  func retry(_ continuation: Identifier, _ done: @escaping (Result<Bool, SegueError>) -> Void)
  /// Reads which apps the user prefers, and which were used.
  func loadPreferences(_ done: @escaping (Result<RoutingPreferences, SegueError>) -> Void)
  /// Stores the app that the user wants for a type; nil forgets it.
  func choose(_ app: String?, for type: String, _ done: @escaping (Result<Void, SegueError>) -> Void)
  /// Whether a push to this device was taken or declined before, or a later one of its activity (R3.15).
  func hasTaken(_ push: PushMark, _ done: @escaping (Result<Bool, SegueError>) -> Void)
  /// Remembers that a push was taken or declined.
  func noteTaken(_ push: PushMark, _ done: @escaping (Result<Void, SegueError>) -> Void)
  /// Stores which apps were used, the most recent last.
  func markUsed(_ apps: [String], _ done: @escaping (Result<Void, SegueError>) -> Void)
}

/// Starts programs for the agent.
public protocol ProgramLauncher: AnyObject {
  /// Starts the program of an app, by its manifest.
  /// - Parameter done: called once, later: nil if it was started. The launch then counts as under way until `opened`,
  ///   or for 20 s.
  /// Throws BUSY (a launch of this app is under way, or too many wait), LIMIT_EXCEEDED, CONNECTION_UNAVAILABLE.
  func launch(
    _ app: String, _ environment: [LaunchVariable], _ done: @escaping (SegueError?) -> Void) throws(SegueError)
  /// Starts a browser with a page as its one argument (R12.3).
  /// - Parameters:
  ///   - page: an absolute http or https URL.
  ///   - browser: `Browser.identifier`.
  ///   - done: called once, later: nil if it was started.
  /// Throws INVALID_ARGUMENT, BUSY (too many wait), LIMIT_EXCEEDED, CONNECTION_UNAVAILABLE.
  func open(
    _ page: String, in browser: String, _ environment: [LaunchVariable], _ done: @escaping (SegueError?) -> Void
  ) throws(SegueError)
  /// Starts the program of an opener with a document (R13.7). `done` and errors are as for a page.
  /// - Parameter opener: `Opener.identifier`.
  func open(
    _ document: OpenedDocument, with opener: String, _ environment: [LaunchVariable],
    _ done: @escaping (SegueError?) -> Void
  ) throws(SegueError)
  /// An app that was launched has opened: it may be launched again.
  func opened(_ app: String)
}

/// The hub of the device, at which the agent takes part.
public protocol AgentParticipation: AnyObject {
  /// Starts to look for a hub for the agent itself. The engine outlives the participant. Throws SYSTEM.
  func join(_ engine: AgentEngine) throws(SegueError) -> any AgentParticipantHandle
  /// Starts to look for a hub for an offer that the agent keeps. The offer outlives the participant. Throws SYSTEM.
  func join(_ offer: KeptParticipant) throws(SegueError) -> any KeptOfferHandle
}

/// The agent as a participant at the hub.
public protocol AgentParticipantHandle: AnyObject {
  /// Calls the engine, and handles the results.
  func perform(_ body: (AgentEngine, Instant) -> Void)
  /// Leaves the hub.
  func close()
}

/// An offer that the agent keeps, as a participant at the hub.
public protocol KeptOfferHandle: AnyObject {
  /// Calls the offer, and handles the results.
  func perform(_ body: () -> Void)
  /// Leaves the hub.
  func close()
}
