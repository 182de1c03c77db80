#!/usr/bin/env python3
"""ONNX files of models with tables: onnxruntime predicts the same for keys with rows, and has zeros for all others.

numpy, onnx and onnxruntime of PyPI (tried: 2.4.6, 1.23.2, 1.32.0) read the files; without them the test is skipped.
Real processes; every wait is bounded. TANIST_PROGRAM: the program.
"""

import csv
import json
import random
import subprocess
import sys
import unittest

from case import ROOT, Cli, patience
from xxh64 import key_of, xxh64

try:
    import numpy
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed (pip install numpy onnx onnxruntime)")
    sys.exit(77)

USERS, ITEMS, SHOPS = 40, 25, ["north", "south", "west"]
TEXTS = {
    "user": {"as": "category", "embed": 5, "table": True},
    "item": {"as": "category", "embed": 3, "table": True},
}
MODEL = {"type": "layers", "layers": [{"dense": 1}], "outputs": 1, "loss": "sigmoid_cross_entropy"}
BAGS = """
#include <tanist/tanist.h>

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    (void)b, (void)user;
    const struct tn_table_options options = {.rows = HASH};
    tn_tensor keys = tn_placeholder(g, "keys", TN_INT64, TN_SHAPE(TN_BATCH, 3));
    tn_tensor labels = tn_placeholder(g, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
    tn_table pages = tn_table_create(g, "pages", 2, &options), first = tn_table_create(g, "first", 2, NULL);
    tn_tensor each = tn_lookup(g, pages, keys, 0, 3, TN_POOL_NONE);
    tn_tensor sum = tn_lookup(g, pages, keys, 1, 2, TN_POOL_SUM), mean = tn_lookup(g, pages, keys, 0, 3, TN_POOL_MEAN);
    tn_tensor one = tn_reshape(g, tn_lookup(g, first, keys, 0, 1, TN_POOL_NONE), TN_SHAPE(TN_BATCH, 2));
    tn_tensor flat = tn_reshape(g, each, TN_SHAPE(TN_BATCH, 6));
    tn_tensor x = tn_concat(g, (const tn_tensor[]){flat, sum, mean, one}, 4, 1);
    tn_tensor logit = tn_dense(g, "dense", x, 1, TN_LINEAR);
    tn_tensor targets = tn_reshape(g, tn_cast(g, labels, TN_FLOAT32, 1), TN_SHAPE(TN_BATCH, 1));
    tn_loss(g, tn_sigmoid_cross_entropy(g, logit, targets), 1);
    tn_output(g, "logits", logit);
    tn_output(g, "each", flat);
    tn_output(g, "sum", sum);
    tn_output(g, "mean", mean);
}

TN_MODEL_WITH("bags", build, "{}", NULL)
"""

CRITEO_NUMBERS, CRITEO_CATEGORIES, CRITEO_VALUES = 13, 26, 3


def texts(rows, column):
    return numpy.array([[row[column]] for row in rows], object)


def keys(rows, column):
    return numpy.array([[key_of(row[column])] for row in rows], numpy.int64)


def numbers(rows, column):
    return numpy.array([[float(row[column])] for row in rows], numpy.float64)


def joined_keys(rows, columns):
    """The keys of a cross of columns with tables."""
    joined = [b"".join(key_of(row[column]).to_bytes(8, "little") for column in columns) for row in rows]
    return numpy.array([[xxh64(key) >> 1] for key in joined], numpy.int64)


