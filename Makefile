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

# The evidence in docs/results/: hours on two cores; goes on where it was stopped.
MEDIUM := docs/results/pointmaze-medium
results: $(READY)
	$(BIN)/mvl reproduce table1 --rows pointmaze-medium --columns ORIG VIB VIP TRA BYOL DUAL ORIG-MVL VIB-MVL DUAL-MVL vib-eik dual-eik --surfaces --to $(MEDIUM)
	$(BIN)/mvl reproduce table2 --rows pointmaze-medium --surfaces --to $(MEDIUM)
	$(BIN)/mvl reproduce table3b --rows pointmaze-medium --seeds 3 --surfaces --to $(MEDIUM)
	$(BIN)/mvl reproduce table1 --rows pointmaze-large --surfaces --to docs/results/pointmaze-large
	$(BIN)/mvl reproduce table1 --rows cube-single-play cube-single-noisy scene-play puzzle-3x3-play antmaze-medium --columns ORIG DUAL dual-eik DUAL-MVL --seeds 3 --episodes 100 --to docs/results/arms -- --eval-episodes 10 --eval-every 10000

# Exact versions for every supported Python, without index addresses; needs uv.
lock:
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-annotate --no-header --upgrade -o requirements.lock

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache build dist
