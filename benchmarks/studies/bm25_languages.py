"""How often the languages of texts are told, and told right: by the pages of tasks, and by BM25's choice of analysers.

    python benchmarks/studies/bm25_languages.py [FOLDER]
    python benchmarks/studies/bm25_languages.py --messages [/usr/share/locale]
    python benchmarks/studies/bm25_languages.py --tutors [/usr/share/vim/vim90/tutor]

Of the built-in names of things (NanoCLDR) every id ends in the language. FOLDER holds tasks whose names say the
languages of queries and documents: tatoeba_deu2eng, xquad_ar2en, xquad_th.

With --messages: sentences of 5 to 15 words, and three words in a row of each, from the translated messages of the
programs that are installed. Of languages that share a script, up to 300 sentences each, none with signs of programs.
The weights of the detector were chosen by looking at these. With --tutors: the same of Vim's lessons, which nothing was
chosen by.
"""

from __future__ import annotations

import argparse
import gettext
import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from steelyard import load_task
from steelyard.reports.pages.measure.text_languages import read
from steelyard.text.analysis.language_policy import choose_policy
from steelyard.text.language_id.detect import LANGUAGES_OF, UNDECIDED, detect, detect_certain
from steelyard.text.languages import canonical
from steelyard.types import Task, TaskInfo

SHARED = Path(__file__).parents[3] / "shared"
_PROGRAM = re.compile(r"[%<>\\_{}=\[\]|/@#~`$*]|--|\d{3,}|\.\.\.|[A-Z]{3,}|\w\.\w")
NAMES = ("names-to-english", "names-across-scripts", "names-in-all-languages")
FOLDERS = (
    *("tatoeba_cmn2eng", "tatoeba_deu2eng", "tatoeba_hin2eng", "tatoeba_jpn2eng", "xquad_zh2en", "xquad_ar2en"),
    *("xquad_en", "xquad_zh", "xquad_ar", "xquad_th", "jsquad_ja", "cmrc2018_zh"),
)


def languages_of(ids: Sequence[str]) -> list[str]:
    """What the ids of NanoCLDR say: `territory-FR.de` is a German name."""
    return [canonical(name.rpartition(".")[2]) for name in ids]


def line(name: str, side: str, true: Sequence[str], by_pages: Sequence[str], by_bm25: Sequence[str]) -> str:
    def shares(identified: Sequence[str]) -> str:
        decided = [(a, b) for a, b in zip(true, identified, strict=True) if b != UNDECIDED]
        right = sum(a == b for a, b in decided)
        return f"{len(decided) / len(true):.3f} | {right / len(decided) if decided else float('nan'):.4f}"

    return f"| {name} | {side} | {len(true):,} | {shares(by_pages)} | {shares(by_bm25)} |"


def show(name: str, task: Task, queries: Sequence[str], documents: Sequence[str]) -> None:
    reading = read(task)
    declared = tuple(canonical(code) for code in task.info.languages)
    among = declared if len(declared) > 1 else ()  # one alone would be right by itself
    for side, true, pages, texts in (
        ("queries", queries, reading.query_languages, task.queries.texts),
        ("documents", documents, reading.document_languages, task.corpus.texts),
    ):
        print(line(name, side, true, pages, detect(texts, among)), flush=True)


def messages(folder: Path) -> dict[str, list[str]]:
    """Sentences by language; English is what was translated."""
    several = {code for codes in LANGUAGES_OF.values() if len(codes) > 1 for code in codes}
    by_code: dict[str, set[str]] = {}
    for path in sorted(folder.glob("*/LC_MESSAGES/*.mo")):
        name = path.parts[-3]
        if "@" in name or canonical(name) not in several or path.name.startswith("iso_"):
            continue
        try:
            with path.open("rb") as file:
                catalogue = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        except (UnicodeDecodeError, IndexError):  # old ones: an encoding that they do not name, plurals without a rule
            continue
        for key, text in catalogue.items():
            asked = key[0] if isinstance(key, tuple) else key
            for code, sentence in ((canonical(name), text), ("en", asked)):
                if text != asked and not _PROGRAM.search(sentence) and 5 <= len(sentence.split()) <= 15:
                    by_code.setdefault(code, set()).add(" ".join(sentence.split()))
    return {code: random.Random(code).sample(sorted(all_), min(300, len(all_))) for code, all_ in by_code.items()}


