#!/bin/sh
# Write a bill of materials (CycloneDX, JSON) of kgroup with all that it needs, in the versions that are newest now:
# `sh scripts/sbom.sh FILE`. For a release; it is not kept with the source.
set -eu
file=$(realpath -m "${1:?usage: sh scripts/sbom.sh FILE}")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/source"
cp -r pyproject.toml README.md LICENSE kgroup man "$work/source/"
python3 -m venv "$work/kgroup"
"$work/kgroup/bin/python" -m pip install --quiet --disable-pip-version-check "$work/source[pkcs12]"
"$work/kgroup/bin/python" -m pip check
"$work/kgroup/bin/python" -m pip uninstall --quiet --yes setuptools pip
python3 -m venv "$work/tools"
"$work/tools/bin/python" -m pip install --quiet --disable-pip-version-check cyclonedx-bom
# Reproducible: without a serial number, times and paths of this machine.
"$work/tools/bin/cyclonedx-py" environment --pyproject "$work/source/pyproject.toml" --output-reproducible \
    --output-file "$file" "$work/kgroup/bin/python"
"$work/tools/bin/python" - "$file" "$work" <<'PYTHON'
import json, pathlib, sys
text = pathlib.Path(sys.argv[1]).read_text()
names = {component["name"].lower() for component in json.loads(text)["components"]}
if sys.argv[2] in text:
    sys.exit(f"{sys.argv[1]}: names a folder of this machine")
if not {"kafka-python", "numpy", "pyarrow", "cryptography"} <= names:
    sys.exit(f"{sys.argv[1]}: components are missing: {sorted(names)}")
print(f"{sys.argv[1]}: {len(names)} components")
PYTHON
