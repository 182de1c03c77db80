#!/usr/bin/env python3
"""DIR/summaries/: records that TensorBoard's own reader accepts, and one point for each step after recoveries.

The framing is checked here; the contents by tensorboard from PyPI (tried: 2.21.0), skipped with a notice where that is
not installed. Real processes; every wait is bounded. TANIST_PROGRAM: the program.
"""

import importlib.util
import json
import math
import os
import signal
import struct
import unittest

from case import COLD, Cli, QUICK
from test_metrics import JOB, points


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The contents of complete records; asserts that their sums are right."""
    at = 0
    while at < len(data):
        length, check = struct.unpack_from("<QI", data, at)
        assert check == crc32c(data[at:at + 8])
        body = data[at + 12:at + 12 + length]
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == crc32c(body)
        yield body
        at += 16 + length


CLASSES = ["--set", "model.type=mlp", "--set", "model.hidden=[64]", "--set", "model.outputs=4", "--set",
           "evaluate.every_steps=100"]


def has_tensorboard():
    if importlib.util.find_spec("tensorboard") is not None:
        return True
    print("skipped: tensorboard is not installed")
    return False


def without_times(point):
    """The values of a point that do not depend on the speed of a machine."""
    return {name: value for name, value in point.items() if not name.startswith(("worker_", "ps_")) and
            name not in ("time", "steps_per_second", "paused_seconds")}


class Summaries(Cli):
    def files(self, directory="run"):
        return sorted((self.folder / directory / "summaries").iterdir())

    def events(self, directory="run"):
        """As TensorBoard reads them, all kinds without a limit."""
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        events = EventAccumulator(str(self.folder / directory / "summaries"),
                                  size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
        events.Reload()
        return events

    def curve(self, tag, directory="run"):
        return {event.step: event.value for event in self.events(directory).Scalars(tag)}

    def evaluated(self, directory="run"):
        return {step: point for step, point in points(self.folder / directory).items() if "accuracy" in point}

    def test_framing(self):
        """Lengths and checksums are right; the first record is the version, and there is a graph."""
        self.succeeds("run", QUICK, "--local", "--dir", "run", "-q")
        file, = self.files()
        found = list(records(file.read_bytes()))
        self.assertIn(b"brain.Event:2", found[0])
        self.assertIn(b"/job:ps/task:0", found[1])
        self.assertTrue(any(b"global_step/sec" in record for record in found))
        self.assertEqual(sum(b"accuracy" in record for record in found), 1)
        self.succeeds("run", QUICK, "--local", "--dir", "none", "-q", "--set", "metrics.summaries=false")
        self.assertFalse((self.folder / "none/summaries").exists())

    def test_folder_that_cannot_be_written(self):
        """Summaries are lost; the run is not."""
        (self.folder / "run").mkdir()
        (self.folder / "run/summaries").write_text("")
        result = self.tanist("run", "--local", QUICK, "--dir", "run", "-o", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("summaries are not written"), 1)

    def test_tensorboard_reads_a_disturbed_run(self):
        """After kills of a ps and of the agent, the curves are those of metrics.jsonl, without orphans."""
        if not has_tensorboard():
            self.skipTest("tensorboard is not installed")
        run = self.start(*JOB, *COLD, "--set", "train.steps=500000000")
        self.wait_step(1500)
        before = self.wait_pid("ps:0")
        os.kill(before, signal.SIGKILL)
        self.wait_pid("ps:0", but=before)
        self.wait_for("points", lambda: len(points(self.folder / "run")) > 30)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        self.wait_for("the nodes end", lambda: not self.processes())
        last = max(points(self.folder / "run"))
        result = self.tanist("run", QUICK, "--dir", "run", *JOB, *COLD, "--resume", "--set",
                             f"train.steps={last + 1000}", "-q", timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.files()), 2)
        kept = points(self.folder / "run")
        loaded = [json.loads(line) for line in (self.folder / "run/metrics.jsonl").read_text().splitlines()
                  if '"loaded"' in line]
        self.assertGreaterEqual(len([entry for entry in loaded if entry["step"] > 0]), 2)
        for tag, name in (("loss", "loss"), ("accuracy", "accuracy"), ("test_loss", "test_loss")):
            wanted = {step: point[name] for step, point in kept.items() if point.get(name) is not None}
            found = self.curve(tag)
            self.assertEqual(sorted(found), sorted(wanted), tag)
            for step, value in wanted.items():
                self.assertAlmostEqual(found[step], value, delta=1e-6 * abs(value))

        events = self.events()
        wanted = sorted(self.evaluated())
        self.assertIn("variables/weights", events.Tags()["histograms"])
        self.assertIn("gradients/weights", events.Tags()["histograms"])
        for tag in events.Tags()["histograms"]:
            self.assertEqual([event.step for event in events.Histograms(tag)], wanted, tag)

    def test_evaluations_have_the_metrics_of_the_command(self):
        """The metrics of the last step equal those of `tanist evaluate`; a cluster and one process write the same ones."""
        for directory, options in (("run", []), ("local", ["--local"])):
            self.succeeds("run", QUICK, *options, "--dir", directory, "-q", *CLASSES)
            point = self.evaluated(directory)[300]
            self.assertEqual(sorted(self.evaluated(directory)), [100, 200, 300])
            report = json.loads(self.succeeds("evaluate", directory, "-o", "json"))
            for name in ("accuracy", "precision", "recall", "f1", "auc"):
                self.assertAlmostEqual(point[name], report[name], places=9)
            self.assertEqual(list((self.folder / directory / "evaluations").iterdir()), [])
        self.assertEqual(without_times(point), without_times(self.evaluated("run")[300]))
        self.succeeds("run", QUICK, "--local", "--dir", "numbers", "-q")
        point = self.evaluated("numbers")[300]
        report = json.loads(self.succeeds("evaluate", "numbers", "-o", "json"))
        for name in ("mae", "rmse", "r2"):
            self.assertAlmostEqual(point[name], report[name], places=9)

    def test_tensorboard_reads_evaluations(self):
        """The confusion matrix is that of `tanist evaluate`; histograms have all numbers of a variable."""
        if not has_tensorboard():
            self.skipTest("tensorboard is not installed")
        self.succeeds("run", QUICK, "--local", "--dir", "run", "-q", *CLASSES)
        report = json.loads(self.succeeds("evaluate", "run", "-o", "json"))
        values = json.loads(self.succeeds("checkpoints", "show", "3", "--dir", "run", "-o", "json"))
        events = self.events()
        text = events.Tensors("confusion_matrix")[-1].tensor_proto.string_val[0].decode()
        rows = [[int(cell) for cell in line.split("|")[2:-1]] for line in text.splitlines()[2:]]
        self.assertEqual(rows, report["confusion"])
        self.assertEqual([event.step for event in events.Tensors("confusion_matrix")], [100, 200, 300])
        variables = {entry["name"]: entry for entry in values["variables"]}
        for name, variable in variables.items():
            for kind in ("variables", "gradients"):
                last = events.Histograms(f"{kind}/{name}")[-1]
                found = last.histogram_value
                self.assertEqual((last.step, found.num), (300, math.prod(variable["shape"])))
                self.assertEqual(sum(found.bucket), found.num)
                self.assertEqual(found.bucket_limit, sorted(found.bucket_limit))
                self.assertLessEqual(found.bucket_limit[0], found.min)
                self.assertGreaterEqual(found.bucket_limit[-1], found.max)
            found = events.Histograms(f"variables/{name}")[-1].histogram_value
            self.assertAlmostEqual(found.min, variable["min"], places=6)
            self.assertAlmostEqual(found.sum / found.num, variable["mean"], places=6)
        self.succeeds("run", QUICK, "--local", "--dir", "none", "-q", *CLASSES, "--set", "metrics.histograms=false")
        self.assertEqual(self.events("none").Tags()["histograms"], [])
        self.assertEqual(len(self.events("none").Tensors("confusion_matrix")), 3)

    def test_tensorboard_reads_the_graph(self):
        """Nodes, inputs and devices; a file whose last record was cut off is read up to it."""
        if not has_tensorboard():
            self.skipTest("tensorboard is not installed")
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from tensorboard.compat.proto.graph_pb2 import GraphDef
        self.succeeds("run", QUICK, "--local", "--dir", "run", "-q", "--set", "model.type=mlp", "--set",
                      "model.hidden=[64]", "--set", "model.outputs=4", "--set", "cluster.ps=2")
        file, = self.files()
        file.write_bytes(file.read_bytes()[:-3])
        events = EventAccumulator(str(self.folder / "run/summaries"))
        events.Reload()
        graph = events.Graph()
        self.assertIsInstance(graph, GraphDef)
        nodes = {node.name: node for node in graph.node}
        self.assertEqual(len(nodes), len(graph.node))
        self.assertTrue(all(name in nodes for node in graph.node for name in node.input))
        self.assertEqual({node.device for node in graph.node if node.device.startswith("/job:ps")},
                         {"/job:ps/task:0", "/job:ps/task:1"})
        self.assertEqual(nodes["hidden1/weights"].device, "/job:ps/task:0")
        self.assertEqual(len(events.Scalars("loss")), 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
