#!/usr/bin/env python3
"""An installed tree is complete: program, shim, plans, units and every document that --help names.

Installs the build that TANIST_PROGRAM belongs to into a temporary folder.
"""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["TANIST_PROGRAM"]).parent


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="tanist-install-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.prefix = Path(cls.folder.name)
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True,
                       stdout=subprocess.DEVNULL)

    def tanist(self, *arguments):
        result = subprocess.run([self.prefix / "bin/tanist", *arguments], capture_output=True,
                                text=True, check=False, cwd="/")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_the_installed_program_finds_its_shim(self):
        self.assertTrue(list(self.prefix.glob("lib/**/tanist/tanist-faults.so")))
        self.assertNotIn("tanist-faults.so is neither", self.tanist("chaos", "list"))

    def test_every_document_that_help_names_is_installed(self):
        texts = [self.tanist("--help")]
        commands = re.findall(r"^  ([a-z]+) {2,}", texts[0], re.MULTILINE)
        for command in set(commands) - {"help"}:
            texts.append(self.tanist(command, "--help"))
        named = {name for text in texts for name in re.findall(r"\b(?:docs|examples)/[\w./-]+\w", text)}
        self.assertIn("docs/exit-codes.md", named)
        for name in sorted(named):
            self.assertTrue((self.prefix / "share/doc/tanist" / name).exists(), name)

    def test_units_and_plans_are_installed(self):
        names = {path.name for path in (self.prefix / "lib/systemd/system").iterdir()}
        self.assertEqual(names, {"tanist-agent@.service", "tanist-zookeeper@.service"})
        self.assertTrue((self.prefix / "share/tanist/plans/everything.json").exists())


if __name__ == "__main__":
    unittest.main()
