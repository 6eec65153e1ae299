# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows activities: `inspect`, and what `continue` prints."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .._activity import Activity
from .._json import JSONMode
from .._terminal import shown, shown_lines
from .._values import describe_value
from .output import CommandError, bytes_in_words, show_json
from .streams import standard_input
from .verbs import Verbs

MOST = 32 << 20
"""Bytes of a document that is read: user_info has 16 MiB at most."""
FIELDS = (
    "type",
    "title",
    "webpage_url",
    "referrer_url",
    "target_content_identifier",
    "persistent_identifier",
    "keywords",
    "required_user_info_keys",
    "payload_version",
    "expiration_date",
    "supports_continuation_streams",
    "private",
    "eligible_for_handoff",
    "eligible_for_search",
    "eligible_for_public_indexing",
    "eligible_for_prediction",
)


def add(verbs: Verbs) -> None:
    parser = verbs.add("inspect", inspect, "decode an encoded activity, as Activity.encode returns it")
    parser.add_argument("file", help="the file; - for standard input")
    parser.add_argument("--document", action="store_true", help="print the whole document too")


def inspect(options: argparse.Namespace) -> int:
    data = read(options.file)
    if len(data) > MOST:
        raise CommandError(f"{shown(options.file, None)}: more than {bytes_in_words(MOST)}: that is no activity")
    show_activity(Activity.decode(None, data), options)
    return 0


def read(name: str) -> bytes:
    """Returns the beginning of a file that is one byte longer than any activity."""
    if name == "-":
        return standard_input().read(MOST + 1)
    with open(name, "rb") as file:
        return file.read(MOST + 1)


def stale(reason: str | None) -> str:
    """The line about a state that is not the newest."""
    why = shown(reason or "the origin could not save its state in time", None)
    return f"stale: {why}, so this state is an older one"


def show_activity(activity: Activity, options: argparse.Namespace) -> None:
    if options.json:
        show_json(activity_record(activity))
        return
    print("type:", shown(activity.type, None))
    if activity.continued_from and activity.continued_from.stale:
        print(stale(activity.continued_from.stale_reason))
    for name in ("title", "webpage_url", "payload_version", "expiration_date"):
        value: Any = getattr(activity, name)
        if value:
            print(f"{name}: {shown(str(value), None)}")
    print("user_info:", shown_lines(describe_value(activity.user_info.copy())))
    for name, size in activity.attachments.items():
        print(f"attachment: {shown(name)}, {bytes_in_words(size)}")
    if options.document:
        print("document:", shown_lines(activity.describe()))


def activity_record(activity: Activity) -> dict[str, Any]:
    """An activity as JSON has it; its state in the tagged form, which loses nothing (docs/values.md)."""
    state = activity.user_info_json(JSONMode.TAGGED)
    return {
        **{name: getattr(activity, name) for name in FIELDS},
        "user_info": None if state is None else json.loads(state),
        "attachments": activity.attachments,
        "continued_from": activity.continued_from,
    }
