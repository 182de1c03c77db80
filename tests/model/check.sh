#!/bin/bash
# Visits every state of the models and checks their assertions in each.
#
#   tests/model/check.sh                          both models, in the sizes below
#   tests/model/check.sh leadership -DUNKNOWNS=3  one model in one size; -D makes it larger (see the head of the model)
#   tests/model/check.sh mirror -DDEATHS=2 -DSTEPS=2
#
# Prints states, depth, memory and time. Exit status: 0 every state was visited and nothing violated; 1 an assertion or
# a deadlock (the steps that lead to it are printed), or some states were not visited, or a statement of leadership was
# never reached; 128 bad arguments. TANIST_MODEL_MB: the memory limit (4000).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
memory_mb=${TANIST_MODEL_MB:-4000}
depth_max=100000

sizes=(
  "leadership"
  "mirror -DSTEPS=2 -DDEATHS=1"
  "mirror -DSTEPS=1 -DDEATHS=2"
  "mirror -DSTEPS=1 -DDEATHS=1 -DLOSSES=1"
  "mirror -DSTEPS=1 -DDEATHS=1 -DSLICES=1 -DBEGINS_LOADING"
  "mirror -DSTEPS=2 -DDEATHS=0 -DWORKERS=3 -DSLICES=3"
  "mirror -DRANGES=2 -DSTEPS=1 -DDEATHS=1"
  "mirror -DRANGES=2 -DSTEPS=2 -DDEATHS=0 -DMOVES=1"
)
case ${1:-} in
  -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
  leadership | mirror) sizes=("$*") ;;
  '') ;;
  *) echo "check.sh: there is no model '$1': give leadership or mirror, or nothing" >&2; exit 128 ;;
esac

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

value() { sed -n "$1" pan.out | head -1; }

# explore MODEL [-D...]: visits its states; ends this script after an error.
explore() {
  local model=$1
  shift
  rm -f pan* ./*.trail
  spin "$@" -a "$here/$model.pml"
  gcc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM="$memory_mb" -o pan pan.c
  nice -n 10 ./pan -m$depth_max >pan.out 2>&1 || true
  echo "$model.pml $*: $(value 's/^ *\([0-9.e+]*\) states, stored.*/\1/p') states, depth" \
    "$(value 's/.*depth reached \([0-9]*\).*/\1/p'), $(value 's/^ *\([0-9.]*\)\ttotal actual memory.*/\1/p') MB," \
    "$(value 's/.*elapsed time \([0-9.e+]*\) seconds.*/\1/p') s"
  if [ -f "$model.pml.trail" ]; then
    grep -E '^pan:1:' pan.out || true
    spin "$@" -t -p -g "$here/$model.pml" | tail -60
    exit 1
  fi
  if ! grep -q 'errors: 0' pan.out ||
    grep -qE 'Search not completed|max search depth|out of memory|reached -DMEMLIM' pan.out; then
    echo "not all states were visited:"
    cat pan.out
    exit 1
  fi
  # A statement that is never reached is a case that the model cannot produce. The sizes of mirror leave out some faults
  # each; its planted errors show what it reaches.
  if [ "$model" = leadership ] && grep -P '^\t.*state \d+' pan.out | grep -v '"-end-"'; then
    echo "these statements were never reached"
    exit 1
  fi
}

for size in "${sizes[@]}"; do
  read -r -a arguments <<<"$size"
  explore "${arguments[@]}"
done

echo "every state visited, nothing violated"
