#!/usr/bin/env python3
"""Models of type "layers": a run whose nodes are killed ends with the bits of one that is left alone; the list of
layers is part of what a run must not change.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import unittest

from case import LONG, ROOT, Cli

LAYERS = [
    {"conv2d": {"filters": 3, "activation": "relu"}},
    {"residual": ["layer_norm", {"conv2d": 3}, "gelu"]},
    {"max_pool": 2},
    "flatten",
    {"dropout": 0.2},
    {"dense": 4},
]
JOB = {
    "name": "layers",
    "model": {"type": "layers", "inputs": 36, "shape": [6, 6, 1], "outputs": 4, "layers": LAYERS,
              "label_smoothing": 0.1},
    "data": {"type": "synthetic", "examples": 512, "test_examples": 128, "noise": 0.5},
    "train": {"steps": 3000, "batch": 16, "slices": 4, "optimizer": "adam", "learning_rate": 0.003},
    "checkpoint": {"every_steps": 250},
    "cluster": {"coordinators": 2, "ps": 2, "workers": 2},
    "zookeeper": {"servers": 1},
}


class Layers(Cli):
    def launch(self, folder, *options):
        return self.spawn("run", self.job(json.dumps(JOB)), "--dir", folder, "-o", "json", *options)

    def test_kills_leave_the_bits(self):
        run = self.launch("run", *LONG)
        self.wait_step(JOB["train"]["steps"])
        self.kill_in_the_middle("ps:1", "worker:0")
        killed = self.end(run)
        calm = self.result(self.launch("calm", "--set", f"train.steps={killed['steps']}"))
        self.assertGreater(calm["accuracy"], 0.9)
        self.assertEqual(killed["parameters_digest"], calm["parameters_digest"])
        self.assertEqual(killed["checkpoint_digest"], calm["parameters_digest"])
        self.assertGreaterEqual(len(killed["recoveries"]), 1)

    def test_layers_must_not_change(self):
        self.result(self.launch("run", "--set", "train.steps=5"))
        other = LAYERS[:-2] + [{"dropout": 0.3}, LAYERS[-1]]
        self.refused(3, ["a finished run", '{"dropout":0.2},{"dense":4}] there', '{"dropout":0.3},{"dense":4}] here'],
                     "run", "job.json", "--dir", "run", "--resume", "--set", f"model.layers={json.dumps(other)}")

    def test_wrong_layers_are_refused(self):
        self.job(json.dumps(JOB))
        self.refused(3, ["model.layers[0].conv2d.filters is 0: give a whole number from 1"], "run", "job.json", "--dir",
                     "run", "--set", 'model.layers=[{"conv2d": 0}]')
        self.refused(3, ["model.layers is given, but model.type is \"mlp\""], "graph", "job.json", "--set",
                     "model.type=mlp")

    def test_data_without_the_fields_are_refused_before_the_start(self):
        """A row of outputs for each example cannot be compared with a label for each byte of a text."""
        text = self.folder / "text"
        text.write_text("to be or not to be " * 20)
        layers = [{"embedding": {"rows": 128, "width": 8}}, "flatten", {"dense": 128}]
        self.job(json.dumps({
            "name": "fields", "model": {"type": "layers", "inputs": 8, "outputs": 128, "layers": layers},
            "data": {"type": "text", "path": str(text)}, "train": {"steps": 5, "batch": 4, "slices": 2}}))
        self.refused(3, ["model.layers end with 1 rows of outputs per example, but the data have 8 labels"], "run",
                     "job.json", "--dir", "run")
        self.assertFalse((self.folder / "run").exists())

    def test_example_is_a_graph(self):
        result = self.tanist("graph", str(ROOT / "examples/cnn.json"), "-o", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        names = [node["operation"] for node in json.loads(result.stdout)["nodes"] if "operation" in node]
        self.assertIn("conv2d_pool_gradients", names)


if __name__ == "__main__":
    unittest.main(verbosity=2)
