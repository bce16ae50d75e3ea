"""Terms and their numbers, and the reading of a corpus in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from steelyard.text.analysis.analyser import Analysis
from steelyard.text.arrays import flat_nonzero
from steelyard.text.tokenizer.spans import UInt64
from steelyard.text.tokenizer.tokens import ODD, Words, numbered
from steelyard.types import Int32, Int64


class Vocabulary:
    """Numbers of keys (`spans.keys`), in the order of first occurrence.

    A hash table over arrays: thousands of keys are looked up at once, and those that find another key in their slot
    continue one slot further, then two, then three, which reaches every slot of a table of a power of two.

    >>> from steelyard.text.tokenizer.spans import keys_of_strings as keys
    >>> vocabulary = Vocabulary()
    >>> vocabulary.grow(keys(["a", "b", "a"])).tolist(), vocabulary.look_up(keys(["b", "c"])).tolist(), len(vocabulary)
    ([0, 1, 0], [1, -1], 2)
    """

    def __init__(self) -> None:
        self._keys: UInt64 = np.zeros(1, dtype=np.uint64)  # by number, with room for more
        self._count = 0
        self._slots: Int32 = np.full(2, -1, dtype=np.int32)  # the number of the key in each slot
        self._placed = 0
        """The number of keys with slots; in a small corpus the others may never be looked up."""
        self._passes = 0

    def grow(self, keys: UInt64, *, distinct: bool = False) -> Int32:
        """Return the number of each key, a new one for a new key."""
        if distinct and not len(self):
            self._keep(keys)
            return np.arange(len(keys), dtype=np.int32)
        numbers = self.look_up(keys)
        unknown = flat_nonzero(numbers < 0)
        if not len(unknown):
            return numbers
        new = keys[unknown]
        if distinct:
            numbers[unknown] = np.arange(len(self), len(self) + len(new))
        else:
            first, order = numbered(new)
            numbers[unknown] = len(self) + order
            new = new[first]
        self._keep(new)
        return numbers

    def look_up(self, keys: UInt64) -> Int32:
        """Return the number of each key, -1 for unknown ones."""
        if not len(self):
            return np.full(len(keys), -1, dtype=np.int32)
        if self._placed < len(self) <= _FEW and self._passes < _PASSES:
            self._passes += 1
            return self._look_through(keys)
        self._place()
        slots = self._first_slots(keys)
        numbers = self._slots.take(slots)
        left = flat_nonzero(self._keys.take(numbers) != keys)
        left = left[numbers.take(left) >= 0]
        slots, wanted, step = slots.take(left), keys.take(left), 0
        while len(left):
            step += 1
            slots = (slots + step) & (len(self._slots) - 1)
            numbers[left] = candidates = self._slots.take(slots)
            more = flat_nonzero((candidates >= 0) & (self._keys.take(candidates) != wanted))
            left, slots, wanted = left.take(more), slots.take(more), wanted.take(more)
        return numbers

    def _look_through(self, keys: UInt64) -> Int32:
        """Look up in reverse: the wanted keys get slots, and all known keys are looked up in them.

        A few passes over a small vocabulary are faster than giving it slots.
        """
        numbers = np.full(len(keys), -1, dtype=np.int32)
        known, same = self._keys[: self._count], np.empty(len(keys), dtype=np.int32)
        left, multiplier = np.arange(len(keys), dtype=np.int32), ODD
        bits = max(len(keys).bit_length() + 3, 8)
        while len(left):
            wanted = keys.take(left)
            table = np.zeros(1 << bits, dtype=np.int32)
            slots = _slots(wanted, multiplier, bits)
            table[slots] = left
            same[left] = owners = table.take(slots)  # one of several equal keys represents all
            asking = table.take(_slots(known, multiplier, bits))
            at = flat_nonzero(keys.take(asking) == known)
            numbers[asking.take(at)] = at
            left = left.take(flat_nonzero(keys.take(owners) != wanted))
            multiplier = multiplier * ODD % (1 << 64)
        return numbers.take(same)

    def _keep(self, new: UInt64) -> None:
        count = self._count + len(new)
        if count > len(self._keys):
            grown = np.empty(max(count, 2 * self._count), dtype=np.uint64)
            grown[: self._count] = self._keys[: self._count]
            self._keys = grown
        self._keys[self._count : count] = new
        self._count = count

    def _place(self) -> None:
        """Assign a slot to every key without one."""
        if 2 * self._count > len(self._slots):
            self._slots = np.full(_room(self._count), -1, dtype=np.int32)
            self._placed = 0
        numbers = np.arange(self._placed, self._count, dtype=np.int32)
        slots, step = self._first_slots(self._keys[self._placed : self._count]), 0
        while len(numbers):
            free = flat_nonzero(self._slots.take(slots) < 0)
            self._slots[slots.take(free)] = numbers.take(free)
            others = flat_nonzero(self._slots.take(slots) != numbers)
            step += 1
            numbers, slots = numbers.take(others), (slots.take(others) + step) & (len(self._slots) - 1)
        self._placed = self._count

    def _first_slots(self, keys: UInt64) -> Int64:
        return _slots(keys, ODD, len(self._slots).bit_length() - 1)

    @property
    def size_bytes(self) -> int:
        """Memory of keys and slots."""
        return len(self) * self._keys.itemsize + _room(len(self)) * self._slots.itemsize

    def __len__(self) -> int:
        return self._count


_FEW, _PASSES = 1 << 15, 8
"""Up to so many keys get slots only after so many look-ups."""


def _slots(keys: UInt64, multiplier: int, bits: int) -> Int64:
    """Return the slot of each key in a table of so many bits."""
    slots = keys * np.uint64(multiplier)
    slots >>= np.uint64(64 - bits)
    return slots.view(np.int64)


def _room(count: int) -> int:
    """Return the number of slots for so many keys: a power of two, two to four times as many."""
    return 2 << count.bit_length()


class Reader:
    """Reads documents, chunk by chunk, then queries; each distinct word is stemmed once.

    Tokenising is most of the work and may be done ahead, in any thread; terms are numbered in the order of the chunks,
    so that the numbers do not depend on the threads.
    """

    def __init__(self, analyser: Analysis, vocabulary: Vocabulary) -> None:
        self.analyser, self.vocabulary = analyser, vocabulary
        self._words = Vocabulary()
        self._terms: Int32 = np.zeros(0, dtype=np.int32)  # the term of each word, by the word's number

    def read(self, texts: Sequence[str]) -> tuple[Int32, Int32]:
        """Return the number and the text of each occurrence of a term."""
        return self.number(split_words(self.analyser, texts))

    def number(self, words: Words | Sequence[str]) -> tuple[Int32, Int32]:
        """Return the number and the text of each occurrence of a term in the result of `split_words`."""
        if not isinstance(words, Words):
            occurrences = self.analyser.tokens(words).terms()
            return self.vocabulary.grow(occurrences.keys).take(occurrences.numbers), occurrences.owners
        if not self.analyser.stems:
            return self.vocabulary.grow(words.keys, distinct=True).take(words.numbers), words.owners
        numbers = self._words.grow(words.keys[: words.count], distinct=True)
        new = flat_nonzero(numbers >= len(self._terms))
        stems = self.analyser.stem(words, new)
        first, numbers_of_stems = numbered(stems)
        # An n-gram is its own term, different from that of any word.
        terms = self.vocabulary.grow(np.concatenate((stems[first], words.keys[words.count :])), distinct=True)
        self._terms = np.concatenate((self._terms, terms.take(numbers_of_stems)))
        of_words = self._terms.take(numbers)
        every = np.concatenate((of_words, terms[len(first) :])) if len(terms) > len(first) else of_words
        return every.take(words.numbers), words.owners

    def read_queries(self, texts: Sequence[str]) -> tuple[Int32, Int32]:
        """Return the number (-1: in no document) and the text of each occurrence of a term in queries."""
        words = self.analyser.query_words(texts)
        if words is None:
            occurrences = self.analyser.query_tokens(texts).terms()
            return self.vocabulary.look_up(occurrences.keys).take(occurrences.numbers), occurrences.owners
        if not self.analyser.stems:
            return self.vocabulary.look_up(words.keys).take(words.numbers), words.owners
        numbers = self._words.look_up(words.keys[: words.count])
        seen, new = flat_nonzero(numbers >= 0), flat_nonzero(numbers < 0)
        numbers[seen] = self._terms.take(numbers[seen])
        stems_and_grams = np.concatenate((self.analyser.stem(words, new), words.keys[words.count :]))
        terms = self.vocabulary.look_up(stems_and_grams)
        numbers[new] = terms[: len(new)]
        return np.concatenate((numbers, terms[len(new) :])).take(words.numbers), words.owners

    @property
    def size_bytes(self) -> int:
        """Memory of words and terms."""
        return self._words.size_bytes + self._terms.nbytes


class Readers(dict[Analysis, Reader]):
    """A reader for each analyser, made on first use; all of them share one vocabulary."""

    def __init__(self) -> None:
        super().__init__()
        self.vocabulary = Vocabulary()

    def __missing__(self, analyser: Analysis) -> Reader:
        self[analyser] = reader = Reader(analyser, self.vocabulary)
        return reader

    @property
    def size_bytes(self) -> int:
        """Memory of the terms, and of the words that became them."""
        return self.vocabulary.size_bytes + sum(reader.size_bytes for reader in self.values())


def split_words(analyser: Analysis, texts: Sequence[str]) -> Words | Sequence[str]:
    """Return the words of texts, or the texts if the analyser's code is not thread-safe."""
    words = analyser.words(texts)
    return texts if words is None else words


def split_rows(
    analyser: Analysis, texts: Sequence[str], rows: Int32
) -> Iterator[tuple[Analysis, Words | Sequence[str], Int32]]:
    """Yield the words of these rows, with the row of each; in one or two parts.

    ASCII texts are tokenised separately, because that is much faster.
    """
    chosen_texts = texts if len(rows) == len(texts) else [texts[row] for row in rows]
    plain = np.fromiter(map(str.isascii, chosen_texts), dtype=np.bool_, count=len(chosen_texts))
    if plain.all() or not plain.any():
        yield analyser, split_words(analyser, chosen_texts), rows
        return
    for chosen in (flat_nonzero(plain), flat_nonzero(~plain)):
        yield analyser, split_words(analyser, [chosen_texts[row] for row in chosen.tolist()]), rows[chosen]
