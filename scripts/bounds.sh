#!/bin/sh
# Build kgroup, install it with the `lowest` or the `highest` versions that pyproject.toml allows, and go once round what
# it does with them: `sh scripts/bounds.sh lowest`. Once for each Python from 3.11 to 3.14 that is on the PATH; the
# others are named. The wheel is made from the sdist; with `highest` the sdist itself is installed, too.
# Nothing is left behind, and .venv is not touched.
set -eu
cd "$(dirname "$0")/.."
case "${1:-}" in
lowest) resolution=lowest-direct ;;
highest) resolution=highest ;;
*)
    echo "usage: sh scripts/bounds.sh lowest|highest" >&2
    exit 2
    ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

first=
missing=
there=
for version in 3.11 3.12 3.13 3.14; do
    if "python$version" -c '' 2>/dev/null; then
        there="$there $version"
        first=${first:-$version}
    else
        missing="$missing $version"
    fi
done
if [ -z "$first" ]; then
    echo "scripts/bounds.sh: no Python from 3.11 to 3.14 is on the PATH" >&2
    exit 1
fi

"python$first" -m venv "$work/tools"
"$work/tools/bin/python" -m pip install --quiet --disable-pip-version-check build uv
mkdir "$work/source"
cp -r pyproject.toml README.md LICENSE kgroup man "$work/source/"
"$work/tools/bin/python" -m build --outdir "$work/built" "$work/source" >"$work/build.log" 2>&1 || {
    cat "$work/build.log" >&2
    exit 1
}
wheel=$(echo "$work"/built/kgroup-*.whl)
sdist=$(echo "$work"/built/kgroup-*.tar.gz)
for built in "$wheel" "$sdist"; do
    "$work/tools/bin/python" - "$built" <<'PYTHON'
import sys, tarfile, zipfile
path = sys.argv[1]
names = zipfile.ZipFile(path).namelist() if path.endswith(".whl") else tarfile.open(path).getnames()
if not any(name.endswith("/LICENSE") for name in names):
    sys.exit(f"{path}: no LICENSE in it")
if not any(name.endswith("/kgroup.1") for name in names):
    sys.exit(f"{path}: no man pages in it")
PYTHON
done

# uv looks neither into pip's settings nor, unless told to, at the system's certificates.
uv_install() {
    SSL_CERT_FILE="${SSL_CERT_FILE:-${PIP_CERT:-}}" UV_FIND_LINKS="${UV_FIND_LINKS:-${PIP_FIND_LINKS:-}}" \
        "$work/tools/bin/uv" pip install --quiet --native-tls "$@"
}

for version in $there; do
    echo "== $1 versions, Python $version" >&2
    venv=$work/python$version
    "python$version" -m venv --without-pip "$venv"
    # Versions without a wheel for this Python are older than it.
    uv_install --python "$venv/bin/python" --resolution "$resolution" --only-binary :all: \
        -r "$work/source/pyproject.toml" --extra pkcs12
    uv_install --python "$venv/bin/python" --no-deps "$wheel"
    "$work/tools/bin/uv" pip check --quiet --python "$venv/bin/python"
    (cd "$work" && env -u PYTHONPATH "$venv/bin/python" "$OLDPWD/tests/smoke.py" "$OLDPWD/fixtures")
    if [ "$1" = highest ]; then
        "$work/tools/bin/python" -m pip --python "$venv/bin/python" install --quiet --disable-pip-version-check \
            --force-reinstall --no-deps "$sdist"
        (cd "$work" && env -u PYTHONPATH "$venv/bin/kgroup" find-coordinator test-group)
    fi
done
if [ -n "$missing" ]; then
    echo "scripts/bounds.sh: not tried, as they are not on the PATH: Python$missing" >&2
fi
