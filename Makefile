# Two commands: `make demo` runs a whole evaluation, `make test` passes the tests. Each does all its set-up. Of the tests,
# `make quick` runs what a change reaches, and `make check` what takes too long for `make test`.
PYTHON ?= python3
BIN := .venv/bin
# A worker is a process, and a test starts hundreds: where nothing compiled is kept, each would compile all it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test linted tested quick check deep elsewhere models sdks apis cluster docs wheel release chaos proof lint texts screenshots bench bench-gpu lowest clean

demo: .venv/.core  ## a whole evaluation of the embedded benchmark, no weights, no GPU
	$(BIN)/edit-eval demo

test: .venv/.dev  ## everything that must pass before a commit; five to ten minutes on two cores
	@$(MAKE) --no-print-directory -j 2 linted tested  # tests wait half of their time

linted: .venv/.dev
	@$(MAKE) --no-print-directory lint TYPES=src > .venv/lint.txt 2>&1 || { cat .venv/lint.txt; exit 1; }

tested: .venv/.judge
	@# One process for torch; five, as real processes wait half of their time. To rewrite twelve thousand asserts takes as
	@# long as a twentieth of the tests: what fails is run again with their values.
	$(BIN)/pytest --forks 6 --assert=plain || { $(BIN)/pytest --last-failed --forks 1; exit 1; }

quick: .venv/.dev .venv/.judge  ## the tests that a change reaches, nearest first, for less than a minute; `BASE=COMMIT`: since there; `MINUTES=5`
	$(BIN)/python .ci/quick.py $(if $(BASE),--base $(BASE)) $(if $(MINUTES),--minutes $(MINUTES))

# Each part says how long it took.
CHECKS ?= lint deep proof docs wheel sdks cluster models elsewhere
check:  ## what takes too long for `make test`, which it does not repeat: an hour
	@bash -ec 'for part in $(CHECKS); do \
		TIMEFORMAT="make $$part: %0R s, %0U + %0S s of processor"; time $(MAKE) --no-print-directory $$part; done'

deep: .venv/.judge  ## more draws, pages, kills and real models of each kind that `make test` has one of; ten minutes
	$(BIN)/pytest -m check --forks 5

elsewhere: .venv/.dev  ## `make tested` by the other Pythons, in a folder with a blank, as an ordinary user, and pages with each set of browsers; fifteen minutes
	.ci/browsers
	.ci/elsewhere

lowest: .venv/.uv  ## the core with the lowest versions that pyproject.toml allows: a demo, and what reads it; two minutes
	.ci/lowest

models: .venv/.dev .venv/.judge .venv/.bitsandbytes  ## the real model classes with tiny weights, in every variant; ten minutes
	$(BIN)/pytest tests -m models -n 2

sdks: .venv/.dev .venv/.sdks  ## words in the makers' newest libraries that our tables do not know
	$(BIN)/pytest tests/plugins/endpoints -m sdks -n 0

apis: .venv/.dev  ## one edit, one answer by each provider whose key is in the environment; at most a dollar
	$(BIN)/pytest tests/plugins/closed_models -m apis -n 0

cluster: .venv/.cluster  ## evaluations on several machines: real Ray, all of them on this one, and a real Slurm where it is installed; ten minutes
	$(BIN)/pytest tests/cluster -m cluster -n 0 -x
	$(BIN)/python bench/cluster.py --check

docs: .venv/.docs  ## the documentation as a site in build/site, and every command of its guides typed; five minutes
	$(BIN)/sphinx-build -q -W --keep-going -n -j auto -E docs build/site
	$(BIN)/pytest tests/docs tests/plugins -m docs -n 2

