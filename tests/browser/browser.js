// SPDX-License-Identifier: MIT
// A headless Chromium, driven over its debugging pipe: no package is needed but node and the browser.
"use strict";
const { spawn } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

class Browser {
  // A page of that size; scheme: "light" or "dark".
  static async open(program, width, height) {
    const b = new Browser();
    b.profile = fs.mkdtempSync(path.join(os.tmpdir(), "rdk_browser_"));
    const sandbox = process.getuid && process.getuid() === 0 ? ["--no-sandbox"] : [];
    b.child = spawn(program, ["--headless", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
      "--no-first-run", "--user-data-dir=" + b.profile, ...sandbox, "about:blank"],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    b.next = 1;
    b.waiting = new Map();
    b.problems = []; // what the page complained about
    b.requests = []; // what it asked for
    b.listen(b.child.stdio[4]);
    const target = await b.call("Target.createTarget", { url: "about:blank" });
    const attached = await b.call("Target.attachToTarget", { targetId: target.targetId, flatten: true });
    b.session = attached.sessionId;
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await b.call(domain + ".enable");
    await b.call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    return b;
  }

  listen(stream) {
    let rest = Buffer.alloc(0);
    stream.on("data", (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1)) {
        this.take(JSON.parse(rest.subarray(0, end).toString()));
      }
    });
  }

  take(message) {
    if (message.id) {
      const { done, failed } = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error) failed(new Error(message.error.message)); else done(message.result);
      return;
    }
    const p = message.params || {};
    if (message.method === "Runtime.exceptionThrown") this.problems.push(p.exceptionDetails.exception.description);
    if (message.method === "Runtime.consoleAPICalled") this.problems.push("console: " + JSON.stringify(p.args));
    if (message.method === "Log.entryAdded" && p.entry.level === "error") this.problems.push(p.entry.text);
    if (message.method === "Network.requestWillBeSent") this.requests.push(p.request.url);
    if (message.method === "Page.loadEventFired" && this.loaded) this.loaded();
  }

  call(method, params) {
    const id = this.next++;
    const message = { id, method, params: params || {} };
    if (this.session) message.sessionId = this.session;
    this.child.stdio[3].write(JSON.stringify(message) + "\0");
    return new Promise((done, failed) => this.waiting.set(id, { done, failed }));
  }

  async load(url) {
    const loaded = new Promise((done) => { this.loaded = done; });
    await this.call("Page.navigate", { url });
    await loaded;
  }

  // The same page at the same address, from its beginning.
  async reload() {
    const loaded = new Promise((done) => { this.loaded = done; });
    await this.call("Page.reload");
    await loaded;
  }

  async scheme(value) {
    await this.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
  }

  // The value of an expression in the page.
  async value(expression) {
    const r = await this.call("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception.description);
    return r.result.value;
  }

  async mouse(type, x, y, more) {
    await this.call("Input.dispatchMouseEvent", { type, x, y, ...(more || {}) });
  }

  async click(x, y, count) {
    for (let n = 1; n <= (count || 1); n++) {
      await this.mouse("mousePressed", x, y, { button: "left", buttons: 1, clickCount: n });
      await this.mouse("mouseReleased", x, y, { button: "left", clickCount: n });
    }
  }

  // The page from y on, so many pixels high; whole where height is 0.
  async picture(file, y, height) {
    const size = await this.value("[document.documentElement.clientWidth, document.documentElement.scrollHeight]");
    const clip = { x: 0, y: y || 0, width: size[0], height: height || size[1], scale: 1 };
    const shot = await this.call("Page.captureScreenshot", { format: "png", clip, captureBeyondViewport: true });
    fs.writeFileSync(file, Buffer.from(shot.data, "base64"));
  }

  async close() {
    const ended = new Promise((done) => this.child.once("exit", done));
    this.session = null;
    await this.call("Browser.close");
    await ended;
    fs.rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

module.exports = { Browser };
