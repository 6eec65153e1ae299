# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shared library: loading, version check, calls, handles, and memory."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import weakref
from ctypes import byref, c_bool, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from weakref import WeakValueDictionary

from . import _table
from ._unique import Unique
from .errors import BusyError, Error, Status, error_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar
    from uuid import UUID

    _T = TypeVar("_T")
    _H = TypeVar("_H", bound="Handle")

SONAME = "libsegue.so.0"
FLEET_SONAME = "libsegue-fleet.so.0"
"""The library for tests: everything that the other one has, and the virtual fleet."""


class LibraryError(ImportError):
    """The library was not found, or does not match this package, or it is not the one with the virtual fleet."""

    def __init__(self, message: str):
        # With the name of the package, `python -m segue` shows the message and no traceback.
        super().__init__(message, name=__package__)


class Library:
    """The functions of the table, each bound on first use. Those that return a status raise it."""

    _dll: ctypes.CDLL
    path: str
    fleet_problem: str | None = None
    """Why the library for tests cannot be loaded in this process of tests."""

    def __init__(self) -> None:
        self._bindings: list[Callable[[], None]] = []

    def load(self, soname: str) -> None:
        """Loads the library of that name, in place of one that is not in use."""
        self._dll, self.path = _load(soname)
        for bind in self._bindings:
            bind()

    def load_fleet(self) -> bool:
        """Loads the library for tests if there is one; if not, `fleet_problem` says why."""
        try:
            self.load(FLEET_SONAME)
        except LibraryError as error:
            self.fleet_problem = str(error)
        return self.fleet_problem is None

    @property
    def has_fleet(self) -> bool:
        return hasattr(self._dll, "segue_fleet_create")

    @property
    def is_in_use(self) -> bool:
        """Whether functions were called that may have left something behind."""
        return any(name.startswith("segue_") for name in vars(self))

    def bind(self, bind: Callable[[], None]) -> None:
        """Calls a function that keeps functions of the library, now and whenever another library is loaded."""
        self._bindings.append(bind)
        bind()

    def __getattr__(self, name: str) -> Any:
        function = self._bind(name, _check)
        setattr(self, name, function)
        return function

    def unchecked(self, name: str) -> Any:
        """Returns a function whose status is returned, not raised."""
        return self._bind(name, _table.Status)

    def _bind(self, name: str, status_type: Any) -> Any:
        row = _ROWS.get(name)
        if row is None:
            raise AttributeError(name)
        arguments, result = row
        try:
            function = self._dll[name]
        except AttributeError as error:
            raise LibraryError(f"{self.path} has no {name}{_FLEET_ADVICE if 'fleet' in name else ''}") from error
        function.argtypes = arguments
        function.restype = status_type if result is _table.Status and name != "segue_last_error" else result
        return function


_FLEET_ADVICE = ": import segue.testing before anything calls the library"
_ROWS = {name: (arguments, result) for name, arguments, result in _table.FUNCTIONS}


def _check(status: int) -> int:
    if status:
        raise last_error(status)
    return status


def last_error(status: int) -> Error:
    """Returns the error of the last failing call of this thread."""
    buffer = ctypes.create_string_buffer(_table.MESSAGE_SIZE)
    library.segue_last_error(buffer, _table.MESSAGE_SIZE)
    return error_of(status, buffer.value.decode("utf-8", "replace"))


def _load(soname: str) -> tuple[ctypes.CDLL, str]:
    """Loads SEGUE_LIBRARY if it is set, else the library of the package, else the system's. The library for tests
    stands beside SEGUE_LIBRARY."""
    packaged = os.path.join(os.path.dirname(__file__), soname)
    named = os.environ.get("SEGUE_LIBRARY")
    where, advice = f"{packaged} and the system's libraries", f"install it, or set SEGUE_LIBRARY to a path of {SONAME}"
    if not named:
        path = packaged if os.path.exists(packaged) else soname
    elif soname == SONAME:
        path, where = named, "SEGUE_LIBRARY"
        advice = f"unset SEGUE_LIBRARY, or set it to a path of {SONAME}"
    else:
        path, where = os.path.join(os.path.dirname(named), soname), "the folder of SEGUE_LIBRARY"
        advice = f"put {soname} there, or unset SEGUE_LIBRARY"
    try:
        dll = ctypes.CDLL(path)
        version = _version(dll, path)
    except (OSError, LibraryError) as error:
        raise LibraryError(f"cannot load {soname} (looked in {where}): {error}; {advice}") from error
    if "/" not in path:
        path = _found_path(dll) or path
    # Before 1.0 the interface may change with each minor version (segue.h, VERSIONS).
    if version >> 8 != _table.VERSION >> 8:
        found_version, wanted = version_text(version), version_text(_table.VERSION)
        raise LibraryError(f"{path} has version {found_version}, wanted is {wanted}; {advice}")
    return dll, path


