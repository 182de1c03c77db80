#!/usr/bin/env python3
"""`--warm-start`, `--map` and `--freeze`: runs that begin with the parameters of another one.

The values are part of the model: a cluster, one process and a cluster whose nodes are killed reach the same digest.
TANIST_PROGRAM: the program.
"""

import json
import struct
import unittest

from case import QUICK, Cli


def write_safetensors(path, tensors):
    """{name: (shape, values)}, by the definition of the format."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        piece = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


WEIGHTS = {"encoder/weights": ([8, 1], [0.5] * 8), "encoder/bias": ([1], [2.0])}
MAP = ["--map", "*=encoder/*"]


class WarmStart(Cli):
    def setUp(self):
        super().setUp()
        write_safetensors(self.folder / "m.safetensors", WEIGHTS)

    def train(self, *options):
        return json.loads(self.succeeds("run", QUICK, "-o", "json", "--quiet", *options))

    def shown(self, folder, checkpoint):
        text = self.succeeds("checkpoints", "show", checkpoint, "--dir", folder, "-o", "json")
        return {entry["name"]: entry for entry in json.loads(text)["variables"]}

    def test_frozen_variables_keep_the_values_of_the_file(self):
        """The bias stays, the weights are trained; predictions do not need the file."""
        self.train("--local", "--dir", "run", "--warm-start", "m.safetensors", *MAP, "--freeze", "b*")
        (self.folder / "m.safetensors").unlink()
        variables = self.shown("run", "3")
        self.assertEqual((variables["bias"]["min"], variables["bias"]["max"]), (2.0, 2.0))
        self.assertNotEqual(variables["weights"]["min"], 0.5)
        out = self.succeeds("predict", "run", "--data", "-", input="0,0,0,0,0,0,0,0\n")
        self.assertEqual(out.splitlines()[1], "2")
        self.succeeds("evaluate", "run")
        self.succeeds("export", "run", "--to", "n.safetensors")

    def test_a_run_begins_where_another_ended(self):
        """All frozen: the new run has the parameters of the old one."""
        old = self.train("--local", "--dir", "old")
        new = self.train("--local", "--dir", "new", "--warm-start", "old", "--freeze", "*")
        self.assertEqual(new["parameters_digest"], old["parameters_digest"])
        changed = json.loads(self.succeeds("checkpoints", "diff", "1", "3", "--dir", "new", "-o", "json"))
        self.assertEqual({entry["changed"] for entry in changed["variables"]}, {0})

    def test_a_cluster_has_the_bits_of_one_process_also_when_nodes_die(self):
        """Each node reads the file itself; a ps and a worker are killed on the way."""
        options = ["--set", "model.inputs=8", "--warm-start", "m.safetensors", *MAP, "--freeze", "bias"]
        run = self.begin(*options)
        for name in ("ps:0", "worker:0"):
            self.kill_in_the_middle(name)
        result = self.end(run)
        alone = self.alone(QUICK, "alone", *options, "--set", f"train.steps={result['steps']}")
        self.assertEqual(result["parameters_digest"], alone["parameters_digest"])

    def test_other_values_do_not_continue_a_run(self):
        """The checkpoint is refused by the hash of the graph."""
        options = ["--local", "--dir", "run", "--warm-start", "m.safetensors", *MAP]
        self.train(*options)
        write_safetensors(self.folder / "m.safetensors", {**WEIGHTS, "encoder/bias": ([1], [3.0])})
        self.refused(3, ["checkpoint 3", "other variables"], "run", QUICK, "--resume", "--set", "train.steps=400", *options)

    def test_files_that_do_not_fit_are_refused(self):
        """The message names the tensor, the variable, and both shapes."""
        run = ["run", QUICK, "--local", "--dir", "run", "--quiet", "--warm-start", "m.safetensors"]
        self.refused(3, ["none of the model's variables", "--map"], *run)
        self.refused(3, ['"weights"', "[8, 1]", "[9, 1]"], *run, *MAP, "--set", "model.inputs=9")
        self.refused(3, ["model.map[0]"], *run, "--map", "a*b*=c")
        self.refused(3, ['"zz"', "matches none"], *run, *MAP, "--freeze", "zz")
        self.refused(3, ["nothing.safetensors"], *run[:-1], "nothing.safetensors")
        (self.folder / "m.safetensors").write_bytes(b"12345678" * 9)
        self.refused(3, ["not a safetensors file"], *run)
        self.refused(3, ["job.json"], *run[:-1], ".")


if __name__ == "__main__":
    unittest.main(buffer=True)
