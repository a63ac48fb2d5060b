// Draws the run from the JSON on the page (schema distgpu.scaling/1). Everything from the run becomes
// text, never markup.
"use strict";
const run = JSON.parse(document.getElementById("run").textContent);
const top_ = document.getElementById("top");
const main = document.getElementById("main");
const tip = document.getElementById("tip");
const nodes = run.nodes ?? [], groups = run.groups ?? [], findings = run.findings ?? [];
const measurements = run.measurements ?? [];

// Elements. Attributes that are null are omitted.
function make(space, name, attributes, children) {
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
const html = (name, attributes, ...children) =>
  make("http://www.w3.org/1999/xhtml", name, attributes, children);
const svg = (name, attributes, ...children) =>
  make("http://www.w3.org/2000/svg", name, attributes, children);
const p = (text, kind) => html("p", { class: kind }, text);

// Quantities in the same form as in names.cpp.
const trimmed = (number, digits) => String(Number(number.toFixed(digits)));
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const percent = (share) => ((share ?? null) === null ? "n/a" : `${(100 * share).toFixed(1)} %`);
const gigabytes = (rate) => ((rate ?? null) === null ? "n/a" : (rate / 1e9).toFixed(2));
const microseconds = (seconds) => (seconds * 1e6).toFixed(2);
function bytes(size) {
  let unit = 0;
  for (; size >= 1024 && unit < 4; size /= 1024) ++unit;
  return `${trimmed(size, 2)} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}
function median(values) {
  const sorted = [...values].sort((a, b) => a - b), middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
const largest = (values) => values.reduce((a, b) => Math.max(a, b), 0);
function grouped(items, key) {
  const map = new Map();
  for (const item of items) {
    if (!map.has(key(item))) map.set(key(item), []);
    map.get(key(item)).push(item);
  }
  return map;
}

// Names.
const name = (node) => nodes[node].name;
const labels = groups.map((group) => group.label);
const operation = (one) => `${one.collective}${one.type ? " " + one.type : ""}, ${bytes(one.bytes)}` +
  (one.in_place ? ", in place" : "");
const isScalingGroup = (group) => group.kind === "gpus" || group.kind === "nodes";

function section(title, ...content) {
  const shown = content.flat().filter(Boolean);
  if (shown.length) main.append(html("section", null, html("h2", null, title), ...shown));
}

// The first `textColumns` columns are left-aligned. A table wider than the page gets its own scroll bar.
function table(caption, columns, textColumns, rows) {
  if (!rows.length) return null;
  const cell = (kind, attributes) => (text, column) =>
    html(kind, { ...attributes, class: column < textColumns ? "word" : null }, String(text));
  return html("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption },
    html("table", null, html("caption", null, caption),
      html("thead", null, html("tr", null, ...columns.map(cell("th", { scope: "col" })))),
      html("tbody", null, ...rows.map((row) => html("tr", null, ...row.map(cell("td")))))));
}

// Tooltips: for the mark under the pointer, or the one selected with the arrow keys in a picture.
function showTip(mark) {
  document.querySelector(".current")?.classList.remove("current");
  tip.hidden = !mark;
  if (!mark) return;
  mark.classList.add("current");
  tip.textContent = mark.dataset.tip;
  const at = mark.getBoundingClientRect(), own = tip.getBoundingClientRect();
  const left = Math.min(at.left + at.width / 2 + 8, innerWidth - own.width - 4);
  const above = at.top - own.height - 6;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${above < 4 ? at.bottom + 6 : above}px`;
}
const closestMark = (target) => target.closest?.("[data-tip]");
addEventListener("pointerover", (event) => showTip(closestMark(event.target)));
// Moves the tip along, because focusing a picture may scroll to it.
addEventListener("scroll", () => showTip(document.querySelector(".current")), true);
addEventListener("focusin", (event) => showTip(closestMark(event.target) ?? event.target.querySelector("svg [data-tip]")));
addEventListener("focusout", () => showTip(null));
addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") showTip(null);
  const picture = document.activeElement;
  if (!step || !picture.matches(".picture")) return;
  const marks = [...picture.querySelectorAll("[data-tip]")];
  const next = marks.findIndex((mark) => mark.matches(".current")) + step;
  showTip(marks[(next + marks.length) % marks.length]);
  event.preventDefault();
});

