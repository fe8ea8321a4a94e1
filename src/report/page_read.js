// SPDX-License-Identifier: MIT
// What the reader can do: crosshair, zoom, chips, keys, export. At its end, the start of it all.
// Read first: page_draw.js.

// ---- the crosshair ------------------------------------------------------------------------------
function spot(f, event) {
  var box = f.svg.getBoundingClientRect(), size = f.svg.viewBox.baseVal;
  return { x: (event.clientX - box.left) * size.width / box.width, y: (event.clientY - box.top) * size.height / box.height };
}

function panelAt(f, p) {
  for (var k = 0; k < f.data.panels.length; k++) {
    var b = f.data.panels[k].box;
    if (p.x >= b[0] - 2 && p.x <= b[0] + b[2] + 2 && p.y >= b[1] && p.y <= b[1] + b[3]) return k;
  }
  return -1;
}

// The point of a curve in sight that is nearest to the pointer.
function nearest(f, panel, p) {
  var best = null, b = panel.box;
  panel.groups.forEach(function (group) {
    group.curves.forEach(function (c) {
      steps(f, c).forEach(function (x, i) {
        var dx = b[0] + b[2] * place(panel.axes.x, x) - p.x;
        var dy = b[1] + b[3] * (1 - place(panel.axes.y, c.y[i])) - p.y;
        var far = Math.abs(dx) * 4 + Math.abs(dy);
        if (isFinite(far) && (!best || far < best.far)) best = { far: far, c: c, i: i, x: x, y: c.y[i], dx: dx, dy: dy };
      });
    });
  });
  return best;
}

function readout(f, panel, x) {
  var b = panel.box, px = place(panel.axes.x, x), line = 0;
  if (!(px >= 0 && px <= 1)) return;
  var left = b[0] + b[2] * px, right = px < 0.5;
  make("path", { "class": "cross", d: "M" + left + " " + b[1] + "v" + b[3] }, f.cross);
  panel.groups.forEach(function (g) {
    var y = at(g.mean.x, g.mean.y, x);
    if (!isFinite(y)) return;
    var word = R.series[g.s] + (g.held ? " held-out " : " ") + readable(y);
    make("text", { "class": "read c" + R.colour[g.s] + (right ? "" : " end"), x: left + (right ? 5 : -5),
      y: b[1] + 11 + 12 * line++ }, f.cross, word);
  });
}

function hover(f, event) {
  var p = spot(f, event), k = panelAt(f, p);
  f.cross.textContent = "";
  tip.hidden = true;
  if (f.from) { drag(f, p); return; }
  if (k < 0) return;
  var panel = f.data.panels[k], n = nearest(f, panel, p);
  if (!n) return;
  f.data.panels.forEach(function (other) { readout(f, other, n.x); });
  make("circle", { "class": "dot c" + R.colour[R.runs[n.c.r].s], r: 4, cx: p.x + n.dx, cy: p.y + n.dy }, f.cross);
  tip.textContent = R.runs[n.c.r].name + (n.c.h ? " (held-out)" : "") + ", step " + n.x + ": " + n.y;
  tip.setAttribute("data-run", R.runs[n.c.r].name);
  tip.setAttribute("data-step", n.x);
  tip.setAttribute("data-value", n.y);
  tip.setAttribute("data-held", n.c.h ? 1 : 0);
  tip.hidden = false;
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
}

// ---- zoom ---------------------------------------------------------------------------------------
function drag(f, p) {
  var b = f.data.panels[f.from.k].box;
  function cut(v, low, size) { return Math.max(low, Math.min(low + size, v)); }
  var x0 = cut(f.from.x, b[0], b[2]), x1 = cut(p.x, b[0], b[2]), y0 = cut(f.from.y, b[1], b[3]), y1 = cut(p.y, b[1], b[3]);
  f.to = [Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0)];
  make("rect", { "class": "drag", x: f.to[0], y: f.to[1], width: f.to[2], height: f.to[3] }, f.cross);
}

function drop(f) {
  var from = f.from, to = f.to;
  f.from = f.to = null;
  if (!from || !to || to[2] < 6) return;
  var panel = f.data.panels[from.k], b = panel.box, zoom = view.zoom[f.id] || { x: [], y: {} };
  zoom.x = [valueAt(panel.axes.x, (to[0] - b[0]) / b[2]), valueAt(panel.axes.x, (to[0] + to[2] - b[0]) / b[2])];
  if (to[3] >= 12) {
    zoom.y[panel.row] = [valueAt(panel.axes.y, 1 - (to[1] + to[3] - b[1]) / b[3]), valueAt(panel.axes.y, 1 - (to[1] - b[1]) / b[3])];
  }
  view.zoom[f.id] = zoom;
  redraw();
}

// ---- export -------------------------------------------------------------------------------------
function save(name, type, text) {
  var a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([text], { type: type }));
  a.download = name;
  document.body.appendChild(a);
  a.click();
  a.remove();
  setTimeout(function () { URL.revokeObjectURL(a.href); }, 1000);
}

