VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
NPM_AGENTS ?= .npm-agents
MINI_SWE ?= .mini-swe
# Whole files at a time, in the order of their names: the long ones, test_agents_*, come first.
AGENTS_AT_ONCE := -n 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help setup demo lint check test test-slow test-agents test-browser test-all npm-agents mini-swe bench docs format

help:  ## show what there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

$(BIN)/workloop: pyproject.toml
	python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $(BIN)/workloop

setup: $(BIN)/workloop  ## make the virtual environment with everything for development

demo: $(BIN)/workloop  ## drive a small real project to its end with the scripted agent
	$(BIN)/workloop demo

lint: $(BIN)/workloop  ## style, types and layers, found without running anything
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright --pythonpath $(BIN)/python

check: lint  ## what must hold before a commit: style, types, layers, tidiness, quick tests
	$(PYTEST) -q -n 2 tests/tidy tests/unit tests/contract

test: $(BIN)/workloop  ## all tests but the slow ones and those with a real agent
	$(PYTEST) -n 2 -m "not slow and not real_agent and not real_npm and not real_browser"

test-slow: $(BIN)/workloop  ## many seeds, many processes, big stores
	$(PYTEST) -n 2 -m "slow and not real_agent and not real_npm and not real_browser"

test-agents: $(BIN)/workloop  ## the real agent programs against a scripted model, on loopback alone
	$(PYTEST) $(AGENTS_AT_ONCE) -m real_agent tests/endtoend

test-browser: $(BIN)/workloop  ## a real Chromium in a lane, on loopback alone
	$(PYTEST) -n 2 -m real_browser tests/endtoend

test-all: $(BIN)/workloop npm-agents mini-swe  ## everything: the slow tests and every real agent program as well
	$(PYTEST) -n 2 -m "not real_agent and not real_npm"
	.ci/loopback-only $(PYTEST) -m "real_agent or real_npm"

npm-agents: $(NPM_AGENTS)/package.json  ## install the agent programs that only npm has, at the versions that were tested

$(NPM_AGENTS)/package.json: tests/endtoend/npm/package.json
	mkdir -p $(NPM_AGENTS)
	cp $< $@
	cd $(NPM_AGENTS) && npm install --no-package-lock --no-audit --no-fund --ignore-scripts || { rm $(notdir $@); exit 1; }

mini-swe: $(MINI_SWE)/installed  ## install the agent that the repair bench's campaign mends, at the versions that were tested

$(MINI_SWE)/installed: pyproject.toml
	python3 -m venv --clear $(MINI_SWE)
	$(MINI_SWE)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(MINI_SWE)/bin/python -m pip install --quiet --no-deps --group mini-swe
	@touch $@

bench: $(BIN)/workloop  ## measure the targets; medians with ranges, ratios of one run
	$(BIN)/python -m bench

docs: $(BIN)/workloop  ## bring the generated parts of the pages up to date
	$(BIN)/python tests/tidy/generated_docs.py

format:  ## put the code into its usual form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
