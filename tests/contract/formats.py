"""Shared by the tests of data formats: rows as the program tests/contract/rows reads them.

TANIST_ROWS: that program.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from case import ROOT

ROWS = os.environ.get("TANIST_ROWS", str(ROOT / "build/bin/rows"))


def skip(error, packages):
    """Ends the test: a package of PyPI is not installed."""
    print(f"skipped: {error.name} is not installed (pip install {packages})")
    sys.exit(77)


class Formats(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tanist-formats-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def read(self, format, path, **options):
        """The columns, as lists of name, kind and shape, and the rows in their order."""
        run = subprocess.run([ROWS, format, str(path), json.dumps(options)], capture_output=True, text=True,
                             timeout=120)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        columns, *rows = [json.loads(line) for line in run.stdout.splitlines()]
        kinds = [column[1] for column in columns]
        return columns, [[value(kind, cell) for kind, cell in zip(kinds, row)] for row in reversed(rows)]

    def refused(self, format, path, expected, **options):
        run = subprocess.run([ROWS, format, str(path), json.dumps(options)], capture_output=True, text=True,
                             timeout=120)
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn(expected, run.stderr)


def value(kind, cell):
    if cell is None:
        return None
    if kind == "number":
        return float.fromhex(cell)
    if kind == "floats":
        return [float.fromhex(number) for number in cell]
    return bytes.fromhex(cell)
