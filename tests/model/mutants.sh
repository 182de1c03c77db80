#!/bin/bash
# Plants one error at a time into a model. An assertion must find each, or a deadlock, else the model checks too little.
#
#   tests/model/mutants.sh [NAME...]     NAME: these errors only, such as NO_FENCE
#
# Prints for each the assertion that found it and the number of states. Exit status: 0 all were found, 1 not, 128 bad
# arguments.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

leadership=(
  "NO_FENCE            an order is not conditional on the epoch"
  "NO_RUN_VERSION      an order is not conditional on the /run that it depends on"
  "NO_ZNODE            a claim of /chief does not check that the election znode still exists"
  "UNKNOWN_IS_SUCCESS  a lost answer is treated as a success"
  "KEEPS_GENERATION    a ps that restarted empty reports its former generation"
  "OLD_REPORT_COUNTS   the report of a former incarnation counts"
  "RUN_WITHOUT_WAITING the chief orders running before every ps has loaded"
  "LOADS_WHILE_RUNNING a ps loads the generation in which the others train already"
  "READS_BEFORE_REGISTERED a restarted ps acts on an old /run from a server that lags"
)
# With the size that finds it soon.
mirror=(
  "NO_ASKING_AROUND    -DDEATHS=1               an owner that lacks the sum of its range asks no peer (M6)"
  "DROPS_WHEN_IT_MOVES -DDEATHS=0,-DMOVES=2     gradients are dropped when the range moves away (M2)"
  "GONE_EMPTIES        -DDEATHS=0,-DMOVES=1,-DKEEP=0 a worker that is too far behind gives up its values (M7)"
  "ADOPTS_BACKWARDS    -DDEATHS=0,-DMOVES=1,-DKEEP=0 the values of a peer count even if they are older (M7)"
  "NO_STEPS_IN_STOPPING -DDEATHS=1,-DSTEPS=1    workers compute nothing while the run is stopping (M11)"
  "VALUES_COUNT_WHILE_PAUSED -DDEATHS=2,-DSTEPS=1 values of a peer that end in a pause count (M8)"
  "LOAD_COUNTS_WHILE_PAUSED -DBEGINS_LOADING,-DDEATHS=1,-DSTEPS=1 a load that ends in a pause counts (M8)"
  "OLD_REPORT_COUNTS   -DBEGINS_LOADING,-DDEATHS=1,-DSTEPS=1 a report from before the pause counts (M8)"
  "UNKNOWN_COUNTS      -DBEGINS_LOADING,-DDEATHS=1,-DSTEPS=1 a worker that has not reported counts as empty (C21)"
  "LOAD_REPLACES_VALUES -DBEGINS_LOADING,-DDEATHS=0 a load that ends late replaces the values of a peer"
  "SUM_OF_SOME_SLICES  -DDEATHS=0               a sum is made before all slices arrived (M4)"
  "ANY_SUM_COUNTS      -DDEATHS=0,-DMOVES=1     a sum of another step is taken (M1)"
  "HELD_STAYS          -DDEATHS=0,-DSTEPS=3     gradients of a step that is over stay (M2)"
  "NOT_ASKED_AGAIN     -DDEATHS=0,-DLOSSES=1    a question is not repeated on a new connection (M3)"
  "EARLY_IS_IGNORED    -DDEATHS=0,-DRANGES=2    gradients of the next step are neither held nor refused (M2)"
)

wanted=" $* "
case ${1:-} in
  -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
for name in "$@"; do
  printf '%s\n' "${leadership[@]}" "${mirror[@]}" | grep -q "^$name " ||
    { echo "mutants.sh: no error is called '$name'" >&2; exit 128; }
done

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

planted=0
escaped=0

# plant MODEL NAME TEXT [-D...]
plant() {
  local model=$1 name=$2 text=$3 states found
  shift 3
  if [ "$wanted" != "  " ] && [[ "$wanted" != *" $name "* ]]; then return; fi
  planted=$((planted + 1))
  rm -f pan* ./*.trail
  spin -DMUTANT_"$name" "$@" -a "$here/$model.pml"
  gcc -O1 -w -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c
  nice -n 10 ./pan -m100000 >pan.out 2>&1 || true
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out | head -1)
  found=$(sed -nE 's/^pan:1: (assertion violated *(.*)|invalid (end state)) \(at depth ([0-9]*)\)/\2\3, depth \4/p' pan.out | head -1)
  if [ -n "$found" ]; then
    echo "found    $model: $text: ${found/#end state/deadlock}, $states states"
  else
    echo "ESCAPED  $model: $text: ${states:-?} states"
    escaped=$((escaped + 1))
  fi
}

for line in "${leadership[@]}"; do
  read -r name text <<<"$line"
  plant leadership "$name" "$text"
done
for line in "${mirror[@]}"; do
  read -r name size text <<<"$line"
  # shellcheck disable=SC2086
  plant mirror "$name" "$text" ${size//,/ }
done
echo "$planted planted, $((planted - escaped)) found"
[ $escaped -eq 0 ]
