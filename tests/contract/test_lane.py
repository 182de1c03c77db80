#!/usr/bin/env python3
"""transport.lane: parameters keep their bits, whatever carries them and whatever dies.

Real runs; every wait is bounded. TANIST_PROGRAM: the program.
"""

import os
import re
import signal
import unittest
from pathlib import Path

from case import QUICK, Cli

# Each shard has about 31 KiB, so values have slots, and one shard begins within a page.
JOB = ("--set", "cluster.ps=2", "--set", "model.inputs=500", "--set", "model.outputs=31",
         "--set", "checkpoint.every_steps=2000")


def memory_files(pid):
    """The anonymous files of Tanist that a process holds open."""
    names = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            names.append(os.readlink(entry))
        except FileNotFoundError:
            continue
    return sorted(name for name in names if name.startswith("/memfd:tanist"))


def shares_tensors(pid):
    """Whether pages of both ps are those of an array of a worker, which has all their values mapped as well, and pages of a lane
    those of a gradient."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:  # It has ended.
        return False
    reads_values = all(len(re.findall(rf" r--s .*/memfd:{ps} ", maps)) > 1 for ps in ("ps:0", "ps:1"))
    written = re.findall(r"^(\w+)-(\w+) rw-s .*/memfd:tanist-lane", maps, re.M)
    return reads_values and any(int(end, 16) - int(begin, 16) < 1 << 20 for begin, end in written)


class Lane(Cli):
    def lanes(self):
        """The lanes over which the workers of the run in the folder `run` have reached their ps."""
        logs = "".join(path.read_text() for path in (self.folder / "run").rglob("*.log"))
        return set(re.findall(r"connected to ps:\d+ at \S+: lane=(\w+)", logs))

    def check_lane(self, lane, run):
        """The run ends over a lane, without an error; returns its result."""
        result = self.result(run)
        if lane == "auto":  # A connection stays with TCP if a busy host answers too late.
            self.assertIn(self.lanes(), ({"shm"}, {"tcp"}, {"shm", "tcp"}))
        else:
            self.assertEqual(self.lanes(), {lane})
        (self.folder / "run").rename(self.folder / f"run-{lane}")
        return result

    def test_digest_is_the_same(self):
        """Over TCP, through shared memory, and while either end is killed."""
        run = self.begin(*JOB, "--set", "transport.lane=shm")
        for name in ("worker:0", "ps:0", "worker:1", "ps:1", "ps:0"):
            self.wait_for("worker:0 to use tensors where they are", lambda: shares_tensors(self.wait_pid("worker:0")))
            self.kill_in_the_middle(name)
        self.succeeds("stop", *self.target)
        killed = self.check_lane("shm", run)
        for lane in ("tcp", "auto"):
            run = self.start(*JOB, "--set", f"transport.lane={lane}", "--set", f"train.steps={killed['steps']}")
            self.assertEqual(self.check_lane(lane, run)["parameters_digest"], killed["parameters_digest"])

    def test_nothing_is_left_open(self):
        """A node keeps its doorbell, and no memory of a lane once both ends have mapped it."""
        run = self.begin("--set", "transport.lane=shm")
        for name in ("worker:0", "worker:1", "worker:0"):
            before = self.wait_pid(name)
            os.kill(before, signal.SIGKILL)
            self.wait_pid(name, but=before)
            self.wait_step(self.wait_step()["step"] + 1)
        doorbell = ["/memfd:tanist-doorbell (deleted)"]
        for name in ("ps:0", "worker:0", "worker:1"):
            self.wait_for(f"{name} to close the rest", lambda: memory_files(self.wait_pid(name)) == doorbell)
        self.end(run)

    def test_status_shows_lanes(self):
        """Each ps counts its connections with workers."""
        for lane, expected in (("shm", {"shm": 2, "tcp": 0}), ("tcp", {"shm": 0, "tcp": 2})):
            run = self.begin("--set", f"transport.lane={lane}")
            self.wait_status(f"lanes {expected}", lambda status: [
                task["lanes"] for task in status["tasks"] if task["lanes"]] == [expected])
            table = self.succeeds("status", *self.target)
            self.assertIn(f" {lane} ", next(
                line for line in table.splitlines() if line.startswith("ps:0")))
            self.end(run)
            (self.folder / "run").rename(self.folder / f"run-{lane}")

    def test_other_value_is_refused(self):
        """The error names the key and the values that it may have."""
        self.refused(3, ["transport.lane", "auto", "shm", "tcp"], "run", QUICK, "--set", "transport.lane=ib")


if __name__ == "__main__":
    unittest.main(verbosity=2)
