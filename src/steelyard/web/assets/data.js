/* Load data by name: from the server, or from a script next to the page when it is opened from disk. */
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

  S.forget = () => cache.clear();

  /** Load a board and index its scores: board.of(model, task) -> position or undefined. */
  S.board = async (slug) => {
    const board = await S.load(`board-${slug}`);
    if (!board.index) {
      board.slug = slug;
      board.index = board.models.map(() => new Map());
      board.score.forEach((_, i) => board.index[board.model[i]].set(board.task[i], i));
      board.flag = (i) => (board.flags ? board.flags[i] || 0 : 0);
    }
    return board;
  };

  S.FLAGS = [
    [1, "partial", "Some splits or subsets have no score"],
    [2, "limited", "Evaluated on a sample of the queries"],
    [4, "other revision", "Score of another revision of the model"],
    [8, "other data", "Evaluated on another revision of the data"],
    [16, "trained on", "The model declares this task as training data"],
  ];
})(window.Steelyard);
