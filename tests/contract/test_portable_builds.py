#!/usr/bin/env python3
"""The portable kernels, and networks over them, have the same bits as plain C and for AVX2 and AVX-512, compiled apart from the
program. `./test.sh --digests` also has the other compilers and processors of tests/portable/compare.py.
"""

import subprocess
import sys
import unittest
from pathlib import Path

COMPARE = Path(__file__).resolve().parent.parent / "portable/compare.py"
SKIPPED = 77


class PortableBuilds(unittest.TestCase):
    def test_instruction_sets(self):
        done = subprocess.run([sys.executable, str(COMPARE), "gcc"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if done.returncode == SKIPPED:
            self.skipTest(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:])


if __name__ == "__main__":
    unittest.main()
