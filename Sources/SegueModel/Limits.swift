// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The limits of handoff.md section 9: chosen, published, and all in this file.
public struct Limits: Sendable {
  /// Bytes of user_info above which `validate` reports a problem.
  public static let advisedPayload = 3 * 1024
  /// Bytes of any value, whatever `userInfo` is set to.
  public static let value = 16 * 1024 * 1024
  /// Bytes of JSON text. No value has longer text, tagged or plain: a date takes at most 34 bytes for 4.
  public static let json = 9 * value
  /// Levels of nesting.
  public static let nesting = 64
  /// Bytes of UTF-8.
  public static let title = 1024
  /// Bytes of UTF-8: activity types.
  public static let type = 255
  /// Bytes of UTF-8: names and identifiers, also the reason of a decline.
  public static let identifier = 255
  /// Bytes of the token by which a window comes to the front; a longer one is not passed on.
  public static let activationToken = 1024
  /// Bytes of the label of an app (R13.6).
  public static let label = 128
  /// Bytes of UTF-8.
  public static let url = 8 * 1024
  /// Bytes of the origin of a web page (R12.1): `https://`, a host, and a port.
  public static let webOrigin = 8 + HostName.limit + 6
  /// Bytes of `user_info` that reach a page, or the app of its site (R12.7). 64 KiB of JSON, which is what a page may
  /// give, take less.
  public static let pageUserInfo = 256 * 1024
  /// Bytes of the path of a folder, as on the system.
  public static let path = 4095
  /// Containers that one app may register (R5.3).
  public static let containersPerApp = 64
  /// Objects that one continuation may restore.
  public static let restorables = 65_536
  /// Types that one app may declare.
  public static let typesPerApp = 256
  /// Bytes of all types that an app declares, and of its document types, so that they fit into one message.
  public static let typesBytes = 32 * 1024
  public static let documentTypesBytes = 24 * 1024
  /// Attachments of an activity (R7.6).
  public static let attachments = 64
  /// Bytes of an attachment from memory; use files for more.
  public static let attachedBytes = 1 << 30
  /// Attachments that an app fetches at a time, and those that it sends to the apps of one process, or over the links
  /// of one process.
  public static let transfers = 64
  /// Attachments that an app sends at a time, so that one process does not shut others out.
  public static let sentTransfers = 4 * transfers
  /// Milliseconds after which the idle side of an attachment transfer sends a keep-alive.
  public static let attachmentSign: Int64 = 2_000
  /// Milliseconds of silence of the other side of an attachment transfer after which the stream counts as broken; at
  /// the sender `transferResume`, if that is more.
  public static let attachmentSilence: Int64 = 10_000
  /// Milliseconds between two progress reports of an attachment.
  public static let progress: Int64 = 100
  /// Milliseconds between two updates of one offer (R2.8).
  public static let offerUpdate: Int64 = 100

  /// Bytes of the attachments that the agent stores of one activity; it leaves larger ones to the origin (R2.5, R3.8).
  public static let storedAttachments = 64 * 1024 * 1024
  /// Entries of an inbox, and kept offers.
  public static let inboxEntries = 1_000
  /// Bytes of all documents and attachments in an inbox.
  public static let inboxBytes: Int64 = 1 << 30
  /// Crashes of an app on one entry of the inbox, after which it gets the entry only when the user asks (R3.8).
  public static let crashes: Int64 = 3
  /// Seconds that an entry of the inbox waits whose activity has no expiration date (R3.8).
  public static let inboxLife: Double = 7 * 86_400
  /// Seconds that a kept offer lasts (R2.5).
  public static let keptOfferLife: Double = 12 * 3_600
  /// Kept offers, and the bytes of their documents; the oldest make room for new ones (R2.5).
  public static let keptOffers = 64
  public static let keptBytes = 64 * 1024 * 1024
  /// Bytes of the attachments of all kept offers (R2.5).
  public static let keptAttachments = 4 * storedAttachments
  /// Offers that a mailbox retains for one device (R14.5), and their bytes, attachments among them; of all devices.
  public static let retainedOffers = 16
  /// Pushes that it keeps of one device (R3.15); their bytes count with those of the offers.
  public static let retainedPushes = 16
  public static let retainedBytes = 2 * storedAttachments
  public static let allRetainedOffers = 64
  public static let allRetainedBytes = 4 * storedAttachments
  /// Seconds of uptime for which it retains one without news of its origin.
  public static let retainedLife: Double = 7 * 86_400
  /// Saved activities (R8.1), and the bytes of all of them.
  public static let savedActivities: Int64 = 100_000
  public static let savedBytes: Int64 = 1 << 30
  /// Seconds that a saved activity without an expiration date is kept (R8.1).
  public static let savedLife: Double = 30 * 86_400
  /// Bytes of what an app marks as searchable in one activity, and of its keywords.
  public static let searchableText = 64 * 1024
  /// Bytes of a manifest, or of a `.desktop` file (R6.1); levels of nesting and values of one that is a property list.
  public static let manifestBytes = 256 * 1024
  public static let manifestDepth = 32
  public static let manifestValues = 10_000
  /// Manifests and `.desktop` files that are read, the folders in which they are, and the bytes of all manifests.
  public static let manifestFiles = 20_000
  public static let manifestFolders = 1_000
  public static let manifestTotal = 64 * 1024 * 1024
  /// Arguments with which a program is launched, itself included; and the bytes of all of them, and of its folder.
  public static let launchArguments = 1_024
  public static let launchBytes = 32 * 1024
  /// Sites that one app may claim, and all apps together (R12.9).
  public static let domainsPerApp = 30
  /// Further identifiers of a program in its manifest (R13.6).
  public static let alternativeIdentifiers = 16
  public static let domains = 300
  /// Rosters that wait for the user, devices that were refused which are shown, and notices about the account.
  public static let takeOvers = 4
  public static let refusedDevices = 16
  public static let notices = 16
  /// Bytes of the digest of a roster.
  public static let digest = 32
  /// Seconds by which the clocks of two devices may differ.
  public static let clockDifference: Double = 86_400
  /// Milliseconds that a question to the agent may wait.
  public static let longestAsk: Int64 = 600_000
  /// Milliseconds for another device, or its user, to say whether it takes what is pushed to it (R3.15).
  public static let pushAnswer: Int64 = 60_000
  /// Activities of one device of whose pushes the inbox remembers the last one.
  public static let pushMarks: Int64 = 256
  /// Bytes, and words, of what is searched for.
  public static let query = 1024
  public static let queryWords = 32

  /// Bytes of encoded user_info.
  public var userInfo = 256 * 1024
  /// Bytes of a request, and of its answer (R7.5).
  public var request = 1024 * 1024
  /// Milliseconds for which the receiver retries a stopped attachment, and the sender keeps it for a silent receiver
  /// (R7.4, R7.6).
  public var transferResume: Int64 = 60_000
  /// Milliseconds for an app to answer will_save (R2.4).
  public var save: Int64 = 5_000
  /// Milliseconds for a continuation, launch included (R3.9).
  public var continuation: Int64 = 20_000
  /// Milliseconds from the last change of a current activity to its save; 0: only when pulled (R2.2).
  public var saveDelay: Int64 = 2_000
  /// Milliseconds from the first unsaved change to its save (R2.2).
  public var saveLatest: Int64 = 10_000

  public init() {}
}
