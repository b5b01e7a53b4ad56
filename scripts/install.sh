#!/bin/sh
# Install kgroup into .venv here: `sh scripts/install.sh EXTRA`, where EXTRA is spark or dev (which includes spark).
# Does nothing when that was done before and pyproject.toml has not changed since.
set -eu
cd "$(dirname "$0")/.."
extra=$1
wanted="$(cksum <pyproject.toml)"

installed() {
    [ -f ".venv/installed-$1" ] && [ "$(cat ".venv/installed-$1")" = "$wanted" ] &&
        .venv/bin/python -c 'import kgroup' 2>/dev/null
}

if installed "$extra" || installed dev; then
    exit 0
fi

make_venv() {
    for python in python3 python3.14 python3.13 python3.12 python3.11 python; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            break
        fi
        python=
    done
    if [ -z "$python" ]; then
        echo "scripts/install.sh: kgroup needs Python 3.11 or newer, and none is on the PATH" >&2
        exit 1
    fi
    if "$python" -c 'import ensurepip' 2>/dev/null; then
        "$python" -m venv --clear .venv
    else
        # Debian's Python without the package python3-venv: the pip outside puts one inside.
        "$python" -m venv --clear --without-pip .venv
        "$python" -m pip --python .venv/bin/python install --quiet pip
    fi
}

echo "Installing kgroup with its '$extra' extra into .venv (a few minutes the first time) ..." >&2
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    make_venv
fi
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[$extra]"
echo "$wanted" >".venv/installed-$extra"
