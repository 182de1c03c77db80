#!/usr/bin/env python3
"""The reader of the messages of a run may stop (Ctrl-S, a pager, a stuck ssh): the run continues.

A real run; every wait is bounded. TANIST_PROGRAM: the program.
"""

import os
import signal
import unittest

from case import Cli, patience


class SlowReader(Cli):
    def fill_stderr(self, run):
        """The pipe is full, as if the run had written for long."""
        end = os.open(f"/proc/{run.pid}/fd/2", os.O_WRONLY | os.O_NONBLOCK)
        try:
            while os.write(end, b"x" * 4095 + b"\n") > 0:
                pass
        except BlockingIOError:
            pass
        finally:
            os.close(end)

    def test_agent_supervises_without_a_reader(self):
        run = self.begin()
        self.fill_stderr(run)
        pid = None
        for _ in range(3):
            pid = self.wait_process("worker", 0, pid)
            os.kill(pid, signal.SIGKILL)
        self.wait_process("worker", 0, pid)
        step = self.wait_step()["step"]
        self.wait_step(step + 100)
        self.succeeds("stop", "--dir", "run")
        _, errors = run.communicate(timeout=patience(120))
        self.assertEqual(run.returncode, 0, errors[-2000:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
