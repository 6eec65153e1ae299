// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A page's own activity (R12.7), in the page's isolated world. A page gets no event without a `meta` element for one,
// unless it is opened for one, and so cannot tell that the extension is there. All that pages say is checked in rules.js.

// A document has its elements with an id as properties of this object, too: those are not its own.
if (!Object.hasOwn(globalThis, "seguePage")) globalThis.seguePage = (() => {
  /** Characters of a message of the page, with 64 KiB of state as a string in it. */
  const SIZE = 200_000;
  const SAVE_MS = 800;
  /** Milliseconds between two notices to the background script, however many events there are. */
  const PAUSE_MS = 100;
  /** The questions that the page has not answered, by number. */
  const waiting = new Map();
  let [number, planned, last] = [0, null, null];
  /** { continuation, type, userInfo, until }: the page has not taken it yet. */
  let arrived = null;

  /** Tells whether the page speaks for its site: others may have written a document without an origin. */
  const isOfItsSite = () => isSecureContext && globalThis.origin === location.origin;
  /** Returns whether the page has taken it. */
  const tell = (message) =>
    !document.dispatchEvent(new CustomEvent("segue-extension", { cancelable: true, detail: JSON.stringify(message) }));
  /** Tells the background script, unless the page has outlived that. */
  const report = (notice) => chrome.runtime?.id && chrome.runtime.sendMessage(notice).catch(() => {});
  const named = (name) => [...document.querySelectorAll(`meta[name="${name}" i]`)].map((each) => each.content.trim());

  function ask(t, answer) {
    waiting.set(++number, answer);
    tell({ t, id: number });
    return number;
  }

  function heard({ detail }) {
    if (typeof detail !== "string" || detail.length > SIZE) return;
    try {
      if (waiting.size > 0) return waiting.get(JSON.parse(detail).id)(detail);
    } catch {
      // It answers nothing.
    }
    planned ??= setTimeout(() => report({ changed: true }, (planned = null)), PAUSE_MS);
    give();
  }

  /** Gives the page what has arrived, if somebody listens there. */
  function give() {
    const given = arrived;
    arrived = null;
    if (!given || performance.now() > given.until) return;
    if (!tell({ t: "continue", type: given.type, userInfo: given.userInfo })) arrived = given;
    else report({ taken: given.continuation });
  }

  /** Returns { url, refuses, type, activity } of the page: the type that it names, and more of its activity as JSON. */
  function describe(isGranted) {
    const hears = isGranted && isOfItsSite();
    if (hears) document.addEventListener("segue-page", heard);
    const type = hears ? named("segue-activity")[0] : null;
    let said = null;
    // A library answers at once; without one the type is all.
    if (type) waiting.delete(ask("read", (detail) => (said = detail)));
    const refuses = named("segue").some((each) => each.toLowerCase() === "none");
    return { url: location.href, refuses, type, activity: said };
  }

  /** Returns { url, activity } with its state, once the page has brought that up to date. */
  async function save() {
    const activity = await new Promise((resolve) => {
      const id = ask("save", resolve);
      setTimeout(() => waiting.delete(id) && resolve(null), SAVE_MS);
    });
    return { url: location.href, activity };
  }

  /** Gives an activity to the page, as soon as somebody listens within so many milliseconds. */
  function take(wanted, patience) {
    if (!isOfItsSite() || wanted.continuation === last) return;
    last = wanted.continuation;
    arrived = { ...wanted, until: performance.now() + patience };
    document.addEventListener("segue-page", heard);
    give();
  }

  return { describe, save, take, tell };
})();
