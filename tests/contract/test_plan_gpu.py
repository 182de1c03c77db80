#!/usr/bin/env python3
"""`tanist plan` predicts the memory of GPUs: to the byte what runs allocate on the emulated driver, which reports the most bytes on
each GPU and the most pinned bytes of each process (TANIST_EMULATED_GPU_PEAKS). Pinned memory is within 4 KiB.

Real processes; every wait is bounded. The environment is that of test_cuda.py.
"""

import json
import unittest

from case import QUICK
from installed import sanitizer_flags
from test_cuda import CUDA, LIBRARIES, MODELS, REAL, SHORT, STEPS, SYNTHETIC, TRAIN, Cuda

CUBLAS = ["--set", "train.kernels=cublas"]
PS_CUDA = ["--set", "train.ps_kernels=cuda"]
WORKSPACE = 32 << 20
NOTES = 4096  # The most bytes of notes about pinned memory, 64 in front of each allocation.


@unittest.skipIf(REAL, "the emulated driver reports its memory")
class PlannedMemory(Cuda):
    def planned(self, job, *options):
        return json.loads(self.succeeds("plan", job, *options, "-o", "json", env={"LD_LIBRARY_PATH": "", "TANIST_CUDA_MODULE": ""}))

    def measured(self, name, *arguments, devices):
        """By process that has used a GPU: the most bytes on each of them, and the most that were pinned."""
        path = self.folder / f"{name}.peaks"
        self.run_to_end(*arguments, "--dir", name, env={"TANIST_EMULATED_GPU": f"devices={devices}", "TANIST_EMULATED_GPU_PEAKS": str(path)})
        rows = [[int(number) for number in line.split()] for line in path.read_text().splitlines()]
        return [(row[:devices], row[-1]) for row in rows if sum(row) > 0]

    def is_pinned(self, planned, found):
        self.assertLessEqual(planned, found)
        self.assertLess(found, planned + NOTES)

    def compare(self, job, *options, gpus=1):
        """A run in one process. Every byte of the plan is allocated."""
        options = (*options, "--set", f"train.gpus={gpus}")
        memory = self.planned(job, *options)["memory"]
        (found, pinned), = self.measured(f"run-{len(list(self.folder.iterdir()))}", "--local", job, *options, devices=gpus)
        self.assertEqual([gpu["total"] for gpu in memory["gpus"]], found, (options, memory["gpus"]))
        self.is_pinned(memory["worker"]["pinned"], pinned)
        for gpu in memory["gpus"]:
            self.assertEqual(gpu["total"], sum(size for part, size in gpu.items() if part != "total"))
        return memory["gpus"]

    def test_programs_of_models(self):
        """Slices one by one and together, and test sets that are not a multiple of a slice."""
        for name, model in MODELS.items():
            for batch, slices in ((8, 2), (10, 2), (8, 1)):
                with self.subTest(f"{name} {batch} {slices}"):
                    gpu, = self.compare(self.job(name, model, batch=batch, slices=slices, steps=2), "--set", "cluster.workers=1", *CUDA)
                    self.assertEqual((gpu["cublas"], gpu["sums"]), (0, 0))

    def test_precisions(self):
        """Products of bf16 need rounded operands, those of the other formats do not."""
        sizes = {}
        for precision in ("float32", "tf32", "bf16"):
            job = self.job("transformer", MODELS["transformer"], batch=12, slices=4, steps=2)
            gpu, = self.compare(job, "--set", "cluster.workers=1", *CUBLAS, "--set", f"train.precision={precision}")
            self.assertEqual(gpu["cublas"], WORKSPACE)
            sizes[precision] = gpu["results"]
        self.assertEqual(sizes["float32"], sizes["tf32"])
        self.assertGreater(sizes["bf16"], sizes["float32"])

    def test_several_gpus(self):
        """Each has its programs and sums, and the first one those that evaluate."""
        for kernels in (CUDA, CUBLAS):
            for gpus, slices in ((2, 4), (3, 8), (4, 6)):
                with self.subTest(f"{kernels[1]} {gpus} {slices}"):
                    job = self.job("mlp", MODELS["mlp"], batch=24, slices=slices, steps=2)
                    first, *others = self.compare(job, "--set", "cluster.workers=1", *kernels, gpus=gpus)
                    self.assertGreater(first["values"], others[0]["values"])
                    self.assertGreater(first["sums"], 0)

    def test_layers_on_gpus_of_choice(self):
        """Each GPU has its part of the model."""
        layers = [{"dense": {"units": 40, "activation": "relu"}, "gpu": 0}, {"dense": {"units": 30, "activation": "relu"}, "gpu": 1},
                  {"dense": 10, "gpu": 2}]
        job = self.job("placed", {"type": "layers", "shape": [784], "layers": layers}, batch=24, slices=4, steps=2)
        for kernels in (CUDA, CUBLAS):
            first, second, third = self.compare(job, "--set", "cluster.workers=1", *kernels, gpus=3)
            self.assertGreater(first["values"], second["values"])
            self.assertGreater(second["values"], third["values"])
            self.assertEqual(first["sums"], 0)

    def wide(self, batch):
        """A model on two GPUs whose parts need little memory for variables, and send each other much."""
        layers = [{"dense": {"units": 4096}, "gpu": 0}, *[{layer: {}, "gpu": number % 2} for number, layer in enumerate(
            ("silu", "layer_norm", "silu", "layer_norm", "silu", "layer_norm"))], {"dense": 4, "gpu": 1}]
        path = self.folder / "wide.json"
        path.write_text(json.dumps({
            "name": "wide", "model": {"type": "layers", "inputs": 2, "outputs": 4, "layers": layers},
            "data": {**SYNTHETIC, "examples": batch}, "train": {**TRAIN, "batch": batch, "slices": 1, "steps": 10**6}}))
        return str(path)

    def test_host_memory_of_a_model_on_several_gpus(self):
        """The host has the results that leave a part: in the memory of the results, pinned, and in the fields of the part that reads it."""
        one = [self.wide(256), *CUDA, "--set", "train.gpus=2", "--set", "cluster.workers=1", "--set", "cluster.ps=1"]
        memory = self.planned(*one)["memory"]
        edge = 256 * 4096 * 4
        self.assertGreater(memory["worker"]["programs"], 8 * edge)
        if sanitizer_flags():
            self.skipTest("sanitizers need memory of their own")
        run = self.spawn("run", *one, "--dir", "run", "-o", "json", env={"TANIST_EMULATED_GPU": "devices=2"})
        self.wait_step(2)
        peak = self.memory_peak("worker:0")
        self.end(run)
        planned = memory["worker"]["total"] + sum(gpu["total"] for gpu in memory["gpus"])  # The emulated GPUs are in its memory.
        self.assertLess(abs(peak - planned), 0.15 * planned, f"{peak}, planned: {memory}")

    def test_gradients_on_the_host_are_counted_once(self):
        """GPUs that share a slice add gradients as one GPU does that computes slices one by one."""
        layers = [{"dense": {"units": 40, "activation": "relu"}}, {"dense": 10}]
        for slices, workers in ((1, 1), (4, 1), (6, 1), (3, 2), (6, 4), (8, 3)):
            sizes = []
            for gpus in ((0, 0), (0, 1)):
                placed = [{**layer, "gpu": gpu} for layer, gpu in zip(layers, gpus)]
                job = self.job("sums", {"type": "layers", "inputs": 20, "outputs": 10, "layers": placed}, batch=24, slices=slices)
                plan = self.planned(job, *CUBLAS, "--set", f"train.gpus={1 + max(gpus)}", "--set", f"cluster.workers={workers}")
                sizes.append(plan["memory"]["worker"]["gradients"])
            self.assertEqual(sizes[0], sizes[1], (slices, workers))

    def test_run_warns_of_host_memory(self):
        """A run with GPUs warns, too. Without a driver, it ends before it needs the memory."""
        small, more = (self.planned(self.wide(batch), *CUDA, "--set", "train.gpus=2")["memory"] for batch in (256, 512))
        batch = int(1.2 * 256 * small["machine"] / (more["all_tasks"] - small["all_tasks"]))
        if batch * 4096 * 4 > 4 << 30:
            self.skipTest("this machine has much memory, for which the plan would take long")
        result = self.tanist("run", self.wide(batch), *CUDA, "--set", "train.gpus=2", "--dir", "run", env={"LD_LIBRARY_PATH": LIBRARIES})
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("the job is predicted to need", result.stderr)

    def test_workers_and_ps_of_a_cluster(self):
        """One worker, which has all slices from the start, and all ps."""
        one = [QUICK, *SHORT, *STEPS, *CUDA, "--set", "cluster.workers=1"]
        plan = self.planned(*one)["memory"]
        ((used,), pinned), = self.measured("worker", *one, devices=1)
        self.assertEqual(used, plan["gpus"][0]["total"])
        self.is_pinned(plan["worker"]["pinned"], pinned)
        shards = self.planned(QUICK, *SHORT, *STEPS, *PS_CUDA)["shards"]
        found = self.measured("ps", QUICK, *SHORT, *STEPS, *PS_CUDA, devices=2)
        self.assertEqual([sum(used) for used, _ in found], [shard["memory"]["device"] for shard in shards])
        for (_, pinned), shard in zip(found, shards):
            self.is_pinned(shard["memory"]["pinned"], pinned)

    def test_text(self):
        text = self.succeeds("plan", QUICK, *SHORT, *CUBLAS, "--set", "train.gpus=2")
        for part in ("on its GPU 0 ", "on its GPU 1 ", ", cuBLAS 32.0", ", sums ", ", pinned "):
            self.assertIn(part, text)
        self.assertNotIn("on its GPU", self.succeeds("plan", QUICK, *SHORT))
        self.assertNotIn("gpus", self.planned(QUICK, *SHORT)["memory"])


if __name__ == "__main__":
    unittest.main()
