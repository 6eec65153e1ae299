# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""user_info as a mapping that reads from and writes to its activity."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, MutableMapping, ValuesView
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char, c_size_t
from typing import Any

from . import _arguments, _native
from ._codec import decode, decode_pairs, encode, explained
from ._native import library, release
from ._read_only import read_only
from ._unique import Unique
from ._values import taken, value_of
from .errors import NotFoundError, UnsupportedValueError, WrongKindError
from .values import Map

_get_cbor: Any
_set_cbor: Any
_free: Any


def _bind() -> None:
    """Looks up what each access calls, once."""
    global _get_cbor, _set_cbor, _free
    _get_cbor = library.unchecked("segue_activity_get_user_info_cbor")
    _set_cbor = library.unchecked("segue_activity_set_user_info_cbor")
    _free = library.unchecked("segue_free")


library.bind(_bind)


class _Outputs:
    """The outputs of a getter."""

    __slots__ = ("address", "length", "to_address", "to_length")

    def __init__(self) -> None:
        self.address, self.length = POINTER(c_char)(), c_size_t()
        self.to_address, self.to_length = byref(self.address), byref(self.length)


_outputs: list[_Outputs] = []
"""Those that are not in use: a list, since finalizers and other threads may ask for one in between."""


class UserInfo(Unique, MutableMapping[Any, Any]):
    """The state in an activity. Every read comes from the activity, every assignment goes to it.

    Keys are exact: 1, 1.0 and True are three keys (R1.2). Values that are read from here are read-only, because changes
    to them would be lost: changing a list raises TypeError. Assign a new value (`info["tags"] += ["new"]`), or change
    it at any depth in `with activity.user_info.editing() as entries: entries["tags"].append("new")`. `copy()` returns a
    copy that you can change.
    """

    __slots__ = ("_activity",)
    _activity: _native.Handle

    def __init__(self, activity: _native.Handle):
        _set_activity(self, activity)

    def copy(self) -> Mapping[Any, Any]:
        """Returns all entries: a dict, or a `Map` if a dict cannot represent them."""
        data = self._encoding()
        entries: Mapping[Any, Any] = {} if data is None else decode(data)
        return entries

    @contextmanager
    def editing(self) -> Iterator[dict[Any, Any]]:
        """Gives a dict to change, at any depth. It becomes the user_info at the end of the block, unless that raises.

        Raises: UnsupportedValueError if a dict cannot represent the entries (copy() then returns a `Map`).
        """
        entries = self.copy()
        if not isinstance(entries, dict):
            raise UnsupportedValueError("a dict cannot represent its keys; see copy()")
        yield entries
        set_user_info(self._activity._handle, entries)

    def update(self, *others: Any, **entries: Any) -> None:
        """Merges entries in one call (R1.10)."""
        exact = len(others) == 1 and not entries and isinstance(others[0], Mapping)
        merged = others[0] if exact else dict(*others, **entries)
        if merged:
            self._add(merged)

    def clear(self) -> None:
        set_user_info(self._activity._handle, {})

    def items(self) -> ItemsView[Any, Any]:
        """The entries as they are now."""
        items: ItemsView[Any, Any] = read_only(self.copy()).items()
        return items

    def values(self) -> ValuesView[Any]:
        """The values as they are now."""
        values: ValuesView[Any] = read_only(self.copy()).values()
        return values

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Returns the value of the key, after setting it to `default` if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: Any, *default: Any) -> Any:
        """Removes the entry and returns its value, which you can change."""
        entry = self._find(key)
        if entry is None:
            if default:
                return default[0]
            raise KeyError(key)
        value = taken(entry)
        del self[key]
        return value

    def __getitem__(self, key: Any) -> Any:
        entry = self._find(key)
        if entry is None:
            raise KeyError(key)
        return read_only(taken(entry))

    def __contains__(self, key: object) -> bool:
        entry = self._find(key)
        if entry is not None:
            release(entry)
        return entry is not None

    def __setitem__(self, key: Any, value: Any) -> None:
        self._add(Map(((_checked(key), value),)))

    def __delitem__(self, key: Any) -> None:
        _checked(key)
        entries = decode_pairs(self._encoding() or b"\xa0")
        if key not in entries:
            raise KeyError(key)
        gone = Map(((key, None),))
        kept = Map((name, value) for name, value in entries.pairs if name not in gone)
        set_user_info(self._activity._handle, kept)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.copy())

    def __len__(self) -> int:
        info = self._value()
        if info is None:
            return 0
        try:
            return _native.take_size(library.segue_value_get_count, info)
        finally:
            release(info)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, UserInfo):
            return self._encoding() == other._encoding()
        return self.copy() == other if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"UserInfo({self.copy()!r})"

    def _encoding(self) -> bytes | None:
        # In full, and with outputs that are used again: this is what python.codec.ratio_vs_cbor2 measures.
        try:
            outputs = _outputs.pop()
        except IndexError:
            outputs = _Outputs()
        status = _get_cbor(self._activity._handle, outputs.to_address, outputs.to_length)
        if status:
            raise _native.last_error(status)
        address = outputs.address
        data: bytes | None = None
        if address:
            data = address[: outputs.length.value]  # type: ignore[assignment]  # of c_char, these are bytes
            _free(address)
        _outputs.append(outputs)
        return data

    def _value(self) -> int | None:
        return _native.take_handle(library.segue_activity_get_user_info, self._activity._handle)

    def _find(self, key: Any) -> int | None:
        """The entry of a key as an owned value handle."""
        info = self._value()
        if info is None:
            return None
        try:
            if type(key) is str:
                name = _arguments.text(key, "the key")
                return _native.created(library.segue_dictionary_get_value, info, name, len(name))
            with value_of(key) as exact:
                return _native.created(library.segue_dictionary_find, info, exact)
        except NotFoundError:
            return None
        finally:
            release(info)

    def _add(self, entries: Mapping[Any, Any]) -> None:
        if not isinstance(entries, Mapping):
            raise _arguments.wrong("entries", entries, "a mapping")
        with value_of(entries) as handle:
            library.segue_activity_add_user_info_entries(self._activity._handle, handle)


_set_activity = UserInfo.__dict__["_activity"].__set__
"""Without `KnownAttributes.__setattr__`, which costs more than the object."""


def _checked(key: Any) -> Any:
    """Raises what `encode` does for a key that contains itself, or is no value: it cannot be compared either."""
    if type(key) is not str:
        encode(key)
    return key


def set_user_info(activity: int, entries: Mapping[Any, Any] | None) -> None:
    """Replaces all of it in one call; None clears."""
    if entries is None:
        library.segue_activity_set_user_info_cbor(activity, None, 0)
        return
    if type(entries) is not dict and not isinstance(entries, Mapping):
        raise WrongKindError(f"user_info is {type(entries).__name__}, not a mapping")
    data = encode(entries.copy() if type(entries) is UserInfo else entries)
    status = _set_cbor(activity, data, len(data))
    if status:
        raise explained(_native.last_error(status), entries)
