#!/usr/bin/env python3
"""Measures a failover: SIGKILL of the chief to the new chief in office, over many kills of one run.

  tests/chaos/failover.py [--kills N] [--seed S] [--set KEY=VALUE ...] [-o table|json]

The first time is CLOCK_MONOTONIC just before kill(2), the second that at which `tanist watch -o jsonl`
has told of the election: what an observer sees, so an upper bound of what the cluster needs. `office`
ends at the new chief's own time of taking office (wall clock, 1 ms), `own` begins at its predecessor's
disappearance from ZooKeeper as well. The step rate with and without kills
shows what the elections cost the workers. The load average says how much else the machine did.
"""

import argparse
import datetime
import json
import os
import queue
import random
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
import rig  # noqa: E402


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def wall(text):
    """Seconds since 1970 of an event's time."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Watch:
    """`tanist watch` of a run: its events, each with the time at which its line came."""

    def __init__(self, run):
        self.events = queue.Queue()
        environment = dict(os.environ, **{rig.MARK: run.mark})
        self.process = subprocess.Popen(
            [run.program, "watch", "--dir", str(run.dir), "-o", "jsonl"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=environment)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            now = time.monotonic()
            try:
                self.events.put((now, json.loads(line)))
            except ValueError:
                continue

    def wait_for(self, condition, what, limit_s=60):
        """The time and event of the first event, not yet looked at, for which condition holds."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            try:
                at, event = self.events.get(timeout=0.5)
            except queue.Empty:
                if self.process.poll() is not None:
                    raise rig.Failure("tanist watch ended") from None
                continue
            if condition(event):
                return at, event
        raise rig.Failure(f"{what}: not within {limit_s} s")

    def stop(self):
        self.process.kill()
        self.process.wait()


def ready(status, candidates):
    """A chief is in office, training goes on, and every candidate stands again."""
    standing = [task for task in status["tasks"] if task["role"] == "coordinator"]
    return status.get("phase") == "running" and (status.get("chief") or {}).get("pid") and \
        len(standing) >= candidates


def rate_over(run, seconds):
    """Steps a second over a quiet time."""
    first, begun = run.status(), time.monotonic()
    time.sleep(seconds)
    last, ended = run.status(), time.monotonic()
    return (last["step"] - first["step"]) / (ended - begun)


def measure(run, args):
    """Kill the chief again and again. Nothing asks the cluster meanwhile but one `tanist watch`."""
    dice = random.Random(args.seed)
    status = run.wait_status(lambda s: ready(s, args.candidates), "a whole cluster", 90)
    quiet = rate_over(run, args.quiet_s)
    watch = Watch(run)
    times, own, office = [], [], []
    chief, epoch = status["chief"], status["epoch"]
    try:
        watch.wait_for(lambda event: event["event"] == "state", "the first line of tanist watch")
        first, begun = run.status(), time.monotonic()
        while len(times) < args.kills:
            time.sleep(dice.uniform(0.2, 0.5))
            wall_before = time.time()
            before = rig.kill(chief["pid"])
            if before is None:
                raise rig.Failure(f"the chief {chief['task']} was not there to be killed")
            up = []  # The dead one may be back before the news of the election is.
            at, event = watch.wait_for(
                lambda event: up.append((event["event"], event["task"])) or
                (event["event"] == "elected" and event["epoch"] > epoch), "an election")
            times.append(1000 * (at - before))
            own.append(event.get("took_ms") or 0)
            office.append(1000 * (wall(event["time"]) - wall_before))
            if args.verbose:
                print(f"{len(times):4d}: {times[-1]:7.1f} ms  {event['task']} epoch {event['epoch']}",
                      file=sys.stderr, flush=True)
            dead, chief, epoch = ("task-up", chief["task"]), event, event["epoch"]
            if dead not in up:
                watch.wait_for(lambda event: (event["event"], event["task"]) == dead,
                               f"{dead[1]} to be back")
        status, ended = run.status(), time.monotonic()
    finally:
        watch.stop()
    return {"kills": len(times), "p50_ms": percentile(times, 0.50), "p90_ms": percentile(times, 0.90),
            "p99_ms": percentile(times, 0.99), "max_ms": max(times),
            "office_p50_ms": percentile(office, 0.50), "office_p99_ms": percentile(office, 0.99),
            "own_p50_ms": percentile(own, 0.50), "own_p99_ms": percentile(own, 0.99),
            "steps_per_s_quiet": quiet,
            "steps_per_s_with_kills": (status["step"] - first["step"]) / (ended - begun),
            "kills_per_s": len(times) / (ended - begun), "load": os.getloadavg()[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(rig.ROOT / "build/tanist"))
    parser.add_argument("--job", default=str(rig.ROOT / "examples/fashion-mnist.json"))
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--candidates", type=int, default=3)
    parser.add_argument("--quiet-s", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("-o", dest="output", choices=("table", "json"), default="table")
    parser.add_argument("-v", dest="verbose", action="store_true")
    args = parser.parse_args()
    settings = ["train.steps=100000000", f"cluster.coordinators={args.candidates}"] + args.settings
    run = rig.Run(args.program, args.job, settings, rig.new_folder())
    try:
        run.start()
        result = measure(run, args)
    except rig.Failure as failure:
        print(f"FAILED: {failure}\n{run.log_tail()}")
        return 1
    finally:
        run.clean()
    if args.output == "json":
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:24s} {value:.1f}" if isinstance(value, float) else f"{name:24s} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
