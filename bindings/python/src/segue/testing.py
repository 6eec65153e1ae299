# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The virtual fleet: any number of devices in one process, for tests.

    import segue.testing

It is in a library of its own, `libsegue-fleet.so.0`, which has everything else, too. Importing this module loads it in
place of `libsegue.so.0`, so it comes before anything calls the library; later it raises `LibraryError`. The plugin of
pytest loads it by itself.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Awaitable, Callable, Sequence
from ctypes import byref
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from . import _arguments, _native, _table
from ._app import App
from ._native import library
from ._unique import shown

if TYPE_CHECKING:
    from _typeshed import StrOrBytesPath

_native.load_fleet()

__all__ = ["Fleet", "FleetDevice"]

_A = TypeVar("_A", bound=App)
_T = TypeVar("_T")
_DAY_MS = 86_400_000
_MOST_DELAY_MS = 10_000
_LOOK = 0.02
"""Real seconds after which a fleet that waits for other threads looks whether what it waits for is there."""
_TURNS = 8
"""Turns of the loop between two steps of a fleet: enough for a handler to answer."""


class Fleet(_native.Handle):
    """Virtual devices with their own clock and network, which advance only when you call them (R11.1).

        with segue.testing.Fleet(seed=7) as fleet:
            phone, laptop = fleet.add_device("phone"), fleet.add_device("laptop")
            editor = phone.add_app("com.example.notes", types=["com.example.notes.editing"])
            viewer = laptop.add_app("com.example.notes", types=["com.example.notes.editing"])
            segue.Activity(editor, title="Shopping list").become_current()
            fleet.run()
            assert [offer.title for offer in viewer.offers] == ["Shopping list"]

    Callbacks run inside `step`, `run` and `advance`, which raise what they raise. The same seed and the same calls give
    the same `trace`. Leaving the `with` block closes the apps and calls `check`.
    """

    def __init__(self, seed: int = 0):
        """seed: 0...2^64-1; all randomness comes from it."""
        self._seed = seed = _arguments.integer(seed, 0, (1 << 64) - 1, "seed")
        self._apps: list[App] = []
        self._failures: list[BaseException] = []
        self._programs: list[_native.Kept] = []
        super().__init__(_native.created(library.segue_fleet_create, seed))

    @property
    def seed(self) -> int:
        """The seed with which the fleet was created."""
        return self._seed

    def add_device(self, name: str) -> FleetDevice:
        """Adds a device that runs no app, linked with all others (but see `set_linking`)."""
        data = _arguments.text(name, "name")
        handle = _native.created(library.segue_fleet_add_device, self._handle, data, len(data))
        return FleetDevice(self, name, handle)

    # ---- the network ----

    def set_linking(self, all: bool) -> None:
        """Sets whether devices added from now on are linked with all existing ones. False: for a star, say."""
        library.segue_fleet_set_linking(self._handle, _arguments.truth(all, "all"))

    def set_network(
        self,
        *,
        delay: tuple[float, float] = (0.005, 0.02),
        loss: float = 0.0,
        duplication: float = 0.0,
        reordering: float = 0.0,
    ) -> None:
        """Sets how bytes travel between devices.

        delay: the least and the most, in seconds
        loss, duplication, reordering: probabilities of 0...1; they cost time, since bytes travel as over TCP
        """
        if not isinstance(delay, Sequence) or len(delay) != 2:
            raise _arguments.wrong("delay", delay, "two numbers")
        least, most = (_arguments.milliseconds(each, "delay", _MOST_DELAY_MS) for each in delay)
        faults = {"loss": loss, "duplication": duplication, "reordering": reordering}
        probabilities = [_arguments.number(value, name) for name, value in faults.items()]
        library.segue_fleet_set_delay(self._handle, least, most)
        library.segue_fleet_set_faults(self._handle, *probabilities)

    def partition(self, device: FleetDevice, other: FleetDevice | None = None) -> None:
        """Drops everything between the two devices, without notice to either. None: all other devices."""
        far = None if other is None else _arguments.instance(other, FleetDevice, "other")._handle
        library.segue_fleet_device_partition(_arguments.instance(device, FleetDevice, "device")._handle, far)

    def heal(self) -> None:
        """Ends all partitions."""
        library.segue_fleet_heal(self._handle)

    def link(self, device: FleetDevice, other: FleetDevice) -> None:
        """Links two devices; with `set_linking(True)` that is done automatically."""
        self._link(device, other, True)

    def unlink(self, device: FleetDevice, other: FleetDevice) -> None:
        """Removes a link, which both devices notice."""
        self._link(device, other, False)

    def _link(self, device: FleetDevice, other: FleetDevice, linked: bool) -> None:
        near, far = (
            _arguments.instance(each, FleetDevice, name)._handle
            for each, name in ((device, "device"), (other, "other"))
        )
        library.segue_fleet_device_set_linked(near, far, linked)

    # ---- time ----

    @property
    def time(self) -> float:
        """Seconds since the fleet was created, in its own time."""
        return _native.take_uint64(library.segue_fleet_get_time_ms, self._handle) / 1000

    def step(self) -> bool:
        """Executes the next event, and sets the clock to its time.

        Returns False if nothing is left to happen but pings between linked devices, which repeat for ever.
        """
        stepped = _table.Bool()
        library.segue_fleet_step(self._handle, byref(stepped))
        self._moved()
        return stepped.value

    def run(self) -> int:
        """Steps until nothing is in progress; returns the number of steps. Timers do not count as progress."""
        steps = _table.Size()
        library.segue_fleet_run(self._handle, byref(steps))
        self._moved()
        return steps.value

    def advance(self, seconds: float) -> int:
        """Steps until that many seconds of the fleet's time have passed; returns the number of steps."""
        steps = _table.Size()
        library.segue_fleet_advance(self._handle, _arguments.milliseconds(seconds, "seconds", _DAY_MS), byref(steps))
        self._moved()
        return steps.value

    def wait(self, seconds: float) -> bool:
        """Waits, in real time, until another thread has answered, called or written, so that there is work again.

        False: the time is up.
        """
        busy = _table.Bool()
        library.segue_fleet_wait(self._handle, _arguments.milliseconds(seconds, "seconds", _DAY_MS), byref(busy))
        return busy.value

    async def until(self, awaitable: Awaitable[_T], timeout: float = 120.0, patience: float = 0.0) -> _T:
        """Awaits something while the fleet advances, for async handlers: `await fleet.until(app.continue_(offer))`.

        timeout: seconds of the fleet; the default is longer than the 90 s after which a dead device breaks streams
        patience: real seconds to wait for other threads; the fleet's time stands still meanwhile

        Raises: TimeoutError if there is no result after `timeout` seconds of the fleet.
        """
        task = asyncio.ensure_future(awaitable)
        end = self.time + timeout
        try:
            while True:
                for _ in range(_TURNS):
                    await asyncio.sleep(0)
                if task.done():
                    return task.result()
                if patience > 0 and not self.wait(0):
                    began = time.monotonic()
                    look = min(patience, _LOOK)
                    await asyncio.get_running_loop().run_in_executor(None, self.wait, look)
                    patience -= time.monotonic() - began
                    continue
                if self.time >= end:
                    raise TimeoutError(f"no result within {timeout} seconds of the fleet")
                if not self.step():
                    raise TimeoutError("no result, and nothing is left that could happen in the fleet")
        finally:
            task.cancel()

    # ---- processes ----

    def kill(self, app: App) -> None:
        """Kills the process of an app: no callback runs, no goodbye is sent."""
        library.segue_fleet_kill_app(self._handle, _arguments.instance(app, App, "app")._handle)
        self._died(app)

    def stop(self, app: App) -> None:
        """Stops the process of an app, as SIGSTOP does, until `resume`."""
        library.segue_fleet_set_app_stopped(self._handle, _arguments.instance(app, App, "app")._handle, True)

    def resume(self, app: App) -> None:
        """Continues a stopped process."""
        library.segue_fleet_set_app_stopped(self._handle, _arguments.instance(app, App, "app")._handle, False)

    # ---- what happened ----

    @property
    def trace(self) -> str:
        """The trace, one line per event: seconds, device/app, what happened."""
        return _native.take_text(library.segue_fleet_get_trace, self._handle) or ""

    @property
    def trace_hash(self) -> int:
        """FNV-1a, 64 bits, of the trace: to compare two runs."""
        return _native.take_uint64(library.segue_fleet_get_trace_hash, self._handle)

    @property
    def violation(self) -> str | None:
        """The first violated invariant of the library, a bug of Segue: please report it. None if there is none."""
        return _native.take_text(library.segue_fleet_check, self._handle)

    def check(self) -> None:
        """Raises AssertionError if there is a `violation`."""
        violation = self.violation
        if violation is not None:
            raise AssertionError(f"{violation}\n{self.trace}")

    def play(self, devices: int = 5, apps: int = 10, events: int = 200) -> None:
        """Fills a fleet that has no devices with a random workload from its seed: how the library tests itself."""
        counts = {"devices": devices, "apps": apps, "events": events}
        sizes = [_arguments.integer(count, 0, 1 << 32, name) for name, count in counts.items()]
        library.segue_fleet_play(self._handle, *sizes)

    # ---- its end ----

    def close(self) -> None:
        """Closes the apps; agents launch none from now on. A second call has no effect.

        Raises the first error of an app; all others are closed nevertheless, and later errors are reported. Inside a
        callback of an app that one stays open (BusyError), to be closed by another call.
        """
        # A function that opens an app may hold the fleet.
        for program in self._programs:
            program.target = None
        self._programs = []
        first: BaseException | None = None
        for app in list(self._apps):
            try:
                app.close()
            except BaseException as error:
                if first is None:
                    first = error
                else:
                    app._report(error)
        if first is not None:
            raise first

    def __enter__(self) -> Fleet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
        if error is None:
            self.check()

    def _moved(self) -> None:
        """Callbacks may have run."""
        _native.release_deferred()
        if self._failures:
            failures, self._failures = self._failures, []
            raise failures[0]
        for app in list(self._apps):
            app._raise_failure()

    def _died(self, app: App) -> None:
        if app in self._apps:
            self._apps.remove(app)
        app._died()

    def __repr__(self) -> str:
        return shown(self, lambda: f"seed={self.seed} at {self.time:.3f} s, {len(self._apps)} apps", __name__)