// Pictures are drawn at the width of their container, so that their text keeps its size.
const drawings = [];
function figure(id, title, description, draw, ...more) {
  const container = html("div");
  drawings.push(() => {
    const width = Math.max(280, Math.floor(container.getBoundingClientRect().width));
    const { height, parts } = draw(width);
    container.replaceChildren(svg("svg", { id, role: "img", tabindex: 0, class: "picture", width, height,
      viewBox: `0 0 ${width} ${height}`, "aria-labelledby": `${id}-title ${id}-desc` },
      svg("title", { id: `${id}-title` }, title), svg("desc", { id: `${id}-desc` }, description),
      ...parts));
  });
  return html("figure", null, html("h3", null, title), container, ...more);
}
let drawnWidth = 0;
function drawAll() {
  if (drawnWidth === document.documentElement.clientWidth) return;
  drawnWidth = document.documentElement.clientWidth;
  for (const draw of drawings) draw();
}

// Axes.
const powersOfTwo = (low, high, most) => {
  const first = Math.ceil(Math.log2(low)), last = Math.floor(Math.log2(high));
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, i) => 2 ** (first + i * step));
};
function roundSteps(high, most) {
  const raw = high / most, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= raw) * power;
  return Array.from({ length: Math.ceil(high / step - 1e-9) + 1 }, (_, i) => i * step);
}
function decades(low, high) {
  const ticks = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high * 1.0001; power *= 10) {
    for (const factor of high / low > 100 ? [1] : [1, 2, 5]) {
      if (factor * power >= low * 0.9999 && factor * power <= high * 1.0001) ticks.push(factor * power);
    }
  }
  return ticks;
}

// Returns the pixel position of each value, and the lines and texts of both axes.
function axes(width, height, x, y) {
  const left = 14 + 7.6 * largest(y.ticks.map((tick) => y.text(tick).length)), right = width - 14, top = 28, bottom = height - 38;
  const share = (axis, value) => (axis.log
    ? Math.log(value / axis.low) / Math.log(axis.high / axis.low)
    : (value - axis.low) / (axis.high - axis.low));
  const at = { x: (value) => left + (right - left) * share(x, value),
               y: (value) => bottom - (bottom - top) * share(y, value) };
  const text = (px, py, anchor, content, kind) =>
    svg("text", { x: px.toFixed(1), y: py.toFixed(1), "text-anchor": anchor, class: kind }, content);
  const parts = [];
  for (const tick of y.ticks) {
    parts.push(svg("line", { class: "grid", x1: left, x2: right, y1: at.y(tick), y2: at.y(tick) }),
      text(left - 6, at.y(tick) + 4, "end", y.text(tick)));
  }
  for (const tick of x.ticks) {
    const content = x.text(tick);
    parts.push(text(Math.min(at.x(tick), width - 4 * content.length), bottom + 16, "middle", content));
  }
  parts.push(text((left + right) / 2, height - 4, "middle", x.label, "faint"),
    text(2, 10, "start", y.label, "faint"));
  return { at, parts, left, right };
}

// lines: [{label, points: [{x, y, tip}]}]; only the last 21 are drawn.
function linePlot({ id, title, description, lines, xLabel, xText, yLabel, yText, yLog, linear }) {
  const drawn = lines.slice(-21);
  const xs = drawn.flatMap((line) => line.points.map((point) => point.x));
  const ys = drawn.flatMap((line) => line.points.map((point) => point.y)).concat(linear ?? []);
  let low = Math.min(...xs), high = Math.max(...xs);
  if (low === high) [low, high] = [low / 2, high * 2];
  const legend = html("ul", { class: "legend" }, ...drawn.map((line, i) =>
    html("li", { class: `color${i % 7}` }, ["\u25cf ", "\u25cf\u2013 ", "\u25cf\u00b7 "][Math.floor(i / 7)],
      html("b", null, line.label))));
  const draw = (width) => {
    const height = 300;
    const most = Math.max(2, Math.floor((width - 70) / 68));
    const x = { low, high, log: true, label: xLabel, text: xText, ticks: powersOfTwo(low, high, most) };
    const highest = Math.max(...ys), lowest = Math.min(...ys.filter((value) => value > 0));
    const steps = roundSteps(highest, 5);
    const bottom = lowest === highest ? lowest / 2 : lowest;
    const y = yLog
      ? { low: bottom, high: highest, log: true, ticks: decades(bottom, highest) }
      : { low: 0, high: steps[steps.length - 1], log: false, ticks: steps };
    const { at, parts, left, right } = axes(width, height, x, { ...y, label: yLabel, text: yText });
    if (linear) parts.push(svg("line", { class: "linear", x1: left, x2: right, y1: at.y(linear), y2: at.y(linear) }));
    drawn.forEach((line, i) => parts.push(
      svg("g", { class: `color${i % 7} dash${Math.floor(i / 7)}` },
        svg("polyline", { class: "line", points: line.points.map((point) =>
          `${at.x(point.x).toFixed(1)},${at.y(point.y).toFixed(1)}`).join(" ") }),
        ...line.points.map((point) => svg("circle", { class: "point", r: 4, "data-tip": point.tip,
          cx: at.x(point.x).toFixed(1), cy: at.y(point.y).toFixed(1) })))));
    return { height, parts };
  };
  return figure(id, title, description, draw, legend, drawn.length < lines.length
    ? html("figcaption", null, `Only the last ${drawn.length} of ${lines.length} lines are drawn; the table has all.`)
    : null);
}

