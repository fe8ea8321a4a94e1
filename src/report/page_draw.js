// SPDX-License-Identifier: MIT
// The view that the reader chose, and the figures of curves as they look in it.
//
// Invariant: the page is whole without this. Figures are drawn anew from the numbers that stand
// beside them, in the manner of src/report/curves.c. Nothing is fetched.
// page.c wraps this file and page_read.js, in this order, into one function of a root: a group of runs
// that learn one task. Its ids, and its part of the address, begin with a prefix of their own.
var PREFIX = root.getAttribute("data-prefix");
var R = JSON.parse(document.getElementById(PREFIX + "runs").textContent);
var NS = "http://www.w3.org/2000/svg", tip = document.getElementById("tip");
var figures = [], lr = -1;
R.options.forEach(function (o, i) { if (o.name === "lr") lr = i; });

// ---- the view: what the reader chose; it stands in the hash of the address ----------------------
// off: "option.value" hidden; only: series isolated; rates: learning rates shown (null: the best
// of each series); logx, logy: figures whose axis was switched; smooth: 0..1; zoom: by figure.
var view = fresh();
function fresh() { return { off: {}, only: [], rates: null, logx: {}, logy: {}, smooth: 0, zoom: {} }; }

function mine(pair) { return pair.slice(0, PREFIX.length) === PREFIX; }

function encode() {
  var q = [];
  function add(k, list) { if (list.length) q.push(PREFIX + k + "=" + list.map(encodeURIComponent).join(",")); }
  add("off", Object.keys(view.off));
  add("only", view.only.map(String));
  if (view.rates) add("lr", view.rates.map(String));
  add("logx", Object.keys(view.logx));
  add("logy", Object.keys(view.logy));
  if (view.smooth) add("smooth", [String(view.smooth)]);
  Object.keys(view.zoom).forEach(function (id) {
    add("zoom." + id, [view.zoom[id].x.join(":")].concat(Object.keys(view.zoom[id].y).map(function (row) {
      return row + ":" + view.zoom[id].y[row].join(":");
    })));
  });
  if (!q.length && location.hash.indexOf("=") < 0) return; // the hash is a place on the page
  q = location.hash.slice(1).split("&").filter(function (pair) { return pair.indexOf("=") > 0 && !mine(pair); }).concat(q);
  try { history.replaceState(null, "", "#" + q.join("&")); } catch (e) { location.hash = q.join("&"); }
}

function decode() {
  if (location.hash.indexOf("=") < 0) return;
  view = fresh();
  location.hash.slice(1).split("&").forEach(function (pair) {
    if (!mine(pair)) return;
    var at = pair.indexOf("="), key = pair.slice(PREFIX.length, at);
    var list = pair.slice(at + 1).split(",").map(decodeURIComponent);
    function marks() { var m = {}; list.forEach(function (k) { m[k] = 1; }); return m; }
    if (key === "off") view.off = marks();
    if (key === "only") view.only = list.map(Number);
    if (key === "lr") view.rates = list.map(Number);
    if (key === "logx") view.logx = marks();
    if (key === "logy") view.logy = marks();
    if (key === "smooth") view.smooth = Number(list[0]) || 0;
    if (key.slice(0, 5) === "zoom.") {
      var zoom = { x: list[0].split(":").map(Number), y: {} };
      list.slice(1).forEach(function (w) {
        var n = w.split(":").map(Number);
        zoom.y[n[0]] = [n[1], n[2]];
      });
      view.zoom[key.slice(5)] = zoom;
    }
  });
}

function shown(run) {
  var r = R.runs[run];
  if (view.only.length && view.only.indexOf(r.s) < 0) return false;
  if (view.rates ? view.rates.indexOf(r.rate) < 0 : !r.best) return false;
  return r.v.every(function (value, o) { return o === lr || !view.off[o + "." + value]; });
}

function seriesShown() {
  var any = {};
  R.runs.forEach(function (r, i) { if (shown(i)) any[r.s] = 1; });
  return any;
}

