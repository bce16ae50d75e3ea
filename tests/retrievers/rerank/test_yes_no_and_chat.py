"""Rerankers that are language models: yes/no probabilities of a tiny random Qwen3, and lists of a chat service."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import evaluate
from steelyard.errors import ModelError, UsageError
from steelyard.retrievers.rerank.load import load_reranker
from steelyard.spec import parse
from steelyard.types import Task, TaskInfo

pytestmark = pytest.mark.torch
QUERY, DOCUMENTS = "which river is long", ["the nile is a long river", "the alps are mountains " * 9, "oslo"]


def qwen3(folder: Path) -> Path:
    """Save a random model of Qwen3's architecture with a tokenizer of words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    words = ["<unk>", "<pad>", "yes", "no", "<", ">", ":", "Query", "Document", "Instruct", "|", "."]
    words += sorted(
        {*" ".join([QUERY, *DOCUMENTS]).split(), *["find", "rivers", "retrieve", "passages", "web", "search"]}
    )
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<pad>")
    fast.save_pretrained(folder)
    torch.manual_seed(3)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = Qwen3Config(vocab_size=len(words), num_key_value_heads=2, head_dim=8, pad_token_id=1, **sizes)
    Qwen3ForCausalLM(config).eval().save_pretrained(folder)
    return folder


def expected(folder: Path, instruction: str, document: str) -> float:
    """Return the log odds as the model card of Qwen3-Reranker computes them, for one pair without padding."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    prefix = (
        "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
        'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
    )
    body = f"<Instruct>: {instruction}\n<Query>: {QUERY}\n<Document>: {document}"
    text = [prefix, body, "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"]
    ids = [token for part in text for token in tokenizer.encode(part, add_special_tokens=False)]
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0, -1]
    yes, no = (logits[tokenizer.convert_tokens_to_ids(word)] for word in ("yes", "no"))
    probability = torch.softmax(torch.stack([no, yes]), 0)[1]
    return float(torch.log(probability) - torch.log1p(-probability))


@pytest.mark.torch
def test_yes_no_scores_are_those_of_the_model_card(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = qwen3(tmp_path / "qwen")
    (scores,) = load_reranker(parse(f"rerank:{folder}")).rerank([QUERY], [DOCUMENTS])
    default = "Given a web search query, retrieve relevant passages that answer the query"
    np.testing.assert_allclose(scores, [expected(folder, default, text) for text in DOCUMENTS], rtol=1e-3, atol=1e-4)
    assert len(set(scores.tolist())) == 3
    (one,) = load_reranker(parse(f"rerank:{folder}?batch_size=1&threads=1")).rerank([QUERY], [DOCUMENTS])
    np.testing.assert_allclose(scores, one, rtol=1e-3, atol=1e-4)  # padding on the left changes nothing


@pytest.mark.torch
def test_instructions_by_task_reach_a_yes_no_reranker(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = qwen3(tmp_path / "qwen")
    (tmp_path / "i.json").write_text(json.dumps({"Rivers": "find rivers", "default": "retrieve passages"}))
    reranker: Any = load_reranker(parse(f"rerank:{folder}?instructions={tmp_path / 'i.json'}"))
    rivers = reranker.for_task(TaskInfo("Rivers/en"))
    (scores,) = rivers.rerank([QUERY], [DOCUMENTS])
    np.testing.assert_allclose(scores[0], expected(folder, "find rivers", DOCUMENTS[0]), rtol=1e-3, atol=1e-4)
    assert rivers.settings["instruction"] == "find rivers" != reranker.settings["instruction"]
    with pytest.raises(UsageError) as caught:
        load_reranker(parse(f"rerank:{folder}?yes=certainly not"))
    assert caught.value.option == "yes"


class Chat(BaseHTTPRequestHandler):
    """A chat service that sorts passages by the length of their text, in the wire format of OpenAI."""

    requests: list[dict[str, Any]]
    answer: str | None = None

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append({"path": self.path, **body})
        passages = re.findall(r"^\[(\d+)\] (.*)$", body["messages"][0]["content"], re.MULTILINE)
        order = sorted(passages, key=lambda passage: -len(passage[1]))
        content = self.answer if self.answer is not None else " > ".join(f"[{number}]" for number, _ in order)
        message = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        answer = json.dumps({"id": "1", "object": "chat.completion", "choices": [message], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def chat(answer: str | None = None) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    handler = type("Bound", (Chat,), {"requests": [], "answer": answer})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", handler.requests  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.server
def test_windows_of_a_chat_service_move_the_best_to_the_top() -> None:
    texts = ["x" * (1 + place * 7 % 31) for place in range(30)]
    with chat() as (url, requests):
        reranker: Any = load_reranker(parse(f"rerank:chat/judge?url={url}&window=8&step=4&price_per_million_tokens=2"))
        (scores,) = reranker.rerank(["longest"], [texts])
        usage = reranker.account()
    best = [len(texts[place]) for place in np.argsort(-scores)]
    assert best[:4] == sorted(map(len, texts), reverse=True)[:4], "as many as the step are certain"
    assert len(requests) == 1 + (30 - 8 + 3) // 4 and {request["path"] for request in requests} == {
        "/v1/chat/completions"
    }
    assert requests[0]["temperature"] == 0 and usage["requests"] == len(requests)


@pytest.mark.server
def test_a_chat_reranker_reads_the_order_of_the_first_stage() -> None:
    documents = {f"d{place}": "nile " * (1 + place) for place in range(6)}
    task = Task.of("Chat/x", documents, {"q": "nile"}, {"q": {"d5": 1}}, language="en")
    with chat("sorry, no idea") as (url, requests):
        results = evaluate(["bm25", f"bm25 > rerank:chat/judge?url={url}"], task)
    assert results[0]["mrr"] == results[1]["mrr"], "an answer without numbers keeps the order"
    assert results[1].notes["rerank"]["answers_incomplete"] == len(requests) == 1
    with chat() as (url, _):
        (found,) = evaluate(f"bm25 > rerank:chat/judge?url={url}", task)
    assert found["mrr"] == 1.0


@pytest.mark.server
def test_options_of_a_chat_reranker_are_checked() -> None:
    with chat() as (url, _), pytest.raises(UsageError) as caught:
        load_reranker(parse(f"rerank:chat/judge?url={url}&window=4&step=4"))
    assert caught.value.option == "step"
    with pytest.raises(ModelError):
        from steelyard.retrievers.rerank.chat import _content

        _content({"choices": []}, "here")
