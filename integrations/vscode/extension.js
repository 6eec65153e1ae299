// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Handoff for VS Code: file, selection and unsaved text. Nothing is done while one types: the state is read when
// somebody continues it.
"use strict";
const { createHash } = require("node:crypto");
const { existsSync, statSync, promises: files } = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { Session, LINE } = require("./session.js");

const TYPE = "SegueActivityTypeEditingText", TITLE = "Handoff";
const PROGRAMS = ["/usr/local/libexec/segue/segue-stdio", "/usr/libexec/segue/segue-stdio"];
const BUNDLES = { vscode: "com.visualstudio.code", vscodium: "com.vscodium.codium" };
/** Activities, of which the current one is offered (a session has 64), and bytes of a file whose digest is made. */
const MOST = 32, LARGEST = 16 << 20;
const { window, workspace, env } = vscode;
let session, offers = [], button;
/** The activities of documents by their URIs, the last one offered last; and the times of files as they were read. */
const activities = new Map(), readAt = new Map();
let number = 0;

const warn = (text) => window.showWarningMessage(`${TITLE}: ${text}`);
const told = (promise) => promise.catch((error) => warn(error.message));
const key = (document) => document.uri.toString();
const nameOf = (document) => path.basename(document.uri.path) || "Untitled";
const isOffered = ({ uri, isDirty }) => uri.scheme === "file" || (uri.scheme === "untitled" && isDirty);

const timeOf = (document) => statSync(document.uri.fsPath, { throwIfNoEntry: false })?.mtimeMs;
const noteTime = (document) => document.uri.scheme === "file" && readAt.set(key(document), timeOf(document));

/** The digest of a file that is as it was when it was read or written. */
async function digest(document) {
  const time = timeOf(document);
  if (time === undefined || readAt.get(key(document)) !== time) return undefined;
  const status = await files.stat(document.uri.fsPath);
  if (!status.isFile() || status.size > LARGEST) return undefined;
  return `sha-256:${createHash("sha256").update(await files.readFile(document.uri.fsPath)).digest("hex")}`;
}

/** The line and column of a position: columns count Unicode scalars from 1, those of VS Code UTF-16 units from 0. */
function place(document, { line, character }) {
  return [line + 1, [...document.lineAt(line).text.slice(0, character)].length + 1];
}

function position(document, line = 1, column = 1) {
  const number = Math.min(Math.max(line, 1), document.lineCount) - 1;
  const scalars = [...document.lineAt(number).text].slice(0, Math.max(column, 1) - 1);
  return new vscode.Position(number, scalars.join("").length);
}

/** The `userInfo` of a document (docs/public-types.md). */
async function state(document) {
  const info = { language: document.languageId, lineEnding: document.eol === vscode.EndOfLine.CRLF ? "crlf" : "lf" };
  const isFile = document.uri.scheme === "file";
  if (isFile) info.contentDigest = await digest(document);
  if (document.uri.path.startsWith("/")) info.url = document.uri.with({ scheme: "file" }).toString();
  if (document.isDirty || !isFile || timeOf(document) === undefined) {
    info.text = document.getText().replace(/\r\n/g, "\n");
    if (/\p{Surrogate}/u.test(info.text)) throw new Error("the text has half a pair of surrogates");
  }
  const editor = window.visibleTextEditors.find((each) => each.document === document);
  if (!editor) return info;
  const { active, anchor, isEmpty } = editor.selection;
  [info.line, info.column] = place(document, active);
  if (!isEmpty) [info.anchorLine, info.anchorColumn] = place(document, anchor);
  if (editor.visibleRanges.length) info.firstVisibleLine = editor.visibleRanges[0].start.line + 1;
  return info;
}

/** Offers a document, and withdraws the oldest if there are many. */
function offer(document) {
  if (!session || !document || !isOffered(document)) return;
  const name = key(document), activity = activities.get(name) ?? String(++number);
  activities.delete(name);
  activities.set(name, activity);
  if (activities.size > MOST) withdraw(activities.keys().next().value);
  told(session.call("activity/set", { activity, type: TYPE, title: nameOf(document) }));
  told(session.call("activity/current", { activity }));
}

function withdraw(name) {
  const activity = activities.get(name);
  readAt.delete(name);
  if (activities.delete(name)) session?.call("activity/invalidate", { activity }).catch(() => {});
}

