#!/usr/bin/env python3
"""libtanist as its users meet it: installed, found by CMake and by pkg-config, used from C and from C++.

Installs the build that TANIST_PROGRAM belongs to into a temporary folder, which is then moved.
"""

import os
import re
import shutil
import unittest
from pathlib import Path

from installed import build_project, install, option, run

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "include/tanist"


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        install(cls)

    def library(self, name):
        found = list(self.prefix.glob(f"lib/**/{name}"))
        self.assertEqual(len(found), 1, name)
        return found[0]

    def test_a_project_finds_it(self):
        """C and C++ with both libraries; every warning is an error."""
        build = self.folder / "outside"
        build_project(HERE / "outside", build, self.prefix)
        self.assertEqual(run(build / "line").split()[1:], ["3.000", "-1.000"])
        self.assertEqual(run(build / "line"), run(build / "line_static"))
        self.assertEqual(run(build / "image"), "refused\n")
        self.assertIn("done: 20 steps", run(build / "model", "--quiet", "--dir", self.folder / "run"))

    def test_pkg_config(self):
        pc = self.library("tanist.pc")
        environment = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent))
        flags = run("pkg-config", "--cflags", "--libs", "tanist", env=environment).split()
        program = self.folder / "by_pkg_config"
        run(option("CMAKE_C_COMPILER"), *self.flags, HERE / "outside/line.c", "-o", program, *flags, "-lm")
        output = run(program, env=dict(os.environ, LD_LIBRARY_PATH=str(pc.parent.parent)))
        self.assertEqual(output.split(":")[0], run("pkg-config", "--modversion", "tanist", env=environment).strip())

    def test_exports_are_the_headers(self):
        """No function is missing, and none is visible that no header declares."""
        declared = set()
        for header in INCLUDE.glob("*.h"):
            declared |= set(re.findall(r"^TN_API [^(;]*?\b(\w+)\(", header.read_text(), re.MULTILINE))
        self.assertGreater(len(declared), 60)
        shared = run("nm", "-D", "--defined-only", self.library("libtanist.so"))
        self.assertEqual({line.split()[-1] for line in shared.splitlines()}, declared)
        static = run("nm", "-g", "--defined-only", self.library("libtanist.a"))
        self.assertEqual({line.split()[-1] for line in static.splitlines() if " T " in line}, declared)

    def test_each_header_is_complete(self):
        """Each can be included alone, by C and by C++."""
        for compiler, standard, suffix in (("cc", "-std=c17", "c"), ("c++", "-std=c++11", "cpp")):
            if not shutil.which(compiler):
                self.skipTest(f"there is no {compiler}")
            for header in (self.prefix / "include/tanist").iterdir():
                source = self.folder / f"alone.{suffix}"
                source.write_text(f"#include <tanist/{header.name}>\nextern int alone;\n")
                run(compiler, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                    f"-I{self.prefix}/include", source)


if __name__ == "__main__":
    unittest.main()
