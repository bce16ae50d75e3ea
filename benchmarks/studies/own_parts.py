"""The parts that Steelyard computes itself, against the libraries that a user would pick.

    pip install py3langid lingua-language-detector
    python benchmarks/studies/own_parts.py language      # language identification: py3langid, lingua
    python benchmarks/studies/own_parts.py arabic        # the Arabic stemmer: PyStemmer

`benchmarks/studies/encoder.py` compares the default encoder with the package of its weights.
docs/why-own-parts.md has results.

Texts for language identification are held out: the lessons of Vim (sentences of 5 to 15 words, in
languages that share a script), and passages and sentences of `../shared/data`. Every detector may return any language.
Libraries that are not installed are left out. Times are CPU seconds of one thread, without loading; loading is the time
of the first call.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from steelyard.text.analysis import analyser
from steelyard.text.language_id.detect import LANGUAGES_OF, detect
from steelyard.text.languages import canonical
from steelyard.text.tokenizer.tokens import Words
from steelyard.text.tokenizer.vocabulary import Readers

DATA = Path(__file__).parents[3] / "shared" / "data"
TUTORS = Path("/usr/share/vim/vim90/tutor")
COLLECTIONS = {"xquad_en": "en", "xquad_zh": "zh", "xquad_ar": "ar", "xquad_th": "th", "jsquad_ja": "ja"}
TATOEBA = {"tatoeba_cmn2eng": "zh", "tatoeba_deu2eng": "de", "tatoeba_hin2eng": "hi", "tatoeba_jpn2eng": "ja"}
NOT_PROSE = re.compile(r"[%<>\\_{}=\[\]|/@#~`$*]|--|\d{3,}|\.\.\.|[A-Z]{3,}|\w\.\w")
ALIASES = {"nb": "no", "nn": "no"}
REPEATS = 3

Detector = Callable[[Sequence[str]], list[str]]


def read_texts(path: Path, most: int) -> list[str]:
    """Return the first texts of a JSON Lines file."""
    lines = path.read_text(encoding="utf-8").splitlines()[:most]
    return [json.loads(line)["text"] for line in lines]


def tutor_sentences(most: int) -> list[tuple[str, str]]:
    """Return sentences of Vim's lessons with their languages."""
    shared = {code for codes in LANGUAGES_OF.values() if len(codes) > 1 for code in codes}
    pairs = []
    for path in sorted(TUTORS.glob("tutor.*.utf-8")):
        code = canonical(path.name.split(".")[1])
        parts = re.split(r"(?<=[.?!:]) +", " ".join(path.read_text("utf-8").split()))
        prose = sorted({part for part in parts if not NOT_PROSE.search(part) and 5 <= len(part.split()) <= 15})
        pairs += [(sentence, code) for sentence in prose[:most] if code in shared]
    return pairs


def three_words(text: str) -> str:
    """Return the second to fourth word of a text."""
    return " ".join(text.split()[1:4])


def samples(most: int) -> dict[str, list[tuple[str, str]]]:
    """Return texts and their languages, by the name of the collection."""
    collections: dict[str, list[tuple[str, str]]] = {}
    if sentences := tutor_sentences(most):
        collections["Vim lessons, sentences"] = sentences
        collections["Vim lessons, three words"] = [(three_words(text), code) for text, code in sentences]
    for title, folders, file in (
        ("passages", COLLECTIONS, "corpus.jsonl"),
        ("questions", COLLECTIONS, "queries.jsonl"),
        ("Tatoeba sentences", TATOEBA, "queries.jsonl"),
    ):
        pairs = []
        for folder, code in folders.items():
            if (path := DATA / folder / file).is_file():
                pairs += [(text, code) for text in read_texts(path, most)]
        if pairs:
            collections[title] = pairs
    return collections


def detectors() -> dict[str, Detector]:
    """Return the detectors that are installed."""
    by_name: dict[str, Detector] = {"steelyard": lambda texts: detect(texts)}
    try:
        py3langid = importlib.import_module("py3langid")
        by_name["py3langid"] = lambda texts: [py3langid.classify(text)[0] for text in texts]
    except ImportError:
        print("py3langid is not installed")
    try:
        lingua = importlib.import_module("lingua")
        built = lingua.LanguageDetectorBuilder.from_all_languages().build()

        def by_lingua(texts: Sequence[str]) -> list[str]:
            languages = [built.detect_language_of(text) for text in texts]
            return ["und" if one is None else one.iso_code_639_1.name.lower() for one in languages]

        by_name["lingua"] = by_lingua
    except ImportError:
        print("lingua is not installed")
    return by_name


def compare_languages(most: int) -> None:
    """Print accuracy and rate of each detector on each collection."""
    collections = samples(most)
    print("| texts | number | languages | detector | correct | mean over languages | texts per CPU second |")
    print(f"|{'---|' * 7}")
    for name, detector in detectors().items():
        start = time.perf_counter()
        detector(["Where does the river rise?", "Wo entspringt der Fluss?"])
        loading = time.perf_counter() - start
        for title, pairs in collections.items():
            texts = [text for text, _ in pairs]
            start = time.process_time()
            codes = [ALIASES.get(code, code) for code in detector(texts)]
            seconds = time.process_time() - start
            correct = np.array([code == true for code, (_, true) in zip(codes, pairs, strict=True)])
            languages = np.array([true for _, true in pairs])
            mean = np.mean([correct[languages == code].mean() for code in np.unique(languages)])
            cells = f"{correct.mean():.3f} | {mean:.3f} | {len(texts) / seconds:,.0f}"
            print(f"| {title} | {len(texts):,} | {len(np.unique(languages))} | {name} | {cells} |", flush=True)
        print(f"| loading | | | {name} | | | {loading:.1f} s |", flush=True)


def compare_arabic() -> None:
    """Print the time of stemming and of reading an Arabic corpus, by arrays and by PyStemmer."""
    texts = read_texts(DATA / "xquad_ar" / "corpus.jsonl", 10_000)
    arabic = analyser.Analyser("ar")
    words = Words.of(arabic._find(texts))
    chosen = np.arange(words.count)

    def read() -> None:
        readers = Readers()
        readers[arabic].read(texts)

    print(f"{len(texts)} passages, {words.count:,} distinct words; best of {REPEATS}, milliseconds of CPU")
    keys = {}
    for name, few in (("arrays", analyser._FEW), ("PyStemmer", 10**9)):
        analyser._FEW = few
        keys[name] = arabic.stem(words, chosen)
        times = []
        for work in (lambda: arabic.stem(words, chosen), read):
            runs = []
            for _ in range(REPEATS):
                start = time.process_time()
                work()
                runs.append(time.process_time() - start)
            times.append(1000 * min(runs))
        print(f"{name:10} stemming {times[0]:6.1f}   reading the corpus {times[1]:6.1f}")
    print("the same stems:", bool(np.array_equal(*keys.values())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["language", "arabic"])
    parser.add_argument("--most", type=int, default=200, help="texts per language and collection")
    arguments = parser.parse_args()
    if arguments.part == "language":
        compare_languages(arguments.most)
    else:
        compare_arabic()


if __name__ == "__main__":
    main()
