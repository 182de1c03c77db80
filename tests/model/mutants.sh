#!/bin/bash
# Plants one error at a time into leadership.pml. An assertion must find each, else the model checks too little.
#
#   tests/model/mutants.sh
#
# Prints for each the assertion that found it and the number of states. Exit status: 0 all were found, 1 not.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

mutants=(
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

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

escaped=0
for line in "${mutants[@]}"; do
  read -r name text <<<"$line"
  rm -f pan* ./*.trail
  spin -DMUTANT_"$name" -a "$here/leadership.pml"
  gcc -O1 -w -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c
  nice -n 10 ./pan -m100000 >pan.out 2>&1 || true
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out | head -1)
  found=$(sed -n 's/^pan:1: assertion violated *\(.*\) (at depth \([0-9]*\))/\1, depth \2/p' pan.out | head -1)
  if [ -n "$found" ]; then
    echo "found    $text: $found, $states states"
  else
    echo "ESCAPED  $text: ${states:-?} states"
    escaped=$((escaped + 1))
  fi
done
echo "${#mutants[@]} planted, $((${#mutants[@]} - escaped)) found"
[ $escaped -eq 0 ]
