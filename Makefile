# Every target makes and fills its own virtual environment; only Python >= 3.11, git and make are needed.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
DEPS   := pyproject.toml

.PHONY: demo test test-slow test-pages fuzz lint docs bench clean help
.DEFAULT_GOAL := help

help:
	@echo "make demo       the four questions on small data, one page with pictures: demo.html"
	@echo "make test       run the tests"
	@echo "make lint       ruff and mypy"
	@echo "make docs       build the documentation into docs/_build/html"
	@echo "make bench      the REVS comparisons, small replicate counts"
	@echo "make test-slow  the slow statistical checks"
	@echo "make test-pages the long pages of the documentation, whose examples are tests"
	@echo "make fuzz       20,000 random problems, sound and broken; TRIALS=2000 SEED=1 for others"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "rlselect needs Python >= 3.11, found %d.%d; run e.g. make PYTHON=python3.12 $(MAKECMDGOALS)" % v[:2])'
	$(PYTHON) -m venv $(VENV)

# One stamp per set of extras, so that an environment is filled once and again only when the needs change.
$(VENV)/.core: $(DEPS) | $(BIN)/python
	$(PIP) install -e .
	@touch $@
$(VENV)/.%: $(DEPS) | $(BIN)/python
	$(PIP) install -e '.[$*]'
	@touch $@

# small matrices are worked on faster by one thread, above all where the cores have other work
demo: export OMP_NUM_THREADS = 1
demo: export OPENBLAS_NUM_THREADS = 1
demo: $(VENV)/.temporal
	$(BIN)/python -m rlselect.demo --html demo.html

# two workers with one BLAS thread each: more threads than cores only wait for each other
test test-slow test-pages fuzz: export OMP_NUM_THREADS = 1
test test-slow test-pages fuzz: export OPENBLAS_NUM_THREADS = 1

test: $(VENV)/.test
	$(BIN)/python -m pytest -n 2

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -m slow

test-pages: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 -m slow tests/test_docs.py

TRIALS ?= 20000
SEED   ?= 0
fuzz: $(VENV)/.test
	$(BIN)/python tests/fuzz/run.py --trials $(TRIALS) --seed $(SEED)
	$(BIN)/python tests/fuzz/commands.py 1000 $(SEED)

lint: $(VENV)/.lint $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/revs_highdim.py --replicates 3
	$(BIN)/python benchmarks/revs_bigdata.py --replicates 1

clean:
	rm -rf $(VENV) docs/_build docs/auto_examples docs/auto_guides docs/api/backreferences build dist demo.html .pytest_cache .mypy_cache .ruff_cache
