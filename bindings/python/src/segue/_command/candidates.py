# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The verbs about the apps that can continue an activity: `apps`, `route`, `explain`, `choose`."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from .._activity import Activity
from .._agent import Candidate, KnownApp, Route
from .._app import App
from .._offer import Offer
from .._reason import Reason
from .._terminal import shown
from ..errors import ConnectionUnavailableError
from . import reach, sites
from .output import UsageError, note, show_json, show_table
from .session import add_choice, asked, chooser, connected, first, offer_record
from .verbs import Verbs

PREFERENCES = {
    "same bundle": "it is the app of the origin",
    "chosen": "you chose it for this type",
    "same team": "it is of the origin's team",
    "desktop default": "it is the desktop's default for such content",
    "used": "of the apps that fit, it was used last",
    "none": "no other app fits better",
}


def add(verbs: Verbs) -> None:
    listing = verbs.add("apps", apps, "apps that have a manifest, and what is wrong with manifests")
    listing.add_argument(
        "--refresh", action="store_true", help="ask the sites that apps claim at once, or that of --site"
    )
    sites.add(listing)
    add_choice(verbs.add("route", route, "which app would continue an offer here, and why no other would"))
    add_choice(
        verbs.add("explain", explain, "the same in words: why an offer is continued where, or nowhere"), wait=2.0
    )
    choosing = verbs.add("choose", choose, "remember which app continues a type; without an app, show the choice")
    choosing.add_argument("type", help="the activity type")
    choosing.add_argument("app", nargs="?", metavar="BUNDLE", help="the app; without it the choice is shown")
    choosing.add_argument("--forget", action="store_true", help="delete the choice for the type")


async def apps(options: argparse.Namespace) -> int:
    site = sites.change(options)
    if site is not None and not options.refresh:
        sites.show(site, None, options)
        return 0
    async with chooser() as app:
        if options.refresh:
            count = await asked(app, app.refresh_sites, options.site)
            note(f"{count} site{' is' if count == 1 else 's are'} asked; `segue route` says what they have answered")
            if site is not None:
                sites.show(site, count, options)
                return 0
        known = await asked(app, app.apps)
    if options.json:
        show_json(known)
        return 0
    if not known:
        note("no app has a manifest")
    declared = [each for each in known if each.error is None and each.shadowed_by is None]
    if declared:
        show_table([app_row(each) for each in declared], ("APP", "NAME", "TEAM", "TYPES", "STATE"))
    for each in known:
        if each.no_launch is not None and each.shadowed_by is None:
            print(f"{shown(each.bundle_identifier or '')} cannot be started: {shown(each.no_launch, None)}")
        if each.shadowed_by is not None:
            print(f"{shown(each.path, None)}: {shown(each.shadowed_by, None)} describes the same app, and counts")
        if each.error is not None:
            print(f"broken: {shown(each.error, None)}")
        for warning in each.warnings:
            print(f"{shown(each.path, None)}: {shown(warning, None)}")
    return 0


def app_row(app: KnownApp) -> tuple[str, ...]:
    names = (shown(name or "") for name in (app.bundle_identifier, app.name, app.team))
    state = "runs" if app.running else "can be started" if app.no_launch is None else "cannot be started"
    return (*names, str(app.type_count), state)


async def route(options: argparse.Namespace) -> int:
    async with chooser() as app:
        offer = await first(app, options)
        candidates = await asked(app, app.route, offer)
    if options.json:
        show_json({"offer": offer_record(offer), "candidates": candidates, "web": candidates.web})
    else:
        show_table([candidate_row(each) for each in candidates], ("APP", "NAME", "AS", "STATE", "FOR", "AGAINST"))
        for each in candidates.web:
            print(f"{each.reason}: {shown(each.message, None)}")
    return 0 if fits(candidates) else 1


def fits(candidates: list[Candidate]) -> bool:
    """Whether one of them can continue it: that one is the first."""
    return bool(candidates) and not candidates[0].against


def candidate_row(candidate: Candidate) -> tuple[str, ...]:
    state = "runs" if candidate.running else "has a manifest" if candidate.manifest else ""
    preference = "" if candidate.preference == "none" else candidate.preference
    if candidate.public_type:
        preference = f"{preference}, public type" if preference else "public type"
    against = "; ".join(f"{each.reason}: {each.message}" for each in candidate.against)
    names = (shown(candidate.bundle_identifier), shown(candidate.name), shown(candidate.role))
    return (*names, state, preference, shown(against, None))


