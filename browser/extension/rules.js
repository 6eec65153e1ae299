// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages that may be offered or opened (R12.4). Nothing here asks the browser for anything.

const URL_MOST = 8192;
/** The type of a page that has no activity of its own. */
const BROWSING = "NSUserActivityTypeBrowsingWeb";
/** Bytes of a page's state as JSON, and of that as a browser writes it to the host: "<" can take six. */
const [STATE_MOST, WRITTEN_MOST] = [64 * 1024, 224 * 1024];

/** Escapes what RFC 3986 does not allow, and browsers leave as it is: "|" in a query, for example. */
function escaped(text) {
  return text
    .replace(/[^A-Za-z0-9\-._~:/?@!$&'()*+,;=%]/gu, (each) =>
      [...new TextEncoder().encode(each)].map((byte) => "%" + byte.toString(16).toUpperCase().padStart(2, "0")).join(""))
    .replace(/%(?![0-9A-Fa-f]{2})/g, "%25");
}

/** Reads the address of a page. Returns { url, host } as it travels, or { reason } why it does not. */
export function pageAddress(text) {
  const url = URL.parse(text);
  if (!url) return { reason: "The browser does not show an address here." };
  if (url.protocol !== "https:" && url.protocol !== "http:") return { reason: "Only pages of the web are handed over." };
  if (url.username || url.password) return { reason: "The address holds a user or a password." };
  const fragment = url.hash ? "#" + escaped(url.hash.slice(1)) : "";
  const whole = `${url.protocol}//${url.host}${escaped(url.pathname)}${escaped(url.search)}${fragment}`;
  if (whole.length > URL_MOST) return { reason: "The address is too long." };
  // The root's dot names the same host.
  return { url: whole, host: url.hostname.replace(/\.+$/, "") };
}

/** Tells whether a host, or a domain above it, is excluded. */
export const isExcluded = (host, excluded) => excluded.some((each) => host === each || host.endsWith("." + each));

/** Returns { url } of a tab that may be offered, or { reason }. */
export function tabAddress(tab, excluded) {
  if (!tab) return { reason: "There is no page." };
  if (tab.incognito) return { reason: "Private windows are never handed over." };
  if (!tab.url) return { reason: "The extension may not see this page's address. Offer it with the button." };
  const address = pageAddress(tab.url);
  const { host } = address;
  return host && isExcluded(host, excluded) ? { reason: `You have excluded ${host}.` } : address;
}

const bytes = (text) => new TextEncoder().encode(text);
/**
 * Reads what a page says of its own activity (R12.7): the type that an element names, and a text of JSON, or null.
 * Returns { type, title?, url, userInfo? }, the last one as JSON; null if it is none, or names another origin.
 */
export function pageActivity(named, text, address) {
  try {
    const { type, title, webpageURL, userInfo } = { type: named, ...JSON.parse(text) };
    if (typeof type !== "string" || !/^[\x21-\x7e]{1,255}$/.test(type) || type === BROWSING) return null;
    const page = webpageURL == null ? { url: address } : pageAddress(new URL(webpageURL, address).href);
    if (page.reason || new URL(page.url).origin !== new URL(address).origin) return null;
    const made = { type, url: page.url, title: typeof title === "string" ? title : undefined };
    if (typeof userInfo !== "string") return made;
    const state = JSON.stringify(JSON.parse(userInfo));
    const written = JSON.stringify(state).replaceAll(/[<\u2028\u2029]/g, "\\u003c");
    return bytes(state).length > STATE_MOST || bytes(written).length > WRITTEN_MOST ? made : { ...made, userInfo: state };
  } catch {
    return null;
  }
}

/** Tells whether two addresses are of one page, whatever their fragments. */
export const isSamePage = (one, other) => one.split("#")[0] === other.split("#")[0];

/** Returns the address with a text directive for the place, unless it has a directive. */
export function withTextDirective(url, position) {
  if (!position?.text || url.includes(":~:")) return url;
  const { before = "", after = "" } = position;
  // A directive matches whole words. What was cut may begin or end within one.
  const isCut = position.text.length >= 40 && /^\S/.test(after);
  const inWords = (text, cut) => encodeURIComponent(text.replace(cut, "").trim()).replace(/-/g, "%2D");
  const text = inWords(position.text, isCut ? /\s+\S*$/ : "");
  const isWhole = (context) => context.length < 30 || context.trim().includes("  ");
  const prefix = inWords(before, isWhole(before) ? /^.*\S {2}(?=\S)/ : /^\S*/);
  const suffix = isCut ? "" : inWords(after, isWhole(after) ? /(?<=\S) {2}\S.*$/ : /\S*$/);
  // The second one counts where a browser does not find the surroundings.
  const exact = `${prefix && `${prefix}-,`}${text}${suffix && `,-${suffix}`}`;
  return `${url}${url.includes("#") ? "" : "#"}:~:text=${exact === text ? "" : `${exact}&text=`}${text}`;
}