wheel: .venv/.release  ## what would be released, built in dist, looked through, and tried in an empty environment; two minutes
	rm -rf dist
	$(BIN)/python -m build > /dev/null
	$(BIN)/twine check --strict dist/*
	$(BIN)/pytest tests/test_distribution.py -m wheel -n 0

release: wheel  ## the same, ready to be uploaded: says what is still missing, or what to type; uploads nothing
	$(BIN)/python .ci/texts.py --check
	$(BIN)/python .ci/release.py

chaos: .venv/.dev  ## the faults of the tests far more often: 200 kills, every byte and bit of the journals, other runs than before, thousands of drawn evaluations, what intervals hold in drawn data; two hours on two quiet cores
	$(BIN)/pytest tests/faults tests/plugins/viewer tests/test_damaged_configuration.py -m chaos -n 2
	$(BIN)/pytest tests/scheduling tests/config tests/store tests/execution -n 2 --hypothesis-profile=searching
	$(BIN)/pytest tests/combinations -m chaos -n 2 --dist worksteal
	$(BIN)/pytest tests/statistics -m chaos -n 2 --dist worksteal  # so that no long test waits behind another one

proof: .venv/.dev  ## some two dozen evaluations come to what was recorded of them, word for word and key for key; three minutes
	$(BIN)/pytest tests/proof -m "proof or not proof" -n 2

lint: .venv/.dev  ## style, types, layers; `TYPES=src`: of the package alone, which is half of the work
	$(BIN)/ruff check src tests bench examples docs .ci
	$(BIN)/mypy $(TYPES)
	$(BIN)/lint-imports --no-cache

texts: .venv/.dev  ## the catalogues in step with the code, and what of them has no translation yet
	$(BIN)/python .ci/texts.py

screenshots: .venv/.dev  ## the picture of each guide, of what its own commands make (needs Debian's chromium, fonts-noto-cjk, fonts-inter)
	$(BIN)/python bench/screenshots.py --again

bench: .venv/.dev  ## the figures in docs/performance.md, each beside the last commit's that was measured here; a quarter of an hour
	$(BIN)/python bench/all.py $(if $(EVALSCOPE),--evalscope $(EVALSCOPE)) $(if $(INSPECT),--inspect $(INSPECT))

bench-gpu: .venv/.dev  ## full-size models with random weights rehearsed in several ways, as rows for docs/performance.md: one GPU of 140 GB, ten minutes
	mkdir -p build
	$(BIN)/python bench/gpu.py --out build/gpu.json

clean:  ## removes the environment and what the tools left behind
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache build dist

# uv installs several times faster than pip but does not read pip's configuration: a folder of local wheels is handed over.
.venv/.uv:
	[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check uv
	@touch $@

INSTALL = links="$${PIP_FIND_LINKS:-$$($(BIN)/python -m pip config get global.find-links 2>/dev/null || true)}"; \
	UV_FIND_LINKS="$$(echo $$links | tr ' ' ',')" $(BIN)/uv pip install -q --python $(BIN)/python -c constraints.txt

.venv/.core: .venv/.uv pyproject.toml constraints.txt
	$(INSTALL) -e .
	@touch $@

.venv/.dev: .venv/.core
	$(INSTALL) -e '.[dev,diffusers,openai,viewer]'
	@touch $@

# Beside the environment, not in it: peft imports it wherever it finds it. Without what it needs, as torch is there.
.venv/.bitsandbytes: .venv/.dev
	rm -rf .venv/bitsandbytes
	$(INSTALL) --no-deps --target .venv/bitsandbytes 'bitsandbytes>=0.50'
	@touch $@

# Beside the environment, and without what they need: they are read, not imported.
.venv/.sdks: .venv/.dev
	rm -rf .venv/sdks
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps --target .venv/sdks openai anthropic google-genai
	@touch $@

.venv/.cluster: .venv/.dev
	$(INSTALL) -e '.[ray]'
	@touch $@

.venv/.docs: .venv/.dev
	$(INSTALL) -e '.[docs]'
	@touch $@

.venv/.release: .venv/.dev
	$(INSTALL) -e '.[release]'
	@touch $@

# A second environment with a judge's libraries and nothing of ours, as a user would make it.
.venv/.judge: .venv/.dev
	rm -rf .venv/environments/judge
	$(BIN)/edit-eval env create .venv/environments/judge --for judge --constraint constraints.txt
	@touch $@
