"""The key of a result, a hash of everything that could change a score, and readable names of folders and files."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from steelyard.results.result_file import plain
from steelyard.results.schema import TaskFacts
from steelyard.types.protocols import ModelSettings

SCORING_VERSION = 1
"""Increased whenever the same run on the same data would get another score; older results then count as missing."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")
_LONGEST = 120
_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def digest(value: Any) -> str:
    """Return 32 hex digits that depend on the value and not on the order of its keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    return hashlib.blake2b(_encode(plain(value)).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def settings_hash(settings: ModelSettings) -> str:
    """Return 12 hex digits: the name of the folder of one model with one set of settings."""
    return digest([SCORING_VERSION, settings])[:12]


def result_key(settings: ModelSettings, task: str, facts: TaskFacts) -> str:
    """Return the key of a result. Language and category are part of it, because analysers are chosen by them."""
    data = [task, facts.data_hash, facts.split, facts.language, facts.languages, facts.category, facts.type]
    unusual = ["ignore_identical_ids"] if facts.ignore_identical_ids else []  # added later: other keys are unchanged
    return digest([SCORING_VERSION, settings, data + unusual])


def model_slug(model: str) -> str:
    """Return a readable folder name; models with the same one have different settings hashes below it.

    >>> model_slug("[bm25, dense:use-multilingual-v3]?k=10")
    'bm25_dense_use-multilingual-v3_k_10'
    """
    return _UNSAFE.sub("_", model.replace("/", "__")).strip("_.")[:_LONGEST] or "model"


def task_slug(task: str) -> str:
    """Return a file name for the task: `Group__task`, with a hash where another task could have the same.

    >>> task_slug("NanoAlmanac/en"), task_slug("My set/naïve")
    ('NanoAlmanac__en', 'My_set__na_ve-0d5f84')
    """
    slug = _UNSAFE.sub("_", task.replace("/", "__")).lstrip(".")[:_LONGEST]
    return slug if slug.replace("__", "/") == task else f"{slug}-{digest(task)[:6]}"
