-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
-- For the tests: two apps in one process, one continues what the other does.
local segue = require "segue"
local Z = segue.NUL_TERMINATED
local pair = { Z = Z, reports = {} }
local TYPE = "com.example.notes.editing"

function segue.report(message) pair.reports[#pair.reports + 1] = message end

-- Opens an app with these callbacks, by name: {on_continue = function ... end}.
function pair.app(callbacks)
  local app = segue.out("segue_app *", segue.app_create, "com.example.notes", Z)
  segue.app_add_activity_type(app, TYPE, Z)
  local delegate = segue.out("segue_app_delegate *", segue.app_delegate_create, nil, nil)
  for name, callback in pairs(callbacks) do segue["app_delegate_" .. name](delegate, callback) end
  segue.app_set_delegate(app, delegate)
  segue.app_open(app)
  return app
end

-- Makes an activity current, with these callbacks and a state of one line.
function pair.activity(app, callbacks)
  local activity = segue.out("segue_activity *", segue.activity_create, app, TYPE, Z)
  local delegate = segue.out("segue_activity_delegate *", segue.activity_delegate_create, "notes", nil)
  for name, callback in pairs(callbacks) do segue["activity_delegate_" .. name](delegate, callback) end
  segue.activity_set_delegate(activity, delegate)
  segue.activity_set_supports_continuation_streams(activity, true)
  pair.set_state(activity, "first")
  segue.activity_become_current(activity)
  return activity
end

function pair.set_state(activity, line)
  local writer = segue.out("segue_writer *", segue.writer_create)
  segue.writer_begin(writer, segue.KIND_DICTIONARY)
  segue.writer_put_string(writer, "line", Z)
  segue.writer_put_string(writer, line, #line)
  segue.writer_end(writer)
  segue.activity_set_user_info(activity, segue.out("segue_value *", segue.writer_finish, writer))
end

-- Lets the apps work until a condition holds.
function pair.wait(apps, condition)
  local deadline = os.time() + 15
  while not condition() do
    assert(os.time() < deadline, "it did not come: " .. table.concat(pair.reports, "; "))
    for _, app in ipairs(apps) do segue.app_dispatch(app, 5, nil) end
  end
end

-- One continuation. Returns its receipt: outcome, reason, stale; and what did_fail got. callbacks: activity, app.
function pair.continue(callbacks)
  local receipt, failure
  callbacks.activity = callbacks.activity or {}
  callbacks.activity.on_continuation_ended = function(context, _, given)
    assert(context == "notes")
    receipt = {
      outcome = segue.out("segue_outcome", segue.receipt_get_outcome, given),
      reason = segue.text(segue.receipt_get_reason, given),
      stale = segue.out("bool", segue.receipt_get_stale, given),
    }
  end
  callbacks.app.on_did_fail = function(_, _, _, _, error) failure = segue.text(segue.error_get_message, error) end
  callbacks.app.on_offer = function(_, app, event, offer)
    if event == segue.OFFER_APPEARED then segue.app_continue(app, offer, 0, nil) end
  end
  pair.origin = pair.app {}
  local activity = pair.activity(pair.origin, callbacks.activity)
  pair.receiver = pair.app(callbacks.app)
  pair.wait({ pair.origin, pair.receiver }, function() return receipt end)
  return receipt, failure, activity
end

return pair
