#!/bin/bash
# Shows what Tanist does, on this machine, in a few minutes: installs what is missing, builds, trains
# Fashion-MNIST once undisturbed, and once more while a worker, a ps and the chief are killed
# with SIGKILL; then compares the two results bit by bit.
#
#   ./quickstart.sh [--keep] [--set KEY=VALUE ...]
#
#   --keep            leaves the files of both runs, and says where
#   --set KEY=VALUE   overrides a key of examples/fashion-mnist.json in both runs
#
# Exit status: 0 the results are the same; 1 they differ, or something failed; 128 bad arguments.
set -euo pipefail
cd "$(dirname "$0")"
. scripts/lib.sh

job=examples/fashion-mnist.json
tanist=build/tanist
keep=0
settings=()
while [ $# -gt 0 ]; do
  case $1 in
    --keep) keep=1 ;;
    --set) [ $# -ge 2 ] || { complain "--set needs KEY=VALUE"; exit 128; }; settings+=(--set "$2"); shift ;;
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) complain "unknown argument '$1'"; sed -n '6,9s/^# \{0,1\}//p' "$0" >&2; exit 128 ;;
  esac
  shift
done

scripts/install-dependencies.sh runtime build
say "building $tanist"
mkdir -p build
tests=()
[ -e build/CMakeCache.txt ] || tests=(-DTANIST_TESTS=OFF)
build_tree build build/quickstart-build.log tanist -DCMAKE_BUILD_TYPE=Release "${tests[@]}"
echo "   $($tanist --version)"

files=$(mktemp -d "${TMPDIR:-/tmp}/tanist-quickstart.XXXXXX")
run_pid= watch_pid= killed=()

clean_up() { # whatever ends us, nothing of ours stays
  local status=$?
  trap '' INT TERM
  for pid in $watch_pid $run_pid; do kill -TERM "$pid" 2>/dev/null || true; done
  for _ in $(seq 100); do # A run ends itself tidily; one that cannot is not waited for.
    [ -n "$(jobs -rp)" ] || break
    sleep 0.1
  done
  for pid in $(jobs -rp); do kill -KILL "$pid" 2>/dev/null || true; done
  if [ $keep = 1 ]; then echo "The files of both runs: $files"; else rm -rf "$files"; fi
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

give_up() { # give_up WORDS LOG: the last words of a run, and out
  [ ! -s "$2" ] || tail -15 "$2" >&2
  complain "$1"
  keep=1
  exit 1
}

# field NAME <JSON: the value of a key of an object; JSON may span lines.
field() { tr -d '\n' | sed -n 's/.*"'"$1"'" *: *"\{0,1\}\([^",}]*\).*/\1/p' | sed 's/ *$//'; }
result() { field "$1" <"$files/$2.json"; }

start_run() { # start_run NAME: in the background; its result goes to NAME.json, its words to NAME.log
  "$tanist" run "$job" --dir "$files/$1" "${settings[@]}" -o json \
    >"$files/$1.json" 2>"$files/$1.log" &
  run_pid=$!
}

end_run() { # end_run NAME: wait for it
  local status=0
  wait "$run_pid" || status=$?
  run_pid=
  [ $status = 0 ] || give_up "the $1 run ended with exit status $status" "$files/$1.log"
}

status_of() { "$tanist" status --dir "$files/$1" -o json 2>/dev/null | tr -d '\n' || true; }

task_field() { # task_field ROLE INDEX NAME <STATUS
  grep -o '{[^{}]*"role" *: *"'"$1"'"[^{}]*}' | grep '"index" *: *'"$2"'[,} ]' | field "$3" || true
}

# kill_at STEP WHAT ROLE INDEX: SIGKILL to a task once the run has reached STEP. WHAT is for people;
# the role `chief` is whoever holds office then.
kill_at() {
  local wanted=$1 what=$2 role=$3 index=$4 now step pid task
  while kill -0 "$run_pid" 2>/dev/null; do
    now=$(status_of storm)
    step=$(field step <<<"${now%%\"tasks\"*}}")
    if [ "${step:-0}" -ge "$wanted" ]; then
      if [ "$role" = chief ]; then
        now=$(grep -o '"chief" *: *{[^{}]*}' <<<"$now" || true)
        pid=$(field pid <<<"$now")
        task=$(field task <<<"$now")
      else
        pid=$(task_field "$role" "$index" pid <<<"$now")
        task=$role:$index
      fi
      if [ "${pid:-0}" -gt 1 ] && kill -KILL "$pid" 2>/dev/null; then
        echo "   >>> kill -9 $pid: $what ($task), after step $step"
        killed+=("$task")
        return
      fi
    fi
    sleep 0.2
  done
  give_up "the run ended before $what could be killed; give it more steps: --set train.steps=N" \
    "$files/storm.log"
}

say "first run: nobody disturbs it"
start_run calm
( exec tail -n +1 -f --pid="$run_pid" "$files/calm.log" 2>/dev/null ) | sed -u 's/^/   /' &
watch_pid=$!
end_run calm
wait "$watch_pid" 2>/dev/null || true
watch_pid=
steps=$(result steps calm)

say "second run: the same job; a worker, a ps and the chief will be killed with SIGKILL"
start_run storm
for _ in $(seq 100); do
  [ -z "$(status_of storm)" ] || break
  kill -0 "$run_pid" 2>/dev/null || break
  sleep 0.2
done
"$tanist" watch --dir "$files/storm" > >(sed -u 's/^/   /') 2>/dev/null &
watch_pid=$!
kill_at $((steps / 5)) "a worker" worker 0
kill_at $((steps * 2 / 5)) "a parameter server" ps 0
kill_at $((steps * 3 / 5)) "the chief" chief -
end_run storm
wait "$watch_pid" 2>/dev/null || true
watch_pid=

say "what came out"
printf '   %-12s %8s %9s %9s   %s\n' run steps accuracy seconds 'digest of all parameters'
for name in calm storm; do
  word=undisturbed
  [ $name = calm ] || word=disturbed
  printf '   %-12s %8s %9.4f %9.1f   %s\n' $word "$(result steps $name)" "$(result accuracy $name)" \
    "$(result seconds $name)" "$(result parameters_digest $name)"
done
echo
if [ "$(result parameters_digest calm)" = "$(result parameters_digest storm)" ]; then
  echo "Killed while training: ${killed[*]}. Training went on by itself, and all"
  echo "parameters are the same, bit for bit, as in the run that nobody disturbed."
else
  complain "the parameters differ from those of the undisturbed run; this is a bug, please report it"
  keep=1
  exit 1
fi
