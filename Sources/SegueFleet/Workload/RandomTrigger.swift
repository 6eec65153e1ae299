// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Fires at random, in a share of all workloads. Its random numbers are its own, so what one kind of event draws does
/// not change the others.
struct RandomTrigger {
  var random: SeededRandom
  private let isOn: Bool

  /// - Parameters:
  ///   - salt: differs for each kind of event.
  ///   - share: of workloads in which it fires at all, 0...1.
  init(seed: UInt64, salt: UInt64, share: Double) {
    random = SeededRandom(seed: seed ^ salt)
    isOn = random.chance(share)
  }

  mutating func fires(_ probability: Double) -> Bool { isOn && random.chance(probability) }

  /// An app that is awake, if it fires, and the app that it draws is.
  mutating func app(of apps: [ScriptedApp], _ probability: Double) -> ScriptedApp? {
    guard fires(probability), !apps.isEmpty else { return nil }
    let app = apps[random.below(apps.count)]
    return app.isAwake ? app : nil
  }
}
