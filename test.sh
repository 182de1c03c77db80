#!/bin/bash
# Installs what the tests need, builds, and runs them. The last line is always `N passed, N failed`.
#
#   ./test.sh                 what CI runs: all tests of the release build, a selection of attacks on real
#                             clusters, and the unit, simulator and contract tests under ASan and UBSan
#   ./test.sh --all           the same, and under TSan as well
#   ./test.sh PART ...        only these parts:
#     --unit                  unit tests            --contract     adapters, against the real libraries
#     --tidy                  layout, purity, style --sim [N]      simulator (N: seeds)
#     --asan                  under ASan and UBSan  --tsan         under TSan
#     --chaos [N]             tanist chaos: N times the selection of attacks (docs/chaos.md)
#     --fuzz [SECONDS]        each decoder under libFuzzer
#     --msan                  unit tests under MemorySanitizer (clang), where no library prevents it
#     --model                 the protocol's model, exhaustively, and with errors planted (spin)
#     --mutants               protocol bugs planted one at a time, each to be found by the simulator
#
# Logs: build/test-logs. TANIST_JOBS: parallel jobs (default: all cores).
# Exit status: 0 all passed, 1 something failed, 128 bad arguments.
set -euo pipefail
cd "$(dirname "$0")"
. scripts/lib.sh

passed=0
failed=0
jobs=${TANIST_JOBS:-$(nproc)}
logs=build/test-logs
parts=()
chaos_rounds=1
fuzz_seconds=30
sim_seeds=
all=0
sanitized_parts='unit|sim|contract'

finish() { # the one line that everybody reads, whatever happened before
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  if [ "$failed" -gt 0 ]; then exit 1; else exit 0; fi
}

usage() { sed -n '2,18s/^# \{0,1\}//p' "$0"; }

number_or() { # number_or WORD DEFAULT: WORD if it is a number
  if [[ ${1:-} =~ ^[0-9]+$ ]]; then echo "$1"; else echo "$2"; fi
}

while [ $# -gt 0 ]; do
  case $1 in
    --unit | --contract | --tidy | --asan | --tsan | --msan | --model | --mutants) parts+=("${1#--}") ;;
    --chaos) parts+=(chaos); chaos_rounds=$(number_or "${2:-}" $chaos_rounds) ;;
    --sim) parts+=(sim); sim_seeds=$(number_or "${2:-}" "") ;;
    --fuzz) parts+=(fuzz); fuzz_seconds=$(number_or "${2:-}" $fuzz_seconds) ;;
    --all) all=1; parts+=(unit contract tidy sim chaos asan tsan) ;;
    -h | --help) usage; exit 0 ;;
    *) print_error "unknown argument '$1'"; usage >&2; exit 128 ;;
  esac
  if [[ $1 =~ ^--(chaos|sim|fuzz)$ && ${2:-} =~ ^[0-9]+$ ]]; then shift; fi
  shift
