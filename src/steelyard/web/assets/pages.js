/* The other views of a board: quality against cost, models, tasks, pipelines, errors. */
"use strict";

(function (S) {
  /* What `run --costs` has measured: the tail of the latency, its stages, and projections. */
  const COSTS = ["p95", "p99", "encode", "search", "rerank", "throughput", "gigabytes", "hours", "documents_price", "memory"];
  const h = S.h;
  const score = (value) => S.percent(value);
  const interval = (group) => (group && group.low !== undefined && group.low !== null ? `${S.percent(group.low)} to ${S.percent(group.high)}` : "");
  const unique = (values) => [...new Set(values)].sort();

  S.facts = (pairs) => h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== undefined && value !== null && value !== "").map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  S.notFound = (kind, name) => [h("h2", {}, `No such ${kind}`), h("p", {}, `${name} is not on this board.`)];

  S.costPage = (board, rows, options) => {
    const costs = Object.keys(S.COSTS).filter((name) => board.models.some((model) => model[name] !== undefined));
    if (!costs.length) return [h("p", {}, "No model of this board has a known size, dimension or cost.")];
    const differs = (name) => new Set(rows.filter((row) => !row.partial).map((row) => board.models[row.model][name]).filter((value) => value > 0)).size > 1;
    const cost = costs.includes(options.cost) ? options.cost : costs.find(differs) || costs[0];
    const points = rows.filter((row) => !row.partial && board.models[row.model][cost] > 0)
      .map((row) => ({ model: row.model, name: board.models[row.model].name, x: board.models[row.model][cost], y: row.mean, low: row.low, high: row.high, own: board.models[row.model].own }));
    const choice = h("label", {}, "Cost ", h("select", { id: "cost", onchange: (e) => S.change({ cost: e.target.value }) },
      costs.map((name) => h("option", { value: name, selected: name === cost }, S.COSTS[name]))));
    const chosen = new Set(S.list(options.brush)), brushed = chosen.size > 0;
    const clear = brushed && h("button", { type: "button", onclick: () => S.change({ brush: "" }) }, "Clear selection");
    if (points.length < 2) return [h("div", { class: "row" }, choice, clear), h("p", {}, "Fewer than two complete models have this cost.")];
    const unknown = rows.filter((row) => !row.partial).length - points.length;
    const front = S.front(points, cost), names = new Set(front.map((point) => point.name));
    const columns = [
      { key: "model", label: "Model", up: true, value: (p) => p.name, cell: (p) => S.modelLink(board, p.model) },
      { key: "mean", label: "Score", number: true, value: (p) => p.y, cell: (p) => score(p.y) },
      { key: "interval", label: "95 % interval", number: true, value: (p) => interval(p) },
      { key: cost, label: S.COSTS[cost], number: true, value: (p) => p.x, cell: (p) => S.count(p.x) },
      { key: "front", label: "Pareto front", value: (p) => (names.has(p.name) ? "yes" : "") },
    ];
    const listed = (brushed ? points.filter((point) => chosen.has(point.name)) : options.all === "1" ? points : front).sort((a, b) => b.y - a.y);
    return [
      h("div", { class: "row" }, choice, clear, brushed && h("a", { class: "button", href: S.address(["board", board.slug], { ...options, sort: "" }) }, "Show these on the leaderboard")),
      S.figure(S.scatter(points, cost, (inside) => S.change({ brush: S.joined(inside.map((point) => point.name)) })),
        [legend("top", "Pareto front: no other model is better and cheaper"), legend("", "other models"), points.some((p) => p.own) && legend("mine", "mine"),
          ` ${points.length} complete models${unknown ? `, ${unknown} without this cost are left out` : ""}; vertical lines are 95 % intervals. Drag over points to select them.`]),
      h("h2", {}, brushed ? "Selected models" : "Pareto front"),
      S.grid(`${board.slug}-${cost}`, "Models", columns, listed, options, { first: "mean:down" }),
    ];
  };
  const legend = (kind, text) => h("span", { class: "legend" }, S.svg("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, S.svg("circle", { cx: 5, cy: 5, r: 4, class: `dot ${kind}` })), text);

  /* Models */

  function profile(board, m) {
    const groups = [];
    const add = (kind, name, of) => {
      const tasks = board.tasks.map((_, t) => t).filter((t) => of(board.tasks[t]));
      const cells = tasks.map((t) => board.index[m].get(t)).filter((i) => i !== undefined && !board.isOther(i));
      if (cells.length) groups.push({ kind, name, tasks: cells.length, all: tasks.length, group: S.groupMean(board, cells) });
    };
    for (const type of unique(board.tasks.map((task) => task.type))) add("type", type, (task) => task.type === type);
    for (const code of unique(board.tasks.flatMap((task) => (task.languages || []).map(S.languageOf)))) add("language", code, (task) => (task.languages || []).some((own) => S.languageOf(own) === code));
    for (const category of unique(board.tasks.map((task) => task.category).filter(Boolean))) add("category", category, (task) => task.category === category);
    const several = new Set(["type", "language", "category"].filter((kind) => groups.filter((g) => g.kind === kind).length > 1));
    return groups.filter((g) => several.has(g.kind) || (g.kind === "type" && !several.size));
  }

  function historySection(board, rows) {
    if (!rows || !rows.length) return null;
    const columns = [
      { key: "revision", label: "Revision", value: (r) => r.revision, cell: (r) => h("code", {}, String(r.revision).slice(0, 12)) },
      { key: "date", label: rows.some((r) => r.date) ? "Date" : "mteb version", value: (r) => r.date || r.version },
      { key: "tasks", label: "Tasks", number: true, value: (r) => r.tasks },
      { key: "mean", label: `Mean over ${rows[0].common} shared tasks`, number: true, value: (r) => r.mean, cell: (r) => score(r.mean) },
      ...(rows.some((r) => r.settings) ? [{ key: "settings", label: "Changed settings", value: (r) => r.settings }] : []),
    ];
    return [h("h3", {}, "Revisions"), S.grid("revisions", "Revisions", columns, rows)];
  }

  function trainingSection(board, m, names) {
    const audits = (board.audits || []).filter((audit) => audit.models.includes(m));
    const onBoard = new Map(board.tasks.map((task, t) => [task.name, t]));
    const hits = (names || []).filter((name) => onBoard.has(name));
    if (!names && !audits.length) return [h("h3", {}, "Training data"), h("p", { class: "soft" }, "Not declared, and no audit of it is stored.")];
    return [
      h("h3", {}, "Training data"),
      hits.length > 0 && h("p", { class: "warn" }, `Declares ${hits.length} task${hits.length === 1 ? "" : "s"} of this board as training data: `, hits.map((name, i) => [i ? ", " : "", S.taskLink(board, onBoard.get(name))])),
      audits.map((audit) => h("p", { class: "warn" }, `Audit of ${audit.training} (${audit.date}): `, Object.entries(audit.tasks).map(([t, one], i) => [i ? "; " : "", S.taskLink(board, Number(t)), ` ${one.verdict}, ${one.found} of ${one.of} queries found`]))),
      names && h("details", {}, h("summary", {}, `${names.length} declared datasets`), h("p", {}, names.join(", "))),
    ];
  }

  S.modelPage = async (board, name) => {
    const m = board.find(name);
    if (m < 0) return S.notFound("model", name);
    const details = (await S.detail(board, "models")) || {};
    const model = board.models[m], tasks = board.tasks.map((_, t) => t);
    const tops = board.models.map((_, i) => i).filter((i) => board.parent[i] < 0 || i === m);
    const comparable = S.averaged(board, board.score), ranked = S.rank(board, tops, tasks, "", comparable);
    const own = ranked.find((row) => row.model === m);
    const rankOn = (t) => {
      const mine = comparable[board.index[m].get(t)];
      return mine === null ? null : 1 + board.models.filter((_, i) => board.index[i].has(t) && comparable[board.index[i].get(t)] > mine).length;
    };
    const groups = profile(board, m);
    const kept = (details.settings || {})[m];
    const missing = tasks.filter((t) => !board.index[m].has(t));
    const byTask = [
      { key: "task", label: "Task", up: true, value: (t) => board.tasks[t].name, cell: (t) => S.taskLink(board, t) },
      { key: "type", label: "Type", up: true, value: (t) => board.tasks[t].type },
      { key: "score", label: "Score", number: true, value: (t) => board.score[board.index[m].get(t)], cell: (t) => score(board.score[board.index[m].get(t)]) },
      { key: "interval", label: "95 % interval", number: true, value: (t) => { const i = board.index[m].get(t); return board.low && board.low[i] !== null ? interval({ low: board.low[i], high: board.high[i] }) : ""; } },
      { key: "rank", label: "Rank", number: true, up: true, value: rankOn, cell: (t) => (rankOn(t) === null ? "not ranked" : `${rankOn(t)} of ${board.models.filter((_, i) => board.index[i].has(t) && comparable[board.index[i].get(t)] !== null).length}`) },
      { key: "notes", label: "Notes", value: (t) => S.notesOn(board, board.index[m].get(t)) },
    ];
    return [
      h("h2", {}, S.modelName(model.name)),
      S.facts([["Rank", own && own.rank ? `${own.rank} of ${ranked.filter((r) => r.rank).length}` : own && own.excluded.length === own.missing.length && own.missing.length ? "none: tasks on other data are not averaged" : "none: tasks are missing"], [own && own.partial ? `Mean over ${tasks.length - own.missing.length} of ${tasks.length} tasks` : "Mean", own ? score(own.mean) : null], ["95 % interval", interval(own)],
        ["Family", model.family], ["Parameters", S.count(model.parameters)], ["Dimension", model.dimension], ["Longest input (tokens)", model.tokens],
        ["Licence", model.license || "not recorded"], ["Open weights", model.open === undefined ? "not recorded" : model.open ? "yes" : "no"], ["Released", model.date], ["Revision", model.revision && String(model.revision).slice(0, 12)],
        ["Bytes per document", S.count(model.bytes)], ["Latency (ms)", S.count(model.latency)], ["Documents per second", S.count(model.rate)], ["Price of 1,000 queries", model.price],
        ...COSTS.map((name) => [S.COLUMNS[name], S.count(model[name])]),
        ["Variant of", board.parent[m] >= 0 ? S.modelLink(board, board.parent[m]) : model.variant_of], ["Page", model.url && /^https?:/.test(model.url) ? h("a", { href: model.url, rel: "noreferrer noopener" }, model.url) : null]]),
      groups.length > 1 && [h("h3", {}, "Profile"),
        S.figure(S.forest(groups.map((g) => ({ name: `${g.name.replaceAll("_", " ")} (${g.tasks} task${g.tasks === 1 ? "" : "s"})`, value: g.group.mean, low: g.group.low, high: g.group.high })), { label: "Scores by type, language and category", zero: false }), groups.some((g) => g.group.low !== undefined) ? "Mean score (%) with 95 % intervals, where they are known." : "Mean score (%). Intervals need scores of queries or at least four tasks."),
        h("details", {}, h("summary", {}, "Table"), S.grid("profile", "Profile", [
          { key: "kind", label: "By", value: (g) => g.kind }, { key: "name", label: "Group", value: (g) => g.name }, { key: "mean", label: "Mean", number: true, value: (g) => g.group.mean, cell: (g) => score(g.group.mean) },
          { key: "interval", label: "95 % interval", number: true, value: (g) => interval(g.group) }, { key: "over", label: "Interval over", value: (g) => g.group.over }, { key: "tasks", label: "Tasks", number: true, value: (g) => g.tasks, cell: (g) => `${g.tasks} of ${g.all}` }], groups))],
      model.stages && [h("h3", {}, "Stages"), stageTable(board, model)],
      h("h3", {}, "Tasks"), S.grid("tasks", "Scores by task", byTask, tasks.filter((t) => board.index[m].has(t))),
      own && own.excluded.length > 0 && [h("h3", {}, "Tasks on other data"), h("p", {}, `Not averaged, because most models were evaluated on another revision or sample: ${own.excluded.map((t) => board.tasks[t].name).join(", ")}`)],
      missing.length > 0 && [h("h3", {}, "Missing tasks"), h("p", {}, missing.map((t) => board.tasks[t].name).join(", "))],
      historySection(board, (details.history || {})[m]),
      !model.own && trainingSection(board, m, (details.training || {})[m]), model.own && (board.audits || []).length > 0 && trainingSection(board, m),
      kept && h("details", {}, h("summary", {}, "Settings and provenance"), h("pre", {}, JSON.stringify(kept, null, 2))),
    ];
  };

  /* Pipelines */

  function stageTable(board, model) {
    return S.grid("stages", `Stages of ${model.name}`, [
      { key: "stage", label: "Stage", value: (s) => s.name }, { key: "score", label: "nDCG@10", number: true, value: (s) => s.score, cell: (s) => score(s.score) },
      { key: "gain", label: "Gain over its best input", number: true, value: (s) => s.gain, cell: (s) => (s.gain === undefined ? "" : S.signed(s.gain)), className: (s) => (s.gain < 0 ? "worse" : "") },
      { key: "depth", label: "Depth", number: true, value: (s) => s.depth }, { key: "ceiling", label: "Recall ceiling", number: true, value: (s) => s.ceiling, cell: (s) => (s.ceiling === undefined ? "" : score(s.ceiling)) },
    ], model.stages);
  }

  S.pipelinesPage = (board, options) => {
    const places = board.models.map((_, m) => m).filter((m) => board.models[m].stages || /^rerank\b/.test(board.models[m].family || ""));
    if (!places.length) return [h("h2", {}, "Rerankers and pipelines"), h("p", {}, "This board has no reranker, pipeline or fusion.")];
    const tasks = board.tasks.map((_, t) => t);
    const rows = S.rank(board, places, tasks, "", S.averaged(board, board.score)).map((row) => {
      const model = board.models[row.model], stages = model.stages || [], last = stages[stages.length - 1] || {};
      const cut = model.name.lastIndexOf(" > "), piped = model.family === "pipeline" && cut > 0;
      const first = piped ? model.name.slice(0, cut) : stages.slice(0, -1).filter((s) => s.gain === undefined).map((s) => s.name).join(" + ");
      const base = last.gain === undefined ? undefined : last.score - last.gain; // the best input: the gain is over it
      return { ...row, kind: model.family, first, base, depth: last.depth, ceiling: last.ceiling, gain: last.gain };
    }).sort((a, b) => b.mean - a.mean || (a.first < b.first ? -1 : a.first > b.first ? 1 : 0) || (a.depth || 0) - (b.depth || 0));
    const cost = (name) => ({ key: name, label: S.COLUMNS[name], number: true, up: true, value: (r) => board.models[r.model][name], cell: (r) => (board.models[r.model][name] === undefined ? "" : S.count(board.models[r.model][name])) });
    const scale = S.scaleOf(rows);
    const columns = [
      { key: "model", label: "Model", up: true, value: (r) => board.models[r.model].name, cell: (r) => S.modelLink(board, r.model) },
      { key: "mean", label: "Score", number: true, value: (r) => r.mean, cell: (r) => [score(r.mean), " ", r.low === undefined ? null : h("small", {}, `±${(50 * (r.high - r.low)).toFixed(2)}`), S.range(r, scale)] },
      { key: "kind", label: "Kind", up: true, value: (r) => r.kind },
      { key: "first", label: "First stage", up: true, value: (r) => r.first || "candidates of the task" },
      { key: "base", label: "First stage alone", title: "Of a fusion: its best part", number: true, value: (r) => r.base, cell: (r) => (r.base === undefined ? "" : score(r.base)) },
      { key: "gain", label: "Gain", number: true, value: (r) => r.gain, cell: (r) => (r.gain === undefined ? "" : S.signed(r.gain)), className: (r) => (r.gain < 0 ? "worse" : "better") },
      { key: "depth", label: "Depth", number: true, value: (r) => r.depth, cell: (r) => r.depth ?? (r.kind === "fusion" ? "all" : "") },
      { key: "ceiling", label: "Recall ceiling", number: true, value: (r) => r.ceiling, cell: (r) => (r.ceiling === undefined ? "" : score(r.ceiling)) },
      cost("latency"), cost("rerank"), cost("price"),
    ];
    return [h("h2", {}, "Rerankers and pipelines"),
      h("p", { class: "soft" }, "Depth is the number of documents of each query that the last stage reads; the recall ceiling is the share of relevant documents among them, which no order can exceed. The gain is over the best input, as means over the tasks."),
      S.grid(`${board.slug}-pipelines`, "Rerankers and pipelines", columns, rows, options, { first: "mean:down" }),
      rows.filter((r) => board.models[r.model].stages).slice(0, 12).map((r) => h("details", {}, h("summary", {}, `Stages of ${board.models[r.model].name}`), stageTable(board, board.models[r.model])))];
  };

  S.errorsPage = (board) => [h("h2", {}, "Evaluations that failed"), S.grid(`${board.slug}-errors`, "Evaluations that failed", [
    { key: "model", label: "Model", value: (f) => f.model }, { key: "task", label: "Task", value: (f) => f.task }, { key: "error", label: "Error", value: (f) => f.error },
  ], board.failures)];

  /* Tasks */

  S.scoresOf = (board, t) => board.models.map((_, m) => m).filter((m) => board.index[m].has(t))
    .map((m) => { const i = board.index[m].get(t); return { model: m, i, mean: board.score[i], low: board.low ? board.low[i] ?? undefined : undefined, high: board.high ? board.high[i] ?? undefined : undefined }; })
    .sort((a, b) => board.isOther(a.i) - board.isOther(b.i) || b.mean - a.mean);

  S.tasksPage = (board, options) => {
    const rows = board.tasks.map((task, t) => {
      const scores = S.scoresOf(board, t).filter((row) => !board.isOther(row.i)), best = scores[0];
      return { t, task, best, median: scores.length ? scores[Math.floor(scores.length / 2)].mean : null, models: scores.length };
    });
    const known = (name) => board.tasks.some((task) => task[name] !== undefined);
    const columns = [
      { key: "task", label: "Task", up: true, value: (r) => r.task.name, cell: (r) => S.taskLink(board, r.t) },
      { key: "type", label: "Type", up: true, value: (r) => r.task.type.replaceAll("_", " ") },
      { key: "languages", label: "Languages", up: true, value: (r) => { const codes = [...new Set((r.task.languages || []).map(S.languageOf))]; return codes.length > 4 ? `${codes.length} languages` : codes.join(", "); } },
      ...(known("queries") ? [{ key: "queries", label: "Queries", number: true, value: (r) => r.task.queries }, { key: "documents", label: "Documents", number: true, value: (r) => r.task.documents, cell: (r) => S.count(r.task.documents) }] : []),
      { key: "metric", label: "Metric", up: true, value: (r) => S.metricName(r.task.metric) },
      { key: "models", label: "Models", number: true, value: (r) => r.models },
      { key: "median", label: "Median", number: true, title: "Lower is harder", value: (r) => r.median, cell: (r) => score(r.median) },
      { key: "best", label: "Best", number: true, value: (r) => r.best && r.best.mean, cell: (r) => (r.best ? score(r.best.mean) : "") },
      { key: "leader", label: "Best model", up: true, value: (r) => r.best && board.models[r.best.model].name, cell: (r) => (r.best ? S.modelLink(board, r.best.model) : "") },
    ];
    return [h("h2", {}, `Tasks of ${board.title || board.name}`), S.grid(`${board.slug}-tasks`, "Tasks", columns, rows, options)];
  };

  /** Scores of the best models on every task, with half of their intervals: what a run evaluated, at a glance. */
  S.matrix = (board, rows, tasks, values) => {
    const models = rows.slice(0, 8);
    const at = (row, t) => board.index[row.model].get(t);
    const highest = (t) => Math.max(...models.map((row) => (at(row, t) === undefined ? -Infinity : values[at(row, t)] ?? -Infinity)));
    const tested = values === board.score && board.leaders.length > 0;
    const best = (row, t) => (tested ? board.leaders[t].includes(row.model) : values[at(row, t)] === highest(t));
    const half = (i) => (values === board.score && board.low && board.low[i] !== null ? h("small", {}, ` ±${(50 * (board.high[i] - board.low[i])).toFixed(2)}`) : null);
    const columns = [
      { key: "task", label: "Task", value: (t) => board.tasks[t].name, cell: (t) => S.taskLink(board, t) },
      { key: "language", label: "Language", value: (t) => [...new Set((board.tasks[t].languages || []).map(S.languageOf))].slice(0, 3).join(", ") },
      ...models.map((row) => ({ key: board.models[row.model].name, label: board.models[row.model].name, number: true, value: (t) => (at(row, t) === undefined ? null : values[at(row, t)]),
        cell: (t) => (at(row, t) === undefined ? "–" : [S.percent(values[at(row, t)]), half(at(row, t))]), className: (t) => (models.length > 1 && at(row, t) !== undefined && best(row, t) ? "top" : "") })),
    ];
    return [h("h2", {}, "Scores by task"), tested && h("p", { class: "soft" }, "Marked: the best model of a task, and every model that a paired test over its queries cannot distinguish from it."), S.grid(`${board.slug}-by-task`, "Scores by task", columns, tasks)];
  };

  function missSection(board, misses) {
    const entries = Object.entries(misses || {});
    if (!entries.length) return null;
    const columns = [{ key: "query", label: "Query", value: (x) => x.text }, { key: "rank", label: "Rank", number: true, value: (x) => x.rank ?? "not found" },
      { key: "top", label: "Ranked first", value: (x) => x.top || "no document" }, { key: "positive", label: "Relevant document", value: (x) => x.positive }];
    return [h("h3", {}, "Where models fail"), entries.map(([m, rows]) => h("details", {}, h("summary", {}, `${board.models[m].name}: worst queries`), S.grid("misses", `Worst queries of ${board.models[m].name}`, columns, rows)))];
  }

  S.taskPage = async (board, name) => {
    const t = board.tasks.findIndex((task) => task.name === name);
    if (t < 0) return S.notFound("task", name);
    const details = (await S.detail(board, "task", t)) || {};
    const task = board.tasks[t], scores = S.scoresOf(board, t), values = scores.filter((row) => !board.isOther(row.i)).map((row) => row.mean);
    const others = scores.length - values.length;
    const scale = scores.length ? S.scaleOf(scores.slice(0, 40)) : { low: 0, high: 1 };
    const columns = [
      { key: "model", label: "Model", value: (r) => board.models[r.model].name, cell: (r) => S.modelLink(board, r.model) },
      { key: "score", label: S.metricName(task.metric) || "Score", number: true, value: (r) => r.mean, cell: (r) => [score(r.mean), S.range(r, scale)] },
      { key: "interval", label: "95 % interval", number: true, value: (r) => interval(r) },
      ...Object.keys(board.metrics).filter((metric) => metric !== task.metric && scores.some((r) => board.metrics[metric][r.i] !== null)).slice(0, 3)
        .map((metric) => ({ key: metric, label: S.metricName(metric), number: true, value: (r) => board.metrics[metric][r.i], cell: (r) => score(board.metrics[metric][r.i]) })),
      { key: "notes", label: "Notes", value: (r) => S.notesOn(board, r.i) },
    ];
    const audits = (board.audits || []).filter((audit) => audit.tasks[t]);
    return [
      h("h2", {}, task.name), details.about && h("p", {}, details.about),
      S.facts([["Type", task.type.replaceAll("_", " ")], ["Category", (task.category || "").replaceAll("_", " ")], ["Metric", S.metricName(task.metric)], ["Languages", (task.languages || []).join(", ") || "not recorded"],
        ["Queries", task.queries], ["Documents", task.documents && task.documents.toLocaleString("en")], ["Data revision", task.revision], ["Models", scores.length], ["Best", score(values[0])], ["Median", values.length ? score(values[Math.floor(values.length / 2)]) : ""],
        ["Queries that no model solves", details.unsolved === undefined ? "" : h("a", { href: S.address(["queries", board.slug, task.name], { unsolved: "1" }) }, `${details.unsolved} of ${details.total}`)]]),
      details.ids && h("p", {}, h("a", { class: "button", href: S.address(["queries", board.slug, task.name], {}) }, "Explore the queries")),
      audits.map((audit) => h("p", { class: "warn" }, `Audit of ${audit.training} (${audit.date}): ${audit.tasks[t].verdict}. ${audit.tasks[t].reason}.`)),
      h("h3", {}, "Scores"), others > 0 && h("p", { class: "soft" }, `The last ${others === 1 ? "score is" : `${others} scores are`} on another revision or sample of the data and not comparable with the others.`), S.grid(`${board.slug}-task`, "Scores", columns, scores),
      details.findings && details.findings.length > 0 && [h("h3", {}, "About the data"), S.findings(details.findings)],
      details.within && [h("h3", {}, "Duplicates"), details.within.length ? details.within.map(overlap) : h("p", { class: "soft" }, "No duplicate or near-duplicate was found.")],
      missSection(board, details.misses),
    ];
  };

  S.findings = (findings) => unique(findings.map((one) => one.section)).map((section) => h("details", {}, h("summary", {}, section), h("ul", {}, findings.filter((one) => one.section === section).map((one) => h("li", {}, one.text)))));

  function overlap(one) {
    const keys = [...new Set(one.examples.flatMap(Object.keys))];
    return h("details", {}, h("summary", {}, `${one.count} of ${one.total} ${one.meaning}`), one.examples.length > 0 && S.grid("duplicates", one.meaning, keys.map((key) => ({ key, label: key.replaceAll("_", " "), value: (x) => x[key] })), one.examples));
  }
})(window.Steelyard);
