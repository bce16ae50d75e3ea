/* The controls above the table: search, filters, columns, aggregation. Each writes its value into the address. */
"use strict";

(function (S) {
  const h = S.h;
  const SIZES = [["", "any size"], ["100", "under 100M"], ["500", "under 500M"], ["1000", "under 1B"], ["8000", "under 8B"]];
  const METHODS = [["", "mean"], ["type", "mean by type"], ["borda", "Borda count"]];
  const QUICK_TYPES = 12;
  S.COLUMNS = {
    family: "Family", parameters: "Parameters", dimension: "Dimension", tokens: "Tokens", license: "Licence", date: "Released", overlap: "Trained on",
    bytes: "Bytes per document", passages: "Passages per document", rescore: "Bytes for rescoring", latency: "ms per query", rate: "Documents per second", price: "Price of 1,000 queries", seconds: "Seconds",
    p95: "p95 ms", p99: "p99 ms", encode: "ms of encoding", search: "ms of search", rerank: "ms of reranking", throughput: "Queries per second", gigabytes: "GB per million documents",
    hours: "Hours per million documents", documents_price: "Price of a million documents", memory: "Memory (MB)",
  };
  S.NUMBERS = ["parameters", "dimension", "tokens", "overlap", "bytes", "passages", "rescore", "latency", "rate", "price", "seconds", "p95", "p99", "encode", "search", "rerank", "throughput", "gigabytes", "hours", "documents_price", "memory"];
  const FIRST = ["family", "parameters", "dimension", "license", "overlap", "bytes", "passages", "latency"];
  /* What a person sees first, and what a language model gets to read. */
  S.PRESETS = { human: { label: "human-facing", metric: "ndcg_at_10", measures: ["mrr_at_10", "precision_at_1"] }, ai: { label: "AI-facing", metric: "recall_at_100", measures: ["recall_at_10", "hit_rate_at_10"] } };
  const DEFAULT_MEASURES = ["hit_rate_at_10", "recall_at_100"];

  /** The value of a column as text: sizes in short form, dimensions in full. */
  S.shown = (name, value) => {
    if (value === undefined || value === null) return "";
    if (name === "dimension" || name === "tokens") return value.toLocaleString("en");
    if (name === "overlap") return value === 1 ? "1 task" : `${value} tasks`;
    return typeof value === "number" ? S.count(value) : String(value);
  };

  /** A fact of a row: of its model, or the number of its tasks that the model was trained on. */
  S.fact = (board, row, name) => {
    if (name !== "overlap") return board.models[row.model][name];
    return row.cells.filter((i) => i !== undefined && board.flag(i) & (16 | 32)).length || undefined;
  };

  S.boardTitle = (entry, boards) => {
    const same = boards.filter((other) => other.title === entry.title).length > 1;
    if (entry.title && entry.title.endsWith(` ${entry.name}`)) return entry.title;
    return entry.title && entry.title !== entry.name ? (same ? `${entry.title}: ${entry.name}` : `${entry.title} (${entry.name})`) : entry.name;
  };
  const unique = (values) => [...new Set(values.filter((value) => value !== undefined && value !== null && value !== ""))].sort();
  S.languageOf = (code) => code.split(/[-_]/)[0];

  const hasColumn = (board, name) => (name === "overlap" ? board.models.some((_, m) => board.isTrained(m)) : board.models.some((m) => m[name] !== undefined));
  S.shownColumns = (board, options) => {
    const chosen = options.columns === undefined ? FIRST.filter((name) => name !== "family" || board.models.some((m) => !m.own)) : S.list(options.columns);
    return Object.keys(S.COLUMNS).filter((name) => chosen.includes(name) && hasColumn(board, name));
  };

  S.metricsOf = (board) => [...new Set([...Object.keys(board.metrics), ...(board.stored || [])])];

  /** The options that a preset stands for. */
  S.withPreset = (board, options) => {
    const preset = S.PRESETS[options.preset];
    return preset && S.metricsOf(board).includes(preset.metric) ? { ...options, metric: preset.metric, measures: preset.measures.join(",") } : options;
  };

  S.shownMeasures = (board, tasks, options) => {
    const complete = (name) => board.metrics[name] && board.score.every((_, i) => !tasks.includes(board.task[i]) || board.isOther(i) || board.metrics[name][i] !== null);
    if (options.measures !== undefined) return S.list(options.measures).filter((name) => board.metrics[name]);
    return options.metric ? [] : DEFAULT_MEASURES.filter(complete);
  };

  /** The options that choose tasks, for other views of the same selection. */
  S.taskFilters = ({ types, languages, categories, tasks, otherdata }) => ({ types, languages, categories, tasks, otherdata });

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
    const families = S.list(options.families), licenses = S.list(options.licenses), brushed = S.list(options.brush);
    return board.models.map((_, i) => i).filter((i) => {
      const model = board.models[i];
      const text = [model.name, model.family, model.license].join(" ").toLowerCase();
      return words.every((word) => text.includes(word)) && (!brushed.length || brushed.includes(model.name)) &&
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
    const boxes = choices.map((choice) =>
      h("label", { class: "check" }, h("input", { type: "checkbox", name, value: choice, checked: chosen.has(choice), onchange: () => S.toggle(name, choice) }), " ", (text || String)(choice)));
    return h("fieldset", {}, h("legend", {}, title), h("div", { class: "boxes" }, boxes));
  }

  function flagBox(label, name, value) {
    const change = (event) => S.change({ [name]: event.target.checked ? "1" : "" });
    return h("label", { class: "check" }, h("input", { type: "checkbox", id: name, checked: value === "1", onchange: change }), " ", label);
  }

  function metricChoice(board, options) {
    const metrics = S.metricsOf(board);
    if (!metrics.length) return null;
    const presets = Object.entries(S.PRESETS).filter(([, preset]) => metrics.includes(preset.metric));
    const value = options.preset ? `preset:${options.preset}` : options.metric || "";
    const change = (event) => {
      const [, preset] = event.target.value.split("preset:");
      S.change(preset ? { preset, metric: "" } : { preset: "", metric: event.target.value });
    };
    const choice = (key, text) => h("option", { value: key, selected: key === value }, text);
    return h("label", {}, "Metric ", h("select", { id: "metric", onchange: change }, choice("", "main metric"),
      presets.length > 0 && h("optgroup", { label: "Presets" }, presets.map(([name, preset]) => choice(`preset:${name}`, `${preset.label}: ${S.metricName(preset.metric)}`))),
      h("optgroup", { label: "Metrics" }, metrics.map((name) => choice(name, S.metricName(name))))));
  }

  function quick(board, options) {
    const types = unique(board.tasks.map((task) => task.type));
    return h("div", { class: "row quick" },
      types.length > 1 && types.length <= QUICK_TYPES && h("fieldset", { class: "chips" }, h("legend", { class: "unseen" }, "Task type"), types.map((type) =>
        h("label", { class: "chip" }, h("input", { type: "checkbox", name: "types", value: type, checked: S.list(options.types).includes(type), onchange: () => S.toggle("types", type) }), h("span", {}, type.replaceAll("_", " "))))),
      board.models.some((m) => m.parameters) && select("Size", "size", options.size, SIZES),
      board.models.some((m) => m.open !== undefined) && flagBox("Open weights", "open", options.open),
      board.models.some((m) => m.own) && board.models.some((m) => !m.own) && flagBox("Only mine", "own", options.own));
  }

  function morePanel(board, options, active) {
    const languages = unique(board.tasks.flatMap((task) => (task.languages || []).map(S.languageOf)));
    const types = unique(board.tasks.map((task) => task.type));
    return h("details", { id: "filters", open: options.panel === "filters" },
      h("summary", {}, "More filters" + (active.length ? ` (${active.length})` : "")),
      h("div", { class: "panel" },
        board.flags && h("p", {}, flagBox("Leave out models trained on these tasks", "clean", options.clean), board.others > 0 && flagBox("Include scores on other data (not comparable)", "otherdata", options.otherdata)),
        types.length > QUICK_TYPES && checks("Task type", "types", options.types, types),
        checks("Language", "languages", options.languages, languages),
        checks("Category", "categories", options.categories, unique(board.tasks.map((task) => task.category)), (name) => name.replaceAll("_", " ")),
        checks("Model family", "families", options.families, unique(board.models.map((model) => model.family))),
        checks("Licence", "licenses", options.licenses, unique(board.models.map((model) => model.license))),
        checks("Task", "tasks", options.tasks, board.tasks.map((task) => task.name))));
  }

  function columnPanel(board, options) {
    const available = Object.keys(S.COLUMNS).filter((name) => hasColumn(board, name));
    const columns = S.shownColumns(board, options);
    const loaded = Object.keys(board.metrics), measures = S.shownMeasures(board, S.chosenTasks(board, options), options);
    const boxes = (names, shown, key, label) => names.map((name) => h("label", { class: "check" }, h("input", {
      type: "checkbox", checked: shown.includes(name), onchange: (e) => S.change({ [key]: names.filter((n) => (n === name ? e.target.checked : shown.includes(n))).join(",") || "none", preset: "" }),
    }), " ", label(name)));
    return h("details", { id: "columns" }, h("summary", {}, "Columns"),
      h("div", { class: "panel" },
        h("fieldset", {}, h("legend", {}, "Model"), h("div", { class: "boxes" }, boxes(available, columns, "columns", (name) => S.COLUMNS[name]))),
        loaded.length > 0 && h("fieldset", {}, h("legend", {}, "Metrics"), h("div", { class: "boxes" }, boxes(loaded, measures, "measures", S.metricName))),
        flagBox("Scores of each task", "scores", options.scores), flagBox("Means by type", "bytype", options.bytype)));
  }

  const FILTERS = ["types", "languages", "categories", "tasks", "families", "licenses", "size", "open", "own", "clean", "otherdata", "brush"];
  S.controls = (board, options) => {
    const search = h("input", {
      type: "search", id: "q", value: options.q || "", placeholder: "Search models", "aria-label": "Search models",
      oninput: (event) => S.change({ q: event.target.value }, { quietly: true }),
    });
    const active = FILTERS.filter((name) => options[name]);
    const hidden = active.filter((name) => !["types", "size", "open", "own", "brush"].includes(name));
    return h("section", { class: "controls", "aria-label": "Selection" },
      h("div", { class: "row" }, search, select("Rank by", "method", options.method, METHODS), metricChoice(board, options)),
      quick(board, options),
      h("div", { class: "row panels" }, morePanel(board, options, hidden), columnPanel(board, options),
        active.length > 0 && h("button", { type: "button", class: "clear", onclick: () => S.change(Object.fromEntries(active.map((n) => [n, ""]))) }, "Clear filters")));
  };
})(window.Steelyard);
