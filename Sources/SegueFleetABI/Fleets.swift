// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 16 of segue.h: the virtual fleet. Its devices are in FleetDevices.swift.
import CLinux
import CLoaded
import CSegue
import SegueABI
import SegueApp
import SegueModel
import SegueTransport

@_cdecl("fleet_library_loaded") @implementation
public func fleet_library_loaded() { tagHandlesOfFleet() }

extension HandleKind where Object == LiveFleet {
  static var fleet: Self { Self(.fleet) }
}

/// No function here is called often enough to justify inlining this.
@inline(never)
private func call(_ fleet: OpaquePointer?, _ body: (LiveFleet) throws(SegueError) -> Void) -> segue_status {
  handles.call(fleet, .fleet, body)
}

/// Does the same for a call that may take long: a cancellation point, like `segue_app_dispatch`.
@inline(never)
private func callAndWait(_ fleet: OpaquePointer?, _ body: (LiveFleet) throws(SegueError) -> Void) -> segue_status {
  let status = call(fleet, body)
  Cancellation.takeEffect()
  return status
}

/// Throws INVALID_STATE if the dynamic linker finds functions of this header in another library first, as in a program
/// that links libsegue.so.0 in front of this one: it would pass handles of one to the other. The text of the last error
/// is that of the other library then, so standard error gets it, too.
private func checkIsInFront() throws(SegueError) {
  // Nil where the modules are linked into a program, as in tests.
  guard let own = dlopen("libsegue-fleet.so.0", RTLD_NOW | RTLD_NOLOAD) else { return }
  defer { dlclose(own) }
  guard let front = dlsym(nil, "segue_version"), front != dlsym(own, "segue_version") else { return }
  let problem: StaticString = "libsegue.so.0 is linked in front of libsegue-fleet.so.0: link the latter in its place"
  write(2, "segue: error: ", 14)
  write(2, problem.utf8Start, problem.utf8CodeUnitCount)
  write(2, "\n", 1)
  throw SegueError(.invalidState, "fleet: \(problem)")
}

@_cdecl("segue_fleet_create") @implementation
public func segue_fleet_create(
  _ seed: UInt64, _ fleet: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  attempt { () throws(SegueError) in
    try checkIsInFront()
    try handles.give(LiveFleet(seed: seed), .fleet, to: Arguments.required(fleet, "fleet"))
  }
}

@_cdecl("segue_fleet_add_device") @implementation
public func segue_fleet_add_device(
  _ fleet: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ length: Int,
  _ device: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  call(fleet) { (fleet) throws(SegueError) in
    let out = try Arguments.required(device, "device")
    let name = try Arguments.text(name, length, "name", atMost: Limits.identifier)
    try handles.give(fleet.addDevice(name), .fleetDevice, to: out)
  }
}

@_cdecl("segue_fleet_set_linking") @implementation
public func segue_fleet_set_linking(_ fleet: OpaquePointer?, _ all: Bool) -> segue_status {
  call(fleet) { (fleet) throws(SegueError) in fleet.setLinksAll(all) }
}

@_cdecl("segue_fleet_set_delay") @implementation
public func segue_fleet_set_delay(_ fleet: OpaquePointer?, _ least: UInt32, _ most: UInt32) -> segue_status {
  call(fleet) { (fleet) throws(SegueError) in try fleet.setDelay(least, most) }
}

@_cdecl("segue_fleet_set_faults") @implementation
public func segue_fleet_set_faults(
  _ fleet: OpaquePointer?, _ loss: Double, _ duplication: Double, _ reordering: Double
) -> segue_status {
  call(fleet) { (fleet) throws(SegueError) in
    try fleet.setFaults(loss: loss, duplication: duplication, reordering: reordering)
  }
}

@_cdecl("segue_fleet_heal") @implementation
public func segue_fleet_heal(_ fleet: OpaquePointer?) -> segue_status {
  call(fleet) { (fleet) throws(SegueError) in fleet.heal() }
}

// MARK: Time

