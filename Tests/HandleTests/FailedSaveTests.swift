// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CSegue
import SegueModel
import Testing

@testable import SegueABI

/// An app's answers to its saves.
private final class Editor {
  var saves = 0
  var failsAtOnce = false
  /// Saves that it never answers.
  var retained: [OpaquePointer?] = []
}

/// The mark of an activity after a save that has failed (R2.2, R2.4), in a fleet, whose time is virtual. It is in the
/// suite of the tests that count all handles: one of them runs at a time.
extension HandleTests {
  @Test(arguments: [true, false])
  func `a change after a save that failed, or was not answered, is saved (R2.2, R2.4)`(failsAtOnce: Bool) {
    let editor = Editor()
    editor.failsAtOnce = failsAtOnce
    var (fleet, device, app, activity): (OpaquePointer?, OpaquePointer?, OpaquePointer?, OpaquePointer?)
    var delegate: OpaquePointer?
    #expect(segue_fleet_create(7, &fleet) == SEGUE_OK)
    #expect(segue_fleet_add_device(fleet, "phone", 5, &device) == SEGUE_OK)
    #expect(segue_fleet_device_create_app(device, "com.example.notes", 17, &app) == SEGUE_OK)
    #expect(segue_activity_delegate_create(Unmanaged.passUnretained(editor).toOpaque(), nil, &delegate) == SEGUE_OK)
    let willSave: segue_will_save_function = { context, _, save in
      let editor = Unmanaged<Editor>.fromOpaque(context!).takeUnretainedValue()
      editor.saves += 1
      if editor.failsAtOnce {
        segue_save_fail(save, "no room", 7)
      } else {
        segue_retain(save)
        editor.retained.append(save)
      }
      return SEGUE_REPLY_LATER
    }
    #expect(segue_activity_delegate_on_will_save(delegate, willSave) == SEGUE_OK)
    #expect(segue_app_set_activity_delegate(app, delegate) == SEGUE_OK)
    #expect(segue_app_open(app) == SEGUE_OK)
    #expect(segue_activity_create(app, "com.example.note", 16, &activity) == SEGUE_OK)
    #expect(segue_activity_become_current(activity) == SEGUE_OK)
    #expect(segue_fleet_advance(fleet, 60_000, nil) == SEGUE_OK)
    #expect(editor.saves == 1, "without a change it is asked once")
    for saves in 2...4 {
      #expect(segue_activity_set_needs_save(activity, true) == SEGUE_OK)
      #expect(segue_fleet_advance(fleet, 1_900, nil) == SEGUE_OK)
      #expect(editor.saves == saves - 1)
      #expect(segue_fleet_advance(fleet, 60_000, nil) == SEGUE_OK)
      #expect(editor.saves == saves, "2 s after the change")
    }
    segue_app_close(app)
    for save in editor.retained { segue_release(save) }
    segue_release(delegate)
    segue_release(activity)
    segue_release(app)
    segue_release(device)
    segue_release(fleet)
  }
}
