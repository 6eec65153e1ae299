// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages that are continued here: each is opened in one tab, whatever happens (R12.3), at its place (R12.6).

import { isSamePage, pageAddress, withTextDirective } from "./rules.js";
import { mayEnter, run } from "./scripts.js";

/** Continuations that are remembered. */
const REMEMBERED = 64;
/** Milliseconds within which a page may take its activity (R12.7): it may lead the user through a login first. */
const TAKING_MS = 60_000;
/** Milliseconds for a tab to show its page, as for the whole continuation (R3.9). Other pages wait for the answer. */
const SHOWN_MS = 20_000;

export class Opening {
  /** { tab, isReady, resolve } for each wait for a tab. */
  #waiting = [];
  /** Openings are made one after the other, so that each finds what the former one has stored. */
  #last = Promise.resolve();
  /** Promises { openings, session }, as they are stored: nobody else writes them, so they are read once. */
  #stored = null;
  /** { origin, activity, until } by tab: activities that no page has taken yet. */
  #arrived = new Map();

  open(message, reply) {
    const fail = (reason) => reply({ t: "failed", id: message.id, reason: String(reason).slice(0, 200) });
    const failed = (error) => fail(error?.message ?? error, (this.#stored = null));
    this.#last = this.#last.then(() => this.#open(message, reply)).catch(failed);
  }

  tabChanged(tab, change, details) {
    const isOver = (each) => each.tab === tab && each.isReady(change, details);
    this.#waiting = this.#waiting.filter((each) => !isOver(each) || each.resolve(true));
    if (change.status) this.#give(tab);
  }

  /** Gives a page of the same origin its activity; each page that the tab shows, until one has taken it. */
  async #give(tab) {
    const { origin, activity, until } = this.#arrived.get(tab) ?? {};
    const patience = until - performance.now();
    if (!(patience > 0)) return this.#arrived.delete(tab);
    const take = (origin, ...more) => location.origin === origin && globalThis.seguePage.take(...more);
    await run(tab, "page.js", take, origin, activity, patience).catch(() => {});
  }

  taken(tab, { taken }) { if (this.#arrived.get(tab)?.activity.continuation === taken) this.#arrived.delete(tab); }

  tabRemoved(tab) {
    this.#arrived.delete(tab);
    this.#waiting = this.#waiting.filter((each) => each.tab !== tab || each.resolve(false));
  }

  /** Waits for a tab. Returns whether it is ready; false if it was closed before, or took too long. */
  #until(tab, isReady) {
    const ready = new Promise((resolve) => {
      const wait = { tab, isReady, resolve };
      this.#waiting.push(wait);
      setTimeout(() => (this.#waiting = this.#waiting.filter((each) => each !== wait || resolve(false))), SHOWN_MS);
    });
    chrome.tabs.get(tab).then((now) => this.tabChanged(tab, { status: now.status }, now), () => this.tabRemoved(tab));
    return ready;
  }

  async #open({ id, continuation, url, position, activity, userInfo }, reply) {
    const address = pageAddress(url);
    if (address.reason) throw new Error(address.reason);
    const { origin } = new URL(address.url);
    const { openings, session } = await (this.#stored ??= stored());
    const known = openings.find((each) => each.continuation === continuation);
    const former = known && (await tabOf(known, session));
    if (former) return focus(former).then(() => reply({ t: "opened", id }));
    // Stored before the tab is there: if the browser ends in between, the next delivery looks for the tab.
    const entry = { continuation, url: address.url, session, tab: null };
    const others = openings.filter((each) => each !== known).slice(1 - REMEMBERED);
    const windows = chrome.windows.getAll({ windowTypes: ["normal"] });
    const [, [window], isGranted] =
      await Promise.all([this.#store([...others, entry], session), windows, mayEnter(address.url)]);
    const directed = isGranted ? address.url : withTextDirective(address.url, position);
    // Firefox follows a directive only within a page that is there.
    const isLate = directed !== address.url && Boolean(chrome.runtime.getBrowserInfo);
    const tab = await created(isLate ? address.url : directed, window);
    focusWindow(tab);
    await this.#store([...others, { ...entry, tab: tab.id }], session);
    const own = { activity: { continuation, type: activity, userInfo }, until: performance.now() + TAKING_MS };
    if (activity && isGranted) this.#arrived.set(tab.id, { origin, ...own });
    // Other pages need not wait for this one.
    this.#until(tab.id, hasPage).then(async (isThere) => {
      reply({ t: isThere ? "opened" : "deferred", id });
      if (!isThere) return;
      this.#give(tab.id);
      // An error page, or one that scripts may not enter or that was led to another origin, gets nothing.
      const restore = (origin, wanted) => location.origin === origin && globalThis.seguePlace.restore(wanted);
      if (isGranted && position) await run(tab.id, "place.js", restore, origin, position).catch(() => {});
      if (isLate) await this.#direct(tab.id, address.url, directed);
    });
  }

  #store(openings, session) {
    this.#stored = Promise.resolve({ openings, session });
    return chrome.storage.local.set({ openings });
  }

  async #direct(tab, url, directed) {
    if (!(await this.#until(tab, (change) => change.status === "complete"))) return;
    const now = await chrome.tabs.get(tab).catch(() => null);
    // A page that was led elsewhere learns nothing.
    if (now?.url && isSamePage(now.url, url)) await chrome.tabs.update(tab, { url: directed, loadReplace: true });
  }
}

/** Tells whether a tab shows a page. Without the permission `tabs` only its end is visible. */
const hasPage = (change, tab) => (tab.url ? /^https?:/.test(tab.url) : change.status === "complete");

async function stored() {
  const [{ openings }, session] = await Promise.all([chrome.storage.local.get({ openings: [] }), thisSession()]);
  return { openings, session };
}

/** Returns a name of this run of the browser: the numbers of tabs are those of one run. */
async function thisSession() {
  const { session } = await chrome.storage.session.get({ session: null });
  const made = session ?? crypto.randomUUID();
  return session ? made : chrome.storage.session.set({ session: made }).then(() => made);
}

/** Returns the tab that an earlier delivery has opened, if it is still there. */
async function tabOf(entry, session) {
  const isOfNow = entry.session === session && entry.tab !== null;
  const found = isOfNow && (await chrome.tabs.get(entry.tab).catch(() => null));
  if (found) return found;
  // The extension was stopped before it knew the tab, or the browser has restored its tabs.
  const tabs = await chrome.tabs.query({});
  return tabs.find(({ url, pendingUrl }) => [url, pendingUrl].some((each) => each && isSamePage(each, entry.url)));
}

const focusWindow = (tab) => chrome.windows.update(tab.windowId, { focused: true }).catch(() => {});

const focus = (tab) => chrome.tabs.update(tab.id, { active: true }).then(() => focusWindow(tab));

const created = async (url, window) =>
  window ? chrome.tabs.create({ url }) : (await chrome.windows.create({ url })).tabs[0];
