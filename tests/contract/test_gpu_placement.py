#!/usr/bin/env python3
"""Models whose layers are placed on GPUs of a worker ("gpu" of a layer) on the emulated driver: they train to the digest of
`portable`, in all orders of the queues, on clusters, and after kills; each GPU needs memory for its own layers only.

TANIST_PROGRAM, TANIST_EMULATED_DRIVER, TANIST_REAL_GPU, TANIST_LIBRARIES: as in test_cuda.py.
"""

import json
import os
import subprocess
import unittest

import test_cuda
from case import LONG, ROOT
from test_cuda import CUDA, DEVICE_FAILED, LAUNCH_FAILED, LIBRARIES, REAL

LAYERS = [{"dense": {"units": 24, "activation": "relu"}, "gpu": 0}, {"dropout": 0.25},
          {"residual": [{"dense": 24}, "batch_norm"], "gpu": 2}, {"dense": {"units": 16, "activation": "tanh"}, "gpu": 1},
          {"concat": [[{"dense": 8, "gpu": 0}], [{"dense": 8, "gpu": 2}]]}, {"dense": 4, "gpu": 1}]
MODEL = {"type": "layers", "inputs": 20, "outputs": 4, "layers": LAYERS}
PLACED = [*CUDA, "--set", "train.gpus=3"]
TWO = [*CUDA, "--set", "train.gpus=2"]
MIB = 1 << 20


def without_gpus(part):
    """The same layers, also those in branches."""
    if isinstance(part, dict):
        return {key: without_gpus(value) for key, value in part.items() if key != "gpu"}
    return [without_gpus(value) for value in part] if isinstance(part, list) else part


@unittest.skipIf(REAL, "the machine may have fewer GPUs")
class Placed(test_cuda.Cuda):
    def setUp(self):
        super().setUp()
        self.environment["TANIST_EMULATED_GPU"] = "devices=3"
        self.path = self.job("placed", MODEL, batch=12, slices=4, steps=6)

    def refused(self, texts, *arguments, code=3, **environment):
        result = self.tanist(*arguments, env=environment)
        self.assertEqual(result.returncode, code, result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)

    def digest(self, *arguments, **more):
        return self.run_to_end(*arguments, **more)["parameters_digest"]


class Bits(Placed):
    def test_all_orders_have_the_bits_of_portable(self):
        """On CPUs the keys are ignored, and a model without them has the same bits, too."""
        expected = self.trained(self.path, "portable")
        plain = self.job("plain", {**MODEL, "layers": without_gpus(LAYERS)}, batch=12, slices=4, steps=6)
        for number, order in enumerate(("late", "copies", "kernels", "random,seed=7")):
            setting = {"TANIST_EMULATED_GPU": f"devices=3,order={order}"}
            self.assertEqual(self.trained(self.path, f"placed-{number}", *PLACED, env=setting), expected, order)
        self.assertEqual(self.trained(self.path, "checked", *PLACED, env={"TANIST_CHECK_NUMERICS": "1"}), expected)
        self.assertEqual(self.trained(self.path, "pageable", *PLACED, env={"TANIST_EMULATED_GPU": "devices=3,pinned=2"}), expected)
        self.assertEqual(self.trained(plain, "plain", *CUDA), expected)

    def test_images_and_attention_have_the_bits_of_portable(self):
        for name in ("cnn", "transformer"):
            model = test_cuda.MODELS[name]
            layers = [{**(layer if isinstance(layer, dict) else {layer: {}}), "gpu": number % 3}
                      for number, layer in enumerate(model["layers"])]
            job = self.job(name, {**model, "layers": layers})
            self.assertEqual(self.trained(job, f"{name}-placed", *PLACED), self.trained(job, f"{name}-portable"))

    def test_cluster_has_the_digest_of_portable(self):
        expected = self.digest("--local", self.path, "--dir", "local")
        for strategy in ("ps", "mirror"):
            found = self.digest(self.path, "--dir", strategy, *PLACED, "--set", f"strategy.type={strategy}",
                                env={"TANIST_EMULATED_GPU": "devices=6"})
            self.assertEqual(found, expected)

    def test_cublas_has_the_same_bits_in_each_run(self):
        cublas = [*PLACED, "--set", "train.kernels=cublas"]
        first = self.digest("--local", self.path, "--dir", "first", *cublas)
        for number, order in enumerate(("copies", "random,seed=3")):
            again = self.digest("--local", self.path, "--dir", f"again-{number}", *cublas,
                                env={"TANIST_EMULATED_GPU": f"devices=3,order={order}"})
            self.assertEqual(again, first)

    def test_commands_need_no_gpu(self):
        """A model that was trained on three GPUs is evaluated, exported and continued where there is none, or elsewhere."""
        self.run_to_end("--local", self.path, "--dir", "run", *PLACED)
        nothing = {"LD_LIBRARY_PATH": LIBRARIES, "TANIST_CUDA_MODULE": ""}
        for command in (("evaluate", "run"), ("export", "run", "--to", "values.npz"), ("plan", self.path, *PLACED)):
            result = self.tanist(*command, env=nothing)
            self.assertEqual(result.returncode, 0, f"{command}: {result.stderr}")
        longer = ["--set", "train.steps=12"]
        expected = self.digest("--local", self.path, "--dir", "portable", *longer)
        found = self.digest("--local", "--resume", self.path, "--dir", "run", *PLACED, *longer)
        self.assertEqual(found, expected)


