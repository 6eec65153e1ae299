// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The popup of the button: whether this page is offered, and if not, why; the level; the excluded hosts.

import { isExcluded, tabAddress } from "./rules.js";
import { excludedHosts, level, setExcluded } from "./settings.js";

const EVERYWHERE = ["http://*/*", "https://*/*"];
const find = (id) => document.getElementById(id);
const ask = (question) => chrome.runtime.sendMessage(question);
const problemOf = (work) => work.then(() => null, (error) => error.message);
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
  // The entry that excludes this host may be that of a domain above it.
  const named = excluded.find((each) => host && isExcluded(host, [each])) ?? host;
  find("exclusion").hidden = !host;
  find("host").textContent = named ?? "";
  find("excluded").checked = excluded.includes(named);
  find("excluded").onchange = async ({ target }) => {
    const problem = await problemOf(setExcluded(named, target.checked));
    if (target.checked && !problem && state.offered === tab.id) await ask({ ask: "exclude" });
    showAnew(problem);
  };
}

async function showAnew(problem) {
  await show(await ask({ ask: "state" }));
  if (problem) find("state").textContent = problem;
}

/** Asks the browser for the permissions of a level, and gives back those that it does not need. */
async function choose(wanted) {
  const data = chrome.runtime.getBrowserInfo ? { data_collection: ["websiteContent", "websiteActivity"] } : {};
  // First: Firefox lets the handler of an input ask for permissions only until it waits.
  if (wanted === "sites") return chrome.permissions.request({ permissions: ["tabs"], origins: EVERYWHERE, ...data });
  if (wanted === "pages") await chrome.permissions.request({ permissions: ["tabs"] });
  const { origins = [] } = await chrome.permissions.getAll();
  await chrome.permissions.remove({ permissions: wanted === "ask" ? ["tabs"] : [], origins, ...data });
}

for (const radio of document.getElementsByName("level"))
  radio.addEventListener("change", async () => showAnew(await problemOf(choose(radio.value))));
showAnew(null);
