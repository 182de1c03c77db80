#!/bin/bash
# Plants one error at a time into office.pml: an assertion must find each. A model that finds none of them is deaf.
#
#   tests/model/mutants.sh
#
# Says of each what found it, and after how many states. Exit status: 0 all found, 1 not.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

mutants=(
  "NO_FENCE            an order is not conditional on the epoch"
  "NO_RUN_VERSION      an order is not conditional on the /run it rests on"
  "NO_SEAT             taking office does not check that the election znode is still there"
  "UNKNOWN_IS_SUCCESS  an answer that got lost is taken for a success"
  "KEEPS_GENERATION    a ps reborn empty says that it has its generation"
  "OLD_REPORT_COUNTS   the report of an incarnation that is gone counts"
  "RUN_WITHOUT_WAITING the chief says running before every ps has loaded"
  "LOADS_WHILE_RUNNING a ps loads the generation that the others train in already"
  "READS_BEFORE_REGISTERED a ps reborn acts on what a server that lags behind shows it as /run"
)

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

escaped=0
for line in "${mutants[@]}"; do
  read -r name words <<<"$line"
  rm -f pan* ./*.trail
  spin -DMUTANT_"$name" -a "$here/office.pml"
  gcc -O1 -w -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c
  nice -n 10 ./pan -m100000 >pan.out 2>&1 || true
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out | head -1)
  found=$(sed -n 's/^pan:1: assertion violated *\(.*\) (at depth \([0-9]*\))/\1, depth \2/p' pan.out | head -1)
  if [ -n "$found" ]; then
    echo "found    $words: $found, $states states"
  else
    echo "ESCAPED  $words: ${states:-?} states"
    escaped=$((escaped + 1))
  fi
done
echo "${#mutants[@]} planted, $((${#mutants[@]} - escaped)) found"
[ $escaped -eq 0 ]
