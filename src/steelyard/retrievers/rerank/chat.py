"""Listwise reranking by a chat service: `rerank:chat/MODEL?url=http://host/v1`.

The service sees a window of numbered passages and answers with their order, `[2] > [1] > [3]`. Windows slide from the
end of the list to its beginning, so that the best passages move to the top (Sun et al. 2023, "Is ChatGPT Good at
Search?").
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.backends.api_texts import estimated_tokens, read_traffic, shown
from steelyard.encoders.compute_options import NOT_FOR
from steelyard.encoders.instructions import instruction_for, read_instructions
from steelyard.errors import ModelError, UsageError
from steelyard.http.endpoint import Endpoint
from steelyard.http.service import Refused, Service
from steelyard.http.traffic import Traffic
from steelyard.options import Options
from steelyard.retrievers.model_names import result_name
from steelyard.spec import ModelSpec
from steelyard.types import Float32, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick

PATH = "chat/completions"
OPENAI = "https://api.openai.com/v1"
WINDOW, STEP, MAX_CHARS, MAX_TOKENS = 20, 10, 2000, 512
OPTIONS = (
    *("url", "key_env", "key_header", "allow_http"),
    *("window", "step", "max_chars", "max_tokens", "instruction", "instructions", "body"),
)
INSTRUCTION = "Rank the passages by how well they answer the query."
REQUEST = (
    "{instruction} Every passage has a number in brackets.\n\nQuery: {query}\n\n{passages}\n\n"
    "Answer with all {count} numbers, the best passage first, in the form [2] > [1] > [3], and with nothing else."
)
NUMBER = re.compile(r"\[(\d+)\]")
BARE = re.compile(r"\d+")


class ChatReranker:
    """A chat model that orders windows of a list; a score is the place from the end of the list."""

    listwise = True
    reads_order = True
    """Whether the order of the first stage is part of what it reads."""

    def __init__(self, model: str, service: Service, options: Options, name: str, revision: str | None = None) -> None:
        self.name, self.model, self.revision = name, model, revision
        self._service = service
        self.window, self.step = options.whole("window", WINDOW, minimum=2), options.whole("step", STEP)
        if self.step >= self.window:
            expected = f"smaller than the window of {self.window}"
            raise UsageError.invalid("step", expected=expected, found=self.step, option="step")
        self._max_chars = options.whole("max_chars", MAX_CHARS)
        self._max_tokens = options.whole("max_tokens", MAX_TOKENS)
        self._default = options.text("instruction") or INSTRUCTION
        self._instructions = read_instructions(options)
        self._instruction = instruction_for(self._instructions, None) or self._default
        self._fields = options.json_object("body")
        self._incomplete = self._truncated = 0
        self._lock = threading.Lock()

    @cached_property
    def settings(self) -> ModelSettings:
        """Return everything that could change a score."""
        return {
            "reranker": f"chat/{self.model}",
            "url": self._service.endpoint.url,
            "revision": self.revision,
            "window": self.window,
            "step": self.step,
            "max_chars": self._max_chars,
            "instruction": self._instruction,
            "request": hashlib.blake2b(REQUEST.encode(), digest_size=8).hexdigest(),
            "body": self._fields,
        }

    def for_task(self, info: TaskInfo) -> ChatReranker:
        """Return the reranker with the instruction of that task; itself if it is the same."""
        instruction = instruction_for(self._instructions, info) or self._default
        if instruction == self._instruction:
            return self
        other = copy(self)
        other._instruction = instruction
        other.__dict__.pop("settings", None)  # cached, with the instruction
        return other

    def rerank(self, queries: Sequence[str], documents: Sequence[Sequence[str]], tick: Tick = no_tick) -> list[Float32]:
        """Return the scores of each query's documents, which are in the order of the first stage."""
        stop = threading.Event()
        with closing(self._service), ThreadPoolExecutor(self._service.traffic.concurrency) as pool:
            waiting = [
                pool.submit(self._ranked, query, texts, stop) for query, texts in zip(queries, documents, strict=True)
            ]
            lists = []
            try:
                for future in waiting:
                    lists.append(future.result())
                    tick(len(lists[-1]))
            except BaseException:
                stop.set()
                self._service.abort()
                raise
        return lists

    def account(self) -> ModelSettings:
        """Return the usage since the last call, and how many answers lacked numbers."""
        notes: dict[str, Any] = dict(self._service.usage.take())
        with self._lock:
            counts = {"answers_incomplete": self._incomplete, "texts_cut": self._truncated}
            self._incomplete = self._truncated = 0
        return {**notes, **{name: count for name, count in counts.items() if count}}

    def _ranked(self, query: str, texts: Sequence[str], stop: threading.Event) -> Float32:
        order = list(range(len(texts)))
        end = len(order)
        while len(order) > 1:
            start = max(0, end - self.window)
            places = order[start:end]
            order[start:end] = self._ordered(query, [texts[place] for place in places], places, stop)
            if start == 0:
                break
            end -= self.step
        scores = np.empty(len(texts), dtype=np.float32)
        scores[order] = np.arange(len(texts), 0, -1)
        return scores

    def _ordered(self, query: str, texts: Sequence[str], places: list[int], stop: threading.Event) -> list[int]:
        """Return the places of a window in the order of the service."""
        shortened = [" ".join(text[: self._max_chars].split()) for text in texts]
        passages = "\n".join(f"[{number}] {text}" for number, text in enumerate(shortened, 1))
        content = REQUEST.format(instruction=self._instruction, query=query, passages=passages, count=len(texts))
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": content}],
            "temperature": 0,
            "max_tokens": self._max_tokens,
            **self._fields,
        }
        answer = self._service.post(PATH, body, estimated_tokens(content), stop)
        if isinstance(answer, Refused):
            raise ModelError(
                f"{self._where} answered {answer.status} to the query {shown(query)}: {answer.message}",
                hint="use a smaller window= or max_chars=",
            )
        numbers = read_order(_content(answer, self._where), len(texts))
        with self._lock:
            self._incomplete += len(numbers) < len(texts)
            self._truncated += sum(len(text) > self._max_chars for text in texts)
        rest = [number for number in range(len(texts)) if number not in numbers]
        return [places[number] for number in [*numbers, *rest]]

    @property
    def _where(self) -> str:
        return f"{self._service.endpoint.host} (chat/{self.model})"


