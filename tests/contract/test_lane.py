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

STEPS = ("--set", "train.steps=6000", "--set", "cluster.ps=2", "--set", "model.inputs=64",
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


class Lane(Cli):
    def lanes(self):
        """The lanes over which the workers of the run in the folder `run` have reached their ps."""
        logs = "".join(path.read_text() for path in (self.folder / "run").rglob("*.log"))
        return set(re.findall(r"connected to ps:\d+ at \S+: lane=(\w+)", logs))

    def digest(self, lane, *kills):
        """The digest of a run in which tasks are killed one after the other."""
        folder = self.folder / "run"
        if folder.exists():
            folder.rename(self.folder / f"run-{len(list(self.folder.iterdir()))}")
        run = self.start(*STEPS, "--set", f"transport.lane={lane}")
        for name in kills:
            self.kill_while_paused(name)
        digest = self.result(run)["parameters_digest"]
        self.assertEqual(self.lanes(), {"tcp" if lane == "tcp" else "shm"})
        return digest

    def test_digest_is_the_same(self):
        """Over TCP, through shared memory, and while either end is killed."""
        expected = self.digest("tcp")
        self.assertEqual(self.digest("auto"), expected)
        self.assertEqual(self.digest("shm", "worker:0", "ps:0", "worker:1", "ps:1", "ps:0"), expected)

    def test_nothing_is_left_open(self):
        """A node keeps its bell, and no memory of a lane once both ends have mapped it."""
        run = self.begin("--set", "transport.lane=shm")
        for name in ("worker:0", "worker:1", "worker:0"):
            before = self.pid(name)
            os.kill(before, signal.SIGKILL)
            self.wait_pid(name, but=before)
            self.wait_step(self.wait_step()["step"] + 1)
        bell = ["/memfd:tanist-bell (deleted)"]
        for name in ("ps:0", "worker:0", "worker:1"):
            self.wait_for(f"{name} to close the rest", lambda: memory_files(self.pid(name)) == bell)
        self.end(run)

    def test_status_shows_lanes(self):
        """Each ps counts its connections with workers."""
        for lane, expected in (("auto", {"shm": 2, "tcp": 0}), ("tcp", {"shm": 0, "tcp": 2})):
            run = self.begin("--set", f"transport.lane={lane}")
            self.wait_status(f"lanes {expected}", lambda status: [
                task["lanes"] for task in status["tasks"] if task["lanes"]] == [expected])
            table = self.succeeds("status", *self.target)
            self.assertIn(f" {'tcp' if lane == 'tcp' else 'shm'} ", next(
                line for line in table.splitlines() if line.startswith("ps:0")))
            self.end(run)
            (self.folder / "run").rename(self.folder / f"run-{lane}")

    def test_other_value_is_refused(self):
        """The error names the key and the values that it may have."""
        self.refused(3, ["transport.lane", "auto", "shm", "tcp"], "run", QUICK, "--set", "transport.lane=ib")


if __name__ == "__main__":
    unittest.main(verbosity=2)
