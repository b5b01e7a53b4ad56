#!/bin/sh
# Run the tests and tell how much of the pure packages they reach, by branches; fail below what pyproject.toml asks for.
# Arguments go to pytest, in front of its own: `sh scripts/coverage.sh tests/group` measures those tests alone.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
export PATH

coverage erase
# Two workers: each Spark test brings a Java process along, and may not starve the others of memory.
pytest -q -rs -n 2 --dist loadgroup --cov --cov-report= --cov-fail-under=0 "$@"
# What numba compiles cannot be measured, so some of the scan's tests run once more without it.
pytest -q --cov --cov-append --cov-report= --cov-fail-under=0 -p tests.log.uncompiled \
    tests/log/test_scan.py tests/log/test_scan_keys.py tests/log/test_scan_newest.py tests/log/test_scan_parity.py \
    tests/log/test_scan_crc.py -k "not larger_than_a_chunk and not without_the_instruction"
status=0
coverage report --sort=cover >.coverage.txt || status=$?
echo "Files of the pure packages of which tests reach less than 95 %:"
awk 'NR <= 2 || /^TOTAL/ || ($NF ~ /%$/ && $NF + 0 < 95)' .coverage.txt
exit "$status"
