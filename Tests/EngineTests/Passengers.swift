@testable import SegueEngine

extension HubEngine {
  /// Links that were asked for; streams are left aside.
  func takeAttachments() -> [LinkRequest] {
    takePassengers().compactMap { if case .link(let attachment) = $0 { attachment } else { nil } }
  }
}

extension AppEngine {
  /// The links whose descriptors go out now; streams are left aside.
  func takeAsked() -> [UInt64] {
    takePassengers().compactMap { if case .link(let number) = $0 { number } else { nil } }
  }
}
