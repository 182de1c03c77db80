#!/bin/bash
# Installs missing packages, builds, and runs the tests. The last line is always `N passed, N failed`,
# followed by `, N skipped` when tests were skipped; the lines before it name what failed.
#
#   ./test.sh                 as in CI: all tests of the release build, a selection of chaos campaigns, and the
#                             unit, simulator and contract tests under ASan and UBSan, without the longest tests
#                             and the longest cases
#   ./test.sh --all           the same with the longest ones and a deeper clang-analyzer, also under TSan, and a
#                             campaign for each failpoint
#   ./test.sh --rewrite-golden   write the golden files of the unit tests again; review the diff
#   ./test.sh PART ...        only these parts:
#     --unit                  unit tests            --contract     adapters, against the real libraries
#     --tidy                  layout, purity, style --sim [N]      simulator (N: number of seeds)
#     --asan                  under ASan and UBSan  --tsan         under TSan
#     --chaos [N]             the selection of chaos campaigns, N times (docs/chaos.md)
#     --soak [MINUTES]        a long run with a kill every 2 s: same bits, and no resource grows
#     --kills [N]             N kills of workers without ps while another has the values: no step is lost
#     --fuzz [SECONDS]        each decoder under libFuzzer
#     --msan                  unit tests under MemorySanitizer (clang), where no library prevents it
#     --model                 the protocol's model: every state, and with planted errors (spin)
#     --digests               one digest for each example and each network, however and wherever it is computed
#     --mutants               planted bugs; the simulator, or the test that is named, must find each
#
# Logs: build/test-logs, where failed/ has the folders of failed contract tests. TANIST_JOBS: parallel jobs of
# builds (default: all cores). Twice as many tests run at the same time, because most of them wait for processes
# more than half of the time.
# Exit status: 0 all passed, 1 something failed, 128 bad arguments.
set -euo pipefail
cd "$(dirname "$0")"
. scripts/lib.sh

passed=0
skipped=0
failed=() # The name of each failed test, and where it failed.
jobs=${TANIST_JOBS:-$(nproc)}
test_jobs=$((jobs * 2))
logs=build/test-logs
parts=()
chaos_rounds=1
fuzz_seconds=30
soak_minutes=60
kills=1000
sim_seeds=
all=0
sanitized_parts='unit|sim|contract'
not_sanitized= # The label of tests, and of cases of tests, that are left out under sanitizers.

finish() { # Prints the sums and exits.
  printf '\n'
  if [ ${#failed[@]} -gt 0 ]; then printf 'FAILED: %s\n' "${failed[@]}"; fi
  printf '%d passed, %d failed' "$passed" "${#failed[@]}"
  if [ "$skipped" -gt 0 ]; then printf ', %d skipped' "$skipped"; fi
  printf '\n'
  exit $((${#failed[@]} > 0))
}

usage() { sed -n '2,26s/^# \{0,1\}//p' "$0"; }

number_or() { # number_or ARGUMENT DEFAULT: ARGUMENT if it is a number
  if [[ ${1:-} =~ ^[0-9]+$ ]]; then echo "$1"; else echo "$2"; fi
}

while [ $# -gt 0 ]; do
  case $1 in
    --unit | --contract | --tidy | --asan | --tsan | --msan | --model | --digests | --mutants) parts+=("${1#--}") ;;
    --chaos) parts+=(chaos); chaos_rounds=$(number_or "${2:-}" $chaos_rounds) ;;
    --sim) parts+=(sim); sim_seeds=$(number_or "${2:-}" "") ;;
    --fuzz) parts+=(fuzz); fuzz_seconds=$(number_or "${2:-}" $fuzz_seconds) ;;
    --soak) parts+=(soak); soak_minutes=$(number_or "${2:-}" $soak_minutes) ;;
    --kills) parts+=(kills); kills=$(number_or "${2:-}" $kills) ;;
    --rewrite-golden) parts+=(unit); export TANIST_REWRITE_GOLDEN=1 ;;
    --all) all=1; parts+=(unit contract tidy sim chaos asan tsan); export TANIST_LINT_DEEP=1 ;;
    -h | --help) usage; exit 0 ;;
    *) print_error "unknown argument '$1'"; usage >&2; exit 128 ;;
  esac
  if [[ $1 =~ ^--(chaos|sim|fuzz|soak|kills)$ && ${2:-} =~ ^[0-9]+$ ]]; then shift; fi
  shift
