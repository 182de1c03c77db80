# Shared by quickstart.sh and test.sh; to be sourced. Words go to the terminal, noise to files.

# Numbers are printed and parsed with a point, whatever the user speaks.
export LC_ALL=C

say() { printf '\n== %s\n' "$*"; }
complain() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# build_tree DIR LOG TARGET CMAKE_FLAG...: configure DIR (once; flags are applied each time) and build.
# On failure the errors are shown and 1 is returned.
build_tree() {
  local dir=$1 log=$2 target=$3 generator=()
  shift 3
  [ -e "$dir/CMakeCache.txt" ] || generator=(-G Ninja)
  if ! cmake -S . -B "$dir" "${generator[@]}" "$@" >"$log" 2>&1; then
    tail -25 "$log" >&2
    complain "cmake failed for $dir; all of its words are in $log"
    return 1
  fi
  if ! cmake --build "$dir" --target "$target" -j "${TANIST_JOBS:-$(nproc)}" >>"$log" 2>&1; then
    grep -E -A6 'error|FAILED|undefined reference' "$log" | head -40 >&2 || tail -25 "$log" >&2
    complain "the build of $dir failed; all of its words are in $log"
    return 1
  fi
}
