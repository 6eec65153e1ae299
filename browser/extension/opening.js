// SPDX-License-Identifier: Apache-2.0
// Pages that are continued here: each is opened in one tab, whatever happens (R12.3), at its place (R12.6).

import { pageAddress, withTextDirective } from "./rules.js";
import { mayEnter } from "./settings.js";

/** Continuations that are remembered. */
const REMEMBERED = 64;

export class Opening {
  /** The functions that wait for a tab to show its page, by tab. */
  #waiting = new Map();
  /** Openings are made one after the other, so that each finds what the former one has stored. */
  #last = Promise.resolve();

  open(message, reply) {
    this.#last = this.#last.then(() => this.#open(message, reply)).catch((error) => {
      reply({ t: "failed", id: message.id, reason: String(error?.message ?? error).slice(0, 200) });
    });
  }

  tabChanged(tab, change, details) {
    if (hasPage(change, details)) this.#shown(tab);
  }

  tabRemoved(tab) {
    this.#waiting.delete(tab);
  }

  #shown(tab) {
    const shown = this.#waiting.get(tab);
    this.#waiting.delete(tab);
    shown?.();
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
    const target = mayPlace ? address.url : withTextDirective(address.url, position);
    // Stored before the tab is there: if the browser ends in between, the next delivery looks for the tab.
    const entry = { continuation, url: target, session, tab: null };
    const others = openings.filter((each) => each !== known).slice(1 - REMEMBERED);
    await chrome.storage.local.set({ openings: [...others, entry] });
    const tab = await created(target);
    const shown = new Promise((resolve) => this.#waiting.set(tab.id, resolve));
    await chrome.storage.local.set({ openings: [...others, { ...entry, tab: tab.id }] });
    const now = await chrome.tabs.get(tab.id);
    if (hasPage({ status: now.status }, now)) this.#shown(tab.id);
    // Other pages need not wait for this one.
    shown.then(async () => {
      reply({ t: "opened", id });
      if (mayPlace) await place(tab.id, address.url, position);
    });
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
