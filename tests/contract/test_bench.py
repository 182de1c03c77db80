#!/usr/bin/env python3
"""bench/run: its list of objects, its errors, and that nothing is left behind when it is interrupted.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import signal
import subprocess
import unittest
from pathlib import Path

from case import PROGRAM, ROOT, Cli

RUN = str(ROOT / "bench/run")
MEMBERS = {"name": str, "unit": str, "value": float, "limit": float, "ratio": float, "ratio_q1": float, "ratio_q3": float,
           "rounds": int}


class Bench(Cli):
    def start_bench(self, *arguments):
        process = subprocess.Popen([RUN, "--build", str(Path(PROGRAM).parent), "--folder", str(self.folder), *arguments],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                   env=self.environment)
        self.addCleanup(self.kill_and_read, process)
        return process

    def bench(self, *arguments):
        process = self.start_bench(*arguments)
        out, errors = process.communicate(timeout=240)
        return process.returncode, out, errors

    def test_objects_have_the_members_of_the_contract(self):
        code, out, errors = self.bench("--quick", "--only", "exchange_4KiB,failover_ms", "-o", "found.json")
        self.assertEqual(code, 0, errors)
        found = json.loads((self.folder / "found.json").read_text(encoding="utf-8"))
        self.assertEqual([row["name"] for row in found], ["exchange_4KiB", "failover_ms"])
        exchange, failover = found
        for name, kind in MEMBERS.items():
            self.assertIsInstance(exchange[name], kind)
        self.assertLessEqual(exchange["ratio_q1"], exchange["ratio"])
        self.assertLessEqual(exchange["ratio"], exchange["ratio_q3"])
        self.assertEqual([failover[name] for name in ("limit", "ratio", "ratio_q1", "ratio_q3")], [None] * 4)
        for row in found:
            self.assertGreater(row["value"], 0)
            self.assertEqual(row["rounds"], 3)
            self.assertGreaterEqual(row["others_used"], 0)
            self.assertIn(row["name"], out)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["found.json"])
        self.check_no_process_left()

    def test_errors_name_what_is_missing(self):
        code, _, errors = self.bench("--only", "exchange_5KiB", "-o", "found.json")
        self.assertEqual(code, 2)
        self.assertIn("no figure is called 'exchange_5KiB'", errors)
        code, _, errors = self.bench("--only", "failover_ms", "-o", "absent/found.json")
        self.assertEqual(code, 2)
        self.assertIn("absent/found.json: its folder does not exist", errors)
        code, _, errors = self.bench("--build", str(self.folder), "--only", "exchange_4KiB", "-o", "found.json")
        self.assertEqual(code, 1)
        self.assertIn("bench_transport does not exist: run `cmake --build", errors)
        self.assertEqual(json.loads((self.folder / "found.json").read_text(encoding="utf-8")), [])

    def test_interrupt_keeps_what_was_measured(self):
        process = self.start_bench("--quick", "--only", "exchange_4KiB,failover_ms", "-o", "found.json")
        self.wait_for("the first figure", (self.folder / "found.json").exists)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("found.json has the figures measured so far (1)", errors)
        found = json.loads((self.folder / "found.json").read_text(encoding="utf-8"))
        self.assertEqual([row["name"] for row in found], ["exchange_4KiB"])
        self.check_no_process_left()
        self.assertEqual([path.name for path in self.folder.iterdir()], ["found.json"])

    def test_interrupt_leaves_nothing(self):
        process = self.start_bench("--only", "failover_ms", "-o", "found.json")
        self.wait_for("nodes of a cluster", lambda: len(self.processes()) > 6)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("interrupted", errors)
        self.check_no_process_left()
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
