#!/usr/bin/env python3
"""A ps on a GPU (`train.ps_kernels=cuda`) on the emulated driver: the digests are those of a ps on the CPU, also when the ps is
killed, its GPU fails, or a run continues on the other one; jobs that do not support it are refused.

Real processes; every wait is bounded. The environment is that of test_cuda.py.
"""

import json
import unittest

from case import LONG, QUICK, ROOT
from test_cuda import CUDA, DEVICE_FAILED, REAL, SHORT, STEPS, Cuda

# Values of member 0 are on ps:0, those of member 1 on ps:1.
GROUP = {"name": "group", "seed": 3,
         "model": {"type": "layers", "inputs": 20, "outputs": 5,
                   "layers": [{"dense": {"units": 24, "activation": "tanh"}, "task": 0}, {"dense": 5, "task": 1}]},
         "data": {"type": "synthetic", "examples": 200, "test_examples": 20},
         "train": {"steps": 30, "batch": 16, "slices": 4, "optimizer": "adam", "learning_rate": 0.05},
         "strategy": {"type": "group", "members": 2}, "placement": {"strategy": "greedy"},
         "cluster": {"coordinators": 2, "ps": 2, "workers": 2}}

PS_CUDA = ["--set", "train.ps_kernels=cuda"]
PS_CPU = ["--set", "train.ps_kernels=cpu"]
SAVES = ["--set", "checkpoint.every_steps=10"]


def sets(**values):
    return [word for key, value in values.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]


class PsCuda(Cuda):
    def digest(self, *options, **more):
        return self.run_to_end(*options, **more)["parameters_digest"]

    def digest_of_one_process(self, job, name, *options):
        return self.digest("--local", job, "--dir", f"{name}-local", *options)

    def ps_logs(self, folder="run"):
        return "".join(path.read_text() for path in sorted((self.folder / folder / "logs").glob("ps-*.log")))


class Digests(PsCuda):
    def test_optimizers_have_the_bits_of_the_cpu(self):
        """Also with norms, which the ps measures on the CPU, and with a moving average."""
        for name, options in {
                "sgd": sets(train__optimizer="sgd"),
                "adam, limited norm": sets(train__optimizer="adam", train__clip_norm=0.05),
                "lars": sets(train__optimizer="lars", train__weight_decay=0.001),
                "lamb": sets(train__optimizer="lamb", train__weight_decay=0.001),
                "average": sets(train__optimizer="momentum", train__ema=0.9)}.items():
            with self.subTest(name):
                folder, steps = name.replace(", ", "-").replace(" ", "-"), [*SHORT, *STEPS, *options]
                expected = self.digest_of_one_process(QUICK, folder, *steps)
                self.assertEqual(self.digest(QUICK, "--dir", folder, *steps, *PS_CUDA), expected)
                self.assertIn("parameters are updated on /gpu:0", self.ps_logs(folder))

    def test_workers_and_ps_may_have_gpus(self):
        """Three ps, of which two share a GPU, with workers on CPUs and on GPUs."""
        model = sets(cluster__ps=3, model__inputs=300)
        expected = self.digest_of_one_process(QUICK, "run", *SHORT, *STEPS, *model[2:])
        for workers in ([], CUDA):
            folder = "cuda" if workers else "cpu"
            found = self.digest(QUICK, "--dir", folder, *SHORT, *STEPS, *model, *PS_CUDA, *workers, env={"TANIST_EMULATED_GPU": "devices=2"})
            self.assertEqual(found, expected)
            logs = self.ps_logs(folder)
            if not REAL:
                self.assertEqual([logs.count(f"updated on /gpu:{gpu}") for gpu in (0, 1)], [2, 1])

    def test_tables_stay_on_the_cpu(self):
        small = [*sets(train__steps=3, train__batch=4, train__slices=2, data__examples=32, data__test_examples=8),
                 *sets(evaluate__every_steps=0, checkpoint__every_steps=0)]
        job = str(ROOT / "examples/ctr/dlrm.json")
        expected = self.digest_of_one_process(job, "dlrm", *small)
        self.assertEqual(self.digest(job, "--dir", "dlrm", *small, *PS_CUDA), expected)

    def test_groups_of_workers_push_to_it(self):
        path = self.folder / "group.json"
        path.write_text(json.dumps(GROUP))
        expected = self.digest_of_one_process(str(path), "group")
        self.assertEqual(self.digest(str(path), "--dir", "group", *PS_CUDA), expected)

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_bits_do_not_depend_on_the_order_of_copies(self):
        expected = self.digest_of_one_process(QUICK, "run", *SHORT, *STEPS)
        for setting in ("order=copies", "order=kernels", "order=random,seed=7", "pinned=2"):
            with self.subTest(setting):
                found = self.digest(QUICK, "--dir", setting, *SHORT, *STEPS, *PS_CUDA, env={"TANIST_EMULATED_GPU": setting})
                self.assertEqual(found, expected)


