#!/usr/bin/env bash
# Names every line that clang-format would change, in all C++ sources. With --fix, changes them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mapfile -t files < <(find submarine apps experiments python tests benchmarks \( -name '*.h' -o -name '*.cc' \) | sort)
if [[ ${1:-} == --fix ]]; then
  clang-format -i "${files[@]}"
else
  clang-format --dry-run --Werror "${files[@]}"
  echo "${#files[@]} files are formatted."
fi
