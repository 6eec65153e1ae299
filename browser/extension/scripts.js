// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scripts of the extension in pages.

/** Runs files or a function in the top frame of a tab: at once, for a page may never end. Returns the last result. */
export async function execute(tab, script) {
  const target = { tabId: tab, frameIds: [0] };
  return (await chrome.scripting.executeScript({ target, injectImmediately: true, ...script }))[0].result;
}

/** Runs a function, behind a file that it needs. */
export async function run(tab, file, func, ...args) {
  if (file) await execute(tab, { files: [file] });
  return execute(tab, { func, args });
}

/** Tells whether scripts may enter the pages of an address without a click. */
export async function mayEnter(url) {
  const { protocol, hostname } = new URL(url);
  return chrome.permissions.contains({ origins: [`${protocol}//${hostname}/*`] });
}
