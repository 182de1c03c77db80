#!/bin/bash
# Installs the Debian packages that Tanist needs, unless they are installed already.
#
#   scripts/install-dependencies.sh SET ...     SET: runtime, build, test, lint, fuzz, model
#
# Needs root, or sudo. Exit status: 0 all packages are installed; 1 one could not be installed;
# 128 bad arguments.
set -euo pipefail

declare -A packages=(
  [runtime]="zookeeper default-jre-headless dataset-fashion-mnist libzookeeper-mt2 libnng1 liblmdb0 libjansson4
             libxxhash0 libprotobuf-c1 libpng16-16 libturbojpeg0 libzstd1 zlib1g"
  [build]="gcc libc6-dev cmake ninja-build pkg-config libzookeeper-mt-dev libnng-dev liblmdb-dev
           libopenblas-dev libjansson-dev libxxhash-dev zlib1g-dev libonnx-dev libprotobuf-c-dev
           protobuf-c-compiler libpng-dev libturbojpeg0-dev libzstd-dev"
  [test]="libcmocka-dev python3 binutils procps iproute2 nftables python3-numpy python3-pandas python3-pil
          python3-sklearn python3-torch python3-zstandard python3-nbclient python3-nbformat python3-ipykernel"
  [lint]="clang-format-16 clang-tidy"
  [model]="spin gcc libc6-dev"
  [fuzz]="clang libclang-rt-14-dev"
)

print_heading() { printf '== %s\n' "$*"; }
fail() { printf 'install-dependencies: %s\n' "$*" >&2; exit 1; }

usage() { sed -n '2,7s/^# \{0,1\}//p' "$0"; }

case ${1:-} in
  -h | --help) usage; exit 0 ;;
  '') usage >&2; exit 128 ;;
esac
wanted=()
for set in "$@"; do
  if [ -z "${packages[$set]:-}" ]; then
    printf 'install-dependencies: unknown set %s: give some of %s\n' "'$set'" "${!packages[*]}" >&2
    exit 128
  fi
  read -r -d '' -a names <<<"${packages[$set]}" || true
  wanted+=("${names[@]}")
done

command -v dpkg-query >/dev/null ||
  fail "this system is not Debian; install the equivalents of these packages yourself: ${wanted[*]}"

missing=()
installed=" $(dpkg-query -W -f='${db:Status-Status}:${Package} ' "${wanted[@]}" 2>/dev/null || true)"
for name in "${wanted[@]}"; do
  [[ $installed == *" installed:$name "* ]] || missing+=("$name")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null ||
    fail "missing packages: ${missing[*]}; run this script as root, or install sudo"
  as_root=(sudo)
fi

print_heading "installing ${missing[*]}"
export_noninteractive=(env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

apt() { # apt ARGUMENT...: call apt-get; print its output only if it fails.
  if ! "${as_root[@]}" "${export_noninteractive[@]}" apt-get -qq -o Dpkg::Use-Pty=0 \
      -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1 </dev/null; then
    tail -20 "$log" >&2
    fail "apt-get $1 failed (the end of its output is above)"
  fi
}

# Java's installation links manual pages into this folder, which minimal images lack.
"${as_root[@]}" mkdir -p /usr/share/man/man1
apt update
apt install -y --no-install-recommends "${missing[@]}"
print_heading "installed in ${SECONDS} s"