class _Place(ctypes.Structure):
    """The library of an address: `Dl_info` of dlfcn.h."""

    _fields_ = [("path", c_char_p), ("base", c_void_p), ("symbol", c_char_p), ("address", c_void_p)]


def _found_path(dll: ctypes.CDLL) -> str | None:
    """Returns the path at which the loader has found a library; None: it does not say."""
    place = _Place()
    try:
        is_known = ctypes.CDLL(None).dladdr(ctypes.cast(dll.segue_version, c_void_p), byref(place))
    except (OSError, AttributeError):
        return None
    return os.fsdecode(place.path) if is_known and place.path else None


def _version(dll: ctypes.CDLL, path: str) -> int:
    try:
        function = dll.segue_version
    except AttributeError as error:
        raise LibraryError(f"{path} has no segue_version") from error
    function.restype = c_uint32
    version: int = function()
    return version


def version_text(version: int) -> str:
    return f"{version >> 16}.{version >> 8 & 255}.{version & 255}"


def library_version() -> str:
    return version_text(_version(library._dll, library.path))


def load_fleet() -> None:
    """Loads the library for tests in place of the other one. Raises LibraryError if that is in use, or there is no
    library for tests."""
    if library.has_fleet:
        return
    if library.fleet_problem is not None:
        raise LibraryError(library.fleet_problem)
    if library.is_in_use:
        raise LibraryError(f"{library.path} is in use, which has no virtual fleet{_FLEET_ADVICE}")
    library.load(FLEET_SONAME)


def prefer_fleet() -> None:
    """Loads the library for tests, if it is installed, and the other one is not in use: this process is one of tests,
    of which those on a fleet need it."""
    if not library.has_fleet and not library.is_in_use:
        library.load_fleet()


library = Library()
# The plugin of pytest calls prefer_fleet if it comes later than this module.
if "pytest_segue" not in sys.modules or not library.load_fleet():
    library.load(SONAME)


# ---- outputs ----


def take_text(function: Any, handle: int, *inputs: bytes | int) -> str | None:
    """Returns the string of a getter, None if it is absent."""
    data = take_bytes(function, handle, *inputs)
    return None if data is None else data.decode()


def take_bytes(function: Any, handle: int, *inputs: bytes | int) -> bytes | None:
    """Returns the memory of a getter, copied and freed; None for NULL."""
    address, length = c_void_p(), c_size_t()
    function(handle, *inputs, byref(address), byref(length))
    if address.value is None:
        return None
    try:
        return ctypes.string_at(address, length.value)
    finally:
        library.segue_free(address)


def read_text(address: int | None, length: int) -> str:
    """Reads a string that a callback borrows."""
    return "" if address is None else ctypes.string_at(address, length).decode()


def _taker(kind: Any) -> Callable[[Any, int], Any]:
    def take(function: Any, handle: int) -> Any:
        result = kind()
        function(handle, byref(result))
        return result.value

    return take


take_bool: Callable[[Any, int], bool] = _taker(c_bool)
take_double: Callable[[Any, int], float] = _taker(c_double)
take_int32: Callable[[Any, int], int] = _taker(c_int32)
take_uint32: Callable[[Any, int], int] = _taker(c_uint32)
take_uint64: Callable[[Any, int], int] = _taker(c_uint64)
take_size: Callable[[Any, int], int] = _taker(c_size_t)
take_handle: Callable[[Any, int], int | None] = _taker(c_void_p)