class Memory(Placed):
    def test_each_gpu_has_its_own_layers_only(self):
        """Each of the three large layers has 1 MB. No GPU has memory for two of them."""
        layers = [{"dense": {"units": 500, "activation": "relu"}, "gpu": 0}, {"dense": {"units": 500, "activation": "tanh"}, "gpu": 1},
                  {"dense": 500, "gpu": 2}, {"dense": 4}]
        model = {"type": "layers", "inputs": 500, "outputs": 4, "layers": layers}
        more = {"batch": 4, "slices": 1, "steps": 1}
        path, plain = self.job("large", model, **more), self.job("plain", {**model, "layers": without_gpus(layers)}, **more)
        enough = {"TANIST_EMULATED_GPU": f"devices=3,memory={11 * MIB // 2}"}
        self.assertEqual(self.digest("--local", path, "--dir", "placed", *PLACED, env=enough), self.digest("--local", path, "--dir", "cpu"))
        self.refused(("/gpu:0 has no",), "run", "--local", plain, "--dir", "plain", *CUDA, code=1, **enough)
        together = self.job("together", {**model, "layers": [{**layer, "gpu": min(layer.get("gpu", 1), 1)} for layer in layers]}, **more)
        self.refused(("/gpu:1 has no",), "run", "--local", together, "--dir", "together", *CUDA, "--set", "train.gpus=2", code=1, **enough)
        small = {"TANIST_EMULATED_GPU": f"devices=3,small=1,limit={2 * MIB}"}
        self.refused(("/gpu:1 has no",), "run", "--local", path, "--dir", "small", *PLACED, code=1, **small)


NETWORK = """
#include "columns.h"

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    (void)user;
    tn_device_begin(g, "/cpu:0");
    tn_tensor inputs = tn_placeholder(g, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, b->inputs));
    tn_tensor labels = tn_placeholder(g, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
    tn_device_end(g);
    tn_device_begin(g, "/gpu:0");
    tn_tensor x = tn_dense(g, "one", inputs, 24, TN_RELU);
    tn_device_end(g);
    tn_device_begin(g, "/gpu:1");
    x = tn_dropout(g, "drop", tn_dense(g, "two", x, 16, TN_TANH), 0.25F);
    tn_device_end(g);
    tn_device_begin(g, LAST);
    x = tn_dense(g, "three", x, b->outputs, TN_LINEAR);
    tn_loss(g, tn_softmax_cross_entropy(g, x, labels), 1);
    tn_metric(g, "accuracy", tn_is_correct(g, x, labels));
    tn_output(g, "logits", x);
    tn_device_end(g);
    tn_device_begin(g, "/gpu:7");
    tn_dense(g, "unused", x, 3, TN_RELU);
    tn_device_end(g);
}

TN_MODEL("network", build)
"""

