/* The other views: quality against cost, one model, one task, models side by side. */
"use strict";

(function (S) {
  const h = S.h;

  const simpleTable = (caption, columns, rows) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, columns.map((c) => h("th", { scope: "col", class: c.number ? "number" : null }, c.label)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) => (i === 0 ? h("th", { scope: "row" }, cell) : h("td", { class: columns[i].number ? "number" : null }, cell))))))));

  const find = (board, name) => board.models.findIndex((model) => model.name === name);

  S.costPage = (board, rows, options) => {
    const costs = Object.keys(S.COSTS).filter((name) => board.models.some((model) => model[name] !== undefined));
    if (!costs.length) return [h("p", {}, "No model of this board has a known size, dimension or cost.")];
    const cost = costs.includes(options.cost) ? options.cost : costs[0];
    const points = rows.filter((row) => !row.partial && board.models[row.model][cost] > 0)
      .map((row) => ({ name: board.models[row.model].name, x: board.models[row.model][cost], y: row.mean, low: row.low, high: row.high, own: board.models[row.model].own }));
    const choice = h("label", {}, "Cost ", h("select", { id: "cost", onchange: (e) => S.change({ cost: e.target.value }) },
      costs.map((name) => h("option", { value: name, selected: name === cost }, S.COSTS[name]))));
    if (points.length < 2) return [choice, h("p", {}, "Fewer than two complete models have this cost.")];
    const front = S.pareto(points);
    const picked = S.list(options.brush);
    const listed = picked.length ? points.filter((point) => picked.includes(point.name)) : front;
    return [
      h("div", { class: "row" }, choice, picked.length > 0 && h("button", { type: "button", onclick: () => S.change({ brush: "" }) }, "Clear selection")),
      S.figure(S.scatter(points, cost, (chosen) => S.change({ brush: chosen.map((point) => point.name).join(",") })),
        `${points.length} complete models. The line is the Pareto front: no other model is better and cheaper. Drag over points to list them.`),
      h("h2", {}, picked.length ? "Selected models" : "Pareto front"),
      simpleTable("Models", [{ label: "Model" }, { label: "Mean", number: true }, { label: S.COSTS[cost], number: true }],
        [...listed].sort((a, b) => b.y - a.y).map((p) => [h("a", { href: S.address(["model", board.slug, p.name], {}) }, p.name), S.percent(p.y), S.count(p.x)])),
    ];
  };

  function factList(pairs) {
    return h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== undefined && value !== null && value !== "").map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }

  S.modelPage = (board, name) => {
    const m = find(board, name);
    if (m < 0) return [h("h2", {}, "No such model"), h("p", {}, `${name} is not on this board.`)];
    const model = board.models[m];
    const tasks = board.tasks.map((_, t) => t);
    const ranked = S.rank(board, board.models.map((_, i) => i), tasks, "", board.score);
    const own = ranked.find((row) => row.model === m);
    const rankOn = (t) => {
      const scores = board.models.map((_, i) => board.index[i].get(t)).filter((i) => i !== undefined).map((i) => board.score[i]);
      const mine = board.score[board.index[m].get(t)];
      return `${1 + scores.filter((s) => s > mine).length} of ${scores.length}`;
    };
    const types = [...new Set(board.tasks.map((task) => task.type))].sort();
    const groups = types.map((type) => {
      const values = tasks.filter((t) => board.tasks[t].type === type).map((t) => board.index[m].get(t)).filter((i) => i !== undefined).map((i) => board.score[i]);
      const all = tasks.filter((t) => board.tasks[t].type === type).length;
      return [type, values.length ? S.percent(values.reduce((a, b) => a + b, 0) / values.length) : "–", `${values.length} of ${all}`];
    });
    const rows = tasks.filter((t) => board.index[m].has(t)).map((t) => {
      const i = board.index[m].get(t);
      const flags = S.FLAGS.filter(([bit]) => board.flag(i) & bit).map(([, label]) => label).join(", ");
      const interval = board.low && board.low[i] !== null ? `${S.percent(board.low[i])} to ${S.percent(board.high[i])}` : "";
      return [h("a", { href: S.address(["task", board.slug, board.tasks[t].name], {}) }, board.tasks[t].name), board.tasks[t].type, S.percent(board.score[i]), interval, rankOn(t), flags];
    });
    const missing = tasks.filter((t) => !board.index[m].has(t));
    return [
      h("h2", {}, model.name),
      factList([["Rank", own && own.rank ? `${own.rank} of ${ranked.filter((r) => r.rank).length}` : "no rank: tasks are missing"], ["Mean", own ? S.percent(own.mean) : null],
        ["Family", model.family], ["Parameters", S.count(model.parameters)], ["Dimension", model.dimension], ["Longest input (tokens)", model.tokens],
        ["Licence", model.license || "not recorded"], ["Open weights", model.open === undefined ? "not recorded" : model.open ? "yes" : "no"], ["Released", model.date], ["Revision", model.revision],
        ["Variant of", model.variant_of], ["Page", model.url && /^https?:/.test(model.url) ? h("a", { href: model.url, rel: "noreferrer noopener" }, model.url) : null]]),
      h("h3", {}, "By task type"), simpleTable("Scores by task type", [{ label: "Type" }, { label: "Mean", number: true }, { label: "Tasks", number: true }], groups),
      h("h3", {}, "By task"), simpleTable("Scores by task", [{ label: "Task" }, { label: "Type" }, { label: "Score", number: true }, { label: "95 % interval", number: true }, { label: "Rank", number: true }, { label: "Notes" }], rows),
      missing.length > 0 && [h("h3", {}, "Missing"), h("p", {}, missing.map((t) => board.tasks[t].name).join(", "))],
    ];
  };

  S.taskPage = (board, name) => {
    const t = board.tasks.findIndex((task) => task.name === name);
    if (t < 0) return [h("h2", {}, "No such task"), h("p", {}, `${name} is not on this board.`)];
    const task = board.tasks[t];
    const scored = board.models.map((_, m) => [m, board.index[m].get(t)]).filter(([, i]) => i !== undefined).sort((a, b) => board.score[b[1]] - board.score[a[1]]);
    const values = scored.map(([, i]) => board.score[i]);
    const median = values.length ? values[Math.floor(values.length / 2)] : null;
    return [
      h("h2", {}, task.name),
      factList([["Type", task.type], ["Category", task.category], ["Metric", task.metric], ["Languages", (task.languages || []).join(", ") || "not recorded"],
        ["Queries", task.queries], ["Documents", task.documents], ["Models", scored.length], ["Best", S.percent(values[0])], ["Median", S.percent(median)]]),
      simpleTable("Scores", [{ label: "Model" }, { label: "Score", number: true }, { label: "Notes" }],
        scored.map(([m, i]) => [h("a", { href: S.address(["model", board.slug, board.models[m].name], {}) }, board.models[m].name), S.percent(board.score[i]),
          S.FLAGS.filter(([bit]) => board.flag(i) & bit).map(([, label]) => label).join(", ")])),
    ];
  };

  /** A two-sided sign-flip test over the tasks that both models have. */
  S.signFlip = (differences) => {
    const n = differences.length, observed = Math.abs(differences.reduce((a, b) => a + b, 0));
    if (n < 5) return null;
    let state = 12345, extreme = 0;
    const draws = 10000;
    for (let draw = 0; draw < draws; draw++) {
      let sum = 0;
      for (let k = 0; k < n; k++) {
        state = (Math.imul(state, 1664525) + 1013904223) | 0;
        sum += state < 0 ? -differences[k] : differences[k];
      }
      if (Math.abs(sum) >= observed - 1e-12) extreme++;
    }
    return (extreme + 1) / (draws + 1);
  };

  S.comparePage = (board, names) => {
    const models = names.map((name) => find(board, name));
    if (models.length < 2 || models.some((m) => m < 0)) return [h("h2", {}, "Compare models"), h("p", {}, "Tick two to four models on the board, then choose Compare.")];
    const [first, second] = models;
    const tasks = board.tasks.map((_, t) => t).filter((t) => models.every((m) => board.index[m].has(t)));
    const at = (m, t) => board.score[board.index[m].get(t)];
    const lines = tasks.map((t) => ({ name: board.tasks[t].name, value: at(first, t) - at(second, t) })).sort((a, b) => b.value - a.value);
    const p = S.signFlip(lines.map((line) => line.value));
    const mean = lines.reduce((sum, line) => sum + line.value, 0) / (lines.length || 1);
    const wins = lines.filter((line) => line.value > 0).length, losses = lines.filter((line) => line.value < 0).length;
    const verdict = p === null ? "Fewer than five common tasks: no test."
      : p < 0.05 ? `The difference of means is ${(100 * mean).toFixed(2)} (p = ${p.toFixed(4)}, sign-flip test over tasks).`
      : `The difference of means is ${(100 * mean).toFixed(2)}; a test over the tasks does not distinguish the two models (p = ${p.toFixed(2)}).`;
    return [
      h("h2", {}, names.join(" against ")),
      h("p", {}, verdict), h("p", {}, `${names[0]} is better on ${wins} tasks, ${names[1]} on ${losses}; ${lines.length - wins - losses} are equal. ${board.tasks.length - tasks.length} tasks are missing for at least one model.`),
      tasks.length > 0 && S.figure(S.forest(lines), `Difference in percentage points: ${names[0]} minus ${names[1]}. Bars to the right favour ${names[0]}.`),
      h("h3", {}, "Scores"),
      simpleTable("Scores", [{ label: "Task" }, ...names.map((label) => ({ label, number: true })), { label: "Difference", number: true }],
        tasks.map((t) => [h("a", { href: S.address(["task", board.slug, board.tasks[t].name], {}) }, board.tasks[t].name), ...models.map((m) => S.percent(at(m, t))), (100 * (at(first, t) - at(second, t))).toFixed(2)])),
    ];
  };
})(window.Steelyard);
