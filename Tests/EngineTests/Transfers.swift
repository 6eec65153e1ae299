@testable import SegueEngine

extension HubEngine {
  /// Links that were asked for; streams are left aside.
  func takeAttachments() -> [LinkRequest] {
    takeTransfers().compactMap { if case .link(let request, _) = $0 { request } else { nil } }
  }
}