TABLES = """
#include "columns.h"

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    (void)user;
    tn_device_begin(g, "/cpu:0");
    struct columns columns = columns_begin(g, b, 2);
    add_row(&columns, "C1", 4);
    add_row(&columns, "C2", 3);
    tn_tensor x = columns_end(&columns);
    tn_device_end(g);
    tn_device_begin(g, LAST);
    learn_clicks(g, tn_dense(g, "out", tn_dense(g, "hidden", x, 8, TN_RELU), 1, TN_LINEAR));
    tn_device_end(g);
}

TN_MODEL("tables", build)
"""


class Programs(Placed):
    """Models in C, with tn_device_begin()."""

    def compiled(self, source, last):
        """The library of a model whose last operations are on `last`."""
        path = self.folder / f"model{len(list(self.folder.iterdir()))}"
        path.with_suffix(".c").write_text(source)
        subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-shared", "-fPIC", f'-DLAST="{last}"', f"-I{ROOT}/include",
                        f"-I{ROOT}/examples/c/ctr", path.with_suffix(".c"), "-o", path.with_suffix(".so")], check=True)
        return str(path.with_suffix(".so"))

    def network(self, last):
        return self.job("network", {"type": "library", "path": self.compiled(NETWORK, last), "inputs": 20, "outputs": 4}, batch=12, slices=4, steps=6)

    def tables(self, last):
        job = {"name": "tables", "model": {"type": "library", "path": self.compiled(TABLES, last), "outputs": 1, "loss": "sigmoid_cross_entropy"},
               "data": {"type": "criteo-like", "examples": 400, "test_examples": 50, "options": {"values": 30},
                        "columns": {"C1": {"as": "category", "table": True}, "C2": {"as": "category", "table": True}, "I1": "number"}},
               "train": {**test_cuda.TRAIN, "batch": 12, "slices": 4, "steps": 6}, "cluster": {"ps": 2}}
        path = self.folder / "tables.json"
        path.write_text(json.dumps(job))
        return str(path)

    def test_operations_are_divided(self):
        """Fields, constants and operations that nothing needs do not count, so that two GPUs are enough."""
        for number, last in enumerate(("/gpu:1", "/gpu:0", "/cpu:0")):
            job = self.network(last)
            expected = self.trained(job, f"portable-{number}")
            self.assertEqual(self.trained(job, f"placed-{number}", *TWO), expected, last)
            self.refused(("train.gpus is 1, but the model places operations on /gpu:1",), "run", "--local", job, "--dir", "one", *CUDA)
        found = self.digest(job, "--dir", "cluster", *TWO, env={"TANIST_EMULATED_GPU": "devices=4"})
        self.assertEqual(found, expected[0])

    def test_a_worker_has_one_cpu(self):
        wrong = ("is placed on '/cpu:1', but a worker has one CPU: give /cpu:0",)
        job = self.network("/cpu:1")
        self.refused(wrong, "plan", job, *TWO)
        self.refused(wrong, "run", "--local", job, "--dir", "run", *TWO)
        self.trained(job, "portable")

    def test_tables_are_beside_one_gpu(self):
        """Rows of tables are always on the CPU, whatever the device is; all operations are on the GPU."""
        job = self.tables("/gpu:0")
        expected = self.digest("--local", job, "--dir", "portable")
        self.assertEqual(self.digest("--local", job, "--dir", "local", *CUDA), expected)
        self.assertEqual(self.digest(job, "--dir", "cluster", *CUDA), expected)

    def test_tables_are_not_divided(self):
        """Each remedy leads to a model that trains, not to the other error."""
        job = self.tables("/gpu:1")
        wrong = ("places operations on /gpu:1", "a model with tables ('columns/C1/rows') cannot be divided", "place all operations on /gpu:0")
        for command in (("plan",), ("run", "--local", "--dir", "run")):
            self.refused(wrong, *command, job, *CUDA)
            self.refused(("train.gpus is 2, but the rows of the table", "--set train.gpus=1"), *command, job, *TWO)


