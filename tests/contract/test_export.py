#!/usr/bin/env python3
"""`tanist export`: the parameters of a checkpoint by their names, read back by other programs.

The files are read by the definitions of their formats; numpy, safetensors, onnx and onnxruntime of PyPI (tried: 2.4.6,
0.8.0, 1.23.2, 1.31.1) read them as well where they are installed. TANIST_PROGRAM: the program.
"""

import json
import unittest
from pathlib import Path

from array_files import read_npz, read_safetensors
from case import FASHION, QUICK, ROOT, Cli

try:
    import numpy
    import safetensors.numpy
except ImportError as missing:
    print(f"not checked with numpy and safetensors: {missing.name} is not installed (pip install numpy safetensors)")
    numpy = None

try:
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"not checked with onnxruntime: {missing.name} is not installed (pip install onnx onnxruntime numpy)")
    onnx = None

CNN = str(ROOT / "examples/cnn.json")
STATE = {"state/m/weights", "state/m/bias", "state/v/weights", "state/v/bias"}


class Export(Cli):
    def train(self, *options):
        return json.loads(self.succeeds("run", "--local", QUICK, "--dir", "run", "-o", "json", *options))

    def export(self, name, *options):
        return json.loads(self.succeeds("export", "run", "--to", name, "-o", "json", *options))

    def test_both_formats_have_the_parameters_of_the_result(self):
        """Names and shapes are those of the model, the digest is that of the run."""
        result = self.train("--set", "train.optimizer=adam")
        found = self.export("m.safetensors")
        self.export("m.npz")
        tensors, metadata = read_safetensors(self.folder / "m.safetensors")
        self.assertEqual({name: shape for name, (shape, _) in tensors.items()}, {"weights": (8, 1), "bias": (1,)})
        self.assertEqual(tensors, read_npz(self.folder / "m.npz"))
        self.assertEqual(found["digest"], result["parameters_digest"])
        self.assertEqual(metadata["digest"], result["parameters_digest"])
        self.assertEqual((metadata["step"], found["parameters"], found["tensors"]), ("300", 9, 2))
        self.assertEqual(found["bytes"], (self.folder / "m.safetensors").stat().st_size)
        self.assertFalse(list(self.folder.glob("*.partial")))

    def test_state_is_exported_on_demand(self):
        """With a moving average the file has what evaluations use, and the parameters are part of the state."""
        self.train("--set", "train.optimizer=adam", "--set", "train.ema=0.9")
        self.export("m.npz", "--state")
        self.export("m.safetensors", "--state")
        tensors = read_npz(self.folder / "m.npz")
        self.assertEqual(tensors, read_safetensors(self.folder / "m.safetensors")[0])
        names = {"weights", "bias", "state/parameters/weights", "state/parameters/bias"}
        self.assertEqual(set(tensors), names | STATE)
        self.assertNotEqual(tensors["bias"], tensors["state/parameters/bias"])

    def test_an_older_checkpoint_of_a_cluster_is_exported_while_it_trains(self):
        """No process is asked; variables that two ps share are whole again."""
        run = self.begin("--set", "cluster.ps=2", "--set", "model.inputs=64", "--set", "checkpoint.keep=200", "--set",
                         "checkpoint.every_steps=0", "--set", "checkpoint.every_seconds=1")  # None is removed for minutes.
        self.wait_for("three checkpoints", lambda: self.newest_checkpoint() >= 3)
        self.export("new.safetensors")
        first = json.loads(self.succeeds("checkpoints", "list", "--dir", "run", "-o", "json"))["checkpoints"][-1]
        old = self.export("old.safetensors", "--checkpoint", str(first["id"]))
        self.assertEqual((old["checkpoint"], old["step"]), (first["id"], first["step"]))
        shapes = {name: shape for name, (shape, _) in read_safetensors(self.folder / "old.safetensors")[0].items()}
        self.assertEqual(shapes, {"weights": (64, 1), "bias": (1,)})
        self.end(run)

    def test_what_cannot_be_exported_is_refused(self):
        """The message names the file and the remedy; no file is left."""
        self.train()
        self.refused(3, ["m.h5", ".safetensors"], "export", "run", "--to", "m.h5")
        self.refused(3, ["--to"], "export", "run")
        self.refused(3, ["--state", ".onnx"], "export", "run", "--to", "m.onnx", "--state")
        self.refused(3, ["checkpoint 99", "checkpoints list"], "export", "run", "--to", "m.npz", "--checkpoint", "99")
        self.refused(3, ["nowhere", "does not exist"], "export", "nowhere", "--to", "m.npz")
        self.refused(3, ["none/m.npz"], "export", "run", "--to", "none/m.npz")
        shard = next((self.folder / "run/checkpoints").glob("*3/shard-*/data.mdb"))
        content = bytearray(shard.read_bytes())
        content[len(content) // 2] ^= 1
        shard.write_bytes(content)
        self.refused(6, ["checkpoint 3", "damaged"], "export", "run", "--to", "m.npz")
        self.assertFalse(list(self.folder.glob("m.npz*")))

    @unittest.skipIf(numpy is None, "numpy and safetensors are not installed")
    def test_numpy_and_safetensors_read_the_files(self):
        """Their accuracy on the test images is that of the run."""
        result = json.loads(self.succeeds("run", "--local", FASHION, "--dir", "run", "-o", "json", "--set",
                                          "train.steps=200"))
        self.export("m.safetensors")
        self.export("m.npz")
        tensors = safetensors.numpy.load_file(self.folder / "m.safetensors")
        with numpy.load(self.folder / "m.npz") as arrays:
            self.assertEqual(set(arrays), set(tensors))
            self.assertTrue(all(numpy.array_equal(arrays[name], tensors[name]) for name in tensors))
        images, labels = fashion_test()
        hidden = numpy.maximum(images @ tensors["hidden1/weights"] + tensors["hidden1/bias"], 0)
        logits = hidden @ tensors["output/weights"] + tensors["output/bias"]
        self.assertAlmostEqual((logits.argmax(1) == labels).mean(), result["accuracy"], delta=0.0003)

    @unittest.skipIf(numpy is None or onnx is None, "numpy, onnx and onnxruntime are not installed")
    def test_onnxruntime_has_the_loss_of_the_run(self):
        """A convolutional network: accuracy and loss of the exported file are those of the evaluation."""
        result = json.loads(self.succeeds("run", "--local", CNN, "--dir", "run", "-o", "json", "--set",
                                          "train.steps=30", timeout=300))
        self.assertEqual(self.export("m.onnx")["digest"], result["parameters_digest"])
        onnx.checker.check_model(onnx.load(self.folder / "m.onnx"), full_check=True)
        session = onnxruntime.InferenceSession(self.folder / "m.onnx")
        images, labels = fashion_test()
        logits, probabilities = session.run(["logits", "probabilities"], {"inputs": images.reshape(-1, 28, 28, 1)})
        self.assertAlmostEqual((logits.argmax(1) == labels).mean(), result["accuracy"], delta=0.0003)
        loss = -numpy.log(probabilities[numpy.arange(len(labels)), labels].astype(numpy.float64)).mean()
        self.assertAlmostEqual(loss, result["loss"], delta=1e-4)

    @unittest.skipIf(numpy is None or onnx is None, "numpy, onnx and onnxruntime are not installed")
    def test_all_examples_become_valid_onnx_files(self):
        """Every operation that layers are made of is written in a way that onnxruntime executes."""
        for name in ("autoencoder", "linear-synthetic", "resnet", "transformer", "two-tower"):
            with self.subTest(name):
                job = json.loads((ROOT / f"examples/{name}.json").read_text())
                job["train"].update(steps=1, batch=8, slices=8)
                job["checkpoint"] = {"keep": 1}
                job["evaluate"] = {}
                if job["data"]["type"] == "text":
                    job["data"]["path"] = str(ROOT / "docs/cli.md")
                if job["data"]["type"] in ("synthetic", "matches"):
                    job["data"].update(examples=8, test_examples=8)
                path = self.folder / f"{name}.json"
                path.write_text(json.dumps(job))
                self.succeeds("run", "--local", str(path), "--dir", name, "--quiet", timeout=300)
                self.succeeds("export", name, "--to", f"{name}.onnx")
                onnx.checker.check_model(onnx.load(self.folder / f"{name}.onnx"), full_check=True)
                session = onnxruntime.InferenceSession(self.folder / f"{name}.onnx")
                field = session.get_inputs()[0]
                inputs = numpy.ones([3] + field.shape[1:], numpy.float32 if "float" in field.type else numpy.uint8)
                for output in session.run(None, {field.name: inputs}):
                    self.assertEqual(len(output), 3)
                    self.assertTrue(numpy.isfinite(output).all())


def fashion_test():
    """Images and labels of the test set."""
    import gzip
    folder = Path(json.loads(Path(FASHION).read_text())["data"]["path"])
    images = gzip.open(folder / "t10k-images-idx3-ubyte.gz").read()[16:]
    labels = gzip.open(folder / "t10k-labels-idx1-ubyte.gz").read()[8:]
    pixels = numpy.frombuffer(images, numpy.uint8).reshape(-1, 784).astype(numpy.float32) / 255
    return pixels, numpy.frombuffer(labels, numpy.uint8)


if __name__ == "__main__":
    unittest.main(buffer=True)
