// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The connection to segue-browser-host. An open port keeps the background script alive, so that the host can ask for
// the state of a page. If it closes, it is opened again at the next event of a tab; no timer does that.

const HOST = "local.segue.segue.browser";
const PROTOCOL = 1;
/** Milliseconds before a host is started again that has ended within as many. */
const RETRY_MS = 5000;
const WORDS = { "Google Chrome": "chrome", "Microsoft Edge": "edge", Brave: "brave", Vivaldi: "vivaldi" };

/** The word by which the host knows this browser. */
async function browserWord() {
  const info = await chrome.runtime.getBrowserInfo?.();
  if (info) return info.name === "LibreWolf" ? "librewolf" : "firefox";
  return navigator.userAgentData?.brands.map(({ brand }) => WORDS[brand]).find(Boolean) ?? "chromium";
}

/** Returns a message whose texts the host can read: half a pair of surrogates is no character. */
const sendable = (message) =>
  JSON.parse(JSON.stringify(message, (_, value) => (typeof value === "string" ? value.toWellFormed() : value)));

export class Port {
  #port = null;
  #opening = null;
  #opened = 0;
  #failed = -Infinity;
  #onMessage;
  #onClose;
  /** The reason why there is no connection, for the popup. */
  problem = null;

  constructor(onMessage, onClose) { [this.#onMessage, this.#onClose] = [onMessage, onClose]; }

  get isOpen() { return this.#port !== null; }

  /** Opens the port if it is not open. Returns whether it is. */
  async open() {
    if (this.#port || performance.now() - this.#failed < RETRY_MS) return this.isOpen;
    this.#opening ??= this.#connect().finally(() => (this.#opening = null));
    return this.#opening.then(() => this.isOpen);
  }

  async #connect() {
    const browser = await browserWord();
    const port = chrome.runtime.connectNative(HOST);
    port.onDisconnect.addListener(() => this.#closed(port, port.error ?? chrome.runtime.lastError));
    port.onMessage.addListener((message) => this.#received(port, message));
    this.#port = port;
    this.#opened = performance.now();
    this.problem = null;
    this.send({ t: "hello", v: PROTOCOL, browser });
  }

  #received(port, message) {
    if (port !== this.#port || typeof message?.t !== "string") return;
    if (message.t === "refused" && message.tab === undefined) this.problem = String(message.reason);
    // Numbers are those of one host: an answer must not reach its successor.
    else this.#onMessage(message, (answer) => port === this.#port && port.postMessage(sendable(answer)));
  }

  #closed(port, error) {
    if (port !== this.#port) return;
    this.#port = null;
    this.#failed = performance.now() - this.#opened < RETRY_MS ? performance.now() : -Infinity;
    this.problem ??= error?.message ?? "segue-browser-host has ended.";
    this.#onClose();
  }

  send(message) { this.#port?.postMessage(sendable(message)); }
  close() {
    this.#port?.disconnect();
    this.#port = null;
  }

  /** Lets the next attempt begin at once: the user has asked for it. */
  forgive() { this.#failed = -Infinity; }
}
