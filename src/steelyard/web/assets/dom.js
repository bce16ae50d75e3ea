/* Build elements. Text is always set as text, never as HTML. */
"use strict";
window.Steelyard = window.Steelyard || {};

(function (S) {
  const SVG = "http://www.w3.org/2000/svg";

  function append(node, children) {
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === false) continue;
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return node;
  }

  function fill(node, attributes) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if ((name === "value" && node.tagName !== "PROGRESS") || name === "checked" || name === "selected") node[name] = value;
      else node.setAttribute(name, value === true ? "" : value);
    }
    return node;
  }

  /** h("p", {class: "soft"}, "text", otherNode) */
  S.h = (tag, attributes, ...children) => append(fill(document.createElement(tag), attributes), children);
  S.svg = (tag, attributes, ...children) => append(fill(document.createElementNS(SVG, tag), attributes), children);
  S.replace = (node, ...children) => append((node.replaceChildren(), node), children);

  /** A score in percent, or a dash. */
  S.percent = (value) => (value === null || value === undefined ? "–" : (100 * value).toFixed(2));

  /** 33000000 -> "33M". */
  S.count = (value) => {
    if (value === null || value === undefined) return "";
    for (const [size, unit] of [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]]) {
      if (value >= size) return Number((value / size).toPrecision(3)) + unit;
    }
    return String(Number(value.toPrecision(3)));
  };

  S.signed = (value, digits = 2) => (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(100 * value).toFixed(digits);

  /** ndcg_at_10 -> "nDCG@10". */
  S.metricName = (name) => (name || "").replace(/^ndcg/, "nDCG").replace(/^(mrr|map)(?=_|$)/, (word) => word.toUpperCase()).replace(/^hit_rate/, "hit").replace(/_at_/, "@").replaceAll("_", " ");

  S.download = (name, type, content) => {
    const link = S.h("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
})(window.Steelyard);
