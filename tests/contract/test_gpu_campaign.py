#!/usr/bin/env python3
"""scripts/gpu-campaign on the emulated driver: every section runs with small sizes, a second call runs nothing again, and a
pack has all that the sections need.

TANIST_PROGRAM: the program, in a build folder with the tests' programs.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from case import PROGRAM, ROOT, patience

SCRIPT = ROOT / "scripts/gpu-campaign"
BUILD = Path(PROGRAM).resolve().parent
NO_GPU = 77
TIME_OVER = 75


class GpuCampaign(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tanist-campaign."))
        self.addCleanup(shutil.rmtree, self.folder)

    def campaign(self, *arguments):
        """The exit code and the output."""
        done = subprocess.run([SCRIPT, "--build", BUILD, "--no-build", "--emulated", "--out", self.folder / "out", *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=patience(600),
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        return done.returncode, done.stdout

    def results(self):
        return json.loads((self.folder / "out/results.json").read_text())["sections"]

    def test_all_sections_run_and_are_resumed(self):
        code, text = self.campaign("--minutes", "0")
        self.assertEqual(code, TIME_OVER, text)
        self.assertFalse((self.folder / "out/results.json").exists())
        code, text = self.campaign("--sections", "devices,kernels,speed")
        self.assertEqual(code, NO_GPU, text)
        first = self.results()
        self.assertEqual(list(first), ["devices", "kernels", "speed"])
        code, text = self.campaign()
        self.assertEqual(code, NO_GPU, text)
        second = self.results()
        self.assertEqual({name: second[name] for name in first}, first)
        self.assertEqual(list(second), ["devices", "kernels", "speed", "training", "pytorch", "runs"])
        for line in (r"^cuBLAS 13\.0\.0 .*/libcublas\.so\.13$", r"^kernels: update +[1-9]\d* compared, 0 differ", r"^update adam .* % of copy$",
                     r"^product large .* % of cuBLAS$", r"^training: cnn: digest of CPU and GPU +2 compared, 0 differ", r"^training: wide mlp: cuda singly +\S+ examples/s",
                     r"^training: wide mlp: cuda +\S+ examples/s$", r"^whole runs +[1-9]\d* compared, 0 differ",
                     r"^kernels: updates of a ps +[1-9]\d* compared, 0 differ", r"^clusters with ps on the GPU, kills +[1-9]\d* compared, 0 differ",
                     r"^kernels: products by cuBLAS +[1-9]\d* compared, 0 differ",
                     r"^training: cnn: digest of two runs with cuBLAS +1 compared, 0 differ",
                     r"^product large 32 x 32 x 32, tf32 .* % of cuBLAS$", r"^product large 32 x 32 x 32, bf16 .* % of cuBLAS$",
                     r"^training: wide mlp: cublas +\S+ examples/s", r"^training: wide mlp: cublas tf32 +\S+ examples/s",
                     r"^training: cnn: digest of two runs with cuBLAS bf16 +1 compared, 0 differ",
                     r"^whole runs with cuBLAS.* +[1-9]\d* compared, 0 differ",
                     r"nothing differs, but nothing has run on a GPU"):
            self.assertRegex(text, re.compile(line, re.MULTILINE))

    def test_failures_are_rows(self):
        """A section whose program fails, or cannot be started, does not end the campaign, and makes it fail."""
        broken = self.folder / "broken"
        (broken / "bin").mkdir(parents=True)
        for name in ("tanist", "emulated-gpu"):
            (broken / name).symlink_to(BUILD / name)
        for name in ("bench_gpu", "test_kernels_cuda_update", "test_kernels_cuda_dropout", "test_ps_shard_gpu",
                     "test_kernels_cuda_launch_cublas"):
            (broken / "bin" / name).symlink_to("/bin/false")
        code, text = self.campaign("--build", str(broken), "--sections", "kernels,speed,devices")
        self.assertEqual(code, 1, text)
        self.assertIn("FAILED: kernels: update; kernels: dropout; kernels: updates of a ps; kernels: products by cuBLAS; speed", text)
        self.assertIn("Tanist emulated GPU 0", text)

    def test_pack_has_all_that_is_needed(self):
        """Java and ZooKeeper are left out: jlink takes long."""
        packed = self.folder / "pack.tar.xz"
        code, text = self.campaign("--pack", str(packed), "--without-java")
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"pack.tar.xz: \d+\.\d MiB, without java")
        code, text = self.campaign("--packed", str(packed), "--sections", "devices,kernels,speed,training,runs")
        self.assertEqual(code, NO_GPU, text)
        self.assertIn("nothing differs", text)
        self.assertTrue(list((self.folder / "out/pack/lib").glob("libzookeeper_mt.so*")))


if __name__ == "__main__":
    unittest.main()
