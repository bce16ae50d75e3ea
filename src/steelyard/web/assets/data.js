/* Load data by name: from the server, from an element of the page, or from a script next to it. */
"use strict";

(function (S) {
  const cache = new Map();
  const waiting = new Map();

  S.live = document.documentElement.dataset.live === "true";

  /** Called by the data files of a static site. */
  S.receive = (name, content) => {
    const pending = waiting.get(name);
    waiting.delete(name);
    if (pending) pending(content);
  };

  function script(name) {
    const inside = document.getElementById(`data-${name}`);
    if (inside) return Promise.resolve(JSON.parse(inside.textContent));
    return new Promise((resolve, reject) => {
      waiting.set(name, resolve);
      document.head.append(S.h("script", { src: `data/${name}.js`, onerror: () => reject(new Error(`no data: ${name}`)) }));
    });
  }

  async function ask(name) {
    const answer = await fetch(`api/${encodeURIComponent(name)}`);
    if (!answer.ok) throw new Error(`no data: ${name}`);
    return answer.json();
  }

  S.load = (name) => {
    if (!cache.has(name)) {
      const loading = S.live ? ask(name) : script(name);
      cache.set(name, loading);
      loading.catch(() => cache.delete(name));
    }
    return cache.get(name);
  };

  /** Load a detail of a board; null where it does not exist. A static site lists its details. */
  S.detail = async (board, kind, ...places) => {
    const name = [kind, board.slug, ...places].join("-");
    const { details } = await S.load("index");
    const known = kind === "task" ? board.queries : kind === "pair" ? board.queries && places.every((m) => board.models[m].queries) : true;
    if (details ? !details.includes(name) : !known) return null;
    return S.load(name);
  };

  S.forget = () => cache.clear();

  /** Load a board and index its scores: board.index[model].get(task) is a position or undefined. */
  S.board = async (slug) => {
    const board = await S.load(`board-${slug}`);
    if (!board.index) {
      board.slug = slug;
      board.index = board.models.map(() => new Map());
      board.score.forEach((_, i) => board.index[board.model[i]].set(board.task[i], i));
      board.flag = (i) => (board.flags ? board.flags[i] || 0 : 0);
      board.isOther = (i) => (board.flag(i) & 8) !== 0;
      board.otherData = (i) => (board.data && board.data[i]) || "";
      board.others = board.score.filter((_, i) => board.isOther(i)).length;
      board.find = (name) => board.models.findIndex((model) => model.name === name);
      board.parent = board.models.map((model) => (model.variant_of ? board.find(model.variant_of) : -1));
      board.isTrained = (m) => [...board.index[m].values()].some((i) => board.flag(i) & (16 | 32));
    }
    return board;
  };

  S.FLAGS = [
    [1, "splits missing", "Some splits or subsets of a task have no score"],
    [2, "limited", "Evaluated on a sample of the queries"],
    [4, "other revision", "Score of another revision of the model"],
    [8, "other data", "Evaluated on another revision or sample of the data than most models: not comparable"],
    [16, "trained on", "The model declares this task as training data"],
    [32, "contaminated", "An audit found queries of this task in the training data"],
    [64, "data not recorded", "Which revision of the data was used is not recorded"],
  ];
  S.ON_ROWS = 1 | 2 | 4 | 8 | 16 | 32;

  /** Values that may be averaged: scores on other data are left out unless the address asks for them. */
  const averaged = new WeakMap();
  S.averaged = (board, values, options) => {
    if (!board.others || (options && options.otherdata === "1")) return values;
    if (!averaged.has(values)) averaged.set(values, values.map((value, i) => (board.isOther(i) ? null : value)));
    return averaged.get(values);
  };
  /** The flags of a score as text, with the revision of other data. */
  S.notesOn = (board, i) => S.flagNames(board.flag(i)) + (board.otherData(i) ? `: ${board.otherData(i).replace(/[0-9a-f]{40}/, (revision) => revision.slice(0, 7))}` : "");
  S.flagNames = (bits) => S.FLAGS.filter(([bit]) => bits & bit).map(([, label]) => label).join(", ");
})(window.Steelyard);