@_cdecl("segue_fleet_step") @implementation
public func segue_fleet_step(_ fleet: OpaquePointer?, _ stepped: UnsafeMutablePointer<Bool>?) -> segue_status {
  callAndWait(fleet) { (fleet) throws(SegueError) in
    let hasStepped = try fleet.step()
    stepped?.pointee = hasStepped
  }
}

@_cdecl("segue_fleet_run") @implementation
public func segue_fleet_run(_ fleet: OpaquePointer?, _ steps: UnsafeMutablePointer<Int>?) -> segue_status {
  callAndWait(fleet) { (fleet) throws(SegueError) in
    let count = try fleet.run()
    steps?.pointee = count
  }
}

@_cdecl("segue_fleet_advance") @implementation
public func segue_fleet_advance(
  _ fleet: OpaquePointer?, _ milliseconds: UInt64, _ steps: UnsafeMutablePointer<Int>?
) -> segue_status {
  callAndWait(fleet) { (fleet) throws(SegueError) in
    let count = try fleet.advance(milliseconds)
    steps?.pointee = count
  }
}

@_cdecl("segue_fleet_wait") @implementation
public func segue_fleet_wait(
  _ fleet: OpaquePointer?, _ milliseconds: UInt32, _ busy: UnsafeMutablePointer<Bool>?
) -> segue_status {
  callAndWait(fleet) { (fleet) throws(SegueError) in
    let isBusy = try fleet.wait(Int32(clamping: milliseconds))
    busy?.pointee = isBusy
  }
}

@_cdecl("segue_fleet_get_time_ms") @implementation
public func segue_fleet_get_time_ms(_ fleet: OpaquePointer?, _ time: UnsafeMutablePointer<UInt64>?) -> segue_status {
  call(fleet) { (fleet) throws(SegueError) in time?.pointee = fleet.elapsed }
}

// MARK: Observation

@_cdecl("segue_fleet_get_trace") @implementation
public func segue_fleet_get_trace(_ fleet: OpaquePointer?, _ text: TextOut, _ length: LengthOut) -> segue_status {
  call(fleet) { (fleet) throws(SegueError) in try Results.give(fleet.trace, to: text, length: length) }
}

@_cdecl("segue_fleet_get_trace_hash") @implementation
public func segue_fleet_get_trace_hash(
  _ fleet: OpaquePointer?, _ hash: UnsafeMutablePointer<UInt64>?
) -> segue_status {
  call(fleet) { (fleet) throws(SegueError) in hash?.pointee = fleet.traceHash }
}

@_cdecl("segue_fleet_check") @implementation
public func segue_fleet_check(_ fleet: OpaquePointer?, _ violation: TextOut, _ length: LengthOut) -> segue_status {
  call(fleet) { (fleet) throws(SegueError) in
    try Results.give(fleet.violation, to: violation, length: length)
  }
}

@_cdecl("segue_fleet_play") @implementation
public func segue_fleet_play(_ fleet: OpaquePointer?, _ devices: Int, _ apps: Int, _ events: Int) -> segue_status {
  callAndWait(fleet) { (fleet) throws(SegueError) in
    try fleet.play(devices: devices, apps: apps, events: events)
  }
}

// MARK: Processes

@_cdecl("segue_fleet_kill_app") @implementation
public func segue_fleet_kill_app(_ fleet: OpaquePointer?, _ app: OpaquePointer?) -> segue_status {
  call(fleet) { (fleet) throws(SegueError) in
    try handles.use(app, .app) { (app) throws(SegueError) in try fleet.kill(app) }
  }
}

@_cdecl("segue_fleet_set_app_stopped") @implementation
public func segue_fleet_set_app_stopped(
  _ fleet: OpaquePointer?, _ app: OpaquePointer?, _ stopped: Bool
) -> segue_status {
  call(fleet) { (fleet) throws(SegueError) in
    try handles.use(app, .app) { (app) throws(SegueError) in try fleet.setStopped(app, stopped) }
  }
}
