# Every target makes what it needs; a fresh machine wants only Python 3.11+ (with venv) and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test lint types contracts tests browser docs lowest bench clean
help: ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

.venv/ok:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

.venv/core: .venv/ok pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/dev: .venv/core pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[cjk]' --group dev
	@touch $@

demo: .venv/core ## BM25, a dense model and their hybrid on every built-in set; a table and a report
	$(BIN)/steelyard run

test: lint types contracts tests ## everything that must pass: lint, types, import contracts, tests

lint: .venv/dev ## style and likely bugs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/dev ## mypy, strict
	$(BIN)/mypy

contracts: .venv/dev ## which part may import which
	$(BIN)/lint-imports

tests: .venv/dev browser ## pytest, doctests included; no network
	$(BIN)/pytest

browser: ## Chromium, in which the tests open the pages
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	  { command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || \
	  { echo "The tests open pages in Chromium: install it (apt-get install chromium, as root) and try again."; exit 1; }

docs: .venv/dev ## write the generated pages of docs/ anew
	$(BIN)/python docs/generate.py

LOWEST := "import tomllib; print(*(each.replace('>=', '==') for each in \
	tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies']), sep='\n')"

lowest: ## the demo with the lowest versions of what the core needs, in an environment of its own
	$(PYTHON) -m venv --clear .venv/lowest
	$(PYTHON) -c $(LOWEST) > .venv/lowest/requirements.txt
	.venv/lowest/bin/python -m pip install --quiet -r .venv/lowest/requirements.txt --editable .
	STEELYARD_HOME=.venv/lowest/home .venv/lowest/bin/steelyard run -o .venv/lowest/results

bench: .venv/dev ## speed and memory against the peers
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python benchmarks/all.py

clean: ## remove what was made here
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache
