#!/usr/bin/env python3
"""Makes cnn.onnx: a small convolutional network for Fashion-MNIST, with random weights.

    pip install onnx numpy
    examples/onnx/make.py cnn.onnx
    tanist run --local examples/onnx/cnn.json

A real model comes from torch.onnx.export(); see docs/onnx.md.
"""

import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


def weights(random, name, *shape):
    """Initial values as He et al. give them: the deviation is sqrt(2 / inputs of an output)."""
    deviation = numpy.sqrt(2 / numpy.prod(shape[1:]))
    return numpy_helper.from_array((random.standard_normal(shape) * deviation).astype(numpy.float32), name)


def zeros(name, size):
    return numpy_helper.from_array(numpy.zeros(size, numpy.float32), name)


def model():
    random = numpy.random.default_rng(1)
    node = helper.make_node
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        node("Conv", ["image", "conv1.weight", "conv1.bias"], ["a"], name="conv1", pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"]),
        node("MaxPool", ["b"], ["c"], **pool),
        node("Conv", ["c", "conv2.weight", "conv2.bias"], ["d"], name="conv2", pads=[1, 1, 1, 1]),
        node("Relu", ["d"], ["e"]),
        node("MaxPool", ["e"], ["f"], **pool),
        node("Flatten", ["f"], ["g"]),
        node("Gemm", ["g", "fc.weight", "fc.bias"], ["h"], name="fc", transB=1),
        node("Softmax", ["h"], ["classes"], axis=1),
    ]
    values = [
        weights(random, "conv1.weight", 8, 1, 3, 3), zeros("conv1.bias", 8),
        weights(random, "conv2.weight", 16, 8, 3, 3), zeros("conv2.bias", 16),
        weights(random, "fc.weight", 10, 784), zeros("fc.bias", 10),
    ]
    graph = helper.make_graph(
        nodes, "cnn",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 28, 28])],
        [helper.make_tensor_value_info("classes", TensorProto.FLOAT, ["batch", 10])], values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    onnx.save(model(), sys.argv[1])