class FleetDevice(_native.Handle):
    """A device of a fleet: `fleet.add_device("phone")`."""

    _noun = "fleet_device"
    """By this, `App` recognises a device."""

    def __init__(self, fleet: Fleet, name: str, handle: int):
        self._fleet = fleet
        self._name = name
        super().__init__(handle)

    @property
    def fleet(self) -> Fleet:
        """The fleet that the device belongs to."""
        return self._fleet

    @property
    def name(self) -> str:
        """The name that the device was added with."""
        return self._name

    @overload
    def add_app(self, bundle_identifier: str, **options: Any) -> App: ...
    @overload
    def add_app(self, bundle_identifier: str, kind: type[_A], **options: Any) -> _A: ...
    def add_app(self, bundle_identifier: str, kind: type[App] = App, **options: Any) -> App:
        """Creates and opens an app in a process of its own; the fleet closes it.

        kind: App, or your subclass of it; called as `kind(bundle_identifier, device=self, **options)`. One that sets
            its identifier itself takes `device` and passes it to `App.__init__`: then `app = Notes(device=phone)`,
            `app.open()` do the same as this
        options: those of `App`, or of your subclass
        """
        app = kind(bundle_identifier, device=self, **options)
        app.open()
        return app

    def start_agent(self) -> None:
        """Starts the agent of the device: what needs one works from now on for the apps of the device.

        That is what waits for apps, what apps have left, search, accounts, joining with digits, pushes. All that
        decides in the agent is what ships. Its databases stay when it ends, and when the device crashes. A call that
        asks it advances the fleet until it answers.

        Raises: InvalidStateError if the device is down, or has an agent.
        """
        library.segue_fleet_device_start_agent(self._handle)

    def end_agent(self, *, kill: bool = False) -> None:
        """Ends the agent.

        kill: as SIGKILL does, in place of in order
        Raises: InvalidStateError if the device has no agent.
        """
        library.segue_fleet_device_end_agent(self._handle, _arguments.truth(kill, "kill"))

    def install(self, manifest: StrOrBytesPath, launch: Callable[[], object] | None = None) -> None:
        """Installs an app: the agent of the device knows its manifest (R6.1), and can start it.

        manifest: the path of the manifest: a property list, or a `.desktop` file with keys of Segue's
        launch: called without arguments when an agent starts the app, to open it by `add_app`; it runs where callbacks
            run, and what it raises is raised there. None: the app cannot be started
        """
        path = _arguments.path(manifest, "manifest")
        if launch is None:
            library.segue_fleet_device_install_app(self._handle, path, len(path), _table.LAUNCH(), 0, _table.DESTROY())
            return
        if not callable(launch):
            raise _arguments.wrong("launch", launch, "a function")
        context = _native.new_context(weakref.ref(self))
        self._fleet._programs.append(_native.keep_context(context, _Program(self._fleet, launch)))
        library.segue_fleet_device_install_app(self._handle, path, len(path), _launch, context, _native.destroy)

    def uninstall(self, bundle_identifier: str) -> None:
        """Uninstalls an app; one that runs goes on. Raises: NotFoundError."""
        data = _arguments.text(bundle_identifier, "bundle_identifier")
        library.segue_fleet_device_uninstall_app(self._handle, data, len(data))

    def crash(self) -> None:
        """Cuts the power: apps are closed without a callback, the agent dies, other devices get only silence."""
        library.segue_fleet_device_crash(self._handle)
        for app in [app for app in self.fleet._apps if app.device is self]:
            self.fleet._died(app)

    def restart(self) -> None:
        """Restores the power; no app and no agent runs yet."""
        library.segue_fleet_device_restart(self._handle)

    def __repr__(self) -> str:
        return shown(self, lambda: repr(self.name), __name__)


class _Program:
    """An app that an agent of a fleet can start."""

    def __init__(self, fleet: Fleet, launch: Callable[[], object]):
        self._fleet = fleet
        self.launch = launch

    def _failed(self, error: BaseException) -> None:
        self._fleet._failures.append(error)


@_native.trampoline(_table.LAUNCH)
def _launch(program: _Program) -> None:
    program.launch()