/** The document of a continued text, which is saved nowhere by this. Throws the reason if it cannot be taken. */
async function load(info) {
  if (info.url === undefined) return workspace.openTextDocument({ content: info.text, language: info.language });
  const uri = vscode.Uri.parse(info.url);
  if (!/^file:\/\/\//.test(info.url)) throw new Error("it is not a file of this machine");
  const status = statSync(uri.fsPath, { throwIfNoEntry: false });
  if (status && !status.isFile()) throw new Error("it is not a file"); // a pipe would be waited for
  if (!status && info.text === undefined) throw new Error(`there is no file ${uri.fsPath}`);
  const document = await workspace.openTextDocument(status ? uri : uri.with({ scheme: "untitled" }));
  if (info.text === undefined) return document;
  if (document.isDirty) throw new Error("unsaved changes here");
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, new vscode.Range(0, 0, document.lineCount, 0), info.text);
  if (!(await workspace.applyEdit(edit))) throw new Error("the text cannot be changed here");
  return document;
}

/** Shows a continued text at its place. */
async function show(info) {
  const document = await load(info);
  if (info.contentDigest && document.uri.scheme === "file") {
    const here = await digest(document);
    if (here && here !== info.contentDigest) warn(`${document.uri.fsPath} is another version here`);
  }
  const editor = await window.showTextDocument(document, { preview: false });
  const active = position(document, info.line, info.column);
  const anchor = info.anchorLine ? position(document, info.anchorLine, info.anchorColumn) : active;
  editor.selection = new vscode.Selection(anchor, active);
  if (info.firstVisibleLine) {
    const top = position(document, info.firstVisibleLine);
    editor.revealRange(new vscode.Range(top, top), vscode.TextEditorRevealType.AtTop);
  }
  editor.revealRange(new vscode.Range(active, active));
}

const handlers = {
  "offers/changed"(params) {
    offers = params.offers;
    button.text = `$(arrow-swap) ${offers.length}`;
    button.tooltip = offers.slice(0, 10).map(described).join("\n");
    button[offers.length ? "show" : "hide"]();
  },
  async "activity/save"({ activity }) {
    const name = [...activities].find(([, each]) => each === activity)?.[0];
    const document = workspace.textDocuments.find((each) => key(each) === name);
    if (!document) throw new Error("the text is closed");
    return { userInfo: await state(document) };
  },
  async "continuation/continue"({ activity, title, userInfo }) {
    try {
      await show(userInfo);
    } catch (error) {
      warn(error.message);
      return { handled: false, reason: error.message };
    }
    told(session.call("activity/release", { activity }));
    window.setStatusBarMessage(`${TITLE}: continued ${title ?? "a text"}`, 5000);
    return { handled: true };
  },
  "continuation/failed": ({ error }) => void warn(error.message),
};

const foreground = () => session && told(session.call("app/foreground", { foreground: true }));
const described = (offer) => `${offer.title ?? offer.type} (${offer.app} on ${offer.device})`;

async function start() {
  const settings = workspace.getConfiguration("segue");
  const program = settings.get("stdio") || process.env.SEGUE_STDIO || PROGRAMS.find((each) => existsSync(each));
  if (!program) return warn("segue-stdio is not installed");
  const made = new Session(program, (method, params) => handlers[method]?.(params), (problem) => {
    if (session === made) session = undefined;
    handlers["offers/changed"]({ offers: [] });
    if (problem) warn(problem);
  });
  session = made;
  activities.clear();
  const bundleIdentifier = BUNDLES[env.uriScheme] ?? `com.visualstudio.${env.uriScheme}`;
  const open = { protocol: 1, bundleIdentifier, name: env.appName, types: [TYPE], lineBytes: LINE };
  const label = [...(workspace.name ?? "")].slice(0, 32).join(""); // 128 bytes at most
  await made.call("open", { ...open, label: label || undefined, team: settings.get("team") || undefined });
  offer(window.activeTextEditor?.document);
}

/** The command: a choice of what can be continued here. */
async function choose() {
  if (!session) return told(start());
  if (!offers.length) return window.showInformationMessage(`${TITLE}: nothing can be continued here`);
  const items = offers.map((each) => ({ label: described(each), offer: each.offer }));
  const chosen = await window.showQuickPick(items, { placeHolder: "Continue" });
  if (chosen) await told(session.call("offers/continue", { offer: chosen.offer }));
}

exports.activate = (context) => {
  button = window.createStatusBarItem();
  button.command = "segue.continue";
  workspace.textDocuments.forEach(noteTime);
  context.subscriptions.push(
    button,
    vscode.commands.registerCommand("segue.continue", choose),
    window.onDidChangeActiveTextEditor((editor) => offer(editor?.document)),
    window.onDidChangeWindowState(({ focused }) => focused && foreground()),
    workspace.onDidOpenTextDocument(noteTime),
    workspace.onDidSaveTextDocument(noteTime),
    workspace.onDidCloseTextDocument((document) => withdraw(key(document))),
    workspace.onDidChangeTextDocument(({ document }) => {
      if (!document.isDirty) noteTime(document); // read again, since the file has changed
      if (!activities.has(key(document)) && window.activeTextEditor?.document === document) offer(document);
    }),
  );
  return told(start());
};

exports.deactivate = () => session?.close();
