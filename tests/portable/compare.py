#!/usr/bin/env python3
"""The portable kernels, and programs of networks over them, have the same bits whatever compiler built
them and wherever they run: gcc and clang, plain C, AVX2 and AVX-512, and plain C and NEON for aarch64 under qemu. A compiler or
emulator that is not installed is skipped with a notice.

  tests/portable/compare.py [NAME]...     only these builds: gcc, clang, aarch64
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77
FLAGS = ["-std=c17", "-D_GNU_SOURCE", f"-I{ROOT}", f"-I{ROOT}/include", "-ffp-contract=off",
         "-fno-math-errno", "-fno-trapping-math", "-w"]
CLASSES = {"scalar": [], "avx2": ["-mavx2", "-mfma"],
           "avx512": ["-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"],
           "neon": ["-DPORTABLE_NEON"]}
GRAPH = ("graph", "graph/core", "graph/ops", "graph/passes", "graph/reference", "graph/portable")
XXHASH = Path("/usr/include/xxhash.h")
# The builds: name, compiler, options beside FLAGS, classes, the emulator.
BUILDS = [
    ("gcc", "gcc", ["-O3"], ["scalar", "avx2", "avx512"], []),
    ("clang", "clang", ["-O2"], ["scalar", "avx2", "avx512"], []),
    ("aarch64", "aarch64-linux-gnu-gcc", ["-O2", "-static"], ["scalar", "neon"], ["qemu-aarch64"]),
]


def sources():
    """Files that are compiled once, and files that are compiled once for each class."""
    once = [ROOT / "common/base" / name for name in ("bytes.c", "error.c", "random.c", "status.c", "text.c")]
    once += [ROOT / "kernels/optimizer/real.c"]
    for folder in ("kernels/portable", *GRAPH):
        once += sorted((ROOT / folder).glob("*.c"))
    return once + [ROOT / "tests/portable/digest.c"], \
        sorted((ROOT / "kernels/portable/isa").glob("*.c"))


def build(folder, compiler, options, classes):
    once, each = sources()
    shutil.copy(XXHASH, folder)  # The folder of the system's headers is not for other processors.
    work = [(path, [f"-I{folder}", "-DXXH_INLINE_ALL"], "") for path in once]
    wide = [path for path in once if path.parent.name == "reference" and path.stem != "backend"]
    work += [(path, ["-DREFERENCE_WIDE"], "wide") for path in wide]
    work += [(path, CLASSES[isa] + [f"-DPORTABLE_ISA={isa}"], isa) for isa in classes for path in each]
    objects = [f"{folder}/{number}-{path.stem}{isa}.o" for number, (path, _, isa) in enumerate(work)]

    def compile_one(number):
        path, flags, _ = work[number]
        subprocess.run([compiler, *FLAGS, *options, *flags, "-c", str(path), "-o", objects[number]], check=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, range(len(work))))
    program = f"{folder}/digest"
    subprocess.run([compiler, *options, *objects, "-lm", "-o", program], check=True)
    return program


def digests(command, isa):
    """The program's output, or None if the processor lacks the class."""
    done = subprocess.run(command, env={**os.environ, "TANIST_ISA": isa}, capture_output=True, text=True,
                          check=False)
    if done.returncode == SKIPPED:
        print(f"skipped: {done.stderr.strip()}")
        return None
    assert done.returncode == 0, f"{command} with {isa}: exit status {done.returncode}: {done.stderr}"
    return done.stdout


def main():
    expected, compared, failed = None, 0, 0
    for name, compiler, options, classes, emulator in BUILDS:
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        missing = [tool for tool in (compiler, *emulator) if shutil.which(tool) is None]
        if missing or (not emulator and platform.machine() != "x86_64"):
            print(f"skipped: {name}: {', '.join(missing) or 'not an x86-64 machine'} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            program = build(folder, compiler, options, classes)
            for isa in classes:
                found = digests([*emulator, program], isa)
                if found is None:
                    continue
                expected = expected or found
                compared += 1
                same = found == expected
                failed += not same
                print(f"{'same' if same else 'DIFFERENT'}: {name}, {isa}: {' '.join(found.split())}")
    print(f"{compared - failed} passed, {failed} failed")
    return 1 if failed else 0 if compared > 1 else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