class Export(Cli):
    """Trains, predicts and exports."""

    def run_job(self, job):
        """The rows of the test set, and the predictions for them."""
        self.succeeds("run", self.job(json.dumps(job)), "--local", "--dir", "run", "--quiet", timeout=patience(120))
        self.succeeds("predict", "run", "--data", "test.csv", "-o", "npy", "--to", "out.npy")
        with open(self.folder / "test.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file)), numpy.load(self.folder / "out.npy")

    def export(self, *options):
        """The result of the command, and a session of the file."""
        result = json.loads(self.succeeds("export", "run", "--to", "m.onnx", "-o", "json", *options))
        onnx.checker.check_model(onnx.load(self.folder / "m.onnx"), full_check=True)
        return result, onnxruntime.InferenceSession(self.folder / "m.onnx")

    def check(self, session, wanted, fields):
        """The probability of a click is that of `tanist predict`."""
        found = session.run(["probabilities"], fields)[0]
        numpy.testing.assert_allclose(found[:, -1], wanted[:, -1], rtol=2e-5, atol=1e-7)


class ExamplesExport(Export):
    """The models of examples/ctr, trained on a file with the columns of their data."""

    def setUp(self):
        super().setUp()
        draw = random.Random(6)
        numbers_of, categories = ([f"{letter}{k + 1}" for k in range(count)]
                                  for letter, count in (("I", CRITEO_NUMBERS), ("C", CRITEO_CATEGORIES)))
        for name, count in (("train", 2000), ("test", 300)):
            with open(self.folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(["click", *numbers_of, *categories])
                for _ in range(count):
                    inputs = [draw.gauss(0, 1) for _ in numbers_of]
                    ranks = [draw.randrange(CRITEO_VALUES) for _ in categories]
                    click = int(inputs[0] + ranks[0] - ranks[1] * (ranks[2] - 1) + draw.gauss(0, 1) > 0)
                    texts_of = [f"{column}-{rank:x}" for column, rank in zip(categories, ranks)]
                    rows.writerow([click, *(f"{number:.4f}" for number in inputs), *texts_of])

    def fields(self, session, columns, rows):
        """The inputs of the file; columns like `wide1..wide26` have the input of one column each."""
        sources = {name: rule["of"] for name, rule in columns.items() if "of" in rule}
        found = {}
        for field in session.get_inputs():
            column = field.name.removesuffix(":key")
            if column in sources:
                found[field.name] = joined_keys(rows, sources[column])
            elif column == field.name:
                found[field.name] = numbers(rows, column)
            else:
                found[field.name] = keys(rows, column.replace("wide", "C"))
        return found

    def check_example(self, name, tables):
        job = json.loads((ROOT / f"examples/ctr/{name}.json").read_text(encoding="utf-8"))
        columns = job["data"]["columns"]
        job["data"] = {"format": "csv", "train": "train.csv", "test": "test.csv", "label": "click", "columns": columns}
        job["train"].update(steps=100, batch=64, learning_rate=0.01, decay_steps=100)
        job["evaluate"] = {}
        rows, wanted = self.run_job(job)
        session = self.export()[1]
        stored = [tensor.name for tensor in onnx.load(self.folder / "m.onnx").graph.initializer]
        self.assertEqual(sum(tensor.endswith("/keys") for tensor in stored), tables)
        self.assertGreater(numpy.std(wanted[:, -1]), 0.05)
        self.check(session, wanted, self.fields(session, columns, rows))

    def test_wide_and_deep(self):
        """Three columns have the keys of each category: the wide one, the deep one and, of eight categories, a cross."""
        self.check_example("wide-deep", 56)

    def test_deepfm(self):
        """The products of a factorization machine."""
        self.check_example("deepfm", 52)

    def test_dlrm(self):
        """The dot products of all pairs of embeddings."""
        self.check_example("dlrm", 26)

    def test_two_tower(self):
        """The score of a query and its item is the prediction; the loss over the items of a slice is not exported."""
        self.check_example("two-tower", 26)


class TablesExport(Export):
    def setUp(self):
        super().setUp()
        draw = random.Random(5)
        taste, charm = [[draw.gauss(0, 1) for _ in range(count)] for count in (USERS, ITEMS)]
        for name, count in (("train", 2000), ("test", 300)):
            with open(self.folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(["user", "item", "shop", "price", "click"])
                for _ in range(count):
                    user, item, price = draw.randrange(USERS), draw.randrange(ITEMS), draw.uniform(-1, 1)
                    rows.writerow([f"u{user}", f"i{item}", draw.choice(SHOPS), f"{price:.4f}",
                                   int(taste[user] + charm[item] + price > 0)])

    def train(self, columns, model=None, **train):
        job = {"name": "tables", "model": model or MODEL, "train": {"steps": 120, "batch": 32, "slices": 4, **train},
               "data": {"format": "csv", "train": "train.csv", "test": "test.csv", "label": "click",
                        "columns": {**columns, "price": "number"}}, "checkpoint": {"every_steps": 50}, "cluster": {"ps": 1}}
        return self.run_job(job)

    def tensors(self):
        self.succeeds("export", "run", "--to", "m.npz")
        with numpy.load(self.folder / "m.npz") as file:
            return {name: file[name] for name in file if name != "columns.json"}

    def test_keys_of_texts(self):
        """The rows are initializers in ascending order of their keys, and all keys of the test set have one."""
        rows, ours = self.train(TEXTS)
        result, session = self.export()
        self.assertEqual(result["unknown_keys"], "zeros")
        self.assertEqual([(field.name, field.type) for field in session.get_inputs()],
                         [("user:key", "tensor(int64)"), ("item:key", "tensor(int64)"), ("price", "tensor(double)")])
        self.check(session, ours, {"user:key": keys(rows, "user"), "item:key": keys(rows, "item"),
                                   "price": numbers(rows, "price")})
        tensors = self.tensors()
        self.assertEqual(tensors["columns/user/rows/values"].shape, (USERS, 5))
        stored = {tensor.name: onnx.numpy_helper.to_array(tensor)
                  for tensor in onnx.load(self.folder / "m.onnx").graph.initializer}
        for name, array in tensors.items():
            numpy.testing.assert_array_equal(stored[name], array)
        self.assertTrue((numpy.diff(stored["columns/item/rows/keys"]) > 0).all())
        notes = session.get_modelmeta().custom_metadata_map
        self.assertIn("XXH64", notes["input.user:key"])
        self.assertEqual(notes["digest"], result["digest"])

    def test_keys_without_rows_get_zeros(self):
        """Below, between and above the keys of the table; the command prints it."""
        self.train(TEXTS)
        self.assertIn("A key without a row gets zeros", self.succeeds("export", "run", "--to", "m.onnx"))
        session, tensors = self.export()[1], self.tensors()
        have = tensors["columns/user/rows/keys"]
        wanted = [0, have[0] - 1, have[0] + 1, have[7] - 1, have[-1] + 1, 2**63 - 1]
        known = tensors["columns/item/rows/keys"][-1]
        found = session.run(["logits"], {"user:key": numpy.array(wanted, numpy.int64).reshape(-1, 1),
                                         "item:key": numpy.full((len(wanted), 1), known),
                                         "price": numpy.full((len(wanted), 1), 0.5)})[0]
        x = numpy.concatenate([numpy.zeros(5), tensors["columns/item/rows/values"][-1], [0.5]])
        logit = x @ tensors["dense1/weights"][:, 0] + tensors["dense1/bias"][0]
        numpy.testing.assert_allclose(found[:, 0], numpy.full(len(wanted), logit), rtol=2e-5, atol=1e-6)

    def test_all_columns_with_tables(self):
        """Vocabularies and buckets are computed from the columns of the file, hashes are inputs."""
        table = {"embed": 3, "table": True}
        rows, ours = self.train({
            "user": {"as": "category", "hash": 1 << 29, **table},
            "shop": {"as": "category", "vocabulary": SHOPS, "unknown": 1, **table},
            "level": {"as": "bucket", "from": "price", "edges": [-0.5, 0, 0.5], **table},
            "item": {"as": "category", **table},
            "pair": {"as": "cross", "of": ["item", "shop"], **table},
        })
        session = self.export()[1]
        self.assertEqual([field.name for field in session.get_inputs()],
                         ["user:id", "shop", "price", "item:key", "pair:key"])
        notes = session.get_modelmeta().custom_metadata_map
        self.assertIn("modulo 536870912", notes["input.user:id"])
        self.assertIn("ids as 4 bytes and keys of tables as 8", notes["input.pair:key"])
        pairs = [xxh64(key_of(row["item"]).to_bytes(8, "little") + SHOPS.index(row["shop"]).to_bytes(4, "little")) >> 1
                 for row in rows]
        ids = [xxh64(row["user"].encode()) % (1 << 29) for row in rows]
        self.check(session, ours, {
            "user:id": numpy.array(ids, numpy.int64).reshape(-1, 1), "shop": texts(rows, "shop"),
            "price": numbers(rows, "price"), "item:key": keys(rows, "item"),
            "pair:key": numpy.array(pairs, numpy.int64).reshape(-1, 1)})

    def test_prepared_inputs_are_those_of_the_model(self):
        """The keys are one input, the place of a key among the other inputs is not used."""
        rows, ours = self.train(TEXTS)
        session = self.export("--prepared")[1]
        inputs = numpy.concatenate([numpy.full((len(rows), 2), 7.0), numbers(rows, "price")], 1).astype(numpy.float32)
        both = numpy.concatenate([keys(rows, "user"), keys(rows, "item")], 1)
        self.check(session, ours, {"inputs": inputs, "keys": both})

    def test_tables_of_no_row_and_of_one(self):
        """No key occurs in 100,000 steps; all examples have the same shop."""
        one = {"as": "category", "from": "one", "embed": 4, "table": True}
        for name in ("train", "test"):
            lines = (self.folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()
            (self.folder / f"{name}.csv").write_text("\n".join([f"{lines[0]},one"] + [f"{line},x" for line in lines[1:]]),
                                                     encoding="utf-8")
        rule = {"match": "columns/user/*", "admit_after": 100000, "admit_within_steps": 1000000}
        rows, _ = self.train({"user": TEXTS["user"], "one": one}, tables=[rule])
        session, tensors = self.export()[1], self.tensors()
        self.assertEqual(len(tensors["columns/user/rows/keys"]), 0)
        self.assertEqual(len(tensors["columns/one/rows/keys"]), 1)
        prices = numbers(rows, "price")
        for text, row in (("x", tensors["columns/one/rows/values"][0]), ("y", numpy.zeros(4))):
            found = session.run(["logits"], {"user:key": keys(rows, "user"), "price": prices,
                                             "one:key": numpy.full((len(rows), 1), key_of(text))})[0]
            fixed = numpy.tile(numpy.concatenate([numpy.zeros(5), row]), (len(rows), 1))
            wanted = numpy.concatenate([fixed, prices], 1) @ tensors["dense1/weights"] + tensors["dense1/bias"]
            numpy.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)

    def library(self, rows):
        (self.folder / "bags.c").write_text(BAGS, encoding="utf-8")
        library = self.folder / f"bags{rows}.so"
        subprocess.run(["cc", "-std=c17", "-shared", "-fPIC", f"-DHASH={rows}", f"-I{ROOT}/include",
                        self.folder / "bags.c", "-o", library], check=True)
        columns = {name: {"as": "category", "table": True} for name in ("user", "item", "shop")}
        return self.train(columns, {"type": "library", "path": str(library), "outputs": 1,
                                    "loss": "sigmoid_cross_entropy"})

    def test_bags(self):
        """One by one, as sums and as means, which do not count an absent key."""
        rows, ours = self.library(0)
        session, tensors = self.export("--prepared")[1], self.tensors()
        three = numpy.concatenate([keys(rows, column) for column in ("user", "item", "shop")], 1)
        self.check(session, ours, {"keys": three})
        three[1::4, 1], three[2::4, :2], three[3::4] = -1, -1, -1
        values = dict(zip(tensors["pages/keys"], tensors["pages/values"]))
        each = numpy.array([[values[key] if key >= 0 else numpy.zeros(2, numpy.float32) for key in line] for line in three])
        count = numpy.maximum((three >= 0).sum(1, keepdims=True), 1)
        found = session.run(["each", "sum", "mean"], {"keys": three})
        numpy.testing.assert_array_equal(found[0], each.reshape(-1, 6))
        numpy.testing.assert_allclose(found[1], each[:, 1:].sum(1), rtol=1e-6)
        numpy.testing.assert_allclose(found[2], each.sum(1) / count, rtol=2e-6, atol=1e-9)

    def test_keys_that_the_table_hashes_are_refused(self):
        self.library(50)
        self.refused(3, ["'pages'", "50 rows", ".safetensors"], "export", "run", "--to", "m.onnx")
        self.assertFalse(list(self.folder.glob("m.onnx*")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