// ---- small things -------------------------------------------------------------------------------
function make(name, attributes, parent, text) {
  var e = document.createElementNS(NS, name);
  Object.keys(attributes).forEach(function (k) { e.setAttribute(k, attributes[k]); });
  if (text !== undefined) e.textContent = text;
  if (parent) parent.appendChild(e);
  return e;
}

function readable(x) {
  if (x !== 0 && (Math.abs(x) < 1e-4 || Math.abs(x) >= 1e6)) return Number(x.toPrecision(3)).toExponential();
  return String(Number(x.toPrecision(4)));
}

function ticks(a) {
  var out = [], k;
  if (!a.log || a.high / a.low < 5) {
    var rough = (a.high - a.low) / 5, step = Math.pow(10, Math.floor(Math.log10(rough))), lead = rough / step;
    step *= lead > 7.5 ? 10 : lead > 3.5 ? 5 : lead > 1.5 ? 2 : 1;
    for (k = Math.ceil(a.low / step - 1e-9); k * step <= a.high && out.length < 12; k++) out.push(k * step + 0);
    return out;
  }
  var decades = Math.log10(a.high / a.low), first = Math.floor(Math.log10(a.low));
  var stride = Math.max(1, Math.ceil(decades / 5));
  for (var e = first; e <= Math.log10(a.high) + 1e-9; e++) {
    (decades > 2 ? [1] : [1, 2, 5]).forEach(function (m) {
      var x = m * Math.pow(10, e);
      if ((decades <= 2 || (e - first) % stride === 0) && x >= a.low && x <= a.high) out.push(x);
    });
  }
  return out;
}

function place(a, x) {
  if (a.log) return x > 0 ? Math.log(x / a.low) / Math.log(a.high / a.low) : NaN;
  return (x - a.low) / (a.high - a.low);
}

function valueAt(a, share) {
  return a.log ? a.low * Math.pow(a.high / a.low, share) : a.low + share * (a.high - a.low);
}

// ---- what a panel shows -------------------------------------------------------------------------
function steps(f, curve) { return f.data.steps[curve.x]; }

// The curves in sight, those of one series (and rate, and split) together.
function groupsOf(f, panel) {
  var groups = {}, order = [];
  panel.curves.forEach(function (c) {
    if (!shown(c.r)) return;
    var r = R.runs[c.r], key = [r.s, view.rates ? r.rate : 0, c.h ? 1 : 0].join(".");
    if (!groups[key]) { groups[key] = { s: r.s, held: !!c.h, curves: [] }; order.push(groups[key]); }
    groups[key].curves.push(c);
  });
  order.sort(function (a, b) { return a.s - b.s || a.held - b.held; });
  order.forEach(function (g) {
    g.averaged = g.curves.filter(function (c) { return !R.runs[c.r].diverged; });
    g.mean = meanOf(f, g.averaged, panel.log);
  });
  return order;
}

// The value of a curve at a step, between its points on a straight line.
function at(xs, ys, x) {
  var low = 0, high = xs.length - 1;
  if (!xs.length || x < xs[0] || x > xs[high]) return NaN;
  while (high - low > 1) { var mid = (low + high) >> 1; if (xs[mid] <= x) low = mid; else high = mid; }
  if (xs[low] === x) return ys[low];
  if (xs[high] === x) return ys[high];
  return ys[low] + (ys[high] - ys[low]) * (x - xs[low]) / (xs[high] - xs[low]);
}

// Mean and t-interval where all curves have a value; logs: of the logarithms.
function meanOf(f, curves, logs) {
  var m = { x: [], y: [], low: [], high: [] }, n = curves.length;
  function out(v) { return logs ? Math.exp(v) : v; }
  if (n === 0) return m;
  if (n === 1) return { x: steps(f, curves[0]), y: curves[0].y, low: [], high: [] };
  steps(f, curves[0]).forEach(function (x) {
    var sum = 0, squares = 0, values = curves.map(function (c) {
      var y = at(steps(f, c), c.y, x);
      return logs ? Math.log(y) : y;
    });
    values.forEach(function (v) { sum += v; });
    var mean = sum / n;
    if (!isFinite(mean)) return;
    values.forEach(function (v) { squares += (v - mean) * (v - mean); });
    m.x.push(x);
    m.y.push(out(mean));
    var half = R.t[Math.min(n - 1, R.t.length - 1)] * Math.sqrt(squares / (n - 1) / n);
    m.low.push(out(mean - half));
    m.high.push(out(mean + half));
  });
  return m;
}

