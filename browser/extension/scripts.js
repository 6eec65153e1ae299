// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scripts of the extension in pages.

/** Runs a function in the top frame of a tab, behind a file that it needs: at once, for a page may never end. */
export async function run(tab, file, func, ...args) {
  const where = { target: { tabId: tab, frameIds: [0] }, injectImmediately: true };
  if (file) await chrome.scripting.executeScript({ ...where, files: [file] });
  const [{ result }] = await chrome.scripting.executeScript({ ...where, func, args });
  return result;
}

/** Tells whether scripts may enter the pages of an address without a click. */
export async function mayEnter(url) {
  const { protocol, hostname } = new URL(url);
  return chrome.permissions.contains({ origins: [`${protocol}//${hostname}/*`] });
}
