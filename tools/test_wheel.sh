#!/usr/bin/env bash
# Installs the wheel of dist/ under the Pythons and numpys of three Debian releases, as pip would, and runs README's first lines and
# the Python tests there. Not part of ./test: it needs root, debootstrap and some minutes. No compiler is in the chroots, which
# are kept in build-wheels/chroots.
#
# usage: tools/test_wheel.sh [RELEASE...]   (bullseye bookworm trixie: Python 3.9, 3.11, 3.13; numpy 1.19, 1.24, 2.2)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
releases=("$@")
((${#releases[@]} > 0)) || releases=(bullseye bookworm trixie)
chroots=${CHROOTS:-$PWD/build-wheels/chroots}
wheel=$(ls "$PWD"/dist/submarine_crf-*.whl)
# test_text.py runs mypy on the package and docs/python.md, test_report.py the command's page; they are for ./test.
tests=(test_models.py test_conventions.py test_keywords.py test_solve.py test_compat.py test_refine.py)

for release in "${releases[@]}"; do
  root=$chroots/$release
  if ! [[ -e $root.complete ]]; then
    mkdir -p "$root"
    debootstrap --variant=minbase "$release" "$root" http://deb.debian.org/debian >"$root.log"
    chroot "$root" apt-get -q install -y --no-install-recommends python3-numpy python3-pytest python3-hypothesis >>"$root.log"
    touch "$root.complete"
  fi
  rm -rf "$root/opt/submarine" && mkdir -p "$root/opt/submarine"
  python3 -m zipfile -e "$wheel" "$root/opt/submarine"  # a wheel is installed by unpacking it
  cp -r tests/python "$root/opt/submarine/tests"
  echo "== $release: $(chroot "$root" python3 -c 'import platform, numpy; print("Python", platform.python_version(), "numpy", numpy.__version__)')"
  chroot "$root" env PYTHONPATH=/opt/submarine python3 - <<'PYTHON'
import numpy as np, submarine as sm
softmax, image = np.random.default_rng(0).dirichlet([1, 1, 1], (48, 64)), np.zeros((48, 64, 3), np.uint8)
labels, probabilities = sm.refine(softmax, image)
print(sm.refine(softmax, image, certify=True, time_limit=10).result)
PYTHON
  chroot "$root" sh -c "cd /opt/submarine/tests && PYTHONPATH=/opt/submarine python3 -m pytest -q -p no:cacheprovider ${tests[*]}"
done
