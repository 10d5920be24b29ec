# Every target sets up .venv by itself; a machine needs Python 3.11 or later with pip, and make.
#   make demo     the bot in a chat page, no account needed (MODEL=local | provider:model, PORT=…)
#   make run      start the bot (settings: .env, see .env.example)
#   make test     the tests          make check   format, lint, types, layers
#   make fix      format and mend    make bench   measure against the floor
#   make fuzz     100,000 commands against bash: what it tried, the classifier saw
#   make engine   the bot against a real llama.cpp and a small model
#   make lock     write requirements.lock anew from pyproject.toml

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The same words for every pip, old or new: no questions, no notice of a newer one.
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input
# The engine of the embedded model: only for those who ask for it.
LOCAL_STAMP := $(VENV)/.installed-local

.PHONY: run demo test check fuzz engine bench fix lock clean
.DEFAULT_GOAL := test

run: $(STAMP)
	@$(BIN)/kai-bot

demo: $(STAMP) $(if $(filter local,$(MODEL)),$(LOCAL_STAMP))
	@$(BIN)/python -m bot.demo $(if $(MODEL),--model '$(MODEL)') $(if $(PORT),--port '$(PORT)')

test: $(STAMP)
	$(BIN)/pytest -n 6 --dist worksteal --reruns 2 --maxfail 25

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fuzz: $(STAMP)
	$(BIN)/python -m tests.safety.fuzz 100000

# Unlike other tests it may take minutes, and what is slow is not stuck.
engine: $(STAMP) $(LOCAL_STAMP)
	@model=$$($(BIN)/python -m tests.llm.engine) && ENGINE_TEST=1 LOCAL_TEST_MODEL=$$model \
	  $(BIN)/pytest tests/llm/test_engine.py tests/llm/test_local.py -p no:rerunfailures -o faulthandler_timeout=0 -vv -rs

bench: $(STAMP)
	$(BIN)/python -m bench

fix: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The build backend is locked too, so that installing ourselves fetches nothing that was not hashed.
lock: $(STAMP)
	$(PIP) install uv
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
	  | $(BIN)/uv pip compile --quiet --universal --generate-hashes --extra dev --no-emit-index-url --no-emit-find-links \
	    --custom-compile-command 'make lock' pyproject.toml - -o requirements.lock
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["local"], sep="\n")' \
	  | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links \
	    --custom-compile-command 'make lock' - -o local.lock

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Debian ships Python without ensurepip unless python3-venv is there; the machine's own pip then puts pip into the venv.
$(STAMP): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make: '$(PYTHON)' is not installed; install Python 3.11 or later, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: Python 3.11 or later is needed, '$(PYTHON)' is `$(PYTHON) -V 2>&1`; name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv' 2>/dev/null || { \
	  echo "make: '$(PYTHON)' has no venv module; install it (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@if $(PYTHON) -c 'import ensurepip' 2>/dev/null; then $(PYTHON) -m venv $(VENV); \
	elif $(PYTHON) -m pip --version >/dev/null 2>&1; then \
	  $(PYTHON) -m venv --without-pip $(VENV) && $(PYTHON) -m pip --quiet --python $(BIN)/python install pip; \
	else \
	  echo "make: '$(PYTHON)' has neither pip nor ensurepip; install one (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; fi
	@echo "make: installing what requirements.lock names into $(VENV) (once)"
	@$(PIP) install --require-hashes -r requirements.lock || { \
	  echo "make: a package could not be had, see above; behind a proxy set HTTPS_PROXY, with a mirror PIP_INDEX_URL, then run make again" >&2; exit 1; }
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(LOCAL_STAMP): local.lock $(STAMP)
	@echo "make: installing what local.lock names into $(VENV) (once)"
	@$(PIP) install --require-hashes -r local.lock || { \
	  echo "make: xllamacpp could not be had for this machine; use Ollama, a provider in .env, or the built-in guide: make demo" >&2; exit 1; }
	@touch $@
