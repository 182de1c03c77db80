#!/usr/bin/env python3
"""Very many classes: their labels are learned, evaluated and predicted exactly; the limit, and labels beyond it, are
refused.

Real processes; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import struct
import unittest

from case import Cli

CLASSES = (1 << 20) + 2


class Classes(Cli):
    def setUp(self):
        super().setUp()
        # Two far apart classes, the last one among them.
        self.rows([(1, 0, CLASSES - 1), (0, 1, CLASSES - 2)] * 8)
        self.json = {"model": {"type": "softmax", "outputs": CLASSES}, "zookeeper": {"servers": 1},
                     "data": {"format": "csv", "train": "rows.csv", "test": "rows.csv", "label": "y"},
                     "train": {"steps": 8, "batch": 4, "slices": 2, "learning_rate": 1},
                     "cluster": {"coordinators": 1, "ps": 2, "workers": 2}}

    def rows(self, rows):
        (self.folder / "rows.csv").write_text("a,b,y\n" + "".join("%s,%s,%s\n" % row for row in rows))

    def path(self):
        return self.job(json.dumps(self.json))

    def test_labels_are_learned(self):
        local = json.loads(self.succeeds("run", self.path(), "--local", "--dir", "local", "-o", "json"))
        self.assertEqual(local["accuracy"], 1)
        cluster = json.loads(self.succeeds("run", self.path(), "--dir", "run", "-o", "json"))
        self.assertEqual(cluster["parameters_digest"], local["parameters_digest"])
        found = json.loads(self.succeeds("evaluate", "local", "-o", "json"))
        self.assertEqual([(one["class"], one["support"], one["predicted"]) for one in found["classes"]],
                         [(CLASSES - 2, 8, 8), (CLASSES - 1, 8, 8)])
        self.assertIsNone(found["confusion"])
        lines = self.succeeds("evaluate", "local").splitlines()
        self.assertEqual(sum(line.split()[:1] == [str(CLASSES - 1)] for line in lines), 1)
        self.assertLess(len(lines), 20)

    def test_labels_beyond_are_refused(self):
        self.rows([(1, 0, 0), (0, 1, CLASSES)])
        self.refused(3, ["rows.csv:3", f"'{CLASSES}' is not a class: give whole numbers from 0 to {CLASSES - 1}"],
                     "data", "check", self.path())

    def test_the_limit(self):
        """A plan allocates nothing. Rows of labels have room for the last class only."""
        self.json["model"]["outputs"] = 1 << 31
        plan = json.loads(self.succeeds("plan", self.path(), "--set", "model.inputs=1", "-o", "json"))
        self.assertEqual(plan["parameters"], 2 << 31)
        self.rows([(1, 0, 0), (0, 1, (1 << 31) - 1)])
        self.succeeds("data", "check", self.path())
        self.rows([(1, 0, 0), (0, 1, 1 << 31)])
        self.refused(3, ["rows.csv:3", "'2147483648' is not a class"], "data", "check", self.path())
        self.json["model"]["outputs"] += 1
        self.refused(3, ["model.outputs is 2147483649", "2147483648"], "plan", self.path())

    def test_labels_of_arrays_are_exact(self):
        """A float32 does not hold 2^24 + 1."""
        self.json["model"]["outputs"] = (1 << 24) + 1
        self.json["data"].update(format="npy", train="d", test="d")
        (self.folder / "d").mkdir()
        self.array("x", "<f4", (2, 1), struct.pack("<2f", 0, 1))
        for shape in ((2,), (2, 1)):
            self.array("y", "<i4", shape, struct.pack("<2i", 0, 1 << 24))
            self.succeeds("data", "check", self.path())
            self.array("y", "<i4", shape, struct.pack("<2i", 0, (1 << 24) + 1))
            self.refused(3, ["'16777217' is not a class"], "data", "check", self.path())

    def array(self, name, kind, shape, content):
        head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        (self.folder / "d" / f"{name}.npy").write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() +
                                                        content)


if __name__ == "__main__":
    unittest.main()
