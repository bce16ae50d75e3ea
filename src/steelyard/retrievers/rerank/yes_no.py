"""Language models that judge a pair by the probabilities of "yes" and "no", in the form of Qwen3-Reranker.

The score is the log odds of the two tokens: the same order as the probability, without rounding near 1.
"""

from __future__ import annotations

import importlib
from functools import cached_property
from importlib import metadata
from typing import Any

import numpy as np

from steelyard.encoders.backends.transformers.device_process import device_pool
from steelyard.encoders.backends.transformers.loading import batch_size, load_complete
from steelyard.encoders.compute_options import COMPUTE, Compute
from steelyard.encoders.instructions import instruction_for, read_instructions
from steelyard.encoders.model_folder import ModelFolder
from steelyard.errors import MissingPart, ModelError, UsageError
from steelyard.options import Options
from steelyard.retrievers.rerank.pair_batches import PairReranker
from steelyard.types import Float32, Int64, TaskInfo
from steelyard.types.protocols import ModelSettings

OPTIONS = (
    *("batch_size", "batch_tokens", "document_prompt", "instructions", "max_length", "no", *COMPUTE),
    *("prefix", "query_prompt", "suffix", "template", "trust_remote_code", "yes"),
)
PREFIX = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
SUFFIX = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
TEMPLATE = "<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}"
INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"
"""The strings that Qwen3-Reranker was trained with."""
MAX_LENGTH = 8192


class YesNoReranker(PairReranker):
    """A causal language model that answers yes or no."""

    def __init__(self, folder: ModelFolder, options: Options, name: str, info: TaskInfo | None = None) -> None:
        self.name = name
        self._folder = folder
        self._options = options
        self._instructions = read_instructions(options)
        self._instruction = instruction_for(self._instructions, info) or INSTRUCTION
        self._compute = Compute.of(options, folder.settings.device)
        self._devices = self._compute.devices
        self._template = _text(options, "template", TEMPLATE)
        if "{query}" not in self._template or "{document}" not in self._template:
            expected = "a text with {query} and {document}"
            raise UsageError.invalid("template", expected=expected, found=self._template, option="template")
        self._model = self._load()
        super().__init__(
            options,
            device_pool(self._model, self._devices, log_odds, self._compute.threads),
            batch_size(options, self._devices),
        )
        self._prompts = {"query": "", "document": ""}  # the template has the place of both texts

    def _load(self) -> YesNoModel:
        try:
            transformers: Any = importlib.import_module("transformers")
        except ImportError as error:
            raise MissingPart.extra("transformers", "torch") from error
        options, path = self._options, str(self._folder.path)
        code = options.choice("trust_remote_code", ("false", "true")) == "true"
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(path, trust_remote_code=code, padding_side="left")
            model = load_complete(
                self._folder,
                lambda: transformers.AutoModelForCausalLM.from_pretrained(
                    path, dtype=self._compute.dtype, trust_remote_code=code
                ),
            )
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise ModelError(
                f"transformers cannot load {self._folder.id} as a causal language model: {error}",
                hint="use a model such as Qwen/Qwen3-Reranker-0.6B",
            ) from error
        words = [options.text("no") or "no", options.text("yes") or "yes"]
        answers = [_token(tokenizer, word, self._folder.id) for word in words]
        length = options.whole("max_length", MAX_LENGTH)
        ends = [_text(options, "prefix", PREFIX), _text(options, "suffix", SUFFIX)]
        loaded = YesNoModel(model.eval(), tokenizer, answers, ends, length)
        return loaded.to(self._devices[0] if len(self._devices) == 1 else "cpu")

    @cached_property
    def settings(self) -> ModelSettings:
        """Return everything that could change a score."""
        options = self._options
        return {
            "reranker": self._folder.name,
            "kind": "yes/no",
            "revision": self._folder.revision,
            "weights": self._folder.weights,
            "max_length": self._limit,
            "dtype": self._compute.dtype,
            "instruction": self._instruction,
            "template": self._template,
            "ends": [_text(options, "prefix", PREFIX), _text(options, "suffix", SUFFIX)],
            "answers": [options.text("no") or "no", options.text("yes") or "yes"],
            **{name: options.text(name) for name in ("query_prompt", "document_prompt")},
            "library": f"transformers {metadata.version('transformers')}",
        }

    def for_task(self, info: TaskInfo) -> YesNoReranker:
        """Return the reranker with the instruction of that task; itself if it is the same."""
        instruction = instruction_for(self._instructions, info) or INSTRUCTION
        if instruction == self._instruction:
            return self
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.__dict__.pop("settings", None)
        other._instruction = instruction
        return other

    @property
    def _limit(self) -> int:
        return self._model.max_length

    def _tokens(self, texts: list[str]) -> Int64:
        tokenizer = self._model.tokenizer
        ids = tokenizer(texts, add_special_tokens=False, truncation=False, padding=False, verbose=False)["input_ids"]
        return np.array([len(text) for text in ids], dtype=np.int64)

    def _pair(self, query: str, document: str) -> Any:
        """Return what the model reads of a pair: the template with both texts."""
        options = self._options
        texts = {
            "instruction": self._instruction,
            "query": (options.text("query_prompt") or "") + query,
            "document": (options.text("document_prompt") or "") + document,
        }
        pair = self._template
        for name, text in texts.items():
            pair = pair.replace(f"{{{name}}}", text, 1)
        return pair


class YesNoModel:
    """A causal language model with its tokenizer; it can be sent to another process."""

    def __init__(self, model: Any, tokenizer: Any, answers: list[int], ends: list[str], max_length: int) -> None:
        self.model, self.tokenizer, self.answers, self.max_length = model, tokenizer, answers, max_length
        self.ends = [tokenizer.encode(end, add_special_tokens=False) for end in ends]

    def to(self, device: str) -> YesNoModel:
        """Move the model to a device."""
        self.model = self.model.to(device)
        return self


def log_odds(model: YesNoModel, pairs: list[str]) -> Float32:
    """Return the log odds of "yes" against "no" for each pair of a batch."""
    torch: Any = importlib.import_module("torch")
    prefix, suffix = model.ends
    space = max(1, model.max_length - len(prefix) - len(suffix))
    bodies = model.tokenizer(pairs, add_special_tokens=False, truncation=True, max_length=space, padding=False)
    ids = [prefix + body + suffix for body in bodies["input_ids"]]
    inputs = model.tokenizer.pad({"input_ids": ids}, padding=True, return_tensors="pt").to(model.model.device)
    with torch.no_grad():
        logits = model.model(**inputs).logits[:, -1, :]
    no, yes = (logits[:, answer] for answer in model.answers)
    return np.asarray((yes - no).float().cpu().numpy(), dtype=np.float32)


def is_causal(folder: ModelFolder) -> bool:
    """Return whether a folder has a causal language model that sentence-transformers does not load by itself."""
    architectures = folder.json_object("config.json").get("architectures") or []
    return any("ForCausalLM" in str(name) for name in architectures) and folder.json("modules.json") is None


def _token(tokenizer: Any, word: str, id: str) -> int:
    ids = tokenizer.encode(word, add_special_tokens=False)
    if len(ids) != 1 or ids[0] == tokenizer.unk_token_id:
        raise UsageError.invalid(
            f"the answer {word!r} of {id}",
            expected="one token of its tokenizer",
            found=f"{len(ids)} tokens",
            hint="set yes= and no= to words that are one token",
            option="yes",
        )
    return int(ids[0])


def _text(options: Options, name: str, default: str) -> str:
    value = options.values.get(name)
    return default if value is None else str(value).replace("\\n", "\n")
