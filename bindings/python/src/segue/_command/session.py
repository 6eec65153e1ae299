# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The app that the command is, and which activity or entry a user means."""

from __future__ import annotations

import argparse
import asyncio
import re
import threading
from collections.abc import Awaitable, Iterable
from contextlib import suppress
from typing import Any, Callable, TypeVar, cast

from .._app import App
from .._offer import Offer
from .._terminal import shown
from ..errors import ConnectionUnavailableError, Error, NotAllowedError, NotFoundError
from .agent import NAME as AGENT
from .agent import START
from .checks import stopped_agent
from .output import CommandError, ago, note, table

IDENTIFIER, NAME = "segue.command", "segue command line"
"""The app that the command is."""
PATIENCE = 10.0
"""Seconds to find the hub."""
REFUSAL = 0.25
"""Seconds after which the command looks whether the hub has refused it."""
SILENCE = 2.0
"""Seconds without an answer after which people are told if the agent is stopped."""
MOST_SECONDS = 1e9
_NO_AGENT = "no agent runs"
OFFER_HEADS = ("ID", "TYPE", "TITLE", "APP", "DEVICE", "AGE")

_T = TypeVar("_T")


def chooser() -> App:
    """An app that sees the offers of all apps of the user, and can continue them."""
    return App(IDENTIFIER, name=NAME, chooser=True)


async def within(patience: float | None, awaited: Awaitable[_T]) -> _T:
    """Awaits it for `patience` seconds at most. Raises: TimeoutError.

    asyncio.wait_for loses a cancellation, as by Ctrl-C, that comes together with the result, up to Python 3.11."""
    task = asyncio.ensure_future(awaited)
    try:
        if not (await asyncio.wait([task], timeout=patience))[0]:
            raise TimeoutError
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task])


async def connected(app: App, patience: float | None = PATIENCE) -> None:
    """Waits for the hub. Raises: TimeoutError; NotAllowedError: it refuses this app, which is in a sandbox (R13.8)."""
    await within(patience, _ready(app))


async def _ready(app: App) -> None:
    """An app that a hub refuses for its sandbox asks again every 30 s. People hear the reason at once."""
    task = asyncio.ensure_future(app.ready())
    try:
        while not (await asyncio.wait([task], timeout=REFUSAL))[0]:
            if isinstance(problem := app.connection_problem, NotAllowedError):
                raise problem
        task.result()
    finally:
        task.cancel()


async def asked(app: App, question: Callable[..., _T], *arguments: Any) -> _T:
    """Asks the agent, which takes a moment, beside the loop. It may be starting on demand, as the hub. Tells people if
    it is stopped: its answer may come once it goes on.

    Raises: ConnectionUnavailableError, which says how to start an agent if none runs.
    """
    telling = asyncio.ensure_future(tell_of_stopped_agent(app))
    try:
        await connected(app)
        return await beside(question, *arguments)
    except ConnectionUnavailableError as error:
        raise with_advice(error) from error
    finally:
        telling.cancel()


def with_advice(error: Error) -> Error:
    """Returns an error of a question to the agent that says how to start one if none runs."""
    is_missing = isinstance(error, ConnectionUnavailableError) and error.message.startswith(_NO_AGENT)
    return ConnectionUnavailableError(f"{_NO_AGENT}; start one: {START}") if is_missing else error


async def tell_of_stopped_agent(app: App) -> None:
    """Looks again and again; ends when it has told people, or is cancelled."""
    while True:
        await asyncio.sleep(SILENCE)
        if tells_of_stopped_agent(app.describe()):
            return


def tells_of_stopped_agent(description: str) -> bool:
    """Tells people if the agent is stopped. Returns whether it is.

    description: of this app
    """
    stopped = stopped_agent(value_of(description, "runtime folder"), AGENT)
    if stopped is not None:
        note(
            f"the agent, process {stopped}, is stopped (Ctrl-Z, a debugger), and does not answer: kill -CONT {stopped}"
        )
    return stopped is not None


def value_of(description: str, name: str) -> str:
    """Returns a line of the description of this app."""
    found = re.search(rf"^ *{name}: (.*)$", description, re.MULTILINE)
    return found[1] if found else ""


