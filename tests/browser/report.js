// SPDX-License-Identifier: MIT
// A report in a real browser: no complaint, nothing fetched, the pointer reads what the CSV holds,
// filters, isolation, zoom, axes and the address work, dark and light differ.
//     node report.js BROWSER PAGE RUNS PICTURES MIXED
// PAGE: the report.html of an ablation; RUNS: its directory; PICTURES: a directory for screenshots.
// MIXED: that of runs of two tasks, two scalings each.
"use strict";
const fs = require("fs");
const path = require("path");
const { Browser } = require("./browser.js");

const [program, page, runs, pictures, mixed] = process.argv.slice(2);
let failures = 0;

function expect(what, holds, more) {
  if (!holds) failures++;
  console.log((holds ? "ok    " : "FAIL  ") + what + (holds || more === undefined ? "" : ": " + JSON.stringify(more)));
}

// The field of a run's metrics.csv, as a number.
function csv(run, split, step, column) {
  const lines = fs.readFileSync(path.join(runs, run, "metrics.csv"), "utf8").trim().split("\n").map((l) => l.split(","));
  const c = lines[0].indexOf(column);
  const line = lines.find((l) => l[0] === String(step) && l[1] === split);
  return line ? Number(line[c]) : NaN;
}

// In the page: a place inside the box of a panel, in pixels of the window; the figure in sight.
const SPOT = (figure, panel, fx, fy) => `(() => {
  const f = document.getElementById("${figure}"), svg = f.querySelector("svg");
  svg.scrollIntoView({ block: "center" });
  const script = document.querySelector('script.curves[data-of="${figure}"]');
  const b = JSON.parse(script.textContent).panels[${panel}].box, r = svg.getBoundingClientRect();
  const k = r.width / svg.viewBox.baseVal.width;
  return [r.left + k * (b[0] + ${fx} * b[2]), r.top + k * (b[1] + ${fy} * b[3])];
})()`;

const TIP = `(() => { const t = document.getElementById("tip"); return t.hidden ? null :
  { run: t.dataset.run, step: t.dataset.step, value: Number(t.dataset.value), held: t.dataset.held, text: t.textContent }; })()`;
const MEANS = `document.querySelectorAll("#fig-loss .panel[data-p='0'] .mean").length`;
const PATH = `document.querySelector("#fig-loss .panel[data-p='0'] .mean").getAttribute("d")`;

async function hover(b, panel, column) {
  for (const fx of [0.1, 0.35, 0.62, 0.97]) {
    const [x, y] = await b.value(SPOT("fig-loss", panel, fx, 0.5));
    await b.mouse("mouseMoved", x, y);
    const tip = await b.value(TIP);
    const want = tip && csv(tip.run, tip.held === "1" ? "eval" : "train", tip.step, column);
    expect(`the pointer at ${fx} reads the ${column} that the CSV holds`, tip && tip.value === want && tip.text.includes(tip.run),
      [tip, want]);
  }
  const crosses = await b.value(`document.querySelectorAll("#fig-loss .cross").length`);
  const panels = await b.value(`document.querySelectorAll("#fig-loss .panel").length`);
  expect("a crosshair in every panel of the figure", crosses === panels, [crosses, panels]);
}

async function press(b, label, nth) {
  const at = await b.value(`(() => { const all = [...document.querySelectorAll("button")].filter((e) => e.textContent === "${label}");
    const e = all[${nth || 0}]; if (!e) return null; e.scrollIntoView({ block: "center" });
    const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()`);
  if (!at) throw new Error("no button " + label);
  await b.click(at[0], at[1]);
}

async function filters(b) {
  const all = await b.value(MEANS);
  await press(b, "none");
  expect("a chip takes a scaling away", (await b.value(MEANS)) === all - 1, await b.value(MEANS));
  expect("the view is in the address", (await b.value("location.hash")).includes("off="), await b.value("location.hash"));
  await b.reload();
  expect("the address brings the view back", (await b.value(MEANS)) === all - 1, await b.value(MEANS));
  await press(b, "reset");
  expect("reset brings all back", (await b.value(MEANS)) === all, await b.value(MEANS));
  await b.value(`document.querySelectorAll("#fig-loss .key")[1].dispatchEvent(new MouseEvent("click", { bubbles: true }))`);
  expect("the key isolates", (await b.value(MEANS)) === 1, await b.value(MEANS));
  await b.value(`document.querySelectorAll("#fig-loss .key")[2].dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }))`);
  expect("with shift it adds", (await b.value(MEANS)) === 2, await b.value(MEANS));
  await press(b, "reset");
}