done
[ ${#parts[@]} -gt 0 ] || parts=(unit contract tidy sim chaos asan)

has() { [[ " ${parts[*]} " == *" $1 "* ]]; }

# count_junit FILE: add the numbers of one ctest run.
count_junit() {
  local head tests failures skipped
  head=$(grep -o '<testsuite [^>]*' "$1" 2>/dev/null || tr '\n' ' ' <"$1" | grep -o '<testsuite [^>]*')
  tests=$(sed -n 's/.* tests="\([0-9]*\)".*/\1/p' <<<"$head")
  failures=$(sed -n 's/.* failures="\([0-9]*\)".*/\1/p' <<<"$head")
  skipped=$(sed -n 's/.* skipped="\([0-9]*\)".*/\1/p' <<<"$head")
  passed=$((passed + tests - failures - ${skipped:-0}))
  failed=$((failed + failures))
}

# run_ctest DIR LABELS: the tests of DIR with one of LABELS (a regular expression).
run_ctest() {
  local dir=$1 labels=$2 name log junit
  name=$(basename "$dir")-${labels//|/-}
  log=$logs/$name.log
  junit=$PWD/$logs/$name.xml
  print_heading "$(basename "$dir"): $labels"
  rm -f "$junit"
  ctest --test-dir "$dir" -L "^($labels)\$" -j "$jobs" --output-on-failure --no-tests=ignore \
    --output-junit "$junit" >"$log" 2>&1 || true
  if ! grep -q 'tests passed' "$log"; then
    if ! grep -q '^ *Start ' "$log" && [ "$(wc -l <"$log")" -le 3 ]; then
      echo "   no tests of this kind"
      return
    fi
    tail -20 "$log" >&2
    failed=$((failed + 1))
    return
  fi
  local before=$failed
  tr '\n\t' '  ' <"$junit" >"$junit.line"
  count_junit "$junit.line"
  rm -f "$junit.line"
  grep -E 'tests passed|Total Test time' "$log" | sed 's/^/   /'
  [ "$failed" = "$before" ] || { grep -vE '   Passed  |^ +Start ' "$log" | tail -60; echo "   all words: $log"; }
}

# build_or_fail DIR FLAG...: a build that fails counts as one failed test.
build_or_fail() {
  local dir=$1
  shift
  print_heading "building $dir"
  if build_tree "$dir" "$logs/$(basename "$dir").log" all -DTANIST_TESTS=ON "$@"; then return 0; fi
  failed=$((failed + 1))
  return 1
}

# judge NAME COMMAND...: a part that is no ctest; one test, by exit status.
judge() {
  local name=$1 log=$logs/$1.log
  shift
  print_heading "$name: $*"
  if "$@" 2>&1 | tee "$log" | sed 's/^/   /'; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "   FAILED; all words: $log"
  fi
}

# attack NAME BUILD ROUNDS PLAN [ARGUMENT...]: a campaign; what is left of failed rounds is in $logs/NAME.
attack() {
  local name=$1 build=$2 rounds=$3 plan=$4
  shift 4
  rm -rf "${logs:?}/$name"
  judge "$name" "$build/tanist" chaos run --plan "$plan" --rounds "$rounds" --dir "$logs/$name" -q "$@"
}

# What a sanitizer says is in the logs of the nodes, where the verdict finds it.
attack_sanitized() { # attack_sanitized NAME BUILD
  LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0" \
    TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp:history_size=4" \
    UBSAN_OPTIONS=print_stacktrace=1 attack "$1" "$2" 1 kill-anything
}

# What is attacked in each test run, with each kind of fault at least once. Some five minutes.
attack_selection() { # attack_selection TIMES
  local times=$1
  attack chaos-kill build-chaos "$times" kill-anything --seed 1
  attack chaos-async build-chaos "$times" kill-anything --seed 2 --set train.mode=async
  attack chaos-zombies build-chaos "$times" zombies
  attack chaos-partitions build-chaos "$times" partitions
  attack chaos-zookeeper build-chaos "$times" zookeeper
  attack chaos-disks build-chaos "$times" disks
  attack chaos-hostile-peer build-chaos "$times" hostile-peer
  attack chaos-operator build-chaos "$times" operator
  attack chaos-moments build-chaos "$times" moments
  attack chaos-everything build-chaos $((2 * times)) everything
}

sets=(runtime build test)
if has tidy; then sets+=(lint); fi
if has fuzz || has msan; then sets+=(fuzz); fi
if has model; then sets+=(model); fi
if ! scripts/install-dependencies.sh "${sets[@]}"; then failed=1; finish; fi

mkdir -p "$logs"
export TANIST_SIM_SEEDS=${sim_seeds:-${TANIST_SIM_SEEDS:-}}
[ -n "$TANIST_SIM_SEEDS" ] || unset TANIST_SIM_SEEDS

release_labels=$(for p in unit contract sim tidy; do if has $p; then echo -n "$p|"; fi; done)
if [ -n "$release_labels" ]; then
  if build_or_fail build -DCMAKE_BUILD_TYPE=Release; then
    run_ctest build "${release_labels%|}"
  fi
fi

# Attacks reach into the processes: a build of their own, with failpoints.
if has chaos && build_or_fail build-chaos -DCMAKE_BUILD_TYPE=Release -DTANIST_TESTS=OFF \
    -DTANIST_FAILPOINTS=ON; then
  attack_selection "$chaos_rounds"
  if [ $all = 1 ]; then judge chaos-failpoints tests/chaos/failpoints.py --program build-chaos/tanist; fi
fi

if has asan && build_or_fail build-asan -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DTANIST_SANITIZE=address,undefined; then
  run_ctest build-asan "$sanitized_parts"
  if [ $all = 1 ]; then attack_sanitized chaos-asan build-asan; fi
fi
if has tsan && build_or_fail build-tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DTANIST_SANITIZE=thread; then
  run_ctest build-tsan "$sanitized_parts"
  if [ $all = 1 ]; then attack_sanitized chaos-tsan build-tsan; fi
fi
if has msan && build_or_fail build-msan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang \
    -DTANIST_SANITIZE=memory; then
  run_ctest build-msan unit
fi

if has fuzz && build_or_fail build-fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang \
    -DTANIST_FUZZ=ON -DTANIST_SANITIZE=address,undefined; then
  for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    target=build-fuzz/bin/$name
    corpus=build-fuzz/corpus/$name
    mkdir -p "$corpus"
    seeds=()
    [ ! -d "tests/fuzz/corpus/${name#fuzz_}" ] || seeds=("tests/fuzz/corpus/${name#fuzz_}")
    judge "$name" "$target" -max_total_time="$fuzz_seconds" -timeout=10 -verbosity=0 \
      -print_final_stats=1 -artifact_prefix="$logs/" "$corpus" "${seeds[@]}"
  done
fi

if has model; then
  judge model tests/model/check.sh
  judge model-mutants tests/model/mutants.sh
fi
if has mutants; then
  judge sim-mutants tests/sim/mutants.py --jobs "$jobs"
fi

finish
