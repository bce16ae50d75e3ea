"""The templates of sentences about failures, limits and advice."""

from __future__ import annotations

from collections.abc import Mapping

RULES: Mapping[str, tuple[str, str]] = {
    "undeclared_language": (
        "undeclared language",
        "the query, or every relevant document, is in a language that the dense model does not declare",
    ),
    "translation": ("translation", "every relevant document is in another language than the query"),
    "script": ("script", "every relevant document is written in another script than the query"),
    "paraphrase": (
        "paraphrase",
        "in the same language, no relevant document contains more than a quarter of the query's terms",
    ),
    "missing_term": (
        "missing term",
        "the query's rarest term is in the competitor but in no relevant document (in scripts with spaces only)",
    ),
    "same_topic": (
        "same topic",
        "the competitor contains at least as many of the query's terms as any relevant document, and shares its topic",
    ),
    "name": ("name", "the query contains a name that a relevant document has and the competitor lacks"),
    "number": ("number or date", "the query contains a number that a relevant document has and the competitor lacks"),
    "long_document": ("long document", "every relevant document is long, also compared with the corpus"),
    "near_duplicate": (
        "unjudged near-duplicate",
        "the top 10 contains an unjudged document that repeats a relevant one, but for words at the beginning or end",
    ),
}
"""The label of each class of failures, and its rule in words. The competitor is the highest document that is not
relevant."""

PROPERTIES: Mapping[str, str] = {
    "overlap": "share of their terms in a relevant document",
    "rarest_term": "number of documents with their rarest term",
    "query_words": "number of words",
    "relevant_words": "length of the shortest relevant document, in words",
    "relevant_documents": "number of relevant documents",
    "has_number": "presence of a number",
    "has_name": "presence of a name",
    "cross_language": "need for another language",
}
"""The properties of queries in words."""

CHANGES: Mapping[str, str] = {
    "other_languages": "With only documents in the languages of the relevant ones",
    "near_duplicates": "Without unjudged near-duplicates of relevant documents",
    "head_256": "With only the first 256 characters of every document",
    "head_1024": "With only the first 1,024 characters of every document",
    "rerank_pool": "When the dense model reranks BM25's first 100 documents",
    "rerank_oracle": "When every relevant document is added to the list that the dense model reranks",
}
"""The counterfactual changes in words."""

