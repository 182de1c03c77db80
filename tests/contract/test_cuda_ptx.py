"""The kernels of kernels/cuda compile for GPUs, and their code has the bits of the source: no implicit fused
multiply-add, no approximation, no flush of subnormal numbers. Skipped where nvcc is not installed.

TANIST_NVCC: the compiler; else the one in PATH or /usr/local/cuda.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NVCC = os.environ.get("TANIST_NVCC") or shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
MODULE = ROOT / "kernels/cuda/module.cu"
ARCHITECTURES = ("compute_80", "compute_90", "compute_100")
# Code for a * b + c that rounds once. The source's own fused operations are compiled to fma.rz here, and do not match.
FUSED = re.compile(r"^\s*(?:@%p\d+ )?((?:fma|mad)\.(?:rn|rm|rp|ftz|f)[\w.]*)", re.MULTILINE)
EXPLICIT = re.compile(r"^\s*fma\.rz\.f32", re.MULTILINE)
# Other instructions whose results are not those of IEEE 754, rounded to nearest once.
INEXACT = re.compile(r"^\s*(?:@%p\d+ )?(\w+\.approx[\w.]*|(?:ex2|lg2|sin|cos|tanh|rsqrt)\.[\w.]+|\w+\.[\w.]*ftz[\w.]*|div\.full[\w.]*"
                     r"|(?:add|sub|mul)\.f(?:32|64)|(?:div|sqrt|rcp)\.(?!rn\.)[\w.]*f(?:32|64))", re.MULTILINE)
KERNEL = re.compile(r"^\.visible \.entry (\w+)\(", re.MULTILINE)
SOURCE_KERNEL = re.compile(r"^KERNEL\((\w+), ", re.MULTILINE)


def sources():
    """The files with kernels; emulation and fibers have none."""
    return [path for path in sorted((ROOT / "kernels/cuda").glob("*.c"))
            if "CUDA_EXPORT void CUDA_FILL(" in path.read_text()]


@unittest.skipUnless(NVCC, "nvcc is not installed")
class Ptx(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="tanist-ptx.")
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    @classmethod
    @functools.cache
    def compile(cls, path, architecture, *options):
        out = Path(cls.folder, f"{path.stem}.{architecture}.ptx")
        subprocess.run([NVCC, "-x", "cu", "-std=c++17", *(options or ("-fmad=false",)), f"-arch={architecture}", "-DPORTABLE_FMA=__fmaf_rz", "-ptx",
                        f"-I{ROOT}", f"-I{ROOT}/include", "-o", out, path], check=True)
        return out.read_text()

    def test_code_is_exact(self):
        """The file that the program loads is compiled from all families at once, and so is the code that is checked."""
        for architecture in ARCHITECTURES:
            with self.subTest(architecture=architecture):
                text = self.compile(MODULE, architecture)
                self.assertEqual(FUSED.findall(text), [])
                self.assertEqual(INEXACT.findall(text), [])
                names, explicit = KERNEL.findall(text), len(EXPLICIT.findall(text))
                print(f"{architecture}: {len(names)} kernels, {explicit} explicit fused multiply-adds, no others", flush=True)
                self.assertGreater(explicit, 0)
                for path in sources():
                    for name in SOURCE_KERNEL.findall(path.read_text()):
                        self.assertIn(name, names)

    def test_module_has_all_kernels(self):
        """None is lost, and no two families have kernels of one name."""
        names = KERNEL.findall(self.compile(MODULE, "compute_90"))
        expected = set()
        for path in sources():
            expected |= set(KERNEL.findall(self.compile(path, "compute_90")))
        self.assertEqual(set(names), expected)
        self.assertEqual(len(names), len(expected))

    # The check finds what a compiler does that is allowed to: the optimizers have no fused operations of their own.
    def test_inexact_code_is_found(self):
        update = ROOT / "kernels/cuda/update.c"
        self.assertNotEqual(FUSED.findall(self.compile(update, "compute_90", "-fmad=true")), [])
        found = INEXACT.findall(self.compile(update, "compute_90", "-ftz=true", "-prec-div=false", "-prec-sqrt=false"))
        self.assertTrue(any("ftz" in name for name in found))
        self.assertTrue(any("approx" in name or "full" in name for name in found))


if __name__ == "__main__":
    if not NVCC:
        print("skipped: nvcc is not installed, so no kernel was compiled for a GPU")
        sys.exit(77)
    unittest.main()
