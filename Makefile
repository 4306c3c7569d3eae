# Needs Python 3.11 to 3.13. Targets that need the virtual environment create it first.
# To use another Python in addition: make PYTHON=python3.12 VENV=.venv-3.12 test
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps

.PHONY: setup python demo test test-short test-all lint docs bench soak fuzz results lock clean

setup: $(READY)

# requirements.lock is complete, so it is installed with --no-deps: some packages' own requirements cannot be met on every Python.
$(READY): requirements.lock pyproject.toml | python
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) -r requirements.lock
	$(PIP) --no-build-isolation -e .
	@touch $(READY)

# Fail if this Python is not supported, or if the environment was made with another Python than the one asked for.
python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { echo "mvl supports Python 3.11 to 3.13, and $(PYTHON) is not one of them; try: make PYTHON=python3.12"; exit 1; }
ifneq ($(origin PYTHON),file)
	@[ ! -e $(READY) ] || [ "$$($(PYTHON) -V)" = "$$($(BIN)/python -V)" ] || { echo "$(VENV) was made by $$($(BIN)/python -V), not $$($(PYTHON) -V); give that one its own, for example: make PYTHON=$(PYTHON) VENV=.venv-other"; exit 1; }
endif

demo: $(READY)
	$(BIN)/mvl demo

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Installation, imports, command line, a short training, a policy and evaluation: takes a minute, for the other supported Pythons.
SHORT := tests/test_install.py tests/test_imports.py tests/cli/test_cli.py tests/deploy/test_policy.py tests/tasks/test_pointmaze.py tests/evaluation/test_rollout.py
test-short: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal $(SHORT)

# Test every combination of parts instead of a selection that covers all pairs.
test-all: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m ""

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The documentation site, in site/: open site/index.html. The variable silences a notice of the theme.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

bench: $(READY)
	$(BIN)/mvl bench
	$(BIN)/python benchmarks/mapped.py

# Kill commands at random moments and compare what they write with what undisturbed ones do: about an hour.
soak: $(READY)
	$(BIN)/python scripts/soak.py --times 10

# Damage what mvl reads, at random: 100,000 cases in about two hours.
fuzz: $(READY)
	$(BIN)/python scripts/fuzz.py --only experiments --count 30000
	$(BIN)/python scripts/fuzz.py --only frames --count 30000
	$(BIN)/python scripts/fuzz.py --only records --count 10000
	$(BIN)/python scripts/fuzz.py --only imports --count 20000
	$(BIN)/python scripts/fuzz.py --only runs --count 10000

# The results in docs/results/, as docs/results/studies.toml lists them: takes hours on two cores, and continues where it was stopped.
results: $(READY)
	$(BIN)/python scripts/results.py

# Write requirements.lock: exact versions for every supported Python, without index addresses. Needs uv.
lock:
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-annotate --no-header --upgrade -o requirements.lock

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist site