// Five points of viridis (S. van der Walt and N. Smith, matplotlib 2015; CC0). Its lightness increases
// evenly, so that it is readable without colour too. Dark is slow; share 0 to 1.
const viridis = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function color(share) {
  const place = Math.min(Math.max(share, 0), 1) * 4, index = Math.min(Math.floor(place), 3);
  const mixed = viridis[index].map((from, i) =>
    Math.round(from + (viridis[index + 1][i] - from) * (place - index)));
  const luma = 0.299 * mixed[0] + 0.587 * mixed[1] + 0.114 * mixed[2];
  return { fill: `rgb(${mixed})`, text: luma > 130 ? "#000000" : "#ffffff" };
}

// The matches of pairs: at their largest size, and of the first operation at that size.
const pairsOnly = measurements.filter((one) => groups[one.group].kind === "pair" && one.busbw !== null);
const matchBytes = largest(pairsOnly.map((one) => one.bytes));
const matchOf = pairsOnly.find((one) => one.bytes === matchBytes);
const matches = pairsOnly.filter((one) => one.bytes === matchBytes && one.type === matchOf.type &&
  one.collective === matchOf.collective && one.in_place === matchOf.in_place)
  .map((one) => ({ nodes: groups[one.group].nodes, busbw: one.busbw }));

// A cell for several pairs shows the slowest one, so that a slow node stays visible.
function pairMatrix() {
  const perRow = Math.ceil(nodes.length / 64), size = Math.ceil(nodes.length / perRow);
  const cells = new Map();
  for (const own of grouped(matches, (match) => [...match.nodes].sort((a, b) => a - b).join()).values()) {
    const value = median(own.map((match) => match.busbw));
    const [row, column] = own[0].nodes.map((node) => Math.floor(node / perRow));
    for (const key of [row * size + column, column * size + row]) {
      cells.set(key, Math.min(cells.get(key) ?? value, value));
    }
  }
  const rowName = (row) => {
    const first = row * perRow, last = Math.min(first + perRow, nodes.length) - 1;
    return first === last ? name(first) : `${name(first)} .. ${name(last)}`;
  };
  return { perRow, size, cells, names: Array.from({ length: size }, (_, row) => rowName(row)) };
}

function heatMap() {
  if (!matches.length) return null;
  const { perRow, size, cells, names } = pairMatrix();
  const high = largest([...cells.values()]);
  // At most half of the fastest pair, so that a few per cent of noise do not show.
  const low = Math.min(high / 2, ...cells.values());
  const short = (text) => (text.length <= 14 ? text : `${text.slice(0, 13)}\u2026`);
  const draw = (width) => {
    const left = 7.4 * Math.min(14, largest(names.map((text) => text.length))) + 10;
    const side = Math.min(56, (Math.min(width, 760) - left - 2) / size);
    const every = Math.ceil(14 / side), parts = [];
    for (let row = 0; row < size; ++row) {
      if (row % every === 0) {
        parts.push(svg("text", { x: left - 6, y: row * side + Math.max(side / 2, 7) + 4, "text-anchor": "end" },
          short(names[row])));
      }
      for (let column = 0; column < size; ++column) {
        const value = cells.get(row * size + column);
        if (value === undefined) continue;
        const { fill, text } = color((value - low) / (high - low || 1));
        const x = left + column * side, y = row * side;
        parts.push(svg("rect", { class: "cell", x: x.toFixed(2), y: y.toFixed(2), width: side.toFixed(2),
          height: side.toFixed(2), fill, "data-tip": `${names[row]} - ${names[column]}: ${gigabytes(value)} GB/s` }));
        if (side < 40) continue;
        parts.push(svg("text", { x: x + side / 2, y: y + side / 2 + 4, "text-anchor": "middle",
          style: `fill:${text};pointer-events:none` }, String(Number((value / 1e9).toPrecision(4)))));
      }
    }
    return { height: (size - 1) * side + Math.max(side, 16), parts };  // at least one line of text for the last row
  };
  const title = `Bus bandwidth of node pairs, ${bytes(matchBytes)}`;
  const range = `Colours go from ${gigabytes(low)} GB/s (dark) to ${gigabytes(high)} GB/s (light).`;
  return figure("pairs", title, `A square matrix of nodes with ${counted(size, "row")}, and columns in the same order. ${range}`, draw, html("figcaption", null, `${range} Columns have the ` +
    "order of the rows. " + (perRow === 1 ? "" : `${counted(nodes.length, "node")} are too many for a row ` +
    `each: a row represents up to ${perRow} nodes, and a cell shows the slowest of its pairs.`)));
}