def take_id(function: Any, handle: int) -> UUID:
    from uuid import UUID  # loads what only programs need that ask for an identifier

    result = ctypes.create_string_buffer(_table.ID_SIZE)
    function(handle, result)
    return UUID(bytes=result.raw)


def created(function: Any, *arguments: Any) -> int:
    """Returns the handle from a constructor."""
    result = c_void_p()
    function(*arguments, byref(result))
    handle: int = result.value  # type: ignore[assignment]  # "required": never NULL
    return handle


def created_fd(function: Any, handle: int) -> int:
    """Returns the descriptor that a function opens."""
    result = c_int32(-1)
    function(handle, byref(result))
    return result.value


# ---- handles ----

_deferred: list[tuple[int, bool]] = []
"""Releases that were not possible where the garbage collector asked for them."""
_release_handle: Any
_leave_delegate: Any


def _bind() -> None:
    """Looks up what finalizers call, once."""
    global _release_handle, _leave_delegate
    _release_handle = library.unchecked("segue_release")
    _leave_delegate = library.unchecked("segue_activity_delegate_leave")


library.bind(_bind)


class _State:
    forked = False
    """This process is a fork of one that had opened an app: what it holds belongs to its parent."""
    finished = False
    """The interpreter ends: the system takes all back."""
    logging = threading.local()
    """`inside` is set while the thread is in the log callback, where no function may be called."""


def release(handle: int, state: type[_State] = _State, leaves: bool = False) -> None:
    """Releases a count; safe from finalizers, wherever they run.

    leaves: it is that of a delegate, which its activities keep
    """
    if state.forked or state.finished:
        return
    function = _leave_delegate if leaves else _release_handle
    if getattr(state.logging, "inside", False) or function(handle) == Status.BUSY:
        _deferred.append((handle, leaves))


def is_forked() -> bool:
    """Whether the library refuses every call here, after a fork of a process that had opened an app."""
    return _State.forked


def is_over() -> bool:
    """Whether this process has no use for the library any longer."""
    return _State.forked or _State.finished


def is_leaving() -> bool:
    """Whether finalizers must leave the library alone here."""
    return _State.forked or _State.finished or is_logging()


def is_logging() -> bool:
    """Whether this is inside of the log callback, where no function of the library may be called."""
    return getattr(_State.logging, "inside", False)


def refuse_in_log(what: str) -> None:
    """Raises BusyError inside of the log callback, for what its thread, which may be the library's, would wait for."""
    if is_logging():
        raise BusyError(f"{what} inside a handler of the logger 'segue'")


def release_deferred() -> None:
    """Releases deferred handles; called when no call of the library is on the stack."""
    if _deferred:
        waiting = _deferred[:]
        _deferred.clear()
        for handle, leaves in waiting:
            release(handle, leaves=leaves)


def _after_fork() -> None:
    global known_lock
    # This function of the library takes no lock, allocates nothing and does not set the library up.
    _State.forked = library.unchecked("segue_app_wake")(None) == Status.FORKED
    known_lock = threading.RLock()  # the former one may belong to a thread that is not here


os.register_at_fork(after_in_child=_after_fork)


class Handle(Unique):
    """Holds a count of an object of the library. Each object has one Python object at a time."""

    _handle: int

    def __init__(self, handle: int):
        self._handle = handle
        _known[handle] = self

    def __del__(self, release: Callable[[int], None] = release) -> None:
        handle = self.__dict__.get("_handle")
        if handle is not None:
            release(handle)


_known: WeakValueDictionary[int, Handle] = WeakValueDictionary()
known_lock = threading.RLock()  # a finalizer may run inside


def wrap(kind: type[_H], handle: int, owned: bool, **attributes: Any) -> _H:
    """Returns the Python object of a handle. `owned`: a count came with it; otherwise takes one."""
    with known_lock:
        known = _known.get(handle)
        if isinstance(known, kind):
            if owned:
                release(handle)
            return known
        if not owned:
            library.segue_retain(handle)
        made = kind.__new__(kind)
        made.__dict__.update(attributes)
        Handle.__init__(made, handle)
        return made


