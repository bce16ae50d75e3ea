/* Choose the view from the address and draw it. */
"use strict";

(function (S) {
  const h = S.h;
  let drawing = 0;

  function tabs(slug, view) {
    const entries = [["board", "Leaderboard"], ["cost", "Quality and cost"], ["tasks", "Tasks"]];
    S.replace(document.getElementById("tabs"), entries.map(([name, label]) =>
      h("a", { href: S.address([name, slug], {}), "aria-current": name === view ? "page" : null }, label)));
  }

  function view(board, boards, name, rest, options) {
    board.isTrained = (m) => [...board.index[m].values()].some((i) => board.flag(i) & 16);
    if (name === "model") return S.modelPage(board, rest.join("/"));
    if (name === "task") return S.taskPage(board, rest.join("/"));
    if (name === "compare") return S.comparePage(board, rest);
    if (name === "tasks") return [h("h2", {}, board.title || board.name), h("ul", { class: "columns" }, board.tasks.map((task) =>
      h("li", {}, h("a", { href: S.address(["task", board.slug, task.name], {}) }, task.name), " ", h("small", {}, task.type))))];
    const tasks = S.chosenTasks(board, options), models = S.chosenModels(board, options);
    const values = options.metric && board.metrics[options.metric] ? board.metrics[options.metric] : board.score;
    const rows = tasks.length ? S.rank(board, models, tasks, options.method || "", values) : [];
    const controls = S.controls(board, boards, options);
    if (name === "cost") return [controls, ...S.costPage(board, rows, options)];
    if (!rows.length) return [controls, h("p", { role: "status" }, "No model has a score on this selection.")];
    return [controls, ...S.table(board, rows, tasks, options)];
  }

  S.route = async () => {
    const turn = ++drawing;
    const main = document.getElementById("main");
    try {
      const { boards } = await S.load("index");
      const { parts, options } = S.parse(location.hash);
      const [name = "board", slug = boards[0].slug, ...rest] = parts;
      const board = await S.board(slug);
      if (turn !== drawing) return;
      const focused = document.activeElement && document.activeElement.id;
      const caret = focused === "q" ? document.activeElement.selectionStart : null;
      const open = [...document.querySelectorAll("details[open]")].map((node) => node.id);
      tabs(slug, name);
      S.replace(main, view(board, boards, name, rest, options));
      for (const id of open) if (document.getElementById(id)) document.getElementById(id).open = true;
      const again = focused && document.getElementById(focused);
      if (again) {
        again.focus();
        if (caret !== null) again.setSelectionRange(caret, caret);
      }
      document.title = `${rest.join(" – ") || board.title || board.name} – Steelyard`;
    } catch (error) {
      if (turn === drawing) S.replace(main, h("p", { role: "alert" }, `This view cannot be shown: ${error.message}. `, h("a", { href: "#/" }, "Back to the leaderboard")));
    }
  };

  /* While the server runs, new results appear without reloading. */
  async function watch() {
    try {
      const { stamp } = await (await fetch("api/stamp")).json();
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
  if (S.live) setInterval(watch, 2000);
})(window.Steelyard);
