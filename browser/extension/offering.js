// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page that is offered: with level "ask" the one for which the user has pressed the button, until it navigates; with
// the others the active tab of the normal window that had the focus last, after a second in front (R12.4, R12.5).

import { isSamePage, pageAddress, tabAddress } from "./rules.js";
import { excludedHosts, level, mayEnter } from "./settings.js";

/** Milliseconds that a page is in front before it is offered. */
const IN_FRONT_MS = 1000;

/** Characters of a title that travel: a page can have one of any length. */
const TITLE_MOST = 1024;

/** Runs in the page: whether it asks not to be handed over. */
function asksToStay() {
  return [...document.querySelectorAll("meta[name]")].some(
    (meta) => meta.name.toLowerCase() === "segue" && meta.content.trim().toLowerCase() === "none");
}

export class Offering {
  #port;
  #timer = null;
  /** The tab that the timer is for: it is in front, and not offered yet. */
  #awaited = null;
  /** { tab, url, title, byButton }, or null */
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

  constructor(port) {
    this.#port = port;
  }

  get tab() {
    return this.#offered?.tab ?? null;
  }

  /** The page in front may be another one, or may have changed. */
  async consider() {
    const turn = ++this.#turn;
    const [tab] = (await level()) === "ask" ? [] :
      await chrome.tabs.query({ active: true, lastFocusedWindow: true, windowType: "normal" });
    if (turn !== this.#turn) return;
    // A page may change its title and address without end: that does not begin the second anew.
    if (tab && tab.id === this.#awaited) return;
    clearTimeout(this.#timer);
    this.#awaited = tab && tab.id !== this.tab ? tab.id : null;
    if (tab && this.#awaited === null) return this.#offer(tab, false, turn);
    if (tab) this.#timer = setTimeout(() => {
      this.#awaited = null;
      this.#offer(tab, false, ++this.#turn);
    }, IN_FRONT_MS);
  }

  /** The user has pressed the button. */
  async offerByButton(tab) {
    const turn = ++this.#turn;
    clearTimeout(this.#timer);
    this.#awaited = null;
    this.#port.forgive();
    await this.#offer(tab, true, turn);
  }

  async #offer(seen, byButton, turn) {
    const tab = await chrome.tabs.get(seen.id).catch(() => null);
    const address = tabAddress(tab, await excludedHosts());
    if (turn !== this.#turn) return;
    if (address.reason) return this.#refuse(seen.id, address.reason);
    if (byButton || !isSamePage(this.#withdrawn.get(tab.id) ?? "", address.url)) this.#withdrawn.delete(tab.id);
    if (this.#withdrawn.has(tab.id)) return this.#refuse(tab.id, "You have withdrawn this page.");
    if (await this.#stays(tab.id, address.url, byButton))
      return turn === this.#turn && this.#refuse(tab.id, "The page asks not to be handed over.");
    if (turn !== this.#turn || !(await this.#port.open()) || turn !== this.#turn) return;
    const offered = { tab: tab.id, url: address.url, title: (tab.title ?? "").slice(0, TITLE_MOST), byButton };
    const former = this.#offered;
    this.reason = null;
    this.#offered = offered;
    const isSame = former?.tab === offered.tab && former.url === offered.url && former.title === offered.title;
    if (!isSame || this.#hasFocus)
      this.#port.send({ t: "current", tab: offered.tab, url: offered.url, title: offered.title });
    this.#hasFocus = false;
  }

  /** The page in front is offered again, so that it is the frontmost of all profiles. */
  focused() {
    this.#hasFocus = true;
  }

  /** Asks the page, if scripts may enter it. */
  async #stays(tab, url, byButton) {
    if (!byButton && !(await mayEnter(url))) return false;
    const answers = await chrome.scripting
      .executeScript({ target: { tabId: tab, frameIds: [0] }, func: asksToStay, injectImmediately: true })
      .catch(() => []);
    return answers[0]?.result === true;
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
  refused({ tab, reason }) {
    if (tab !== this.tab) return;
    this.#offered = null;
    this.reason = String(reason);
  }

  wasContinued({ tab, app, device }) {
    this.continued = { tab, app: String(app ?? ""), device: String(device ?? "") };
  }

  closed() {
    this.#offered = null;
  }

  tabRemoved(tab) {
    this.#withdrawn.delete(tab);
    if (tab === this.tab) this.withdraw();
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
    const answer = await this.#place(tab, offered).catch(() => ({}));
    reply({ t: "state", id, ...answer });
    if (answer.refused) this.#refuse(tab, "The page asks not to be handed over.");
  }

  async #place(tab, offered) {
    if (!offered || offered.tab !== tab) return {};
    if (await this.#stays(tab, offered.url, offered.byButton)) return { refused: true };
    const target = { tabId: tab, frameIds: [0] };
    // At once: a page may never end.
    const injectImmediately = true;
    await chrome.scripting.executeScript({ target, injectImmediately, files: ["place.js"] });
    const [{ result }] = await chrome.scripting.executeScript({
      target,
      injectImmediately,
      func: () => globalThis.seguePlace.take(),
    });
    // The tab may have gone to another page since, and that may be offered by now.
    if (!result?.position || !isSamePage(pageAddress(result.url).url ?? "", this.#offered?.url ?? "")) return {};
    return { position: result.position };
  }
}
