# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The requests of an app about the devices of its user (R10)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal
from uuid import UUID

from . import _arguments
from ._account import (
    Account,
    Invite,
    InviteContents,
    Join,
    Pushed,
    Pushes,
    account_of,
    contents_of,
    invite_of,
    join_of,
    pushes_of,
)
from ._asking import Asking
from .errors import InvalidArgumentError, LimitExceededError

_MOST_MILLISECONDS = 600_000
_DIGEST = 32
"""Bytes of the digest of a takeover."""
_RECOVERY_FILE = 8192
"""The most bytes of a recovery file."""
_PUSHES = ("ask", "at-once", "never")


class DeviceCalls(Asking):
    """Accounts and devices: for a settings window, or a command. All block until the agent answers; under asyncio:
    `await asyncio.to_thread(app.account)`."""

    # ---- devices of the user ----

    def account(self, after: int | None = None, timeout: float | None = None) -> Account:
        """Tells which account this device is in, which devices there are, and who asks to join.

        after: `Account.change` of the answer before: waits until something has changed, or the time is up; None: at
            once
        timeout: seconds; None: the limit `continuation_ms`

        Ctrl-C ends your wait, not the question: that waits until its time is up, or its app is closed, and 4 at most
        wait for one process (LimitExceededError). Wait for a short time, and again.
        """
        return account_of(self._watch("account", after, timeout))

    def create_account(self, name: str, device_name: str | None = None) -> None:
        """Makes an account, with this device as its first, and its manager.

        device_name: None: the name of the host
        """
        options = {"name": _arguments.string(name, "name"), **_named("device_name", device_name)}
        self._ask("create-account", options)

    def invite(self, addresses: Iterable[str] | None = None, automatic: bool = False) -> Invite:
        """Makes an invite, with which one device can join within ten minutes. The manager only.

        addresses: IPv4 or IPv6 addresses at which this device is reached; None: those of its networks
        automatic: admits its device without asking: where no user could be asked
        """
        options: dict[str, Any] = {"automatic": _arguments.truth(automatic, "automatic")}
        if addresses is not None:
            options["addresses"] = _arguments.texts(addresses, "addresses")
        return invite_of(self._ask("invite", options))

    def cancel_invites(self, link: str | None = None) -> None:
        """Voids invites that can be used.

        link: of one of them; None: all
        """
        self._ask("cancel-invites", _named("link", link) or {"all": True})

    def read_invite(self, link: str) -> InviteContents:
        """Tells what an invite says, and dials nothing. Raises: InvalidURLError (it is none, and why)."""
        return contents_of(self._ask("read-invite", {"link": _arguments.string(link, "link")}))

    def join(self, link: str, device_name: str | None = None, timeout: float | None = None) -> Join:
        """Asks to join the account of an invite. Returns when both devices show their digits: show them, too, and then
        wait with `await_join`.

        device_name: None: the name of the host
        timeout: seconds until the other device is reached; None: the limit `continuation_ms`; more counts as 20
        """
        options = {"link": _arguments.string(link, "link"), **_named("device_name", device_name)}
        return join_of(self._ask("join", options, _arguments.wait(timeout, _MOST_MILLISECONDS)))

    def await_join(self, join: Join, timeout: float = _MOST_MILLISECONDS / 1000) -> None:
        """Waits until this device is in the account. Raises: DeclinedError (by the user of the manager),
        RemoteApplicationTimedOutError (the join goes on: wait again), NotAllowedError.

        timeout: seconds, at most 600
        """
        self._ask("await-join", {"join": _number(join)}, _arguments.wait(timeout, _MOST_MILLISECONDS))

    def answer_join(self, join: Join, admits: bool) -> None:
        """Answers for the user, who has compared the digits: at the manager whether the device is admitted; at the one
        that joins, False ends it. Raises: InvalidStateError (it has ended), NotFoundError."""
        self._ask("answer-join", {"join": _number(join), "admits": _arguments.truth(admits, "admits")})

    def rename_device(self, name: str, device: UUID | None = None) -> None:
        """Renames a device. The manager renames any; another device asks the manager for a name of its own. Raises:
        ConnectionUnavailableError (the manager is not linked), InvalidArgumentError (the name is blank).

        device: None: this one
        """
        options: dict[str, Any] = {"name": _arguments.string(name, "name")}
        if device is not None:
            options["device"] = _arguments.uuid(device, "device")
        self._ask("rename-device", options)

    def revoke_device(self, device: UUID) -> None:
        """Puts a device out of the account for good. Its links end within a second. The manager only.

        device: one of `Account.devices`, of `Account.refused` or of `Account.takeovers`
        """
        self._ask("revoke-device", {"device": _arguments.uuid(device, "device")})

    def accept_roster(self, device: UUID, digest: bytes) -> None:
        """Answers for the user: the device of a takeover is the manager from now on. Ask first, with its name and
        fingerprint; the usual answer is no, which needs no call. Raises: NotFoundError (no such takeover waits).

        device, digest: of one of `Account.takeovers`: what was shown is what counts
        """
        data = _arguments.data(digest, "digest")
        if len(data) != _DIGEST:
            raise InvalidArgumentError(f"digest: has {len(data)} bytes, not {_DIGEST}")
        self._ask("accept-roster", {"device": _arguments.uuid(device, "device"), "digest": data})

    def leave_account(self, abandons: bool = False) -> str | None:
        """Takes this device out of its account, and forgets the account here.

        abandons: a manager with other devices leaves only if True

        Returns the name of the file to which an account that cannot be used was moved, if there was one.
        """
        answer = self._ask("leave-account", {"abandons": _arguments.truth(abandons, "abandons")})
        aside: str | None = answer.get("aside")
        return aside

    def recovery_file(self, passphrase: str) -> bytes:
        """Gets the key of the account, encrypted, as PEM: with it, another device of the account can become the
        manager. The manager only.

        passphrase: at least 12 characters
        """
        answer = self._ask("recovery-file", {"passphrase": _arguments.string(passphrase, "passphrase")})
        return bytes(answer["file"])

    def recover_account(self, file: bytes, passphrase: str) -> None:
        """Makes this device the manager of its account, which then can revoke the one that is lost. Raises:
        NotAllowedError (another passphrase, or another account), MalformedError (no recovery file).

        file: what `recovery_file` gave
        """
        data, text = _arguments.data(file, "file"), _arguments.string(passphrase, "passphrase")
        if len(data) > _RECOVERY_FILE:
            raise LimitExceededError(f"file: has {len(data)} bytes, at most {_RECOVERY_FILE} are allowed")
        self._ask("recover-account", {"file": data, "passphrase": text})

    def set_devices(
        self,
        *,
        port: int | None = None,
        addresses: Iterable[str] | None = None,
        discovery: bool | None = None,
        push: str | None = None,
        private: bool | None = None,
        private_types: Iterable[str] | None = None,
        private_apps: Iterable[str] | None = None,
        relay: bool | None = None,
        retain_on: UUID | Literal["off"] | None = None,
    ) -> None:
        """Sets how this device meets others, as `DeviceSettings` describes it; what is None stays as it is. Raises:
        NotFoundError (`retain_on` is no device of the account), InvalidArgumentError (it is this one).

        retain_on: one of `Account.devices`; "off": none
        """
        settings: dict[str, Any] = {}
        if port is not None:
            settings["port"] = _arguments.integer(port, 0, 65_535, "port")
        if push is not None:
            if _arguments.instance(push, str, "push") not in _PUSHES:
                raise InvalidArgumentError(f"push is {push!r}, not one of {', '.join(map(repr, _PUSHES))}")
            settings["push"] = push
        for name, truth in (("discovery", discovery), ("private", private), ("relay", relay)):
            if truth is not None:
                settings[name] = _arguments.truth(truth, name)
        if retain_on is not None:
            settings["retain_on"] = retain_on if retain_on == "off" else _arguments.uuid(retain_on, "retain_on")
        texts = (("addresses", addresses), ("private_types", private_types), ("private_apps", private_apps))
        for name, several in texts:
            if several is not None:
                settings[name] = _arguments.texts(several, name)
        self._ask("set-devices", settings)

    def add_address(self, device: UUID, address: str) -> None:
        """Gives a device of the account an address, at which this one dials it while it is not linked (R14.2). Raises:
        NotFoundError (no such device), InvalidArgumentError (no address, and why; no port, and the device has told none
        yet), LimitExceededError (more than 8 of one device).

        device: one of `Account.devices`, and not this one
        address: an IPv4 address, an IPv6 address in brackets, or a name, which is looked up anew each time; a port
            follows after a colon, or is that which the device has told: "laptop.example", "[fe80::7%eth0]:4711"
        """
        self._change_address("add-address", device, address)

    def remove_address(self, device: UUID, address: str) -> None:
        """Takes back an address that was given with `add_address`. Raises: NotFoundError (it was not)."""
        self._change_address("remove-address", device, address)

    def avoid_path(self, device: UUID, path: str) -> None:
        """Has a kind of path to a device used no longer: none of that kind is dialled or taken from there, and a link
        of that kind ends (R14.1). Raises: NotFoundError (no such device), InvalidArgumentError (this device, no kind).

        device: one of `Account.devices`, and not this one
        path: a `DevicePath.cost`
        """
        self._change_path("avoid-path", device, path)

    def use_path(self, device: UUID, path: str) -> None:
        """Allows a kind of path again that `avoid_path` has forbidden. Raises: as `avoid_path` does."""
        self._change_path("use-path", device, path)

    def read_paths(self) -> None:
        """Has the agent read again for which devices there is a command (R14.4), after the file of paths has changed,
        which `segue devices --add-path` writes. Raises: MalformedError (the file cannot be used)."""
        self._ask("read-paths")

    def _change_path(self, request: str, device: UUID, path: str) -> None:
        text = _arguments.string(path, "path")
        self._ask(request, {"device": _arguments.uuid(device, "device"), "path": text})

    def _change_address(self, request: str, device: UUID, address: str) -> None:
        text = _arguments.string(address, "address")
        self._ask(request, {"device": _arguments.uuid(device, "device"), "address": text})

    # ---- what other devices push (R3.15) ----

    def pushes(self, after: int | None = None, timeout: float | None = None) -> Pushes:
        """Tells what other devices push about which the user is to be asked. While a call with `after` waits, and for 5
        s after it has returned, there is somebody who can ask; without anybody a push is declined. A call without it
        only looks. A push is no longer listed once it is over, also because it is no longer offered.

        after: `Pushes.change` of the answer before: waits until something has changed, or the time is up; 1: at once,
            as one who can ask; None: at once
        timeout: seconds; None: the limit `continuation_ms`. Ctrl-C: as for `account`
        """
        return pushes_of(self._watch("pushes", after, timeout))

    def answer_push(self, push: Pushed, accepts: bool) -> None:
        """Answers for the user. If True, returns when the app is chosen that continues it. Raises: NotFoundError (it is
        not asked about any longer, or not offered any longer; no app fits, and why)."""
        which = _arguments.uuid(_arguments.instance(push, Pushed, "push").push, "push")
        self._ask("answer-push", {"push": which, "accepts": _arguments.truth(accepts, "accepts")})

    def _watch(self, request: str, after: int | None, timeout: float | None) -> dict[str, Any]:
        """Makes a request that waits for a change only if it says after which one. 0 is none."""
        known = 0 if after is None else int(_arguments.integer(after, -(1 << 63), (1 << 63) - 1, "after"))
        most = _arguments.wait(timeout, _MOST_MILLISECONDS)
        return self._ask(request, {"after": known}, most) if known else self._ask(request)


def _named(what: str, text: str | None) -> dict[str, Any]:
    """An option, unless it is None."""
    return {} if text is None else {what: _arguments.string(text, what)}


def _number(join: Join) -> int:
    return _arguments.instance(join, Join, "join").join