function efficiency() {
  const curves = (run.efficiency ?? []).filter((curve) => curve.points.length > 1);
  if (!curves.length) return [];
  const title = "Communication efficiency: eta(N) = busbw(N) / busbw(N0)";
  const lines = curves.map((curve) => ({ label: curve.subject,
    points: curve.points.map(({ nodes: count, efficiency }) => ({ x: count, y: efficiency,
      tip: `${curve.subject}, ${counted(count, "node")}: ${percent(efficiency)} of linear` })) }));
  const plot = linePlot({ id: "efficiency", title, lines, linear: 1, xLabel: "nodes (N)",
    description: `${title}. ${counted(lines.length, "curve")} over the number of nodes; the dotted line ` +
      "at 100 % is linear scaling.", xText: String, yLabel: "of linear", yText: (share) => `${Math.round(100 * share)} %` });
  return [html("div", { class: "plots" }, plot), table("Efficiency; 100 % is linear",
    ["operation", "baseline (nodes)", "nodes", "of linear"], 1, curves.flatMap((curve) =>
      curve.points.map((point) => [curve.subject, curve.baseline_nodes, point.nodes, percent(point.efficiency)])))];
}

function bandwidthPlots() {
  const plotted = measurements.filter((one) => isScalingGroup(groups[one.group]) && one.busbw > 0 && !one.in_place);
  const plots = [...grouped(plotted, (one) => `${one.collective}, ${one.type}`)].map(([title, own]) => {
    const lines = [...grouped(own, (one) => one.group)].map(([group, points]) => ({ label: labels[group],
      points: points.map((one) => ({ x: one.bytes, y: one.busbw / 1e9,
        tip: `${labels[group]}, ${bytes(one.bytes)}: ${gigabytes(one.busbw)} GB/s` })) }));
    return linePlot({ id: `busbw-${title.replace(/\W+/g, "-")}`, title, lines, yLog: true,
      description: `Bus bandwidth of ${title} over the size, with a line for each of ${counted(lines.length, "group")}; ` +
        "both axes are logarithmic.", xLabel: "size", xText: bytes, yLabel: "busbw (GB/s)",
      yText: (value) => String(Number(value.toPrecision(2))) });
  });
  return plots.length ? html("div", { class: "plots" }, ...plots) : null;
}

// What to do next.
const remedies = {
  "slow node": (part) => `Drain ${part} and check its PCIe width, its ports' rate and error counters, and its GPUs' clocks. Then run again with it and without it.`,
  "slow port": (part) => `Check the rate, error counters, cable and transceiver of port ${part}. Then run again.`,
  "slow rail": (part) => `${part} is slow on all nodes: check the switch that its ports have in common.`,
  "slow switch": (part) => `${part} is slow for all of its nodes: check this switch, not the nodes.`,
  "slow uplink": (part) => `Check the ${part}: a link may be down or slow.`,
  "slow between switches": (part) => `${part}: traffic between switches is slower than within a switch; check the number of uplinks, or keep jobs within a switch.`,
  "routing collision": (part) => `${part}: the routes collide with other traffic; check adaptive routing, and do not drain these nodes.`,
};
function advice() {
  const texts = findings.slice(0, 8).map(({ subject, kind }) => {
    return (remedies[kind] ?? ((part) => `Check ${part} (${kind}).`))(subject);
  });
  if (run.failure?.missing?.length) texts.unshift(`Check ${run.failure.missing.join(", ")} first, then run again.`);
  if (run.judgement?.outcome === "failed") texts.push("Some bandwidths are below the baseline: see the section on the baseline.");
  if (run.judgement?.outcome === "skipped") texts.push("The baseline has none of these measurements: measure the same collectives and sizes.");
  const world = measurements.filter((one) => groups[one.group].kind === "nodes");
  const noisy = largest(world.filter((one) => one.bytes === largest(world.map((other) => other.bytes))).map((one) => one.time.cv));
  if (noisy > 0.1) texts.push(`At the largest size the times vary by ${percent(noisy)} (cv): something else uses the network, or --iterations is too low.`);
  if (!texts.length && run.complete) texts.push("Keep this run's JSON: a later run with --baseline shows what has become slower.");
  return texts.length ? html("ul", { id: "advice" }, ...texts.map((text) => html("li", null, text))) : null;
}