class Runs(PsCuda):
    def test_checkpoints_continue_on_the_cpu_and_back(self):
        steps = [*SHORT, *SAVES]
        expected = self.digest_of_one_process(QUICK, "whole", *steps, "--set", "train.steps=75")
        self.run_to_end(QUICK, "--dir", "run", *steps, *PS_CUDA, "--set", "train.steps=25")
        self.run_to_end(QUICK, "--dir", "run", "--resume", *steps, *PS_CPU, "--set", "train.steps=50")
        self.assertEqual(self.digest(QUICK, "--dir", "run", "--resume", *steps, *PS_CUDA, "--set", "train.steps=75"), expected)

    def test_killed_ps_loads_the_last_checkpoint(self):
        """Its state was in the memory of the GPU, so nothing is left to continue with (P13)."""
        run = self.spawn("run", QUICK, "--dir", "run", *SHORT, *LONG, *SAVES, *PS_CUDA, "-o", "json")
        self.wait_tasks()
        self.check_status()
        for _ in range(2):
            self.kill_in_the_middle("ps:0")
        self.end_as_local(run)
        logs = self.ps_logs()
        self.assertIn("from checkpoint", logs)
        self.assertNotIn("from the memory of a former process", logs)

    def check_status(self):
        for task in self.live_status()["tasks"]:
            self.assertEqual(task.get("gpus"), 1 if task["role"] == "ps" else None)
        lines = self.succeeds("status", *self.target).splitlines()
        title = next(line for line in lines if line.startswith("TASK"))
        self.assertEqual(title.split()[-1], "GPUS")
        self.assertEqual([line.split()[-1] for line in lines if line.startswith("ps:")], ["1"])

    @unittest.skipIf(REAL, "failures are injected into the emulated driver only")
    def test_cluster_heals_when_the_gpu_is_lost(self):
        """It disappears in the middle of an update, and comes back when a new ps has not found it."""
        path = self.folder / "gone"
        run = self.spawn("run", QUICK, "--dir", "run", *SHORT, *LONG, *SAVES, *PS_CUDA, "-o", "json",
                         env={"TANIST_EMULATED_GPU_GONE": str(path)})
        self.wait_tasks()
        self.wait_step(20)
        path.touch()
        for text in (f"exit code {DEVICE_FAILED} (the GPU failed)", "exit code 3"):
            self.assertTrue(any(text in line for line in run.stderr), f"it ended without {text}")
        path.unlink()
        self.end_as_local(run)
        self.assertIn("/gpu:0: ", self.ps_logs())

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_too_little_memory_ends_the_job(self):
        """A former process could still have it, so the ps is started again before the job fails."""
        result = self.tanist("run", QUICK, "--dir", "run", *SHORT, *STEPS, *PS_CUDA, "--set", "model.inputs=100000", timeout=200,
                             env={"TANIST_EMULATED_GPU": "memory=1000000"})
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn(f"exit code {DEVICE_FAILED} (the GPU failed)", result.stderr)
        for text in ("bytes of the memory of /gpu:0", "of 1.0 MiB are free", "train.ps_kernels=cpu"):
            self.assertIn(text, self.ps_logs())


class Refusals(PsCuda):
    def test_what_is_impossible_is_refused(self):
        for options, texts in (
                (["--local", *PS_CUDA], ("train.ps_kernels is cuda", "--local", "train.ps_kernels=cpu")),
                ([*PS_CUDA, "--set", "strategy.type=mirror"], ("train.ps_kernels is cuda", "no ps", "train.ps_kernels=cpu")),
                ([*PS_CUDA, "--set", "train.mode=async"], ("train.ps_kernels is cuda", "train.mode is async", "train.ps_kernels=cpu")),
                (["--set", "train.ps_kernels=gpu"], ('train.ps_kernels is "gpu"', "cpu"))):
            self.refused(3, texts, "run", QUICK, "--dir", "run", *options)
            self.assertFalse((self.folder / "run").exists())

    @unittest.skipIf(REAL, "the machine has a driver")
    def test_missing_driver_is_named(self):
        result = self.tanist("run", QUICK, "--dir", "run", *SHORT, *STEPS, *PS_CUDA, env={"LD_LIBRARY_PATH": "", "CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(result.returncode, 3, result.stderr)
        for text in ("train.ps_kernels is cuda, and cpu has the same bits", "libcuda.so.1"):
            self.assertIn(text, result.stderr)

    def test_plan_counts_the_memory_of_the_gpu(self):
        count = 1000 * 1000 + 1
        model = sets(model__inputs=count - 1, train__optimizer="adam", cluster__ps=1, train__slices=1, train__batch=16)
        text = self.tanist("plan", QUICK, *model, *PS_CUDA).stdout
        self.assertIn("GPUs: one for each ps, that of ps:0 is /gpu:0", text)
        self.assertIn("on its GPU", text)
        memory = json.loads(self.tanist("plan", QUICK, *model, *PS_CUDA, "-o", "json").stdout)["shards"][0]["memory"]
        self.assertEqual(memory["state"], 0)
        self.assertGreater(memory["device"], 3 * 4 * count)
        self.assertGreater(memory["pinned"], 0)
        memory = json.loads(self.tanist("plan", QUICK, *model, "-o", "json").stdout)["shards"][0]["memory"]
        self.assertEqual((memory["state"], memory["device"], memory["pinned"]), (8 * count, 0, 0))


if __name__ == "__main__":
    unittest.main()
