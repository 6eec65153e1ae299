// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs inside VS Code, or inside the stand-in for it: evaluates what comes over a socket, a line of JSON each, and
// answers in the same form.
"use strict";
const net = require("node:net");
const vscode = require("vscode");

/** What the extension has shown to its user, and what this test has the user choose. */
const shown = [];
for (const kind of ["showWarningMessage", "showInformationMessage"]) {
  const real = vscode.window[kind];
  vscode.window[kind] = (text, ...rest) => (shown.push(text), real(text, ...rest));
}
vscode.window.showQuickPick = async (items) => (shown.push(...items.map(({ label }) => label)), items[0]);

const evaluate = new Function("vscode", "shown", "expression", "return eval(`(async () => (${expression}))()`)");

exports.run = () =>
  new Promise((resolve) => {
    const socket = net.connect(process.env.SEGUE_TEST_SOCKET);
    let rest = "";
    socket.setEncoding("utf8");
    socket.on("close", resolve);
    socket.on("data", async (data) => {
      const lines = (rest + data).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        let answer;
        try {
          answer = { value: await evaluate(vscode, shown, JSON.parse(line)) };
        } catch (error) {
          answer = { error: String(error.stack ?? error) };
        }
        socket.write(JSON.stringify(answer) + "\n");
      }
    });
  });
