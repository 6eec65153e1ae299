// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";
const { spawn } = require("node:child_process");

/** The bytes of a line to either side, of a message without escapes, and of what waits for the program to read. */
const LINE = 24 << 20, MESSAGE = (16 << 20) - 65536, WAITING = 64 << 20;

/** A session of `segue stdio`: lines of JSON-RPC 2.0 to a child process and from it (docs/stdio.md). */
class Session {
  #answers = new Map();
  #number = 0;
  #parts = [];
  #child;

  /**
   * handle: called with the method and the parameters of a message; gives or promises the answer, or throws
   * ended: called once, with what is wrong; null: the program has ended as it should
   */
  constructor(program, handle, ended) {
    this.handle = handle;
    this.ended = ended;
    this.#child = spawn(program, [], { stdio: ["pipe", "pipe", "ignore"] });
    this.#child.on("error", (error) => this.#end(error.message));
    this.#child.on("exit", (status) => this.#end(status === 0 ? null : `segue-stdio has ended: ${status}`));
    this.#child.stdin.on("error", () => {}); // the exit tells
    this.#child.stdout.on("data", (data) => this.#take(data));
  }

  #end(problem) {
    const ended = this.ended;
    this.ended = () => {};
    for (const { reject } of this.#answers.values()) reject(new Error(problem ?? "the session is closed"));
    ended(problem);
  }

  #take(data) {
    for (let end; (end = data.indexOf(10)) !== -1; data = data.subarray(end + 1)) {
      this.#receive(JSON.parse(Buffer.concat([...this.#parts, data.subarray(0, end)]).toString()));
      this.#parts = [];
    }
    if (data.length) this.#parts.push(data);
  }

  async #receive({ id, method, params, result, error }) {
    if (!method) {
      const answer = this.#answers.get(id);
      this.#answers.delete(id);
      return error ? answer?.reject(new Error(error.message)) : answer?.resolve(result);
    }
    try {
      const answer = await this.handle(method, params);
      if (id !== undefined) this.#send({ id, result: answer });
    } catch (problem) {
      if (id !== undefined) this.#send({ id, error: { code: -32000, message: problem.message } });
    }
  }

  /** Throws if the message is too large, or too much waits. */
  #send(message) {
    const line = JSON.stringify({ jsonrpc: "2.0", ...message });
    if (Buffer.byteLength(line) > MESSAGE) throw new Error("the text is too large");
    if (this.#child.stdin.writableLength > WAITING) throw new Error("segue-stdio does not read");
    this.#child.stdin.write(line + "\n");
  }

  /** Sends a request. The promise fails with the message of its error. */
  call(method, params) {
    const id = ++this.#number;
    return new Promise((resolve, reject) => {
      this.#answers.set(id, { resolve, reject });
      this.#send({ id, method, params });
    });
  }

  /** The end of its input ends the program within a second. */
  close() {
    this.#child.stdin.end();
  }
}

module.exports = { Session, LINE };
