/* Two to four models side by side. Differences over queries are computed by Steelyard; published scores have tasks only. */
"use strict";

(function (S) {
  const h = S.h;

  /** A two-sided sign-flip test over tasks, for published scores that have no scores of queries. */
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

  /** Load the comparison of two models; positions are stored in ascending order, so signs may have to change. */
  async function pairOf(board, a, b) {
    const pair = await S.detail(board, "pair", Math.min(a, b), Math.max(a, b));
    if (!pair || pair.error || a < b) return pair;
    const flip = (d) => d && { ...d, difference: -d.difference, low: d.high === null ? null : -d.high, high: d.low === null ? null : -d.low, wins: d.losses, losses: d.wins,
      verdict: { better: "worse", worse: "better" }[d.verdict] || d.verdict };
    return { ...pair, overall: flip(pair.overall), tasks: pair.tasks.map((d) => ({ ...flip(d), task: d.task })), changes: pair.changes.map((c) => ({ ...c, scores: [...c.scores].reverse(), ranks: [...c.ranks].reverse() })) };
  }

  const p = (value) => (value === null || value === undefined ? "" : value < 0.0001 ? "< 0.0001" : value.toFixed(4));
  const bounds = (d) => (d.low === null || d.low === undefined ? "" : `[${S.signed(d.low)}, ${S.signed(d.high)}]`);

  function verdictText(names, pair) {
    const d = pair.overall;
    if (!d) return "The scores of these tasks are not means over queries: no test.";
    const size = `${S.signed(d.difference)} ${bounds(d)}, p = ${p(d.p_value)}`;
    if (d.verdict === "not distinguishable") return `${names[0]} and ${names[1]} cannot be distinguished: ${size}.`;
    return `${names[0]} is ${d.verdict} than ${names[1]}: ${size}.`;
  }

  function queryPair(board, a, b, pair, tasks) {
    const names = [board.models[a].name, board.models[b].name];
    if (pair.error) return [h("h3", {}, names.join(" against ")), h("p", {}, `Not compared: ${pair.error}.`)];
    const lines = pair.tasks.filter((d) => tasks.includes(d.task)).sort((x, y) => y.difference - x.difference);
    const columns = [
      { key: "task", label: "Task", value: (d) => board.tasks[d.task].name, cell: (d) => S.taskLink(board, d.task) },
      { key: "difference", label: "Difference", number: true, value: (d) => d.difference, cell: (d) => S.signed(d.difference) },
      { key: "interval", label: "95 % interval", number: true, value: bounds },
      { key: "p", label: "p (Holm)", number: true, value: (d) => d.p_holm, cell: (d) => p(d.p_holm) },
      { key: "queries", label: "Queries won / tied / lost", number: true, value: (d) => (d.wins === null ? "" : `${d.wins} / ${d.ties} / ${d.losses}`) },
      { key: "verdict", label: "Verdict", value: (d) => d.verdict },
    ];
    const changes = pair.changes.filter((change) => tasks.includes(change.task));
    const changed = [
      { key: "query", label: "Query", value: (c) => c.query, cell: (c) => S.queryLink(board, c.task, c.query, c.text || c.query, names) },
      { key: "task", label: "Task", value: (c) => board.tasks[c.task].name, cell: (c) => S.taskLink(board, c.task) },
      ...names.map((name, k) => ({ key: name, label: name, number: true, value: (c) => c.scores[k], cell: (c) => [S.percent(c.scores[k]), h("small", {}, c.ranks[k] ? ` rank ${c.ranks[k]}` : c.ranks.some(Boolean) ? " not found" : "")] })),
      { key: "difference", label: "Difference", number: true, value: (c) => c.scores[0] - c.scores[1], cell: (c) => S.signed(c.scores[0] - c.scores[1]) },
    ];
    return [
      h("h3", {}, names.join(" against ")), h("p", { class: "verdict" }, verdictText(names, pair)),
      h("p", { class: "soft" }, `Paired randomisation test over ${pair.queries.toLocaleString("en")} queries of ${pair.tasks.length} tasks; p-values of tasks are corrected by Holm's method.`),
      S.figure(S.forest(lines.map((d) => ({ name: board.tasks[d.task].name, value: d.difference, low: d.low, high: d.high, sure: d.verdict === "better" || d.verdict === "worse" })), { label: `Difference by task of ${names.join(" and ")}` }), `Difference in percentage points with 95 % intervals: ${names[0]} minus ${names[1]}. Grey: not distinguishable.`),
      S.grid("differences", `Differences of ${names.join(" and ")}`, columns, lines),
      changes.length > 0 && [h("h4", {}, "Queries that differ most"), S.grid("queries", `Queries that differ most between ${names.join(" and ")}`, changed, changes)],
      pair.flags.length > 0 && h("p", { class: "soft" }, pair.flags.join("; ")),
    ];
  }

  function taskPair(board, a, b, tasks) {
    const names = [board.models[a].name, board.models[b].name];
    const at = (m, t) => board.score[board.index[m].get(t)];
    const lines = tasks.map((t) => ({ t, name: board.tasks[t].name, value: at(a, t) - at(b, t) })).sort((x, y) => y.value - x.value);
    const value = S.signFlip(lines.map((line) => line.value));
    const mean = lines.reduce((sum, line) => sum + line.value, 0) / (lines.length || 1);
    const wins = lines.filter((line) => line.value > 0).length, losses = lines.filter((line) => line.value < 0).length;
    const text = value === null ? "Fewer than five common tasks: no test." : value < 0.05 ? `The difference of means is ${S.signed(mean)} (p = ${value.toFixed(4)}, sign-flip test over tasks).`
      : `The difference of means is ${S.signed(mean)}; a test over the tasks does not distinguish the two models (p = ${value.toFixed(2)}).`;
    return [h("h3", {}, names.join(" against ")), h("p", { class: "verdict" }, text),
      h("p", {}, `${names[0]} is better on ${wins} tasks, ${names[1]} on ${losses}; ${lines.length - wins - losses} are equal.`),
      lines.length > 0 && S.figure(S.forest(lines, { label: `Difference by task of ${names.join(" and ")}` }), `Difference in percentage points: ${names[0]} minus ${names[1]}. Bars to the right favour ${names[0]}.`),
      lines.length > 0 && [h("h4", {}, "Tasks that differ most"), S.grid("differences", `Differences of ${names.join(" and ")}`, [
        { key: "task", label: "Task", value: (line) => line.name, cell: (line) => S.taskLink(board, line.t) }, { key: "type", label: "Type", value: (line) => board.tasks[line.t].type },
        ...[a, b].map((m, k) => ({ key: names[k], label: names[k], number: true, value: (line) => at(m, line.t), cell: (line) => S.percent(at(m, line.t)) })),
        { key: "difference", label: "Difference", number: true, value: (line) => line.value, cell: (line) => S.signed(line.value) },
      ], [...lines].sort((x, y) => Math.abs(y.value) - Math.abs(x.value)))]];
  }

  async function withTexts(board, pair) {
    if (!pair || pair.error) return;
    for (const t of new Set(pair.changes.map((change) => change.task))) {
      const details = await S.detail(board, "task", t);
      if (!details || !details.texts) continue;
      const place = new Map(details.ids.map((id, q) => [id, q]));
      for (const change of pair.changes) if (change.task === t && place.has(change.query)) change.text = details.texts[place.get(change.query)];
    }
  }

  S.comparePage = async (board, names, options) => {
    const models = names.map(board.find);
    if (models.length < 2 || models.length > 4 || models.some((m) => m < 0)) return [h("h2", {}, "Compare models"), h("p", {}, "Tick two to four models on the leaderboard, then choose Compare.")];
    const chosen = S.chosenTasks(board, options), values = S.averaged(board, board.score, options);
    const common = chosen.filter((t) => models.every((m) => board.index[m].has(t))), tasks = common.filter((t) => {
      const cells = models.map((m) => board.index[m].get(t)), data = new Set(cells.map(board.otherData));
      return cells.every((i) => values[i] !== null) || (data.size === 1 && !data.has("")); // all on the same other data
    });
    const first = models[0], sections = [];
    for (const other of models.slice(1)) {
      const pair = await pairOf(board, first, other);
      await withTexts(board, pair);
      sections.push(pair ? queryPair(board, first, other, pair, tasks) : taskPair(board, first, other, tasks));
    }
    const columns = [
      { key: "task", label: "Task", value: (t) => board.tasks[t].name, cell: (t) => S.taskLink(board, t) },
      ...models.map((m) => ({ key: board.models[m].name, label: board.models[m].name, number: true, value: (t) => board.score[board.index[m].get(t)],
        cell: (t) => S.percent(board.score[board.index[m].get(t)]), className: (t) => (models.every((x) => board.score[board.index[x].get(t)] <= board.score[board.index[m].get(t)]) ? "top" : "") })),
    ];
    const skipped = chosen.length - common.length, others = common.length - tasks.length;
    return [h("h2", {}, `Comparison of ${models.length} models` + (chosen.length < board.tasks.length ? ` on ${chosen.length} of ${board.tasks.length} tasks` : "")), sections, h("h3", {}, "Scores"),
      skipped > 0 && h("p", { class: "soft" }, `${skipped} task${skipped === 1 ? " is" : "s are"} missing for at least one model.`),
      others > 0 && h("p", { class: "soft" }, `${others} task${others === 1 ? " was" : "s were"} evaluated on different data and ${others === 1 ? "is" : "are"} not compared.`), S.grid("scores", "Scores", columns, tasks)];
  };
})(window.Steelyard);
