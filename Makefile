# Everything from a fresh clone with Python 3.11+ and make: the first target that needs the environment makes it.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: setup demo test test-all lint bench results lock clean

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "mvl needs Python 3.11 or newer; try: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

demo: $(READY)
	$(BIN)/mvl demo

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Every composition of parts instead of a selection that covers all pairs.
test-all: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m ""

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/mvl bench
	$(BIN)/python benchmarks/mapped.py

# The evidence in docs/results/: over an hour on two cores; goes on where it was stopped.
results: $(READY)
	$(BIN)/python scripts/evidence.py
	$(BIN)/python scripts/evidence.py --table representations --seeds 1 -- --steps 40000
	$(BIN)/python scripts/evidence.py --table families --seeds 1
	$(BIN)/python scripts/evidence.py --table families --seeds 1 --task pointmaze-large-navigate
	for task in cube-single-play scene-play puzzle-3x3-play antmaze-medium-navigate; do $(BIN)/python scripts/evidence.py --table imitation --seeds 1 --task $$task --episodes 100; done

# Exact versions for every supported Python, without index addresses; needs uv.
lock:
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-annotate --no-header --upgrade -o requirements.lock

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache build dist
