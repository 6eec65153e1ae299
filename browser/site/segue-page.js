// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A page's own activity, for https pages: docs/web.md, "Your site and your app". Nothing here has an effect unless the
// user has Segue's extension and has allowed it this site.

const made = new Set();
let current = null;
const mark = document.createElement("meta");
mark.name = "segue-activity";

/** Tells the extension about the current activity. @param {object} [more] */
function say(more) {
  const { type, title, webpageURL } = current ?? {};
  const detail = JSON.stringify({ type, title, webpageURL, ...more });
  document.dispatchEvent(new CustomEvent("segue-page", { detail }));
}

function makeCurrent(activity) {
  current = activity;
  if (current) document.head.append(mark);
  else mark.remove();
  mark.content = current?.type ?? "";
  say();
}

export class UserActivity extends EventTarget {
  #type;
  #title;
  #webpageURL;
  #continues = false;

  constructor(type) {
    super();
    this.#type = String(type);
    this.userInfo = {};
    made.add(this);
  }

  get type() {
    return this.#type;
  }

  get title() {
    return this.#title;
  }

  set title(title) {
    this.#title = title;
    if (current === this) say();
  }

  get webpageURL() {
    return this.#webpageURL;
  }

  set webpageURL(url) {
    this.#webpageURL = url;
    if (current === this) say();
  }

  addEventListener(name, ...rest) {
    super.addEventListener(name, ...rest);
    if (name !== "continue") return;
    this.#continues = true;
    say();
  }

  becomeCurrent() {
    if (made.has(this)) makeCurrent(this);
  }

  resignCurrent() {
    if (current === this) makeCurrent(null);
  }

  invalidate() {
    this.resignCurrent();
    made.delete(this);
  }

  /** Takes an activity that is continued here. Returns whether it is of this type, and somebody listens. */
  static #take({ type, userInfo }) {
    const activity = [current, ...made].find((each) => each?.#type === type && each.#continues);
    if (!activity) return false;
    activity.userInfo = JSON.parse(userInfo);
    activity.dispatchEvent(new Event("continue"));
    return true;
  }

  static {
    document.addEventListener("segue-extension", (event) => {
      const { t, id, ...rest } = JSON.parse(event.detail);
      if (t === "continue" && UserActivity.#take(rest)) event.preventDefault();
      if (t === "read") say({ id });
      const activity = current;
      if (!activity || (t !== "save" && t !== "wascontinued")) return;
      const waits = [];
      activity.dispatchEvent(Object.assign(new Event(t), { waitUntil: (promise) => waits.push(promise) }));
      const answer = () => say({ type: activity.type, id, userInfo: JSON.stringify(activity.userInfo) });
      if (t === "save") waits.length ? Promise.all(waits).then(answer) : answer();
    });
  }
}