DIAGNOSIS = {
    # the dense model's languages
    "undeclared": "The card of {model} does not list {languages}. That concerns {queries:query} ({share:.2%}), on "
    "which the dense score is no evidence about the task, and no advice below is drawn from them.",
    "undeclared_rest": "On the other {queries:query}, nDCG@10 is {scores}.",
    "undeclared_all": "The card of {model} does not list {languages}, which every query involves. The dense and "
    "hybrid scores are therefore no evidence of what a dense model could reach here, and no advice below is drawn "
    "from them.",
    # failure classes
    "no_failures": "Every profile finds a relevant document in its top 10 for every query, so there are no "
    "failures to classify.",
    "class_test": "Each failed query was checked against {rules:rule}; a query may match several, and a rule "
    "explains failures only if it matches found queries significantly less often (Fisher's exact test, Holm's "
    "correction over all classes and profiles).",
    "class_significant": "The failures of {label} are distinguished by {classes}.",
    "class_none": "For {label}, no rule matches its {failures:failed query} significantly more often than the "
    "queries it finds.",
    "class_few": "{label} fails only {failures:query}, too few to test a rule.",
    # separation
    "separator": "Found and missed queries differ most clearly in the {properties}.",
    "no_separator": "No measured property separates the queries that {labels} finds from those it misses.",
    # relation of languages
    "relation": "Relevant documents in the language of the query, compared with those in another language, are in "
    "the top 10 in {shares}.",
    # limits
    "limit_ranking": "{label} loses most in its ranking: with its first 100 documents in a perfect order it would "
    "gain {ranking:.4f} nDCG@10, with the relevant documents that are not among them another {pool:.4f}.",
    "limit_order": "{label} loses only in its ranking: with its candidates in a perfect order it would gain "
    "{ranking:.4f} nDCG@10.",
    "limit_pool": "{label} loses most before ranking: the relevant documents that are not among its first 100 cost "
    "{pool:.4f} nDCG@10, the order of the others {ranking:.4f}.",
    "limit_judgements": "For {label} the judgements are the largest limit: {judgement:.4f} nDCG@10 cannot be "
    "reached by any ranking; its order costs {ranking:.4f} and missing candidates {pool:.4f}.",
    "limit_same": "The same holds for {labels}.",
    "limit_perfect": "{label} ranks every relevant document as high as possible.",
    "limit_none": "{label} is within {gap:.4f} of a perfect score, so neither its candidates nor their order leave "
    "much to gain.",
    "unreachable": "No ranking can exceed {ceiling:.4f}, because relevant documents are missing from the corpus or "
    "queries have none.",
    "complement": "Both BM25 and Dense find {both:query}; BM25 alone finds {only_bm25:,} more and Dense alone "
    "{only_dense:,}, while neither finds {neither:,}.",
    "no_overlap": "BM25 and Dense find no query in common: BM25 alone finds {only_bm25:,} and Dense alone "
    "{only_dense:,}, while neither finds {neither:,}.",
    "choice": "Choosing the better of their two lists for every query would raise nDCG@10 from {single:.4f} "
    "({best}) to {choice:.4f} (+{gain:.4f} [{low:.4f}, {high:.4f}]); a perfect ranking of both candidate lists "
    "would reach {pool:.4f}.",
    "no_choice": "Choosing the better of their two lists for every query would gain nothing over {best}; a perfect "
    "ranking of both candidate lists would reach {pool:.4f}.",
    "fusion_captures": "The hybrid reaches {hybrid:.4f}, {share:.1%} of the way from {best} to that choice.",
    "fusion_beyond": "The hybrid reaches {hybrid:.4f}, more than any choice between the two lists.",
    "fusion_misses": "The hybrid, at {hybrid:.4f}, captures none of this.",
    "counterfactual": "{change}, nDCG@10 changes {profiles}.",
    "no_counterfactual": "No change in the table has a significant effect.",
    "one_counterfactual": "The change in the table has no significant effect.",
    "counterfactual_none": "The other changes in the table have no significant effect.",
    "counterfactual_one_none": "The other change in the table has no significant effect.",
    # training data
    "recorded_data": "The maintainers of the set record as useful: {data}.",
    "derived_data": "From the weak points of {label} on this page:",
    "no_derived_data": "The failures on this page do not point to a kind of training data: {reason}.",
    "train_translation": "Pairs of a query and a document in two languages{pairs}. {evidence}",
    "train_script": "Pairs of a query and a document in two scripts. {evidence}",
    "train_paraphrase": "Pairs that say the same in other words, because little of the query is repeated in its "
    "document. {evidence}",
    "train_missing_term": "Pairs whose most specific word has a synonym or another form in the document. {evidence}",
    "train_same_topic": "Hard negatives of the same topic, which share the words of the query but are not "
    "relevant. {evidence}",
    "train_name": "Hard negatives about another person, place or product than the query names. {evidence}",
    "train_number": "Hard negatives with another number or date than the query asks for. {evidence}",
    "train_long_document": "Long documents whose answer is one passage among many. {evidence}",
    "evidence": "Evidence: {failed:,} of {failures:failed query} ({share:.1%} [{low:.1%}, {high:.1%}]), "
    "{found:.1%} of found ones, p {p}.",
    "evidence_relation": "Evidence: of the relevant documents in another language {cross:.1%} are in the top 10 of "
    "{label}, of those in the language of the query {same:.1%} (p {p}).",
    "evidence_all": "Evidence: this holds for {share:share} of the {total:query}, and {failed:,} of them fail.",
    "lower_class": "{label} is lower still {where} ({score:.4f}), but {queries:query} are too few to test.",
    "train_slice": "Pairs of the kinds on which {label} is significantly weaker than elsewhere: {slices}.",
    # synthetic data
    "recorded_synthetic": "The maintainers of the set recommend: {text}",
    "synthetic_shape": "To resemble this task, synthetic queries should be {queries}, with a median of "
    "{query_words}; documents should have a median of {document_words}.",
    "synthetic_language": "{cross:Share} of the pairs are in two languages{pairs}; the same should hold for "
    "synthetic pairs.",
    "synthetic_overlap": "A generator tends to copy words from the document; here the median query shares "
    "{median:.0%} of its terms with its relevant document, so generated queries should not share more.",
    "synthetic_several": "{share:Share} of the queries have several relevant documents; a generated query that other "
    "documents also answer needs these as positives.",
    "synthetic_numbers": "{share:.0%} of queries contain a number, which a generator must copy exactly.",
    "synthetic_negatives": "Negatives: {negatives}.",
    # improvement
    "improve_ranking": "A better ranking of the candidates has the most to offer: a perfect reranker would add up "
    "to {gain:.4f} nDCG@10 to {label}.",
    "no_improvement": "No weakness of {label} and no effect of a change is significant, so this page suggests no "
    "improvement.",
    "improve_order": "All candidates of a query are given, so only their order matters: {label} is {gain:.4f} "
    "nDCG@10 below a perfect one.",
    "improve_pool": "Better candidates have the most to offer: {label} misses relevant documents among its first "
    "100 at a cost of {gain:.4f} nDCG@10, which no reranker can recover.",
    "improve_choice": "Deciding query by query between BM25 and Dense could add {gain:.4f} [{low:.4f}, {high:.4f}] "
    "nDCG@10 to {best}, more than fusion reaches today.",
    "improve_language": "Documents in other languages displace relevant ones: without them {label} would gain "
    "{gain:.4f} [{low:.4f}, {high:.4f}] nDCG@10.",
    "improve_context": "The beginning of a document is not enough: with its first {head:,} characters BM25 loses "
    "{loss:.4f} [{low:.4f}, {high:.4f}] nDCG@10, so a model that reads no further starts at a disadvantage.",
    "context_enough": "The first {head:,} characters of a document are enough for BM25: the difference, "
    "{difference:+.4f} [{low:+.4f}, {high:+.4f}] nDCG@10, is small and not significant, so a short context is unlikely "
    "to be the limit here.",
    "improve_judgements": "Unjudged near-duplicates of relevant documents cost {label} {gain:.4f} [{low:.4f}, "
    "{high:.4f}] nDCG@10: judge or remove them before comparing models.",
    "improve_rerank_pool": "On {queries:query} with at least 50 candidates of BM25, Dense as their reranker scores "
    "{pool:.4f}, and {oracle:.4f} once every relevant document is in the list: BM25's candidates, not the model, "
    "cost {gain:.4f}.",
    # groups
    "group_ranking": "The order of the candidates costs the best profile most on {count:,} of {tasks:task}: {names}.",
    "group_pool": "Candidates that are missing from the first 100 cost the best profile most on {count:,} of "
    "{tasks:task}: {names}.",
    "group_every_ranking": "On every task the order of the candidates costs the best profile most.",
    "group_every_pool": "On every task candidates that are missing from the first 100 cost the best profile most.",
    "group_class": "Training data for the class “{name}” is suggested by the failures on {count:task}: {names}.",
    "group_no_class": "On no task are failures concentrated enough in one class to point to a kind of training data.",
    "group_undeclared": "The card of the dense model ({model}) does not list {languages}. On such queries "
    "(in {names}) its scores describe the model rather than the task.",
    "group_recorded": "Recorded as useful: {data}.",
    # interpretation of the data
    "language_missing": "Declared, but not identified in any text: {languages}.",
    "language_extra": "Identified, but not declared: {languages}.",
    "unread_card": "The card of {name} exists but could not be read: {reason}.",
    "recorded_languages": "The maintainers of the set note on languages: {text}.",
    "recorded_rerank": "On reranking, the maintainers of the set note: {text}.",
    "leakage_signs": "Signs of leakage that were counted when the set was sampled: {signs}.",
    "no_leakage_signs": "When the set was sampled, no query was a document of the corpus or contained in a "
    "relevant one.",
    "notes_dropped": "{count:sentence was/were} left out because a check failed.",
    "drafted": "{model} drafted text from the values of this page for these sections: {sections}. Every number, "
    "task, language, model and comparison of profiles in it was checked against the values; everything else on the "
    "page is computed, quoted or signed as a note.",
}
"""The template of each kind of finding."""