def read_order(answer: str, count: int) -> list[int]:
    """Return the numbers of an answer, from 0, each once; what is not the number of a passage is left out.

    >>> read_order("[3] > [1] > [3] > [9]", 3), read_order("2, 1", 2), read_order("sorry", 2)
    ([2, 0], [1, 0], [])
    """
    matches = NUMBER.findall(answer) or BARE.findall(answer)
    numbers = (int(number) - 1 for number in matches if len(number) < 9)
    return list(dict.fromkeys(number for number in numbers if 0 <= number < count))


def _content(answer: Any, where: str) -> str:
    choices = answer.get("choices") if isinstance(answer, dict) else None
    message = (
        choices[0].get("message") if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    )
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str):
        raise ModelError.invalid(
            f"the answer of {where}",
            expected="an object with choices[0].message.content",
            found=type(answer).__name__,
            hint="check that the address is that of a chat service with OpenAI's interface",
        )
    return content


def from_spec(spec: ModelSpec, settings: Settings | None = None) -> ChatReranker:
    """Return the reranker of `rerank:chat/MODEL@REVISION?OPTIONS`."""
    options = Options(str(spec), spec.options, (*OPTIONS, *Traffic.names()), NOT_FOR["service"])
    header, allow_http = options.text("key_header") or "Authorization", options.flag("allow_http", False)
    url = options.text("url") or OPENAI
    endpoint = Endpoint.of(url, options.text("key_env"), header, settings, allow_http=allow_http)
    model = spec.id.removeprefix("chat/")
    return ChatReranker(model, Service(endpoint, read_traffic(options)), options, result_name(spec), spec.revision)