def tutors(folder: Path) -> dict[str, list[str]]:
    """The sentences of lessons that were not looked at when anything was chosen."""
    several = {code for codes in LANGUAGES_OF.values() if len(codes) > 1 for code in codes}
    by_code: dict[str, list[str]] = {}
    for path in sorted(folder.glob("tutor.*.utf-8")):
        code = canonical(path.name.split(".")[1])
        parts = re.split(r"(?<=[.?!:]) +", " ".join(path.read_text("utf-8").split()))
        sentences = {part for part in parts if not _PROGRAM.search(part) and 5 <= len(part.split()) <= 15}
        if code in several:
            by_code[code] = random.Random(code).sample(sorted(sentences), min(300, len(sentences)))
    return by_code


def three_words(sentence: str) -> str:
    words = sentence.split()
    first = random.Random(sentence).randrange(len(words) - 2)
    return " ".join(words[first : first + 3])


def show_sentences(by_language: dict[str, list[str]]) -> None:
    """The share told right by `detect`, a line a language, and what is told instead most often."""
    print("| language | sentences | right | as | three words | as | on pages: told | right of these |")
    print(f"|{'---|' * 8}")
    means = []
    for code, sentences in sorted(by_language.items()):
        if len(sentences) < 14:
            continue
        cells, rights = [], []
        for texts in (sentences, list(map(three_words, sentences))):
            counts = Counter(detect(texts))
            rights.append(counts.pop(code, 0) / len(texts))
            cells.append(f"{rights[-1]:.3f} | {' '.join(f'{other} {n}' for other, n in counts.most_common(2))}")
        decided = [other for other in detect_certain(sentences) if other != UNDECIDED]
        rights += [len(decided) / len(sentences), decided.count(code) / max(len(decided), 1)]
        means.append(rights)
        print(f"| {code} | {len(sentences)} | {' | '.join(cells)} | {rights[2]:.3f} | {rights[3]:.3f} |")
    mean = [sum(column) / len(means) for column in zip(*means, strict=True)]
    print(f"| mean of {len(means)} | | {mean[0]:.3f} | | {mean[1]:.3f} | | {mean[2]:.3f} | {mean[3]:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=SHARED / "data")
    parser.add_argument("--messages", type=Path, nargs="?", const=Path("/usr/share/locale"))
    parser.add_argument("--tutors", type=Path, nargs="?", const=Path("/usr/share/vim/vim90/tutor"))
    arguments = parser.parse_args()
    if arguments.messages or arguments.tutors:
        show_sentences(messages(arguments.messages) if arguments.messages else tutors(arguments.tutors))
        return
    print("| texts | side | count | told on pages | right of these | told by BM25 | right of these |")
    print(f"|{'---|' * 7}")
    for name in NAMES:
        task = load_task(f"NanoCLDR/{name}")
        show(f"NanoCLDR/{name}", task, languages_of(task.queries.ids), languages_of(task.corpus.ids))
    chosen = []
    for name in FOLDERS if arguments.folder.is_dir() else ():
        task = load_task(str(arguments.folder / name))
        asked, _, sought = name.rpartition("_")[2].partition("2")
        query, document = canonical(asked), canonical(sought or asked)
        policy = choose_policy(task.corpus.texts, TaskInfo(task.info.name))
        chosen.append(f"{name}: {' '.join(policy.languages)}")
        show(name, task, [query] * len(task.queries), [document] * len(task.corpus))
    print(f"\nread in, where no language is declared: {'; '.join(chosen)}")


if __name__ == "__main__":
    main()
