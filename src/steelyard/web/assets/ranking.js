/* Aggregate and rank: mean, mean by type, Borda; intervals of means and ranks by resampling tasks. */
"use strict";

(function (S) {
  const DRAWS = 300;
  const LEAST_TASKS = 4;

  /* A small seeded generator: the same view always shows the same intervals. */
  function random(seed) {
    return () => {
      seed = (seed + 0x6d2b79f5) | 0;
      let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(q * (sorted.length - 1))))];

  /** Weights of tasks: equal, or so that every task type counts the same. */
  function weights(board, tasks, method) {
    if (method !== "type") return tasks.map(() => 1 / tasks.length);
    const sizes = new Map();
    tasks.forEach((t) => sizes.set(board.tasks[t].type, (sizes.get(board.tasks[t].type) || 0) + 1));
    return tasks.map((t) => 1 / (sizes.size * sizes.get(board.tasks[t].type)));
  }

  /** Borda points of complete rows, in percent of the most possible; equal scores share their points. */
  function borda(rows, tasks) {
    const points = new Map(rows.map((row) => [row, 0]));
    tasks.forEach((_, k) => {
      const sorted = [...rows].sort((a, b) => b.values[k] - a.values[k]);
      for (let i = 0; i < sorted.length; ) {
        let j = i;
        while (j < sorted.length && sorted[j].values[k] === sorted[i].values[k]) j++;
        const shared = sorted.length - 1 - (i + j - 1) / 2;
        for (; i < j; i++) points.set(sorted[i], points.get(sorted[i]) + shared);
      }
    });
    const most = Math.max(1, tasks.length * (rows.length - 1));
    for (const row of rows) row.borda = points.get(row) / most;
  }

  function resample(rows, tasks, weight) {
    const next = random(20260);
    const means = rows.map(() => new Float64Array(DRAWS));
    const ranks = rows.map(() => new Int32Array(DRAWS));
    const order = rows.map((_, i) => i);
    for (let draw = 0; draw < DRAWS; draw++) {
      const counts = new Float64Array(tasks.length);
      for (let k = 0; k < tasks.length; k++) counts[Math.floor(next() * tasks.length)] += 1;
      let total = 0;
      for (let k = 0; k < tasks.length; k++) total += (counts[k] *= weight[k]);
      rows.forEach((row, i) => {
        let sum = 0;
        for (let k = 0; k < tasks.length; k++) sum += counts[k] * row.values[k];
        means[i][draw] = sum / total;
      });
      order.sort((a, b) => means[b][draw] - means[a][draw]);
      order.forEach((i, place) => (ranks[i][draw] = place + 1));
    }
    const places = rows.map((_, i) => i).sort((a, b) => rows[b].mean - rows[a].mean);
    let leader = places[0], group = 1;
    for (const i of places) {
      const row = rows[i], behind = means[i].map((value, draw) => means[leader][draw] - value).sort();
      if (i !== leader && quantile(behind, 0.025) > 0) [leader, group] = [i, group + 1];
      const sorted = Float64Array.from(means[i]).sort();
      const range = Int32Array.from(ranks[i]).sort();
      row.low = quantile(sorted, 0.025);
      row.high = quantile(sorted, 0.975);
      row.over = "tasks";
      row.ranks = [quantile(range, 0.025), quantile(range, 0.975)];
      row.ranksOver = "tasks";
      row.group = group;
      row.tied = group === 1;
    }
  }

  /** The interval of a mean over queries, from those of the tasks: `interval_of_mean` of the console, in `steelyard.stats`. */
  S.overQueries = (board, cells, weight) => {
    if (!board.low || cells.some((i) => i === undefined || board.low[i] === null)) return null;
    const mean = cells.reduce((sum, i, k) => sum + weight[k] * board.score[i], 0);
    const below = Math.hypot(...cells.map((i, k) => weight[k] * (board.score[i] - board.low[i])));
    const above = Math.hypot(...cells.map((i, k) => weight[k] * (board.high[i] - board.score[i])));
    return { low: mean - below, high: mean + above, over: "queries" };
  };

  /** Mean and interval of some cells: over queries where all have an interval, else over four tasks or more. */
  S.groupMean = (board, cells) => {
    const values = cells.map((i) => board.score[i]), n = values.length;
    if (!n) return null;
    const mean = values.reduce((a, b) => a + b, 0) / n;
    const found = S.overQueries(board, cells, cells.map(() => 1 / n));
    if (found !== null) return { mean, ...found };
    if (n < LEAST_TASKS) return { mean };
    const row = { mean, values };
    resample([row], cells, cells.map(() => 1 / n));
    return { mean, low: row.low, high: row.high, over: "tasks" };
  };

  /** Take what was computed from the scores of queries: intervals always, ranks and ties if nothing is filtered. */
  function stored(board, rows, tasks, weight) {
    const found = rows.map((row) => S.overQueries(board, row.cells, weight));
    if (rows.length && found.every((one) => one !== null)) rows.forEach((row, i) => Object.assign(row, found[i]));
    if (tasks.length < board.tasks.length || weight.some((w) => w !== weight[0])) return;
    const places = new Map(board.places.map((place) => [place.model, place]));
    const ranked = rows.length && rows.every((row) => places.has(row.model)) && rows.length === places.size;
    const ranksOver = tasks.length > 1 ? "tasks and queries" : "queries";
    for (const row of rows) {
      const place = places.get(row.model);
      if (ranked) Object.assign(row, { ranks: [place.low, place.high], ranksOver, tied: place.group === 1, group: place.group });
      else if (board.tied.length && tasks.length < LEAST_TASKS) row.tied = board.tied.includes(row.model);
    }
  }

  /** Rank the models on the tasks. Rows that lack a task have no mean over all of them and are marked as partial. */
  S.rank = (board, models, tasks, method, values) => {
    const last = board.ranked; // sorting and choosing columns rank the same selection again
    if (last && last.values === values && last.method === method && same(last.models, models) && same(last.tasks, tasks)) return last.rows;
    const rows = ranked(board, models, tasks, method, values);
    board.ranked = { models, tasks, method, values, rows };
    return rows;
  };
  const same = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

  function ranked(board, models, tasks, method, values) {
    const weight = weights(board, tasks, method);
    const rows = models.map((m) => {
      const cells = tasks.map((t) => board.index[m].get(t));
      const numbers = cells.map((i) => (i === undefined ? null : values[i]));
      const missing = tasks.filter((_, k) => numbers[k] === null || numbers[k] === undefined);
      const excluded = board.others ? missing.filter((t) => board.index[m].has(t) && board.isOther(board.index[m].get(t))) : [];
      const flags = cells.reduce((all, i) => all | (i === undefined ? 0 : board.flag(i)), 0);
      const present = numbers.filter((value) => value !== null && value !== undefined);
      const mean = missing.length
        ? (present.length ? present.reduce((a, b) => a + b, 0) / present.length : null)
        : numbers.reduce((sum, value, k) => sum + weight[k] * value, 0);
      return { model: m, cells, values: numbers, missing, excluded, flags, mean, partial: missing.length > 0 };
    });
    const whole = rows.filter((row) => !row.partial);
    borda(whole, tasks);
    if (tasks.length >= LEAST_TASKS) resample(whole, tasks, weight);
    if ((values === board.score || values === S.averaged(board, board.score)) && method !== "borda") stored(board, whole, tasks, weight);
    const key = method === "borda" ? "borda" : "mean";
    whole.sort((a, b) => b[key] - a[key] || b.mean - a.mean);
    whole.forEach((row, place) => (row.rank = place && row[key] === whole[place - 1][key] ? whole[place - 1].rank : place + 1));
    const partial = rows.filter((row) => row.partial && (row.mean !== null || row.excluded.length > 0));
    partial.sort((a, b) => a.missing.length - b.missing.length || b.mean - a.mean);
    return [...whole, ...partial];
  }

  /** Variants of ranked models: no rank, the change against their model on the same tasks. */
  S.variants = (board, rows, models, tasks, values) => {
    const parents = new Map(rows.map((row) => [row.model, row]));
    const found = ranked(board, models, tasks, "", values);
    for (const row of found) {
      const parent = parents.get(board.parent[row.model]);
      Object.assign(row, { rank: undefined, ranks: undefined, tied: false, group: undefined, variant: true });
      if (parent && !parent.partial && !row.partial && parent.mean) Object.assign(row, { change: row.mean - parent.mean, kept: row.mean / parent.mean });
    }
    return found;
  };

  /** Points that no other point beats in both directions: higher is better in y, lower in x. */
  S.pareto = (points) => {
    const sorted = [...points].sort((a, b) => a.x - b.x || b.y - a.y);
    let best = -Infinity;
    return sorted.filter((point) => point.y > best && ((best = point.y), true));
  };
})(window.Steelyard);
