#!/usr/bin/env python3
"""`tanist top` on a terminal: frames change, the size changes, and the terminal is restored.

A real run and a real pseudo-terminal; every wait is bounded. TANIST_PROGRAM: the program.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from case import LONG, PROGRAM, STEADY, Cli, own_servers

HOME, LEAVE = b"\x1b[H", b"\x1b[?25h\x1b[?1049l"


class Terminal:
    """A pseudo-terminal with `tanist top` on it."""

    def __init__(self, test, *options, rows=40, columns=100):
        self.test, self.seen = test, b""
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        environment = dict(test.environment, TERM="xterm", LC_ALL="C.UTF-8")
        self.process = subprocess.Popen(
            [PROGRAM, "top", "--dir", "run", "--interval", "200", *options], stdin=self.slave,
            stdout=self.slave, stderr=subprocess.PIPE, cwd=test.folder, env=environment,
            start_new_session=True)
        test.addCleanup(self.close)

    def close(self):
        self.process.kill()
        self.process.communicate()
        os.close(self.master)
        os.close(self.slave)

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            self.seen += os.read(self.master, 65536)

    def frames(self):
        """The complete frames, without colours."""
        parts = self.seen.split(HOME)[1:]
        plain = [re.sub(rb"\x1b\[[0-9;]*m", b"", part).decode() for part in parts]
        return [part.replace("\x1b[K", "").replace("\r", "") for part in plain if "\x1b[J" in part]

    def wait(self, pattern, limit_s=120):
        """The first frame from now on that matches `pattern`."""
        end, first = time.monotonic() + limit_s, len(self.frames())
        while time.monotonic() < end:
            self.read(0.1)
            for frame in self.frames()[first:]:
                if re.search(pattern, frame):
                    return frame
        self.test.fail(f"no {pattern!r} within {limit_s} s: {self.frames()[-1:]}")
        return ""

    def check_left(self, how):
        """The command exits with 0, and the terminal is as it was before."""
        end = time.monotonic() + 120
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        self.read(0.2)
        self.test.assertEqual(self.process.poll(), 0, how)
        self.test.assertTrue(self.seen.endswith(LEAVE), self.seen[-80:])
        self.test.assertEqual(termios.tcgetattr(self.slave), self.before)


class Top(Cli):
    def start_run(self):
        run = self.start(*LONG, *STEADY)
        return run, self.wait_tasks()

    def step(self, frame):
        return int(re.search(r"step +(\d+) of 50000000", frame)[1])

    def test_frames_follow_the_cluster(self):
        """Steps increase, a lost worker is shown, another window size is used, q leaves."""
        _, status = self.start_run()
        terminal = Terminal(self)
        first = self.step(terminal.wait(r"steps/s +\d+ .*[▁-█]"))
        worker = next(t for t in status["tasks"] if t["role"] == "worker")
        os.kill(worker["pid"], signal.SIGKILL)
        frame = terminal.wait(r"LAST EVENTS(.|\n)*worker:\d .* is lost: signal 9")
        self.assertTrue(any(self.step(terminal.wait("running")) > first for _ in range(20)))
        self.assertRegex(frame, r"127\.0\.0\.1:\d+ +standalone")
        terminal.resize(12, 40)
        os.kill(terminal.process.pid, signal.SIGWINCH)
        frame = terminal.wait(r"^(?!(.|\n)*LAST EVENTS)").replace("\x1b[J", "")
        self.assertLessEqual(max(map(len, frame.split("\n"))), 40)
        os.write(terminal.master, b"q")
        terminal.check_left("q")

    @own_servers
    def test_zookeeper_is_lost_and_back(self):
        """The loss of ZooKeeper is shown, and so is its return; Ctrl-C leaves."""
        run, _ = self.start_run()
        terminal = Terminal(self)
        terminal.wait("running")
        server = self.wait_server()
        os.kill(run.pid, signal.SIGSTOP)  # The agent starts no other server until the loss was seen.
        os.kill(server, signal.SIGKILL)
        terminal.wait("unreachable for")
        os.kill(run.pid, signal.SIGCONT)
        terminal.wait("connected to ZooKeeper again")
        os.kill(terminal.process.pid, signal.SIGINT)
        terminal.check_left("SIGINT")

    def test_once(self):
        """Without a terminal, or with --once: one plain frame."""
        self.start_run()
        for options in ((), ("--once",)):
            result = self.tanist("top", "--dir", "run", *options)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn("\x1b", result.stdout)
            self.assertRegex(result.stdout, r"ps:0 +up +\d+ .* \d+ +0\n")
            self.assertRegex(result.stdout, r"standalone\n")

    def test_no_cluster_is_given(self):
        self.refused(3, ["no cluster is given"], "top")


if __name__ == "__main__":
    unittest.main(verbosity=2)
