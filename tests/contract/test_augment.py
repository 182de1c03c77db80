#!/usr/bin/env python3
"""Images that change at random while training give the same parameters in one process, with 1 and with 3 workers, and
when a worker is killed.

Real processes; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import random
import struct
import unittest

from case import LONG, Cli

SIDE, EXAMPLES = 6, 300
CHANGES = {"as": "pixels", "flip": True, "margin": 1, "mean": [0.5], "deviation": [0.25]}


def npy(kind, shape, data):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


class Augment(Cli):
    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        labels = [draw.randrange(3) for _ in range(EXAMPLES)]
        pixels = bytes(min(255, draw.randrange(128) + 100 * (i // SIDE % 3 == label)) for label in labels
                       for i in range(SIDE * SIDE))
        (self.folder / "d").mkdir()
        (self.folder / "d/image.npy").write_bytes(npy("|u1", (EXAMPLES, SIDE, SIDE), pixels))
        (self.folder / "d/label.npy").write_bytes(npy("<i8", (EXAMPLES,), struct.pack(f"<{EXAMPLES}q", *labels)))

    def path(self, column, steps=300):
        return self.job(json.dumps({
            "name": "augment", "model": {"type": "softmax", "outputs": 3},
            "data": {"format": "npy", "train": "d", "label": "label", "columns": {"image": column},
                     "split": {"test": 0.2}},
            "train": {"steps": steps, "batch": 30, "slices": 6, "learning_rate": 0.1},
            "checkpoint": {"every_steps": 100}, "zookeeper": {"servers": 1}}))

    def local(self, column, **more):
        folder = f"local{len(list(self.folder.iterdir()))}"
        return json.loads(self.succeeds("run", self.path(column, **more), "--local", "--dir", folder, "-o", "json"))

    def test_changes_do_not_depend_on_workers(self):
        wanted = self.local(CHANGES)["parameters_digest"]
        self.assertNotEqual(self.local({**CHANGES, "flip": False})["parameters_digest"], wanted)
        self.assertNotEqual(self.local({**CHANGES, "margin": 0})["parameters_digest"], wanted)
        for workers in 1, 3:
            run = self.spawn("run", self.path(CHANGES), "--dir", f"run{workers}", "-o", "json", "--set",
                             f"cluster.workers={workers}")
            self.assertEqual(self.result(run)["parameters_digest"], wanted)

    def test_changes_survive_kills(self):
        run = self.spawn("run", self.path(CHANGES), "--dir", "run", "-o", "json", "--set", "cluster.workers=2", *LONG)
        self.kill_in_the_middle("worker:1")
        result = self.end(run)
        self.assertEqual(result["parameters_digest"], self.local(CHANGES, steps=result["steps"])["parameters_digest"])


if __name__ == "__main__":
    unittest.main()
