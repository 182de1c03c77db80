#!/bin/bash
# Visits every state of leadership.pml and checks its assertions in each.
#
#   tests/model/check.sh [-D...]     -DUNKNOWNS=3 and the like make the model larger
#
# Prints states, depth, memory and time. Exit status: 0 every state was visited and nothing violated; 1 an assertion or
# a deadlock (the steps that lead to it are printed), or some states were not visited, or a statement was never reached.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
memory_mb=${TANIST_MODEL_MB:-4000}
depth_max=100000

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

spin "$@" -a "$here/leadership.pml"
gcc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM="$memory_mb" -o pan pan.c
nice -n 10 ./pan -m$depth_max >pan.out 2>&1 || true

value() { sed -n "$1" pan.out | head -1; }
states=$(value 's/^ *\([0-9.e+]*\) states, stored.*/\1/p')
depth=$(value 's/.*depth reached \([0-9]*\).*/\1/p')
memory=$(value 's/^ *\([0-9.]*\)\ttotal actual memory.*/\1/p')
seconds=$(value 's/.*elapsed time \([0-9.e+]*\) seconds.*/\1/p')
echo "leadership.pml: ${states:-?} states, depth ${depth:-?}, ${memory:-?} MB, ${seconds:-?} s"

if [ -f leadership.pml.trail ]; then
  grep -E '^pan:1:' pan.out || true
  spin "$@" -t -p -g "$here/leadership.pml" | tail -60
  exit 1
fi
if ! grep -q 'errors: 0' pan.out || grep -qE 'Search not completed|max search depth|out of memory|reached -DMEMLIM' pan.out; then
  echo "not all states were visited:"
  cat pan.out
  exit 1
fi
# A statement that is never reached is a case that the model cannot produce.
if grep -P '^\t.*state \d+' pan.out | grep -v '"-end-"'; then
  echo "these statements were never reached"
  exit 1
fi
echo "every state visited, nothing violated"
