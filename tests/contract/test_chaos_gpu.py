#!/usr/bin/env python3
"""`tanist chaos` with faults of GPUs: jobs without GPUs are refused, and clusters on an emulated driver recover from each fault.

TANIST_EMULATED_DRIVER: the folder of the emulated libcuda.so.1 and of its module. Except for the refusals, the tests need a
program with failpoints: that of the target `failpoints`, or TANIST_PROGRAM itself.
"""

import json
import os
import unittest
from pathlib import Path

from case import PROGRAM, QUICK, ROOT, Cli
from test_chaos import chaos_in, kinds, lines_of

EMULATED = os.environ.get("TANIST_EMULATED_DRIVER", str(ROOT / "build/emulated-gpu"))
WITH_FAILPOINTS = str(Path(PROGRAM).parent / "failpoints/tanist")
JOB = str(ROOT / "tests/chaos/gpu.json")
POINTS = ("gpu.allocate", "gpu.mid_upload", "gpu.mid_kernel", "gpu.mid_download", "gpu.mid_peer_copy", "gpu.wait")

PS = ("--set", "train.ps_kernels=cuda")


def has_failpoints(cli):
    return json.loads(cli.succeeds("chaos", "list", "-o", "json"))["machine"]["failpoints"] is True


class Refusals(Cli):
    def refuse_plan(self, plan, *arguments):
        result = self.tanist("chaos", "run", "--plan", plan, "--job", QUICK, "--dir", str(self.folder / "c"), *arguments)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("it is a fault of GPUs, and the job computes on none: give --set train.kernels=cuda", result.stderr)
        self.assertFalse((self.folder / "c").exists())

    def test_job_without_gpus_is_refused(self):
        self.refuse_plan("gpu")
        self.refuse_plan("gpu", "--set", "train.kernels=portable")
        for line in ({"fault": "kill", "at_point": "gpu.wait"}, {"fault": "gpu-error", "at_point": "gpu.wait"},
                     {"fault": "gpu-lost", "selector": "worker", "after_s": 1, "for_s": 1}):
            path = self.folder / "plan.json"
            path.write_text(json.dumps({"faults": [line]}))
            self.refuse_plan(str(path))

    def test_worker_without_a_gpu_is_refused(self):
        """A job may have GPUs for its ps only."""
        path = self.folder / "plan.json"
        path.write_text(json.dumps({"faults": [{"fault": "gpu-lost", "selector": "worker:0", "after_s": 1, "for_s": 1}]}))
        self.refused(3, ['faults[0].selector is "worker:0", which computes on no GPU in this job: give "gpu"'], "chaos", "run", "--plan",
                     str(path), "--job", QUICK, "--dir", str(self.folder / "c"), *PS)

    def test_list_shows_the_faults(self):
        shown = json.loads(self.succeeds("chaos", "list", "-o", "json"))
        self.assertLessEqual({"gpu-error", "gpu-memory", "gpu-lost"}, {fault["name"] for fault in shown["faults"]})
        self.assertIn("gpu", [plan["name"] for plan in shown["plans"]])
        self.assertEqual([point["name"] for point in shown["failpoints"] if point["name"].startswith("gpu.")], list(POINTS))


