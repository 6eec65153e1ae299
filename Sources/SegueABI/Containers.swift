// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 13 of segue.h: containers.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

extension HandleKind where Object == Access {
  static var access: Self { Self(.access) }
}

@_cdecl("segue_app_add_container") @implementation
public func segue_app_add_container(
  _ app: OpaquePointer?, _ identifier: UnsafePointer<CChar>?, _ identifierLength: Int,
  _ folder: UnsafePointer<CChar>?, _ folderLength: Int
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    let identifier = try Arguments.text(identifier, identifierLength, "identifier", atMost: Limits.identifier)
    let folder = try Arguments.text(folder, folderLength, "folder", atMost: Limits.path)
    try app.addContainer(identifier, folder: folder)
  }
}

@_cdecl("segue_app_remove_container") @implementation
public func segue_app_remove_container(
  _ app: OpaquePointer?, _ identifier: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    try app.removeContainer(Arguments.text(identifier, length, "identifier", atMost: Limits.identifier))
  }
}

@_cdecl("segue_activity_access_begin") @implementation
public func segue_activity_access_begin(
  _ activity: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ length: Int, _ flags: UInt32,
  _ access: UnsafeMutablePointer<OpaquePointer?>?, _ fd: UnsafeMutablePointer<Int32>?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    let out = try Arguments.required(access, "access")
    let url = try Arguments.text(url, length, "url", atMost: Limits.value)
    guard flags & ~UInt32(SEGUE_ACCESS_WRITE) == 0 else {
      throw SegueError(.invalidArgument, "flags: \(flags), only SEGUE_ACCESS_WRITE is known")
    }
    let begun = try Access(activity, url, forWriting: flags != 0)
    let descriptor = try begun.descriptor()
    try handles.give(begun, .access, to: out)
    fd?.pointee = descriptor
  }
}

@_cdecl("segue_access_end") @implementation
public func segue_access_end(_ access: OpaquePointer?) -> segue_status {
  handles.call(access, .access) { (access) throws(SegueError) in access.end() }
}
