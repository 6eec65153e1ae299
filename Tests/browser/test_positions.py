# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages that continue from one real browser in another, at their place: twenty made ones, and twenty of Debian's
documentation. `make bench` takes each page at three widths, these tests at one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from desk import Desk
from places import (
    WIDTHS,
    Landing,
    Launch,
    landings,
    plain_receiver,
    share_by_fraction,
    share_of_hits,
    with_extension,
    with_stored_pages,
)

LEAST, LEAST_WITHOUT = 0.95, 0.85
"""The share of pages that have to land at the block in sight, with an extension at the receiver, and without, as
bench/run wants it at three widths."""
DIRECTIONS = pytest.mark.parametrize(("origin", "receiver"), [("chromium", "firefox"), ("firefox", "chromium")])


def tried(desk: Desk, origin: Any, receiver: Any, launch: Launch, by_directive: bool) -> list[Landing]:
    found: list[Landing] = []
    pages = with_stored_pages(desk)
    assert len(pages) == 40
    for number, page in enumerate(pages):
        width = WIDTHS[number % len(WIDTHS)]
        found += landings(desk, origin, receiver, page, (width,), launch, by_directive)
    misses = [
        f"{each.page} at {each.width}: {each.found} in place of {each.wanted}" for each in found if not each.is_hit
    ]
    median = sorted(each.milliseconds for each in found)[len(found) // 2]
    print(
        f"{'plain_' * by_directive}position_hits {origin.word} to {receiver.word}: {share_of_hits(found):.3f}, by the"
        f" fraction alone {share_by_fraction(found):.3f}, median {median:.0f} ms; misses: {misses}"
    )
    return found


@DIRECTIONS
def test_forty_pages_land_at_the_block_that_was_in_sight(desk, request, origin, receiver):
    """(R12.5, R12.6) At three widths."""
    first, second = (request.getfixturevalue(word) for word in (origin, receiver))
    found = tried(desk, first, second, with_extension(desk, second), False)
    assert share_of_hits(found) >= LEAST


@DIRECTIONS
def test_without_an_extension_at_the_receiver_a_text_directive_leads_there(tmp_path: Path, origin, receiver):
    """(R12.6) The agent starts the browser with the URL. The block is in sight, in the middle of the window."""
    with plain_receiver(origin, receiver, tmp_path) as (desk, first, second, launch):
        found = tried(desk, first, second, launch, True)
    assert share_of_hits(found) >= LEAST_WITHOUT
