"use strict";
// Draws what the page's data says. It makes text nodes only, never markup, and
// asks for nothing that is not in the file.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const W = 560, H = 270, LEFT = 62, RIGHT = 26, TOP = 10, BOTTOM = 22;
  const byId = (id) => document.getElementById(id);

  const make = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
  const draw = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);
  function fill(node, attributes, children) {
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    node.append(...children.filter((c) => c !== null && c !== undefined));
    return node;
  }

  // Numbers as the other reports write them.
  const three = (v) => (v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2));
  function duration(us) {
    if (us === null || us === undefined) return "–";
    if (us <= 0) return "0";
    if (us < 1) return (us * 1e3).toFixed(0) + "ns";
    if (us < 1e3) return three(us) + "µs";
    if (us < 1e6) return three(us / 1e3) + "ms";
    if (us < 120e6) return three(us / 1e6) + "s";
    return us < 7200e6 ? (us / 60e6).toFixed(1) + "min" : (us / 3600e6).toFixed(1) + "h";
  }
  const tickDuration = (us) => (us >= 6e7 ? duration(us) : duration(us).replace(/\.0+(?=\D)/, ""));
  const count = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
  const change = (pct) => (pct === null ? "" : pct > 200 ? "×" + three(1 + pct / 100) : Math.abs(pct) < 0.05 ? "±0.0%" : (pct > 0 ? "+" : "") + pct.toFixed(1) + "%");
  const gain = (us) => (us === null ? "" : us < 0 ? duration(-us) + " gained" : duration(us) + " lost");

  // Scales: from a value to 0…1, and the places of ticks.
  function logScale(low, high) {
    if (!(low > 0)) low = high > 0 ? high / 10 : 1;
    if (!(high > low * 1.5)) { low /= 2; high = Math.max(high, low) * 3; }
    const a = Math.log10(low), b = Math.log10(high), ticks = [];
    for (let d = Math.floor(a); d <= b; d++) {
      for (const m of b - a < 2 ? [1, 2, 5] : b - a < 4 ? [1, 3] : [1]) {
        const v = m * 10 ** d;
        if (v >= low * 0.999 && v <= high * 1.001) ticks.push(v);
      }
    }
    return { at: (v) => (Math.log10(Math.max(v, low)) - a) / (b - a), from: (x) => 10 ** (a + x * (b - a)), ticks };
  }
  function linear(low, high) {
    if (!(high > low)) high = low + 1;
    const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw)), ticks = [];
    const step = power * [1, 2, 5, 10].find((m) => m * power >= raw);
    for (let v = Math.ceil(low / step) * step; v <= high + step / 1e6; v += step) ticks.push(v);
    return { at: (v) => (v - low) / (high - low), from: (x) => low + x * (high - low), ticks };
  }
  // Percentiles, each nine as wide as the one before.
  function nines(highest) {
    const depth = Math.max(-Math.log10(1 - highest / 100), 1);
    return {
      at: (p) => -Math.log10(1 - p / 100) / depth, from: (x) => 100 * (1 - 10 ** (-x * depth)),
      ticks: [0, 50, 90, 99, 99.9, 99.99, 99.999].filter((p) => p <= highest + 1e-9),
    };
  }

  // chart is axes, and what is drawn into them. Lines: {points, kind}.
  function chart(into, name, x, y, xText, yText, lines) {
    const px = (v) => LEFT + x.at(v) * (W - LEFT - RIGHT), py = (v) => H - BOTTOM - y.at(v) * (H - TOP - BOTTOM);
    const svg = draw("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": name });
    for (const v of y.ticks) {
      svg.append(draw("line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: py(v), y2: py(v) }));
      svg.append(draw("text", { x: LEFT - 6, y: py(v) + 4, "text-anchor": "end" }, yText(v)));
    }
    for (const v of x.ticks) {
      svg.append(draw("line", { class: "grid", x1: px(v), x2: px(v), y1: TOP, y2: H - BOTTOM }));
      svg.append(draw("text", { x: px(v), y: H - BOTTOM + 15, "text-anchor": "middle" }, xText(v)));
    }
    svg.append(draw("path", { class: "axis", fill: "none", d: `M${LEFT} ${TOP}V${H - BOTTOM}H${W - RIGHT}` }));
    for (const line of lines) {
      let d = "", pen = "M";
      for (const [vx, vy] of line.points) {
        if (vy === null) { pen = "M"; continue; }
        d += `${pen}${px(vx).toFixed(1)} ${py(vy).toFixed(1)}`;
        if (pen === "M") d += "h.01";
        pen = "L";
      }
      if (d) svg.append(draw("path", { class: "line " + line.kind, d }));
    }
    into.append(svg);
    return { svg, px, py, x, y };
  }
  // pointer calls with the place of the mouse in the chart's own units.
  function pointer(c, move, leave, click) {
    const place = (e) => {
      const box = c.svg.getBoundingClientRect();
      return [(e.clientX - box.left) * W / box.width, (e.clientY - box.top) * H / box.height];
    };
    c.svg.addEventListener("pointermove", (e) => move(...place(e)));
    c.svg.addEventListener("pointerleave", leave);
    if (click) c.svg.addEventListener("click", (e) => click(...place(e)));
  }
  function readout(into) {
    const p = make("p", { class: "readout" });
    into.append(p);
    return p;
  }
  // follow shows the values of all lines under the mouse.
  function follow(into, c, lines, xText, yText) {
    const said = readout(into), cross = draw("line", { class: "cross", y1: TOP, y2: H - BOTTOM, visibility: "hidden" });
    c.svg.append(cross);
    pointer(c, (mx) => {
      const at = (mx - LEFT) / (W - LEFT - RIGHT);
      if (at < 0 || at > 1) return;
      let near = null;
      for (const l of lines) for (const [vx, vy] of l.points) {
        if (vy !== null && (near === null || Math.abs(c.x.at(vx) - at) < Math.abs(c.x.at(near) - at))) near = vx;
      }
      if (near === null) return;
      cross.setAttribute("x1", c.px(near)); cross.setAttribute("x2", c.px(near)); cross.setAttribute("visibility", "visible");
      const parts = lines.map((l) => {
        let best = null;
        for (const p of l.points) if (p[1] !== null && (best === null || Math.abs(c.x.at(p[0]) - c.x.at(near)) < Math.abs(c.x.at(best[0]) - c.x.at(near)))) best = p;
        return best && Math.abs(c.x.at(best[0]) - c.x.at(near)) < 0.02 ? `${l.name} ${yText(best[1])}` : null;
      }).filter(Boolean);
      said.textContent = `${xText(near)}: ${parts.join(" · ")}`;
    }, () => { said.textContent = ""; cross.setAttribute("visibility", "hidden"); });
  }
  const ends = (lines, axis) => {
    let low = Infinity, high = -Infinity;
    for (const l of lines) for (const p of l.points) if (p[axis] !== null) { low = Math.min(low, p[axis]); high = Math.max(high, p[axis]); }
    return low <= high ? [low, high] : [1, 10];
  };
  const color = (run) => "s" + (run % 8);

  function curves(into, name, all) {
    const lines = all.map((curve, run) => ({ name: data.runs[run], kind: color(run), points: (curve || []).map((us, i) => [data.percentiles[i], us]) }));
    if (!lines.some((l) => l.points.length)) { into.append(make("p", { class: "soft" }, "Nothing succeeded.")); return; }
    const [, top] = ends(lines, 0), percent = (p) => (p === 0 ? "min" : "p" + p);
    const c = chart(into, name, nines(top), logScale(...ends(lines, 1)), percent, tickDuration, lines);
    follow(into, c, lines, percent, duration);
  }

  function overTime() {
    if (!data.series.some((s) => s.t.length)) { // nothing ran, or in groups of runs, at different times
      byId("throughput").hidden = byId("latency").hidden = true;
      return;
    }
    const through = data.series.map((s, run) => ({ name: data.runs[run], kind: color(run), points: s.t.map((t, i) => [t, s.perS[i]]) }));
    const failed = data.series.map((s, run) => ({ name: data.runs[run] + " errors", kind: color(run) + " thin", points: s.failed.some((n) => n > 0) ? s.t.map((t, i) => [t, s.failed[i]]) : [] }));
    const seconds = (t) => (t >= 7200 ? (t / 3600).toFixed(1) + "h" : t >= 600 ? (t / 60).toFixed(0) + "min" : +t.toFixed(2) + "s");
    const lines = [...through, ...failed.filter((l) => l.points.length)];
    const rate = (v) => (v >= 100 ? count(v) : +v.toFixed(2) + "") + "/s";
    const span = (of) => linear(0, ends(of, 0)[1]);
    const c = chart(byId("throughput"), "Throughput over time", span(lines), linear(0, ends(lines, 1)[1]), seconds, rate, lines);
    follow(byId("throughput"), c, lines, seconds, rate);
    const times = data.series.flatMap((s, run) => [
      { name: data.runs[run] + " p50", kind: color(run), points: s.t.map((t, i) => [t, s.p50[i]]) },
      { name: data.runs[run] + " p99", kind: color(run) + " thin", points: s.t.map((t, i) => [t, s.p99[i]]) },
    ]);
    const l = chart(byId("latency"), "Service time over time", span(times), logScale(...ends(times, 1)), seconds, tickDuration, times);
    follow(byId("latency"), l, times, seconds, duration);
  }

  // The columns of a fingerprint, as the program wrote them.
  const ID = 0, OP = 1, SQL = 2, RUNS = 3, DETAIL = 4;
  const COUNT = 0, ERRORS = 1, SHARE = 2, MEAN = 3, P50 = 4, P99 = 5, MAX = 6, VERDICT = 7, CHANGE = 8, TIME = 9;
  const rows = data.fingerprints;
  let chosen = data.runs.length > 1 ? 1 : 0; // the run that the first is compared with
  const verdictOf = (r) => data.verdicts[r[RUNS][chosen][VERDICT]] || "";
  const changeOf = (r, i) => r[RUNS][chosen][i] ?? null; // the baseline has none
  const badge = (v) => (v ? make("span", { class: "badge " + v }, v) : "");

  function scatter() {
    const into = byId("scatter"), caption = into.querySelector("figcaption");
    into.replaceChildren(caption);
    if (data.runs.length < 2) return costs(into, caption);
    caption.replaceChildren("Each statement: baseline against candidate", make("small", {}, `median of ${data.runs[0]} to the right, of ${data.runs[chosen]} upwards; above the line is slower`));
    const points = rows.map((r) => ({ r, x: r[RUNS][0][P50], y: r[RUNS][chosen][P50] })).filter((p) => p.x !== null && p.y !== null);
    const all = points.flatMap((p) => [p.x, p.y]);
    if (!all.length) { into.append(make("p", { class: "soft" }, "No statement succeeded in both runs.")); return; }
    let low = Infinity, high = 0;
    for (const v of all) { low = Math.min(low, v); high = Math.max(high, v); }
    const scale = logScale(low / 1.3, high * 1.3);
    const c = chart(into, "Median of each statement, baseline against candidate", scale, scale, tickDuration, tickDuration, []);
    c.svg.append(draw("path", { class: "diagonal", d: `M${LEFT} ${H - BOTTOM}L${W - RIGHT} ${TOP}` }));
    const byVerdict = new Map();
    for (const p of points) {
      p.px = c.px(p.x); p.py = c.py(p.y);
      const v = verdictOf(p.r) || "none";
      byVerdict.set(v, (byVerdict.get(v) || "") + `M${p.px.toFixed(1)} ${p.py.toFixed(1)}h.01`);
    }
    for (const v of ["none", "same", "indeterminate", "incomparable", "improved", "degraded", "errored"]) {
      if (byVerdict.has(v)) c.svg.append(draw("path", { class: "dots v-" + v, d: byVerdict.get(v) }));
    }
    const said = readout(into), mark = draw("circle", { class: "mark", r: 6, visibility: "hidden" });
    c.svg.append(mark);
    let near = null;
    pointer(c, (mx, my) => {
      near = null;
      let best = 400;
      for (const p of points) {
        const d = (p.px - mx) ** 2 + (p.py - my) ** 2;
        if (d < best) { best = d; near = p; }
      }
      mark.setAttribute("visibility", near ? "visible" : "hidden");
      if (near) { mark.setAttribute("cx", near.px); mark.setAttribute("cy", near.py); }
      said.textContent = near ? `${duration(near.x)} → ${duration(near.y)} ${verdictOf(near.r)}: ${near.r[SQL].slice(0, 140)} (click opens it)` : "";
    }, () => {}, () => near && open(near.r[ID]));
  }
  // costs stands where there is nothing to compare with.
  function costs(into, caption) {
    caption.replaceChildren("Each statement: how often, and how long", make("small", {}, "executions to the right, median upwards"));
    const points = rows.map((r) => ({ r, x: r[RUNS][0][COUNT], y: r[RUNS][0][P50] })).filter((p) => p.x && p.y !== null);
    if (!points.length) { into.append(make("p", { class: "soft" }, "No statement succeeded.")); return; }
    const of = (k) => { let a = Infinity, b = 0; for (const p of points) { a = Math.min(a, p[k]); b = Math.max(b, p[k]); } return logScale(a / 1.3, b * 1.3); };
    const c = chart(into, "Executions and median of each statement", of("x"), of("y"), count, tickDuration, []);
    let d = "";
    for (const p of points) d += `M${c.px(p.x).toFixed(1)} ${c.py(p.y).toFixed(1)}h.01`;
    c.svg.append(draw("path", { class: "dots s0", d }));
  }

  // The table.
  const figure = (i, text) => (r) => runsOf().map((run) => text(r[RUNS][run][i]));
  const runsOf = () => (data.runs.length > 1 ? [0, chosen] : [0]);
  const number = (i) => (r) => r[RUNS][chosen][i] ?? -Infinity;
  const columns = [
    { name: "statement", left: true, key: (r) => r[SQL] },
    ...(data.runs.length > 1 ? [
      { name: "verdict", left: true, key: (r) => verdictOf(r), one: (r) => badge(verdictOf(r)) },
      { name: "change", key: number(CHANGE), one: (r) => change(changeOf(r, CHANGE)) },
      { name: "time", key: (r) => Math.abs(changeOf(r, TIME) || 0), one: (r) => gain(changeOf(r, TIME)) },
    ] : []),
    { name: "count", key: number(COUNT), cells: figure(COUNT, count), runs: data.runs.length > 1 },
    { name: "share", key: number(SHARE), cells: figure(SHARE, (v) => (v === null ? "–" : v.toFixed(1) + "%")) },
    { name: "mean", key: number(MEAN), cells: figure(MEAN, duration) },
    { name: "p50", key: number(P50), cells: figure(P50, duration) },
    { name: "p99", key: number(P99), cells: figure(P99, duration) },
    { name: "max", key: number(MAX), cells: figure(MAX, duration) },
    { name: "errors", key: number(ERRORS), cells: figure(ERRORS, count) },
  ];
  const PAGE = 100;
  let sorted = null, down = true, shown = PAGE, visible = rows;

  function header() {
    const line = byId("table").querySelector("thead tr");
    line.replaceChildren(...columns.map((col) => {
      const button = make("button", { type: "button" }, col.name), cell = make("th", col.left ? { class: "left", scope: "col" } : { scope: "col" }, button);
      if (sorted === col) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      button.addEventListener("click", () => {
        if (sorted === col) down = !down;
        else { sorted = col; down = !col.left; }
        header(); update();
        line.children[columns.indexOf(col)].firstChild.focus();
      });
      return cell;
    }));
  }
  // words is what a filter looks into.
  const words = new Map();
  function wordsOf(r) {
    if (!words.has(r)) words.set(r, [r[ID], r[OP], r[SQL], ...((r[DETAIL] && r[DETAIL].errors) || []).flatMap((e) => Object.keys(e || {}))].join(" ").toLowerCase());
    return words.get(r);
  }
  function update() {
    const wanted = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean), verdict = byId("verdict").value, op = byId("op").value;
    visible = rows.filter((r) => (!verdict || verdictOf(r) === verdict) && (!op || r[OP] === op) && wanted.every((w) => wordsOf(r).includes(w)));
    if (sorted) {
      const key = sorted.key;
      visible = visible.map((r) => [key(r), r]).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1)).map(([, r]) => r);
    }
    shown = PAGE;
    render();
  }
  function render() {
    byId("table").tBodies[0].replaceChildren(...visible.slice(0, shown).map(line));
    byId("more").hidden = visible.length <= shown;
    byId("count").textContent = visible.length === rows.length ? `${count(rows.length)} statements` : `${count(visible.length)} of ${count(rows.length)} statements`;
  }
  function line(r) {
    const button = make("button", { type: "button", class: "sql", "aria-expanded": "false" }, r[SQL].length > 160 ? r[SQL].slice(0, 160) + " …" : r[SQL]);
    const tr = make("tr", { id: "fp-" + r[ID] }, make("td", { class: "sqlcell" }, button), ...columns.slice(1).map((col) => {
      const cell = make("td", col.left ? { class: "left" } : {});
      if (col.one) cell.append(col.one(r));
      else col.cells(r).forEach((text, i) => cell.append(make("span", { class: col.runs ? "pair run c" + (runsOf()[i] % 8) : "pair" }, text)));
      return cell;
    }));
    button.addEventListener("click", () => {
      const closed = button.getAttribute("aria-expanded") === "false";
      button.setAttribute("aria-expanded", String(closed));
      if (closed) tr.after(detail(r));
      else tr.nextSibling.remove();
    });
    return tr;
  }
  function detail(r) {
    const cell = make("td", { colspan: columns.length }), d = r[DETAIL];
    cell.append(make("pre", { class: "sql" }, r[SQL]), make("p", { class: "soft" }, `fingerprint ${r[ID]}`));
    if (!d) {
      cell.append(make("p", { class: "soft" }, `No more of this one in this file, which is kept small: retrace analyze -o json has it, and so has this page with --where fingerprint:${r[ID]}.`));
      return make("tr", { class: "detail" }, cell);
    }
    for (const text of d.says || []) cell.append(make("p", {}, text));
    const all = make("div", { class: "charts" }), curve = make("figure", {}, make("figcaption", {}, "Service time by percentile"));
    curves(curve, "Service time by percentile of this statement", d.curves);
    all.append(curve, outcomes(r, d));
    cell.append(all);
    if ((d.worst || []).some((w) => w.length)) cell.append(slowest(d));
    return make("tr", { class: "detail" }, cell);
  }
  const label = (run) => make("span", { class: "run c" + (run % 8) }, data.runs[run]);
  function outcomes(r, d) {
    const body = make("tbody");
    data.runs.forEach((_, run) => {
      const f = r[RUNS][run], errors = Object.entries(d.errors[run] || {}).map(([code, n]) => `${code || "no code"} × ${count(n)}`);
      body.append(make("tr", {}, make("td", { class: "left" }, label(run)), make("td", {}, count(f[COUNT])), make("td", {}, duration(f[P50])), make("td", {}, duration(f[P99])),
        make("td", {}, duration(f[MAX])), make("td", { class: "left" }, [...errors, ...(d.other[run] || [])].join(", ") || "–")));
    });
    const head = make("tr", {}, ...["run", "count", "p50", "p99", "max", "errors and the like"].map((n, i) => make("th", i === 0 || i === 5 ? { class: "left" } : {}, n)));
    return make("figure", {}, make("figcaption", {}, "Outcomes"), make("div", { class: "scroll" }, make("table", {}, make("thead", {}, head), body)));
  }
  function slowest(d) {
    const body = make("tbody");
    d.worst.forEach((list, run) => {
      for (const [session, ordinal, us] of list) {
        body.append(make("tr", {}, make("td", { class: "left" }, label(run)), make("td", {}, duration(us)), make("td", {}, `${session}:${ordinal}`),
          make("td", { class: "left" }, data.files[run] ? make("code", { class: "command" }, `retrace trace cat ${data.files[run]} --where 'session:${session} ordinal:${ordinal}'`) : "")));
      }
    });
    const head = make("tr", {}, ...["run", "service time", "session:ordinal", "shows it"].map((n, i) => make("th", i % 3 ? {} : { class: "left" }, n)));
    return make("div", { class: "scroll" }, make("h3", {}, "Slowest executions"), make("table", {}, make("thead", {}, head), body));
  }
  // open shows a fingerprint, whatever the filter.
  function open(id) {
    const at = () => visible.findIndex((r) => r[ID] === id);
    if (at() < 0) {
      byId("filter").value = byId("verdict").value = byId("op").value = "";
      update();
    }
    if (at() < 0) return;
    if (at() >= shown) { shown = at() + 1; render(); }
    const button = byId("fp-" + id).querySelector("button");
    if (button.getAttribute("aria-expanded") === "false") button.click();
    byId("fp-" + id).scrollIntoView({ block: "start" });
    button.focus({ preventScroll: true });
  }
  function choices() {
    const ops = [...new Set(rows.map((r) => r[OP]))].filter(Boolean).sort();
    byId("op").append(...ops.map((op) => make("option", { value: op }, op)));
    byId("verdict").append(...data.verdicts.map((v) => make("option", { value: v }, v)));
    byId("run").append(...data.runs.slice(1).map((name, i) => make("option", { value: i + 1 }, name)));
    if (data.runs.length < 2) byId("verdict").parentNode.hidden = true;
    if (data.runs.length < 3) byId("run").parentNode.hidden = true;
    byId("run").addEventListener("change", (e) => { chosen = +e.target.value; scatter(); update(); });
    for (const id of ["verdict", "op"]) byId(id).addEventListener("change", update);
    byId("filter").addEventListener("input", update);
    byId("more").addEventListener("click", () => { shown += PAGE * 5; render(); });
    document.addEventListener("keydown", (e) => {
      if (e.key === "/" && !/^(INPUT|SELECT)$/.test(document.activeElement.tagName)) { e.preventDefault(); byId("filter").focus(); }
    });
    for (const link of document.querySelectorAll('a[href^="#fp-"]')) {
      link.addEventListener("click", (e) => { e.preventDefault(); open(link.getAttribute("href").slice(4)); });
    }
    if (location.hash.startsWith("#fp-")) open(location.hash.slice(4));
  }

  curves(byId("curves"), "Service time by percentile", data.curves);
  overTime();
  scatter();
  header();
  update();
  choices();
})();
