#!/usr/bin/env python3
"""Training with `train.precision` `tf32` and `bf16` on the emulated driver and the emulated cuBLAS: losses are near those of
`float32`, digests are others, and the same with any number of workers and GPUs and after kills. Other kernels and changes of the precision are refused.

TANIST_PROGRAM, TANIST_EMULATED_DRIVER, TANIST_REAL_GPU, TANIST_LIBRARIES: as in test_cuda.py.
"""

import math
import unittest

import test_cublas
from case import LONG, QUICK, ROOT
from test_cuda import IMAGE, LIBRARIES, MODELS, REAL, SHORT, STEPS

# The most by which the loss may differ from the one of float32, as a share of it.
PRECISIONS = {"tf32": 0.005, "bf16": 0.03}
POINTWISE = {**IMAGE, "layers": [
    {"conv2d": {"filters": 6, "activation": "relu"}}, {"conv2d": {"filters": 8, "kernel": 1, "activation": "relu"}}, {"max_pool": 2},
    {"conv2d": {"filters": 4, "kernel": 1}}, "flatten", {"dense": 4}]}


def rounded(precision):
    return ["--set", f"train.precision={precision}"]


class Precision(test_cublas.Cublas):
    def fingerprint(self, folder):
        return self.json("checkpoints", folder)["checkpoints"][-1]["fingerprint"]


class Bits(Precision):
    def test_models_train_to_losses_close_to_those_of_float32(self):
        """The loss of the MLP falls from that of a guess, the logarithm of 4, to less than a quarter."""
        for name, model in {**MODELS, "pointwise": POINTWISE}.items():
            job = self.job(name, model, steps=20, optimizer="momentum")
            exact = self.trained(job, f"{name}-float32", *test_cublas.CUBLAS)
            digests = {exact[0]}
            for precision, share in PRECISIONS.items():
                with self.subTest(name, precision=precision):
                    found = self.trained(job, f"{name}-{precision}", *test_cublas.CUBLAS, *rounded(precision))
                    self.assertEqual(self.trained(job, f"{name}-{precision}-2", *test_cublas.CUBLAS, *rounded(precision)), found)
                    self.assertLess(abs(found[1] - exact[1]), share * abs(exact[1]))
                    digests.add(found[0])
                    if name == "mlp":
                        self.assertLess(found[1], math.log(4) / 4)
                    print(f"{name}: loss {found[1]} with {precision}, {exact[1]} with float32", flush=True)
            self.assertEqual(len(digests), 3, name)

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_two_towers_in_any_order(self):
        """Products whose operands are in the workspace; rounded operands follow one another in the same memory."""
        small = ["--set", "train.steps=2", "--set", "train.batch=4", "--set", "train.slices=2", "--set", "evaluate.every_steps=0",
                 "--set", "checkpoint.every_steps=0", "--set", "data.examples=32", "--set", "data.test_examples=8"]
        job = str(ROOT / "examples/two-tower.json")
        exact = self.trained(job, "float32", *small, *test_cublas.CUBLAS)
        expected = self.trained(job, "late", *small, *test_cublas.CUBLAS, *rounded("bf16"))
        self.assertLess(abs(expected[1] - exact[1]), PRECISIONS["bf16"] * abs(exact[1]))
        for setting in ("order=copies", "order=kernels", "order=random,seed=7"):
            found = self.trained(job, setting, *small, *test_cublas.CUBLAS, *rounded("bf16"), env={"TANIST_EMULATED_GPU": setting})
            self.assertEqual(found, expected, setting)

    @unittest.skipIf(REAL, "the machine may have fewer GPUs")
    def test_every_number_of_gpus_has_the_same_bits(self):
        for precision in PRECISIONS:
            job = self.job("mlp", MODELS["mlp"], steps=4, batch=12, slices=6)
            expected = self.trained(job, f"{precision}-one", *test_cublas.CUBLAS, *rounded(precision))
            for count in (2, 3):
                found = self.trained(job, f"{precision}-{count}", *test_cublas.CUBLAS, *rounded(precision), "--set", f"train.gpus={count}",
                                     env={"TANIST_EMULATED_GPU": "devices=4"})
                self.assertEqual(found, expected, f"{precision}, {count} GPUs")

    def test_every_number_of_workers_has_the_same_bits(self):
        for precision in PRECISIONS:
            job = self.job("mlp", MODELS["mlp"], steps=20, batch=16, slices=8)
            expected = self.digest("--local", job, "--dir", f"{precision}-local", *rounded(precision))
            for workers in (1, 2):
                found = self.digest(job, "--dir", f"{precision}-{workers}", "--set", f"cluster.workers={workers}", *rounded(precision))
                self.assertEqual(found, expected, f"{precision}, {workers} workers")

    def test_commands_compute_on_the_cpu(self):
        self.local("run", *STEPS, *rounded("bf16"))
        nothing = {"LD_LIBRARY_PATH": LIBRARIES, "TANIST_CUDA_MODULE": ""}
        for command in (("evaluate", "run"), ("plan", QUICK, *test_cublas.CUBLAS, *rounded("bf16"))):
            result = self.tanist(*command, env=nothing)
            self.assertEqual(result.returncode, 0, f"{command}: {result.stderr}")


