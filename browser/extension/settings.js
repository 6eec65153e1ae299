// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The user's settings. The level is what the browser says of the permissions, and is stored nowhere else.

const EXCLUDED_MOST = 1000;
/** The hosts that are never offered. */
export async function excludedHosts() {
  const { excluded } = await chrome.storage.local.get({ excluded: [] });
  return Array.isArray(excluded) ? excluded.filter((each) => typeof each === "string") : [];
}

export async function setExcluded(host, isExcluded) {
  const others = (await excludedHosts()).filter((each) => each !== host);
  if (isExcluded && others.length >= EXCLUDED_MOST) throw new Error(`You have excluded ${EXCLUDED_MOST} hosts already.`);
  await chrome.storage.local.set({ excluded: isExcluded ? [...others, host] : others });
}

/** "ask", "pages" or "sites" (R12.4). */
export async function level() {
  const { permissions = [], origins = [] } = await chrome.permissions.getAll();
  return !permissions.includes("tabs") ? "ask" : origins.length > 0 ? "sites" : "pages";
}
