#!/usr/bin/env python3
"""Models of type "onnx": their outputs are those of onnxruntime, a cluster trains them to the bits of a run in one
process, and a node with another file is refused.

Needs onnx, onnxruntime and numpy from PyPI; skipped where they are absent. TANIST_PROGRAM: the program; TANIST_FORWARD:
a program that prints the outputs of a job's model.
"""

import json
import os
import subprocess
import sys
import unittest

from case import LONG, ROOT, Cli

try:
    import numpy
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error.name} is not installed (pip install onnx onnxruntime numpy)")
    sys.exit(77)

FORWARD = os.environ.get("TANIST_FORWARD", str(ROOT / "build/bin/forward"))
EXAMPLES = 16


def node(operator, inputs, output, **attributes):
    return helper.make_node(operator, inputs.split(), [output], **attributes)


def values(random, name, *shape):
    scale = 1 / numpy.sqrt(numpy.prod(shape[1:]) or 1)
    return numpy_helper.from_array((random.standard_normal(shape) * scale).astype(numpy.float32), name)


def integers(name, *numbers):
    return numpy_helper.from_array(numpy.array(numbers, numpy.int64), name)


def cnn(random):
    """Groups, strides, both kinds of padding, batch norm, and the softmax that belongs to the loss."""
    variance = numpy_helper.from_array(numpy.linspace(0.5, 2, 8).astype(numpy.float32), "bn.var")
    return [
        node("Conv", "x conv1.weight conv1.bias", "a", name="conv1", pads=[1, 1, 1, 1]),
        node("Relu", "a", "b"),
        node("MaxPool", "b", "c", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "c conv2.weight", "d", name="conv2", group=2, auto_pad="SAME_UPPER", strides=[2, 2]),
        node("BatchNormalization", "d bn.weight bn.bias bn.mean bn.var", "e", name="bn"),
        node("LeakyRelu", "e", "f", alpha=0.2),
        node("AveragePool", "f", "g", kernel_shape=[2, 2], pads=[1, 0, 0, 1], count_include_pad=1),
        node("Flatten", "g", "h"),
        node("Gemm", "h fc.weight fc.bias", "i", name="fc", transB=1),
        node("Softmax", "i", "y", axis=1),
    ], [
        values(random, "conv1.weight", 6, 2, 3, 3), values(random, "conv1.bias", 6),
        values(random, "conv2.weight", 8, 3, 3, 3), values(random, "bn.weight", 8), values(random, "bn.bias", 8),
        values(random, "bn.mean", 8), variance, values(random, "fc.weight", 5, 32), values(random, "fc.bias", 5),
    ], [2, 8, 8], 5


def number(name, value):
    return numpy_helper.from_array(numpy.array(value, numpy.float32), name)


def exact_gelu(x, y):
    """As PyTorch exports GELU(): x (1 + erf(x / sqrt(2))) / 2."""
    return [
        node("Div", f"{x} root", "quotient"), node("Erf", "quotient", "erf"), node("Add", "erf one", "share"),
        node("Mul", f"{x} share", "product"), node("Mul", "product half", y),
    ]


def mlp(random):
    return [
        node("MatMul", "x fc1.weight", "a"), node("Add", "a fc1.bias", "b"), *exact_gelu("b", "c"),
        node("Gemm", "c fc2.weight fc2.bias", "y", transB=1, alpha=0.5),
    ], [
        values(random, "fc1.weight", 12, 16), values(random, "fc1.bias", 16), values(random, "fc2.weight", 3, 16),
        values(random, "fc2.bias", 3), number("root", 2 ** 0.5), number("one", 1), number("half", 0.5),
    ], [12], 3


def attention(random):
    """A head of self-attention over 4 elements of width 6, with a norm, as PyTorch exports it."""
    return [
        node("Reshape", "x sequence", "s"), node("LayerNormalization", "s norm.weight norm.bias", "n", axis=-1),
        node("MatMul", "n q", "query"), node("MatMul", "n k", "key"), node("MatMul", "n v", "value"),
        node("Transpose", "key", "turned", perm=[0, 2, 1]), node("MatMul", "query turned", "scores"),
        node("Constant", "", "root", value_float=2.449), node("Div", "scores root", "scaled"),
        node("Softmax", "scaled", "shares", axis=-1), node("MatMul", "shares value", "mixed"),
        node("Add", "mixed s", "sum"), node("ReduceMean", "sum", "mean", axes=[1], keepdims=0),
        node("Slice", "mean first last axis", "part"), node("Sub", "part offset", "low"),
        node("Clip", "low", "clipped"), node("MatMul", "clipped head", "y"),
    ], [
        integers("sequence", -1, 4, 6), values(random, "norm.weight", 6), values(random, "norm.bias", 6),
        values(random, "q", 6, 6), values(random, "k", 6, 6), values(random, "v", 6, 6), integers("first", 1),
        integers("last", 5), integers("axis", 1), values(random, "offset", 4), values(random, "head", 4, 3),
    ], [24], 3


