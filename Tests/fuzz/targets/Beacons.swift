// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel

/// Any bytes as a beacon: nothing but what a device of the account has made is one, and what is none changes nothing.
/// Two bytes choose the port, one a place that is changed, and one the moment.
nonisolated(unsafe) private let sender = try! BeaconCodec([FixedCredentials.epoch])
nonisolated(unsafe) private let reader = try! BeaconCodec([FixedCredentials.epoch])

func fuzzBeacons(_ bytes: UnsafeRawBufferPointer) {
  require(reader.read(Array(bytes), at: 1_800_000_000) == nil, "bytes that nobody has made are a beacon")
  var input = Input(bytes)
  let port = UInt16(input.byte()) << 8 | UInt16(input.byte())
  let (place, change, slots) = (input.number(below: Beacon.size + 1), input.byte(), Int(input.byte() % 7) - 3)
  let nonce = [UInt8]((0..<Beacon.nonceSize).map { _ in UInt8.random(in: 0...255) })
  var beacon = sender.make(port: port, nonce: nonce, at: 1_800_000_000)
  require(beacon.count == Beacon.size, "a beacon of another length")
  if place < Beacon.size { beacon[place] ^= change }
  let date = 1_800_000_000 + Double(slots) * Double(Beacon.slotTime)
  let isGenuine = (place == Beacon.size || change == 0) && (-1...1).contains(slots)
  var heard: UInt16?
  if case .listens(let port, _) = reader.read(beacon, at: date) { heard = port }
  require((heard == port) == isGenuine, "a beacon is taken for what it is not")
  if case .listens = reader.read(beacon, at: date) { require(false, "a beacon counts twice") }
}
