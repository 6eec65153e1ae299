-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
-- An app in Lua: luajit example.lua offer | continue
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local segue = require "segue"
local TYPE, Z = "com.example.notes.editing", segue.NUL_TERMINATED

local app = segue.out("segue_app *", segue.app_create, "com.example.notes", Z)
segue.app_set_name(app, "Notes in Lua", Z)
segue.app_add_activity_type(app, TYPE, Z)
local running = true

if arg[1] == "offer" then
  segue.app_open(app)
  local activity = segue.out("segue_activity *", segue.activity_create, app, TYPE, Z)
  local delegate = segue.out("segue_activity_delegate *", segue.activity_delegate_create, nil, nil)
  segue.activity_delegate_on_continuation_ended(delegate, function(_, _, receipt)
    local outcome = segue.out("segue_outcome", segue.receipt_get_outcome, receipt)
    local words = outcome == segue.OUTCOME_RESTORED and "restored by" or "not restored by"
    print(words, segue.text(segue.receipt_get_app_name, receipt))
    running = false
  end)
  segue.activity_set_delegate(activity, delegate)
  segue.activity_set_title(activity, "Shopping list", Z)
  local writer = segue.out("segue_writer *", segue.writer_create)
  segue.writer_begin(writer, segue.KIND_DICTIONARY)
  segue.writer_put_string(writer, "line", Z)
  segue.writer_put_int64(writer, 12)
  segue.writer_end(writer)
  local info = segue.out("segue_value *", segue.writer_finish, writer)
  segue.activity_set_user_info(activity, info)
  segue.activity_become_current(activity)
  print "offering"
else
  local delegate = segue.out("segue_app_delegate *", segue.app_delegate_create, nil, nil)
  segue.app_delegate_on_offer(delegate, function(_, _, event, offer)
    if event == segue.OFFER_APPEARED then segue.app_continue(app, offer, 0, nil) end
  end)
  segue.app_delegate_on_did_fail(delegate, function(_, _, _, _, failure)
    print("not continued:", segue.text(segue.error_get_message, failure))
    running = false
  end)
  segue.app_delegate_on_continue(delegate, function(_, _, activity)
    local info = segue.out("segue_value *", segue.activity_get_user_info, activity)
    local state = info ~= nil and segue.text(segue.value_describe, info) or "without a state"
    print(segue.text(segue.activity_get_title, activity) or "without a title", state)
    segue.release(info)
    running = false
    return segue.REPLY_YES
  end)
  segue.app_set_delegate(app, delegate)
  segue.app_open(app)
end
io.flush()

while running do segue.app_dispatch(app, -1, nil) end
segue.app_close(app)
