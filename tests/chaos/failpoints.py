#!/usr/bin/env python3
"""Strikes a run at each failpoint in turn (common/faults/failpoint.h) and checks the promise: the point was
passed and struck exactly once, the run ended by itself, with the parameters of the run in which
nothing was struck, and left no process, socket or file behind.

  tests/chaos/failpoints.py [--program build-chaos/tanist] [--names NAME,...] [--rounds N] [--seed S]
                            [--action kill|freeze|stall|fail] [--beside N] [--set KEY=VALUE ...]
                            [--keep]

With --beside, N more points drawn at random kill in the same run, if they are passed.

The program must have been built with them: cmake --preset chaos. Round by round another pass is
drawn from the seed: the first, or a later one, of any of those who pass there.

Exit status: 0 every point kept the promise, 1 not, 128 bad arguments.
"""

import argparse
import ctypes
import mmap
import os
import random
import re
import signal
import sys
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
import rig  # noqa: E402

STEPS = 6000
SETTINGS = (f"train.steps={STEPS}", "checkpoint.every_steps=600", "checkpoint.keep=1",
            "evaluate.every_steps=2000", "model.inputs=64", "model.outputs=4", "cluster.ps=2", "cluster.workers=2", "cluster.coordinators=2")
ROLES = {"coordinator": 2, "ps": 2, "worker": 2}
ACTIONS = {"kill": 1, "freeze": 2, "stall": 3, "fail": 4}
LIMIT_S = 90
FROZEN_S = (0.1, 3.0)

# How often a point is passed at least in an undisturbed run, by all together; 1 if not named.
PASSES = {"node.before_register": 6, "node.registered": 6, "node.leaving": 5, "election.standing": 2,
          "chief.before_write": 8, "ckpt.before_commit": 2, "ckpt.after_commit": 2,
          "worker.before_push": 2 * STEPS, "worker.evaluated": 3, "ps.mid_step": STEPS // 4,
          "ps.before_apply": 2 * STEPS, "ps.applied_before_ack": 2 * STEPS, "ckpt.before_sync": 4,
          "ckpt.before_rename": 4, "ckpt.before_report": 4, "ckpt.before_copy": 4,
          "ckpt.before_collect": 4, "load.mid_read": 2}
# These are passed in a recovery: a ps is killed first, just after the first commit.
RECOVERY = ("chief.paused", "chief.loading", "load.mid_read", "load.before_adopt")
# And these again by the next chief: in every second round the first one is killed first.
SUCCESSION = ("office.before_multi", "office.after_multi", "office.before_run")


class Slot(ctypes.Structure):  # struct fault_slot
    _fields_ = [("name", ctypes.c_char * 24), ("errnos", ctypes.c_uint32 * 3),
                ("clock_offset_ms", ctypes.c_int64), ("counts", ctypes.c_uint64 * 4)]


class Point(ctypes.Structure):  # struct fault_point
    _fields_ = [("name", ctypes.c_char * 48), ("who", ctypes.c_uint64), ("action", ctypes.c_uint32),
                ("stall_ms", ctypes.c_uint32), ("countdown", ctypes.c_uint32),
                ("armed", ctypes.c_uint32), ("by", ctypes.c_uint32), ("pid", ctypes.c_uint32),
                ("taken", ctypes.c_uint32), ("done", ctypes.c_uint64)]


class Control(ctypes.Structure):  # struct fault_control; a wrong size is refused by the program.
    _fields_ = [("magic", ctypes.c_uint32), ("version", ctypes.c_uint32), ("slots", Slot * 64),
                ("points", Point * 32)]


NAMES = [f"{role}:{index}" for role, count in ROLES.items() for index in range(count)]


class Faults:
    """The file that the processes of a run map, and the orders in it."""

    def __init__(self, path):
        path.write_bytes(bytes(ctypes.sizeof(Control)))
        with open(path, "r+b") as file:
            self.control = Control.from_buffer(mmap.mmap(file.fileno(), ctypes.sizeof(Control)))
        for i, name in enumerate(NAMES):
            self.control.slots[i].name = name.encode()
        self.control.version = 1
        self.control.magic = 0x544e4643
        self.orders = 0

    def order(self, point, whom, action, countdown):
        row = self.control.points[self.orders]
        self.orders += 1
        row.name = point.encode()
        row.who = sum(1 << i for i, name in enumerate(NAMES) if name.startswith(whom))
        row.action, row.stall_ms, row.countdown = ACTIONS[action], 400, countdown
        row.taken = row.armed = 1
        return row


