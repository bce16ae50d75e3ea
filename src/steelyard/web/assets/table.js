/* Tables: the leaderboard, and the grid that the other views use. Every table can be saved as CSV, JSON and Parquet. */
"use strict";

(function (S) {
  const h = S.h;
  const MOST = 100, FIRST_ROWS = 50;
  const missing = (value) => value === undefined || value === null || value === "";

  /** A model name whose organisation is quieter than the rest. */
  S.modelName = (name) => {
    const cut = /^[\w.-]+\//.test(name) ? name.indexOf("/") + 1 : 0;
    return cut ? [h("span", { class: "org" }, name.slice(0, cut)), S.breakable(name.slice(cut))] : S.breakable(name);
  };
  S.modelLink = (board, m) => h("a", { class: "name", href: S.address(["model", board.slug, board.models[m].name], {}) }, S.modelName(board.models[m].name));
  S.taskLink = (board, t) => h("a", { href: S.address(["task", board.slug, board.tasks[t].name], {}) }, board.tasks[t].name);

  /** A label that may be divided after punctuation, as in names of models, and not inside a word. */
  S.breakable = (text) => String(text).split(/(?<=[:/?=&_,@-])/).flatMap((part, i) => (i ? [h("wbr"), part] : [part]));

  /** Values with what is unknown last, in both directions. */
  S.sorted = (rows, columns, sort) => {
    const at = (sort || "").lastIndexOf(":");
    const column = columns.find((c) => c.key === (sort || "").slice(0, at));
    if (!column) return rows;
    const sign = sort.slice(at + 1) === "up" ? 1 : -1;
    return rows.map((row) => [column.value(row), row]).sort(([x], [y]) => {
      if (missing(x) || missing(y)) return missing(x) - missing(y);
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    }).map(([, row]) => row);
  };

  function heading(column, options, first) {
    const sort = options.sort || first, at = sort.lastIndexOf(":");
    const active = sort.slice(0, at) === column.key, up = sort.slice(at + 1) === "up";
    const next = active ? (up ? "down" : "up") : column.up ? "up" : "down";
    const mark = active && h("span", { class: "arrow", "aria-hidden": "true" }, up ? " ▲" : " ▼");
    return h("th", { scope: "col", class: [column.number && "number", column.wide && "wide"].filter(Boolean).join(" ") || null, "aria-sort": active ? (up ? "ascending" : "descending") : null, title: column.title },
      h("button", { type: "button", class: "sort", onclick: () => S.change({ sort: `${column.key}:${next}` }) }, S.breakable(column.label), mark));
  }

  const plainValue = (column, row) => (column.text ? column.text(row) : column.value(row));
  const quoted = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  S.csv = (columns, rows) => [columns.map((c) => quoted(c.label)), ...rows.map((row) => columns.map((c) => {
    const value = plainValue(c, row);
    return missing(value) ? "" : quoted(String(value));
  }))].map((line) => line.join(",")).join("\n") + "\n";
  S.json = (columns, rows) => JSON.stringify(rows.map((row) => Object.fromEntries(columns.map((c) => [c.key, plainValue(c, row)]).filter(([, v]) => !missing(v)))), null, 1);

  S.downloads = (file, columns, rows, json = () => S.json(columns, rows)) => {
    const save = (ending, type, content) => () => S.download(`${file}.${ending}`, type, content());
    return h("span", { class: "downloads" },
      h("button", { type: "button", onclick: save("csv", "text/csv", () => S.csv(columns, rows)) }, "CSV"),
      h("button", { type: "button", onclick: save("json", "application/json", json) }, "JSON"),
      h("button", { type: "button", onclick: save("parquet", "application/vnd.apache.parquet", () => S.parquet(columns.map((c) => ({ name: c.label, values: rows.map((row) => plainValue(c, row)) })))) }, "Parquet"));
  };

  /** A table of rows; columns have key, label, value(row) and, if it is not text, cell(row). With options it sorts. */
  S.grid = (file, caption, all, rows, options, { first = "", limit = MOST } = {}) => {
    const columns = all.filter((c, i) => i < 2 || rows.some((row) => !missing(plainValue(c, row))));
    const ordered = options ? S.sorted(rows, columns, options.sort) : rows;
    const shown = options && options.all === "1" ? ordered : ordered.slice(0, limit);
    const head = (c) => (options ? heading(c, options, first) : h("th", { scope: "col", class: c.number ? "number" : null, title: c.title }, S.breakable(c.label)));
    const cells = (row) => columns.map((c, i) => h(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: [c.number && "number", c.className && c.className(row)].filter(Boolean).join(" ") || null, "data-label": c.label }, c.cell ? c.cell(row) : c.value(row)));
    return [
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
        h("table", { class: "grid" }, h("caption", { class: "unseen" }, caption), h("thead", {}, h("tr", {}, columns.map(head))),
          h("tbody", {}, shown.map((row) => h("tr", {}, cells(row)))))),
      h("p", { class: "row under" }, shown.length < rows.length && (options
        ? h("button", { type: "button", onclick: () => S.change({ all: "1" }) }, `Show all ${rows.length}`)
        : h("span", { class: "soft" }, `${shown.length} of ${rows.length} rows; the files have all.`)), S.downloads(file, columns, ordered)),
    ];
  };

  /* Flags of a row; what a column shows is not repeated. */
  function marks(row, columns) {
    const hidden = columns.some((column) => column.key === "overlap") ? 16 | 32 : 0;
    const bits = row.flags & S.ON_ROWS & ~hidden & ~(row.excluded.length ? 8 : 0); // what is left out has its own label
    return S.FLAGS.filter(([bit]) => bits & bit).map(([, label, title]) => h("span", { class: "flag", title }, label));
  }

  function rankCell(row) {
    if (!row.rank) return row.variant ? "" : "–";
    const range = row.ranks && row.ranks[0] !== row.ranks[1] ? h("small", { title: `95 % interval of the rank over ${row.ranksOver}` }, `${row.ranks[0]}–${row.ranks[1]}`) : null;
    return [h("b", {}, String(row.rank)), row.tied ? h("span", { class: "tie", title: "Cannot be distinguished from the best" }, " ≈") : null, " ", range];
  }

  /** The score, the half width of its interval, and the interval drawn on a scale that all rows share. */
  function scoreCell(row, scale) {
    if (row.mean === null) return "–";
    const half = row.low === undefined ? null : h("small", { title: `95 % interval over ${row.over}` }, `±${(50 * (row.high - row.low)).toFixed(2)}`);
    const change = row.change === undefined ? null : h("small", { class: row.change < 0 ? "worse" : "better", title: `${(100 * row.kept).toFixed(1)} % of the score of ${"its model"}` }, S.signed(row.change));
    return [S.percent(row.mean), " ", row.variant ? change : half, S.range(row, scale)];
  }

  S.range = (row, { low, high }) => {
    const x = (value) => 2 + (96 * (Math.min(high, Math.max(low, value)) - low)) / (high - low || 1);
    const line = row.low === undefined ? null : S.svg("line", { x1: x(row.low), x2: x(row.high), y1: 5, y2: 5 });
    return S.svg("svg", { class: "range", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, line, S.svg("rect", { x: x(row.mean) - 1.2, width: 2.4, y: 1, height: 8 }));
  };

  S.scaleOf = (rows) => {
    const whole = rows.filter((row) => row.mean !== null && !row.partial), known = whole.length ? whole : rows.filter((row) => row.mean !== null);
    return { low: Math.min(...known.map((row) => row.low ?? row.mean)), high: Math.max(...known.map((row) => row.high ?? row.mean)) };
  };

  /** The name of what is averaged: the metric where all tasks share it. */
  function meanLabel(board, tasks, options) {
    const names = new Set(tasks.map((t) => (options.metric ? options.metric : board.tasks[t].metric)));
    const name = names.size === 1 ? S.metricName([...names][0]) : "Mean";
    return options.method === "type" ? "Mean by type" : name || "Mean";
  }

  function columnsOf(board, rows, tasks, options, scale) {
    const meanOver = (of) => (row) => {
      const values = row.cells.map(of);
      return values.length && values.every((value) => !missing(value)) ? values.reduce((a, b) => a + b, 0) / values.length : null;
    };
    const columns = [
      { key: "rank", label: "Rank", number: true, up: true, value: (row) => row.rank, cell: rankCell },
      { key: "model", label: "Model", up: true, wide: true, value: (row) => board.models[row.model].name.toLowerCase(), text: (row) => board.models[row.model].name, head: true },
      { key: "mean", label: meanLabel(board, tasks, options), number: true, title: `Mean over ${tasks.length} tasks`, value: (row) => row.mean, cell: (row) => scoreCell(row, scale) },
    ];
    if (options.method === "borda") columns.push({ key: "borda", label: "Borda", number: true, value: (row) => row.borda, cell: (row) => S.percent(row.borda) });
    for (const name of S.shownMeasures(board, tasks, options)) {
      const counted = S.averaged(board, board.metrics[name], options), of = meanOver((i) => (i === undefined ? null : counted[i]));
      if (rows.some((row) => of(row) !== null)) columns.push({ key: name, label: S.metricName(name), number: true, value: of, cell: (row) => S.percent(of(row)) });
    }
    for (const name of S.shownColumns(board, options)) {
      const number = S.NUMBERS.includes(name);
      columns.push({ key: name, label: S.COLUMNS[name], number, up: !number, value: (row) => S.fact(board, row, name), cell: (row) => S.shown(name, S.fact(board, row, name)) });
    }
    if (options.bytype === "1") {
      for (const type of [...new Set(tasks.map((t) => board.tasks[t].type))].sort()) {
        const places = tasks.map((t, k) => (board.tasks[t].type === type ? k : -1)).filter((k) => k >= 0);
        const of = (row) => { const v = places.map((k) => row.values[k]); return v.every((value) => !missing(value)) ? v.reduce((a, b) => a + b, 0) / v.length : null; };
        columns.push({ key: "type:" + type, label: type, number: true, value: of, cell: (row) => S.percent(of(row)) });
      }
    }
    if (options.scores === "1") {
      tasks.forEach((t, k) => columns.push({ key: "task:" + board.tasks[t].name, label: board.tasks[t].name, number: true,
        value: (row) => row.values[k], cell: (row) => S.percent(row.values[k]) }));
    }
    return columns;
  }

  function body(board, row, columns, options, { depth, children, group }) {
    const model = board.models[row.model];
    const cells = columns.map((column) => {
      if (!column.head) return h("td", { class: [column.number && "number", column.key].filter(Boolean).join(" "), "data-label": column.label }, column.cell ? column.cell(row) : column.value(row));
      const pick = h("input", { type: "checkbox", checked: S.list(options.pick).includes(model.name), "aria-label": `Compare ${model.name}`, title: "Compare", onchange: () => S.pick(model.name) });
      const without = row.missing.filter((t) => !row.excluded.includes(t)), listed = (tasks) => tasks.map((t) => board.tasks[t].name).join(", ");
      const partial = [
        without.length > 0 && h("span", { class: "flag", title: listed(without) }, `${without.length} of ${row.cells.length} tasks missing`),
        row.excluded.length > 0 && h("span", { class: "flag", title: `Not averaged: ${listed(row.excluded)}` }, `${row.excluded.length} of ${row.cells.length} tasks on other data`),
      ];
      const own = model.own && board.models.some((m) => !m.own) ? h("span", { class: "own" }, "mine") : null;
      const open = S.list(options.open_variants).includes(model.name);
      const fold = children ? h("button", { type: "button", class: "fold", "aria-expanded": String(open), onclick: () => S.toggle("open_variants", model.name) }, `${open ? "▾" : "▸"} ${children} variant${children > 1 ? "s" : ""}`) : null;
      return h("th", { scope: "row", class: depth ? "model variant" : "model" }, pick, " ", S.modelLink(board, row.model), " ", own, partial, marks(row, columns), fold);
    });
    return h("tr", { class: [row.partial ? "partial" : row.tied ? "tied" : "", group ? "group" : "", row.variant ? "variants" : ""].filter(Boolean).join(" ") || null }, cells);
  }

  S.toggle = (option, name, most = Infinity) => {
    const { options } = S.parse(location.hash);
    const chosen = S.list(options[option]);
    S.change({ [option]: S.joined((chosen.includes(name) ? chosen.filter((n) => n !== name) : [...chosen, name]).slice(-most)) });
  };
  S.pick = (name) => S.toggle("pick", name, 4);

  S.table = (board, rows, variants, tasks, options) => {
    const scale = S.scaleOf(rows.slice(0, 40));
    const columns = columnsOf(board, rows, tasks, options, scale);
    const ordered = S.sorted(rows, columns, options.sort);
    const under = new Map();
    variants.forEach((row) => under.set(board.parent[row.model], [...(under.get(board.parent[row.model]) || []), row]));
    const open = new Set(S.list(options.open_variants));
    const byRank = !options.sort || options.sort === "rank:up";
    const shown = options.all === "1" ? ordered : ordered.slice(0, FIRST_ROWS);
    const lines = shown.flatMap((row, i) => {
      const children = under.get(row.model) || [];
      const group = byRank && i > 0 && row.group !== undefined && row.group !== shown[i - 1].group;
      const line = body(board, row, columns, options, { depth: 0, children: children.length, group });
      const inner = open.has(board.models[row.model].name) || options.q ? children : [];
      return [line, ...inner.map((child) => body(board, child, columns, options, { depth: 1 }))];
    });
    const picked = S.list(options.pick);
    const whole = rows.filter((row) => !row.partial).length;
    return [
      h("div", { class: "row summary", role: "status" },
        h("span", {}, `${rows.length} model${rows.length === 1 ? "" : "s"} on ${tasks.length} task${tasks.length === 1 ? "" : "s"}` + (whole < rows.length ? `, ${whole} complete` : "")),
        otherData(board, rows, tasks, options),
        picked.length === 1 && h("span", { class: "soft" }, "Tick another model to compare."),
        picked.length > 1 && h("a", { class: "button", href: S.address(["compare", board.slug, ...picked], S.taskFilters(options)) }, `Compare ${picked.length} models`),
        S.downloads(board.slug, columns, [...ordered, ...variants], () => records(board, [...ordered, ...variants], tasks))),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Leaderboard" },
        h("table", { class: "board" }, h("caption", { class: "unseen" }, `Leaderboard of ${board.title || board.name}`),
          h("thead", {}, h("tr", {}, columns.map((column) => heading(column, options, "rank:up")))),
          h("tbody", {}, lines))),
      shown.length < ordered.length && h("p", {}, h("button", { type: "button", onclick: () => S.change({ all: "1" }) }, `Show all ${ordered.length} models`)),
      h("p", { class: "soft" }, notes(board, rows)),
    ];
  };

  /* Scores on other data are left out of means, or the view says that they are in them. */
  function otherData(board, rows, tasks, options) {
    if (!board.others) return null;
    const chosen = new Set(tasks), count = rows.reduce((sum, row) => sum + row.cells.filter((i) => i !== undefined && chosen.has(board.task[i]) && board.isOther(i)).length, 0);
    if (!count) return null;
    const scores = count === 1 ? "1 score" : `${count} scores`, included = options.otherdata === "1";
    return h(included ? "p" : "span", { class: included ? "warn" : "soft" }, included ? `The means include ${scores} on other revisions or samples of the data, which are not comparable. ` : `${scores} on other revisions or samples of the data are not averaged. `,
      h("button", { type: "button", class: "small", onclick: () => S.change({ otherdata: included ? "" : "1" }) }, included ? "Leave them out" : "Include them"));
  }

  /* Everything about each row: facts of the model, rank, interval, scores by task, what is missing. */
  const records = (board, rows, tasks) => JSON.stringify(rows.map((row) => ({
    ...board.models[row.model], rank: row.rank, rank_low: row.ranks && row.ranks[0], rank_high: row.ranks && row.ranks[1], group: row.group, mean: row.mean, low: row.low, high: row.high, borda: row.borda, change: row.change,
    missing: row.missing.map((t) => board.tasks[t].name), other_data: row.excluded.map((t) => board.tasks[t].name), scores: Object.fromEntries(tasks.map((t, k) => [board.tasks[t].name, row.values[k]]).filter(([, v]) => !missing(v))),
  })), null, 1);

  function notes(board, rows) {
    const over = new Set(rows.map((row) => row.over).filter(Boolean)), uncertain = rows.find((row) => row.ranks);
    return [
      over.size === 1 && `± is half of a 95 % interval over ${[...over][0]}. `, uncertain && `Small numbers next to a rank are its 95 % interval over ${uncertain.ranksOver}. `,
      rows.some((row) => row.tied) && "≈ cannot be distinguished from the best. ", rows.some((row) => row.group > 1) && "Lines separate groups of models that cannot be distinguished from the first of the group. ",
      rows.some((row) => row.partial) && "Partial models have no rank: their mean is over the tasks that count. ", board.note,
    ];
  }
})(window.Steelyard);
