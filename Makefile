.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Debian's Python has no ensurepip without python3-venv, but its pip can install into a .venv that has none.
PIP = $$($(BIN)/python -m pip --version >/dev/null 2>&1 && echo $(BIN)/python -m pip || echo $(PYTHON) -m pip --python $(BIN)/python)
INSTALL = $(PIP) install -q --disable-pip-version-check --no-input --require-hashes -r

.venv/ready: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo >&2 'crawlsite: Python 3.11 or newer is needed; name one: make PYTHON=python3.12 $(MAKECMDGOALS)'; exit 1; }
	@echo >&2 'crawlsite: installing the pinned requirements into .venv, once; this takes about half a minute'
	@$(PYTHON) -m venv .venv >/dev/null 2>&1 || $(PYTHON) -m venv --without-pip .venv
	@$(INSTALL) $< || { echo >&2 'crawlsite: if pip is what is missing: sudo apt-get install python3-venv'; exit 1; }
	@touch $@

.venv/ready-dev: .venv/ready requirements-dev.txt
	@$(INSTALL) requirements-dev.txt
	@touch $@

setup: .venv/ready .venv/ready-dev ## make .venv and install the pinned requirements, the developers' too

run: .venv/ready ## start everything; the first line is the dashboard's address; Ctrl-C stops it
	@exec $(BIN)/python -m crawlsite.supervisor

replay: .venv/ready ## install ReplayWeb.page (AGPL), which shows archived pages on an origin of their own; needs npm
	@$(BIN)/python manage.py install_replay

password: .venv/ready ## give the first administrator a new password
	@$(BIN)/python manage.py new_password

# Debian's headless shell is Chromium without its windows: the tests of pages take half the time. Where there is none, Chromium does.
GET = DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends fonts-dejavu-core openssl

browser: ## install the browser that renders pages, and that tests need (Chromium, openssl), if it is missing and you are root
	@command -v chromium-headless-shell >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && echo >&2 'crawlsite: installing Chromium, which renders pages and tests ours, once; this takes about a minute' \
	  && { apt-get update && { $(GET) chromium-headless-shell || $(GET) chromium; }; } >/dev/null 2>&1 \
	  && command -v chromium-headless-shell >/dev/null; } || command -v chromium >/dev/null \
	  || { echo >&2 'crawlsite: NO BROWSER, so every test in tests/browser is SKIPPED (CI refuses that); run: sudo apt-get install chromium-headless-shell'; test "$$CI" != true; }

# The suite starts Python hundreds of times: where the environment forbids compiled files, each would compile the whole project anew.
test quick drill: export PYTHONDONTWRITEBYTECODE =

# A failure under load is not yet a fault: what failed among six at once runs once more, alone, and must pass there.
PYTEST = $(BIN)/python -m crawlsite.services --fast-and-loose --state-dir .local/test exec $(BIN)/python -m pytest

test: setup browser ## run the suite on its own PostgreSQL and Valkey; ARGS="tests/allocation -k safe" runs a part
	@$(PYTEST) -n 6 $(ARGS) || { test $$? = 1 \
	  && echo >&2 'crawlsite: the tests that failed run once more, one after the other; the first that fails again ends the run' \
	  && $(PYTEST) --last-failed --last-failed-no-failures none --exitfirst -rA $(ARGS); }

# These folders would be left out anyhow; it takes long enough to read them.
UNREAD = $(addprefix --ignore=tests/,api browser crawlsite kill_anywhere mutants races webs)

quick: setup ## the tests of rules, services and pages, without processes, browser or crawls: a minute and a half; ARGS as for test
	@$(PYTEST) -n 2 -m "not slow" $(UNREAD) $(ARGS)

bench: setup ## measure decisions, ledger, names, frontier, crawls and pages, and simulate the queue and many workers, on this machine; some minutes
	@$(BIN)/python -m benchmarks.allocation.core
	@$(BIN)/python -m benchmarks.allocation.simulation
	@$(BIN)/python -m benchmarks.simulation
	@$(BIN)/python -m crawlsite.services --state-dir .local/bench exec sh -c '$(BIN)/python manage.py migrate -v 0 && $(BIN)/python -m benchmarks.allocation.price \
	  && $(BIN)/python -m benchmarks.allocation.history && $(BIN)/python -m benchmarks.dnscache.costs \
	  && $(BIN)/python -m benchmarks.dnscache.crawl && $(BIN)/python -m benchmarks.frontier.costs && $(BIN)/python -m benchmarks.frontier.growth \
	  && $(BIN)/python -m benchmarks.dashboard.times --crawls 20000 --pages 100000 --hosts 2000 --rows 10000'
	@$(BIN)/python -m crawlsite.services --state-dir .local/bench-crawls exec sh -c '$(BIN)/python manage.py migrate -v 0 \
	  && $(BIN)/python -m benchmarks.crawling.speed && $(BIN)/python -m benchmarks.crawling.speed --again'
	@$(BIN)/python -m benchmarks.crawling.speed_scenes
	@$(BIN)/python -m benchmarks.crawling.budget
	@$(BIN)/python -m crawlsite.services --state-dir .local/bench exec $(BIN)/python -m benchmarks.crawling.duties
	@$(BIN)/python -m crawlsite.services --state-dir .local/bench-many exec sh -c '$(BIN)/python manage.py migrate -v 0 \
	  && $(BIN)/python -m benchmarks.crawling.many'
	@$(BIN)/python -m benchmarks.dashboard.viewers
	@$(BIN)/python -m benchmarks.dashboard.idle

drill: setup ## the tests that are too long for every push, at full size; ARGS as for test
	@test -e .local/test/replaywebpage || STATE_DIR=.local/test $(MAKE) -s replay
	@DRILL=1 $(PYTEST) -m drill $(ARGS)

lint: setup ## format, lint, types, import contracts, migrations, deployment check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy .
	$(BIN)/lint-imports
	$(BIN)/python -m crawlsite.services --fast-and-loose --state-dir .local/test exec $(BIN)/python manage.py makemigrations --check --dry-run
	PUBLIC_URL=https://crawls.example.org $(BIN)/python manage.py check --deploy --fail-level WARNING

check: test lint ## what CI runs

# UPGRADE= keeps all versions that fit, as for one new dependency.
UPGRADE = --upgrade
lock: setup ## renew the pinned requirements from the *.in files, with hashes, for every Python from Debian 12's on
	@$(PIP) install -q uv
	for name in requirements requirements-dev; do $(BIN)/uv pip compile -q $(UPGRADE) --universal --python-version 3.11.2 \
	  --generate-hashes --no-header --no-emit-index-url --annotation-style=line -o $$name.txt $$name.in || exit 1; done
	@$(MAKE) -s wheels

# Only their wheels can be looked at here: crawlsite has never run on ARM64 and macOS.
PLATFORMS = x86_64-manylinux_2_28 aarch64-manylinux_2_28 aarch64-apple-darwin
wheels: setup ## say whether each pinned requirement has a wheel for Linux on x86-64 and ARM64, and for macOS on ARM64
	@$(PIP) install -q uv
	@for platform in $(PLATFORMS); do $(BIN)/uv pip install -q --dry-run --no-deps --only-binary :all: --python-version 3.11 \
	  --python-platform $$platform --target .local/wheels -r requirements.txt && echo "$$platform: all have wheels" || exit 1; done

screenshots: setup browser ## renew the pictures in docs/screenshots
	@$(PYTEST) -q tests/browser/gallery/screenshots.py

.PHONY: help setup run replay password browser test quick bench drill lint check lock wheels screenshots
