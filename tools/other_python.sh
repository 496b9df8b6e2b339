#!/usr/bin/env bash
# Run the library's tests and every notebook on another Python or another set of pins.
#   tools/other_python.sh PYTHON LOCK VENV
# Tests of the book's own tools skip, with their reason, where the lock does not carry those tools.
set -euo pipefail
python=$1 lock=$2 venv=$3
cd "$(dirname "$0")/.."
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check uv==0.13.9
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" -r "$lock"
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --no-deps --editable .
"$venv/bin/python" -m pytest -n 2 --dist loadfile --ignore tests/browser
"$venv/bin/python" -m pytest -o addopts= --nbval-lax chapters exercises
"$venv/bin/python" -m pytest -o addopts= --nbval --nbval-sanitize-with tests/nbval.cfg solutions