done
if [ ${#parts[@]} = 0 ]; then
  parts=(unit contract tidy sim chaos asan)
  not_sanitized=long
fi

has() { [[ " ${parts[*]} " == *" $1 "* ]]; }

# run_ctest DIR LABELS [BUT]: the tests of the build folder DIR with one of LABELS (a regular expression) and
# without the label BUT.
run_ctest() {
  local dir=$1 labels=$2 but=${3:-} name log junit
  local exclude=()
  [ -z "$but" ] || exclude=(-LE "^($but)\$")
  name=$(basename "$dir")-${labels//|/-}
  log=$logs/$name.log
  junit=$PWD/$logs/$name.xml
  print_heading "$(basename "$dir"): $labels"
  rm -f "$junit"
  TANIST_TEST_WITHOUT=$but ctest --test-dir "$dir" -L "^($labels)\$" "${exclude[@]}" -j "$test_jobs" \
    --output-on-failure --no-tests=ignore \
    --test-output-size-passed 1000000 --output-junit "$junit" >"$log" 2>&1 || true
  if ! grep -q 'tests passed' "$log"; then
    if ! grep -q '^ *Start ' "$log" && [ "$(wc -l <"$log")" -le 3 ]; then
      echo "   no tests with this label"
      return
    fi
    tail -20 "$log" >&2
    failed+=("$name")
    return
  fi
  local more_passed more_failed more_skipped names
  read -r more_passed more_failed more_skipped names <<<"$(scripts/count_tests.py "$junit" || echo 0 1 0 "$name")"
  passed=$((passed + more_passed))
  for name in $names; do failed+=("$name of $(basename "$dir")"); done
  skipped=$((skipped + more_skipped))
  grep -E 'tests passed|Total Test time' "$log" | sed 's/^/   /'
  if [ "$more_failed" != 0 ]; then
    grep -E '^(kept |\| )' "$log" | head -400 | sed 's/^/   /' || true # tests/contract/evidence.py
    echo "   whole log: $log"
  fi
}

# build_or_fail DIR TARGET FLAG...: a build that fails counts as one failed test.
build_or_fail() {
  local dir=$1 target=$2
  shift 2
  print_heading "building $dir"
  if build_tree "$dir" "$logs/$(basename "$dir").log" "$target" -DTANIST_TESTS=ON "$@"; then return 0; fi
  failed+=("building $dir")
  return 1
}

# share_zookeeper: a ZooKeeper server that the runs of contract tests share (tests/contract/case.py). It ends with this
# script, also by SIGKILL. Without it, each run starts its own server.
share_zookeeper() {
  local folder=$PWD/$logs/zookeeper address=$PWD/$logs/zookeeper.address server
  for _ in 1 2 3; do # The port may be taken.
    rm -rf "$folder" "$address"
    mkdir -p "$folder"
    printf '%s\n' "clientPort=$((10000 + RANDOM % 20000))" clientPortAddress=127.0.0.1 "dataDir=$folder" tickTime=500 \
      maxSessionTimeout=60000 maxClientCnxns=0 admin.enableServer=false >"$folder.cfg"
    setpriv --pdeathsig TERM build/tanist zk start --foreground "$folder.cfg" >"$address" 2>"$folder.log" &
    server=$!
    while [ ! -s "$address" ] && kill -0 "$server" 2>/dev/null; do sleep 0.1; done
    if [ -s "$address" ]; then
      TANIST_TEST_ZOOKEEPER=$(<"$address")
      export TANIST_TEST_ZOOKEEPER
      return
    fi
  done
  echo "   no shared ZooKeeper server: $(tail -1 "$folder.log")"
}

# run_command NAME COMMAND...: a test outside ctest; it passes when the exit status is 0.
run_command() {
  local name=$1 log=$logs/$1.log
  shift
  print_heading "$name: $*"
  if "$@" 2>&1 | tee "$log" | sed 's/^/   /'; then
    passed=$((passed + 1))
  else
    failed+=("$name")
    echo "   FAILED; whole log: $log"
  fi
}

# campaign NAME BUILD ROUNDS PLAN [ARGUMENT...]: a chaos campaign; $logs/NAME keeps the failed rounds.
# A campaign in which no fault could be injected on this machine counts as skipped.
campaign() {
  local name=$1 build=$2 rounds=$3 plan=$4 before=$passed
  shift 4
  rm -rf "${logs:?}/$name"
  run_command "$name" "$build/tanist" chaos run --plan "$plan" --rounds "$rounds" --dir "$logs/$name" -q \
    --allow-skips network,bandwidth,tmpfs "$@"
  if [ "$passed" -gt "$before" ] && ! grep -q '^round [0-9]*: passed' "$logs/$name.log"; then
    passed=$before
    skipped=$((skipped + 1))
  fi
}

# campaign_sanitized NAME BUILD: reports of sanitizers are in the logs of the nodes; the verdict finds them.
campaign_sanitized() {
  LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0" \
    TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp:history_size=4:atexit_sleep_ms=0" \
    UBSAN_OPTIONS=print_stacktrace=1 campaign "$1" "$2" 1 kill-anything
}

# campaign_selection TIMES: every kind of fault at least once. Jobs that are the same have one baseline run.
campaign_selection() {
  local times=$1 with=build/failpoints same=(--baseline "$logs/chaos-kill/round-0001/history.jsonl")
  campaign chaos-kill $with "$times" kill-anything --seed 1
  campaign chaos-lane $with "$times" kill-anything --seed 3 --network loopback --set transport.lane=shm
  campaign chaos-mirror $with "$times" kill-worker --set strategy.type=mirror --set cluster.workers=3
  campaign chaos-async $with "$times" kill-anything --seed 2 --set train.mode=async
  campaign chaos-zombies $with "$times" zombies "${same[@]}"
  campaign chaos-partitions $with "$times" partitions "${same[@]}"
  campaign chaos-zookeeper $with "$times" zookeeper "${same[@]}"
  campaign chaos-disks $with "$times" disks
  campaign chaos-hostile-peer $with "$times" hostile-peer "${same[@]}"
  campaign chaos-operator $with "$times" operator "${same[@]}"
  campaign chaos-moments $with "$times" moments
  LD_LIBRARY_PATH=$PWD/build/emulated-gpu TANIST_CUDA_MODULE=$PWD/build/emulated-gpu/tanist-cuda.fatbin \
    TANIST_EMULATED_GPU=devices=4 campaign chaos-gpu $with "$times" gpu --job tests/chaos/gpu.json --set train.gpus=2
  LD_LIBRARY_PATH=$PWD/build/emulated-gpu TANIST_CUDA_MODULE=$PWD/build/emulated-gpu/tanist-cuda.fatbin \
    campaign chaos-gpu-ps $with "$times" gpu --job tests/chaos/gpu.json --set train.kernels=portable --set train.ps_kernels=cuda
  campaign chaos-everything $with $((2 * times)) everything
}

sets=(runtime build test)
if has tidy; then sets+=(lint); fi
if has fuzz || has msan; then sets+=(fuzz); fi
if has model; then sets+=(model); fi
if ! scripts/install-dependencies.sh "${sets[@]}"; then failed+=("installing packages"); finish; fi

mkdir -p "$logs"
export TANIST_SIM_SEEDS=${sim_seeds:-${TANIST_SIM_SEEDS:-}}
[ -n "$TANIST_SIM_SEEDS" ] || unset TANIST_SIM_SEEDS

release_labels=$(for p in unit contract sim tidy; do if has $p; then echo -n "$p|"; fi; done)
if [ -n "$release_labels" ]; then
  if build_or_fail build all -DCMAKE_BUILD_TYPE=Release; then
    ! has contract || share_zookeeper
    run_ctest build "${release_labels%|}"
    export TANIST_REFERENCE=$PWD/build/tanist # Observes the runs of the sanitized builds (tests/contract/case.py).
  fi
fi

# Campaigns need a program with failpoints.
if has chaos && build_or_fail build failpoints -DCMAKE_BUILD_TYPE=Release; then
  campaign_selection "$chaos_rounds"
  if [ $all = 1 ]; then run_command chaos-failpoints tests/chaos/failpoints.py --program build/failpoints/tanist; fi
fi

if has soak && build_or_fail build all -DCMAKE_BUILD_TYPE=Release; then
  run_command soak tests/chaos/soak.py --program build/tanist --minutes "$soak_minutes"
fi

if has kills && build_or_fail build all -DCMAKE_BUILD_TYPE=Release; then
  run_command kills tests/chaos/survivor_kills.py --program build/tanist --kills "$kills"
fi

if has asan && build_or_fail build-asan all -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTANIST_CUDA=OFF \
    -DTANIST_SANITIZE=address,undefined; then
  run_ctest build-asan "$sanitized_parts" "$not_sanitized"
  if [ $all = 1 ]; then campaign_sanitized chaos-asan build-asan; fi
fi
if has tsan && build_or_fail build-tsan all -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTANIST_CUDA=OFF \
    -DTANIST_SANITIZE=thread; then
  run_ctest build-tsan "$sanitized_parts" "$not_sanitized"
  if [ $all = 1 ]; then campaign_sanitized chaos-tsan build-tsan; fi
fi
if has msan && build_or_fail build-msan all -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang \
    -DTANIST_SANITIZE=memory; then
  run_ctest build-msan unit
fi

if has fuzz && build_or_fail build-fuzz all -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang \
    -DTANIST_FUZZ=ON -DTANIST_SANITIZE=address,undefined; then
  for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    target=build-fuzz/bin/$name
    corpus=build-fuzz/corpus/$name
    mkdir -p "$corpus"
    seeds=()
    [ ! -d "tests/fuzz/corpus/${name#fuzz_}" ] || seeds=("tests/fuzz/corpus/${name#fuzz_}")
    run_command "$name" "$target" -max_total_time="$fuzz_seconds" -timeout=10 -verbosity=0 \
      -print_final_stats=1 -artifact_prefix="$logs/" "$corpus" "${seeds[@]}"
  done
fi

if has model; then
  run_command model tests/model/check.sh
  run_command model-mutants tests/model/mutants.sh
fi
if has digests && build_or_fail build all -DCMAKE_BUILD_TYPE=Release; then
  run_command digests tests/portable/digests.py
  run_command portable tests/portable/compare.py
fi
if has mutants; then
  run_command sim-mutants tests/sim/mutants.py --jobs "$jobs"
  run_command planted tests/sim/planted.py
fi

finish
