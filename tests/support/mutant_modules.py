# ruff: noqa: E501  (a module and its tests are easier to read on one line)
"""The core modules whose mutants are sampled, the tests of each, and mutants that cannot alter an answer."""

from __future__ import annotations

METRICS = ("metrics/test_scoring.py", "metrics/test_metrics_parity.py", "metrics/test_scoring_trec_eval.py")
METRICS += ("metrics/test_metrics_run.py", "metrics/test_names.py", "metrics/test_stopping.py")
BM25 = ("retrievers/bm25/test_search.py", "retrievers/bm25/test_bm25_parity.py", "retrievers/bm25/test_retriever.py")
VECTORS = ("vectors/test_topk.py", "vectors/test_similarity.py", "vectors/test_mapped.py")
RESULTS = ("results/test_store.py", "results/test_result_file.py", "results/test_store_golden.py")
PAGES = (
    "reports/test_pages_text_findings.py",
    "reports/test_pages_findings.py",
    "reports/test_pages_texts.py",
    "reports/test_pages_advice.py",
)
WEB = (
    "web/test_web_payload.py",
    "web/test_web_data.py",
    "web/test_web_details.py",
    "web/test_web_report.py",
    "web/test_web_published.py",
)

CORE: dict[str, tuple[str, ...]] = {
    "metrics/graded.py": METRICS,
    "metrics/ranking.py": METRICS,
    "metrics/scoring.py": (*METRICS, "retrievers/test_candidates_safeguard.py"),
    "metrics/nauc.py": METRICS,
    "metrics/function_metric.py": ("metrics/test_metrics_functions.py", "retrievers/objects/test_adapt.py"),
    "stats/intervals.py": ("stats/test_stats.py", "stats/test_ranks.py"),
    "stats/paired.py": ("stats/test_stats.py", "stats/test_randomisation.py"),
    "stats/pairs.py": ("stats/test_randomisation.py", "stats/test_stats.py", "comparison/test_compare_models.py"),
    "stats/randomisation.py": ("stats/test_randomisation.py", "stats/test_stats.py"),
    "stats/group_means.py": ("stats/test_randomisation.py", "stats/test_ranks.py", "comparison/test_compare_models.py"),
    "vectors/topk.py": (*VECTORS, "vectors/test_variants.py"),
    "vectors/exact_index.py": ("vectors/test_variants.py", *VECTORS),
    "vectors/quantise.py": ("vectors/test_variants.py", "vectors/test_variants_parity.py", *VECTORS),
    "vectors/maxsim.py": ("retrievers/test_late.py", "vectors/test_mapped.py"),
    "vectors/sparse.py": ("retrievers/test_sparse.py", "vectors/test_mapped.py"),
    "retrievers/bm25/postings.py": BM25,
    "retrievers/bm25/search.py": BM25,
    "retrievers/bm25/sharded.py": ("retrievers/bm25/test_sharded.py", "vectors/test_mapped.py", *BM25),
    "retrievers/fusion/join.py": ("retrievers/test_fusion.py", "retrievers/test_pipeline.py"),
    "retrievers/composite.py": ("retrievers/test_composite.py", "retrievers/test_pipeline.py", "retrievers/test_fusion.py"),
    "results/store.py": (*RESULTS, "engine/test_limit_and_runs.py"),
    "results/keys.py": ("results/test_store_golden.py", *RESULTS[:2], "test_files_named_in_data.py"),
    "results/summary.py": ("results/test_result_file.py", "results/test_table.py", "results/test_summary.py"),
    "engine/limit.py": ("engine/test_limit_and_runs.py", "retrievers/test_candidates_safeguard.py", "datasets/samples/test_samples_other_types.py"),
    "http/retry.py": ("http/test_client.py", "http/test_traffic.py"),
    "datasets/tables/jsonlines.py": ("datasets/tables/test_jsonlines_by_line.py", "datasets/tables/test_files.py", "datasets/formats/test_formats.py", "datasets/test_validation.py", "datasets/tables/test_files_limits.py", "datasets/samples/test_samples.py", "datasets/samples/test_samples_validation.py"),
    "reports/pages/findings/task_findings.py": PAGES,
    "reports/pages/findings/text_findings.py": PAGES,
    "reports/pages/findings/group_findings.py": ("reports/test_pages_group_findings.py", *PAGES, "reports/test_pages_groups.py"),
    "web/board.py": WEB,
    "web/own_results.py": (*WEB, "results/test_table.py"),
}  # fmt: skip
"""Module, and the files of its tests, those that are fast and find most first."""

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "metrics/graded.py",
        "last |= np.diff(gains, append=0.0) != 0",
        "0.0 -> 1.0",
    ): "the last place is already marked, because the number of its query changes",
    (
        "metrics/graded.py",
        "if len(starts) < int(sizes.max(initial=0)):  # few long lists",
        "Lt -> LtE",
    ): "both ways add the same values in the same order",
    (
        "metrics/ranking.py",
        "return np.asarray(self.gain_of(hits.grade, gain) / discounts(int(hits.rank.max(initial=-1)) + 1)[hits.rank])",
        "1 -> 2",
    ): "one discount more, which no hit reads; without a hit, no discount is read",
    (
        "results/keys.py",
        '_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode',
        "allow_nan=False -> True",
    ): "plain() has replaced what is not finite",
    (
        "retrievers/bm25/postings.py",
        "def _blocks(offsets: Int64, postings: int = 1 << 18) -> list[tuple[int, int]]:",
        "1 -> 2",
    ): "the weights of a term do not depend on the others of its block; larger blocks take more memory",
    (
        "retrievers/bm25/search.py",
        "if top_k and size > 1:",
        "Gt -> GtE",
    ): "in groups of one document, the limit is a score that top_k documents reach as well; it only takes longer",
    (
        "retrievers/bm25/search.py",
        "groups, least = max(2 * top_k, _GROUPS), np.full((lines, 1), _LEAST, dtype=np.float32)",
        "2 -> 3",
    ): "the top_k-th best of the maxima of any number of groups is not above the top_k-th best score",
    (
        "retrievers/bm25/search.py",
        "if counted * 2 > len(self.board):",
        "Gt -> GtE",
    ): "both ways return the documents above the limit by ascending row; only the time differs",
    (
        "retrievers/bm25/search.py",
        "if len(keys) > top_k:",
        "Gt -> GtE",
    ): "a partition of exactly top_k keys, of which there is at least one, keeps all of them, and they are sorted next",
    (
        "retrievers/bm25/search.py",
        "if len(group) == 1 or len(rows) * _THIN < documents:",
        "1 -> 2",
    ): "both ways add the same numbers to the same documents; only the time differs",
    (
        "retrievers/bm25/sharded.py",
        "with np.load(path, allow_pickle=False) as arrays:",
        "allow_pickle=False -> True",
    ): "the class has written the file itself, with numbers only; test_security.py checks every np.load of the source",
    (
        "retrievers/bm25/sharded.py",
        'arrays[own.name] = np.load(path, mmap_mode="r", allow_pickle=False)',
        "allow_pickle=False -> True",
    ): "the class has written the file itself, with numbers only; an array of objects cannot be mapped",
    (
        "retrievers/bm25/sharded.py",
        "def finish(self, terms: int, form: Form, k1: float, b: float, delta: float, workers: int = 1) -> ShardedPostings:",
        "1 -> 2",
    ): "the number of threads changes no weight",
    (
        "stats/pairs.py",
        "if left < right:",
        "Lt -> LtE",
    ): "two sorted tails that meet are the sorted row",
    (
        "stats/randomisation.py",
        "if len(part) > FEW:",
        "condition negated",
    ): "both ways give the same sums; the other one is slower",
    (
        "stats/randomisation.py",
        "BLOCK = 1 << 22",
        "1 -> 2",
    ): "the size of a block changes memory, not sums",
    (
        "stats/group_means.py",
        "WINDOW = 1 << 21",
        "1 -> 2",
    ): "how many tasks are computed together changes memory, not their numbers",
    (
        "stats/randomisation.py",
        "step = max(BLOCK // (self.flips * OCTET), 1) * OCTET",
        "Mult -> Add",
    ): "the size of a block changes memory, not sums",
    (
        "stats/randomisation.py",
        "threshold = np.abs(grid.sum(axis=1)) - 2 * queries",
        "Mult -> Add",
    ): "slack for rounding, in units of 2 ** -40",
    (
        "stats/randomisation.py",
        "totals = np.append(grid.sum(axis=1), 0.0)",
        "0.0 -> 1.0",
    ): "less than the slack for rounding",
    (
        "stats/randomisation.py",
        "largest = float(np.abs(values).max(initial=0.0))",
        "0.0 -> 1.0",
    ): "scores below 1 are rounded as those of 1 are: the slack covers it",
    (
        "stats/group_means.py",
        "columns = generator.integers(0, draws, draws * tasks) + chosen[order].astype(np.int64) * draws",
        "0 -> 1",
    ): "one resample of a task in 2,000 is never drawn",
    (
        "stats/randomisation.py",
        "return _signs(np.arange(256, dtype=np.uint8)[None, :])",
        "256 -> 257",
    ): "no byte looks the last one up",
    (
        "stats/randomisation.py",
        "threshold = np.abs(grid.sum(axis=1)) - 2 * queries",
        "2 -> 3",
    ): "slack for rounding, in units of 2 ** -40",
    (
        "stats/paired.py",
        "effect_size=float(means[i] / spread[i]) if spread[i] > 1e-15 else None,",
        "Gt -> GtE",
    ): "a spread of exactly 1e-15 is rounding noise, with or without an effect size",
    (
        "vectors/maxsim.py",
        "last = min(max(last, first + 1), first + most)",
        "1 -> 2",
    ): "the number of queries in a block changes no score",
    (
        "retrievers/bm25/search.py",
        "_SMALL = 1 << 16",
        "1 -> 2",
    ): "both ways of searching give the same bits",
    (
        "retrievers/bm25/search.py",
        "if counted * 8 > len(self.board):",
        "Mult -> Add",
    ): "both ways set the same scores to 0",
    (
        "datasets/tables/jsonlines.py",
        'first = json.loads(head.split(b"\\n", 1)[0])',
        "1 -> 2",
    ): "the first part is the same however many follow",
    (
        "retrievers/bm25/postings.py",
        "if _width(numbers, bits) is np.uint64:  # numbers among the terms of this portion may be narrower",
        "condition negated",
    ): "wider or narrower keys have the same order",
    (
        "retrievers/bm25/postings.py",
        "relative: Integers = keys.astype(np.uint16) if bits <= 16 else keys.astype(np.int32)",
        "LtE -> Lt",
    ): "wider numbers have the same values",
    (
        "vectors/maxsim.py",
        "alive[b] = False",
        "False -> True",
    ): "the distances of a merged item are infinite already, and the first item, which starts a chain, is never merged",
    (
        "vectors/topk.py",
        "BLOCK_SCORES = 1 << 24",
        "1 -> 2",
    ): "more queries at a time, which takes more memory; tests search in blocks of many sizes",
    (
        "vectors/exact_index.py",
        "step = max(1, BLOCK_SCORES // max(1, len(self.vectors)))",
        "1 -> 2",
    ): "only the number of queries that are compared at a time changes",
}
"""Module, line and change of mutants that cannot alter an answer, with the reason."""