// Exponential mean, corrected for its start.
function smoothed(y) {
  var a = view.smooth, sum = 0, weight = 0;
  return y.map(function (v) {
    sum = a * sum + (1 - a) * v;
    weight = a * weight + (1 - a);
    return sum / weight;
  });
}

function axesOf(f, panel) {
  var zoom = view.zoom[f.id];
  var x = { low: panel.x[0], high: panel.x[1], log: !!view.logx[f.id] };
  var y = { low: panel.y[0], high: panel.y[1], log: !!panel.log !== !!view.logy[f.id] };
  function positive(a, list) {
    var least = Infinity;
    list.forEach(function (v) { if (v > 0 && v < least) least = v; });
    a.low = isFinite(least) ? least : a.high / 1000;
    if (!(a.low < a.high)) a.low = a.high / 10;
  }
  if (x.log && x.low <= 0) {
    var all = [];
    panel.curves.forEach(function (c) { all = all.concat(steps(f, c)); });
    positive(x, all);
  }
  if (y.log && y.low <= 0) {
    var values = [];
    f.data.panels.forEach(function (p) {
      if (p.row === panel.row) p.curves.forEach(function (c) { if (shown(c.r)) values = values.concat(c.y); });
    });
    positive(y, values);
  }
  if (zoom) {
    if (zoom.x.length === 2 && (!x.log || zoom.x[0] > 0)) { x.low = zoom.x[0]; x.high = zoom.x[1]; }
    var range = zoom.y[panel.row];
    if (range && (!y.log || range[0] > 0)) { y.low = range[0]; y.high = range[1]; }
  }
  return { x: x, y: y };
}

// ---- drawing ------------------------------------------------------------------------------------
function pathOf(panel, axes, xs, ys) {
  var d = "", down = false, w = panel.box[2] * 10, h = panel.box[3] * 10;
  xs.forEach(function (x, i) {
    var px = place(axes.x, x), py = ys[i] === null ? NaN : place(axes.y, ys[i]);
    if (!isFinite(px) || !isFinite(py)) { down = false; return; }
    py = Math.max(-2, Math.min(3, 1 - py));
    d += (down ? "L" : "M") + Math.round(px * w) + " " + Math.round(py * h);
    down = true;
  });
  return d;
}

// Circles at a curve's points, at most 40 of them, the last among them.
function circlesOf(panel, axes, xs, ys) {
  var d = "", stride = Math.max(1, Math.ceil(xs.length / 40));
  for (var i = xs.length - 1; i >= 0; i -= stride) {
    var px = place(axes.x, xs[i]), py = ys[i] === null ? NaN : place(axes.y, ys[i]);
    if (!isFinite(px) || !isFinite(py)) continue;
    py = Math.max(-2, Math.min(3, 1 - py));
    d += "M" + Math.round(px * panel.box[2] * 10) + " " + Math.round(py * panel.box[3] * 10) +
      "m-24 0a24 24 0 1 0 48 0a24 24 0 1 0-48 0";
  }
  return d;
}

function drawAxes(g, panel, axes) {
  var b = panel.box;
  g.textContent = "";
  ticks(axes.x).forEach(function (v) {
    var x = b[0] + b[2] * place(axes.x, v);
    make("path", { "class": "tick", d: "M" + x + " " + (b[1] + b[3]) + "v4" }, g);
    make("text", { "class": "number mid", x: x, y: b[1] + b[3] + 15 }, g, readable(v));
  });
  ticks(axes.y).forEach(function (v) {
    var y = b[1] + b[3] * (1 - place(axes.y, v));
    make("path", { "class": "grid", d: "M" + b[0] + " " + y + "h" + b[2] }, g);
    make("text", { "class": "number end", x: b[0] - 5, y: y + 3.5 }, g, readable(v));
  });
}

