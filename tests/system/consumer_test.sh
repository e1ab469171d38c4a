#!/usr/bin/env bash
# Installs the package into a temporary prefix and builds the ten-line consumer against it, through
# find_package and through pkg-config, from the static library of this build and from a shared one, which is
# linked from the same objects.
set -euo pipefail
source_dir=$SUBMARINE_SOURCE_DIR/tests/system/consumer
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "consumer_test: $*" >&2
  exit 1
}

# log Z of 3 x 2 pixels with 3 labels, Potts weight 2 and unaries of 0.5, by enumeration of 729 labelings.
expected_log_z=$(python3 -c '
import itertools, math
edges = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]
terms = (math.exp(-3 - 2 * sum(x[a] != x[b] for a, b in edges)) for x in itertools.product(range(3), repeat=6))
print(f"{math.log(sum(terms)):.3f}")')

expect_answer() {  # interval and marginals of that model, which is small enough to be solved exactly
  local answer
  answer=$("$@")
  [[ $answer == "0.1."*" log Z in [$expected_log_z"*", $expected_log_z"*"], exact, p = 0.333333" ]] ||
    fail "$* printed '$answer', expected log Z = $expected_log_z"
}

use_installed() {  # PREFIX
  local prefix=$1 library_dir headers flags libs
  library_dir=$(dirname "$(find "$prefix" -name 'libsubmarine.*' | head -n 1)")
  headers=$(cd "$prefix/include" && find submarine -name '*.h' | sort)
  [[ $headers == "$public_headers" ]] || fail "installed headers are $headers"

  cmake -S "$source_dir" -B "$prefix/by-cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
  cmake --build "$prefix/by-cmake"
  expect_answer "$prefix/by-cmake/consumer"
  printf 'MARKOV\n1\n2\n1\n1 0\n2\n1 3\n' >"$work/coin.uai"
  [[ $("$prefix/by-cmake/files" "$work/coin.uai") == "log Z = 1.38629"* ]] || fail "files does not know log 4"
  if cmake -S "$source_dir" -B "$prefix/wrong-version" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_PROJECT_consumer_INCLUDE="$work/ask_for_0_2.cmake" >"$work/wrong-version.log" 2>&1; then
    fail "find_package(submarine 0.2) accepted version 0.1"
  fi
  grep -q 'requested version "0.2"' "$work/wrong-version.log" || fail "$(cat "$work/wrong-version.log")"

  export PKG_CONFIG_PATH=$library_dir/pkgconfig
  flags=$(pkg-config --cflags submarine)
  libs=$(pkg-config --libs submarine)
  # Unquoted on purpose: the flags are words. The whole archive shows that no dependency is missing.
  "$CXX" -std=c++20 $flags "$source_dir/consumer.cc" -o "$prefix/by-pkg-config" \
    ${libs/-lsubmarine/-Wl,--whole-archive -lsubmarine -Wl,--no-whole-archive}
  LD_LIBRARY_PATH=$library_dir expect_answer "$prefix/by-pkg-config"

  # The C interface, which exports its own functions alone.
  cc -std=c11 "$SUBMARINE_SOURCE_DIR/examples/c_grid.c" $(pkg-config --cflags --libs submarine_c) -o "$prefix/c_grid"
  [[ $(LD_LIBRARY_PATH=$library_dir "$prefix/c_grid") == 00002222* ]] || fail "the C interface does not find the labels"
  if nm -D --defined-only "$library_dir/libsubmarine_c.so" | grep -qv ' T sm_'; then
    fail "libsubmarine_c exports more than sm_*"
  fi
}

headers_stand_alone() {  # PREFIX
  echo "$public_headers" | xargs -P 2 -I{} sh -c '
    echo "#include \"{}\"" | "$CXX" -std=c++20 -I "'"$1"'/include" -fsyntax-only -x c++ - ||
      { echo "consumer_test: {} does not compile on its own" >&2; exit 255; }' || fail "a header needs others"
}

public_headers=$({
  grep -o 'submarine/[a-z_/]*\.h' "$SUBMARINE_SOURCE_DIR/cmake/public_headers.cmake"
  echo submarine/base/version.h
} | sort)
echo 'find_package(submarine 0.2 REQUIRED)' >"$work/ask_for_0_2.cmake"

echo "== static"
cmake --install "$SUBMARINE_BUILD_DIR" --prefix "$work/static" >/dev/null
use_installed "$work/static"
headers_stand_alone "$work/static"

echo "== shared"
shared_build=$SUBMARINE_BUILD_DIR/shared
cmake -S "$SUBMARINE_SOURCE_DIR" -B "$shared_build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
  -DSUBMARINE_ENGINE_ARCHIVE="$SUBMARINE_BUILD_DIR/libsubmarine.a" \
  -DSUBMARINE_IO_ARCHIVE="$SUBMARINE_BUILD_DIR/libsubmarine_io.a" -DSUBMARINE_BUILD_{TESTS,APPS,BENCHMARKS}=OFF
cmake --build "$shared_build" -j2 --target submarine submarine_io submarine_c
cmake --install "$shared_build" --prefix "$work/shared" >/dev/null
use_installed "$work/shared"
