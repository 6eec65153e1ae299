// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 16 of segue.h: the devices of a virtual fleet.
import CSegue
import SegueABI
import SegueApp
import SegueManifests
import SegueModel

extension HandleKind where Object == LiveFleetDevice {
  static var fleetDevice: Self { Self(.fleetDevice) }
}

@inline(never)
private func call(_ device: OpaquePointer?, _ body: (LiveFleetDevice) throws(SegueError) -> Void) -> segue_status {
  handles.call(device, .fleetDevice, body)
}

@_cdecl("segue_fleet_device_create_app") @implementation
public func segue_fleet_device_create_app(
  _ device: OpaquePointer?, _ bundleIdentifier: UnsafePointer<CChar>?, _ length: Int,
  _ app: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  call(device) { (device) throws(SegueError) in
    let out = try Arguments.required(app, "app")
    let bundleIdentifier = try Arguments.text(
      bundleIdentifier, length, "bundle_identifier", atMost: Limits.identifier)
    let settings = try AppSettings(bundleIdentifier: bundleIdentifier)
    try handles.give(App(settings, on: device), .app, to: out)
  }
}

@_cdecl("segue_fleet_device_start_agent") @implementation
public func segue_fleet_device_start_agent(_ device: OpaquePointer?) -> segue_status {
  call(device) { (device) throws(SegueError) in try device.startAgent() }
}

@_cdecl("segue_fleet_device_end_agent") @implementation
public func segue_fleet_device_end_agent(_ device: OpaquePointer?, _ kills: Bool) -> segue_status {
  call(device) { (device) throws(SegueError) in try device.endAgent(isKilled: kills) }
}

@_cdecl("segue_fleet_device_install_app") @implementation
public func segue_fleet_device_install_app(
  _ device: OpaquePointer?, _ manifest: UnsafePointer<CChar>?, _ length: Int, _ launch: segue_launch_function?,
  _ context: UnsafeMutableRawPointer?, _ destroy: segue_destroy?
) -> segue_status {
  let context = Context(context, destroy)
  return call(device) { (device) throws(SegueError) in
    let path = try Arguments.text(manifest, length, "manifest", atMost: Limits.url)
    device.install(try AppDeclaration.read(path, canLaunch: launch != nil)) { launch?(context.pointer) }
  }
}

@_cdecl("segue_fleet_device_uninstall_app") @implementation
public func segue_fleet_device_uninstall_app(
  _ device: OpaquePointer?, _ bundleIdentifier: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  call(device) { (device) throws(SegueError) in
    try device.uninstall(
      try Arguments.text(bundleIdentifier, length, "bundle_identifier", atMost: Limits.identifier))
  }
}

@_cdecl("segue_fleet_device_crash") @implementation
public func segue_fleet_device_crash(_ device: OpaquePointer?) -> segue_status {
  call(device) { (device) throws(SegueError) in device.crash() }
}

@_cdecl("segue_fleet_device_restart") @implementation
public func segue_fleet_device_restart(_ device: OpaquePointer?) -> segue_status {
  call(device) { (device) throws(SegueError) in device.restart() }
}

@_cdecl("segue_fleet_device_partition") @implementation
public func segue_fleet_device_partition(_ device: OpaquePointer?, _ other: OpaquePointer?) -> segue_status {
  call(device) { (device) throws(SegueError) in
    try handles.use(optional: other, .fleetDevice) { (other) throws(SegueError) in try device.partition(from: other) }
  }
}

@_cdecl("segue_fleet_device_set_linked") @implementation
public func segue_fleet_device_set_linked(
  _ device: OpaquePointer?, _ other: OpaquePointer?, _ linked: Bool
) -> segue_status {
  call(device) { (device) throws(SegueError) in
    try handles.use(other, .fleetDevice) { (other) throws(SegueError) in try device.setLinked(other, linked) }
  }
}