def error_from(handle: int | None) -> Error:
    """The error of a handle that a callback borrows."""
    status = take_int32(library.segue_error_get_status, handle or 0)
    return error_of(status, take_text(library.segue_error_get_message, handle or 0) or "")


# ---- contexts of callbacks ----

_contexts: dict[int, Callable[[], Any]] = {}
"""The objects that contexts stand for. Their app holds them: this table would keep the app alive, and open, itself."""
_next_context = iter(range(1, 1 << 62)).__next__


def new_context(target: weakref.ref[Any]) -> int:
    """Returns a number that identifies an object in the library. An address could be reused before a call."""
    key = _next_context()
    _contexts[key] = target
    return key


class Kept:
    """An object that a context keeps until the library has no more use for it, or until `target` is None."""

    __slots__ = ("__weakref__", "target")

    def __init__(self, target: Any):
        self.target = target

    def __call__(self) -> Any:
        return self.target


def keep_context(key: int, target: Any) -> Kept:
    """Makes a context keep its object."""
    kept = Kept(target)
    if key in _contexts:
        _contexts[key] = kept
    return kept


def is_context(key: int) -> bool:
    """Whether the library may still use a context."""
    return key in _contexts


def trampoline(kind: Any, default: Any = None) -> Callable[[Callable[..., Any]], Any]:
    """Returns the function that the library calls for all callbacks of a type. It is never collected: a collected one
    was seen to call *another* function. Its object gets what the callback raises, and the library gets `default`."""

    def decorate(function: Callable[..., Any]) -> Any:
        def call(context: int, *arguments: Any) -> Any:
            target = _contexts.get(context)
            instance = None if target is None else target()
            if instance is None:
                return default
            try:
                return function(instance, *arguments)
            except BaseException as error:
                instance._failed(error)
                return default

        made = kind(call)
        _trampolines.append(made)
        return made

    return decorate


_trampolines: list[Any] = []


def _destroy(context: int) -> None:
    _contexts.pop(context, None)


destroy = _table.DESTROY(_destroy)
"""Forgets a context."""


def live_handles() -> int:
    """Counts the live handles of this process, for leak checks in tests."""
    count = c_size_t()
    library.segue_debug_live_handles(byref(count))
    return count.value


def live_contexts() -> int:
    """Counts the registered callbacks, for leak checks in tests."""
    return len(_contexts)


# ---- calls that wait for another process ----


def interruptible(call: Callable[[], _T]) -> _T:
    """Makes a call that may take seconds, so that Ctrl-C works meanwhile: Python runs signal handlers on the main
    thread only, and not inside the library. If a handler raises, the call goes on by itself; closing its app ends it.
    """
    # The thread of a log handler defers its releases, so a call inside of one stays on that thread.
    if threading.current_thread() is not threading.main_thread() or is_forked() or is_logging():
        return call()
    made = _Call(call)
    try:
        threading.Thread(target=made.run, name="segue-call", daemon=True).start()
    except RuntimeError:  # the interpreter ends, or there can be no more threads
        return call()
    made.ended.wait()
    result: _T = made.result()
    return result


class _Call:
    """A call on another thread."""

    def __init__(self, call: Callable[[], Any]):
        self._call = call
        self._results: list[Any] = []
        self._error: BaseException | None = None
        self.ended = threading.Event()

    def run(self) -> None:
        try:
            self._results.append(self._call())
        except BaseException as error:
            self._error = error
        finally:
            self.ended.set()

    def result(self) -> Any:
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error
        return self._results[0]


# ---- the end of the process ----

_closers: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""Open apps: no library thread may call Python when it is being taken down."""


def close_at_exit(app: Any) -> None:
    _closers[id(app)] = app


def _finish() -> None:
    if not _State.forked:
        waiting = list(_closers.values())
        while waiting:
            app = waiting.pop(0)
            try:
                app.close()
            except BaseException as error:  # Ctrl-C and SystemExit too: the other apps have something to save
                app._report(error)
        library.segue_log_set(1, _table.LOG(), None, _table.DESTROY())
    _State.finished = True


atexit.register(_finish)
