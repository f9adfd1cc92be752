# Everything one does with a clone. Each target sets up what it needs first; `make demo` and
# `make test` are the two commands of the README, `make` alone runs all that CI runs.
#
# Needs: make, Python 3.11 or newer. JOBS says how many test processes run at once.

SHELL := /bin/sh
JOBS ?= 2
BIN := .venv/bin
STAMP := .venv/.stamp
SPARK_STAMP := .venv/.spark-stamp
SITE_STAMP := .venv/.site-stamp
# Spark is half a gigabyte and runs on Java: without Java its tests are skipped, in CI they fail.
SPARK := $(if $(CI)$(shell command -v java 2>/dev/null),$(SPARK_STAMP))
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest --durations 20
COMPILE := UV_CUSTOM_COMPILE_COMMAND='make lock' $(BIN)/uv pip compile --quiet --universal \
	--python-version 3.11 --generate-hashes --no-emit-index-url

# Tests start hundreds of commands; without byte code each would compile the project again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all setup spark demo test test-generate test-slow test-long check soak bench fuzz samples goldens docs site lock upgrade clean help

all: test check test-slow ## all that CI runs

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## a .venv with the locked packages and this project

# An existing .venv is kept and brought up to the lock. The locked pip comes first, being much
# faster than the one that Python brings; the lock is complete, so nothing is left to resolve; and
# byte code is compiled on all cores instead of one. Measured on two cores: 107 s became 65 s.
$(STAMP): requirements-dev.lock pyproject.toml
	@if [ ! -x $(BIN)/python ]; then \
	  for python in python3.11 python3 python3.12 python3.13 python3.14; do \
	    if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	      found=$$python; break; \
	    fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "make setup: no Python 3.11 or newer on the PATH; install one and try again" >&2; \
	    exit 1; \
	  fi; \
	  echo "== creating .venv with $$found"; \
	  $$found -m venv .venv || { \
	    echo "make setup: $$found cannot create .venv; some systems keep venv in a package" \
	      "of its own (python3-venv)" >&2; \
	    rm -rf .venv; exit 1; \
	  }; \
	fi
	@echo "== installing the locked packages into .venv (a minute or two the first time)"
	@sed -n '/^pip==/,/[^\\]$$/p' requirements-dev.lock > .venv/pip.lock
	@$(PIP) --require-hashes -r .venv/pip.lock
	@$(PIP) --require-hashes --no-deps --no-compile -r requirements-dev.lock
	@$(BIN)/python -m compileall -q -j $(JOBS) .venv/lib >/dev/null || true
	@$(PIP) --no-deps --no-index --no-build-isolation --editable .
	@touch $@

spark: $(SPARK_STAMP) ## Spark in .venv, which `make test-slow` needs (500 MB; it runs on Java 17)

# pyspark is no wheel, so it is built: with the locked setuptools instead of a downloaded one.
$(SPARK_STAMP): $(STAMP) requirements-spark.lock
	@echo "== installing Spark into .venv (about a minute the first time)"
	@$(PIP) --require-hashes --no-deps --no-compile --no-build-isolation -r requirements-spark.lock
	@touch $@

demo: $(STAMP) ## the published measurements, from generated dumps to tables and pages
	rm -rf build/demo # dumps of another version of the generator hold the same intervals otherwise
	$(BIN)/cpmon demo -o build/demo

test: $(STAMP) ## the tests, without the slow ones and the finest of the generator
	$(PYTEST) -n $(JOBS) --dist worksteal -m "not slow and not generator and not long"

test-generate: $(STAMP) ## the finest tests of the generator, when it changes
	$(PYTEST) -n $(JOBS) --dist worksteal -m "generator and not long"

test-slow: $(STAMP) $(SPARK) $(if $(CI),$(SITE_STAMP)) ## the slow tests, with those of the generator
	$(PYTEST) -n $(JOBS) --dist worksteal -m "(slow or generator) and not long"

test-long: $(STAMP) $(SPARK) ## the longest tests, before a release
	$(PYTEST) -n $(JOBS) --dist worksteal -m long

check: $(STAMP) ## requirements, format, lint, types, import directions, SQL; prints the size
	$(BIN)/python -m pip check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy -p cpmon
	$(BIN)/mypy tools $(wildcard bench/*.py)
	$(BIN)/python -m tools.check_imports
	$(BIN)/python -m tools.check_sql
	$(BIN)/python -m tools.check_user_sql
	$(BIN)/python -m tools.size

soak: $(STAMP) ## 30 days of three systems through batches, with damage and kills
	$(BIN)/python -m tests.batch.soak --days 30 --each 24 --kills 10 --folder build/soak

bench: $(STAMP) ## the measured bars: decoding, landing, memory
	$(BIN)/python -m bench

fuzz: $(STAMP) ## 100,000 damaged dumps, 5,000 through the commands, 100,000 texts of SQL
	$(BIN)/python -m tools.fuzz
	$(BIN)/python -m tools.fuzz_commands
	$(BIN)/python -m tools.fuzz_sql

samples: $(STAMP) ## rebuild sample-data/ from its recipes
	$(BIN)/python -m tools.make_samples

goldens: $(STAMP) ## rewrite tests/golden/; review the diff line by line
	$(PYTEST) -m golden --goldens

docs: $(STAMP) ## rewrite the generated pages of docs/ and, by Chromium, their pictures
	$(BIN)/python -m tools.make_docs
	$(BIN)/python -m tools.make_pictures

site: $(SITE_STAMP) ## the documentation as a site in build/site/html, which needs no network
	$(BIN)/python -m tools.make_site

$(SITE_STAMP): $(STAMP) requirements-site.lock
	@$(PIP) --require-hashes --no-deps --no-compile -r requirements-site.lock
	@touch $@

lock: $(STAMP) ## bring the locks up to requirements*.in, keeping the versions
	$(COMPILE) requirements.in -o requirements.lock
	$(COMPILE) requirements-dev.in -c requirements.lock -o requirements-dev.lock
	$(COMPILE) requirements-spark.in -c requirements-dev.lock -o requirements-spark.lock
	$(COMPILE) requirements-site.in -c requirements-dev.lock -o requirements-site.lock

upgrade: COMPILE += --upgrade
upgrade: lock ## the same with the newest versions

clean: ## remove what was built, but not .venv
	rm -rf build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
