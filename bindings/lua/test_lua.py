# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Lua module: the example hands off to itself; no error, and nothing that is forgotten, ends the host."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from project import FLEET_LIBRARY, LIBRARY, ROOT, run

HERE = Path(__file__).resolve().parent
EXAMPLE = str(HERE / "example.lua")
PATIENCE = 30
HOSTS = {
    "luajit": lambda script: ["luajit", script],
    "nvim": lambda script: ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c", f"luafile {script}", "-c", "qa!"],
}
"""The programs that have LuaJIT inside, by name. Neovim is one of them where it is installed."""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a program in a runtime folder of its own, with the library that was built."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="segue-"))

        def start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
            program = subprocess.Popen(
                arguments,
                env={**os.environ, "SEGUE_RUNTIME_DIR": folder, "SEGUE_LIBRARY": str(LIBRARY), **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.callback(program.communicate)
            stack.callback(program.kill)
            return program

        yield start


@pytest.fixture(params=[name for name in HOSTS if shutil.which(name)])
def lua(request: pytest.FixtureRequest, start: Start, tmp_path: Path) -> Callable[[str], str]:
    """Runs a script in a host, and returns what it has printed. The host lives on: it ends well."""

    def script(text: str) -> str:
        path = tmp_path / "script.lua"
        known = f'package.path = "{HERE}/?.lua;" .. package.path\nlocal segue = require "segue"\n'
        # Neovim prints to standard error, and ends its lines otherwise; io.write is the same in both.
        path.write_text(known + text + '\nio.write("alive\\n")')
        program = start(*HOSTS[request.param](str(path)))
        output, errors = program.communicate(timeout=PATIENCE)
        assert program.returncode == 0, errors
        assert errors == ""
        assert output.endswith("alive\n")
        return output.removesuffix("alive\n")

    return script


def lua_error(lua: Callable[[str], str], call: str) -> str:
    """Runs a call that fails, in the third line of a script, and returns the error."""
    return lua(f"local _, message = pcall(function() {call} end) io.write(tostring(message))")


def test_an_app_in_lua_continues_what_another_does(start):
    origin, receiver = start("luajit", EXAMPLE, "offer"), start("luajit", EXAMPLE, "continue")
    assert receiver.communicate(timeout=PATIENCE) == ('Shopping list\t{"line": 12}\n', "")
    assert origin.communicate(timeout=PATIENCE) == ("offering\nrestored by\tNotes in Lua\n", "")
    assert (origin.returncode, receiver.returncode) == (0, 0)


def test_the_example_continues_an_offer_without_title_and_state(start, lua):
    receiver = start("luajit", EXAMPLE, "continue")
    lua("""
        local Z, ended = segue.NUL_TERMINATED, false
        local app = segue.out("segue_app *", segue.app_create, "com.example.notes", Z)
        segue.app_open(app)
        local activity = segue.out("segue_activity *", segue.activity_create, app, "com.example.notes.editing", Z)
        local delegate = segue.out("segue_activity_delegate *", segue.activity_delegate_create, nil, nil)
        segue.activity_delegate_on_continuation_ended(delegate, function() ended = true end)
        segue.activity_set_delegate(activity, delegate)
        segue.activity_become_current(activity)
        while not ended do segue.app_dispatch(app, -1, nil) end""")
    assert receiver.communicate(timeout=PATIENCE) == ("without a title\twithout a state\n", "")
    assert receiver.returncode == 0


def test_a_save_that_breaks_is_a_failed_save(lua):
    """Both sides are told that it failed, and the host reads the error."""
    output = lua("""
        local pair = require "pair"
        segue.limit_set(segue.LIMIT_USER_INFO, 1024)
        local receipt, failure = pair.continue {
          activity = { on_will_save = function(_, activity) pair.set_state(activity, ("x"):rep(2000)) end }, app = {} }
        io.write(tostring(receipt.outcome == segue.OUTCOME_FAILED), "\\n", failure, "\\n", receipt.reason, "\\n",
          pair.reports[1])""")
    failed, failure, reason, report = output.split("\n", 3)
    assert failed == "true"
    assert failure == reason
    assert failure.startswith("the origin could not save: segue.activity_set_user_info: USER_INFO_TOO_LARGE: ")
    assert "script.lua" not in failure, "the path is not for another device"
    assert report.startswith("activity_delegate_on_will_save: ")
    assert "segue.activity_set_user_info: USER_INFO_TOO_LARGE: " in report
    assert "script.lua:6: in main chunk" in report  # the stack, to its end


def test_after_a_save_that_breaks_the_former_state_is_handed_over(lua):
    assert lua("""
        local pair, saves, state, why = require "pair", 0, nil, nil
        local receipt = pair.continue {
          activity = { on_will_save = function()
            saves = saves + 1
            if saves > 1 then error "disk full" end
          end },
          app = { on_continue = function(_, _, activity)
            local info = segue.out("segue_value *", segue.activity_get_user_info, activity)
            state = segue.text(segue.value_describe, info)
          end } }
        io.write(tostring(receipt.stale), state)
        segue.app_close(pair.receiver)
        receipt, state = nil, nil
        local app = pair.app {
          on_offer = function(_, app, _, offer) segue.app_continue(app, offer, 0, nil) end,
          on_continue = function(_, _, activity)
            local info = segue.out("segue_value *", segue.activity_get_user_info, activity)
            local from = segue.out("segue_value *", segue.activity_get_continued_from, activity)
            why = segue.text(segue.value_find_string, from, "stale_reason", pair.Z)
            state = segue.text(segue.value_describe, info)
          end }
        pair.wait({ pair.origin, app }, function() return state end)
        io.write(" ", state, " ", why, " ", pair.reports[1])
        """).startswith(
        'false{"line": "first"} {"line": "first"} the origin could not save: disk full activity_delegate_on_will_save: '
    )


@pytest.mark.parametrize(
    "thrown, reason",
    [
        ('error "no window"', "no window"),
        ("local window = nil; window.show()", "attempt to index local 'window' (a nil value)"),
        ("error({})", "an error without a text"),
        ("error(print)", "an error without a text"),
        ("error(io.stdin)", "an error without a text"),
        ("error(require 'ffi'.new 'char[1]')", "an error without a text"),
        ("error(setmetatable({}, {__tostring = function() return 'no window' end}))", "no window"),
        ("error(setmetatable({}, {__tostring = function() error(1) end}))", "an error without a text"),
        ("coroutine.yield()", "attempt to yield across C-call boundary"),
        ('return "yes"', "it gave a string, not REPLY_YES, REPLY_NO or REPLY_LATER"),
        ("return 3", "it gave a number, not REPLY_YES, REPLY_NO or REPLY_LATER"),
        ("return segue.REPLY_NOT", "segue.REPLY_NOT: there is no such function or constant"),
    ],
)
def test_a_continue_that_breaks_is_a_failed_continuation(lua, thrown, reason):
    """The origin reads the message, without the path of the file."""
    output = lua(f"""
        local receipt, failure = require "pair".continue {{ app = {{ on_continue = function() {thrown} end }} }}
        io.write(tostring(receipt.outcome == segue.OUTCOME_FAILED), " ", receipt.reason)""")
    assert output.startswith(f"true {reason}")
    assert "script.lua" not in output


def test_callbacks_that_forget_their_return_have_answered_yes(lua):
    assert (
        lua("""
        local pair = require "pair"
        local receipt = pair.continue {
          activity = { on_will_save = function(_, activity) pair.set_state(activity, "second") end },
          app = { on_will_continue = function() end, on_continue = function(_, _, _, continuation)
            local restorable = segue.out("segue_restorable *", segue.restorable_create, function() end, nil, nil)
            segue.continuation_restore(continuation, require "ffi".new("segue_restorable *[1]", restorable), 1)
          end } }
        assert(#pair.reports == 0)
        io.write(tostring(receipt.outcome == segue.OUTCOME_RESTORED), " ", tostring(receipt.stale))""")
        == "true false"
    )


RESUME_BACK = """
    local pair = require "pair"
    local Z, kept, told, ended = pair.Z, nil, nil, false
    local _, _, activity = pair.continue {
      activity = { on_will_resume_back = function(_, _, changed) told = changed HANDLER end },
      app = { on_continue = function(_, _, continued)
        segue.retain(continued)
        kept = continued
      end } }
    segue.activity_set_title(kept, "there", Z)
    CHANGE
    segue.out("segue_request *", segue.activity_resume_back, activity, 0, function() ended = true end, nil, nil)
    pair.wait({ pair.origin, pair.receiver }, function() return ended end)
    io.write(tostring(told), " ", tostring(segue.text(segue.activity_get_title, activity)))"""


@pytest.mark.parametrize(("handler", "title"), [("", "here"), ("return true", "there"), ("return false", "here")])
def test_a_change_is_replaced_only_if_the_handler_says_so(lua, handler, title):
    """R3.10: a handler that forgets its return keeps unsaved changes."""
    assert (
        lua(RESUME_BACK.replace("CHANGE", "segue.activity_set_title(activity, 'here', Z)").replace("HANDLER", handler))
        == f"true {title}"
    )


@pytest.mark.parametrize(("handler", "title"), [("", "there"), ("return false", "nil")])
def test_what_is_unchanged_is_replaced_unless_the_handler_says_no(lua, handler, title):
    assert lua(RESUME_BACK.replace("CHANGE", "").replace("HANDLER", handler)) == f"false {title}"


def test_false_and_an_object_that_breaks_are_not_restored(lua):
    assert (
        lua("""
        local pair = require "pair"
        local receipt = pair.continue { app = { on_continue = function() return false end } }
        io.write(tostring(receipt.outcome == segue.OUTCOME_DECLINED))
        segue.app_close(pair.origin)
        segue.app_close(pair.receiver)
        receipt = pair.continue { app = { on_continue = function(_, _, _, continuation)
          local broken = segue.out("segue_restorable *", segue.restorable_create, function() error "x" end, nil, nil)
          segue.continuation_restore(continuation, require "ffi".new("segue_restorable *[1]", broken), 1)
        end } }
        io.write(" ", tostring(receipt.outcome == segue.OUTCOME_FAILED))""")
        == "true true"
    )


def test_a_request_whose_handler_breaks_is_refused(lua):
    assert lua("""
        local pair, kept, refused = require "pair", nil, nil
        pair.continue {
          activity = { on_request = function() error "no such note" end },
          app = { on_continue = function(_, _, activity) segue.retain(activity) kept = activity end } }
        segue.activity_request(kept, "ask", 3, 0, function(context, _, _, _, failure)
          refused = context .. ": " .. segue.text(segue.error_get_message, failure)
        end, "asked", nil, nil)
        pair.wait({ pair.origin, pair.receiver }, function() return refused end)
        io.write(refused)""").startswith("asked: no such note")


def test_a_stream_whose_handler_breaks_is_aborted(lua):
    assert (
        lua("""
        local pair, ffi, kept, got, result = require "pair", require "ffi", nil, nil, nil
        ffi.cdef "ptrdiff_t recv(int, void *, size_t, int);"
        local fds, byte, DONTWAIT = ffi.new "int[2]", ffi.new "char[1]", 64
        pair.continue {
          activity = { on_did_receive_stream = function(_, _, stream)
            segue.retain(stream)
            segue.stream_open(stream, fds)
            error "no room"
          end },
          app = { on_continue = function(_, _, activity) segue.retain(activity) kept = activity end } }
        segue.activity_ask_stream(kept, 0, function(_, _, stream)
          segue.retain(stream)
          segue.stream_open(stream, fds + 1)
          got = stream
        end, nil, nil)
        local apps = { pair.origin, pair.receiver }
        pair.wait(apps, function() return got and ffi.C.recv(fds[1], byte, 1, DONTWAIT) == 0 end)
        segue.stream_ask_result(got, function(_, _, given) result = given end, nil, nil)
        pair.wait(apps, function() return result end)
        io.write(tostring(result == segue.STREAM_ABORTED))""")
        == "true"
    )


def test_the_loop_of_the_host_calls_back(lua):
    """In Neovim its own loop, as README.md shows."""
    assert (
        lua("""
        local pair, restored = require "pair", false
        local apps = {
          pair.app {},
          pair.app { on_offer = function(_, app, event, offer)
            if event == segue.OFFER_APPEARED then segue.app_continue(app, offer, 0, nil) end
          end, on_continue = function() end },
        }
        pair.activity(apps[1], { on_was_continued = function() restored = true end })
        if vim then
          for _, app in ipairs(apps) do
            local poll = vim.loop.new_poll(segue.out("int", segue.app_fd, app))
            local function watch()
              poll:start("r", function()
                poll:stop()
                vim.schedule(function()
                  segue.app_dispatch(app, 0, nil)
                  watch()
                end)
              end)
            end
            watch()
          end
          vim.wait(15000, function() return restored end, 5)
        else
          pair.wait(apps, function() return restored end)
        end
        io.write(tostring(restored))""")
        == "true"
    )


def test_a_report_that_breaks_breaks_nothing_else(lua):
    assert (
        lua("""
        local pair = require "pair"
        segue.report = function() error "no terminal" end
        local receipt = pair.continue { app = { on_continue = function() error "x" end } }
        io.write(receipt.reason)""")
        == "x"
    )


def test_a_host_without_a_report_lives_on(lua):
    assert (
        lua("""
        local pair = require "pair"
        segue.report = nil
        local receipt = pair.continue { app = { on_continue = function() error "x" end } }
        local reported
        segue.report = function(message) reported = message end
        pair.continue { app = { on_continue = function() error "y" end } }
        io.write(receipt.reason, " ", reported:match "y")""")
        == "x y"
    )


def test_what_other_threads_would_run_is_refused(lua):
    assert "segue.log_set: function: other threads would run" in lua_error(
        lua, "segue.log_set(segue.LOG_DEBUG, print, nil, nil)"
    )
    app = 'local app = segue.out("segue_app *", segue.app_create, "com.example", segue.NUL_TERMINATED) '
    assert "segue.app_set_delivery: delivery: another thread would run" in lua_error(
        lua, app + "segue.app_set_delivery(app, segue.DELIVER_THREAD)"
    )
    for host in ("segue.DELIVER_HOST", "0ULL", "0.5"):
        assert lua_error(lua, app + f"segue.app_set_delivery(app, {host})") == "nil"
    for other in ("true", "1.5", "2", "4294967297", "4294967297ULL", "-4294967295", 'require "ffi".new("bool", true)'):
        said = lua_error(lua, app + f"segue.app_set_delivery(app, {other})")
        assert "segue.app_set_delivery: delivery: another thread would run" in said, other
    for wrong in ("nil", "{}", '"1"'):
        assert "segue.app_set_delivery: delivery: " in lua_error(lua, app + f"segue.app_set_delivery(app, {wrong})")
    assert "segue.app_delegate_create: destroy: other threads would run" in lua_error(
        lua, "segue.app_delegate_create(nil, print, nil)"
    )


def test_functions_of_c_are_taken(lua):
    assert lua_error(lua, "segue.log_set(segue.LOG_DEBUG, nil, nil, nil)") == "nil"
    assert (
        lua_error(
            lua,
            'local ffi = require "ffi"; ffi.cdef "void abort(void);" '
            'local delegate = segue.out("segue_app_delegate *", segue.app_delegate_create, nil, nil) '
            'segue.app_delegate_on_did_fail(delegate, ffi.cast("segue_did_fail_function", ffi.C.abort))',
        )
        == "nil"
    )


def test_the_loops_of_the_host_are_compiled(lua):
    assert (
        lua("""
        local sum = 0
        for i = 1, 1000 do sum = sum + i end
        io.write(tostring(jit.status()), " ", type(require "jit.util".traceinfo(1)))""")
        == "true table"
    )


@pytest.mark.parametrize(
    "call, message",
    [
        ("segue.app_open(nil)", "segue.app_open: INVALID_HANDLE: app: is NULL"),
        ("segue.app_open()", "segue.app_open: 0 arguments instead of 1: (app)"),
        ("segue.app_open('x')", "segue.app_open: app: cannot convert 'string' to 'struct segue_app *'"),
        ("segue.app_create('x', 'y', nil)", "segue.app_create: length: cannot convert 'string' to 'uint64_t'"),
        ("local reply = segue.REPLY_NOT", "segue.REPLY_NOT: there is no such function or constant"),
        ("segue.app_opne(nil)", "segue.app_opne: there is no such function or constant"),
        ("segue.reprot = print", "segue.reprot: cannot be assigned: only report can"),
        ("segue[1] = print", "segue.1: cannot be assigned: only report can"),
        ("segue.activity_set_title(nil, 'abc', 4)", "segue.activity_set_title: title: has 3 bytes, not 4"),
        ("segue.activity_set_title(nil, 'abc', -2)", "segue.activity_set_title: title: has 3 bytes, not -2"),
        ("segue.writer_put_data(nil, 'abc', 40)", "segue.writer_put_data: data: has 3 bytes, not 40"),
        ("segue.writer_put_uuid(nil, 'abc')", "segue.writer_put_uuid: uuid: has 3 bytes, not 16"),
        ("segue.activity_set_title(nil, 'abc', 3)", "segue.activity_set_title: INVALID_HANDLE: activity: is NULL"),
        ("segue.app_create('abc', '3', nil)", "segue.app_create: length: cannot convert 'string' to 'uint64_t'"),
        (
            "segue.out('segue_app *', segue.app_create, '', 0)",
            "segue.app_create: INVALID_ARGUMENT: bundle_identifier: ",
        ),
        ("segue.out('nothing', segue.app_create, '', 0)", "segue.out: type: "),
        ("segue.text(segue.activity_get_title, nil)", "segue.activity_get_title: INVALID_HANDLE: activity: "),
        (
            "segue.out('bool', segue.value_is_equal, nil, nil)",
            "segue.value_is_equal: INVALID_HANDLE: value or other: is NULL",
        ),
        ("segue.retain(nil)", "segue.retain: INVALID_HANDLE: handle: is NULL"),
        ("segue.release(nil); segue.release('no handle')", "segue.release: INVALID_HANDLE: handle: never was one"),
        (
            "local writer = segue.out('segue_writer *', segue.writer_create); segue.release(writer); "
            "segue.release(writer)",
            "segue.release: INVALID_HANDLE: handle: was released, or never was a handle",
        ),
        (
            "segue.app_delegate_on_continue(segue.out('segue_app_delegate *', segue.app_delegate_create, nil, nil), 1)",
            "segue.app_delegate_on_continue: function: cannot convert 'number' to ",
        ),
    ],
)
def test_an_error_names_function_argument_and_the_line_of_the_caller(lua, call, message):
    error = lua_error(lua, call)
    place, _, rest = error.partition(": ")
    assert place.endswith("script.lua:3")
    assert rest.startswith(message)


def test_any_number_of_functions_is_taken_and_let_go_of(lua):
    """LuaJIT has room for about a thousand callbacks in a process."""
    count = lua("""
        local made, left = setmetatable({}, { __mode = "k" }), 0
        for _ = 1, 3000 do
          local function restore() return made end
          made[restore] = true
          segue.release(segue.out("segue_restorable *", segue.restorable_create, restore, nil, nil))
        end
        collectgarbage()
        for _ in pairs(made) do left = left + 1 end
        io.write(left)""")
    assert int(count) <= 128


@pytest.mark.parametrize(
    "call",
    [
        "segue.out('segue_restorable *', segue.restorable_create, made, {}, 1)",
        "segue.restorable_create(made, nil, nil, 'no output')",
        "segue.activity_delegate_on_will_save(delegate, made, 1)",
    ],
    ids=["destroy", "output", "arguments"],
)
def test_what_is_refused_before_the_call_is_let_go_of(lua, call):
    count = lua(f"""
        local delegate = segue.out("segue_activity_delegate *", segue.activity_delegate_create, nil, nil)
        local all, left = setmetatable({{}}, {{ __mode = "k" }}), 0
        for _ = 1, 300 do
          local made = function() return all end
          all[made] = true
          assert(not pcall(function() {call} end))
        end
        collectgarbage()
        for _ in pairs(all) do left = left + 1 end
        io.write(left)""")
    assert int(count) <= 1


FLEET = """
    local fleet = segue.out("segue_fleet *", segue.fleet_create, 7)
    segue.fleet_run(fleet, nil)
    io.write(tonumber(segue.out("uint64_t", segue.fleet_get_time_ms, fleet)) >= 0 and "moves ")
    segue.release(fleet)
    io.write "ended"
"""


def test_a_fleet_is_in_the_library_for_tests_alone(lua, monkeypatch):
    message = lua_error(lua, "segue.fleet_heal(nil)")
    assert message.endswith(
        f"segue.fleet_heal: {LIBRARY} has no virtual fleet: set SEGUE_LIBRARY to a path of libsegue-fleet.so.0"
    )
    monkeypatch.setattr(sys.modules[__name__], "LIBRARY", FLEET_LIBRARY)
    assert lua(FLEET) == "moves ended"


def test_the_module_can_be_loaded_again(lua):
    assert (
        lua("""
        package.loaded.segue = nil
        io.write(tostring(require "segue" ~= segue), tostring(segue.NO_DATE ~= segue.NO_DATE))""")
        == "truetrue"
    )


def test_an_installed_module_finds_table_and_library_by_itself(start, tmp_path):
    run("make", "-C", ROOT, "install", f"PREFIX={tmp_path}")
    script = """
        local segue = require "segue"
        io.write(segue.VERSION == segue.version() and "found", "\\n")
        for line in io.lines "/proc/self/maps" do
          local library = line:match "/.*libsegue.so.0"
          if library then io.write(library) break end
        end"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEGUE_")}
    program = subprocess.run(
        ["luajit", "-e", script],
        env={**environment, "LUA_PATH": f"{tmp_path}/share/lua/5.1/?.lua"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (program.stdout, program.stderr) == (f"found\n{tmp_path}/lib/libsegue.so.0", "")
    run("make", "-C", ROOT, "uninstall", f"PREFIX={tmp_path}")
    assert not list(tmp_path.rglob("segue.lua"))