async def beside(question: Callable[..., _T], *arguments: Any) -> _T:
    """Asks in a thread of its own. A call that waits for the agent cannot be ended. If the wait for the thread ends, by
    Ctrl-C for example, the thread goes on, and does not delay the end of this process."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[_T] = loop.create_future()

    def end(result: _T | None, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(cast("_T", result))

    def ask() -> None:
        result, problem = None, None
        try:
            result = question(*arguments)
        except BaseException as error:
            problem = error
        with suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(end, result, problem)

    threading.Thread(target=ask, name=f"segue: {getattr(question, '__name__', 'question')}", daemon=True).start()
    return await answer


# ---- which offer ----


def identifier(text: str) -> str:
    """Parses an argument: the beginning of an identifier, as `list` shows it."""
    if not text.strip("-"):
        raise argparse.ArgumentTypeError("the identifier is empty")
    if text.strip("0123456789abcdefABCDEF-"):
        raise argparse.ArgumentTypeError(f"no identifier begins with {text!r}: they consist of hexadecimal digits")
    return text.lower()


def seconds(text: str) -> float:
    """Parses an argument: a time that ends."""
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not 0 <= number <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0 to {MOST_SECONDS:.0f}")
    return number


def add_choice(parser: argparse.ArgumentParser, wait: float | None = PATIENCE) -> None:
    """Adds the arguments of `first`.

    wait: seconds by default; None: as long as it takes
    """
    begins: dict[str, Any] = {"type": identifier, "metavar": "ID", "help": "the activity whose identifier begins so"}
    which = parser.add_mutually_exclusive_group()
    which.add_argument("argument", nargs="?", **begins)
    which.add_argument("--id", **begins)
    parser.add_argument("--type", help="only an activity of this type")
    said = "as long as it takes" if wait is None else f"{wait:g}"
    help = f"seconds to wait for an offer (default: {said})"
    parser.add_argument("--wait", metavar="SECONDS", type=seconds, default=wait, help=help)


async def first(
    app: App,
    options: argparse.Namespace,
    waits: Callable[[], None] = lambda: None,
    fits: Callable[[Offer], Awaitable[bool]] | None = None,
    meant: str = "activity of another app",
) -> Offer:
    """Returns the frontmost matching offer, now or within `--wait`; with an identifier, the only one. Connecting to the
    hub takes time of its own.

    waits: called before it waits for an offer
    fits: whether an offer is meant; None: each is. Without an identifier only: that says which one is
    meant: words for such an offer

    Raises: CommandError if the identifier begins those of several activities; TimeoutError, which says what there is
        not.
    """
    await connected(app, None if options.wait is None else PATIENCE)
    prefix, type = options.id or options.argument or "", options.type

    async def found() -> Offer | None:
        matches = [o for o in app.offers if is_of(o, type) and str(o.id).startswith(prefix)]
        if prefix and len({offer.id for offer in matches}) > 1:
            lines = table([offer_row(offer) for offer in matches], OFFER_HEADS)
            several = f"'{prefix}' begins the identifiers of {len(matches)} activities:"
            raise CommandError("\n".join([several, *lines]))
        for each in matches:
            if fits is None or prefix or await fits(each):
                return each
        return None

    async def come() -> Offer:
        async for _ in app.offer_events():
            if offer := await found():
                return offer
        raise Error("the app was closed")

    offer = await found()
    if offer is not None:
        return offer
    if options.wait != 0:
        waits()
    try:
        return await within(options.wait, come())
    except (asyncio.TimeoutError, TimeoutError):
        unfit = None if fits is None else meant
        raise TimeoutError(f"nothing came in time: {missing(app, prefix, type, unfit)}") from None


def is_of(offer: Offer, type: str | None) -> bool:
    """Whether an offer has the type that a user means, as it is or as it is shown; None: any."""
    return type in (None, offer.type, shown(offer.type))


def missing(app: App, prefix: str, type: str | None, meant: str | None) -> str:
    """Returns a text that says what is not offered.

    meant: words for the only offers that would do; None: each would
    """
    if not app.offers:
        return "nothing is offered"
    if type is not None and not any(is_of(offer, type) for offer in app.offers):
        return f"no activity of the type {shown(type)} is offered; `segue list` shows what is"
    if meant is not None and not prefix:
        return f"no {meant} is offered; `segue list` shows what is"
    return f"no activity that is offered has an identifier that begins with '{prefix}'; `segue list` shows them"


def only(entries: Iterable[_T], prefix: str, identifier_of: Callable[[_T], object], verb: str) -> _T:
    """Returns the only entry whose identifier begins so. Raises: NotFoundError, CommandError."""
    found = [entry for entry in entries if str(identifier_of(entry)).startswith(prefix)]
    if not found:
        raise NotFoundError(f"nothing that waits has an identifier that begins with '{prefix}'")
    if len(found) > 1:
        raise CommandError(f"'{prefix}' begins the identifiers of {len(found)} entries: `{verb}` lists them")
    return found[0]


# ---- how an offer is shown ----


def offer_row(offer: Offer) -> tuple[str, ...]:
    title = f"'{shown(offer.title or '')}'"
    label = f" ({shown(offer.label)})" if offer.label else ""
    names = (shown(offer.app_name) + label, shown(offer.device_name))
    return (str(offer.id)[:8], shown(offer.type), title, *names, ago(offer.age))


def names_of(offer: Offer) -> list[str]:
    """The names in an offer, which its app and its device have chosen."""
    return [offer.type, offer.title or "", offer.app_name, offer.device_name, offer.bundle_identifier]


def offer_record(offer: Offer) -> dict[str, Any]:
    """An offer as JSON has it."""
    names = (
        "id",
        "type",
        "title",
        "web_origin",
        "app_name",
        "label",
        "public",
        "bundle_identifier",
        "device_name",
        "payload_version",
        "size_hint",
    )
    more = ("age", "expiration_date", "supports_continuation_streams")
    return {name: getattr(offer, name) for name in (*names, *more)}
