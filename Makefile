# `make demo` and `make test` need only make and Python 3.11 with venv: each sets up .venv first.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# What pip is told to install for torch: a version, or a wheel file (make test TORCH=./torch.whl).
TORCH ?= torch==2.13.0

PIP := .venv/bin/python -m pip install --quiet --disable-pip-version-check
STAMP := .venv/installed

.PHONY: setup demo test test-slow lint bench clean

setup: $(STAMP)

# torch comes first: what depends on it then finds it installed and leaves its build alone.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) "$(TORCH)"
	$(PIP) --constraint constraints.txt --editable ".[motion,walker,dev]"
	touch $@

demo: $(STAMP)
	.venv/bin/anima demo --out demo.html

test: $(STAMP)
	.venv/bin/python -m pytest

test-slow: $(STAMP)
	.venv/bin/python -m pytest -m "slow or not slow"

lint: $(STAMP)
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy

bench: $(STAMP)
	@for b in benchmarks/bench_*.py; do echo "== $$b"; .venv/bin/python $$b || exit 1; done

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache demo.html
