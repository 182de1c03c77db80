#!/usr/bin/env python3
"""Training with `train.kernels=cublas` on the emulated driver and the emulated cuBLAS: losses are close to those of `portable`,
digests are the same in each run, with any number of workers and GPUs and after kills, and what is missing or fails is named.

TANIST_PROGRAM, TANIST_EMULATED_DRIVER, TANIST_REAL_GPU, TANIST_LIBRARIES: as in test_cuda.py.
"""

import json
import shutil
import unittest
from pathlib import Path

import test_cuda
from case import LONG, QUICK, patience
from test_cuda import DEVICE_FAILED, ECC_ERROR, EMULATED, LIBRARIES, MODELS, REAL, SHORT, STEPS

CUBLAS = ["--set", "train.kernels=cublas"]
GROUP = ["--set", "strategy.type=group"]
EXECUTION_FAILED = 13


class Cublas(test_cuda.Cuda):
    def digest(self, *arguments, **more):
        return self.run_to_end(*arguments, *CUBLAS, **more)["parameters_digest"]

    def local(self, directory, *options, **more):
        return self.digest("--local", QUICK, "--dir", directory, *SHORT, *options, **more)

    def refused(self, code, texts, *arguments, **environment):
        result = self.tanist(*arguments, env=environment)
        self.assertEqual(result.returncode, code, result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)


class Bits(Cublas):
    def test_models_train_to_losses_close_to_those_of_portable(self):
        """Twice to the same digest, which is another one than that of portable."""
        for name, model in MODELS.items():
            with self.subTest(name):
                job = self.job(name, model, steps=20, optimizer="momentum")
                expected = self.trained(job, f"{name}-portable")
                found = self.trained(job, f"{name}-1", *CUBLAS)
                self.assertEqual(self.trained(job, f"{name}-2", *CUBLAS), found)
                self.assertNotEqual(found[0], expected[0])
                self.assertLess(abs(found[1] - expected[1]), 1e-5 * abs(expected[1]))
                print(f"{name}: loss {found[1]} with cuBLAS, {expected[1]} with portable", flush=True)

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_bits_are_the_same_in_any_order(self):
        job = self.job("transformer", MODELS["transformer"], batch=12, slices=4)
        expected = self.trained(job, "late", *CUBLAS)
        for setting in ("order=copies", "order=kernels", "order=random,seed=7"):
            self.assertEqual(self.trained(job, setting, *CUBLAS, env={"TANIST_EMULATED_GPU": setting}), expected, setting)

    @unittest.skipIf(REAL, "the machine may have fewer GPUs")
    def test_every_number_of_gpus_has_the_same_bits(self):
        """Slices of the MLP would be computed together by other kernels, in products of other shapes."""
        for name in ("mlp", "cnn"):
            job = self.job(name, MODELS[name], steps=2, batch=12, slices=6)
            expected = self.trained(job, f"{name}-one", *CUBLAS)
            for count in (2, 3, 8):
                with self.subTest(name, gpus=count):
                    found = self.trained(job, f"{name}-{count}", *CUBLAS, "--set", f"train.gpus={count}",
                                         env={"TANIST_EMULATED_GPU": "devices=8"})
                    self.assertEqual(found, expected)

    def test_every_number_of_workers_has_the_same_bits(self):
        job = self.job("mlp", MODELS["mlp"], steps=20, batch=16, slices=8)
        expected = self.digest("--local", job, "--dir", "local")
        for strategy, workers in (("ps", 1), ("ps", 3), ("mirror", 2)):
            found = self.digest(job, "--dir", f"{strategy}-{workers}", "--set", f"strategy.type={strategy}",
                                "--set", f"cluster.workers={workers}")
            self.assertEqual(found, expected, f"{strategy}, {workers} workers")

    def test_commands_compute_on_the_cpu(self):
        self.local("run", *STEPS)
        nothing = {"LD_LIBRARY_PATH": LIBRARIES, "TANIST_CUDA_MODULE": ""}
        for command in (("evaluate", "run"), ("plan", QUICK, *CUBLAS), ("graph", QUICK, *CUBLAS)):
            result = self.tanist(*command, env=nothing)
            self.assertEqual(result.returncode, 0, f"{command}: {result.stderr}")
        self.assertIn("GPUs: one for each worker", self.tanist("plan", QUICK, *CUBLAS).stdout)


class Kills(Cublas):
    def test_killed_workers_leave_no_trace(self):
        """Each worker has two GPUs. The run names its arithmetic."""
        run = self.spawn("run", QUICK, "--dir", "run", *SHORT, *LONG, *CUBLAS, "--set", "train.gpus=2", "-o", "json",
                         env={"TANIST_EMULATED_GPU": "devices=4"} if not REAL else {})
        self.wait_tasks()
        status = self.live_status()
        self.assertRegex(status["fingerprint"], r"^portable: version \d+; cuBLAS \d+\.\d+\.\d+, capability \d+\.\d+, \d+ multiprocessors$")
        self.assertEqual({task["gpus"] for task in status["tasks"] if task["role"] == "worker"}, {2})
        for name in ("worker:0", "worker:1", "worker:0"):
            self.kill_in_the_middle(name)
        self.wait_step(self.wait_step()["step"] + 20)
        result = self.end(run)
        self.assertEqual(self.local("local", "--set", f"train.steps={result['steps']}"), result["parameters_digest"])


class Refusals(Cublas):
    RUN = ("run", "--local", QUICK, "--dir", "run", *SHORT, *STEPS, *CUBLAS)

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_missing_library_is_named(self):
        """Files that are not libraries, so that the loader does not go on to those of this machine."""
        for name in ("libcublas.so.13", "libcublas.so.12"):
            (self.folder / name).touch()
        shutil.copy(Path(EMULATED) / "libcuda.so.1", self.folder)
        path = f"{self.folder}:{LIBRARIES}".rstrip(":")
        texts = ("cuBLAS cannot be loaded", "libcublas.so.13 and libcublas.so.12 were looked for in LD_LIBRARY_PATH", path, "install the CUDA toolkit")
        self.refused(3, texts, *self.RUN, LD_LIBRARY_PATH=path)

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_old_library_and_other_libraries_are_named(self):
        self.refused(3, (f"{EMULATED}/libcublas.so.13 is cuBLAS 11, which is too old", "LD_LIBRARY_PATH"), *self.RUN,
                     TANIST_EMULATED_CUBLAS="version=11")
        shutil.copy(Path(EMULATED) / "libcuda.so.1", self.folder)
        shutil.copy(Path(EMULATED) / "libcuda.so.1", self.folder / "libcublas.so.13")
        self.refused(3, ("has no function cublasCreate_v2", "LD_LIBRARY_PATH"), *self.RUN,
                     LD_LIBRARY_PATH=f"{self.folder}:{LIBRARIES}".rstrip(":"))

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_missing_gpu_is_named(self):
        self.refused(3, ('the kernels "cublas" cannot be used', "CUDA_ERROR_NO_DEVICE"), *self.RUN, CUDA_VISIBLE_DEVICES="")

    @unittest.skipIf(REAL, "failures are injected into the emulated libraries only")
    def test_failing_call_ends_the_process(self):
        """While a handle is created, and in any product: of a step, of an evaluation."""
        self.refused(DEVICE_FAILED, ("/gpu:0: cublasCreate", "CUBLAS_STATUS_NOT_INITIALIZED"), *self.RUN, TANIST_EMULATED_CUBLAS="create=1")
        for products in (0, 30, 300):
            self.refused(DEVICE_FAILED, ("/gpu:0: product of", "CUBLAS_STATUS_EXECUTION_FAILED"), *self.RUN,
                         TANIST_EMULATED_CUBLAS=f"products={products},code={EXECUTION_FAILED}")
        self.refused(DEVICE_FAILED, ("CUDA_ERROR_ECC_UNCORRECTABLE",), *self.RUN, TANIST_EMULATED_GPU=f"operations=100,error={ECC_ERROR}")
        self.refused(1, ("/gpu:0: cuMemAlloc of 32 MiB for cuBLAS", "CUDA_ERROR_OUT_OF_MEMORY"), *self.RUN, TANIST_EMULATED_GPU="memory=1000000")

    @unittest.skipIf(REAL, "failures are injected into the emulated libraries only")
    def test_cluster_heals_after_failing_calls(self):
        """cuBLAS fails in each process after a while; new processes continue to the same bits."""
        steps = [*SHORT, "--set", "train.steps=60"]
        expected = self.local("local", "--set", "train.steps=60")
        result = self.tanist("run", QUICK, "--dir", "run", *steps, *CUBLAS, "-o", "json", timeout=patience(200),
                             env={"TANIST_EMULATED_CUBLAS": f"products=100,code={EXECUTION_FAILED}"})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["parameters_digest"], expected)
        self.assertIn("exit code 14 (the GPU failed)", result.stderr)

    @unittest.skipIf(REAL, "failures are injected into the emulated libraries only")
    def test_gpu_that_returns_is_used_again(self):
        """The GPU of both workers disappears: new processes, which name their arithmetic first, do not find it, and try again."""
        path = self.folder / "gone"
        run = self.spawn("run", QUICK, "--dir", "run", *SHORT, *LONG, *CUBLAS, "-o", "json", env={"TANIST_EMULATED_GPU_GONE": str(path)})
        self.wait_tasks()
        path.touch()
        for code in ("exit code 14", "exit code 3"):
            self.assertTrue(any(code in line for line in run.stderr), f"it ended without {code}")
        path.unlink()
        self.wait_step(self.wait_step()["step"] + 20)
        result = self.end(run)
        self.assertEqual(self.local("local", "--set", f"train.steps={result['steps']}"), result["parameters_digest"])

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_gpus_of_other_types_are_refused(self):
        """Two types in a worker, and a run that continues on another one."""
        self.refused(3, ("the GPUs of this worker differ", "/gpu:1", "CUDA_VISIBLE_DEVICES"), *self.RUN, "--set", "train.gpus=2",
                     TANIST_EMULATED_GPU="devices=2,other=1")
        self.local("run", *STEPS)
        more = ("run", "--local", QUICK, "--dir", "run", "--resume", *SHORT, *CUBLAS, "--set", "train.steps=50")
        texts = ("capability 9.0, 1 multiprocessors", "capability 9.0, 2 multiprocessors", "train.same_bits=false")
        self.refused(3, texts, *more, TANIST_EMULATED_GPU="other=0")
        self.assertEqual(self.tanist(*more, "--set", "train.same_bits=false", env={"TANIST_EMULATED_GPU": "other=0"}).returncode, 0)

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_worker_with_another_gpu_is_refused(self):
        """worker:1 of two has the second GPU of its host, which is of another type."""
        result = self.tanist("run", QUICK, "--dir", "run", *SHORT, *LONG, *CUBLAS, timeout=patience(200), env={"TANIST_EMULATED_GPU": "devices=2,other=1"})
        self.assertEqual(result.returncode, 3, result.stderr)
        for text in ("refused: the arithmetic of this worker", "use the same version of cuBLAS and GPUs of this type"):
            self.assertIn(text, result.stderr)

    def test_what_is_impossible_is_refused(self):
        self.refused(3, ("train.kernels is cublas, which strategy.type group does not support", "train.kernels=portable"), "plan", QUICK, *CUBLAS, *GROUP)
        self.refused(3, ("train.kernels is cublas, with a GPU each", "cluster.workers_per_process=1"), "plan", QUICK, *CUBLAS,
                     "--set", "cluster.workers_per_process=2")
        self.refused(3, ("train.mode is async", "train.gpus=1"), "plan", QUICK, *CUBLAS, "--set", "train.gpus=2", "--set", "train.mode=async")
        self.refused(3, ("train.kernels", '"cuda" or "cublas"'), "plan", QUICK, "--set", "train.kernels=gpu")


if __name__ == "__main__":
    unittest.main()