def read_list():
    """{name: (who, can fail)} of FAILPOINT_LIST."""
    text = (rig.ROOT / "common/faults/failpoint.h").read_text().replace("\\\n", " ")
    return {name: (who, flag == "1")
            for name, who, flag in re.findall(r'X\("([^"]+)",\s*"(\w+)",\s*([01]),', text)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(rig.ROOT / "build-chaos/tanist"))
    parser.add_argument("--job", default=str(rig.ROOT / "examples/quick.json"))
    parser.add_argument("--names", default="")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--action", choices=sorted(ACTIONS), default="kill")
    parser.add_argument("--beside", type=int, default=0)
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--keep", action="store_true", help="keep the folders of rounds that failed")
    args = parser.parse_args()
    args.points = read_list()
    args.names = [name for name in args.names.split(",") if name] or [
        name for name, (_, can_fail) in args.points.items() if can_fail or args.action != "fail"]
    for name in args.names:
        if name not in args.points:
            print(f"no failpoint '{name}'; there are {', '.join(args.points)}", file=sys.stderr)
            sys.exit(128)
    return args


def order_all(faults, name, args, round_number, dice):
    """The orders of one round: (the one that is tested, the others, words)."""
    who = {"any": "", "chief": "coordinator"}.get(args.points[name][0], args.points[name][0])
    countdown = dice.randint(1, PASSES.get(name, 1))
    before = []
    if name in RECOVERY:
        before.append(faults.order("ckpt.before_copy", f"ps:{dice.randrange(ROLES['ps'])}", "kill", 1))
    if name in SUCCESSION and round_number % 2 == 0:
        before.append(faults.order("chief.before_write", "coordinator", "kill", dice.randint(1, 8)))
        countdown = 2
    if name == "chief.loading" and round_number % 2 == 1:
        countdown = 2
    point = faults.order(name, who, args.action, countdown)
    beside = [other for other in dice.sample(sorted(args.points), args.beside) if other != name]
    for other in beside:
        faults.order(other, "", "kill", dice.randint(1, PASSES.get(other, 1)))
    words = f"pass {countdown}" + (f" after {before[0].name.decode()}" if before else "")
    words += f" beside {', '.join(beside)}" if beside else ""
    return point, before, words


def thaw(run, point, dice, over):
    """Let a frozen process go on after a while."""
    while not over.is_set():
        if point.done:
            time.sleep(dice.uniform(*FROZEN_S))
            if point.pid in rig.marked(run.mark):
                os.kill(point.pid, signal.SIGCONT)
            return
        time.sleep(0.02)


def play(args, faults_of, calm):
    """One run; its result after all checks. `faults_of(faults)` gives its orders."""
    run = rig.Run(args.program, args.job, [*SETTINGS, *args.settings], rig.new_folder())
    failed, over, began = True, threading.Event(), time.monotonic()
    try:
        faults = Faults(run.folder / "faults.ctl")
        os.environ["TANIST_FAULTS"] = str(run.folder / "faults.ctl")
        point, before, words, dice = faults_of(faults)
        run.start()
        if point is not None and args.action == "freeze":
            threading.Thread(target=thaw, args=(run, point, dice, over), daemon=True).start()
        result = run.wait(LIMIT_S)
        if any(row.done != 1 for row in before):
            raise rig.Failure(f"{before[0].name.decode()}, which comes before, was not struck")
        if point is not None and point.done != 1:
            raise rig.Failure(f"was struck {point.done} times, not once ({words})")
        if calm and result["parameters_digest"] != calm["parameters_digest"]:
            raise rig.Failure(f"digest {result['parameters_digest']}, "
                              f"the undisturbed run has {calm['parameters_digest']} ({words})")
        if calm and result["steps"] != calm["steps"]:
            raise rig.Failure(f"{result['steps']} steps, the undisturbed run did {calm['steps']}")
        left = run.leftovers()
        if left:
            raise rig.Failure("left behind: " + "; ".join(left))
        failed = False
        struck = f"{NAMES[point.by]}, {words}, " if point is not None else ""
        return result, f"{struck}{time.monotonic() - began:.1f} s"
    finally:
        over.set()
        if failed:
            print(run.log_tail(), file=sys.stderr)
        if failed and args.keep:
            run.kill_all()
            print(f"kept: {run.folder}", file=sys.stderr)
        else:
            run.clean()


def main():
    args = arguments()
    calm, words = play(args, lambda faults: (None, [], "", None), None)
    print(f"undisturbed: {calm['parameters_digest']}, {words}", flush=True)
    failures = rounds = 0
    for round_number in range(1, args.rounds + 1):
        for name in args.names:
            dice = random.Random(f"{args.seed} {name} {round_number}")
            rounds += 1
            try:
                _, words = play(args, lambda faults, name=name, dice=dice, number=round_number: (
                    *order_all(faults, name, args, number, dice), dice), calm)
                print(f"{name}: {args.action}: {words}", flush=True)
            except rig.Failure as failure:
                failures += 1
                print(f"{name}: {args.action}: FAILED: {failure}", flush=True)
    print(f"{rounds} strikes, {failures} broke the promise")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