class Kills(Precision):
    def check_kills(self, precision):
        run = self.spawn("run", QUICK, "--dir", "run", *SHORT, *LONG, *test_cublas.CUBLAS, *rounded(precision), "-o", "json")
        self.wait_tasks()
        self.assertRegex(self.live_status()["fingerprint"],
                         rf"^portable: version \d+; cuBLAS \d+\.\d+\.\d+, capability \d+\.\d+, \d+ multiprocessors, {precision}$")
        for name in ("worker:0", "worker:1"):
            self.kill_in_the_middle(name)
        self.wait_step(self.wait_step()["step"] + 20)
        result = self.end(run)
        self.assertEqual(self.local("local", "--set", f"train.steps={result['steps']}", *rounded(precision)), result["parameters_digest"])

    def test_killed_workers_leave_no_trace_with_bf16(self):
        self.check_kills("bf16")

    def test_killed_workers_leave_no_trace_with_tf32(self):
        self.check_kills("tf32")


class Refusals(Precision):
    RUN = ("run", "--local", QUICK, "--dir", "run", *SHORT)

    def test_a_run_keeps_its_precision(self):
        self.local("run", *STEPS, *rounded("bf16"))
        more = ("--resume", *test_cublas.CUBLAS, "--set", "train.steps=50")
        for precision in ("tf32", "float32"):
            self.refused(3, ("train.precision", "bf16"), *self.RUN, *more, *rounded(precision))
        self.refused(3, ("train.precision", "bf16"), *self.RUN, *more, *rounded("tf32"), "--set", "train.same_bits=false")
        self.assertEqual(self.tanist(*self.RUN, *more, *rounded("bf16")).returncode, 0)

    def test_other_kernels_are_refused(self):
        for kernels in ("portable", "openblas", "cuda"):
            for precision in PRECISIONS:
                self.refused(3, (f"train.precision is {precision}", "train.kernels=cublas", "train.precision=float32"), "plan", QUICK,
                             "--set", f"train.kernels={kernels}", *rounded(precision))
        self.refused(3, ("train.precision", '"tf32" or "bf16"'), "plan", QUICK, *test_cublas.CUBLAS, *rounded("fp8"))

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_switched_off_tf32_is_refused(self):
        """NVIDIA_TF32_OVERRIDE=0 makes cuBLAS compute in float32, whatever a program asks for."""
        for value, precision, code in (("0", "tf32", 3), ("0", "bf16", 0), ("1", "tf32", 0)):
            result = self.tanist(*self.RUN[:3], "--dir", f"{value}-{precision}", *SHORT, *STEPS, *test_cublas.CUBLAS, *rounded(precision),
                                 env={"NVIDIA_TF32_OVERRIDE": value})
            self.assertEqual(result.returncode, code, result.stderr)
            if code != 0:
                self.assertIn("NVIDIA_TF32_OVERRIDE is 0", result.stderr)
                self.assertIn("train.precision=float32", result.stderr)

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_memory_for_operands_is_counted(self):
        """The error has more bytes for the results of operations, which include the rounded operands, than with tf32."""
        sizes = {}
        for precision in PRECISIONS:
            job = self.job("mlp", {**MODELS["mlp"], "hidden": [1024, 1024]})
            result = self.tanist("run", "--local", job, "--dir", precision, *test_cublas.CUBLAS, *rounded(precision),
                                 env={"TANIST_EMULATED_GPU": f"memory={(32 << 20) + 1000000}"})
            self.assertEqual(result.returncode, 1, result.stderr)
            sizes[precision] = float(result.stderr.split("results of operations ")[1].split(")")[0])
        self.assertGreater(sizes["bf16"], sizes["tf32"])


if __name__ == "__main__":
    unittest.main()
