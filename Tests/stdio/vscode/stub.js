// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// As much of the interface of VS Code as the extension uses, on real files: documents, editors, edits and events.
"use strict";
const fs = require("node:fs");
const path = require("node:path");

class Event {
  #listeners = new Set();
  on = (listener) => {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  };
  fire(value) {
    for (const listener of this.#listeners) listener(value);
  }
}

class Uri {
  constructor(scheme, authority, name) {
    Object.assign(this, { scheme, authority, path: name });
  }
  static file = (name) => new Uri("file", "", name);
  static parse(text) {
    const [, scheme, , authority, name] = /^([a-z-]+):(\/\/([^/]*))?(.*)$/.exec(text).map((each) => each ?? "");
    return new Uri(scheme, authority.replace("//", ""), decodeURIComponent(name));
  }
  with = (change) => new Uri(change.scheme ?? this.scheme, this.authority, change.path ?? this.path);
  get fsPath() {
    return this.path;
  }
  toString() {
    const name = this.path.split("/").map(encodeURIComponent).join("/");
    return this.scheme === "file" ? `file://${name}` : `${this.scheme}:${name}`;
  }
}

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Range {
  constructor(start, end, ...rest) {
    [this.start, this.end] = rest.length ? [new Position(start, end), new Position(...rest)] : [start, end];
  }
}

class Selection extends Range {
  constructor(anchor, active) {
    super(anchor, active);
    Object.assign(this, { anchor, active });
  }
  get isEmpty() {
    return this.anchor.line === this.active.line && this.anchor.character === this.active.character;
  }
}

const EndOfLine = { LF: 1, CRLF: 2 };
const events = Object.fromEntries(
  ["Open", "Save", "Close", "Change", "Active", "State"].map((name) => [name, new Event()]),
);
const documents = [];
let untitled = 0;

class Document {
  isDirty = false;
  isClosed = false;
  constructor(uri, text, languageId = "plaintext") {
    Object.assign(this, { uri, languageId });
    this.eol = text.includes("\r\n") ? EndOfLine.CRLF : EndOfLine.LF;
    this.text = text;
  }
  get lines() {
    return this.text.split(/\r\n|\r|\n/);
  }
  get lineCount() {
    return this.lines.length;
  }
  get isUntitled() {
    return this.uri.scheme === "untitled";
  }
  lineAt = (line) => ({ text: this.lines[line] });
  getText = () => this.text;
  /** Takes another text, as if a user had typed it. */
  type(text) {
    this.text = this.eol === EndOfLine.CRLF ? text.replace(/\r?\n/g, "\r\n") : text;
    this.isDirty = true;
    events.Change.fire({ document: this });
  }
  async save() {
    fs.writeFileSync(this.uri.fsPath, this.text);
    this.isDirty = false;
    events.Save.fire(this);
  }
}

function opened(document) {
  documents.push(document);
  events.Open.fire(document);
  return document;
}

const workspace = {
  name: "budget",
  textDocuments: documents,
  getConfiguration: () => ({ get: (name) => ({ team: "T" })[name] }),
  async openTextDocument(what) {
    if (!(what instanceof Uri)) {
      const document = new Document(new Uri("untitled", "", `Untitled-${++untitled}`), what.content, what.language);
      document.isDirty = what.content !== "";
      return opened(document);
    }
    const there = documents.find((each) => each.uri.toString() === what.toString());
    if (there) return there;
    return opened(new Document(what, what.scheme === "file" ? fs.readFileSync(what.fsPath, "utf8") : ""));
  },
  async applyEdit(edit) {
    for (const [uri, text] of edit.replaced) {
      documents.find((each) => each.uri.toString() === uri.toString()).type(text);
    }
    return true;
  },
  onDidOpenTextDocument: events.Open.on,
  onDidSaveTextDocument: events.Save.on,
  onDidCloseTextDocument: events.Close.on,
  onDidChangeTextDocument: events.Change.on,
};

class WorkspaceEdit {
  replaced = [];
  replace(uri, range, text) {
    const document = documents.find((each) => each.uri.toString() === uri.toString());
    if (range.start.line !== 0 || range.end.line < document.lineCount) throw new Error("expected the whole text");
    this.replaced.push([uri, text]);
  }
}

const window = {
  activeTextEditor: undefined,
  visibleTextEditors: [],
  async showTextDocument(document) {
    const there = this.visibleTextEditors.find((each) => each.document === document);
    const start = new Position(0, 0);
    const editor = there ?? { document, selection: new Selection(start, start), visibleRanges: [new Range(0, 0, 9, 0)] };
    editor.revealRange = (range, kind) => {
      if (kind === "at top") editor.visibleRanges = [new Range(range.start, new Position(range.start.line + 9, 0))];
    };
    this.visibleTextEditors = [editor];
    this.activeTextEditor = editor;
    events.Active.fire(editor);
    return editor;
  },
  createStatusBarItem: () => ({ show() {}, hide() {}, dispose() {} }),
  setStatusBarMessage() {},
  async showWarningMessage() {},
  async showInformationMessage() {},
  async showQuickPick() {},
  onDidChangeActiveTextEditor: events.Active.on,
  onDidChangeWindowState: events.State.on,
};

const registered = new Map();
const commands = {
  registerCommand(name, action) {
    registered.set(name, action);
    return { dispose: () => registered.delete(name) };
  },
  async executeCommand(name, ...rest) {
    if (name !== "workbench.action.closeActiveEditor") return registered.get(name)(...rest);
    const { document } = window.activeTextEditor;
    documents.splice(documents.indexOf(document), 1);
    window.visibleTextEditors = [];
    window.activeTextEditor = undefined;
    events.Close.fire(document);
  },
};

module.exports = {
  ...{ Uri, Position, Range, Selection, EndOfLine, WorkspaceEdit, workspace, window, commands },
  TextEditorRevealType: { AtTop: "at top" },
  env: { appName: "Visual Studio Code", uriScheme: "vscode" },
};

if (require.main === module) {
  const Module = require("node:module");
  const resolve = Module._resolveFilename;
  Module._resolveFilename = (name, ...rest) => (name === "vscode" ? __filename : resolve(name, ...rest));
  Module._cache[__filename] = module;
  const driver = require("./driver.js");
  const extension = require(path.join(__dirname, "../../../integrations/vscode/extension.js"));
  const context = { subscriptions: [] };
  extension.activate(context);
  driver.run().then(() => extension.deactivate());
}