function drawGroup(g, panel, axes, group, f) {
  var c = " c" + R.colour[group.s], m = group.mean;
  var alone = group.curves.length === 1 && group.averaged.length === 1;
  if (group.averaged.length > 2 && m.x.length > 1) {
    var up = [], down = [], floor = axes.y.log ? axes.y.low : -Infinity;
    m.x.forEach(function (x, i) { up.push(Math.max(m.high[i], floor)); down.push(Math.max(m.low[i], floor)); });
    make("path", { "class": "band" + c, d: pathOf(panel, axes, m.x, up) +
      pathOf(panel, axes, m.x.slice().reverse(), down.reverse()).replace("M", "L") + "z" }, g);
  }
  if (!alone || view.smooth) {
    group.curves.forEach(function (k) {
      make("path", { "class": "run" + c, d: pathOf(panel, axes, steps(f, k), k.y) }, g);
    });
  }
  var y = view.smooth ? smoothed(m.y) : m.y;
  if (!m.x.length) return;
  if (group.held) make("path", { "class": "held" + c, d: circlesOf(panel, axes, m.x, y) }, g);
  else make("path", { "class": "mean" + c + " d" + R.dash[group.s], d: pathOf(panel, axes, m.x, y) }, g);
}

function drawMarks(e, panel, axes) {
  var b = panel.box, series = seriesShown();
  e.querySelectorAll(".death, .note").forEach(function (old) { old.remove(); });
  panel.levels.forEach(function (l) {
    var share = place(axes.y, l[0]);
    if (l[1] < 0 && share >= 0 && share <= 1) {
      make("text", { "class": ["note end", "note", "note mid"][l[3]],
        x: [b[0] + b[2], b[0] + 4, b[0] + b[2] / 2][l[3]], y: b[1] + b[3] * (1 - share) + l[4] }, e, l[2]);
    }
  });
  panel.curves.forEach(function (c) {
    var died = R.runs[c.r].died, y = c.y[c.y.length - 1];
    if (c.h || died === null || !shown(c.r) || !series[R.runs[c.r].s]) return;
    var px = place(axes.x, died), py = place(axes.y, y);
    if (!(px >= 0 && px <= 1)) return;
    py = py > 0 ? Math.min(1, py) : 0; // also where a logarithmic axis has no place for it
    make("path", { "class": "death", d: "M" + (b[0] + b[2] * px - 4) + " " + (b[1] + b[3] * (1 - py) - 4) +
      "l8 8m0-8l-8 8" }, e);
  });
}

function draw(f) {
  var series = seriesShown();
  f.data.panels.forEach(function (panel, k) {
    var e = f.panels[k], axes = axesOf(f, panel), g = e.querySelector(".lines");
    panel.axes = axes;
    panel.groups = groupsOf(f, panel);
    drawAxes(e.querySelector(".axes"), panel, axes);
    g.textContent = "";
    panel.levels.forEach(function (l) {
      if (l[1] >= 0 && !series[l[1]]) return;
      make("path", { "class": l[1] < 0 ? "level" : "theory c" + R.colour[l[1]],
        d: pathOf(panel, axes, [axes.x.low, axes.x.high], [l[0], l[0]]) }, g);
    });
    panel.groups.forEach(function (group) { drawGroup(g, panel, axes, group, f); });
    drawMarks(e, panel, axes);
  });
  f.cross.textContent = "";
}

// Figures of single marks: what is not in sight is dimmed.
function dim() {
  var series = seriesShown(), colours = {};
  R.series.forEach(function (name, s) { if (series[s]) colours[R.colour[s]] = 1; });
  root.querySelectorAll("figure.marks .panel [class*=' c'], figure.marks .panel [class^='c']").forEach(function (e) {
    var c = /\bc(\d)\b/.exec(e.getAttribute("class"));
    e.classList.toggle("dim", !!c && !colours[c[1]]);
  });
  root.querySelectorAll(".key").forEach(function (e) {
    e.classList.toggle("off", !series[e.getAttribute("data-s")]);
  });
}

function redraw() {
  figures.forEach(draw);
  dim();
  showChips();
  figures.forEach(function (f) { f.press(); });
  encode();
}

