#!/usr/bin/env bash
# Compiles the library for aarch64 and runs the tests of its SIMD kernels under qemu-user. Not part of ./test: it takes
# several minutes. Needs Debian's g++-aarch64-linux-gnu and qemu-user; the arm64 packages of the libraries are unpacked
# into build-aarch64/root, and nothing foreign is installed.
#
# usage: tools/test_aarch64.sh [TEST...]   (base_simd_test filter_kernel_test filter_list_test filter_lattice_test)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tests=("$@")
((${#tests[@]} > 0)) || tests=(base_simd_test filter_kernel_test filter_list_test filter_lattice_test)
packages=(libhwy-dev libtbb-dev libfmt-dev coinor-libclp-dev nlohmann-json3-dev libgtest-dev libgmock-dev)

for program in aarch64-linux-gnu-g++ qemu-aarch64; do
  if ! command -v "$program" > /dev/null; then
    echo "test_aarch64: $program is not installed: apt-get install g++-aarch64-linux-gnu qemu-user" >&2
    exit 2
  fi
done

build=$PWD/build-aarch64
export SUBMARINE_ARM64_ROOT=$build/root
if ! [[ -e $build/root.complete ]]; then
  # apt with a state of its own, in which no package is installed: it fetches these and all that they need.
  state=$build/apt
  mkdir -p "$state"/{lists/partial,cache/archives/partial} "$SUBMARINE_ARM64_ROOT"
  : > "$state/status"
  options=(-q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$state"
           -o Dir::State::Lists="$state/lists" -o Dir::State::status="$state/status" -o Dir::Cache="$state/cache"
           -o APT::Sandbox::User=root -o APT::Install-Recommends=false)
  apt-get "${options[@]}" update
  apt-get "${options[@]}" install --download-only -y "${packages[@]}"
  for package in "$state"/cache/archives/*.deb; do
    case $package in
      */libc6-dev_* | */linux-libc-dev_* | */libstdc++-*-dev_*) ;;  # the compiler brings its own
      *) dpkg-deb -x "$package" "$SUBMARINE_ARM64_ROOT" ;;
    esac
  done
  rm -rf "$state"
  touch "$build/root.complete"
fi

cmake -S . -B "$build" -G Ninja --toolchain "$PWD/cmake/aarch64.cmake" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DSUBMARINE_BUILD_TESTS=ON -DSUBMARINE_IMAGE_CODECS=OFF -DSUBMARINE_BUILD_APPS=OFF \
  -DSUBMARINE_BUILD_BENCHMARKS=OFF
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target "${tests[@]}"
for name in "${tests[@]}"; do
  echo "== $name"
  qemu-aarch64 -L "$SUBMARINE_ARM64_ROOT" \
    -E LD_LIBRARY_PATH="$SUBMARINE_ARM64_ROOT/usr/lib/aarch64-linux-gnu/blas:$SUBMARINE_ARM64_ROOT/usr/lib/aarch64-linux-gnu/lapack" \
    "$build/bin/$name" --gtest_brief=1
done
