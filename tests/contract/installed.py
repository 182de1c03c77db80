"""An installed copy of the build that TANIST_PROGRAM belongs to, for tests of libtanist."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

BUILD = Path(os.environ["TANIST_PROGRAM"]).parent


def option(name):
    """The value of a variable of the build."""
    found = re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    return found.group(1) if found else ""


def run(*command, **more):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **more)
    if result.returncode != 0:
        raise AssertionError(f"{command}: {result.returncode}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}")
    return result.stdout


def sanitizer_flags():
    sanitizers = option("TANIST_SANITIZE")
    return [f"-fsanitize={sanitizers}"] if sanitizers else []


def install(test_class):
    """Install into a temporary folder of the class, and move it there: `folder` and `prefix`."""
    folder = tempfile.TemporaryDirectory(prefix="tanist-library-")
    test_class.addClassCleanup(folder.cleanup)
    test_class.folder = Path(folder.name)
    run("cmake", "--install", BUILD, "--prefix", test_class.folder / "installed")
    test_class.prefix = test_class.folder / "moved"
    (test_class.folder / "installed").rename(test_class.prefix)
    test_class.flags = sanitizer_flags()


def build_project(source, build, prefix, *options):
    """Configure and build a CMake project that finds Tanist in `prefix`."""
    flags = " ".join(sanitizer_flags())
    run("cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_COMPILER={option('CMAKE_C_COMPILER')}", f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}",
        *options)
    run("cmake", "--build", build)
