# `make reproduce` and `make test` do all their own set-up in .venv; nothing else is needed but Python >= 3.11.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Test processes; each computes on one thread (tests/conftest.py), which is quicker than one process on many.
WORKERS ?= 2

.PHONY: setup reproduce style test test-slow browser-test export-test docs notebooks lint bench lock clean

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $$($(PYTHON) --version) found; expected Python 3.11 or newer; pass PYTHON=/path/to/python3"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $(READY)

reproduce: setup
	$(BIN)/headcount reproduce

lint: style
	$(BIN)/mypy

style: setup
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check --quiet src tests benchmarks

# Processes that tests start read modules that are compiled already.
test test-slow: export PYTHONDONTWRITEBYTECODE =

# mypy takes half a minute the first time, on one core: it runs beside the tests, and speaks after them.
test: style
	@told=$$(mktemp); $(BIN)/mypy >$$told 2>&1 & mypy=$$!; \
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal; tests=$$?; \
	wait $$mypy; types=$$?; cat $$told; rm $$told; test $$tests -eq 0 -a $$types -eq 0

test-slow: setup
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m slow --timeout 3600

# The explorer in headless Chromium: Debian's packages where they are missing, axe-core from npm. BROWSER_PICTURES=DIR keeps pictures.
AXE := $(VENV)/axe/package/axe.min.js
browser-test: setup $(AXE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'selenium==4.51.0'
	command -v chromium >/dev/null && command -v chromedriver >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core >/dev/null; }
	HEADCOUNT_BROWSER=yes AXE_CORE=$(AXE) $(BIN)/python -m pytest tests/browser --timeout 600

$(AXE): | $(READY)
	mkdir -p $(VENV)/axe
	cd $(VENV)/axe && npm pack --silent axe-core@4.14.0 >/dev/null && tar -xzf axe-core-4.14.0.tgz

export-test: setup ## every part and construction in PyTorch, a few in ONNX Runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-torch.lock
	$(BIN)/python -m pytest tests/export

docs: setup ## the pages that are made from the program, then the site (nothing is fetched)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.lock
	$(BIN)/python -m headcount.cli.reference > docs/commands.md
	$(BIN)/python -m headcount.core.refs > docs/bibliography.md
	$(BIN)/python -m headcount.core.glossary > docs/glossary.md
	$(BIN)/python -m mkdocs build --strict --quiet --site-dir build/site

notebooks: setup ## run every notebook from a clean kernel
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.lock
	$(BIN)/python notebooks/execute.py --check

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
