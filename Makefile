# Everything sets itself up: `make demo` and `make test` are all a fresh machine needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := -m pip install --quiet --disable-pip-version-check -c constraints.txt
DATA   ?= $(HOME)/.cache/anyscene/data
BENCH  ?= metrics
MINUTES ?= 30
GIVEN  := $(if $(wildcard $(DATA)/CamVid),--data camvid:$(DATA)/CamVid --split val)

.DEFAULT_GOAL := help
.PHONY: help demo test check docs bench bench-env test-train setup hostile clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.dev ## Make the virtual environment with what development needs

$(VENV)/.product: pyproject.toml models/pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -e . -e ./models
	touch $@

$(VENV)/.dev: $(VENV)/.product
	$(BIN)/python $(PIP) -e '.[dev,video,report,server,ray,docs]'
	touch $@

$(VENV)/.train: $(VENV)/.dev
	$(BIN)/python $(PIP) -e '.[train]'
	touch $@

demo: $(VENV)/.product ## Show anyscene at work (writes demo/)
	$(BIN)/anyscene demo -o demo

test: $(VENV)/.dev ## Run the tests (no torch, no downloaded data)
	$(BIN)/python -m pytest -m "not train"

test-train: $(VENV)/.train ## Run the tests that need torch
	$(BIN)/python -m pytest -m train

hostile: $(VENV)/.dev ## Attack anyscene for MINUTES=30 and print what came of it; goes on where it was stopped
	$(BIN)/python -m tests.hostile.campaign --minutes $(MINUTES)

docs: $(VENV)/.dev ## Build the documentation site into site/, without any network
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo 'Open site/index.html; for its search, run: python3 -m http.server -d site'

check: $(VENV)/.dev ## Lint, types, layering
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_architecture.py

.venv-bench/.ready: pyproject.toml constraints.txt
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python $(PIP) -e '.[dev,video,report,server,ray,train]' -e ./models lightgbm litserve pycocotools supervision cvat-sdk label-studio-sdk
	-.venv-bench/bin/python $(PIP) --no-deps pydensecrf2  # needs a compiler; its test is skipped without
	.venv-bench/bin/python -m pip uninstall --quiet --yes opencv-python-headless
	.venv-bench/bin/python $(PIP) --force-reinstall --no-deps opencv-contrib-python-headless
	touch $@

bench-env: .venv-bench/.ready ## Make .venv-bench, with the rivals that we compare with

bench: .venv-bench/.ready ## Run one benchmark (BENCH=name DATA=folder of the unpacked data sets)
	.venv-bench/bin/python -m benchmarks $(BENCH) $(GIVEN) --json bench-$(BENCH).json

clean: ## Remove what the targets above made
	rm -rf .venv .venv-bench demo site dist screenshots bench-*.json hostile-state .pytest_cache .mypy_cache .ruff_cache
