// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The place on a page (R12.6), in the page's isolated world: `take` when somebody continues the page, `restore` when it
// was continued here. Pages see neither. Form fields, editable elements and passwords are never read.

// A document has its elements with an id as properties of this object, too: those are not its own.
if (!Object.hasOwn(globalThis, "seguePlace")) globalThis.seguePlace = (() => {
  const [TEXT, CONTEXT, ID] = [80, 32, 128];
  /** Milliseconds for which a page may grow before its place is found. */
  const GROWING_MS = 5000;
  /** Characters of a page that are searched. */
  const SEARCHED = 4_000_000;
  /** Text nodes that are looked at around the first block. */
  const NEIGHBOURS = 200;
  /** Elements above one: a form can have a field named "parentElement", and so a circle above it. */
  const DEPTH = 500;
  // With the flag u, surrogates are those that stand alone.
  const INVISIBLE =
    /[\s\ud800-\udfff\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;
  const UNREAD =
    "script,style,noscript,template,input,textarea,select,option,datalist,button,output,[contenteditable]," +
    "[role=textbox],[autocomplete],iframe,object,embed,svg";

  const spaced = (text) => text.replace(/\s+/g, " ");
  /** Texts are compared without white space: neither lines nor blocks matter. */
  const bare = (text) => text.replace(INVISIBLE, "");
  /** A cut may leave half a character at either end. */
  const whole = (text) => text.replace(/[\ud800-\udfff]/gu, "");
  const isEditable = (element) => element.isContentEditable || document.designMode === "on";
  const mayRead = (element) => element && !element.closest(UNREAD) && !isEditable(element);

  function walkerFrom(node, kind = NodeFilter.SHOW_TEXT) {
    const walker = document.createTreeWalker(document.body ?? document.documentElement, kind);
    walker.currentNode = node;
    return walker;
  }

  /** Returns the element that covers the page wherever it is scrolled to, and holds this one. */
  function overlayOf(element) {
    const roots = [null, document.body, document.documentElement];
    for (let each = element, count = 0; !roots.includes(each) && count < DEPTH; each = each.parentElement, count++) {
      const { position, top } = getComputedStyle(each);
      if (position === "fixed") return each;
      if (position === "sticky" && Math.abs(each.getBoundingClientRect().top - parseFloat(top)) < 2) return each;
    }
    return null;
  }

  /** The height of headers that stay at the top of the window. */
  function headerHeight() {
    let height = 0;
    for (let count = 0; count < 4; count++) {
      const overlay = overlayOf(document.elementFromPoint(innerWidth / 2, height + 1));
      const box = overlay?.getBoundingClientRect();
      if (!box || box.bottom <= height || box.bottom > innerHeight / 2) break;
      height = box.bottom;
    }
    return height;
  }

  function rangeOf(node, start) {
    const range = document.createRange();
    range.setStart(node, start);
    range.setEnd(node, Math.min(start + 1, node.length));
    return range;
  }

  /** Returns the box of the character at a place, or of the one before. */
  function characterBox(node, offset) {
    const starts = [offset, offset - 1].filter((each) => each >= 0 && each < node.length);
    return starts.map((each) => rangeOf(node, each).getBoundingClientRect()).find((box) => box.height > 0);
  }

  /** Returns the first text that is in sight, at least 8 pixels of its line below headers: { node, offset }. */
  function firstInSight() {
    const header = headerHeight();
    for (let y = header + 2; y < innerHeight; y += 6) {
      for (const column of [0.5, 0.3, 0.7, 0.15, 0.85, 0.03]) {
        const x = innerWidth * column;
        if (overlayOf(document.elementFromPoint(x, y))) continue;
        const { offsetNode: node, offset } = document.caretPositionFromPoint(x, y) ?? {};
        if (!node || !mayShow(node) || node.getRootNode() !== document || !node.data.trim()) continue;
        const box = characterBox(node, offset);
        if (!box || box.bottom <= y || box.top > y + 6) continue;
        const leading = parseFloat(getComputedStyle(node.parentElement).lineHeight) - box.height;
        if (box.bottom + Math.max(0, leading / 2 || 0) - header > 8) return { node, offset };
      }
    }
    return null;
  }

  function blockOf(node) {
    let block = node.parentElement;
    const isInside = () => block !== document.body && /^(inline|contents|ruby)/.test(getComputedStyle(block).display);
    for (let count = 0; count < DEPTH && block.parentElement && isInside(); count++) block = block.parentElement;
    return block;
  }

  /** Returns where a block's text begins; of a very long one, the word in sight. */
  function startOf(block, seen) {
    const walker = walkerFrom(seen.node);
    let [start, before] = [{ node: seen.node, offset: 0 }, seen.offset];
    for (let count = 0; count < NEIGHBOURS && before < 2000; count++) {
      const node = walker.previousNode();
      if (!node || !block.contains(node) || blockOf(node) !== block) break;
      before += node.length;
      start = { node, offset: 0 };
    }
    if (before < 2000) return start;
    const { data } = seen.node;
    const word = data.slice(Math.max(0, seen.offset - 64), seen.offset).search(/\S*$/);
    return { node: seen.node, offset: Math.max(0, seen.offset - 64) + Math.max(0, word) };
  }

  const mayShow = ({ nodeType, parentElement }) => nodeType === Node.TEXT_NODE && mayRead(parentElement) &&
    getComputedStyle(parentElement).visibility === "visible";

  /** Returns the lines that are shown before a place, and from there on: a block is one, unless it has breaks. */
  function linesAround({ node: first, offset }) {
    const walker = walkerFrom(first, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let size = 0, count = 0; size < CONTEXT && count < NEIGHBOURS && walker.previousNode(); count++)
      size += mayShow(walker.currentNode) ? walker.currentNode.data.slice(-99).trim().length : 0;
    let [node, block, before, from] = [walker.currentNode, null, "", null];
    for (let count = 0; node && count < 2 * NEIGHBOURS && (from ?? "").length < 8 * TEXT; count++) {
      if (mayShow(node)) {
        const isKept = /^(pre|break-spaces)/.test(getComputedStyle(node.parentElement).whiteSpace);
        const shown = (...range) => (isKept ? node.data.slice(...range) : spaced(node.data.slice(...range)));
        const end = block === (block = blockOf(node)) ? "" : "\n";
        if (node === first) [before, from] = [before + end + shown(Math.max(0, offset - 4 * CONTEXT), offset), ""];
        if (from === null) before += end + shown(-4 * CONTEXT);
        else from += node === first ? shown(offset, offset + 4 * TEXT) : end + shown(0, 4 * TEXT);
      } else if (node.nodeName === "BR") from === null ? (before += "\n") : (from += "\n");
      node = walker.nextNode();
    }
    return [before, from ?? ""].map((text) => text.split("\n").map((line) => spaced(line).trim()).filter(Boolean));
  }

  /** Returns { text, before, after } of the first line from a place on that has a word: no browser finds a text of a
   * directive across lines. In what stands before and after it, lines are parted by two blanks. */
  function wordsAt(start) {
    const [before, lines] = linesAround(start);
    const first = Math.max(0, lines.findIndex((line) => /[\p{L}\p{N}]/u.test(line)));
    const [line = "", ...rest] = lines.slice(first);
    const part = (texts, ...range) => whole(texts.join("  ").slice(...range)).trimEnd();
    const [text, after] = [part([line], 0, TEXT), part([line.slice(TEXT), ...rest], 0, CONTEXT)];
    return { text, after, before: part([...before, ...lines.slice(0, first)], -CONTEXT) };
  }

  /** Returns the nearest id at or before an element. */
  function nearestId(element) {
    const walker = walkerFrom(element, NodeFilter.SHOW_ELEMENT);
    for (let each = element, count = 0; each && count < 1000; each = walker.previousNode(), count++)
      if (each.id && each.id.length <= ID && each.id.isWellFormed() && mayRead(each) && !overlayOf(each)) return each.id;
  }

  /** Returns { url, position, refuses } of the page as it is in sight; refuses: it asks not to be handed over. */
  function take() {
    const position = {};
    const page = document.scrollingElement ?? document.documentElement;
    if (page.scrollHeight > 0) position.fraction = Math.min(1, Math.max(0, page.scrollTop / page.scrollHeight));
    const seen = document.contentType?.includes("html") ? firstInSight() : null;
    const block = seen && blockOf(seen.node);
    if (seen) Object.assign(position, wordsAt(startOf(block, seen)), { id: nearestId(block) });
    const said = [...document.querySelectorAll('meta[name="segue" i]')].map((each) => each.content.trim());
    return { url: location.href, position, refuses: said.some((each) => each.toLowerCase() === "none") };
  }

  /** Returns all text of the page that may be read: the bare text, and the nodes with their places in it. */
  function allText() {
    const walker = walkerFrom(document.body ?? document.documentElement);
    const nodes = [];
    let text = "";
    for (let node = walker.nextNode(); node && text.length < SEARCHED; node = walker.nextNode()) {
      if (!mayRead(node.parentElement)) continue;
      const part = bare(node.data);
      if (part) nodes.push({ node, at: text.length });
      text += part;
    }
    return { text, nodes };
  }

  /** Returns the range of the first character at a place in the bare text. */
  function rangeAt({ nodes }, at) {
    const { node, at: begin } = nodes.findLast((each) => each.at <= at);
    let [left, offset] = [at - begin, 0];
    for (const character of node.data) {
      const size = bare(character).length;
      if (size > 0 && left < size) break;
      left -= size;
      offset += character.length;
    }
    return rangeOf(node, Math.min(offset, node.length - 1));
  }

  /** Counts how many characters two texts share. A mark that is not shown, as beside headings, may stand before one. */
  function shared(one, other) {
    const count = (skip) => [...other, ""].findIndex((each, at) => each === "" || each !== one[at + skip]);
    return Math.max(count(0), count(1));
  }
  const backwards = (text) => [...text].reverse();

  /** Returns the range of the text that was in sight, the one with the most alike surroundings. */
  function find({ text, before = "", after = "" }) {
    const wanted = bare(text ?? "");
    if (!wanted) return null;
    const [all, left, right] = [allText(), bare(before), bare(after)];
    let best = null;
    for (let at = all.text.indexOf(wanted), count = 0; at >= 0 && count < 100;
      at = all.text.indexOf(wanted, at + 1), count++) {
      const end = at + wanted.length;
      const score = shared([...all.text.slice(end, end + 2 * CONTEXT)], right) +
        shared(backwards(all.text.slice(Math.max(0, at - 2 * CONTEXT), at)), backwards(left));
      if (best && score <= best.score) continue;
      const range = rangeAt(all, at);
      if (range.getBoundingClientRect().height > 0) best = { score, range };
    }
    return best?.range ?? null;
  }

  /** Scrolls so that a range is the first thing below the headers. */
  function show(range) {
    const element = range.startContainer.parentElement ?? document.documentElement;
    const off = () => range.getBoundingClientRect().top - headerHeight();
    if (Math.abs(off()) > innerHeight || overlayOf(element)) element.scrollIntoView({ block: "start", behavior: "instant" });
    for (let count = 0; count < 3 && Math.abs(off()) > 1; count++) scrollBy({ top: off(), behavior: "instant" });
    // Inside an element that scrolls by itself.
    if (Math.abs(off()) > innerHeight / 2) element.scrollIntoView({ block: "start", behavior: "instant" });
  }

  /** Goes to the id or the height, as long as the text is not there. */
  function showRoughly({ id, fraction }) {
    const target = id ? document.getElementById(id) : null;
    const page = document.scrollingElement ?? document.documentElement;
    if (target) target.scrollIntoView({ block: "start", behavior: "instant" });
    else if (typeof fraction === "number") page.scrollTo({ top: fraction * page.scrollHeight, behavior: "instant" });
  }

  /** Goes to a position while the page grows, for at most 5 s, until the user does something. */
  function restore(position) {
    const over = new AbortController();
    const { signal } = over;
    let [range, last, planned] = [null, -Infinity, null];
    const attempt = () => {
      planned = null;
      last = performance.now();
      if (!range?.startContainer.isConnected) range = find(position);
      if (range) show(range);
      else showRoughly(position);
    };
    // Searches at most five times a second, however often a page changes.
    const changed = () => (planned ??= setTimeout(attempt, Math.max(0, last + 200 - performance.now())));
    const mutations = new MutationObserver(changed);
    const sizes = new ResizeObserver(changed);
    const end = () => {
      [planned, deadline].forEach(clearTimeout);
      planned = 0;
      [mutations, sizes].forEach((each) => each.disconnect());
      over.abort();
    };
    const deadline = setTimeout(end, GROWING_MS);
    for (const each of ["wheel", "touchstart", "pointerdown", "keydown"])
      addEventListener(each, ({ isTrusted }) => isTrusted && end(), { capture: true, passive: true, signal });
    for (const each of ["load", "DOMContentLoaded"]) addEventListener(each, changed, { capture: true, signal });
    mutations.observe(document, { childList: true, characterData: true, subtree: true });
    sizes.observe(document.documentElement);
    if (document.body) sizes.observe(document.body);
    document.fonts?.ready.then(changed);
    attempt();
  }

  return { take, restore };
})();
