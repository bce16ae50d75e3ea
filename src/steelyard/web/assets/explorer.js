/* The query explorer: all queries of a task, and one query with every model, its positives and what outranked them. */
"use strict";

(function (S) {
  const h = S.h;
  const LISTS = 4;

  const find = (board, name) => board.tasks.findIndex((task) => task.name === name);
  const queryAddress = (board, t, id, options) => S.address(["query", board.slug, board.tasks[t].name, id], options);
  S.queryLink = (board, t, id, text, models) => h("a", { href: queryAddress(board, t, id, models ? { models: S.joined(models) } : {}) }, text || id);

  function words(text) {
    if (!window.Intl || !Intl.Segmenter) return text.split(/(\p{L}+|\p{N}+)/u).map((segment) => ({ segment, isWordLike: /[\p{L}\p{N}]/u.test(segment) }));
    return [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)];
  }
  /* Endings differ between forms of a word: long words match by all but their last letters. */
  const stem = (word) => (/^[\p{sc=Latin}\p{sc=Cyrillic}\p{sc=Greek}]{6,}$/u.test(word) ? word.slice(0, Math.max(5, word.length - 3)) : word);

  S.terms = (query, stop) => new Set(words(query).filter((w) => w.isWordLike).map((w) => w.segment.toLowerCase()).filter((w) => !(stop || []).includes(w)).map(stem));
  /** The text with the terms of the query marked; neighbouring terms, as in Chinese, are one mark. */
  S.highlight = (text, terms) => {
    const parts = [];
    for (const word of words(text)) {
      const marked = word.isWordLike && terms.has(stem(word.segment.toLowerCase())), last = parts[parts.length - 1];
      if (last && last.marked === marked) last.text += word.segment;
      else parts.push({ marked, text: word.segment });
    }
    return parts.map((part) => (part.marked ? h("mark", {}, part.text) : part.text));
  };

  function taskChoice(board, t, kind) {
    return h("label", {}, "Task ", h("select", { id: "task", onchange: (e) => (location.hash = S.address([kind, board.slug, e.target.value], {})) },
      board.tasks.map((task, i) => h("option", { value: task.name, selected: i === t }, task.name))));
  }

  S.queriesPage = async (board, name, options) => {
    const t = name ? find(board, name) : 0;
    if (t < 0) return S.notFound("task", name);
    const details = await S.detail(board, "task", t);
    if (!details || !details.ids) return [h("h2", {}, "Queries"), h("div", { class: "row" }, taskChoice(board, t, "queries")), h("p", {}, "No scores of queries are stored for this task.")];
    const models = Object.keys(details.scores).map(Number);
    const means = new Map(models.map((m) => [m, details.scores[m].reduce((a, b) => a + b, 0)]));
    const ranked = [...models].sort((a, b) => means.get(b) - means.get(a));
    const rows = details.ids.map((id, q) => {
      const values = models.map((m) => details.scores[m][q] ?? 0);
      const best = Math.max(...values);
      return { id, q, text: details.texts ? details.texts[q] : "", mean: values.reduce((a, b) => a + b, 0) / values.length, best, spread: best - Math.min(...values), solved: values.filter((value) => value > 0).length };
    });
    const wanted = (options.q || "").toLowerCase();
    const chosen = rows.filter((row) => (options.unsolved !== "1" || row.best === 0) && (!wanted || `${row.id} ${row.text}`.toLowerCase().includes(wanted)));
    const columns = [
      { key: "query", label: "Query", up: true, value: (r) => r.text || r.id, cell: (r) => [S.queryLink(board, t, r.id, r.text), " ", details.texts && h("small", {}, r.id)] },
      { key: "mean", label: "Mean", number: true, up: true, title: `Mean ${S.metricName(details.metric)} over the models`, value: (r) => r.mean, cell: (r) => S.percent(r.mean) },
      { key: "best", label: "Best", number: true, up: true, value: (r) => r.best, cell: (r) => S.percent(r.best) },
      { key: "spread", label: "Spread", number: true, title: "Best minus worst model", value: (r) => r.spread, cell: (r) => S.percent(r.spread) },
      { key: "solved", label: "Models above 0", number: true, up: true, value: (r) => r.solved, cell: (r) => `${r.solved} of ${models.length}` },
      ...ranked.slice(0, 5).map((m) => ({ key: `m${m}`, label: board.models[m].name, number: true, value: (r) => details.scores[m][r.q], cell: (r) => S.percent(details.scores[m][r.q]), className: (r) => (details.scores[m][r.q] === 0 ? "worse" : "") })),
    ];
    const sorting = { ...options, sort: options.sort || "mean:up" };
    return [
      h("h2", {}, "Queries of ", S.taskLink(board, t)),
      h("div", { class: "row controls" }, taskChoice(board, t, "queries"),
        h("input", { type: "search", id: "q", value: options.q || "", placeholder: "Search queries", "aria-label": "Search queries", oninput: (e) => S.change({ q: e.target.value }, { quietly: true }) }),
        h("label", { class: "check" }, h("input", { type: "checkbox", id: "unsolved", checked: options.unsolved === "1", onchange: (e) => S.change({ unsolved: e.target.checked ? "1" : "" }) }), ` Only queries that no model solves (${details.unsolved})`)),
      h("p", { role: "status" }, `${chosen.length} of ${details.total} queries, hardest first.`),
      S.grid(`${board.slug}-queries`, "Queries", columns, chosen, sorting, { first: "mean:up", limit: 100 }),
      !details.texts && h("p", { class: "soft" }, "The data of this task cannot be read here, so queries have no texts. Name its folder: steelyard web --tasks PATH."),
    ];
  };

  function rankText(rank) {
    return rank ? String(rank) : "not found";
  }

  function modelTable(board, details, q, chosen) {
    const models = Object.keys(details.scores).map(Number).sort((a, b) => (details.scores[b][q] ?? 0) - (details.scores[a][q] ?? 0));
    const positives = details.positives ? details.positives[q] : [];
    const ranksOf = (m) => (details.ranks && details.ranks[m] ? details.ranks[m][q] : null);
    const columns = [
      { key: "model", label: "Model", value: (m) => board.models[m].name, cell: (m) => [details.top && details.top[m] ? h("input", { type: "checkbox", checked: chosen.includes(m), "aria-label": `Show the list of ${board.models[m].name}`, onchange: () => toggle(board, chosen, m) }) : null, " ", S.modelLink(board, m)] },
      { key: "score", label: S.metricName(details.metric), number: true, value: (m) => details.scores[m][q], cell: (m) => S.percent(details.scores[m][q]) },
      ...(details.first && Object.keys(details.first).length ? [{ key: "first", label: "First positive at rank", number: true, value: (m) => details.first[m] && details.first[m][q], cell: (m) => (details.first[m] ? rankText(details.first[m][q]) : ""), className: (m) => (details.first[m] && !details.first[m][q] ? "worse" : "") }] : []),
      ...(positives.length > 1 && details.ranks && Object.keys(details.ranks).length ? positives.slice(0, 5).map((d, k) => ({ key: `p${k}`, label: details.documents[d][0], number: true, value: (m) => ranksOf(m) && ranksOf(m)[k], cell: (m) => (ranksOf(m) ? rankText(ranksOf(m)[k]) : "") })) : []),
    ];
    return S.grid("query", "Models on this query", columns, models);
  }

  function toggle(board, chosen, m) {
    const next = (chosen.includes(m) ? chosen.filter((x) => x !== m) : [...chosen, m]).slice(-LISTS);
    S.change({ models: S.joined(next.map((x) => board.models[x].name)) || "none" });
  }

  function rankedList(board, details, q, m, terms) {
    const positives = new Set(details.positives[q]), list = details.top[m][q], rank = details.first[m] ? details.first[m][q] : 0;
    const outranked = rank === 1 ? "The first document is relevant." : rank && rank <= list.length ? `${rank - 1} document${rank === 2 ? "" : "s"} above the first relevant one.` : rank ? `The first relevant document is at rank ${rank}, below this list.` : "No relevant document was retrieved.";
    return h("section", { class: "list", "aria-label": `List of ${board.models[m].name}` }, h("h4", {}, S.modelName(board.models[m].name)), h("p", { class: "soft" }, outranked),
      h("ol", {}, list.map((d, k) => h("li", { class: positives.has(d) ? "positive" : rank && k + 1 < rank ? "above" : null },
        h("small", {}, details.documents[d][0], positives.has(d) ? " · relevant" : ""), h("div", { class: "text", dir: "auto" }, S.highlight(details.documents[d][1], terms))))));
  }

  S.queryPage = async (board, name, id, options) => {
    const t = find(board, name);
    const details = t < 0 ? null : await S.detail(board, "task", t);
    const q = details && details.ids ? details.ids.indexOf(id) : -1;
    if (q < 0) return S.notFound("query", id);
    const text = details.texts ? details.texts[q] : "", terms = S.terms(text, details.stop);
    const lists = details.top ? Object.keys(details.top).map(Number) : [];
    const named = S.list(options.models).map(board.find).filter((m) => lists.includes(m));
    const byScore = [...lists].sort((a, b) => details.scores[b][q] - details.scores[a][q]);
    const chosen = options.models ? named : [...new Set([byScore[0], byScore[byScore.length - 1]])].filter((m) => m !== undefined);
    const order = details.ids.map((_, k) => k);
    const step = (by, label) => order[q + by] !== undefined && h("a", { href: queryAddress(board, t, details.ids[q + by], { models: options.models }) }, label);
    const positives = details.positives ? details.positives[q] : [];
    return [
      h("p", { class: "row" }, h("a", { href: S.address(["queries", board.slug, name], {}) }, `Queries of ${name}`), step(-1, "← previous"), step(1, "next →")),
      h("h2", { dir: "auto" }, text || id), text && h("p", { class: "soft" }, id),
      modelTable(board, details, q, chosen),
      positives.length > 0 && [h("h3", {}, positives.length === 1 ? "Relevant document" : `${positives.length} relevant documents`),
        h("ul", { class: "documents" }, positives.map((d) => h("li", { class: "positive" }, h("small", {}, details.documents[d][0]), h("div", { class: "text", dir: "auto" }, S.highlight(details.documents[d][1], terms)))))],
      lists.length > 0 ? [h("h3", {}, "Ranked lists"), h("p", { class: "soft" }, `Terms of the query are marked. Tick up to ${LISTS} models above to show their lists.`), h("div", { class: "lists" }, chosen.map((m) => rankedList(board, details, q, m, terms)))]
        : h("p", { class: "soft" }, "Ranked lists were not saved: evaluate with --save-runs to see what was ranked above the relevant documents."),
    ];
  };
})(window.Steelyard);
