#!/usr/bin/env python3
"""DIR/index: what a run finds out about its data is computed once, by `run`; workers load it, and nothing half written
or damaged is used.

Real processes; every wait is bounded. TANIST_PROGRAM: the program.
"""

import gzip
import json
import os
import random
import shutil
import signal
import tempfile
import time
import unittest
from pathlib import Path

from case import LONG, Cli

COMPUTED = ("statistics of columns", "rows for evaluations")


class Index(Cli):
    @classmethod
    def setUpClass(cls):
        """A folder with data for each test: all wait together until their files are not new."""
        cls.prepared = []
        for _ in unittest.defaultTestLoader.getTestCaseNames(cls):
            folder = Path(tempfile.mkdtemp(prefix="tanist-cli."))
            cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
            cls.prepared.append(folder)
            draw = random.Random(1)
            for name, rows in (("train", 4000), ("test", 400)):
                text = "a,b,y\n" + "".join(f"{(a := draw.gauss(3, 2)):.4f},{draw.random():.4f},{int(a > 3)}\n"
                                           for _ in range(rows))
                (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
        youngest = max(path.stat().st_ctime for folder in cls.prepared for path in folder.glob("*.gz"))
        while time.time() <= youngest + 4:
            time.sleep(0.1)

    def setUp(self):
        super().setUp()
        self.folder.rmdir()
        self.folder = self.prepared.pop()
        column = {"as": "number", "scale": "standard"}
        self.json = {"name": "index", "model": {"type": "softmax", "outputs": 2}, "zookeeper": {"servers": 1},
                     "data": {"format": "csv", "train": "train.csv.gz", "test": "test.csv.gz", "label": "y",
                              "columns": {"a": column, "b": column}},
                     "train": {"steps": 50, "batch": 40, "slices": 4}, "cluster": {"coordinators": 1, "ps": 1}}

    def local(self):
        return json.loads(self.succeeds("run", self.job(json.dumps(self.json)), "--local", "--dir", "run", "-o", "json"))

    def entries(self, kind="*"):
        """Without temporary files, which no process looks for."""
        return sorted((self.folder / "run/index").glob(f"[!.]*.{kind}"))

    def log(self, task):
        return (self.folder / f"run/logs/{task}.log").read_text(encoding="utf-8")

    def test_workers_load_what_run_has_computed(self):
        wanted = self.local()["parameters_digest"]
        self.assertEqual([len(self.entries(kind)) for kind in ("digest", "unpacked", "columns", "checked")], [2, 2, 1, 1])
        shutil.rmtree(self.folder / "run")
        job = self.job(json.dumps(self.json))
        run = self.spawn("run", job, "--dir", "run", "-o", "json")
        self.assertEqual(self.result(run)["parameters_digest"], wanted)
        for task in ("worker-0", "worker-1"):
            self.assertFalse([text for text in COMPUTED if text in self.log(task)])
        # A run in the place of a finished one uses the entries again; without them each worker computes.
        times = {path: path.stat().st_mtime_ns for path in self.entries()}
        run = self.spawn("run", job, "--dir", "run", "-o", "json", *LONG)
        self.wait_step()
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.entries()}, times)
        shutil.rmtree(self.folder / "run/index")
        before = self.wait_pid("worker:0")
        os.kill(before, signal.SIGKILL)
        self.wait_pid("worker:0", but=before)
        self.wait_for("computations in the log", lambda: all(text in self.log("worker-0") for text in COMPUTED))
        self.end(run)

    def test_damaged_entries_are_computed_again(self):
        wanted = self.local()["parameters_digest"]
        entries = self.entries()
        for damage in (lambda data: data[:-1] + bytes([data[-1] ^ 1]), lambda data: data[:len(data) // 2],
                       lambda data: b"", lambda data: bytes([data[0] ^ 1]) + data[1:]):
            for path in entries:
                path.write_bytes(damage(path.read_bytes()))
            self.assertEqual(self.local()["parameters_digest"], wanted)
            self.assertEqual(self.entries(), entries)
        for path in self.entries("unpacked"):
            self.assertTrue(path.read_bytes().startswith(b"a,b,y\n"))

    def test_evaluations_look_up_entries(self):
        """On the same files `evaluate` and `predict` load what the run has computed, and store nothing, also where an entry is damaged."""
        self.local()
        entries = self.entries()
        times = {path: path.stat().st_mtime_ns for path in entries}
        (self.folder / "other.csv.gz").write_bytes((self.folder / "test.csv.gz").read_bytes())
        found = self.tanist("evaluate", "run", "-o", "json")
        self.assertNotIn(COMPUTED[1], found.stderr)
        for command in ("evaluate", "predict"):
            self.succeeds(command, "run", "--data", "other.csv.gz")
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.entries()}, times)
        for path in entries:
            path.write_bytes(path.read_bytes()[:-1])
        damaged = {path: path.read_bytes() for path in entries}
        again = self.tanist("evaluate", "run", "-o", "json")
        self.assertIn(COMPUTED[1], again.stderr)
        self.assertEqual(again.stdout, found.stdout)
        self.assertEqual({path: path.read_bytes() for path in self.entries()}, damaged)

    def test_a_changed_file_is_another_one(self):
        """Also if its name and time are those of before."""
        first = self.local()["parameters_digest"]
        path = self.folder / "train.csv.gz"
        about, lines = path.stat(), gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        path.write_bytes(gzip.compress(b"".join(lines[:1] + lines[:0:-1])))
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
        self.assertNotEqual(self.local()["parameters_digest"], first)

    def test_killed_runs_leave_nothing_half_written(self):
        wanted = self.local()["parameters_digest"]
        whole = {path.name: path.read_bytes() for path in self.entries()}
        job = self.job(json.dumps(self.json))
        for delay_ms in range(0, 60, 4):
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            run = self.spawn("run", job, "--local", "--dir", "run", "--quiet")
            time.sleep(delay_ms / 1000)
            run.kill()
            run.communicate()
            for path in self.entries():
                self.assertEqual(path.read_bytes(), whole[path.name])
        self.assertEqual(self.local()["parameters_digest"], wanted)

    def test_a_refused_job_leaves_no_folder(self):
        (self.folder / "test.csv.gz").write_bytes(gzip.compress(b"a,b,y\n1,2,5\n"))
        self.refused(3, ["is not a class"], "run", self.job(json.dumps(self.json)), "--local", "--dir", "run")
        self.assertFalse((self.folder / "run").exists())


if __name__ == "__main__":
    unittest.main()
