#!/usr/bin/env python3
"""tests/portable/digests.py finds one digest for small examples, and reports a way that has another one.

Real processes and real ensembles; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import os
import subprocess
import unittest

from case import PROGRAM, ROOT, Cli, patience
from installed import sanitizer_flags


class Digests(Cli):
    def compare(self, *arguments, program=PROGRAM):
        return subprocess.run([str(ROOT / "tests/portable/digests.py"), *arguments], capture_output=True,
                              text=True, timeout=patience(280), cwd=self.folder, check=False,
                              env=dict(self.environment, TANIST_PROGRAM=str(program)))

    def test_examples_have_one_digest(self):
        in_c = [] if sanitizer_flags() else ["bell.c"]  # Built without the flags of the sanitizers.
        result = self.compare("two-tower", *in_c, "-o", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        for example in json.loads(result.stdout)["examples"]:
            self.assertTrue(example["same"], example)
            self.assertLessEqual({"local", "scalar", "resumed", "workers=1 ps=1", "workers=2 ps=3", "workers=5 ps=3"},
                                 set(example["digests"]))

    def test_another_digest_is_reported(self):
        """Plain C is made to begin with other values, and one cluster to fail."""
        wrong = self.folder / "wrong"
        wrong.write_text(f'''#!/bin/sh
[ "$TANIST_ISA" = scalar ] && exec {PROGRAM} "$@" --set seed=99
case "$*" in *cluster.workers=5*) echo "planted" >&2; exit 1;; esac
exec {PROGRAM} "$@"
''')
        wrong.chmod(0o755)
        result = self.compare("quick", program=wrong)
        self.assertEqual(result.returncode, 1, result.stderr)
        row = result.stdout.splitlines()[1]
        self.assertIn("DIFFERENT: scalar, workers=5 ps=1", row)
        self.assertIn("failed: planted workers=5 ps=1", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
