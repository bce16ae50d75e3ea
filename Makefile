# Every target installs what it needs. A fresh machine needs only Python 3.11+ (with venv) and make.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
SEED ?= 1
CASES ?= 100000
# Without compiled files, pytest rewrites every assertion in each worker, and each command of a test compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check lint types contracts tests shuffle faults mutants cpus browser shells slurm docs site lowest bench lock audit sbom clean
help: ## List the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

.venv/ok:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

.venv/core: .venv/ok pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/dev: .venv/core pyproject.toml .ci/constraints.txt
	$(BIN)/python -m pip install --quiet --constraint .ci/constraints.txt --editable '.[cjk]' --group dev
	@touch $@

.venv/docs: .venv/core pyproject.toml .ci/constraints.txt
	$(BIN)/python -m pip install --quiet --constraint .ci/constraints.txt --group docs
	@touch $@

demo: .venv/core ## Evaluate BM25, a dense model and their hybrid on every built-in set; print a table, write a report
	$(BIN)/steelyard run

test: lint types contracts tests site ## Run everything that must pass: lint, types, import contracts, tests, docs

check: lint types contracts ## Run lint, types, contracts and the fast tests (under 90 seconds)
	$(BIN)/pytest -q -n $(WORKERS) --dist loadfile -m "not slow and not torch and not browser and not server"

lint: .venv/dev ## Check format, style and likely bugs with ruff
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/dev ## Check types with mypy, strict
	$(BIN)/mypy

contracts: .venv/dev ## Check which package may import which
	$(BIN)/lint-imports

tests: .venv/dev browser shells slurm ## Run all tests and doctests; no network
	$(BIN)/pytest -n $(WORKERS) --dist loadfile

shuffle: .venv/dev browser shells slurm ## Run all tests in random order: make shuffle SEED=3
	$(BIN)/pytest -n $(WORKERS) --dist loadfile -p pytest_randomly --randomly-seed=$(SEED)

faults: .venv/dev ## Inject faults into whole commands, then fuzz every reader with 100,000 cases: make faults CASES=1000000
	$(BIN)/python tests/faults/injection.py --page docs/faults.md
	$(BIN)/python tests/faults/fuzz.py --cases $(CASES) --page docs/faults.md

mutants: .venv/dev ## Mutate a sample of the core modules and report which mutants the tests kill
	$(BIN)/python tests/mutants.py --record --page docs/faults.md

cpus: .venv/dev ## Run the tests of floating-point numbers with other instructions (AVX2, AVX-512 ...) and numbers of threads
	$(BIN)/python tests/cpu_settings.py

browser: ## Install Chromium, in which the tests open pages
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	  { command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || \
	  { echo "The tests open pages in Chromium. Install it (apt-get install chromium, as root) and try again."; exit 1; }

shells: ## Install zsh and fish, in which the tests try the completion of commands
	@{ command -v zsh && command -v fish; } >/dev/null || \
	  { command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq zsh fish >/dev/null; } || \
	  { echo "The tests complete commands in zsh and fish. Install them (apt-get install zsh fish, as root) and try again."; exit 1; }

slurm: ## Install Slurm, of which the tests start a cluster on loopback; elsewhere than on Debian these tests are skipped
	@PATH="$$PATH:/usr/sbin"; { command -v slurmctld && command -v slurmd && command -v munged && command -v sbatch; } >/dev/null || \
	  { command -v apt-get >/dev/null && apt-get update -qq && \
	    apt-get install -y -qq --no-install-recommends slurmctld slurmd slurm-client munge >/dev/null; } || \
	  echo "Slurm could not be installed (apt-get install slurmctld slurmd slurm-client munge, as root): its tests are skipped."

docs: .venv/dev ## Write the generated pages of docs/ again, then build the site
	$(BIN)/python docs/generate.py
	$(MAKE) site

site: .venv/docs ## Build the documentation site strictly into build/site
	$(BIN)/mkdocs build --strict --quiet --site-dir build/site

LOWEST := "import tomllib; print(*(requirement.replace('>=', '==') for requirement in \
	tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies']), sep='\n')"

lowest: ## Run the demo with the lowest allowed versions of the core's dependencies, in its own environment
	$(PYTHON) -m venv --clear .venv/lowest
	$(PYTHON) -c $(LOWEST) > .venv/lowest/requirements.txt
	.venv/lowest/bin/python -m pip install --quiet -r .venv/lowest/requirements.txt --editable .
	STEELYARD_HOME=.venv/lowest/home .venv/lowest/bin/steelyard run -o .venv/lowest/results

bench: .venv/dev ## Measure Steelyard side by side with its peers, each in its own environment; write docs/benchmarks.md
	$(BIN)/python benchmarks/run.py $(CASE)

lock: .venv/dev ## Look up the newest versions of all that the tests need; write them to .ci/constraints.txt
	@mkdir -p build
	$(BIN)/python -m pip install --quiet --dry-run --ignore-installed --report build/lock.json --editable '.[cjk]' --group dev --group docs
	$(BIN)/python .ci/lock.py build/lock.json

.venv/tools/ok: .venv/ok
	$(PYTHON) -m venv .venv/tools
	.venv/tools/bin/python -m pip install --quiet pip-audit cyclonedx-bom
	@touch $@

audit: .venv/core .venv/tools/ok ## Look up known vulnerabilities of all that is installed in .venv, with pip-audit; a package that cannot be looked up is an error
	.venv/tools/bin/pip-audit --strict --skip-editable --path $$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")

sbom: .venv/core .venv/tools/ok ## Write a list of all that is installed in .venv to build/sbom.json, as CycloneDX
	@mkdir -p build
	.venv/tools/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible \
	  --of JSON -o build/sbom.json $(BIN)/python

clean: ## Remove what was built here
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache
