/* The leaderboard: a table that sorts by any column, folds variants under their model and marks what is partial. */
"use strict";

(function (S) {
  const h = S.h;
  const MOST = 200;

  const link = (board, model) => h("a", { href: S.address(["model", board.slug, board.models[model].name], {}) }, board.models[model].name);

  function marks(row) {
    const texts = S.FLAGS.filter(([bit]) => row.flags & bit);
    return texts.map(([, label, title]) => h("span", { class: "flag", title }, label));
  }

  function columnsOf(board, tasks, options) {
    const columns = [
      { key: "rank", label: "Rank", number: true, up: true, value: (row) => row.rank, cell: (row) => rankCell(row) },
      { key: "model", label: "Model", up: true, value: (row) => board.models[row.model].name.toLowerCase(), head: true },
      { key: "mean", label: options.method === "type" ? "Mean by type" : "Mean", number: true, value: (row) => row.mean, cell: meanCell },
    ];
    if (options.method === "borda") columns.push({ key: "borda", label: "Borda", number: true, value: (row) => row.borda, cell: (row) => S.percent(row.borda) });
    for (const name of S.shownColumns(board, options)) {
      const number = ["parameters", "dimension", "tokens", "bytes", "seconds"].includes(name);
      columns.push({ key: name, label: S.COLUMNS[name], number, up: !number, value: (row) => board.models[row.model][name],
        cell: (row) => S.shown(name, board.models[row.model][name]) });
    }
    if (options.bytype === "1") {
      for (const type of [...new Set(tasks.map((t) => board.tasks[t].type))].sort()) {
        const of = (row) => meanOf(tasks.map((t, k) => (board.tasks[t].type === type ? row.values[k] : undefined)));
        columns.push({ key: "type:" + type, label: type, number: true, value: of, cell: (row) => S.percent(of(row)) });
      }
    }
    if (options.scores === "1") {
      tasks.forEach((t, k) => columns.push({ key: "task:" + board.tasks[t].name, label: board.tasks[t].name, number: true,
        value: (row) => row.values[k], cell: (row) => S.percent(row.values[k]) }));
    }
    return columns;
  }

  function meanOf(values) {
    const wanted = values.filter((value) => value !== undefined);
    return wanted.length && wanted.every((value) => value !== null) ? wanted.reduce((a, b) => a + b, 0) / wanted.length : null;
  }

  function rankCell(row) {
    if (!row.rank) return "–";
    const range = row.ranks && row.ranks[0] !== row.ranks[1] ? h("small", { title: "95 % interval of the rank" }, ` ${row.ranks[0]}–${row.ranks[1]}`) : null;
    return [String(row.rank), row.tied ? h("span", { class: "tie", title: "Cannot be distinguished from the best" }, " ≈") : null, range];
  }

  function meanCell(row) {
    const half = row.low === undefined ? null : h("small", { title: "95 % interval" }, ` ±${(50 * (row.high - row.low)).toFixed(2)}`);
    return [S.percent(row.mean), half];
  }

  S.sorted = (rows, columns, sort) => {
    const [key, direction] = (sort || "").split(":").length > 2 ? [sort.slice(0, sort.lastIndexOf(":")), sort.slice(sort.lastIndexOf(":") + 1)] : (sort || "").split(":");
    const column = columns.find((c) => c.key === key);
    if (!column) return rows;
    const sign = direction === "up" ? 1 : -1;
    const missing = (value) => value === undefined || value === null || value === "";
    return [...rows].sort((a, b) => {
      const x = column.value(a), y = column.value(b);
      if (missing(x) || missing(y)) return missing(x) - missing(y); // what is unknown comes last in both directions
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    });
  };

  function header(column, options) {
    const [sortKey, direction] = [(options.sort || "rank:up").replace(/:(up|down)$/, ""), (options.sort || "rank:up").endsWith(":up") ? "up" : "down"];
    const active = sortKey === column.key;
    const next = active ? (direction === "up" ? "down" : "up") : column.up ? "up" : "down";
    return h("th", { scope: "col", class: column.number ? "number" : null, "aria-sort": active ? (direction === "up" ? "ascending" : "descending") : null },
      h("button", { type: "button", class: "sort", onclick: () => S.change({ sort: `${column.key}:${next}` }) }, column.label, active ? (direction === "up" ? " ▲" : " ▼") : ""));
  }

  function body(board, row, columns, options, depth) {
    const cells = columns.map((column) => {
      if (!column.head) return h("td", { class: column.number ? "number" : null }, column.cell ? column.cell(row) : column.value(row));
      const chosen = S.list(options.pick).includes(board.models[row.model].name);
      const pick = h("input", { type: "checkbox", checked: chosen, "aria-label": `Compare ${board.models[row.model].name}`, onchange: () => S.pick(board.models[row.model].name) });
      const partial = row.partial ? h("span", { class: "flag", title: row.missing.map((t) => board.tasks[t].name).join(", ") }, `${row.missing.length} of ${row.cells.length} tasks missing`) : null;
      const own = board.models[row.model].own && board.models.some((m) => !m.own) ? h("span", { class: "own" }, "mine") : null;
      return h("th", { scope: "row", class: depth ? "model variant" : "model" }, pick, " ", link(board, row.model), " ", own, partial, marks(row));
    });
    return h("tr", { class: row.partial ? "partial" : row.tied ? "tied" : null }, cells);
  }

  S.pick = (name) => {
    const { options } = S.parse(location.hash);
    const chosen = S.list(options.pick);
    S.change({ pick: (chosen.includes(name) ? chosen.filter((n) => n !== name) : [...chosen, name].slice(-4)).join(",") });
  };

  /** Variants follow the row of their model. */
  function folded(board, rows) {
    const names = new Set(rows.map((row) => board.models[row.model].name));
    const children = new Map();
    const tops = [];
    for (const row of rows) {
      const parent = board.models[row.model].variant_of;
      if (parent && names.has(parent)) children.set(parent, [...(children.get(parent) || []), row]);
      else tops.push(row);
    }
    return tops.flatMap((row) => [[row, 0], ...(children.get(board.models[row.model].name) || []).map((child) => [child, 1])]);
  }

  S.table = (board, rows, tasks, options) => {
    const columns = columnsOf(board, tasks, options);
    const ordered = S.sorted(rows, columns, options.sort);
    const lines = options.sort ? ordered.map((row) => [row, 0]) : folded(board, ordered);
    const shown = options.all === "1" ? lines : lines.slice(0, MOST);
    const picked = S.list(options.pick);
    const whole = rows.filter((row) => !row.partial).length;
    return [
      h("div", { class: "row summary", role: "status" },
        h("span", {}, `${rows.length} models on ${tasks.length} tasks, ${whole} complete`),
        picked.length > 1 && h("a", { class: "button", href: S.address(["compare", board.slug, ...picked], {}) }, `Compare ${picked.length} models`),
        h("button", { type: "button", onclick: () => S.download(`${board.slug}.csv`, "text/csv", S.csv(board, ordered, columns)) }, "CSV"),
        h("button", { type: "button", onclick: () => S.download(`${board.slug}.json`, "application/json", S.json(board, ordered, tasks)) }, "JSON")),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Leaderboard" },
        h("table", { class: "board" }, h("caption", { class: "unseen" }, `Leaderboard of ${board.title || board.name}`),
          h("thead", {}, h("tr", {}, columns.map((column) => header(column, options)))),
          h("tbody", {}, shown.map(([row, depth]) => body(board, row, columns, options, depth))))),
      shown.length < lines.length && h("p", {}, h("button", { type: "button", onclick: () => S.change({ all: "1" }) }, `Show all ${lines.length} models`)),
      h("p", { class: "soft" }, rows.some((row) => row.ranks) ? "± and rank ranges: 95 % intervals from resampling the tasks. " : "",
        "≈ cannot be distinguished from the best. Partial models have no rank: their mean is over the tasks that they have. ", board.note),
    ];
  };

  const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

  S.csv = (board, rows, columns) => {
    const lines = [columns.map((column) => quoted(column.label)).join(",")];
    for (const row of rows) {
      lines.push(columns.map((column) => {
        const value = column.head ? board.models[row.model].name : column.value(row);
        return quoted(value === undefined || value === null ? "" : String(value));
      }).join(","));
    }
    return lines.join("\n") + "\n";
  };

  S.json = (board, rows, tasks) => JSON.stringify(rows.map((row) => ({
    ...board.models[row.model], rank: row.rank, mean: row.mean, low: row.low, high: row.high,
    missing: row.missing.map((t) => board.tasks[t].name),
    scores: Object.fromEntries(tasks.map((t, k) => [board.tasks[t].name, row.values[k]]).filter(([, v]) => v !== null)),
  })), null, 1);
})(window.Steelyard);
