// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The URL of an activity's document, in `userInfo` (R5.2).
extension Activity {
  /// Its key.
  public static let documentURLKey: StaticString = "NSUserActivityDocumentURLKey"

  static var documentKey: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: documentURLKey.utf8Start, count: documentURLKey.utf8CodeUnitCount)
  }

  /// The entry of `userInfo` for a document. Throws INVALID_URL.
  public static func documentEntry(_ url: String) throws(SegueError) -> Value {
    try Value.dictionary([(.string(Text.decoded(documentKey)), .url(url))])
  }

  /// Nil if it has none.
  public var documentURL: String? { userInfo?[utf8: Activity.documentKey]?.url }

  /// The activity is of no document any longer.
  public mutating func removeDocumentURL() throws(SegueError) {
    try setUserInfo(userInfo?.removing(utf8: Activity.documentKey), limit: Limits.value)
  }
}
