#!/usr/bin/env python3
"""Kills workers of a run without ps while another worker has the values, and prints what each kill cost.

  tests/chaos/survivor_kills.py [--program build/tanist] [--kills N] [--workers N] [--every S] [--seed N] [--job JOB.json]
                                [--set KEY=VALUE ...] [--keep]

The job is trained with strategy.type=mirror, without an end. A worker is drawn and gets SIGKILL as soon as another one
owns slices, and about S seconds after the kill before. Two figures are printed for each kill, as p50, p99 and maximum:

  recovered   from the time when the death was noticed until the worker's slices belong to others: paused_ms of the event
  pause       the longest time between two steps, from this kill until the next, as metrics.jsonl has it

At the end the run is stopped. The test fails if a step was computed again, if a generation was loaded again, if anything
is left behind, or if `tanist run --local` with the same number of steps ends with other parameters.

Exit status: 0 passed, 1 failed, 128 bad arguments.
"""

import argparse
import bisect
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from datetime import datetime

sys.dont_write_bytecode = True
from run import Failure, attack_run, parser_for, run_test  # noqa: E402

# Without checkpoints, a step that all workers lose cannot be restored unnoticed.
SETTINGS = ("train.steps=1000000000", "train.slices=8", "train.batch=512", "model.inputs=1024", "model.outputs=16",
            "strategy.type=mirror", "checkpoint.every_steps=0", "evaluate.every_steps=0", "metrics.every_steps=1",
            "cluster.coordinators=1", "zookeeper.servers=1")
WAIT_S = 60


def seconds_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def owners(run):
    """The workers that have answered and own slices: {index: pid}."""
    done = subprocess.run([run.program, "status", "--dir", str(run.dir), "-o", "json"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        return {}
    status = json.loads(done.stdout)
    return {task["index"]: task["pid"] for task in status["tasks"] if status["phase"] == "running"
            and task["role"] == "worker" and task["pid"] and task["step"] is not None and task["slices"]}


def wait_owners(run, count, dead):
    """Wait until `count` workers own slices; `dead` has the process of each worker that was killed last. Earlier ones
    do not count: after thousands of processes their pids are those of new ones."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        run.check_running()
        found = {index: pid for index, pid in owners(run).items() if pid != dead.get(index)}
        if len(found) >= count:
            return found
        time.sleep(0.02)
    raise Failure(f"{count} workers did not own slices within {WAIT_S} s")


def kill_workers(run, arguments):
    """Kill workers with a survivor; return the time of each kill."""
    draw = random.Random(arguments.seed)
    killed, dead = [], {}
    wait_owners(run, arguments.workers, dead)
    while len(killed) < arguments.kills:
        living = wait_owners(run, 2, dead)
        index = draw.choice(sorted(living))
        dead[index] = living[index]
        killed.append(time.time())
        os.kill(living[index], signal.SIGKILL)
        if len(killed) % max(1, arguments.kills // 10) == 0:
            print(f"{len(killed)} kills", flush=True)
        time.sleep(draw.uniform(0, 2 * arguments.every))
    wait_owners(run, arguments.workers, dead)
    return killed


def read_lines(run):
    """The times of the points, and the events, of metrics.jsonl."""
    points, events = [], []
    for line in (run.dir / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "event" in entry:
            events.append(entry)
        elif "loss" in entry:
            points.append(seconds_of(entry["time"]))
    return points, events


def longest_pauses(points, killed):
    """For each kill the longest time between two points from it until the next kill, in ms."""
    found = []
    for i, start in enumerate(killed):
        first = max(0, bisect.bisect_left(points, start) - 1)
        last = bisect.bisect_left(points, killed[i + 1]) if i + 1 < len(killed) else len(points) - 1
        gaps = [after - before for before, after in zip(points[first:last], points[first + 1:last + 1])]
        found.append(1000 * max(gaps, default=0))
    return found


def quantiles(values):
    """p50, p99 and maximum, as text."""
    ordered = sorted(values)
    at = lambda share: ordered[min(len(ordered) - 1, int(share * len(ordered)))]
    return f"p50 {at(0.5):.0f} ms, p99 {at(0.99):.0f} ms, maximum {ordered[-1]:.0f} ms"


def report(run, killed):
    """Print the figures; fail if a step was lost."""
    points, events = read_lines(run)
    recovered = [event for event in events if event["event"] == "restored"]
    redone = sum(event.get("steps_redone") or 0 for event in recovered)
    loads = sum(event["event"] == "loaded" for event in events)
    usual = 1000 * statistics.median(after - before for before, after in zip(points, points[1:]))
    print(f"{len(killed)} kills, {len(recovered)} recoveries in the events, steps_redone {redone}, generations loaded {loads}")
    if recovered:
        print(f"recovered: {quantiles([event['paused_ms'] for event in recovered])}")
    print(f"pause: {quantiles(longest_pauses(points, killed))}; a step takes {usual:.1f} ms")
    if redone > 0 or loads != 1:
        raise Failure("a step was lost although a worker had the values")
    if not recovered:
        raise Failure("no kill was noticed")


def check_digest(run, settings, result):
    """One process computes the same parameters in as many steps."""
    alone = [setting for setting in settings if not setting.startswith("strategy.")]
    other = run.train_local((*alone, f"train.steps={result['steps']}", "metrics.every_steps=1000"))
    if other["parameters_digest"] != result["parameters_digest"]:
        raise Failure(f"an undisturbed run of {result['steps']} steps has the digest {other['parameters_digest']}, "
                      f"this one {result['parameters_digest']}")


def test(arguments):
    settings = (*SETTINGS, f"cluster.workers={arguments.workers}", *arguments.settings)

    def attack(run):
        killed = kill_workers(run, arguments)
        result = run.stop()
        left = run.leftovers()
        report(run, killed)
        if left:
            raise Failure("left behind: " + "; ".join(left))
        check_digest(run, settings, result)
        print(f"passed: {result['steps']} steps, digest {result['parameters_digest']} as in one process")

    attack_run(arguments, settings, attack)


def parse():
    parser = parser_for(__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--every", type=float, default=0.5, help="mean seconds between kills, beside the wait for a survivor")
    arguments = parser.parse_args()
    if arguments.kills < 1 or arguments.workers < 2:
        raise argparse.ArgumentError(None, "--kills is at least 1, --workers at least 2: one survives")
    return arguments


if __name__ == "__main__":
    sys.exit(run_test("survivor_kills", parse, test))