function comparison() {
  const result = run.judgement;
  if (!result) return [];
  return [html("p", null, html("strong", null, result.outcome)),
    p(`baseline ${result.file}, tolerance ${percent(result.tolerance)}: ${result.passed} passed, ` +
      `${result.failed.length} failed, ${result.not_measured.length} not measured`),
    ...result.differences.map((text) => p(text)),
    table("Failed or not measured", ["measurement", "", "busbw (GB/s)", "minimum (GB/s)", "of the minimum"], 2, [
      ...result.failed.map((one) => {
        const measured = measurements[one.measurement];
        return [`${operation(measured)}, ${labels[measured.group]}`, "failed", gigabytes(one.busbw), gigabytes(one.least), percent(one.busbw / one.least)];
      }),
      ...result.not_measured.map((text) => [text, "not measured", "n/a", "n/a", "n/a"]),
    ])];
}

function resultTables() {
  const columns = ["group", "collective", "type", "place", "size", "busbw (GB/s)", "algbw (GB/s)", "median (us)",
    "p5 (us)", "p95 (us)", "p99 (us)", "cv (%)"];
  const row = (one) => [labels[one.group], one.collective, one.type, one.in_place ? "in" : "out", bytes(one.bytes),
    gigabytes(one.busbw), gigabytes(one.algbw), ...["median", "p5", "p95", "p99"].map((key) => microseconds(one.time[key])),
    (100 * one.time.cv).toFixed(1)];
  const cut = (caption, all, most) => table(all.length <= most ? caption
    : `${caption}: ${most} of ${all.length}; the JSON has all`, columns, 4, all.slice(0, most).map(row));
  return [cut("Groups of GPUs and of nodes", measurements.filter((one) => isScalingGroup(groups[one.group])), 2000),
    cut("Other groups, slowest first", measurements.filter((one) => !isScalingGroup(groups[one.group]))
      .sort((a, b) => a.busbw - b.busbw), 200)];
}

function header() {
  document.title = `nccl-scaling: ${run.verdict ?? "partial results"}`;
  const box = (...content) => top_.append(html("div", { class: "box", role: "alert" }, ...content));
  if (run.verdict) top_.append(p(run.verdict, "verdict"));
  if (run.note) box(run.note);
  if (run.failure) {
    box(html("strong", null, "Partial results: the run ended early."), p(`${run.failure.phase}: ${run.failure.problem}`),
      run.failure.missing.length ? p(`Missing: ${run.failure.missing.join(", ")}`) : null);
  } else if (run.complete === false) {
    box("Partial results: the run has not ended.");
  }
  if (!nodes.length) return;
  top_.append(p(`${counted(nodes.length, "node")}, ${counted(nodes.reduce((sum, node) => sum + node.ranks, 0), "rank")}; ` +
    `back end ${run.backend}; started ${run.started}`, "faint"));
}

header();
section("What to do next", advice());
section("Baseline", comparison());
section("Limiter", table("Slower than their peers, slowest first",
  ["name", "kind", "distgpu check --node", "of the peers' median", "robust z"], 3, findings.map((one) =>
    [one.subject, one.kind, nodes[one.node]?.fault ?? "", percent(one.relative), one.robust_z?.toFixed(1) ?? "n/a"])));
section("Scaling efficiency", efficiency());
section("Bus bandwidth over size", bandwidthPlots());
section("Node pairs", matches.length ? [
  p("A slow node shows as a dark row and column, a pair whose routes collide as a single dark cell."),
  heatMap()] : null);
section("Results", resultTables());
section("Nodes", table("Nodes", ["node", "GPUs", "ports", "distgpu check --node", "ranks"], 4, nodes.map((node) =>
  [node.name, (node.gpus ?? []).join(", "), (node.rails ?? []).filter(Boolean).join(", "), node.fault ?? "",
    node.ranks])));
section("Fingerprint", table("Runs are comparable if these are equal", ["name", "value"], 2, (run.fingerprint ?? []).map((one) => [one.name, one.value])));
section("Environment", table("Variables of rank 0", ["name", "value"], 2, (run.environment ?? []).map((one) => [one.name, one.value])));
drawAll();
addEventListener("resize", drawAll);
