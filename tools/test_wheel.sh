#!/usr/bin/env bash
# Installs the wheel of dist/ by pip under the Pythons and numpys of three Debian releases, and runs README's lines and the Python
# tests there. Not part of ./test: it needs root, debootstrap and some minutes. No compiler is in these systems (tools/chroots.sh).
#
# usage: tools/test_wheel.sh [RELEASE...]   (bullseye bookworm trixie: Python 3.9, 3.11, 3.13; numpy 1.19, 1.24, 2.2)
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repository"
source tools/chroots.sh
releases=("$@")
((${#releases[@]} > 0)) || releases=(bullseye bookworm trixie)
wheel=$(ls dist/submarine_crf-*.whl)
# test_text.py runs mypy on the package and docs/python.md, test_report.py the command's page; they are for ./test.
tests=(test_models.py test_conventions.py test_keywords.py test_solve.py test_compat.py test_refine.py test_frameworks.py)

for release in "${releases[@]}"; do
  make_chroot "wheel-$release" "$release" python3-numpy python3-pytest python3-hypothesis python3-venv
  rm -rf "$root/opt" && mkdir -p "$root/opt/submarine/tests"
  cp "$wheel" "$root/opt"
  cp -r tests/python "$root/opt/submarine/tests/python"
  in_chroot python3 -m venv --system-site-packages /opt/env
  in_chroot /opt/env/bin/pip install -q --no-index --no-deps "/opt/$(basename "$wheel")"
  echo "== $release: $(in_chroot python3 -c 'import platform, numpy; print("Python", platform.python_version(), "numpy", numpy.__version__)')," \
    "$(in_chroot sh -c 'command -v cc c++ gcc g++ || echo no compiler')"
  in_chroot /opt/env/bin/python - <<'PYTHON'
import numpy as np, submarine as sm
softmax, image = np.random.default_rng(0).dirichlet([1, 1, 1], (48, 64)), np.zeros((48, 64, 3), np.uint8)
labels, probabilities = sm.refine(softmax, image)
print(sm.refine(softmax, image, certify=True, time_limit=10).result)
PYTHON
  in_chroot sh -c "cd /opt/submarine/tests/python && /opt/env/bin/python -m pytest -q -rs -p no:cacheprovider ${tests[*]}"
done