class Campaigns(Cli):
    def setUp(self):
        super().setUp()
        self.program = PROGRAM if has_failpoints(self) else WITH_FAILPOINTS
        if not os.path.exists(self.program):
            self.skipTest("the target `failpoints` is not built")
        self.chaos_environment = {**os.environ, "LD_LIBRARY_PATH": EMULATED, "TANIST_CUDA_MODULE": f"{EMULATED}/tanist-cuda.fatbin",
                                  "TANIST_EMULATED_GPU": "devices=4"}

    def round_of(self, name, faults, *options):
        """The history and the log of a round with these faults, which passes."""
        plan = self.folder / f"{name}.json"
        plan.write_text(json.dumps({"name": name, "recover_within_s": 60, "faults": faults, "set": {
            "zookeeper.session_timeout_ms": 2000, "zookeeper.servers": 1}}))
        folder = self.folder / name
        done = chaos_in(folder, "run", "--plan", str(plan), "--job", JOB, "--keep", *options, env=self.chaos_environment, program=self.program)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = lines_of(folder / "round-0001/history.jsonl")
        self.assertEqual(len(kinds(lines, "fault")), len(faults), done.stderr)
        return lines, (folder / "round-0001/run.log").read_text()

    def test_worker_is_killed_at_each_failpoint(self):
        """In the middle of copies and kernels. The digest is that of the baseline run, which the round checks."""
        faults = [{"fault": "kill", "at_point": point, "after_s": number / 4, "pass": 3} for number, point in enumerate(POINTS)]
        lines, log = self.round_of("kills", faults, "--set", "train.gpus=2")
        self.assertEqual({line["point"] for line in kinds(lines, "fault")}, set(POINTS))
        self.assertGreaterEqual(log.count("signal 9"), len(POINTS))

    def test_ps_is_killed_at_each_failpoint(self):
        """In the middle of an update on its GPU, after which it loads the last checkpoint."""
        points = [point for point in POINTS if point != "gpu.mid_peer_copy"] + ["ps.mid_apply"]
        faults = [{"fault": "kill", "selector": "ps", "at_point": point, "after_s": number / 4, "pass": 3} for number, point in enumerate(points)]
        lines, log = self.round_of("ps", faults, *PS, "--set", "train.kernels=portable")
        self.assertEqual({line["point"] for line in kinds(lines, "fault")}, set(points))
        self.assertGreaterEqual(log.count("signal 9"), len(points))

    def test_gpu_of_a_ps_disappears_and_comes_back(self):
        lines, log = self.round_of("lost", [{"fault": "gpu-lost", "selector": "gpu", "at_progress": 0.2, "for_s": 0.3}], *PS, "--set",
                                   "train.kernels=portable")
        self.assertNotIn("; 0 calls", kinds(lines, "undo")[0]["text"])
        self.assertIn("ps:0", log)
        self.assertIn("exit code 14 (the GPU failed)", log)

    def test_errors_of_the_driver_end_the_process(self):
        """An error is sticky, so that the worker ends with exit code 14; without memory, a new worker ends with 1."""
        _, log = self.round_of("errors", [
            {"fault": "gpu-error", "selector": "worker:0", "at_point": "gpu.mid_kernel", "after_s": 0.1, "pass": 50},
            {"fault": "gpu-error", "selector": "worker:1", "at_point": "gpu.wait", "after_s": 0.3, "pass": 20}])
        self.assertEqual(log.count("exit code 14 (the GPU failed); restarting"), 2, log)
        lines, log = self.round_of("memory", [{"fault": "gpu-memory", "selector": "worker:0", "at_progress": 0.2, "for_s": 0.4}])
        self.assertNotIn("; 0 calls", kinds(lines, "undo")[0]["text"])
        self.assertIn("exit code 1 (error)", log)
        self.assertIn("/gpu:0 has no", "".join(
            path.read_text() for path in (self.folder / "memory/round-0001/run/logs").glob("worker-0*.log")))

    def test_gpu_disappears_and_comes_back(self):
        lines, log = self.round_of("lost", [{"fault": "gpu-lost", "selector": "worker:1", "at_progress": 0.2, "for_s": 0.6}])
        self.assertNotIn("; 0 calls", kinds(lines, "undo")[0]["text"])
        self.assertIn("worker:1", log)
        self.assertIn("exit code 14 (the GPU failed)", log)

    def test_built_in_plan_passes(self):
        done = chaos_in(self.folder / "c", "run", "--plan", "gpu", "--job", JOB, "--seed", "3", env=self.chaos_environment, program=self.program)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
