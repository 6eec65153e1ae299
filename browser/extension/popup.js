// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The popup of the button: whether this page is offered, and if not, why; the level; the excluded hosts.

import { isExcluded, tabAddress } from "./rules.js";
import { excludedHosts, level, setExcluded } from "./settings.js";

const EVERYWHERE = ["http://*/*", "https://*/*"];
const find = (id) => document.getElementById(id);

const ask = (question) => chrome.runtime.sendMessage(question);
const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });

function sentence({ offered, reason, problem, continued }, address) {
  if (problem) return `Not connected: ${problem} Run \`segue setup\`.`;
  if (address.reason) return `Not offered. ${address.reason}`;
  if (continued?.tab === tab.id) return `Continued in ${continued.app || "another app"} on ${continued.device || "this device"}.`;
  if (offered === tab.id) return "This page is offered to your other browsers and apps.";
  return reason ? `Not offered. ${reason}` : "This page is not offered.";
}

async function show(state) {
  const excluded = await excludedHosts();
  const address = tabAddress(tab, excluded);
  const { host } = address.host ? address : tabAddress(tab, []);
  find("state").textContent = sentence(state, address);
  find("offer").disabled = Boolean(address.reason) && state.offered !== tab.id;
  find("offer").textContent = state.offered === tab.id ? "Withdraw this page" : "Offer this page";
  find("offer").onclick = async () =>
    show(await ask(state.offered === tab.id ? { ask: "withdraw" } : { ask: "offer", tab: { id: tab.id } }));
  for (const radio of document.getElementsByName("level")) radio.checked = radio.value === (await level());
  find("exclusion").hidden = !host;
  find("host").textContent = host ?? "";
  find("excluded").checked = Boolean(host) && isExcluded(host, excluded);
  find("excluded").onchange = async ({ target }) => {
    await setExcluded(host, target.checked);
    if (target.checked && state.offered === tab.id) await ask({ ask: "withdraw" });
    show(await ask({ ask: "state" }));
  };
}

/** Asks the browser for the permissions of a level, or gives back those that it does not need. */
async function choose(wanted) {
  const all = (await chrome.permissions.getAll()).origins ?? [];
  if (wanted === "ask") await chrome.permissions.remove({ permissions: ["tabs"], origins: all });
  if (wanted === "pages") {
    await chrome.permissions.request({ permissions: ["tabs"] });
    if (all.length > 0) await chrome.permissions.remove({ origins: all });
  }
  if (wanted === "sites") {
    const data = chrome.runtime.getBrowserInfo ? { data_collection: ["websiteContent", "websiteActivity"] } : {};
    await chrome.permissions.request({ permissions: ["tabs"], origins: EVERYWHERE, ...data });
  }
}

for (const radio of document.getElementsByName("level"))
  radio.addEventListener("change", async () => {
    await choose(radio.value).catch((error) => (find("state").textContent = error.message));
    show(await ask({ ask: "state" }));
  });
show(await ask({ ask: "state" }));
