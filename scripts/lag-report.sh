#!/bin/sh
# The main job, with all its set-up: a lag report, computed by Spark, of a captured cluster.
# Arguments, if any, stand for those of the report: `sh scripts/lag-report.sh --spark /var/lib/kafka -o json`.
set -eu
sh "$(dirname "$0")/install.sh" spark
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then
    set -- --spark fixtures/4.3.1/lives
fi
exec .venv/bin/kgroup lag-report "$@"
