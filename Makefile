.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/ready: requirements.txt requirements-dev.txt
	$(PYTHON) -m venv .venv || { $(PYTHON) -m venv --without-pip .venv && $(PYTHON) -m pip --python $(BIN)/python install -q pip; }
	$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements.txt -r requirements-dev.txt
	@touch $@

setup: .venv/ready ## make .venv and install the pinned requirements

run: setup ## start everything; the first line is the dashboard's address; Ctrl-C stops it
	@exec $(BIN)/python -m crawlsite.supervisor

password: setup ## give the first administrator a new password
	@$(BIN)/python manage.py new_password

test: setup ## run the suite on its own PostgreSQL and Valkey; ARGS="tests/allocation -k safe" runs a part
	@$(BIN)/python -m crawlsite.services --state-dir .local/test exec $(BIN)/python -m pytest $(ARGS)

lint: setup ## format, lint, types, import contracts, migrations, deployment check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy .
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	PUBLIC_URL=https://crawls.example.org $(BIN)/python manage.py check --deploy --fail-level WARNING

check: test lint ## what CI runs

lock: setup ## renew the pinned requirements from the *.in files
	$(BIN)/python -m pip install -q pip-tools
	for name in requirements requirements-dev; do $(BIN)/pip-compile -q --upgrade --strip-extras --no-emit-index-url \
	  --no-emit-trusted-host --no-emit-find-links --no-header --annotation-style=line -o $$name.txt $$name.in; done

.PHONY: help setup run password test lint check lock