class Refusals(Placed):
    def test_missing_gpus_are_named(self):
        local = ("run", "--local", self.path, "--dir", "run")
        two = {"TANIST_EMULATED_GPU": "devices=2"}
        self.refused(("train.gpus is 1, but the model places operations on /gpu:2", "--set train.gpus=3"), *local, *CUDA)
        self.refused(("train.gpus is 4", "--set train.gpus=3"), *local, *CUDA, "--set", "train.gpus=4")
        for gpus in ("1", "2", "4", "8"):
            self.refused((f"train.gpus is {gpus}", "--set train.gpus=3; a new run can have --set train.kernels=portable"),
                         "plan", self.path, *CUDA, "--set", f"train.gpus={gpus}")
        missing = ("/gpu:2", "train.gpus is 3", "2 GPUs", "CUDA_VISIBLE_DEVICES", "train.kernels=portable")
        self.refused(missing, *local, *PLACED, **two)
        self.refused(missing, "run", self.path, "--dir", "cluster", *PLACED, **two)
        self.refused(("libcuda.so.1",), *local, *PLACED, LD_LIBRARY_PATH=LIBRARIES)

    def test_combinations_are_refused(self):
        run = ("plan", self.path, *PLACED)
        self.refused(("train.mode is async",), *run, "--set", "train.mode=async")
        self.refused(("train.kernels", "group"), *run, "--set", "strategy.type=group")
        group = ("run", self.path, "--dir", "group", "--set", "strategy.type=group", "--set", "cluster.ps=2", "--set", "placement.strategy=greedy")
        self.refused(("/gpu:0", "leave /gpu out"), *group)
        for value in (-1, 8, "1", 1.5):
            wrong = self.job("wrong", {**MODEL, "layers": [{"dense": 4, "gpu": value}]})
            self.refused(("model.layers[0].gpu", "from 0 to 7"), "plan", wrong)
        self.refused(("give the name of a layer",), "plan", self.job("none", {**MODEL, "layers": [{"gpu": 1}]}))


class Evaluators(Placed):
    def test_evaluator_has_the_gpus_of_a_worker(self):
        """It uses the first ones of its host, and has the bits of workers that evaluate."""
        often = ["--set", "evaluate.every_steps=2", "--set", "checkpoint.every_steps=2", "--set", "cluster.workers=1"]
        expected = self.run_to_end(self.path, "--dir", "portable", *often)
        found = self.run_to_end(self.path, "--dir", "evaluator", *PLACED, *often, "--set", "cluster.evaluators=1")
        for key in ("parameters_digest", "loss", "accuracy"):
            self.assertEqual(found[key], expected[key], key)
        self.assertTrue(list((self.folder / "evaluator/logs").glob("evaluator-*.log")))


class Faults(Placed):
    def test_killed_workers_leave_no_trace(self):
        run = self.spawn("run", self.path, "--dir", "run", *PLACED, *LONG, "-o", "json", env={"TANIST_EMULATED_GPU": "devices=6"})
        self.wait_tasks()
        for name in ("worker:0", "worker:1"):
            self.kill_in_the_middle(name)
        self.wait_step(self.wait_step()["step"] + 20)
        result = self.end(run)
        self.assertEqual(result["parameters_digest"], self.digest("--local", self.path, "--dir", "local", "--set", f"train.steps={result['steps']}"))

    def test_cluster_heals_when_the_second_gpu_fails(self):
        """GPU 1 of every process fails after some operations; the run ends with the bits of portable."""
        steps = ["--set", "train.steps=30", "--set", "cluster.workers=1"]
        expected = self.digest("--local", self.path, "--dir", "local", *steps)
        result = self.tanist("run", self.path, "--dir", "run", *steps, *PLACED, "-o", "json", timeout=200,
                             env={"TANIST_EMULATED_GPU": f"devices=3,broken=1,operations=3500,error={LAUNCH_FAILED}"})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["parameters_digest"], expected)
        self.assertIn(f"exit code {DEVICE_FAILED} (the GPU failed)", result.stderr)
        logs = "".join(path.read_text() for path in (self.folder / "run" / "logs").glob("worker-*.log"))
        self.assertIn("/gpu:1: ", logs)


if __name__ == "__main__":
    unittest.main()
