#!/bin/bash
# Shows on this machine, in a few minutes, that training survives failures: installs missing packages,
# builds Tanist, and trains Fashion-MNIST twice. During the second run it kills a worker, a parameter
# server and the chief with SIGKILL. At the end both runs must have the same parameters, bit for bit.
#
#   ./quickstart.sh [--keep] [--set KEY=VALUE ...]
#
#   --keep            keep the files of both runs, and print their folder
#   --set KEY=VALUE   override a key of examples/fashion-mnist.json in both runs
#
# Exit status: 0 the parameters are the same; 1 they differ, or a step failed; 128 bad arguments.
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
    --set) [ $# -ge 2 ] || { print_error "--set needs KEY=VALUE"; exit 128; }; settings+=(--set "$2"); shift ;;
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) print_error "unknown argument '$1'"; sed -n '6,9s/^# \{0,1\}//p' "$0" >&2; exit 128 ;;
  esac
  shift
done

scripts/install-dependencies.sh runtime build
print_heading "building $tanist"
mkdir -p build
tests=()
[ -e build/CMakeCache.txt ] || tests=(-DTANIST_TESTS=OFF)
build_tree build build/quickstart-build.log tanist -DCMAKE_BUILD_TYPE=Release "${tests[@]}"
echo "   $($tanist --version)"

files=$(mktemp -d "${TMPDIR:-/tmp}/tanist-quickstart.XXXXXX")
run_pid= watch_pid= killed=()

clean_up() { # Called however the script ends: no process and no file stays.
  local status=$?
  trap '' INT TERM
  for pid in $watch_pid $run_pid; do kill -TERM "$pid" 2>/dev/null || true; done
  for _ in $(seq 100); do # Wait up to 10 s until the run has stopped its processes, then kill it.
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

give_up() { # give_up MESSAGE LOG: print the end of the log and the message, and exit.
  [ ! -s "$2" ] || tail -15 "$2" >&2
  print_error "$1"
  keep=1
  exit 1
}

# field NAME <JSON: print the value of a key of a JSON object, which may span several lines.
field() { tr -d '\n' | sed -n 's/.*"'"$1"'" *: *"\{0,1\}\([^",}]*\).*/\1/p' | sed 's/ *$//'; }
result() { field "$1" <"$files/$2.json"; }

start_run() { # start_run NAME: run in the background; stdout goes to NAME.json, stderr to NAME.log.
  "$tanist" run "$job" --dir "$files/$1" "${settings[@]}" -o json \
    >"$files/$1.json" 2>"$files/$1.log" &
  run_pid=$!
}

end_run() { # end_run NAME: wait until the run has ended.
  local status=0
  wait "$run_pid" || status=$?
  run_pid=
  [ $status = 0 ] || give_up "the $1 run ended with exit status $status" "$files/$1.log"
}

status_of() { "$tanist" status --dir "$files/$1" -o json 2>/dev/null | tr -d '\n' || true; }

task_field() { # task_field ROLE INDEX NAME <STATUS; objects inside that of a task are left out
  sed 's/"[a-z]*" *: *{[^{}]*} *,*//g' | grep -o '{[^{}]*"role" *: *"'"$1"'"[^{}]*}' |
    grep '"index" *: *'"$2"'[,} ]' | field "$3" || true
}

# kill_at STEP NAME ROLE INDEX: send SIGKILL to a task when the run has reached STEP. NAME is printed.
# The role `chief` means the coordinator that is the chief at that time.
kill_at() {
  local wanted=$1 name=$2 role=$3 index=$4 now step pid task
  while kill -0 "$run_pid" 2>/dev/null; do
    now=$(status_of failures)
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
        echo "   >>> kill -9 $pid: $name ($task), after step $step"
        killed+=("$task")
        return
      fi
    fi
    sleep 0.2
  done
  give_up "the run ended before $name could be killed; give it more steps: --set train.steps=N" \
    "$files/failures.log"
}

print_heading "first run: no failures"
start_run baseline
( exec tail -n +1 -f --pid="$run_pid" "$files/baseline.log" 2>/dev/null ) | sed -u 's/^/   /' &
watch_pid=$!
end_run baseline
wait "$watch_pid" 2>/dev/null || true
watch_pid=
steps=$(result steps baseline)

print_heading "second run: the same job; a worker, a parameter server and the chief are killed with SIGKILL"
start_run failures
for _ in $(seq 100); do
  [ -z "$(status_of failures)" ] || break
  kill -0 "$run_pid" 2>/dev/null || break
  sleep 0.2
done
"$tanist" watch --dir "$files/failures" > >(sed -u 's/^/   /') 2>/dev/null &
watch_pid=$!
kill_at $((steps / 5)) "a worker" worker 0
kill_at $((steps * 2 / 5)) "a parameter server" ps 0
kill_at $((steps * 3 / 5)) "the chief" chief -
end_run failures
wait "$watch_pid" 2>/dev/null || true
watch_pid=

print_heading "results"
printf '   %-12s %8s %9s %9s   %s\n' run steps accuracy seconds 'digest of all parameters'
for name in baseline failures; do
  printf '   %-12s %8s %9.4f %9.1f   %s\n' $name "$(result steps $name)" "$(result accuracy $name)" \
    "$(result seconds $name)" "$(result parameters_digest $name)"
done
echo
if [ "$(result parameters_digest baseline)" = "$(result parameters_digest failures)" ]; then
  echo "Killed during training: ${killed[*]}. Training continued by itself, and all"
  echo "parameters are the same, bit for bit, as in the run without failures."
else
  print_error "the parameters differ from those of the run without failures; this is a bug, please report it"
  keep=1
  exit 1
fi
