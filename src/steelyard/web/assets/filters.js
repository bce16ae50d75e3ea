/* The controls above the table: search, filters, columns, aggregation. Each writes its value into the address. */
"use strict";

(function (S) {
  const h = S.h;
  const SIZES = [["", "any size"], ["100", "under 100M"], ["500", "under 500M"], ["1000", "under 1B"], ["8000", "under 8B"]];
  const METHODS = [["", "Mean"], ["type", "Mean by type"], ["borda", "Borda count"]];
  S.COLUMNS = {
    family: "Family", parameters: "Parameters", dimension: "Dimension", tokens: "Tokens", license: "Licence", date: "Released",
    bytes: "Bytes per document", seconds: "Seconds",
  };
  /** The value of a column as text: sizes in short form, dimensions in full. */
  S.shown = (name, value) => {
    if (value === undefined || value === null) return "";
    if (name === "dimension" || name === "tokens") return value.toLocaleString("en");
    return typeof value === "number" ? S.count(value) : String(value);
  };
  const FIRST = ["family", "parameters", "dimension", "license"];

  S.boardTitle = (entry, boards) => {
    const same = boards.filter((other) => other.title === entry.title).length > 1;
    return entry.title && entry.title !== entry.name ? (same ? `${entry.title}: ${entry.name}` : `${entry.title} (${entry.name})`) : entry.name;
  };
  const unique = (values) => [...new Set(values.filter((value) => value !== undefined && value !== null && value !== ""))].sort();
  S.languageOf = (code) => code.split("-")[0];

  S.shownColumns = (board, options) => {
    const chosen = options.columns === undefined ? FIRST : S.list(options.columns);
    return Object.keys(S.COLUMNS).filter((name) => chosen.includes(name) && board.models.some((m) => m[name] !== undefined));
  };

  S.chosenTasks = (board, options) => {
    const types = S.list(options.types), languages = S.list(options.languages), names = S.list(options.tasks);
    const categories = S.list(options.categories);
    return board.tasks.map((_, i) => i).filter((i) => {
      const task = board.tasks[i];
      return (!types.length || types.includes(task.type)) && (!names.length || names.includes(task.name)) &&
        (!categories.length || categories.includes(task.category)) &&
        (!languages.length || (task.languages || []).some((code) => languages.includes(S.languageOf(code))));
    });
  };

  S.chosenModels = (board, options) => {
    const words = (options.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const families = S.list(options.families), licenses = S.list(options.licenses);
    return board.models.map((_, i) => i).filter((i) => {
      const model = board.models[i];
      const text = [model.name, model.family, model.license].join(" ").toLowerCase();
      return words.every((word) => text.includes(word)) &&
        (!families.length || families.includes(model.family)) && (!licenses.length || licenses.includes(model.license)) &&
        (!options.size || (model.parameters !== undefined && model.parameters < 1e6 * Number(options.size))) &&
        (options.open !== "1" || model.open === true) && (options.own !== "1" || model.own === true) &&
        (options.clean !== "1" || !board.isTrained(i));
    });
  };

  function select(label, name, value, choices) {
    const options = choices.map(([key, text]) => h("option", { value: key, selected: key === (value || "") }, text));
    return h("label", {}, label + " ", h("select", { id: name, onchange: (event) => S.change({ [name]: event.target.value }) }, options));
  }

  function checks(title, name, value, choices, text) {
    if (choices.length < 2) return null;
    const chosen = new Set(S.list(value));
    const toggle = (choice) => (event) => {
      event.target.checked ? chosen.add(choice) : chosen.delete(choice);
      S.change({ [name]: [...chosen].join(",") });
    };
    const boxes = choices.map((choice) =>
      h("label", { class: "check" }, h("input", { type: "checkbox", name, value: choice, checked: chosen.has(choice), onchange: toggle(choice) }), " ", (text || String)(choice)));
    return h("fieldset", {}, h("legend", {}, title), h("div", { class: "boxes" }, boxes));
  }

  function flagBox(label, name, value) {
    const change = (event) => S.change({ [name]: event.target.checked ? "1" : "" });
    return h("label", { class: "check" }, h("input", { type: "checkbox", id: name, checked: value === "1", onchange: change }), " ", label);
  }

  S.controls = (board, boards, options) => {
    const search = h("input", {
      type: "search", id: "q", value: options.q || "", placeholder: "Search models", "aria-label": "Search models",
      oninput: (event) => S.change({ q: event.target.value }, { quietly: true }),
    });
    const boardChoice = h("select", { id: "board", onchange: (e) => (location.hash = S.address(["board", e.target.value], {})) },
      boards.map((entry) => h("option", { value: entry.slug, selected: entry.slug === board.slug }, S.boardTitle(entry, boards))));
    const languages = unique(board.tasks.flatMap((task) => (task.languages || []).map(S.languageOf)));
    const available = Object.keys(S.COLUMNS).filter((name) => board.models.some((model) => model[name] !== undefined));
    const columns = S.shownColumns(board, options);
    const metrics = Object.keys(board.metrics).filter((name) => board.metrics[name].some((value) => value !== null));
    const active = ["types", "languages", "categories", "tasks", "families", "licenses", "size", "open", "own", "clean"].filter((n) => options[n]);
    return h("section", { class: "controls", "aria-label": "Selection" },
      h("div", { class: "row" },
        boards.length > 1 && h("label", {}, "Benchmark ", boardChoice), search,
        select("Rank by", "method", options.method, METHODS),
        metrics.length > 0 && select("Metric", "metric", options.metric, [["", "main metric"], ...metrics.map((n) => [n, n.replace(/_at_/, "@")])])),
      h("details", { id: "filters", open: options.panel === "filters" || active.length > 0 },
        h("summary", {}, "Filters" + (active.length ? ` (${active.length})` : "")),
        h("div", { class: "panel" },
          select("Size", "size", options.size, SIZES),
          flagBox("Open weights", "open", options.open),
          board.models.some((m) => m.own) && board.models.some((m) => !m.own) && flagBox("Only my models", "own", options.own),
          board.flags && flagBox("Leave out models trained on these tasks", "clean", options.clean),
          checks("Task type", "types", options.types, unique(board.tasks.map((task) => task.type))),
          checks("Language", "languages", options.languages, languages),
          checks("Category", "categories", options.categories, unique(board.tasks.map((task) => task.category))),
          checks("Model family", "families", options.families, unique(board.models.map((model) => model.family))),
          checks("Licence", "licenses", options.licenses, unique(board.models.map((model) => model.license))),
          checks("Task", "tasks", options.tasks, board.tasks.map((task) => task.name)),
          active.length > 0 && h("button", { type: "button", onclick: () => S.change(Object.fromEntries(active.map((n) => [n, ""]))) }, "Clear filters"))),
      h("details", { id: "columns" }, h("summary", {}, "Columns"),
        h("div", { class: "panel" },
          h("fieldset", {}, h("legend", {}, "Model"), h("div", { class: "boxes" }, available.map((name) =>
            h("label", { class: "check" }, h("input", {
              type: "checkbox", checked: columns.includes(name),
              onchange: (e) => S.change({ columns: available.filter((n) => (n === name ? e.target.checked : columns.includes(n))).join(",") || "none" }),
            }), " ", S.COLUMNS[name])))),
          flagBox("Scores of each task", "scores", options.scores), flagBox("Means by type", "bytype", options.bytype))));
  };
})(window.Steelyard);