function field(word) { return /[",\n\r]/.test(word) ? '"' + word.replace(/"/g, '""') + '"' : word; }

function csvOf(f) {
  var lines = ["metric,d_k,run,split,step,value"];
  f.data.panels.forEach(function (p) {
    p.curves.forEach(function (c) {
      steps(f, c).forEach(function (x, i) {
        lines.push([field(p.metric), p.d_k, field(R.runs[c.r].name), c.h ? "eval" : "train", x, c.y[i]].join(","));
      });
    });
  });
  return lines.join("\n") + "\n";
}

function svgOf(svg) {
  var copy = svg.cloneNode(true), size = svg.viewBox.baseVal;
  copy.setAttribute("width", size.width);
  copy.setAttribute("height", size.height);
  copy.querySelectorAll(".crosshair").forEach(function (e) { e.remove(); });
  copy.insertBefore(make("style", {}, null, document.getElementById("style").textContent), copy.firstChild);
  return new XMLSerializer().serializeToString(copy);
}

// ---- buttons, chips, keys -----------------------------------------------------------------------
function button(parent, text, title, act) {
  var b = document.createElement("button");
  b.type = "button";
  b.textContent = text;
  b.title = title;
  b.addEventListener("click", act);
  parent.appendChild(b);
  return b;
}

function press(b, on) { b.setAttribute("aria-pressed", on ? "true" : "false"); }

function toggle(set, key) { if (set[key]) delete set[key]; else set[key] = 1; redraw(); }

var chips = [];
function makeChips() {
  var bar = document.getElementById(PREFIX + "chips");
  R.options.forEach(function (o, i) {
    var line = document.createElement("div"), name = document.createElement("span");
    name.textContent = o.name;
    line.appendChild(name);
    if (i === lr) chips.push({ b: button(line, "best", "each series at its best learning rate", function () {
      view.rates = null;
      redraw();
    }), on: function () { return !view.rates; } });
    o.values.forEach(function (value, v) {
      chips.push({ b: button(line, value, o.name + " " + value, function () {
        if (i !== lr) { toggle(view.off, i + "." + v); return; }
        var list = view.rates || [], k = list.indexOf(v);
        if (k < 0) list = list.concat([v]); else list.splice(k, 1);
        view.rates = list.length ? list : null;
        redraw();
      }), on: function () { return i === lr ? !!view.rates && view.rates.indexOf(v) >= 0 : !view.off[i + "." + v]; } });
    });
    bar.appendChild(line);
  });
  if (R.options.length) button(bar, "reset", "the view as it was at first", function () { view = fresh(); redraw(); });
}

function showChips() { chips.forEach(function (c) { press(c.b, c.on()); }); }

function isolate(series, add) {
  var k = view.only.indexOf(series);
  if (add) {
    if (k < 0) view.only.push(series); else view.only.splice(k, 1);
  } else {
    view.only = view.only.length === 1 && k === 0 ? [] : [series];
  }
  redraw();
}

function makeKeys() {
  root.querySelectorAll(".key").forEach(function (e) {
    var series = Number(e.getAttribute("data-s"));
    e.setAttribute("tabindex", "0");
    e.setAttribute("role", "button");
    make("title", {}, e, "click: only this; shift-click: add or remove");
    e.addEventListener("click", function (event) { isolate(series, event.shiftKey); });
    e.addEventListener("keydown", function (event) { if (event.key === "Enter") isolate(series, event.shiftKey); });
  });
}

function makeTools(figure, svg, csv) {
  var bar = document.createElement("div"), id = figure.id;
  bar.className = "tools";
  figure.insertBefore(bar, figure.firstChild);
  return { bar: bar, finish: function () {
    button(bar, "CSV", "the numbers of this figure", function () { save(id + ".csv", "text/csv", csv()); }).className = "csv";
    button(bar, "SVG", "this figure as a picture", function () { save(id + ".svg", "image/svg+xml", svgOf(svg)); }).className = "svg";
  } };
}

function makeCurves(script) {
  var figure = document.getElementById(script.getAttribute("data-of")), svg = figure.querySelector("svg");
  var f = { id: figure.id, svg: svg, data: JSON.parse(script.textContent), from: null, to: null };
  f.panels = svg.querySelectorAll(".panel");
  f.cross = make("g", { "class": "crosshair" }, svg);
  var tools = makeTools(figure, svg, function () { return csvOf(f); });
  var x = button(tools.bar, "log x", "logarithmic steps", function () { toggle(view.logx, f.id); });
  var y = button(tools.bar, "log y", "the other kind of y axis", function () { toggle(view.logy, f.id); });
  var s = button(tools.bar, "smooth", "off, 0.6, 0.9: exponential mean; the raw line stays", function () {
    view.smooth = view.smooth === 0 ? 0.6 : view.smooth === 0.6 ? 0.9 : 0;
    redraw();
  });
  f.press = function () {
    press(x, view.logx[f.id]);
    press(y, f.data.panels.some(function (p) { return p.axes.y.log; }));
    press(s, view.smooth > 0);
    s.textContent = view.smooth ? "smooth " + view.smooth : "smooth";
  };
  tools.finish();
  svg.addEventListener("pointermove", function (e) { hover(f, e); });
  svg.addEventListener("pointerleave", function () { f.cross.textContent = ""; tip.hidden = true; });
  svg.addEventListener("pointerdown", function (e) {
    var p = spot(f, e), k = panelAt(f, p);
    if (e.button === 0 && e.pointerType !== "touch" && k >= 0) { f.from = { k: k, x: p.x, y: p.y }; e.preventDefault(); }
  });
  window.addEventListener("pointerup", function () { if (f.from) { f.cross.textContent = ""; drop(f); } });
  svg.addEventListener("dblclick", function () { delete view.zoom[f.id]; redraw(); });
  figures.push(f);
}

function makeMarks(figure) {
  var script = document.querySelector('script.csv[data-of="' + figure.id + '"]');
  if (!script) { makeTools(figure, figure.querySelector("svg")).bar.remove(); return; }
  makeTools(figure, figure.querySelector("svg"), function () { return JSON.parse(script.textContent); }).finish();
}

document.documentElement.classList.add("scripted");
root.querySelectorAll("script.curves").forEach(makeCurves);
root.querySelectorAll("figure.marks").forEach(makeMarks);
makeChips();
makeKeys();
decode();
redraw();
window.addEventListener("hashchange", function () { decode(); redraw(); });
