// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages that are continued here: each is opened in one tab, whatever happens (R12.3), at its place (R12.6).

import { isSamePage, pageAddress, withTextDirective } from "./rules.js";
import { mayEnter } from "./settings.js";

/** Continuations that are remembered. */
const REMEMBERED = 64;

/** Milliseconds for a tab to show its page, as for the whole continuation (R3.9). Other pages wait for the answer. */
const SHOWN_MS = 20_000;

export class Opening {
  /** { tab, isReady, resolve } for each wait for a tab. */
  #waiting = [];
  /** Openings are made one after the other, so that each finds what the former one has stored. */
  #last = Promise.resolve();

  open(message, reply) {
    this.#last = this.#last.then(() => this.#open(message, reply)).catch((error) => {
      reply({ t: "failed", id: message.id, reason: String(error?.message ?? error).slice(0, 200) });
    });
  }

  tabChanged(tab, change, details) {
    this.#waiting = this.#waiting.filter((each) => {
      const isOver = each.tab === tab && each.isReady(change, details);
      if (isOver) each.resolve(true);
      return !isOver;
    });
  }

  tabRemoved(tab) {
    this.#waiting = this.#waiting.filter((each) => each.tab !== tab || each.resolve(false));
  }

  /** Waits for a tab. Returns whether it is ready; false if it was closed before, or took too long. */
  async #until(tab, isReady) {
    const ready = new Promise((resolve) => {
      const wait = { tab, isReady, resolve };
      this.#waiting.push(wait);
      setTimeout(() => (this.#waiting = this.#waiting.filter((each) => each !== wait || resolve(false))), SHOWN_MS);
    });
    const now = await chrome.tabs.get(tab).catch(() => null);
    if (now) this.tabChanged(tab, { status: now.status }, now);
    else this.tabRemoved(tab);
    return ready;
  }

  async #open({ id, continuation, url, position }, reply) {
    const address = pageAddress(url);
    if (address.reason) throw new Error(address.reason);
    const { openings } = await chrome.storage.local.get({ openings: [] });
    const session = await thisSession();
    const known = openings.find((each) => each.continuation === continuation);
    const former = known && (await tabOf(known, session));
    if (former) {
      await focus(former);
      reply({ t: "opened", id });
      return;
    }
    const mayPlace = position && (await mayEnter(address.url));
    const directed = mayPlace ? address.url : withTextDirective(address.url, position);
    // Firefox follows a directive only within a page that is there.
    const isLate = directed !== address.url && Boolean(chrome.runtime.getBrowserInfo);
    const target = isLate ? address.url : directed;
    // Stored before the tab is there: if the browser ends in between, the next delivery looks for the tab.
    const entry = { continuation, url: target, session, tab: null };
    const others = openings.filter((each) => each !== known).slice(1 - REMEMBERED);
    await chrome.storage.local.set({ openings: [...others, entry] });
    const tab = await created(target);
    await chrome.storage.local.set({ openings: [...others, { ...entry, tab: tab.id }] });
    // Other pages need not wait for this one.
    this.#until(tab.id, hasPage).then(async (isThere) => {
      reply({ t: isThere ? "opened" : "deferred", id });
      if (!isThere) return;
      if (mayPlace) await place(tab.id, address.url, position);
      if (isLate) await this.#direct(tab.id, address.url, directed);
    });
  }

  async #direct(tab, url, directed) {
    if (!(await this.#until(tab, (change) => change.status === "complete"))) return;
    const now = await chrome.tabs.get(tab).catch(() => null);
    // A page that was led elsewhere learns nothing.
    if (now?.url && isSamePage(now.url, url)) await chrome.tabs.update(tab, { url: directed, loadReplace: true });
  }
}

/** Tells whether a tab shows a page. Without the permission `tabs` only its end is visible. */
function hasPage(change, tab) {
  return tab.url ? /^https?:/.test(tab.url) : change.status === "complete";
}

/** Returns a name of this run of the browser: the numbers of tabs are those of one run. */
async function thisSession() {
  const { session } = await chrome.storage.session.get({ session: null });
  if (session) return session;
  const made = crypto.randomUUID();
  await chrome.storage.session.set({ session: made });
  return made;
}

/** Returns the tab that an earlier delivery has opened, if it is still there. */
async function tabOf(entry, session) {
  if (entry.session === session && entry.tab !== null) {
    const found = await chrome.tabs.get(entry.tab).catch(() => null);
    if (found) return found;
  }
  // The extension was stopped before it knew the tab, or the browser has restored its tabs. Their addresses are visible
  // with the permission `tabs` only.
  const page = entry.url.split("#")[0];
  const tabs = await chrome.tabs.query({});
  return tabs.find(({ url, pendingUrl }) => [url, pendingUrl].some((each) => each?.split("#")[0] === page)) ?? null;
}

async function focus(tab) {
  await chrome.tabs.update(tab.id, { active: true });
  await chrome.windows.update(tab.windowId, { focused: true }).catch(() => {});
}

async function created(url) {
  const windows = await chrome.windows.getAll({ windowTypes: ["normal"] });
  if (windows.length === 0) return (await chrome.windows.create({ url, focused: true })).tabs[0];
  const tab = await chrome.tabs.create({ url, active: true });
  await chrome.windows.update(tab.windowId, { focused: true }).catch(() => {});
  return tab;
}

/** Goes to the place. A page that was led to another origin gets nothing. */
async function place(tab, url, position) {
  const target = { tabId: tab, frameIds: [0] };
  try {
    await chrome.scripting.executeScript({ target, files: ["place.js"], injectImmediately: true });
    await chrome.scripting.executeScript({
      target,
      func: (origin, wanted) => location.origin === origin && globalThis.seguePlace.restore(wanted),
      args: [new URL(url).origin, position],
      injectImmediately: true,
    });
  } catch {
    // An error page, or one that scripts may not enter.
  }
}
