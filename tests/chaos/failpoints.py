#!/usr/bin/env python3
"""Injects a fault at each failpoint in turn (common/faults/failpoint.h), in a run of a small job.

A test passes if a process passed the failpoint and got the fault exactly once, and the run ended by
itself, with the parameters of the baseline run, and left no process, socket or file behind.

  tests/chaos/failpoints.py [--program build-chaos/tanist] [--names NAME,...] [--rounds N] [--seed S]
                            [--action kill|freeze|stall|fail] [--beside N] [--set KEY=VALUE ...]
                            [--keep]

With --beside, N more failpoints, drawn at random, kill in the same run, if they are passed.

The program must have been built with failpoints: cmake --preset chaos. In each round the seed draws
which pass of the failpoint counts, by any of the processes that pass it.

Exit status: 0 all tests passed, 1 a test failed, 128 bad arguments.
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
from run import ROOT, Failure, Run, marked  # noqa: E402

STEPS = 6000
SETTINGS = (f"train.steps={STEPS}", "checkpoint.every_steps=600", "checkpoint.keep=1",
            "evaluate.every_steps=2000", "model.inputs=64", "model.outputs=4", "cluster.ps=2", "cluster.workers=2",
            "cluster.coordinators=2")
# The same for a model with tables, whose rows alone pass some failpoints.
TABLE_JOB = ROOT / "examples/ctr/wide-deep.json"
TABLE_STEPS = 400
TABLE_SETTINGS = (f"train.steps={TABLE_STEPS}", "train.batch=32", "checkpoint.every_steps=50", "checkpoint.keep=1",
                  "evaluate.every_steps=200", "data.examples=20000", "data.test_examples=1000",
                  "data.options={\"values\": 1000}", "cluster.ps=2", "cluster.workers=2", "cluster.coordinators=2",
                  "strategy.type=ps")
# A group of two workers, which alone pass some failpoints.
GROUP_JOB = ROOT / "examples/group.json"
GROUP_STEPS = 1500
GROUP_SETTINGS = (f"train.steps={GROUP_STEPS}", "train.batch=64", "train.slices=4", "data.type=synthetic",
                  "model.inputs=64", "model.outputs=10", "checkpoint.every_steps=300", "checkpoint.keep=1",
                  "evaluate.every_steps=500", "cluster.ps=2", "cluster.workers=2", "cluster.coordinators=2")
# Shards above 4 MiB over TCP, whose updates follow the chunks of pushes.
PARTS_JOB = ROOT / "tests/chaos/parts.json"
PARTS_STEPS = 150
PARTS_SETTINGS = (f"train.steps={PARTS_STEPS}",)
# A job that computes on GPUs, with the emulated driver of the build unless LD_LIBRARY_PATH names one.
GPU_JOB = ROOT / "tests/chaos/gpu.json"
GPU_STEPS = 600
GPU_SETTINGS = (f"train.steps={GPU_STEPS}",)
TEAM_SETTINGS = (*GPU_SETTINGS, "train.gpus=2")
ROLES = {"coordinator": 2, "ps": 2, "worker": 2}
ACTIONS = {"kill": 1, "freeze": 2, "stall": 3, "fail": 4}
LIMIT_S = 90
FROZEN_S = (0.1, 3.0)

# The least number of passes in a run without faults, by all processes together; 1 if not named.
PASSES = {"node.before_register": 6, "node.registered": 6, "node.leaving": 5, "election.standing": 2,
          "chief.before_write": 8, "ckpt.before_commit": 2, "ckpt.after_commit": 2,
          "worker.before_push": 2 * STEPS, "worker.evaluated": 3, "ps.mid_step": STEPS // 4,
          "ps.before_apply": 2 * STEPS, "ps.mid_rows": 100 * TABLE_STEPS, "ps.mid_recover": 20, "ps.mid_apply": 2 * STEPS, "ps.before_keep": 2 * STEPS,
          "ps.chunks_applied": 2 * PARTS_STEPS,
          "group.before_order": GROUP_STEPS, "group.computed": 2 * GROUP_STEPS, "group.before_swap": GROUP_STEPS,
          "ps.applied_before_ack": 2 * STEPS, "ckpt.before_sync": 4,
          "ckpt.before_rename": 4, "ckpt.before_report": 4, "ckpt.before_copy": 4,
          "ckpt.before_collect": 4, "load.mid_read": 2, "gpu.allocate": 10, "gpu.mid_upload": GPU_STEPS,
          "gpu.mid_kernel": 2 * GPU_STEPS, "gpu.mid_download": GPU_STEPS, "gpu.mid_peer_copy": GPU_STEPS, "gpu.wait": GPU_STEPS}
# The jobs of runs, and the failpoints that are passed in them alone.
TABLES, GROUPS, PARTS, GPUS, TEAMS, OTHERS = "tables", "groups", "parts", "gpus", "teams", "others"
ALONE = {TABLES: ("ps.mid_rows", "ps.mid_recover"),
         GROUPS: ("group.before_order", "group.computed", "group.before_swap"),
         PARTS: ("ps.chunks_applied",),
         GPUS: ("gpu.allocate", "gpu.mid_upload", "gpu.mid_kernel", "gpu.mid_download", "gpu.wait"),
         TEAMS: ("gpu.mid_peer_copy",)}
# A ps that is killed loads a checkpoint (P13); parameters keep their bits.
COLD = ("train.clip_norm=1000000",)
# These are passed in recoveries: a ps is killed first, just after the first commit.
RECOVERY = ("chief.paused", "chief.loading", "load.mid_read", "load.before_adopt")
# These are passed again by the next chief: in every second round the first chief is killed first.
SUCCESSION = ("office.before_multi", "office.after_multi", "office.before_run")


class Slot(ctypes.Structure):  # struct fault_slot
    _fields_ = [("name", ctypes.c_char * 24), ("errnos", ctypes.c_uint32 * 3),
                ("clock_offset_ms", ctypes.c_int64), ("counts", ctypes.c_uint64 * 4),
                ("gpu", ctypes.c_uint32 * 3), ("gpu_calls_failed", ctypes.c_uint64)]


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
    """The fault control file that the processes of a run map."""

    def __init__(self, path):
        path.write_bytes(bytes(ctypes.sizeof(Control)))
        with open(path, "r+b") as file:
            self.control = Control.from_buffer(mmap.mmap(file.fileno(), ctypes.sizeof(Control)))
        for i, name in enumerate(NAMES):
            self.control.slots[i].name = name.encode()
        self.control.version = 2
        self.control.magic = 0x544e4643
        self.count = 0

    def arm(self, failpoint, prefix, action, countdown):
        """Arm a failpoint for all processes whose names begin with `prefix`."""
        row = self.control.points[self.count]
        self.count += 1
        row.name = failpoint.encode()
        row.who = sum(1 << i for i, name in enumerate(NAMES) if name.startswith(prefix))
        row.action, row.stall_ms, row.countdown = ACTIONS[action], 400, countdown
        row.taken = row.armed = 1
        return row


def read_list():
    """{name: (role that passes it, can fail)}, from FAILPOINT_LIST."""
    text = (ROOT / "common/faults/failpoint.h").read_text().replace("\\\n", " ")
    return {name: (role, flag == "1")
            for name, role, flag in re.findall(r'X\("([^"]+)",\s*"(\w+)",\s*([01]),', text)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build-chaos/tanist"))
    parser.add_argument("--job", default=str(ROOT / "examples/quick.json"))
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
            print(f"unknown failpoint '{name}': give one of {', '.join(args.points)}", file=sys.stderr)
            sys.exit(128)
    return args


def arm_all(faults, name, args, round_number, draw):
    """Arm the failpoints of one test: (the one under test, those that come before it, description)."""
    prefix = {"any": "", "chief": "coordinator", "gpu": "worker"}.get(args.points[name][0], args.points[name][0])
    countdown = draw.randint(1, PASSES.get(name, 1))
    before = []
    if name in RECOVERY:
        before.append(faults.arm("ckpt.before_copy", f"ps:{draw.randrange(ROLES['ps'])}", "kill", 1))
    if name == "ps.mid_recover":
        before.append(faults.arm("ps.mid_rows", "ps", "kill", draw.randint(1, PASSES["ps.mid_rows"])))
    if name in SUCCESSION and round_number % 2 == 0:
        before.append(faults.arm("chief.before_write", "coordinator", "kill", draw.randint(1, 8)))
        countdown = 2
    if name == "chief.loading" and round_number % 2 == 1:
        countdown = 2
    tested = faults.arm(name, prefix, args.action, countdown)
    beside = [other for other in draw.sample(sorted(args.points), args.beside) if other != name]
    for other in beside:
        faults.arm(other, "", "kill", draw.randint(1, PASSES.get(other, 1)))
    text = f"pass {countdown}" + (f" after {before[0].name.decode()}" if before else "")
    return tested, before, text + (f" beside {', '.join(beside)}" if beside else "")


def thaw(run, point, draw, over):
    """Continue the frozen process after a while."""
    while not over.is_set():
        if point.done:
            time.sleep(draw.uniform(*FROZEN_S))
            if point.pid in marked(run.mark):
                os.kill(point.pid, signal.SIGCONT)
            return
        time.sleep(0.02)


def check(result, point, before, text, baseline):
    """Raise Failure unless the faults happened and the result is that of the baseline run."""
    if any(row.done != 1 for row in before):
        raise Failure(f"{before[0].name.decode()}, which comes before, was not passed")
    if point is not None and point.done != 1:
        raise Failure(f"the fault happened {point.done} times, not once ({text})")
    if baseline and result["parameters_digest"] != baseline["parameters_digest"]:
        raise Failure(f"digest {result['parameters_digest']}, "
                      f"but {baseline['parameters_digest']} in the baseline run ({text})")


def kind_of(name):
    """The kind of job whose run passes a failpoint."""
    return next((kind for kind, names in ALONE.items() if name in names), OTHERS)


def driver(args):
    """The environment with the emulated driver of the build that has the program."""
    folder = next((path / "emulated-gpu" for path in Path(args.program).resolve().parents if (path / "emulated-gpu").is_dir()), None)
    if folder is None or os.environ.get("LD_LIBRARY_PATH"):
        return {}
    return {"LD_LIBRARY_PATH": str(folder), "TANIST_CUDA_MODULE": str(folder / "tanist-cuda.fatbin"), "TANIST_EMULATED_GPU": "devices=4"}


def execute(args, kind, arm, baseline, settings=()):
    """One run: (its result, a description). `arm(faults)` arms the failpoints."""
    job, common = {TABLES: (TABLE_JOB, TABLE_SETTINGS), GROUPS: (GROUP_JOB, GROUP_SETTINGS),
                   PARTS: (PARTS_JOB, PARTS_SETTINGS), GPUS: (GPU_JOB, GPU_SETTINGS), TEAMS: (GPU_JOB, TEAM_SETTINGS),
                   OTHERS: (args.job, SETTINGS)}[kind]
    run = Run(args.program, job, [*common, *settings, *args.settings])
    failed, over, began = True, threading.Event(), time.monotonic()
    try:
        faults = Faults(run.folder / "faults.ctl")
        point, before, text, draw = arm(faults)
        run.start({"TANIST_FAULTS": str(run.folder / "faults.ctl"), **(driver(args) if kind in (GPUS, TEAMS) else {})})
        if point is not None and args.action == "freeze":
            threading.Thread(target=thaw, args=(run, point, draw, over), daemon=True).start()
        result = run.wait(LIMIT_S)
        check(result, point, before, text, baseline)
        left = run.leftovers()
        if left:
            raise Failure("left behind: " + "; ".join(left))
        failed = False
        place = f"{NAMES[point.by]}, {text}, " if point is not None else ""
        return result, f"{place}{time.monotonic() - began:.1f} s"
    finally:
        over.set()
        if failed:
            print(run.log_tail(), file=sys.stderr)
        if failed and args.keep:
            run.kill()
            print(f"kept: {run.folder}", file=sys.stderr)
        else:
            run.clean()


def main():
    args = arguments()
    baselines = {}
    for kind in sorted({kind_of(name) for name in args.names}):
        baselines[kind], text = execute(args, kind, lambda faults: (None, [], "", None), None)
        print(f"baseline of {kind}: {baselines[kind]['parameters_digest']}, {text}", flush=True)
    failures = tests = 0
    for round_number in range(1, args.rounds + 1):
        for name in args.names:
            draw = random.Random(f"{args.seed} {name} {round_number}")
            kind = kind_of(name)
            tests += 1
            try:
                _, text = execute(args, kind, lambda faults, name=name, draw=draw, number=round_number: (
                    *arm_all(faults, name, args, number, draw), draw), baselines[kind],
                    COLD if name in RECOVERY else ())
                print(f"{name}: {args.action}: {text}", flush=True)
            except Failure as failure:
                failures += 1
                print(f"{name}: {args.action}: FAILED: {failure}", flush=True)
    print(f"{tests} tests, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
