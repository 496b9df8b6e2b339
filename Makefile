# Two commands matter: `make book` and `make test`. Each sets up what it needs.
PY     ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
UV     := uv==0.13.9
PYTEST := $(BIN)/python -m pytest

.PHONY: help setup notebooks book quick serve test lint prose update course lock other-python colab bench clean

help:  ## say what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(VENV)/.ready  ## make .venv with everything pinned

# The stamp is written last, so an interrupted set-up is done again.
$(VENV)/.ready: requirements.lock pyproject.toml
	@$(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; this is " + sys.version.split()[0] + ". Say which: make PY=python3.12")'
	$(PY) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(UV)
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

notebooks: setup  ## text/ -> chapters/, exercises/, solutions/
	$(BIN)/python tools/notebooks.py

book: setup  ## build the site from scratch, executing every notebook
	$(BIN)/python book/build.py

quick: setup  ## rebuild after a prose edit
	$(BIN)/python tools/notebooks.py
	$(BIN)/python book/build.py --quick

serve: setup  ## show the built site on http://localhost:8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html 8000

lint: setup  ## style, imports, generated notebooks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python tools/notebooks.py --check

prose: setup  ## check the numbers in the text
	$(BIN)/python tools/prose.py --check

update: setup  ## rewrite the numbers in the text after a figure changed
	$(BIN)/python tools/prose.py --update
	$(BIN)/python tools/notebooks.py

# The browser tests read the built site, and the prose check reads what its build computed.
test: lint _build/html/index.html prose  ## every test
	$(PYTEST) -n 2 --dist loadfile
	$(PYTEST) --nbval --nbval-sanitize-with tests/nbval.cfg -o addopts= solutions

_build/html/index.html:
	$(MAKE) book

course: setup  ## an nbgrader course folder: make course CHAPTER=ch01
	$(BIN)/python tools/course.py $(CHAPTER)

lock: setup  ## pin again, for every platform and Python at once
	$(BIN)/uv pip compile --quiet --upgrade --universal --no-emit-index-url --no-annotate --no-header --python-version 3.11 \
	  --extra book --extra test pyproject.toml -o requirements.lock

bench: setup  ## speed and memory goals
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:  ## forget what was built
	rm -rf _build .venv
