# `make reproduce` and `make test` do all their own set-up in .venv; nothing else is needed but Python >= 3.11.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Test processes; each computes on one thread (tests/conftest.py), which is quicker than one process on many.
WORKERS ?= 2

.PHONY: setup reproduce test test-slow lint bench lock clean

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $$($(PYTHON) --version) found; expected Python 3.11 or newer; pass PYTHON=/path/to/python3"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $(READY)

reproduce: setup
	$(BIN)/headcount reproduce

lint: setup
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check --quiet src tests benchmarks
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test-slow: setup
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m slow --timeout 3600

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-bench.lock
	$(BIN)/python -m benchmarks

lock: ## refresh requirements.lock from pyproject.toml
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check '.[dev]' hatchling
	.venv-lock/bin/python -m pip freeze --exclude headcount > requirements.lock
	rm -rf .venv-lock

clean:
	rm -rf $(VENV) .venv-lock build dist
