# Everything is set up on first use: a fresh machine needs Python >= 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
PRESET ?=

FIGURES := $(if $(PRESET),--preset $(PRESET),--preset quick --preset asymptotic) $(if $(FRESH),--fresh)

.PHONY: setup figures verify report test test-faults lint bench docs clean
.DELETE_ON_ERROR:

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,real]'
	@touch $@

# draws what `quick` and `asymptotic` show, or another PRESET=...; what is stored is not run again, unless FRESH=1
figures: $(READY)
	$(BIN)/theorysim figure $(FIGURES)

figure-%: $(READY)
	$(BIN)/theorysim figure $* $(FIGURES)

# every claim at the quick size, or at another PRESET=...; PRESET=own decides each at the size that it needs
verify: $(READY)
	$(BIN)/theorysim verify $(if $(filter own,$(PRESET)),,--preset $(or $(PRESET),quick)) $(if $(FRESH),--fresh)

# one HTML page with every verdict, its evidence and its figures
report: $(READY)
	$(BIN)/theorysim report $(if $(PRESET),--preset $(PRESET)) $(if $(FRESH),--fresh)

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not faults" $(ARGS)

test-faults: $(READY)
	$(BIN)/python -m pytest -m faults $(ARGS)

.venv/dev: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: $(READY)
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(READY)
	$(BIN)/python -m pytest --doctest-modules theorysim

# results/ is kept: runs are dear
clean:
	rm -rf figures/out build dist .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +
