#!/usr/bin/env python3
"""`tanist evaluate`, `predict` and `checkpoints show|diff`: the model of a run's folder in use.

Where numpy, onnxruntime and scikit-learn of PyPI (tried: 2.4.6, 1.31.1, 1.9.1) are installed, predictions are compared
with those of the exported ONNX file, and metrics with scikit-learn's. TANIST_PROGRAM: the program.
"""

import csv
import io
import json
import math
import random
import struct
import unittest

from case import FASHION, QUICK, ROOT, Cli

try:
    import numpy
    import onnxruntime
    from sklearn import metrics
except ImportError as missing:
    print(f"not compared with onnxruntime and scikit-learn: {missing.name} is not installed "
          "(pip install numpy onnxruntime scikit-learn)")
    numpy = None

CLASSES = {"name": "classes", "model": {"type": "mlp", "inputs": 6, "outputs": 4, "hidden": [8]},
           "data": {"type": "synthetic", "examples": 512, "test_examples": 300, "noise": 0.8},
           "train": {"steps": 40, "batch": 32, "slices": 4, "learning_rate": 0.1},
           "checkpoint": {"every_steps": 20}}


class Use(Cli):
    def train(self, job, *options):
        return json.loads(self.succeeds("run", "--local", job, "--dir", "run", "-o", "json", "--quiet", *options,
                                        timeout=300))

    def classes(self):
        return self.train(self.job(json.dumps(CLASSES)))

    def evaluate(self, *options):
        return json.loads(self.succeeds("evaluate", "run", "-o", "json", *options))

    def predict(self, rows, *options):
        """Rows of predictions as texts, without the header."""
        text = "".join(",".join(f"{value:.9g}" for value in row) + "\n" for row in rows)
        out = self.succeeds("predict", "run", "--data", "-", *options, input=text)
        return list(csv.reader(io.StringIO(out)))[1:]

    @staticmethod
    def rows(count, width):
        numbers = random.Random(3)
        return [[numbers.uniform(-1, 1) for _ in range(width)] for _ in range(count)]

    # evaluate

    def test_evaluation_has_the_bits_of_the_run(self):
        """Loss and accuracy are those of the result; the rest is consistent with the confusion matrix."""
        result = self.classes()
        found = self.evaluate("--top-k", "2")
        self.assertEqual(float(f"{found['loss']:.10g}"), result["loss"])
        self.assertEqual(float(f"{found['accuracy']:.10g}"), result["accuracy"])
        self.assertEqual((found["step"], found["examples"], found["checkpoint"]), (40, 300, result["checkpoint"]["id"]))
        matrix = found["confusion"]
        self.assertEqual(sum(map(sum, matrix)), 300)
        self.assertEqual(sum(matrix[c][c] for c in range(4)), round(300 * found["accuracy"]))
        for entry in found["classes"]:
            self.assertEqual(sum(matrix[entry["class"]]), entry["support"])
        mean = sum(entry["f1"] for entry in found["classes"]) / 4
        self.assertAlmostEqual(found["f1"], mean, places=12)
        self.assertGreaterEqual(found["top_k"]["accuracy"], found["accuracy"])
        self.assertEqual(found, self.evaluate("--top-k", "2"))
        text = self.succeeds("evaluate", "run", "--confusion")
        self.assertIn(f"accuracy {found['accuracy']:.4f}", text)
        self.assertIn("confusion matrix", text)

    def test_missing_shard_is_damage(self):
        """The error has the name of the file and what to do; without the folder that the user names, the input is invalid."""
        self.classes()
        shard = next((self.folder / "run/checkpoints").glob("*2/shard-*/data.mdb"))
        shard.unlink()
        expected = [str(shard.relative_to(self.folder)), "does not exist", "or use another checkpoint"]
        for command in (["evaluate", "run"], ["export", "run", "--to", "out.npz"], ["predict", "run", "--data", "rows.csv"],
                        ["checkpoints", "show", "2", "--dir", "run"], ["checkpoints", "diff", "1", "2", "--dir", "run"]):
            self.refused(6, expected, *command)
        self.refused(3, ["none is not the folder of a run"], "evaluate", "none")
        self.succeeds("evaluate", "run", "--checkpoint", "1")

    def test_regressions_report_errors_and_r_squared(self):
        """R squared is what the run calls its accuracy."""
        result = self.train(QUICK)
        found = self.evaluate()
        self.assertAlmostEqual(found["r2"], result["accuracy"], places=7)
        self.assertAlmostEqual(found["rmse"] ** 2, found["loss"], places=7)
        self.assertEqual([entry["output"] for entry in found["outputs"]], [0])
        self.assertGreater(self.evaluate("--checkpoint", "1")["loss"], found["loss"])

    def test_evaluation_refuses_what_it_cannot_use(self):
        """The message names the option and the remedy."""
        self.classes()
        self.refused(3, ["--top-k 5"], "evaluate", "run", "--top-k", "5")
        self.refused(3, ["checkpoint 77"], "evaluate", "run", "--checkpoint", "77")
        self.refused(3, ["nowhere"], "evaluate", "nowhere")

    # predict

    def test_predictions_keep_the_order_and_do_not_depend_on_the_batch(self):
        """A thousand rows from stdin, and some of them alone; lines of JSON and arrays have the same numbers."""
        self.classes()
        rows = self.rows(1000, 6)
        all_rows = self.predict(rows)
        self.assertEqual(len(all_rows), 1000)
        for i in (0, 255, 256, 999):
            self.assertEqual(self.predict([rows[i]]), [all_rows[i]])
        path = self.folder / "rows.csv"
        path.write_text("a,b,c,d,e,f\n" + "".join(",".join(f"{value:.9g}" for value in row) + "\r\n" for row in rows))
        lines = self.succeeds("predict", "run", "--data", "rows.csv", "-o", "json").splitlines()
        self.succeeds("predict", "run", "--data", "rows.csv", "-o", "npy", "--to", "out.npy")
        values = struct.iter_unpack("<4f", (self.folder / "out.npy").read_bytes()[128:])
        for row, line, array in zip(all_rows, lines, values, strict=True):
            item = json.loads(line)
            probabilities = [float(value) for value in row[1:]]
            self.assertEqual(item, {"class": int(row[0]), "probabilities": probabilities})
            self.assertEqual(array, tuple(struct.unpack("<4f", struct.pack("<4f", *probabilities))))
            self.assertEqual(probabilities.index(max(probabilities)), int(row[0]))
            self.assertTrue(math.isclose(sum(probabilities), 1, rel_tol=1e-5))

    def test_numbers_are_those_of_the_exported_parameters(self):
        """A linear regression: the product of a row and the weights."""
        self.train(QUICK)
        shown = json.loads(self.succeeds("checkpoints", "show", "3", "--dir", "run", "-o", "json"))
        bias = next(entry for entry in shown["variables"] if entry["name"] == "bias")["mean"]
        self.assertAlmostEqual(float(self.predict([[0] * 8])[0][0]), bias, places=6)

    def test_bad_rows_are_named_with_line_and_column(self):
        """The rows before are predicted; the exit code is 3."""
        self.classes()
        good = "1,2,3,4,5,6\n"
        for text, expected in (("1,2,x,4,5,6\n", "stdin:3: column 3: 'x'"), ("1,2\n", "stdin:3: 2 numbers"),
                               ("1,2,3,4,5,nan\n", "stdin:3: column 6"), ("1,2,3,4,5,6,7\n", "7 numbers")):
            result = self.tanist("predict", "run", "--data", "-", input=good + good + text)
            self.assertEqual(result.returncode, 3)
            self.assertIn(expected, result.stderr)
            self.assertEqual(len(result.stdout.splitlines()), 3)
        self.refused(3, ["--data"], "predict", "run")
        self.refused(3, ["none.csv"], "predict", "run", "--data", "none.csv")
        self.refused(3, ["--to FILE"], "predict", "run", "--data", "-", "-o", "npy", input=good)
        result = self.tanist("predict", "run", "--data", "-", "--to", "out.csv", input="1,2\n")
        self.assertEqual((result.returncode, list(self.folder.glob("out*"))), (3, []))

    def test_numbers_that_are_not_finite_are_null_in_json(self):
        """An input that no float can have is refused; an output that overflows is null, as JSON has no infinity."""
        self.train(QUICK)
        row = ",1" * 7
        large = "is out of range: numbers are 32-bit floats, up to 3.4e38"
        for first, problem in (("1e39", large), ("-1e39", large), ("1e400", large), ("nan", "is not a number")):
            result = self.tanist("predict", "run", "--data", "-", input=f"{first}{row}\n")
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn(f"stdin:1: column 1: '{first}' {problem}", result.stderr)
        marked = self.succeeds("predict", "run", "--data", "-", input=f"\ufeff1{row}\n1{row}\n").splitlines()
        self.assertEqual((len(marked), marked[1]), (3, marked[2]))
        largest = self.succeeds("predict", "run", "--data", "-", "-o", "json", input="3.4e38," * 7 + "3.4e38\n")
        self.assertEqual(json.loads(largest), {"outputs": [None]})

    def test_images_are_predicted_without_labels(self):
        """An IDX file alone, and the folder of the test set, have the accuracy of the run."""
        result = self.train(FASHION, "--set", "train.steps=30")
        folder = json.loads((self.folder / "run/job.json").read_text())["data"]["path"]
        alone = self.succeeds("predict", "run", "--data", f"{folder}/t10k-images-idx3-ubyte.gz")
        self.assertEqual(alone, self.succeeds("predict", "run", "--data", folder))
        self.assertEqual(len(alone.splitlines()), 10001)
        self.assertEqual(self.evaluate("--data", folder)["accuracy"], result["accuracy"])

    @unittest.skipIf(numpy is None, "numpy, onnxruntime and scikit-learn are not installed")
    def test_onnxruntime_predicts_the_same(self):
        """Every example's model, and the same inputs."""
        for name in ("autoencoder", "resnet", "transformer", "two-tower"):
            with self.subTest(name):
                job = json.loads((ROOT / f"examples/{name}.json").read_text())
                job["train"].update(steps=2, batch=8, slices=8)
                job["evaluate"] = {}
                if job["data"]["type"] == "text":
                    job["data"]["path"] = str(ROOT / "docs/cli.md")
                if job["data"]["type"] == "matches":
                    job["data"].update(examples=8, test_examples=8)
                self.succeeds("run", "--local", self.job(json.dumps(job)), "--dir", name, "--quiet", timeout=300)
                self.succeeds("export", name, "--to", f"{name}.onnx")
                session = onnxruntime.InferenceSession(self.folder / f"{name}.onnx")
                field = session.get_inputs()[0]
                numbers = numpy.random.default_rng(5)
                inputs = numbers.integers(0, 120, [7] + field.shape[1:]).astype(numpy.float32)
                if "float" in field.type:
                    inputs /= 128
                numpy.save(self.folder / "in.npy", inputs)
                self.succeeds("predict", name, "--data", "in.npy", "-o", "npy", "--to", "out.npy")
                theirs = session.run(None, {field.name: inputs if "float" in field.type else
                                            inputs.astype(numpy.uint8)})[-1]
                ours = numpy.load(self.folder / "out.npy")
                if theirs.shape[-1] == 1:
                    ours = ours[..., 1:]
                numpy.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=1e-6)

    @unittest.skipIf(numpy is None, "numpy, onnxruntime and scikit-learn are not installed")
    def test_metrics_are_those_of_scikit_learn(self):
        """On the probabilities that predict prints for the same images."""
        self.train(FASHION, "--set", "train.steps=30")
        folder = json.loads((self.folder / "run/job.json").read_text())["data"]["path"]
        self.succeeds("predict", "run", "--data", folder, "-o", "npy", "--to", "out.npy")
        scores = numpy.load(self.folder / "out.npy")
        import gzip
        with gzip.open(f"{folder}/t10k-labels-idx1-ubyte.gz") as file:
            labels = numpy.frombuffer(file.read()[8:], numpy.uint8)
        classes = scores.argmax(1)
        found = self.evaluate("--top-k", "3")
        self.assertEqual(found["confusion"], metrics.confusion_matrix(labels, classes).tolist())
        self.assertAlmostEqual(found["accuracy"], metrics.accuracy_score(labels, classes), places=12)
        self.assertAlmostEqual(found["precision"], metrics.precision_score(labels, classes, average="macro",
                                                                           zero_division=0), places=12)
        self.assertAlmostEqual(found["f1"], metrics.f1_score(labels, classes, average="macro"), places=12)
        areas = [metrics.roc_auc_score(labels == c, scores[:, c]) for c in range(10)]
        for entry, area in zip(found["classes"], areas, strict=True):
            self.assertAlmostEqual(entry["auc"], area, places=12)
        self.assertAlmostEqual(found["top_k"]["accuracy"], metrics.top_k_accuracy_score(labels, scores, k=3), places=12)

    # checkpoints

    def test_checkpoints_are_shown_and_compared(self):
        """Figures of each variable; a checkpoint does not differ from itself."""
        self.classes()
        shown = json.loads(self.succeeds("checkpoints", "show", "1", "--dir", "run", "-o", "json"))
        self.assertEqual([entry["name"] for entry in shown["variables"]],
                         ["hidden1/weights", "hidden1/bias", "output/weights", "output/bias"])
        self.assertEqual((shown["checkpoint"], shown["step"], shown["variables"][0]["shape"]), (1, 20, [6, 8]))
        for entry in shown["variables"]:
            self.assertTrue(entry["min"] <= entry["mean"] <= entry["max"] and entry["not_finite"] == 0)
        same = json.loads(self.succeeds("checkpoints", "diff", "1", "1", "--dir", "run", "-o", "json"))
        self.assertEqual({entry["changed"] for entry in same["variables"]}, {0})
        other = json.loads(self.succeeds("checkpoints", "diff", "1", "2", "--dir", "run", "-o", "json"))
        self.assertTrue(all(entry["changed"] > 0 and entry["most_change"] > 0 for entry in other["variables"]))
        self.assertIn("hidden1/weights", self.succeeds("checkpoints", "diff", "1", "2", "--dir", "run"))
        self.refused(128, ["another checkpoint"], "checkpoints", "diff", "1", "--dir", "run")
        self.refused(3, ["'x'"], "checkpoints", "show", "x", "--dir", "run")
        self.refused(3, ["checkpoint 9"], "checkpoints", "show", "9", "--dir", "run")


if __name__ == "__main__":
    unittest.main(buffer=True)
