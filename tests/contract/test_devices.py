#!/usr/bin/env python3
"""`tanist devices`: with an emulated driver, without a driver, and with libraries that are not a driver; the same for cuBLAS.

TANIST_PROGRAM: the program. TANIST_EMULATED_DRIVER: the folder of the emulated libcuda.so.1 and libcublas.so.13.
"""

import json
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from case import ROOT, Cli

EMULATED = os.environ.get("TANIST_EMULATED_DRIVER", str(ROOT / "build/emulated-gpu"))
STUB = next((path for path in map(Path, (
    "/usr/local/cuda/lib64/stubs/libcuda.so", "/usr/lib/x86_64-linux-gnu/stubs/libcuda.so")) if path.exists()), None)


class Devices(Cli):
    def with_driver(self, *arguments, folder=EMULATED, **settings):
        return self.tanist("devices", *arguments, env={"LD_LIBRARY_PATH": str(folder), **settings})

    def library(self, source, name="libcuda.so.1"):
        """The folder of a library of this name and source."""
        folder = self.folder / "library"
        folder.mkdir(exist_ok=True)
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-", "-o", folder / name], input=source, text=True,
                       check=True)
        return folder

    def assert_cublas(self, texts, **settings):
        """cuBLAS cannot be used, for a reason with these texts: in the table, with GPUs and without, and in the JSON. The exit code is 0."""
        for more in ({}, {"CUDA_VISIBLE_DEVICES": ""}):
            result = self.with_driver(**settings, **more)
            line = result.stdout.splitlines()[-1]
            self.assertEqual((result.returncode, line.split(":")[0]), (0, "cuBLAS cannot be used"), result.stdout + result.stderr)
            found = json.loads(self.with_driver("-o", "json", **settings, **more).stdout)
            self.assertEqual(found["cublas"], {"version": None, "file": None, "problem": line.partition(": ")[2]})
            for text in texts:
                self.assertIn(text, line)

    def test_devices_are_listed(self):
        result = self.with_driver(TANIST_EMULATED_GPU="devices=2,memory=8388608")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = [re.split(r" {2,}", line) for line in result.stdout.splitlines()]
        self.assertEqual(lines[0], ["GPU", "NAME", "CAPABILITY", "PROCESSORS", "MEMORY", "FREE"])
        self.assertEqual(lines[2], ["/gpu:1", "Tanist emulated GPU 1", "9.0", "1", "8 MiB", "8 MiB"])
        found = json.loads(self.with_driver("-o", "json", TANIST_EMULATED_GPU="devices=2,memory=8388608").stdout)
        self.assertEqual((found["version"], found["driver_cuda"], found["reason"]), (1, "13.0", None))
        self.assertEqual(found["devices"][0], {
            "index": 0, "name": "Tanist emulated GPU 0", "compute_capability": "9.0", "multiprocessors": 1,
            "memory_bytes": 8388608, "free_bytes": 8388608, "problem": None})

    def test_cublas(self):
        """Its version and file, also without a GPU."""
        file = f"{EMULATED}/libcublas.so.13"
        for settings in ({}, {"CUDA_VISIBLE_DEVICES": ""}):
            self.assertEqual(self.with_driver(**settings).stdout.splitlines()[-1], f"cuBLAS 13.0.0, from {file}")
            found = json.loads(self.with_driver("-o", "json", **settings).stdout)
            self.assertEqual(found["cublas"], {"version": "13.0.0", "file": file, "problem": None})

    def test_cublas_that_cannot_be_used(self):
        """Too old, another library, and none: files that are not libraries, so that the loader does not go on to this machine's."""
        self.assert_cublas([f"{EMULATED}/libcublas.so.13 is cuBLAS 11, which is too old"], TANIST_EMULATED_CUBLAS="version=11")
        folder = self.library("int cublasGetProperty(void) { return 0; }\n", "libcublas.so.13")
        shutil.copy(Path(EMULATED) / "libcuda.so.1", folder)
        self.assert_cublas([f"{folder}/libcublas.so.13 has no function cublasCreate_v2", "LD_LIBRARY_PATH"], folder=folder)
        for name in ("libcublas.so.13", "libcublas.so.12"):
            (folder / name).write_bytes(b"")
        self.assert_cublas(["cuBLAS cannot be loaded", f'LD_LIBRARY_PATH, which is "{folder}"'], folder=folder)

    def test_hidden_devices(self):
        """CUDA_VISIBLE_DEVICES is the driver's: it selects and numbers, and may hide all."""
        found = json.loads(self.with_driver("-o", "json", TANIST_EMULATED_GPU="devices=3", CUDA_VISIBLE_DEVICES="2").stdout)
        self.assertEqual([(device["index"], device["name"]) for device in found["devices"]], [(0, "Tanist emulated GPU 2")])
        result = self.with_driver(CUDA_VISIBLE_DEVICES="")
        self.assertEqual((result.returncode, result.stdout), (0, f"cuBLAS 13.0.0, from {EMULATED}/libcublas.so.13\n"))
        for text in ("no GPU", "CUDA_ERROR_NO_DEVICE", 'CUDA_VISIBLE_DEVICES is ""'):
            self.assertIn(text, result.stderr)

    def test_failing_device(self):
        """A device that cannot be used is listed with its problem, and the exit code is 1."""
        result = self.with_driver("-o", "json", TANIST_EMULATED_GPU="context=214")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/gpu:0 cannot be used", result.stderr)
        device = json.loads(result.stdout)["devices"][0]
        self.assertIsNone(device["free_bytes"])
        self.assertIn("CUDA_ERROR_ECC_UNCORRECTABLE", device["problem"])

    def test_failing_driver(self):
        self.refused(1, ["cuInit", "the driver reports CUDA_ERROR_LAUNCH_FAILED (719)"], "devices",
                     env={"LD_LIBRARY_PATH": EMULATED, "TANIST_EMULATED_GPU": "init=719"})
        self.refused(1, ["cuDeviceGetCount", "CUDA_ERROR_ECC_UNCORRECTABLE"], "devices",
                     env={"LD_LIBRARY_PATH": EMULATED, "TANIST_EMULATED_GPU": "calls=0,error=214"})

    def test_other_libraries(self):
        """A library without the driver's functions, and a file that is not a library."""
        folder = self.library("int cuInit(unsigned flags) { return (int)flags; }\n")
        self.refused(1, ["libcuda.so.1 has no function cuDriverGetVersion", "LD_LIBRARY_PATH"], "devices",
                     env={"LD_LIBRARY_PATH": str(folder)})
        (folder / "libcuda.so.1").write_bytes(b"\x7fELF, but nothing else")
        result = self.with_driver("-o", "json", folder=folder)
        self.assertIn(result.returncode, (0, 1))  # The loader may go on to the machine's own driver.
        self.assertIn("libcuda.so.1", result.stdout + result.stderr)

    @unittest.skipUnless(STUB, "the toolkit's stub of the driver is not installed")
    def test_stub_has_all_functions(self):
        """NVIDIA's stub exports what the adapter looks up, and fails in cuInit."""
        folder = self.folder / "stub"
        folder.mkdir()
        shutil.copy(STUB, folder / "libcuda.so.1")
        self.refused(1, ["cuInit", "(34)"], "devices", env={"LD_LIBRARY_PATH": str(folder)})

    def test_this_machine(self):
        """Whatever this machine has: devices, or the reason why there are none."""
        result = self.tanist("devices", "-o", "json")
        found = json.loads(result.stdout)
        self.assertEqual(found["reason"] is None, bool(found["devices"]))
        if not found["devices"]:
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertTrue("libcuda.so.1" in found["reason"] or "CUDA_ERROR_NO_DEVICE" in found["reason"])
        self.refused(128, ["unexpected argument"], "devices", "0")


if __name__ == "__main__":
    unittest.main()
