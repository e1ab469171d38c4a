# Sourced by tools/test_wheel.sh and tools/test_debian.sh: small Debian systems, which are kept in build-chroots/ or $CHROOTS.
chroots=${CHROOTS:-$repository/build-chroots}

# make_chroot NAME RELEASE [PACKAGE...]: that release with these packages and no others, unless it is there already; sets `root`.
make_chroot() {
  local name=$1 release=$2
  shift 2
  root=$chroots/$name
  [[ ! -e $root.complete ]] || return 0
  echo "== $name: debootstrap $release"
  mkdir -p "$chroots"
  rm -rf "$root"
  debootstrap --variant=minbase "$release" "$root" http://deb.debian.org/debian >"$root.log"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" && chmod +x "$root/usr/sbin/policy-rc.d" # starts no services
  in_chroot apt-get -q install -y --no-install-recommends "$@" >>"$root.log"
  touch "$root.complete"
}

# A command in `root`, with its own /proc and /tmp.
in_chroot() {
  unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