def recent(random):
    """Operators as they are since opset 18 and 20."""
    return [
        node("MatMul", "x fc1.weight", "a"), node("Gelu", "a", "b"), node("Gelu", "b", "c", approximate="tanh"),
        node("Reshape", "c sequence", "s"), node("ReduceMean", "s axis", "mean", keepdims=0),
        helper.make_node("Split", ["mean"], ["left", "right"], axis=1, num_outputs=2),
        node("Sub", "left right", "d"), node("MatMul", "d fc2.weight", "y"),
    ], [
        values(random, "fc1.weight", 12, 24), integers("sequence", -1, 3, 8), integers("axis", 1),
        values(random, "fc2.weight", 4, 3),
    ], [12], 3


class Onnx(Cli):
    def write(self, build, opset=17, seed=1):
        """The file net.onnx and its job; returns the file and the shape of its inputs."""
        nodes, initializers, shape, outputs = build(numpy.random.default_rng(seed))
        graph = helper.make_graph(
            nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", *shape])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", outputs])], initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        path = self.folder / "net.onnx"
        onnx.save(model, path)
        loss = "softmax_cross_entropy" if build is cnn else "squared_error"
        self.job(json.dumps({
            "name": "onnx",
            "model": {"type": "onnx", "path": "net.onnx", "inputs": int(numpy.prod(shape)), "outputs": outputs,
                      "loss": loss},
            "data": {"type": "synthetic", "examples": 256, "test_examples": 64, "noise": 0.5},
            "train": {"steps": 40, "batch": 16, "slices": 4, "optimizer": "adam", "learning_rate": 0.003},
            "cluster": {"coordinators": 1, "ps": 2, "workers": 2}, "zookeeper": {"servers": 1}}))
        return path, shape

    def compare(self, build, opset):
        self.compare_outputs(*self.write(build, opset), softmax=build is cnn)

    def compare_outputs(self, path, shape, softmax=False):
        """The outputs of the job's model are those that onnxruntime computes from the file."""
        inputs = numpy.random.default_rng(2).standard_normal((EXAMPLES, *shape)).astype(numpy.float32)
        expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": inputs})[0]
        result = subprocess.run([FORWARD, "job.json", str(EXAMPLES)], input=inputs.tobytes(), capture_output=True,
                                check=False, timeout=120, cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        outputs = numpy.frombuffer(result.stdout, numpy.float32).reshape(expected.shape)
        if softmax:
            powers = numpy.exp(outputs - outputs.max(axis=1, keepdims=True))
            outputs = powers / powers.sum(axis=1, keepdims=True)
        self.assertLess(numpy.abs(outputs - expected).max(), 1e-5)

    def test_outputs_are_those_of_onnxruntime(self):
        for build, opset in ((cnn, 17), (cnn, 14), (mlp, 17), (mlp, 11), (attention, 17),
                             (cnn, 23), (mlp, 19), (recent, 20), (recent, 23)):
            with self.subTest(model=build.__name__, opset=opset):
                self.compare(build, opset)

    def test_exports_of_pytorch_are_read(self):
        """By both exporters of torch, the newer one by its own default opset."""
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not installed (pip install torch onnxscript)")
        layers = torch.nn
        torch.manual_seed(1)
        network = layers.Sequential(
            layers.Conv2d(1, 8, 3, padding=1), layers.BatchNorm2d(8), layers.ReLU(), layers.MaxPool2d(2),
            layers.Conv2d(8, 16, 3, stride=2, groups=2), layers.GELU(), layers.AdaptiveAvgPool2d(1), layers.Flatten(),
            layers.LayerNorm(16), layers.Dropout(0.1), layers.Linear(16, 10)).eval()
        example = torch.zeros(2, 1, 28, 28)
        for name, options in (("old", {"dynamo": False, "opset_version": 17, "dynamic_axes": {"x": {0: "batch"}}}),
                              ("new", {"dynamo": True, "external_data": False, "verbose": False,
                                       "dynamic_shapes": ({0: torch.export.Dim("batch")},)})):
            with self.subTest(exporter=name):
                path = self.folder / "net.onnx"
                torch.onnx.export(network, (example,), path, input_names=["x"], output_names=["y"], **options)
                self.compare_and_train(f"torch-{name}", path, [1, 28, 28])

    def test_exports_of_keras_are_read(self):
        """By tf2onnx: channels last, with transpositions around the convolutions."""
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        try:
            import keras
            import tensorflow
            import tf2onnx
        except ImportError as error:
            self.skipTest(f"{error.name} is not installed (pip install tensorflow-cpu tf2onnx)")
        layers = keras.layers
        keras.utils.set_random_seed(1)
        network = keras.Sequential([
            keras.Input((28, 28, 1), name="x"), layers.Conv2D(8, 3, padding="same", use_bias=False),
            layers.BatchNormalization(), layers.ReLU(), layers.MaxPooling2D(2),
            layers.Conv2D(16, 3, strides=2, padding="same", activation="silu"), layers.DepthwiseConv2D(3),
            layers.GlobalAveragePooling2D(), layers.Dropout(0.1), layers.Dense(10, activation="softmax")])
        path = self.folder / "net.onnx"
        signature = [tensorflow.TensorSpec([None, 28, 28, 1], tensorflow.float32, name="x")]
        network.output_names = ["y"]  # Read by tf2onnx; Keras 3 has none.
        tf2onnx.convert.from_keras(network, signature, opset=17, output_path=str(path))
        self.compare_and_train("keras", path, [28, 28, 1], softmax=True)

    def compare_and_train(self, name, path, shape, softmax=False):
        """A file of another program: its outputs are onnxruntime's, and it can be trained."""
        self.job(json.dumps({
            "name": name,
            "model": {"type": "onnx", "path": path.name, "inputs": 784, "outputs": 10, "loss": "softmax_cross_entropy"},
            "data": {"type": "synthetic", "examples": 64, "test_examples": 16},
            "train": {"steps": 10, "batch": 16, "slices": 4}}))
        self.compare_outputs(path, shape, softmax)
        result = json.loads(self.succeeds("run", "--local", "job.json", "--dir", name, "-o", "json"))
        self.assertEqual(result["steps"], 10)

    def test_a_cluster_has_the_bits_of_one_process(self):
        for build in (cnn, mlp):
            with self.subTest(model=build.__name__):
                self.write(build)
                name = build.__name__
                alone = json.loads(self.succeeds("run", "--local", "job.json", "--dir", f"local-{name}", "-o", "json"))
                cluster = self.result(self.spawn("run", "job.json", "--dir", name, "-o", "json"))
                self.assertEqual(cluster["steps"], 40)
                self.assertEqual(cluster["parameters_digest"], alone["parameters_digest"])

    def test_kills_leave_the_bits(self):
        self.write(cnn)
        run = self.spawn("run", "job.json", "--dir", "run", "-o", "json", "--set", "checkpoint.every_steps=50", *LONG)
        self.kill_in_the_middle("ps:0", "worker:1")
        killed = self.end(run)
        alone = json.loads(self.succeeds("run", "--local", "job.json", "--dir", "local", "-o", "json", "--set",
                                         f"train.steps={killed['steps']}"))
        self.assertGreaterEqual(len(killed["recoveries"]), 1)
        self.assertEqual(killed["parameters_digest"], alone["parameters_digest"])

    def test_the_file_is_part_of_the_run(self):
        self.write(mlp)
        self.succeeds("run", "--local", "job.json", "--dir", "run")
        self.write(mlp, seed=3)
        result = self.tanist("run", "--local", "job.json", "--dir", "run", "--resume", "--set", "train.steps=50")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("another model", result.stderr)

    def test_graph_shows_frozen_and_unsupported_nodes(self):
        self.write(mlp)
        graph = json.loads(self.succeeds("graph", "job.json", "-o", "json", "--set", 'model.freeze=["fc1.*"]'))
        self.assertEqual({variable["name"] for variable in graph["variables"]},
                         {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"})
        model = onnx.load(self.folder / "net.onnx")
        model.graph.node[2].op_type = "Mish"
        model.graph.node[2].name = "mish"
        onnx.save(model, self.folder / "net.onnx")
        self.refused(3, ["net.onnx: node 2 'mish' (Mish, opset 17): this operator is not supported"], "graph", "job.json")

    def test_example_trains(self):
        subprocess.run([sys.executable, ROOT / "examples/onnx/make.py", "cnn.onnx"], check=True, cwd=self.folder,
                       timeout=120)
        result = json.loads(self.succeeds("run", "--local", str(ROOT / "examples/onnx/cnn.json"), "--dir", "run", "-o",
                                          "json", "--set", "train.steps=20", timeout=120))
        self.assertEqual(result["steps"], 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
