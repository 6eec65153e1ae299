// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages that may be offered or opened (R12.4). Nothing here asks the browser for anything.

const URL_MOST = 8192;

/** Escapes what RFC 3986 does not allow, and browsers leave as it is: "|" in a query, for example. */
function escaped(text) {
  return text
    .replace(/[^A-Za-z0-9\-._~:/?@!$&'()*+,;=%]/gu, (each) =>
      [...new TextEncoder().encode(each)].map((byte) => "%" + byte.toString(16).toUpperCase().padStart(2, "0")).join(""))
    .replace(/%(?![0-9A-Fa-f]{2})/g, "%25");
}

/**
 * Reads the address of a page.
 * Returns { url, host } as it travels, or { reason } why it does not.
 */
export function pageAddress(text) {
  let url;
  try {
    url = new URL(text);
  } catch {
    return { reason: "The browser does not show an address here." };
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return { reason: "Only pages of the web are handed over." };
  if (url.username || url.password) return { reason: "The address holds a user or a password." };
  const fragment = url.hash ? "#" + escaped(url.hash.slice(1)) : "";
  const whole = `${url.protocol}//${url.host}${escaped(url.pathname)}${escaped(url.search)}${fragment}`;
  if (whole.length > URL_MOST) return { reason: "The address is too long." };
  // The root's dot names the same host.
  return { url: whole, host: url.hostname.replace(/\.+$/, "") };
}

/** Tells whether a host, or a domain above it, is excluded. */
export function isExcluded(host, excluded) {
  return excluded.some((each) => host === each || host.endsWith("." + each));
}

/** Returns { url } of a tab that may be offered, or { reason }. */
export function tabAddress(tab, excluded) {
  if (!tab) return { reason: "There is no page." };
  if (tab.incognito) return { reason: "Private windows are never handed over." };
  if (!tab.url) return { reason: "The extension may not see this page's address. Offer it with the button." };
  const address = pageAddress(tab.url);
  if (address.reason) return address;
  if (isExcluded(address.host, excluded)) return { reason: `You have excluded ${address.host}.` };
  return address;
}

/** Tells whether two addresses are of one page, whatever their fragments. */
export function isSamePage(one, other) {
  return one.split("#")[0] === other.split("#")[0];
}

/** Returns the address with a text directive for the place, unless it has a directive. */
export function withTextDirective(url, position) {
  if (!position?.text || url.includes(":~:")) return url;
  let text = position.text.trim();
  // A directive matches whole words; the text may end within one.
  if (text.length >= 40 && position.after && !/^\s/.test(position.after)) text = text.replace(/\s+\S*$/, "");
  const directive = encodeURIComponent(text).replace(/-/g, "%2D");
  return `${url}${url.includes("#") ? "" : "#"}:~:text=${directive}`;
}
