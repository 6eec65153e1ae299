// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The activities of an app, for its engine. The engine calls these from inside its own calls.
public protocol ActivitySource: AnyObject {
  /// The containers of the app (R5.3).
  var containers: Containers { get }
  /// The document of an activity that another app has left, as it has left it (R2.5); nil for those of this app.
  func leftDocument(of id: Identifier) -> [UInt8]?
  /// Nil if it was invalidated.
  func activity(_ id: Identifier) -> Activity?
  /// Sets whether the activity needs saving.
  func setNeedsSave(_ needsSave: Bool, of id: Identifier)
  /// A save of the activity was given up: its answer no longer counts.
  func gaveUpSave(_ number: UInt64, of id: Identifier)
  /// Uptime of the last change, in milliseconds.
  func lastChange(of id: Identifier) -> Int64
  /// The number of changes so far: a time is the same for two changes in one millisecond.
  func changeCount(of id: Identifier) -> UInt64
  /// Replaces an activity by a state that has come back (R3.10), unless it has changed. No change comes in between.
  /// - Parameter count: the number of changes when it was compared; nil: whatever has changed.
  /// - Returns: its state from now on; nil if it stays as it is.
  func replace(_ id: Identifier, with state: Activity, ifChangeCountIs count: UInt64?) -> Activity?
  /// Whether will_save or did_update has a callback.
  func answersWillSave(_ id: Identifier) -> Bool
  /// The continuation that brought it here; nil if this app created it.
  func continuation(of id: Identifier) -> Identifier?
  /// The activity that a continuation has brought here, and its origin; nil if it is not kept.
  func kept(by continuation: Identifier) -> (activity: Identifier, origin: Identifier)?
  /// Whether requests for streams have a callback.
  func takesStreams(_ id: Identifier) -> Bool
  /// Whether requests have a callback.
  func takesRequests(_ id: Identifier) -> Bool
  /// The visible state of the local end of a stream: `open`, or `aborted` if it was closed.
  func streamEnd(_ id: Identifier) -> StreamStatus
}

/// The owner of an app's engine. The engine calls these from inside its own calls.
public protocol AppEngineOwner: ActivitySource {
  /// Queues a callback, after the earlier ones.
  func deliver(_ delivery: Delivery)
  /// The manifest of the app applies from now on (R6.1). Called once, before the app is told that it is ready.
  func manifestHolds(_ manifest: AppManifest)
  /// The user has these folders from now on (R13.4).
  func foldersAre(_ folders: UserFolders)
  /// Whether the host does not dispatch, so that messages of others are refused.
  var isBacklogged: Bool { get }
  /// Whether an activity is continued by one receiver at a time.
  var continuesOnce: Bool { get }
  /// Whether that was done: no other one may begin.
  var isContinued: Bool { get }
  /// Whether log lines of this severity are wanted.
  func logs(_ severity: Severity) -> Bool
  /// Opens what is attached for another process of this device, which only reads it: the file, and when it was last
  /// changed (nanoseconds since 1970). Nil if it was changed since it was attached, or cannot be handed over.
  func handOver(_ source: AttachmentSource) -> (descriptor: PassedDescriptor, changed: UInt64)?
}

extension AppEngineOwner {
  public var containers: Containers { .none }
  public func gaveUpSave(_ number: UInt64, of id: Identifier) {}
  public func changeCount(of id: Identifier) -> UInt64 { 0 }
  public func replace(_ id: Identifier, with state: Activity, ifChangeCountIs count: UInt64?) -> Activity? { nil }
  public func leftDocument(of id: Identifier) -> [UInt8]? { nil }
  public func manifestHolds(_ manifest: AppManifest) {}
  public func foldersAre(_ folders: UserFolders) {}
  public func logs(_ severity: Severity) -> Bool { true }
  public var isBacklogged: Bool { false }
  public var continuesOnce: Bool { false }
  public var isContinued: Bool { false }
  public func handOver(_ source: AttachmentSource) -> (descriptor: PassedDescriptor, changed: UInt64)? { nil }
}
