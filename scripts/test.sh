#!/bin/sh
# Every check of this project, with all set-up: lint, types, layers, tests. The same here and before a merge.
# Arguments go to pytest: `sh scripts/test.sh tests/log -x`.
set -eu
sh "$(dirname "$0")/install.sh" dev
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
export PATH
# The tests start hundreds of processes; none of them is to compile again what others have compiled.
unset PYTHONDONTWRITEBYTECODE

run() {
    echo "== $*" >&2
    "$@"
}
run ruff check .
run ruff format --check .
run mypy
run lint-imports
# As many workers as tests/workers.py says.
run pytest -q -rs -n auto "$@"
