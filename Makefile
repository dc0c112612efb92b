# `make demo` and `make test` need python3, make and a network; everything else lands in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp

# Where this is set, every process that a test starts compiles the whole package anew.
unexport PYTHONDONTWRITEBYTECODE

# A file's tests on one worker: what they share is made once. In the order of files: the browser's take longest.
SHARED := -n auto --dist loadfile --no-loadscope-reorder
ALL := -ra $(SHARED)
FAST := -q $(SHARED) --hypothesis-profile=fast -m "not slow" --ignore=tests/browser \
  --ignore=tests/conformance --ignore=tests/unit/studio/test_contract.py

# What tries numbers, laws and the arithmetic behind them.
NUMBERS := laws replay calibration fuzz unit/work unit/roofline unit/scenario unit/serve unit/answers

.DEFAULT_GOAL := help
.PHONY: help demo studio browser prometheus torch ready test test-fast test-versions check lint types docs pasted pages bench bench-studio bench-start bench-traces replay calibration clean

help:
	@echo "make demo    set up, then name the ceilings of a model on a card"
	@echo "make studio  set up with what the web page needs, then open it"
	@echo "make test    set up, then run every test this machine can; says what is left out"
	@echo "make test-versions   the unit tests of make test-fast under the other versions of Python that are here"
	@echo "make test-fast   in a few minutes on two cores: no browser, no pictures, no large collections"
	@echo "make check   lint, types, docs"
	@echo "make bench   the speed figures, on one core; make bench-studio those of the web page, bench-start of a start, bench-traces of profiles"
	@echo "make replay  rewrite the replay dump after an intended change of a formula or a text"
	@echo "make calibration DATA=FOLDER  fit the expected times anew (calibration/README.md)"

$(STAMP)-demo: pyproject.toml hatch_build.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# Of thousands of modules a run imports some hundreds, and compiles those.
$(STAMP)-dev: requirements-dev.txt $(STAMP)-demo
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --editable . --requirement requirements-dev.txt
	@touch $@

demo: $(STAMP)-demo
	$(BIN)/rooflight analyze llama-3.1-8b --on h100
	@echo
	$(BIN)/rooflight sweep llama-3.1-70b --on 4xh100-sxm --batch 1:512:x2

$(STAMP)-studio: $(STAMP)-demo
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --editable '.[studio]'
	@touch $@

studio: $(STAMP)-studio
	$(BIN)/rooflight studio

# The browser tests need Chromium. Continuous integration leaves no test out, so there it is fetched, as what draws no
# window where the system has a package of that: a page then takes a sixth of the time to open.
browser:
	@if [ "$$CI" = true ] && [ -z "$$(command -v chromium-headless-shell)" ]; then \
	  $$(command -v sudo) apt-get -q update >/dev/null; \
	  $$(command -v sudo) apt-get -q install --yes --no-install-recommends chromium-headless-shell >/dev/null 2>&1 || \
	  [ -n "$$(command -v chromium chromium-browser google-chrome)" ] || \
	  $$(command -v sudo) apt-get -q install --yes chromium; fi

# Monitoring is tested against a real Prometheus; likewise.
prometheus:
	@if [ "$$CI" = true ] && [ -z "$$(command -v prometheus)" ]; then \
	  $$(command -v sudo) apt-get -q update && \
	  $$(command -v sudo) apt-get -q install --yes --no-install-recommends prometheus; fi

# Timing kernels needs PyTorch, in its CPU build hundreds of megabytes; likewise.
torch: $(STAMP)-dev
	@if [ "$$CI" = true ] && ! $(BIN)/python -c "import torch" 2>/dev/null; then \
	  $(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0; fi

# Whatever the tests need.
ready: $(STAMP)-dev browser prometheus torch

# One run, so that one end leaves a core idle. Coverage is what the unit tests reach, each as its first case begins
# (tests/conftest.py): watching a line is five times running it. Which lines they miss, `coverage report` says.
test: ready
	$(BIN)/pytest $(ALL) --cov --cov-report=
	@.ci/versions name $(BIN)/python

test-fast: $(STAMP)-dev
	$(BIN)/pytest $(FAST)

# What a version of Python could change, by a test's first and last case; numbers and laws are tried under one. Plain
# asserts: to rewrite those of every file takes longer than many a file's tests.
test-versions: $(STAMP)-dev
	@.ci/versions test $(BIN)/python $(FAST) --ends --assert=plain $(NUMBERS:%=--ignore=tests/%)

lint: $(STAMP)-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)-dev
	$(BIN)/mypy

pasted: $(STAMP)-dev
	$(BIN)/python docs/paste.py --check

pages: $(STAMP)-dev
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html

docs: pasted pages

# In this order two jobs end together: the types take longest, what the pages say is next.
check: types pasted lint pages

bench: $(STAMP)-dev
	$(BIN)/pytest bench --benchmark-only -q

bench-start: $(STAMP)-dev
	$(BIN)/python bench/start.py

bench-traces: $(STAMP)-dev
	$(BIN)/python bench/traces.py

bench-studio: $(STAMP)-dev
	$(BIN)/python bench/studio.py

replay: $(STAMP)-dev
	$(BIN)/python tests/replay/write.py

# Kernels first: engines are fitted on top of them. The data are not part of the project; the README says what they are.
calibration: $(STAMP)-dev
	@test -n "$(DATA)" || { echo "make calibration DATA=FOLDER: see calibration/README.md"; exit 2; }
	$(BIN)/python calibration/fit_kernels.py --data "$(DATA)"
	$(BIN)/python calibration/fit_engines.py --data "$(DATA)"

clean:
	rm -rf $(VENV) $(VENV)-3.* src/rooflight/catalog/compiled docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis
