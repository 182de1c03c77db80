#!/usr/bin/env python3
"""Training with `train.kernels=cuda` through the driver's port, on an emulated driver that runs every kernel: the digests are
those of `portable`, and failures of the driver end a process with a reason, after which a cluster heals.

Real processes; every wait is bounded. TANIST_PROGRAM: the program. TANIST_EMULATED_DRIVER: the folder of the emulated
libcuda.so.1 and of its module. TANIST_REAL_GPU=1: the machine's driver instead, without the tests of failures.
TANIST_LIBRARIES: a folder of libraries that the program itself needs.
"""

import json
import os
import signal
import unittest

from case import LONG, QUICK, ROOT, Cli, patience, pids

EMULATED = os.environ.get("TANIST_EMULATED_DRIVER", str(ROOT / "build/emulated-gpu"))
REAL = os.environ.get("TANIST_REAL_GPU") == "1"
LIBRARIES = os.environ.get("TANIST_LIBRARIES", "")
CUDA = ["--set", "train.kernels=cuda"]
SHORT = ["--set", "train.batch=16", "--set", "train.slices=4", "--set", "train.optimizer=adam", "--set", "data.examples=64",
         "--set", "data.test_examples=32"]
STEPS = ["--set", "train.steps=40", "--set", "evaluate.every_steps=20"]
LAUNCH_FAILED, ECC_ERROR, OUT_OF_MEMORY, NOT_SUPPORTED = 719, 214, 2, 801
DEVICE_FAILED = 14  # The exit code.

SYNTHETIC = {"type": "synthetic", "examples": 32, "test_examples": 16, "noise": 0.1}
TRAIN = {"steps": 4, "batch": 8, "slices": 2, "optimizer": "adam", "learning_rate": 0.01}
IMAGE = {"type": "layers", "inputs": 64, "shape": [8, 8, 1], "outputs": 4}
MODELS = {
    "mlp": {"type": "mlp", "inputs": 20, "outputs": 4, "hidden": [24, 12]},
    "cnn": {**IMAGE, "layers": [
        {"conv2d": {"filters": 6, "activation": "relu"}}, {"max_pool": 2}, {"conv2d": {"filters": 8}}, "batch_norm", "silu",
        {"mean_pool": 2}, "flatten", {"dense": {"units": 16, "activation": "relu"}}, {"dropout": 0.25}, {"dense": 4}]},
    "transformer": {"type": "layers", "inputs": 64, "shape": [8, 8], "outputs": 4, "layers": [
        "positions", {"transformer_block": {"heads": 2, "causal": True, "dropout": 0.1}}, "layer_norm", "flatten",
        {"dense": 4}]},
}


class Cuda(Cli):
    def setUp(self):
        super().setUp()
        if not REAL:
            self.environment.update(LD_LIBRARY_PATH=f"{EMULATED}:{LIBRARIES}".rstrip(":"), TANIST_CUDA_MODULE=f"{EMULATED}/tanist-cuda.fatbin")

    def job(self, name, model, **train):
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps({"name": name, "model": model, "data": SYNTHETIC, "train": {**TRAIN, **train}}))
        return str(path)

    def run_to_end(self, *arguments, **more):
        """The result of a run that succeeds; `seconds` alone depends on more than the bits."""
        result = self.tanist("run", *arguments, "-o", "json", timeout=200, **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def trained(self, job, directory, *options, **more):
        found = self.run_to_end("--local", job, "--dir", directory, *options, **more)
        return found["parameters_digest"], found["loss"], found["evaluations"]

    def fails(self, setting, *arguments):
        """A run with a failing emulated driver: its exit code and message."""
        result = self.tanist("run", "--local", QUICK, "--dir", f"fail-{setting}", *SHORT, *STEPS, *CUDA, *arguments,
                             env={"TANIST_EMULATED_GPU": setting})
        return result.returncode, result.stderr

    def begin_cuda(self, **environment):
        """A run without an end."""
        run = self.spawn("run", QUICK, "--dir", "run", *SHORT, *LONG, *CUDA, "-o", "json", env=environment)
        self.wait_tasks()
        return run

    def end_as_local(self, run):
        """It trains, and is stopped; one process computes the same parameters in as many steps."""
        self.wait_step(self.wait_step()["step"] + 20)
        result = self.end(run)
        expected = self.run_to_end("--local", QUICK, "--dir", "local", *SHORT, "--set", f"train.steps={result['steps']}")
        self.assertEqual(result["parameters_digest"], expected["parameters_digest"])


class Digests(Cuda):
    def test_models_have_the_bits_of_portable(self):
        for name, model in MODELS.items():
            with self.subTest(name):
                job = self.job(name, model)
                expected = self.trained(job, f"{name}-portable")
                self.assertEqual(self.trained(job, f"{name}-cuda", *CUDA), expected)
                print(f"{name}: {expected[0]} on CPU and GPU", flush=True)

    def test_examples_with_tables_have_the_bits_of_portable(self):
        """The parameters' digest is also that of the rows of tables."""
        small = ["--set", "train.steps=2", "--set", "train.batch=4", "--set", "train.slices=2", "--set", "evaluate.every_steps=0",
                 "--set", "checkpoint.every_steps=0", "--set", "data.examples=32", "--set", "data.test_examples=8"]
        for name in ("two-tower", "ctr/dlrm", "ctr/two-tower", "ctr/wide-deep-hashed"):
            with self.subTest(name):
                job, folder = str(ROOT / f"examples/{name}.json"), name.replace("/", "-")
                expected = self.trained(job, f"{folder}-portable", *small)
                self.assertEqual(self.trained(job, f"{folder}-cuda", *small, *CUDA), expected)

    def test_a_regression_has_the_bits_of_portable(self):
        """Also while each value is checked, which copies it to the host."""
        expected = self.trained(QUICK, "portable", *SHORT, *STEPS)
        self.assertEqual(self.trained(QUICK, "cuda", *SHORT, *STEPS, *CUDA), expected)
        checked = self.trained(QUICK, "checked", *SHORT, *STEPS, *CUDA, env={"TANIST_CHECK_NUMERICS": "1"})
        self.assertEqual(checked, expected)

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_copies_have_the_bits_of_portable_in_any_order(self):
        """Slices are computed one by one. Also if memory cannot be pinned, which is logged once."""
        job = self.job("cnn", MODELS["cnn"], batch=12, slices=4)
        expected = self.trained(job, "cnn-portable")
        for number, setting in enumerate(("order=copies", "order=kernels", "order=random,seed=7", f"pinned={OUT_OF_MEMORY}")):
            found = self.tanist("run", "--local", job, "--dir", f"cnn-{number}", *CUDA, "-o", "json", timeout=200,
                                env={"TANIST_EMULATED_GPU": setting})
            self.assertEqual(found.returncode, 0, found.stderr)
            self.assertEqual(json.loads(found.stdout)["parameters_digest"], expected[0], setting)
            self.assertEqual(found.stderr.count("cannot be pinned"), int("pinned" in setting), found.stderr)

    def test_cluster_has_the_digest_of_portable(self):
        expected = self.run_to_end("--local", QUICK, "--dir", "local", *SHORT, *STEPS)["parameters_digest"]
        for strategy in ("ps", "mirror"):
            found = self.run_to_end(QUICK, "--dir", strategy, *SHORT, *STEPS, *CUDA, "--set", f"strategy.type={strategy}")
            self.assertEqual(found["parameters_digest"], expected)

    def test_commands_compute_on_the_cpu(self):
        """Runs with cuda are planned, evaluated and shown on machines without a GPU."""
        self.trained(QUICK, "cuda", *SHORT, *STEPS, *CUDA)
        nothing = {"LD_LIBRARY_PATH": LIBRARIES, "TANIST_CUDA_MODULE": ""}
        for command in (("evaluate", "cuda"), ("plan", QUICK, *CUDA), ("graph", QUICK, *CUDA)):
            result = self.tanist(*command, env=nothing)
            self.assertEqual(result.returncode, 0, f"{command}: {result.stderr}")


class Graphs(Cuda):
    """Kernels are started as graphs, or one by one, with the same bits. test_launch_graphs.c counts the graphs."""

    ONE_BY_ONE = {"TANIST_GPU_GRAPHS": "0"}

    def test_digests_are_equal_without_graphs(self):
        for name, model in MODELS.items():
            with self.subTest(name):
                job = self.job(name, model)
                expected = self.trained(job, f"{name}-portable")
                self.assertEqual(self.trained(job, f"{name}-single", *CUDA, env=self.ONE_BY_ONE), expected)

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_driver_without_graphs_has_the_same_bits(self):
        job = self.job("cnn", MODELS["cnn"])
        expected = self.trained(job, "portable")[0]
        found = self.tanist("run", "--local", job, "--dir", "cnn", *CUDA, "-o", "json", timeout=200,
                            env={"TANIST_EMULATED_GPU": f"graphs={NOT_SUPPORTED}"})
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertEqual(json.loads(found.stdout)["parameters_digest"], expected)
        self.assertEqual(found.stderr.count("kernels are started one by one"), 1, found.stderr)

    def test_run_continues_without_graphs(self):
        """Half a run with graphs, the rest without."""
        steps = [*SHORT, "--set", "checkpoint.every_steps=10", "--set", "train.steps=60"]
        expected = self.run_to_end("--local", QUICK, "--dir", "local", *steps)["parameters_digest"]
        self.run_to_end(QUICK, "--dir", "run", *steps[:-1], "train.steps=30", *CUDA)
        found = self.run_to_end(QUICK, "--dir", "run", "--resume", *steps, *CUDA, env=self.ONE_BY_ONE)
        self.assertEqual(found["parameters_digest"], expected)

    def test_killed_workers_leave_no_trace_without_graphs(self):
        run = self.begin_cuda(**self.ONE_BY_ONE)
        self.kill_in_the_middle("worker:0")
        self.end_as_local(run)


class SeveralGpus(Cuda):
    """`train.gpus`: a worker with several GPUs."""

    EIGHT = {"TANIST_EMULATED_GPU": "devices=8"}

    def gpus(self, count):
        return [*CUDA, "--set", f"train.gpus={count}"]

    @unittest.skipIf(REAL, "the machine may have fewer GPUs")
    def test_every_number_has_the_bits_of_portable(self):
        """Slices of the MLP are computed in one run, those of the CNN, with batch norm, one by one. 6 slices of uneven subtrees."""
        for name in ("mlp", "cnn"):
            job = self.job(name, MODELS[name], steps=2, batch=12, slices=6)
            expected = self.trained(job, f"{name}-portable")
            for count in (1, 2, 3, 4, 8):
                with self.subTest(name, gpus=count):
                    self.assertEqual(self.trained(job, f"{name}-{count}", *self.gpus(count), env=self.EIGHT), expected)

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_sums_without_access_or_memory_have_the_same_bits(self):
        """GPUs that cannot access the memory of each other, and one without memory for sums, which are then added on the CPU."""
        job = self.job("cnn", MODELS["cnn"], steps=2, batch=12, slices=6)
        expected = self.trained(job, "portable")[0]
        for number, (setting, on_cpu) in enumerate((("peers=0", 0), ("small=1,limit=20000", 1))):
            found = self.tanist("run", "--local", job, "--dir", f"cnn-{number}", *self.gpus(4), "-o", "json", timeout=200,
                                env={"TANIST_EMULATED_GPU": f"devices=4,{setting}"})
            self.assertEqual(found.returncode, 0, found.stderr)
            self.assertEqual(json.loads(found.stdout)["parameters_digest"], expected, setting)
            self.assertEqual(found.stderr.count("gradients are added on the CPU"), on_cpu, found.stderr)

    @unittest.skipIf(REAL, "failures are injected into the emulated driver only")
    def test_failing_copy_between_gpus_ends_the_process(self):
        code, text = self.fails(f"devices=2,peer_copy={LAUNCH_FAILED}", *self.gpus(2)[2:])
        self.assertEqual(code, DEVICE_FAILED, text)
        for part in ("/gpu:0: cuMemcpyPeerAsync", "CUDA_ERROR_LAUNCH_FAILED"):
            self.assertIn(part, text)

    @unittest.skipIf(REAL, "settings of the emulated driver")
    def test_every_number_has_the_bits_of_portable_in_any_order(self):
        """Copies and kernels of all GPUs, as early and as late as events allow."""
        job = self.job("cnn", MODELS["cnn"], steps=2, batch=12, slices=6)
        expected = self.trained(job, "portable")
        for setting in ("order=copies", "order=kernels", "order=random,seed=7"):
            for count in (1, 2, 3, 8):
                with self.subTest(setting, gpus=count):
                    found = self.trained(job, f"{setting}-{count}", *self.gpus(count), env={"TANIST_EMULATED_GPU": f"devices=8,{setting}"})
                    self.assertEqual(found, expected)

    @unittest.skipIf(REAL, "the machine may have fewer GPUs")
    def test_cluster_has_the_bits_of_portable(self):
        expected = self.run_to_end("--local", QUICK, "--dir", "local", *SHORT, *STEPS)["parameters_digest"]
        for strategy in ("ps", "mirror"):
            found = self.run_to_end(QUICK, "--dir", strategy, *SHORT, *STEPS, *self.gpus(2), "--set", f"strategy.type={strategy}",
                                    env={"TANIST_EMULATED_GPU": "devices=4"})
            self.assertEqual(found["parameters_digest"], expected)

    @unittest.skipIf(REAL, "failures are injected into the emulated driver only")
    def test_failure_of_the_second_gpu_is_named(self):
        code, text = self.fails(f"devices=2,broken=1,calls=300,error={ECC_ERROR}", *self.gpus(2)[2:])
        self.assertEqual(code, DEVICE_FAILED, text)
        self.assertIn("/gpu:1", text)
        self.assertNotIn("/gpu:0", text)
        self.assertIn("CUDA_ERROR_ECC_UNCORRECTABLE", text)
        code, text = self.fails(f"devices=2,broken=1,calls=0,error={ECC_ERROR}", *self.gpus(2)[2:])
        self.assertEqual(code, DEVICE_FAILED, text)
        self.assertIn("/gpu:1: cuStreamCreate", text)
        code, text = self.fails("devices=2,small=1,limit=1000000", *self.gpus(2)[2:], "--set", "model.inputs=100000")
        self.assertEqual(code, 1, text)
        self.assertIn("/gpu:1 has no", text)

    @unittest.skipIf(REAL, "failures are injected into the emulated driver only")
    def test_cluster_heals_when_the_second_gpu_fails(self):
        """With two workers of one GPU each, /gpu:1 is that of worker:1. The run ends with the bits of portable. With
        `operations`, calls succeed, and the GPU fails while it computes a slice."""
        steps = [*SHORT, "--set", "train.steps=60"]
        expected = self.run_to_end("--local", QUICK, "--dir", "local", *steps)["parameters_digest"]
        for count, limit in ((1, "calls=500"), (2, "calls=500"), (2, "operations=500")):
            with self.subTest(gpus=count, limit=limit):
                folder = f"run-{count}-{limit}"
                result = self.tanist("run", QUICK, "--dir", folder, *steps, *self.gpus(count), "-o", "json", timeout=200,
                                     env={"TANIST_EMULATED_GPU": f"devices=2,broken=1,{limit},error={LAUNCH_FAILED}"})
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(json.loads(result.stdout)["parameters_digest"], expected)
                self.assertIn("exit code 14 (the GPU failed)", result.stderr)
                logs = "".join(path.read_text() for path in (self.folder / folder / "logs").glob("worker-*.log"))
                self.assertIn("/gpu:1", logs)
                self.assertNotIn("/gpu:0", logs)

    @unittest.skipIf(REAL, "failures are injected into the emulated driver only")
    def test_run_continues_without_a_gpu_that_stays_away(self):
        """The second GPU fails whenever it is opened, so the job fails. The run continues with the other one, to the same bits."""
        steps = [*SHORT, "--set", "checkpoint.every_steps=10", "--set", "train.steps=60"]
        expected = self.run_to_end("--local", QUICK, "--dir", "local", *steps)["parameters_digest"]
        self.run_to_end(QUICK, "--dir", "run", *steps[:-1], "train.steps=30", *self.gpus(2), env={"TANIST_EMULATED_GPU": "devices=2"})
        broken = {"TANIST_EMULATED_GPU": f"devices=2,broken=1,calls=0,error={ECC_ERROR}"}
        result = self.tanist("run", QUICK, "--dir", "run", "--resume", *steps, *self.gpus(2), env=broken)
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("exit code 14 (the GPU failed)", result.stderr)
        found = self.run_to_end(QUICK, "--dir", "run", "--resume", *steps, *self.gpus(1), env={"TANIST_EMULATED_GPU": "devices=1"})
        self.assertEqual(found["parameters_digest"], expected)

    def check_status(self):
        """GPUs are shown for workers only."""
        for task in self.live_status()["tasks"]:
            self.assertEqual(task.get("gpus"), 2 if task["role"] == "worker" else None)
        lines = self.succeeds("status", *self.target).splitlines()
        title = next(line for line in lines if line.startswith("TASK"))
        self.assertEqual(title.split()[-2:], ["ADDRESS", "GPUS"])
        self.assertEqual([line.split()[-1] for line in lines if line.startswith("worker:")], ["2", "2"])
        self.assertEqual([line.split()[-1] for line in lines if line.startswith("ps:")], ["-"])

    @unittest.skipIf(REAL, "the machine may have fewer GPUs")
    def test_killed_workers_leave_no_trace(self):
        run = self.spawn("run", QUICK, "--dir", "run", *SHORT, *LONG, *self.gpus(2), "-o", "json",
                         env={"TANIST_EMULATED_GPU": "devices=4"})
        self.wait_tasks()
        self.check_status()
        for name in ("worker:0", "worker:1"):
            self.kill_in_the_middle(name)
        self.end_as_local(run)

    def test_what_is_impossible_is_refused(self):
        local = ("run", "--local", QUICK, "--dir", "run", *SHORT)
        for arguments, texts in (
                ((*local, *CUDA, "--set", "train.gpus=9"), ("train.gpus", "8")),
                ((*local, "--set", "train.gpus=2"), ("train.gpus is 2, but train.kernels is not cuda or cublas", "--set train.gpus=1")),
                (("plan", QUICK, *self.gpus(2), "--set", "train.mode=async"), ("train.mode is async", "--set train.gpus=1")),
                (("plan", str(ROOT / "examples/ctr/dlrm.json"), *self.gpus(2)), ("train.gpus is 2, but the rows of the table",)),
                (("plan", QUICK, *self.gpus(2), "--set", "strategy.type=group"), ("train.kernels", "group"))):
            result = self.tanist(*arguments)
            self.assertEqual(result.returncode, 3, result.stderr)
            for text in texts:
                self.assertIn(text, result.stderr)

    @unittest.skipIf(REAL, "the machine may have more GPUs")
    def test_too_few_gpus_are_named(self):
        for visible, shown in ((None, 4), ("2,0", 2)):
            environment = {"TANIST_EMULATED_GPU": "devices=4", **({"CUDA_VISIBLE_DEVICES": visible} if visible else {})}
            result = self.tanist("run", "--local", QUICK, "--dir", "run", *SHORT, *self.gpus(5), env=environment)
            self.assertEqual(result.returncode, 3, result.stderr)
            for text in (f"train.gpus is 5, but the driver shows {shown} GPUs", f"--set train.gpus={shown}", "CUDA_VISIBLE_DEVICES"):
                self.assertIn(text, result.stderr)
        result = self.tanist("run", QUICK, "--dir", "cluster", *SHORT, *self.gpus(2), env={"TANIST_EMULATED_GPU": "devices=1"})
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("train.gpus is 2, but the driver shows 1 GPU to this worker", result.stderr)

    def test_plan_shows_the_gpus(self):
        text = self.tanist("plan", QUICK, *self.gpus(2)).stdout
        self.assertIn("GPUs: 2 for each worker, those of worker:0 are /gpu:0 to /gpu:1", text)
        self.assertEqual(json.loads(self.tanist("plan", QUICK, *self.gpus(2), "-o", "json").stdout)["gpus"], 2)
        self.assertIsNone(json.loads(self.tanist("plan", QUICK, "-o", "json").stdout)["gpus"])


class Kills(Cuda):
    def test_killed_workers_leave_no_trace(self):
        run = self.begin_cuda()
        for name in ("worker:0", "worker:1", "worker:0"):
            self.kill_in_the_middle(name)
        self.end_as_local(run)


@unittest.skipIf(REAL, "failures are injected into the emulated driver only")
class Failures(Cuda):
    def test_what_is_missing_is_named(self):
        for settings, texts in (
                ({"LD_LIBRARY_PATH": LIBRARIES}, ("libcuda.so.1", "install NVIDIA's driver", "portable")),
                ({"CUDA_VISIBLE_DEVICES": ""}, ("CUDA_ERROR_NO_DEVICE", 'CUDA_VISIBLE_DEVICES is ""')),
                ({"TANIST_CUDA_MODULE": "/nowhere/module"}, ("TANIST_CUDA_MODULE", "/nowhere/module", "portable"))):
            result = self.tanist("run", "--local", QUICK, "--dir", "run", *SHORT, *STEPS, *CUDA, env=settings)
            self.assertEqual(result.returncode, 3, result.stderr)
            for text in texts:
                self.assertIn(text, result.stderr)

    def test_module_of_another_kind_is_refused(self):
        result = self.tanist("run", "--local", QUICK, "--dir", "run", *SHORT, *CUDA, env={"TANIST_CUDA_MODULE": QUICK})
        self.assertEqual(result.returncode, DEVICE_FAILED, result.stderr)
        for text in (QUICK, "CUDA_ERROR_INVALID_IMAGE", "code for this GPU"):
            self.assertIn(text, result.stderr)

    def test_out_of_memory_says_how_much(self):
        code, text = self.fails("memory=1000000", "--set", "model.inputs=100000")
        self.assertEqual(code, 1, text)
        for part in ("MiB on the device", "values and gradient", "fewer examples", "of 1.0 MiB are free"):
            self.assertIn(part, text)

    def test_failing_gpu_ends_the_process(self):
        """At any call: while it is opened, in a step, in an evaluation. At any operation, which fails after its call."""
        codes = set()
        for calls in (0, 4, 9, 30, 100, 300, 700):
            code, text = self.fails(f"calls={calls},error={ECC_ERROR}")
            self.assertEqual(code, DEVICE_FAILED, f"{calls}: {text}")
            self.assertIn("CUDA_ERROR_ECC_UNCORRECTABLE", text)
            codes.add(code)
        for operations in (1, 20, 150, 600):
            code, text = self.fails(f"operations={operations},error={LAUNCH_FAILED}")
            self.assertEqual(code, DEVICE_FAILED, f"{operations}: {text}")
            self.assertIn("CUDA_ERROR_LAUNCH_FAILED", text)
            codes.add(code)
        self.assertEqual(codes, {DEVICE_FAILED})
        code, text = self.fails(f"context={OUT_OF_MEMORY}")
        self.assertEqual(code, 1, text)

    def test_cluster_heals_after_sticky_errors(self):
        """Each worker's GPU fails again and again; a new process continues, and the bits are the same."""
        steps = [*SHORT, "--set", "train.steps=60"]
        expected = self.run_to_end("--local", QUICK, "--dir", "local", *steps)["parameters_digest"]
        result = self.tanist("run", QUICK, "--dir", "run", *steps, *CUDA, "-o", "json", timeout=200,
                             env={"TANIST_EMULATED_GPU": f"calls=900,error={LAUNCH_FAILED}"})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["parameters_digest"], expected)
        self.assertIn("exit code 14 (the GPU failed)", result.stderr)
        logs = "".join(path.read_text() for path in (self.folder / "run/logs").glob("worker-*.log"))
        self.assertIn("CUDA_ERROR_LAUNCH_FAILED", logs)

    def wait_line(self, run, text):
        """Reads stderr up to a line with `text`; the time limit of the test bounds the wait."""
        self.assertTrue(any(text in line for line in run.stderr), f"it ended without {text}")

    def test_gpu_that_returns_is_used_again(self):
        """The GPU of both workers disappears, and comes back when one has not found it."""
        path = self.folder / "gone"
        run = self.begin_cuda(TANIST_EMULATED_GPU_GONE=str(path))
        path.touch()
        self.wait_line(run, "exit code 14")
        self.wait_line(run, "exit code 3")
        path.unlink()
        self.end_as_local(run)

    def test_gpu_may_disappear_while_its_worker_is_killed(self):
        """The killed process cannot report it; the next one does not find the GPU, and the job continues when it is back."""
        path = self.folder / "gone"
        run = self.begin_cuda(TANIST_EMULATED_GPU_GONE=str(path))
        workers = [pid for name, pid in pids(self.live_status()).items() if name.startswith("worker:")]
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        path.touch()
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        self.wait_line(run, "exit code 3")
        path.unlink()
        self.end_as_local(run)

    def test_gpu_that_stays_away_ends_the_job(self):
        path = self.folder / "gone"
        run = self.begin_cuda(TANIST_EMULATED_GPU_GONE=str(path))
        path.touch()
        _, errors = run.communicate(timeout=patience(300))
        self.assertEqual(run.returncode, 5, errors)
        self.assertIn("worker", errors.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
