// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The background script: events of the browser and messages of the host, each to the object that it concerns. All
// listeners are registered at once, since the browser starts this script for them.

import { Offering } from "./offering.js";
import { Opening } from "./opening.js";
import { Port } from "./port.js";
import { level } from "./settings.js";

const handlers = {
  save: (message, reply) => offering.save(message, reply),
  open: (message, reply) => opening.open(message, reply),
  refused: (message) => offering.refused(message),
  continued: (message) => offering.wasContinued(message),
};
const handle = (message, reply) => Object.hasOwn(handlers, message.t) && handlers[message.t](message, reply);
const port = new Port(handle, () => offering.closed());
const offering = new Offering(port);
const opening = new Opening();

/** With "pages" and "sites" the port is always open, so that pages can be continued here. */
async function follow() {
  if ((await level()) === "ask") return offering.tab === null && port.close();
  await port.open();
  await offering.consider();
}

/** Follows at most ten times a second, however many events there are (a page can cause them). */
let planned = null;
function followSoon() {
  planned ??= setTimeout(() => follow((planned = null)), 100);
}

for (const event of [chrome.runtime.onStartup, chrome.runtime.onInstalled, chrome.permissions.onAdded])
  event.addListener(follow);
chrome.permissions.onRemoved.addListener(() => follow(offering.withdraw()));
chrome.storage.onChanged.addListener((changes) => changes.excluded && follow());
for (const event of [chrome.tabs.onActivated, chrome.tabs.onCreated, chrome.tabs.onReplaced]) event.addListener(followSoon);
chrome.windows.onFocusChanged.addListener((window) =>
  window !== chrome.windows.WINDOW_ID_NONE && followSoon(offering.focused()));
chrome.tabs.onRemoved.addListener((tab, { isWindowClosing }) => {
  // A browser that ends is no answer: the page comes again to the next host.
  if (!isWindowClosing) opening.tabRemoved(tab);
  offering.tabRemoved(tab);
  followSoon();
});
chrome.tabs.onUpdated.addListener((tab, change, details) => {
  opening.tabChanged(tab, change, details);
  offering.tabChanged(tab, change, details);
  if (details.active || !port.isOpen) followSoon();
});

/** Questions of the popup, and notices of page.js. Pages and other extensions reach no listener. */
chrome.runtime.onMessage.addListener((question, sender, answer) => {
  if (sender.id !== chrome.runtime.id) return false;
  if (sender.tab && sender.frameId === 0) opening.taken(sender.tab.id, question);
  if (sender.tab) return followSoon();
  const work = {
    offer: () => offering.offerByButton(question.tab),
    withdraw: () => offering.withdraw(true),
    exclude: () => offering.withdraw(),
  }[question.ask];
  Promise.resolve(work?.()).then(() => {
    answer({ offered: offering.tab, reason: offering.reason, problem: port.problem, continued: offering.continued });
  });
  return true;
});

follow();
