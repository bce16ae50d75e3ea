/* Charts as SVG: quality against cost with its Pareto front, differences with intervals. Every chart has a table next to it. */
"use strict";

(function (S) {
  const { svg, h } = S;
  const WIDTH = 860, HEIGHT = 420, LEFT = 62, RIGHT = 20, TOP = 16, BOTTOM = 52;

  S.COSTS = {
    parameters: "Parameters", dimension: "Dimension", bytes: "Bytes per document", latency: "Latency of a query (ms)", price: "Price of 1,000 queries",
    seconds: "Evaluation (s)", rate: "Documents per second", tokens: "Longest input (tokens)",
  };
  const LONGEST = 48;
  /* More of these is better: the front is on the right. */
  S.GAINS = ["rate", "tokens"];

  function ticks(low, high, logarithmic) {
    if (logarithmic) {
      const out = [];
      for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) out.push(10 ** e);
      return out.filter((value) => value >= low && value <= high);
    }
    const step = 10 ** Math.floor(Math.log10((high - low) / 4 || 1));
    const wide = [1, 2, 5, 10].find((m) => (high - low) / (m * step) <= 7) * step;
    const out = [];
    for (let value = Math.ceil(low / wide) * wide; value <= high; value += wide) out.push(value);
    return out;
  }

  /** The name at a point: without the organisation of a hub and the options of a service, and not longer than the chart allows. */
  S.pointName = (name) => {
    const short = (/^[\w.-]+\/[^/]+$/.test(name) ? name.slice(name.indexOf("/") + 1) : name).replace(/[?&](url|shape)=[^&\]> ]*/g, "");
    return short.length > LONGEST ? `${short.slice(0, LONGEST - 1)}…` : short;
  };

  S.scatter = (points, cost, onbrush) => {
    const xs = points.map((p) => p.x), ys = points.flatMap((p) => (p.low === undefined ? [p.y] : [p.y, p.low, p.high]));
    const logarithmic = Math.max(...xs) / Math.max(1e-9, Math.min(...xs)) > 20;
    const scale = (v) => (logarithmic ? Math.log10(v) : v);
    const least = Math.min(...xs), most = Math.max(...xs), space = 0.06 * (most - least || most);
    const [x0, x1] = logarithmic ? [0.8 * least, 1.25 * most] : [least - space, most + space];
    const margin = (Math.max(...ys) - Math.min(...ys)) * 0.06 || 0.01;
    const [y0, y1] = [Math.min(...ys) - margin, Math.max(...ys) + margin];
    const px = (v) => LEFT + ((scale(v) - scale(x0)) / (scale(x1) - scale(x0) || 1)) * (WIDTH - LEFT - RIGHT);
    const py = (v) => HEIGHT - BOTTOM - ((v - y0) / (y1 - y0)) * (HEIGHT - TOP - BOTTOM);
    const front = S.front(points, cost);
    const onFront = new Set(front.map((p) => p.name));
    const root = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": `Mean score against ${S.COSTS[cost]}; ${front.length} models on the Pareto front` });
    for (const value of ticks(x0, x1, logarithmic)) {
      root.append(svg("line", { x1: px(value), x2: px(value), y1: TOP, y2: HEIGHT - BOTTOM, class: "grid" }),
        svg("text", { x: px(value), y: HEIGHT - BOTTOM + 18, class: "tick" }, S.count(value)));
    }
    for (const value of ticks(100 * y0, 100 * y1, false)) {
      root.append(svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: py(value / 100), y2: py(value / 100), class: "grid" }),
        svg("text", { x: LEFT - 8, y: py(value / 100) + 4, class: "tick end" }, String(Number(value.toFixed(2)))));
    }
    root.append(svg("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 8, class: "tick axis" }, S.COSTS[cost] + (logarithmic ? " (log scale)" : "")),
      svg("text", { x: 14, y: HEIGHT / 2, class: "tick axis", transform: `rotate(-90 14 ${HEIGHT / 2})` }, "Mean score (%)"),
      svg("polyline", { points: front.map((p) => `${px(p.x)},${py(p.y)}`).join(" "), class: "front" }));
    for (const point of points) {
      const text = `${point.name}: ${S.percent(point.y)}, ${S.COSTS[cost].toLowerCase()} ${S.count(point.x)}`;
      if (point.low !== undefined) root.append(svg("line", { x1: px(point.x), x2: px(point.x), y1: py(point.low), y2: py(point.high), class: "whisker" }));
      root.append(svg("circle", { cx: px(point.x), cy: py(point.y), r: onFront.has(point.name) ? 5 : 3.2, class: onFront.has(point.name) ? "dot top" : point.own ? "dot mine" : "dot" }, svg("title", {}, text)));
    }
    labels(root, front, cost, px, py);
    brush(root, (a, b) => onbrush && onbrush(points.filter((p) => px(p.x) >= a.x && px(p.x) <= b.x && py(p.y) >= a.y && py(p.y) <= b.y)));
    return root;
  };

  S.front = (points, cost) => {
    const sign = S.GAINS.includes(cost) ? -1 : 1;
    return S.pareto(points.map((p) => ({ ...p, x: sign * p.x }))).map((p) => ({ ...p, x: sign * p.x })).sort((a, b) => a.x - b.x);
  };

  /* Names of the best models on the front, from the best down; a name that would cover another one is left out. They
     are on the side of the front where no point can be. */
  function labels(root, front, cost, px, py) {
    const boxes = [], gain = S.GAINS.includes(cost);
    for (const point of [...front].sort((a, b) => b.y - a.y)) {
      const text = S.pointName(point.name), width = 6.4 * text.length, before = px(point.x) - 6 - width, after = px(point.x) + 6;
      const x = gain ? (after + width < WIDTH ? after : before) : before > LEFT ? before : after, y = py(point.y) - 8;
      if (boxes.some((box) => x < box.x + box.width && box.x < x + width && Math.abs(box.y - y) < 14)) continue;
      boxes.push({ x, y, width });
      root.append(svg("text", { x, y, class: "label" }, text));
    }
  }

  function brush(root, done) {
    let start = null, box = null;
    const at = (event) => {
      const frame = root.getBoundingClientRect();
      return { x: ((event.clientX - frame.left) / frame.width) * WIDTH, y: ((event.clientY - frame.top) / frame.height) * HEIGHT };
    };
    root.addEventListener("pointerdown", (event) => {
      start = at(event);
      box = svg("rect", { class: "brush" });
      root.append(box);
      root.setPointerCapture(event.pointerId);
    });
    root.addEventListener("pointermove", (event) => {
      if (!start) return;
      const end = at(event);
      for (const [name, value] of Object.entries({ x: Math.min(start.x, end.x), y: Math.min(start.y, end.y), width: Math.abs(end.x - start.x), height: Math.abs(end.y - start.y) })) box.setAttribute(name, value);
    });
    root.addEventListener("pointerup", (event) => {
      if (!start) return;
      const end = at(event);
      box.remove();
      const wide = Math.abs(end.x - start.x) > 8 && Math.abs(end.y - start.y) > 8;
      if (wide) done({ x: Math.min(start.x, end.x), y: Math.min(start.y, end.y) }, { x: Math.max(start.x, end.x), y: Math.max(start.y, end.y) });
      start = null;
    });
  }

  /** Values with intervals, one line each: differences around zero, or scores. */
  S.forest = (lines, { label = "Difference by task", zero = true } = {}) => {
    const height = 24 * lines.length + 44, left = 250;
    const ends = lines.flatMap((line) => [line.value, line.low ?? line.value, line.high ?? line.value]);
    const size = Math.max(0.01, ...ends.map(Math.abs));
    const [from, to] = zero ? [-size, size] : [Math.max(0, Math.min(...ends) - 0.02), Math.min(1, Math.max(...ends) + 0.02)];
    const px = (v) => left + ((v - from) / (to - from)) * (WIDTH - left - RIGHT);
    const root = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "chart", role: "img", "aria-label": label });
    for (const percent of ticks(100 * from, 100 * to, false)) {
      const value = percent / 100;
      root.append(svg("line", { x1: px(value), x2: px(value), y1: 8, y2: height - 32, class: zero && Math.abs(value) < 1e-9 ? "grid zero" : "grid" }),
        svg("text", { x: px(value), y: height - 16, class: "tick" }, String(Number(percent.toFixed(2)))));
    }
    lines.forEach((line, i) => {
      const y = 20 + 24 * i, name = line.name.length > 36 ? line.name.slice(0, 35) + "…" : line.name;
      const text = `${line.name}: ${(100 * line.value).toFixed(2)}` + (line.low === undefined || line.low === null ? "" : ` [${(100 * line.low).toFixed(2)}, ${(100 * line.high).toFixed(2)}]`);
      const kind = !zero ? "" : line.sure === false ? " unsure" : line.value >= 0 ? " plus" : " minus";
      root.append(svg("text", { x: left - 10, y: y + 4, class: "tick end" }, name, svg("title", {}, line.name)));
      if (line.low !== undefined && line.low !== null) root.append(svg("line", { x1: px(line.low), x2: px(line.high), y1: y, y2: y, class: "interval" + kind }));
      else if (zero) root.append(svg("rect", { x: Math.min(px(0), px(line.value)), y: y - 6, width: Math.abs(px(line.value) - px(0)), height: 12, class: "bar" + kind }, svg("title", {}, text)));
      root.append(svg("circle", { cx: px(line.value), cy: y, r: 4.5, class: "point" + kind }, svg("title", {}, text)));
    });
    return root;
  };

  S.figure = (chart, caption) => h("figure", {}, h("div", { class: "scroll plain", tabindex: "0", role: "region", "aria-label": `Chart: ${chart.getAttribute("aria-label")}` }, chart), h("figcaption", { class: "soft" }, caption));
})(window.Steelyard);
