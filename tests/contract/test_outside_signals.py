#!/usr/bin/env python3
"""Signals from outside never fail a job, also those that otherwise report an error of the program.

A real run; every wait is bounded. TANIST_PROGRAM: the program.
"""

import os
import signal
import unittest
from itertools import cycle, islice
from pathlib import Path

from case import STEADY, Cli, patience

FAULTS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSYS)


def has_handlers(pid):
    """Whether the process has its handlers; before that a signal counts as its own error.

    The program installs that of SIGABRT last. Sanitizers install some of the others before main().
    """
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return int(caught, 16) >> (signal.SIGABRT - 1) & 1


class OutsideSignals(Cli):
    def test_fault_signals_do_not_fail_the_job(self):
        """Nine in a row, each to the new process at once: eight errors of its own would fail the job."""
        run = self.begin(*STEADY)
        pid = None
        for number in islice(cycle(FAULTS), 9):
            pid = self.wait_process("worker", 0, pid)
            self.wait_for("a handler", lambda pid=pid: has_handlers(pid))
            os.kill(pid, number)
        self.wait_process("worker", 0, pid)
        self.assertIsNone(run.poll())
        step = self.wait_step()["step"]
        self.wait_step(step + 100)
        self.assertEqual(self.tanist("stop", "--dir", "run").returncode, 0)
        _, errors = run.communicate(timeout=patience(120))
        self.assertEqual(run.returncode, 0, errors)
        self.assertEqual(errors.count("signal 9 (Killed); restarting"), 9, errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
