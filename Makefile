# Every target sets up what it needs first; nothing outside .venv is written but apt's Java.
PY := .venv/bin/python
STAMP := .venv/.ready

.PHONY: setup lock demo test check soak bench format clean

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml scripts/setup
	@bash scripts/setup
	@touch $(STAMP)

lock:  ## resolve the dependencies anew
	@bash scripts/lock

demo: setup
	@$(PY) -m skipstone.demo $(DEMO_ARGS)

test: setup  ## all tests, with the JVM ones
	@$(PY) -m pytest -n 2 --dist loadgroup $(TEST_ARGS)

check: setup  ## the fast gate: format, lint, types, import contracts, unit and property tests; no JVM
	@bash scripts/check

soak: setup  ## a million random cases of the skipping laws
	@$(PY) -m tests.soak $(SOAK_ARGS)

bench: setup
	@$(PY) -m benchmarks $(or $(BENCH),--all)

format: setup
	@.venv/bin/ruff format . && .venv/bin/ruff check --fix .

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
