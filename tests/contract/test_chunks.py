"""Shards that travel in several chunks, through a cluster of real processes.

TANIST_TEST_GIB=1 adds models of 1 GiB, which need 16 GiB of memory and several minutes; one of them
has a single ps."""

import json
import os
import unittest

from case import Cli


def job(width, steps, workers, ps=2, slices=2):
    """A network of one hidden layer, almost all of whose parameters are in one matrix."""
    layers = [{"dense": width}, "relu", {"dense": 2}]
    return {
        "name": "chunks",
        "model": {"type": "layers", "inputs": 512, "outputs": 2, "loss": "squared_error", "layers": layers},
        "data": {"type": "synthetic", "examples": 64, "test_examples": 8, "noise": 0.1},
        "train": {"steps": steps, "batch": 4, "slices": slices, "learning_rate": 0.0001},
        "checkpoint": {"every_steps": 20},
        "cluster": {"coordinators": 1, "ps": ps, "workers": workers},
        "zookeeper": {"servers": 1},
    }


class Chunks(Cli):
    def launch(self, folder, **size):
        return self.spawn("run", self.job(json.dumps(job(**size))), "--dir", folder, "-o", "json")

    def test_bits_are_those_of_one_process(self):
        """Shards of 2.6 MiB, also when a ps and a worker are killed on the way."""
        run = self.launch("run", width=2600, steps=1000000, workers=2)
        self.kill_in_the_middle("ps:1", "worker:0")
        result = self.end(run)
        path = self.job(json.dumps(job(width=2600, steps=result["steps"], workers=2)))
        alone = json.loads(self.succeeds("run", "--local", path, "--dir", "alone", "-q", "-o", "json"))
        self.assertEqual(result["parameters_digest"], alone["parameters_digest"])

    def train_gib(self, **size):
        """The matrix has 1 GiB, the model a little more."""
        result = self.result(self.launch("run", width=524288, steps=3, workers=1, **size), 900)
        self.assertEqual(result["steps"], 3)
        logs = "".join(path.read_text() for path in (self.folder / "run" / "logs").glob("*-*.log"))
        self.assertNotIn("lost the connection to ps", logs)
        self.succeeds("checkpoints", "verify", "--dir", "run")

    @unittest.skipUnless(os.environ.get("TANIST_TEST_GIB"), "needs 16 GiB; set TANIST_TEST_GIB=1")
    def test_one_gib(self):
        self.train_gib()

    @unittest.skipUnless(os.environ.get("TANIST_TEST_GIB"), "needs 12 GiB; set TANIST_TEST_GIB=1")
    def test_one_ps_holds_more_than_one_gib(self):
        self.train_gib(ps=1, slices=1)


if __name__ == "__main__":
    unittest.main()
