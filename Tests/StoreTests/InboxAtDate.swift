// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

@testable import SegueStore

/// An inbox at a date, for jobs without attachments, that collects the lines of the log.
final class InboxAtDate: InboxHolder {
  let inbox: Inbox
  var date: Double
  private(set) var lines: [String] = []

  init(_ inbox: Inbox, _ date: Double) { (self.inbox, self.date) = (inbox, date) }

  func perform<Result>(_ body: (Inbox) throws(SegueError) -> Result) throws(SegueError) -> Result { try body(inbox) }
  func content(of source: AttachmentSource) -> AttachmentContent.Source { .origin }
  func log(_ severity: Severity, _ message: DiagnosticText) { lines.append(message.string) }
}
