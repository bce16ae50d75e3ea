/* Choose the view from the address and draw it. */
"use strict";

(function (S) {
  const h = S.h;
  let drawing = 0;

  function tabs(board, boards, view) {
    const entries = [["board", "Leaderboard"], ["cost", "Quality and cost"], ["tasks", "Tasks"], board.queries && ["queries", "Queries"],
      board.models.some((model) => model.stages || /^rerank\b/.test(model.family || "")) && ["pipelines", "Rerankers and pipelines"], board.failures.length > 0 && ["errors", `Errors (${board.failures.length})`]].filter(Boolean);
    const current = { task: "tasks", query: "queries", model: "board", compare: "board" }[view] || view;
    S.replace(document.getElementById("tabs"), entries.map(([name, label]) =>
      h("a", { href: S.address([name, board.slug], {}), "aria-current": name === current ? "page" : null }, label)));
    const choice = h("select", { id: "board", "aria-label": "Benchmark", onchange: (e) => (location.hash = S.address(["board", e.target.value], {})) },
      boards.map((entry) => h("option", { value: entry.slug, selected: entry.slug === board.slug }, S.boardTitle(entry, boards))));
    S.replace(document.getElementById("benchmark"), boards.length > 1 ? choice : h("span", { class: "soft" }, boards[0].name === "results" ? board.title : S.boardTitle(boards[0], boards)));
  }

  async function ranked(board, boards, name, given) {
    const options = S.withPreset(board, given);
    const wanted = [options.metric, ...S.list(options.measures)].filter((metric) => metric && !board.metrics[metric]);
    if (wanted.some((metric) => (board.stored || []).includes(metric))) Object.assign(board.metrics, await S.detail(board, "metrics"));
    const tasks = S.chosenTasks(board, options), models = S.chosenModels(board, name === "cost" ? { ...options, brush: "" } : options);
    const base = options.metric && board.metrics[options.metric] ? board.metrics[options.metric] : board.score;
    const values = S.averaged(board, base, options);
    const controls = S.controls(board, options);
    const isVariant = (m) => board.parent[m] >= 0;
    const shown = new Set(models);
    const tops = models.filter((m) => !isVariant(m));
    const variants = board.models.map((_, m) => m).filter((m) => isVariant(m) && (shown.has(m) || shown.has(board.parent[m])));
    for (const m of variants) if (!shown.has(board.parent[m])) { shown.add(board.parent[m]); tops.push(board.parent[m]); }
    const rows = tasks.length ? S.rank(board, tops, tasks, options.method || "", values) : [];
    if (name === "cost") return [controls, ...S.costPage(board, [...rows, ...S.variants(board, rows, variants, tasks, values)], options)];
    if (!rows.length) return [controls, h("p", { role: "status" }, "No model has a score on this selection.")];
    const byTask = board.queries && tasks.length > 1 ? S.matrix(board, rows, tasks, values) : null;
    return [controls, ...S.table(board, rows, S.variants(board, rows, variants, tasks, values), tasks, options), byTask];
  }

  async function view(board, boards, name, rest, options) {
    const joined = rest.join("/");
    if (!board.models.length) return S.errorsPage(board);
    if (name === "model") return S.modelPage(board, joined);
    if (name === "task") return S.taskPage(board, joined);
    if (name === "tasks") return S.tasksPage(board, options);
    if (name === "compare") return S.comparePage(board, rest, options);
    if (name === "queries") return S.queriesPage(board, joined, options);
    if (name === "query") return S.queryPage(board, rest[0], rest[1], options);
    if (name === "pipelines") return S.pipelinesPage(board, options);
    if (name === "errors") return S.errorsPage(board);
    return ranked(board, boards, name, options);
  }

  S.route = async () => {
    const turn = ++drawing;
    const main = document.getElementById("main"), address = location.hash;
    try {
      const { boards } = await S.load("index");
      if (!boards.length) return S.replace(main, h("p", { role: "status" }, "There are no results."));
      const { parts, options } = S.parse(address);
      const [name = "board", slug = boards[0].slug, ...rest] = parts;
      const board = await S.board(slug);
      const content = await view(board, boards, name, rest, options);
      if (turn !== drawing) return;
      const place = parts.join("/"), moved = S.place !== undefined && S.place !== place;
      S.place = place;
      draw(main, content, () => tabs(board, boards, name));
      main.dataset.address = address; // of what is shown: the address changes before the view
      if (moved) {
        scrollTo(0, 0);
        if (document.activeElement === document.body) main.focus({ preventScroll: true });
      }
      document.title = `${rest.join(" – ") || board.title || board.name} – Steelyard`;
    } catch (error) {
      if (turn === drawing) S.replace(main, h("p", { role: "alert" }, `This view cannot be shown: ${error.message}. `, h("a", { href: "#/" }, "Back to the leaderboard")));
    }
  };

  /* Replace the content; what had the focus keeps it, open panels stay open, and tables stay where they were scrolled. */
  function draw(main, content, around) {
    const active = document.activeElement;
    const key = active && (active.id ? `#${CSS.escape(active.id)}` : active.name && active.value ? `input[name="${CSS.escape(active.name)}"][value="${CSS.escape(active.value)}"]` : active.getAttribute("aria-label") ? `[aria-label="${CSS.escape(active.getAttribute("aria-label"))}"]` : active.className === "sort" ? "th[aria-sort] .sort" : "");
    const caret = active && active.type === "search" ? active.selectionStart : null;
    const open = [...document.querySelectorAll("details[open][id]")].map((node) => node.id);
    const scrolled = main.querySelector(".scroll") ? main.querySelector(".scroll").scrollLeft : 0;
    around();
    S.replace(main, content);
    for (const id of open) if (document.getElementById(id)) document.getElementById(id).open = true;
    if (scrolled && main.querySelector(".scroll")) main.querySelector(".scroll").scrollLeft = scrolled;
    const again = key && active !== document.body && document.querySelector(key);
    if (again) {
      again.focus({ preventScroll: true });
      if (caret !== null) again.setSelectionRange(caret, caret);
    }
  }

  /* While the server runs, new results appear without reloading. */
  async function watch() {
    try {
      const { stamp, running } = await (await fetch("api/stamp")).json();
      S.replace(document.getElementById("running"), running.map((run) =>
        h("p", { class: "running" }, h("progress", { max: run.evaluations || 1, value: run.finished || 0, "aria-label": "Evaluations that are done" }),
          ` ${run.finished} of ${run.evaluations} evaluations done` + (run.failed ? `, ${run.failed} failed` : "") + (run.workers ? `, ${run.workers.ready} workers` : "") + (run.activity ? `: ${run.activity}` : ""))));
      if (S.stamp !== undefined && S.stamp !== stamp) {
        S.forget();
        await S.route();
      }
      S.stamp = stamp;
    } catch {
      /* the server is gone: what is shown stays */
    }
  }

  window.addEventListener("hashchange", S.route);
  S.route();
  if (S.live) {
    watch();
    setInterval(watch, 2000);
  }
})(window.Steelyard);
