#!/usr/bin/env bash
# Debian's packages: the sdist of dist/ (tools/wheels) becomes a source package, dpkg-buildpackage builds it where nothing but what
# it asks for is installed and without a network, lintian looks at the result, and README's commands run where nothing but the
# packages is installed. They are left in dist/debian. Not part of ./test: it needs root, debootstrap and half an hour of one core.
#
# usage: tools/test_debian.sh
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repository"
source tools/chroots.sh
sdist=$(ls dist/submarine_crf-*.tar.gz)
version=$(dpkg-parsechangelog -S Version)
upstream=${version%-*}
[[ $sdist == *-"$upstream.tar.gz" ]] || { echo "test_debian: $sdist is not of version $upstream, which debian/changelog names" >&2 && exit 1; }

make_chroot deb-build bookworm build-essential lintian
work=$root/build/submarine-$upstream
rm -rf "$root/build" && mkdir -p "$work"
cp "$sdist" "$root/build/submarine_$upstream.orig.tar.gz"
tar -xf "$sdist" -C "$work" --strip-components=1
cp -r debian "$work"
in_chroot apt-get -q build-dep -y --no-install-recommends "/build/submarine-$upstream" >>"$root.log"
echo "== dpkg-buildpackage, without a network"
unshare --net bash -c "$(declare -f in_chroot); root=$root; in_chroot sh -c 'cd /build/submarine-$upstream && dpkg-buildpackage -us -uc'" \
  >"$root.build.log" 2>&1 || { tail -n 40 "$root.build.log" && exit 1; }
echo "== lintian"
# The tag left out wants the number of Debian's bug that announces a package, and this one has not been announced.
in_chroot sh -c "cd /build && lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs submarine_${version}_*.changes"
rm -rf dist/debian && mkdir -p dist/debian
cp "$root"/build/submarine_*[!b] "$root"/build/*.deb dist/debian
ls -l dist/debian

echo "== README's commands, where nothing else is installed, and then programs in C++ and C"
make_chroot deb-use bookworm python3
rm -rf "$root/packages" && mkdir -p "$root/packages"
cp dist/debian/*.deb debian/tests/{readme,build} "$root/packages"
in_chroot sh -c 'apt-get -q purge -y "*submarine*" >/dev/null 2>&1; apt-get -q install -y --no-install-recommends $(ls /packages/*.deb | grep -v -e -dev_ -e -dbgsym_)' >>"$root.log"
in_chroot sh /packages/readme
in_chroot sh -c 'apt-get -q install -y --no-install-recommends /packages/libsubmarine-dev_*.deb cmake g++ make pkg-config' >>"$root.log"
in_chroot sh /packages/build
