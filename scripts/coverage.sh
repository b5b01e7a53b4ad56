#!/bin/sh
# Run the tests of the pure packages and say how much of these they reach, by branches. Fails below what pyproject.toml
# asks for. Arguments go to pytest; with them nothing is asked for: `sh scripts/coverage.sh tests/group`.
set -eu
sh "$(dirname "$0")/install.sh" dev
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
export PATH
# The tests start hundreds of processes; none of them is to compile again what others have compiled.
unset PYTHONDONTWRITEBYTECODE

measured() {
    pytest -q --cov --cov-report= --cov-fail-under=0 "$@"
}
if [ $# -gt 0 ]; then
    measured -rs -n 2 "$@"
    exec coverage report --sort=cover --skip-covered --fail-under=0
fi
# Being watched makes tests two or three times as slow. So of what repeats itself there is less: 25 seeds of each
# swarm, and not what goes through the same lines for many seconds. Properties keep all their examples: some of
# them count what came of these. What numba compiles runs unseen, but the scan's tests let its kernels run as
# Python, too (tests/scan/tiers.py).
# shellcheck disable=SC2046  # one place a word
measured -rs -n 2 --swarm-seeds 25 -k "$(python -m tests.watched --but)" $(python -m tests.watched)

report=$(mktemp)
trap 'rm -f "$report"' EXIT
status=0
coverage report --sort=cover >"$report" || status=$?
echo "Files of the pure packages below 95 %, and the total:"
awk 'NR <= 2 || /^TOTAL/ || /^Coverage failure/ || ($NF ~ /%$/ && $NF + 0 < 95)' "$report"
exit "$status"
