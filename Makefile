# make install   .venv/bin/ackonce                 make demo    the main job on embedded simulators
# make test      the test suite                    make check   everything CI does
# make demo-fleet   several agents, sites and cuts between them, played in half a minute
# make prove     every sequence of faults, a stop at every write, and every deliberate fault caught
# make test-peers   against servers and clients that others wrote; installs their Debian packages
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
# Hypothesis examples, fault plans and kill moments follow this seed; tests print it.
export ACKONCE_SEED ?= $(shell git rev-parse --short=8 HEAD 2>/dev/null || echo 1)

PROOFS := tests/exhaustive tests/mutants tests/agent/test_policy_table.py tests/agent/test_policy_truth.py \
          tests/world/test_mutants.py tests/world/test_blind_spots.py tests/crash/test_line_sweep.py tests/crash/test_sweep.py
PEERS  := tests/peers

.PHONY: install demo demo-fleet test prove test-peers check format clean
.DEFAULT_GOAL := install

install: $(VENV)/.installed
demo: install
	@$(BIN)/ackonce demo
demo-fleet: install
	@$(BIN)/ackonce simulate fleet
test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 3 tests $(PROOFS:%=--ignore=%) --ignore=$(PEERS)    # two cores: some tests wait for processes
prove: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 $(PROOFS)
test-peers: $(VENV)/.installed-dev
	@$(PEERS)/install
	$(BIN)/python -m pytest -n 4 $(PEERS)    # they mostly wait
check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(MAKE) test
	$(MAKE) prove
	$(MAKE) test-peers
format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ackonce needs Python 3.11 or newer; try: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(PIP) install -e .
	@touch $@
$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[dev]'
	@touch $@ $(VENV)/.installed
clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .hypothesis
