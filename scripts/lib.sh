# Functions for quickstart.sh and test.sh, which source this file. Build output goes to files.

# Numbers are printed and parsed with a decimal point in every locale.
export LC_ALL=C

print_heading() { printf '\n== %s\n' "$*"; }
print_error() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# build_tree DIR LOG TARGET CMAKE_FLAG...: configure DIR (once; flags are applied each time) and build.
# On failure prints the errors and returns 1.
build_tree() {
  local dir=$1 log=$2 target=$3 generator=()
  shift 3
  [ -e "$dir/CMakeCache.txt" ] || generator=(-G Ninja)
  if ! cmake -S . -B "$dir" "${generator[@]}" "$@" >"$log" 2>&1; then
    tail -25 "$log" >&2
    print_error "cmake failed for $dir; the whole output is in $log"
    return 1
  fi
  if ! cmake --build "$dir" --target "$target" -j "${TANIST_JOBS:-$(nproc)}" >>"$log" 2>&1; then
    grep -E -A6 'error|FAILED|undefined reference' "$log" | head -40 >&2 || tail -25 "$log" >&2
    print_error "the build of $dir failed; the whole output is in $log"
    return 1
  fi
}
