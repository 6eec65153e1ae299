// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page that is offered: with level "ask" the one for which the user has pressed the button, until it navigates; with
// the others the active tab of the normal window that had the focus last, after a second in front (R12.4, R12.5).

import { isSamePage, pageActivity, pageAddress, tabAddress } from "./rules.js";
import { execute, mayEnter, run } from "./scripts.js";
import { excludedHosts, level } from "./settings.js";

/** Milliseconds that a page is in front before it is offered. */
const IN_FRONT_MS = 1000;
const IN_FRONT = { active: true, lastFocusedWindow: true, windowType: "normal" };
/** Characters of a title for the host, which takes 255 visible ones: a page can have a title of any length. */
const TITLE_MOST = 1024;
const REFUSES = "The page asks not to be handed over.";

export class Offering {
  #port;
  #timer = null;
  /** The tab that the timer is for: it is in front, and not offered yet. */
  #awaited = null;
  /** { tab, url, title, activity, byButton }, or null; `activity` is { type, url, … }, or null */
  #offered = null;
  /** Grows with each event, so that what was begun before it is not ended after it. */
  #turn = 0;
  /** Whether a window of this profile has got the focus since the page was offered. */
  #hasFocus = false;
  /** The addresses of pages that the user has withdrawn, by tab, until it goes to another page. */
  #withdrawn = new Map();
  /** The reason why the page in front is not offered. */
  reason = null;
  /** The last page of this browser that was continued elsewhere: { tab, app, device }. */
  continued = null;

  constructor(port) { this.#port = port; }

  get tab() { return this.#offered?.tab ?? null; }

  #begin(awaited = null) {
    clearTimeout(this.#timer);
    this.#awaited = awaited;
    return ++this.#turn;
  }

  /** The page in front may be another one, or may have changed. */
  async consider() {
    const turn = ++this.#turn;
    const [tab] = (await level()) === "ask" ? [] : await chrome.tabs.query(IN_FRONT);
    if (turn !== this.#turn) return;
    // A page may change its title and address without end: that does not begin the second anew.
    if (tab && tab.id === this.#awaited) return;
    const next = this.#begin(tab && tab.id !== this.tab ? tab.id : null);
    if (tab && this.#awaited === null) return this.#offer(tab, false, next);
    if (tab) this.#timer = setTimeout(() => this.#offer(tab, false, this.#begin()), IN_FRONT_MS);
  }

  async offerByButton(tab) {
    this.#port.forgive();
    await this.#offer(tab, true, this.#begin());
  }

  async #offer(seen, byButton, turn) {
    const tab = await chrome.tabs.get(seen.id).catch(() => null);
    const address = tabAddress(tab, await excludedHosts());
    if (turn !== this.#turn) return;
    if (address.reason) return this.#refuse(seen.id, address.reason);
    if (byButton || !isSamePage(this.#withdrawn.get(tab.id) ?? "", address.url)) this.#withdrawn.delete(tab.id);
    if (this.#withdrawn.has(tab.id)) return this.#refuse(tab.id, "You have withdrawn this page.");
    const { refuses, activity } = await this.#describe(tab.id, address.url, byButton);
    if (refuses) return turn === this.#turn && this.#refuse(tab.id, REFUSES);
    if (turn !== this.#turn || !(await this.#port.open()) || turn !== this.#turn) return;
    const title = (activity?.title ?? tab.title ?? "").slice(0, TITLE_MOST);
    const message = { t: "current", tab: tab.id, url: activity?.url ?? address.url, title, activity: activity?.type };
    const former = this.#offered;
    this.reason = null;
    this.#offered = { tab: tab.id, url: address.url, activity, byButton, message: JSON.stringify(message) };
    if (former?.message !== this.#offered.message || this.#hasFocus) this.#port.send(message);
    this.#hasFocus = false;
  }

  /** The page in front is offered again, so that it is the frontmost of all profiles. */
  focused() { this.#hasFocus = true; }

  /** Asks the page, if scripts may enter it, whether it may be handed over, and for its own activity. */
  async #describe(tab, url, byButton) {
    const isGranted = await mayEnter(url);
    if (!byButton && !isGranted) return {};
    const ask = (isGranted) => globalThis.seguePage?.describe(isGranted);
    // A page that is asked again has the file already: a page may change faster than it is asked twice.
    const again = await run(tab, null, ask, isGranted).catch(() => null);
    const said = again ?? (await run(tab, "page.js", ask, isGranted).catch(() => null));
    const isThere = said?.type && isSamePage(pageAddress(said.url).url ?? "", url);
    return { refuses: said?.refuses === true, activity: isThere ? pageActivity(said.type, said.activity, url) : null };
  }

  #refuse(tab, reason) {
    this.reason = reason;
    if (this.tab === tab || this.#offered?.byButton === false) this.withdraw();
  }

  /** byButton: the user has pressed the button again, so other events do not offer the page again. */
  withdraw(byButton = false) {
    if (byButton && this.#offered) this.#withdrawn.set(this.#offered.tab, this.#offered.url);
    if (this.#offered) this.#port.send({ t: "gone", tab: this.#offered.tab });
    this.#offered = null;
  }

  /** The host has refused what was offered. */
  refused({ tab, reason }) { if (tab === this.tab) [this.#offered, this.reason] = [null, String(reason)]; }

  wasContinued({ tab, app, device }) {
    this.continued = { tab, app: String(app ?? ""), device: String(device ?? "") };
    if (tab !== this.tab || !this.#offered.activity) return;
    const tell = (origin) => location.origin === origin && globalThis.seguePage.tell({ t: "wascontinued" });
    run(tab, "page.js", tell, new URL(this.#offered.url).origin).catch(() => {});
  }

  closed() { this.#offered = null; }
  tabRemoved(tab) {
    if (tab === this.tab) this.withdraw();
    this.#withdrawn.delete(tab);
  }

  /** A page that the button has offered is offered until it navigates. */
  tabChanged(tab, change, details) {
    if (!this.#offered?.byButton || tab !== this.tab || (change.status !== "loading" && !change.url)) return;
    // The address is visible only as long as the click counts for it.
    if (!details.url || !isSamePage(pageAddress(details.url).url ?? "", this.#offered.url)) this.withdraw();
  }

  /** Somebody continues the page: it is read now, and not before. */
  async save({ id, tab }, reply) {
    const offered = this.#offered;
    if (offered?.tab !== tab) return reply({ t: "state", id });
    const save = (origin) => location.origin === origin && globalThis.seguePage.save();
    const [place, page] = await Promise.all([
      execute(tab, { files: ["place.js", "take.js"] }).catch(() => null),
      offered.activity && run(tab, "page.js", save, new URL(offered.url).origin).catch(() => null),
    ]);
    if (place?.refuses) return this.#refuse(tab, REFUSES, reply({ t: "state", id, refused: true }));
    // The tab may have gone to another page since, and that may be offered by now.
    const isThere = (said) => said && isSamePage(pageAddress(said.url).url ?? "", this.#offered?.url ?? "");
    const activity = isThere(page) ? pageActivity(offered.activity.type, page.activity, this.#offered.url) : null;
    const own = activity?.type === offered.activity?.type ? activity : null;
    const position = isThere(place) ? place.position : undefined;
    reply({ t: "state", id, position, url: own?.url, userInfo: own?.userInfo });
  }
}
