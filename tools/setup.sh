# Sourced by ./demo and ./test: headings, Debian packages, configuring and building.
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)

heading() { printf '\n== [%3d s] %s\n' "$SECONDS" "$*"; }

# The packages of the named sections of tools/packages.txt.
packages_of() {
  local section
  for section in "$@"; do
    sed -n "/^\[$section\]/,/^\[/p" "$repository/tools/packages.txt" | grep -v '^[[#]'
  done
}

# Installs what is missing of the named sections; asks apt nothing when nothing is.
ensure_packages() {
  local package status missing=() as_root=()
  for package in $(packages_of "$@"); do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=absent
    [[ $status == installed ]] || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    echo "Debian packages: all installed."
    return
  fi
  echo "Debian packages missing: ${missing[*]}"
  if ((EUID != 0)); then
    if ! sudo -n true 2>/dev/null; then
      echo "Not root, and sudo needs a password or is not there. Please run, then try again:" >&2
      echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 2
    fi
    as_root=(sudo -n)
  fi
  "${as_root[@]}" apt-get -o Acquire::Retries=3 update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 \
    install -y --no-install-recommends "${missing[@]}"
}