async function zoom(b) {
  const before = await b.value(PATH), from = await b.value(SPOT("fig-loss", 0, 0.2, 0.2)), to = await b.value(SPOT("fig-loss", 0, 0.6, 0.7));
  await b.mouse("mouseMoved", from[0], from[1]);
  await b.mouse("mousePressed", from[0], from[1], { button: "left", buttons: 1, clickCount: 1 });
  await b.mouse("mouseMoved", to[0], to[1], { button: "left", buttons: 1 });
  await b.mouse("mouseReleased", to[0], to[1], { button: "left", clickCount: 1 });
  expect("dragging zooms", (await b.value(PATH)) !== before);
  await b.click(to[0], to[1], 2);
  expect("a double click goes back", (await b.value(PATH)) === before);
  await press(b, "log y");
  expect("log y draws anew", (await b.value(PATH)) !== before);
  await press(b, "log y");
  await press(b, "smooth");
  expect("smoothing keeps the raw line", (await b.value(`document.querySelectorAll("#fig-loss .panel[data-p='0'] .run").length`)) > 0);
  await press(b, "reset");
}

async function exports_(b) {
  await b.value(`window.saved = []; URL.createObjectURL = (blob) => { blob.text().then((t) => saved.push(t)); return "about:blank#"; };
    HTMLAnchorElement.prototype.click = () => {};`);
  await b.value(`document.querySelectorAll("button.csv, button.svg").forEach((e) => e.click())`);
  await b.value("new Promise((d) => setTimeout(d, 300))");
  const figures = await b.value(`document.querySelectorAll("figure").length`);
  const buttons = await b.value(`document.querySelectorAll("button.svg").length`);
  const kinds = await b.value(`saved.map((t) => t.startsWith("<svg") ? "svg" : t.split("\\n")[0])`);
  expect("an SVG button for every figure", buttons === figures, [buttons, figures]);
  expect("they give pictures", kinds.filter((k) => k === "svg").length === figures, kinds);
  expect("and the numbers of the curves", kinds.includes("metric,d_k,run,split,step,value"), kinds);
}

// Each task is filtered by itself, and has its own part of the address.
async function groups(b) {
  const means = (k) => `document.querySelectorAll("#g${k}-fig-loss .panel[data-p='0'] .mean").length`;
  await b.load("file://" + mixed);
  await press(b, "none", 1);
  expect("a chip of one task leaves the other alone", (await b.value(means(1))) === 2 && (await b.value(means(2))) === 1);
  await press(b, "sqrt", 0);
  const hash = await b.value("location.hash");
  expect("both views are in the address", hash.includes("g1-off=") && hash.includes("g2-off="), hash);
  await b.reload();
  expect("and come back", (await b.value(means(1))) === 1 && (await b.value(means(2))) === 1);
  await press(b, "reset", 1);
  expect("reset is of one task", (await b.value(means(1))) === 1 && (await b.value(means(2))) === 2);
}

async function main() {
  const b = await Browser.open(program, 1100, 900);
  await b.scheme("light");
  await b.load("file://" + page);
  const panels = await b.value(`document.querySelectorAll("#fig-loss .panel").length`);
  await hover(b, 0, "loss");
  await hover(b, panels - 1, "accuracy");
  await filters(b);
  await zoom(b);
  await exports_(b);
  await groups(b);
  expect("no complaint from the page", b.problems.length === 0, b.problems);
  expect("nothing is fetched", b.requests.every((u) => u.startsWith("file://") || u.startsWith("about:") || u.startsWith("data:")), b.requests);
  await b.load("file://" + page);
  await b.picture(path.join(pictures, "light.png"));
  const light = await b.value("getComputedStyle(document.body).backgroundColor");
  await b.scheme("dark");
  expect("dark is dark", (await b.value("getComputedStyle(document.body).backgroundColor")) !== light, light);
  await b.picture(path.join(pictures, "dark.png"));
  await b.close();
}

main().then(() => process.exit(failures ? 1 : 0), (e) => { console.error("FAIL  " + e.stack); process.exit(1); });