async def explain(options: argparse.Namespace) -> int:
    """Also says what is missing on the way: hub, offer, agent, links with other devices."""
    offer: Offer | None = None
    candidates = Route()
    away: list[Reason] = []
    there: list[str] = []
    async with chooser() as app:
        reason = await missing_hub(app)
        if reason is None:
            try:
                offer = await first(app, options)
            except (asyncio.TimeoutError, TimeoutError):
                reason = missing_offer(app, options)
        if offer is not None:
            try:
                candidates = await asked(app, app.route, offer)
            except ConnectionUnavailableError as error:
                reason = Reason("no agent", f"{error.message}; apps that run see the offer, others cannot be started")
        if reason is None or reason.reason == "not offered":
            account = await reach.account_of(app)
            away = reach.reasons(offer, account)
            there = reach.lines(away) + ([] if offer is None else reach.reached(offer, account, away))
    if options.json:
        shown_offer = None if offer is None else offer_record(offer)
        show_json(
            {"offer": shown_offer, "reason": reason, "reasons": away, "candidates": candidates, "web": candidates.web}
        )
    else:
        for line in explained(offer, reason, there, candidates):
            print(line)
    return 0 if fits(candidates) else 1


async def missing_hub(app: App) -> Reason | None:
    try:
        await connected(app)
    except (asyncio.TimeoutError, TimeoutError):
        problem = app.connection_problem
        return Reason("no hub", str(problem) if problem else "no hub has answered; `segue doctor` says more")
    return None


def missing_offer(app: App, options: argparse.Namespace) -> Reason:
    """Why there is no offer to explain."""
    others = len(app.offers)
    of = f" of type {options.type}" if options.type else ""
    like = f" whose identifier begins with '{options.id or options.argument}'" if options.id or options.argument else ""
    there = f", and {others} other{' is' if others == 1 else 's are'} offered" if others else ""
    return Reason(
        "not offered",
        f"no app offers an activity{of}{like}{there}: its app makes one current that is eligible for "
        "handoff and has not expired, and keeps running; Activity.explain says more in that app",
    )


def explained(offer: Offer | None, reason: Reason | None, there: list[str], candidates: Route) -> list[str]:
    """
    there: about other devices
    """
    lines = []
    if offer is not None:
        names = (shown(offer.title or ""), shown(offer.type), shown(offer.app_name), shown(offer.device_name))
        lines.append("'{}', {}, from {} on {}".format(*names))
    if reason is not None:
        lines.append(f"{reason.reason}: {shown(reason.message, None)}")
    lines += there
    for number, each in enumerate(candidates):
        name = shown(each.bundle_identifier)
        if each.against:
            lines += [f"{name} does not: {one.reason}: {shown(one.message, None)}" for one in each.against]
        elif number == 0 and each.role == "url handler":
            lines.append(f"{name} would be started with its URL: no app here continues it")
        elif number == 0 and each.role in ("opener", "default application"):
            why = "you chose it for this type" if each.preference == "chosen" else "no app here continues it"
            lines.append(f"{name} would be started with its file: {why}")
        elif number == 0:
            how = "it runs" if each.running else "it does not run, and would be started"
            why = PREFERENCES.get(each.preference, each.preference)
            public = "; public type: apps of every team may" if each.public_type else ""
            lines.append(f"{name} would continue it: {how}; {why}{public}")
        else:
            lines.append(f"{name} could, too: `segue continue --app {name}`, or `segue choose`")
    if offer is not None and reason is None and not candidates:
        lines.append("no app here declares its type: none runs that does, and none has a manifest that does")
    return lines + [f"{each.reason}: {shown(each.message, None)}" for each in candidates.web]


async def choose(options: argparse.Namespace) -> int:
    if options.forget and options.app is not None:
        raise UsageError("--forget takes no app")
    choice: str | None = options.app
    async with chooser() as app:
        if options.forget or options.app is not None:
            await asked(app, app.choose, options.type, options.app)
        else:
            choice = await choice_for(app, options.type)
        known = options.app is None or any(each.bundle_identifier == options.app for each in await asked(app, app.apps))
    if not known and not options.app.startswith("opener:"):
        note(f"no manifest describes {shown(options.app)}: it is chosen only while it runs")
    chosen: dict[str, Any] = {"type": options.type, "bundle_identifier": choice}
    if options.json:
        show_json(chosen)
    else:
        print(f"{shown(options.type)}: {shown(choice) if choice else 'no choice'}")
    return 0


async def choice_for(app: App, type: str) -> str | None:
    """Returns the app that the user has chosen for a type: among those that might continue an activity of this app."""
    candidates: Route = await asked(app, app.route, Activity(app, type))
    return next((each.bundle_identifier for each in candidates if each.preference == "chosen"), None)
