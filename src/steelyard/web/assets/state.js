/* The state of the view is in the address: #/board/mteb-cmn-v1?q=bge&sort=mean:down. Sharing the address shares the view. */
"use strict";

(function (S) {
  S.parse = (hash) => {
    const [path, query] = hash.replace(/^#\/?/, "").split("?");
    const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
    return { parts, options: Object.fromEntries(new URLSearchParams(query || "")) };
  };

  S.address = (parts, options) => {
    const kept = Object.entries(options || {}).filter(([, value]) => value !== "" && value !== null && value !== undefined);
    const query = new URLSearchParams(kept).toString();
    return "#/" + parts.map(encodeURIComponent).join("/") + (query ? "?" + query : "");
  };

  /** Change options of the current view; the back button undoes it. */
  S.change = (changes, { quietly = false } = {}) => {
    const { parts, options } = S.parse(location.hash);
    const address = S.address(parts, { ...options, ...changes });
    if (quietly) {
      history.replaceState(null, "", address);
      S.route();
    } else location.hash = address;
  };

  /* Lists in options: commas inside a name, as in "[bm25, dense]", are escaped. */
  S.list = (text) => (text ? text.split(/(?<!\\),/).filter(Boolean).map((name) => name.replaceAll("\\,", ",")) : []);
  S.joined = (names) => names.map((name) => name.replaceAll(",", "\\,")).join(",");
})(window.Steelyard);
