# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An origin and a receiver in one process, with host delivery."""

from __future__ import annotations

from typing import Any

from conftest import TYPE, Opener, run_until

import segue


class Pair:
    """An origin with a current activity, and a receiver that sees its offer."""

    def __init__(self, opened: Opener, receiver: type[segue.App] = segue.App, **options: Any):
        self.origin = opened()
        self.receiver = opened(kind=receiver, **options)
        self.receipts: list[segue.Receipt] = []
        self.activity = segue.Activity(self.origin, TYPE, title="Shopping list", user_info={"line": 1})
        self.activity.on_continuation_ended(self.receipts.append)
        self.activity.become_current()
        self.until(lambda: self.receiver.offers)
        self.offer = self.receiver.offers[0]

    def until(self, condition: Any) -> None:
        run_until([self.origin, self.receiver], condition)

    def continue_(self, timeout: float | None = None) -> segue.Continuation:
        """Continues to the end, whatever it is."""
        continuation = self.receiver.continue_(self.offer, timeout)
        self.until(lambda: continuation.done)
        return continuation

    def receipt(self) -> segue.Receipt:
        self.until(lambda: self.receipts)
        return self.receipts.pop()
