#!/usr/bin/env python3
"""Ends of runs and commands: if ZooKeeper does not answer, without a chief, and after signals during the start.

Real processes and a real ensemble of one server. TANIST_PROGRAM: the program.
"""

import os
import pty
import re
import shutil
import signal
import sys
import time
import unittest
from pathlib import Path

from case import LONG, PROGRAM, QUICK, STEADY, Cli, own_servers, patience, pids


@own_servers
class Run(Cli):
    """Each test has a run of its own."""

    workers = 2

    def setUp(self):
        super().setUp()
        self.run_process = self.start(*LONG, "--set", f"cluster.workers={self.workers}")
        self.started = self.wait_tasks()


class WithoutFolder(Run):
    """Another program removes the folder of a run."""

    def test_removed_folder_ends_the_run(self):
        """It ends soon, with an error that names the folder, and leaves no process."""
        self.wait_step()
        (self.folder / "run").rename(self.folder / "moved")
        self.assertEqual(self.run_process.wait(patience(60)), 6)
        self.assertTrue(any("was removed while it was in use" in line for line in self.run_process.stderr))
        self.wait_for("no process is left", lambda: not self.processes())


class WithoutChief(Run):
    """A cluster that has no coordinator yet."""

    def test_stop_expires(self):
        """A `stop` that no chief has granted is withdrawn: it does not end the cluster later."""
        job = [QUICK, "--set", "name=lonely"]
        zk = ["--zk", self.started["zookeeper"]["servers"][0]["address"]]
        agent = self.spawn("agent", *job, "--dir", "first", "--tasks", "ps:0", *zk)
        self.wait_for("forming", lambda: "forming" in self.tanist("status", "--cluster", "lonely", *zk).stdout)
        stop = self.tanist("stop", "--cluster", "lonely", "--timeout", "1", *zk)
        self.assertEqual(stop.returncode, 5, stop.stderr)
        self.assertIn("the request was withdrawn", stop.stderr)
        other = self.spawn("agent", *job, "--dir", "second", "--tasks", "coordinator:0", *zk)
        for command in ("pause", "stop"):
            result = self.tanist(command, "--cluster", "lonely", *zk)
            self.assertEqual(result.returncode, 0, result.stderr)
        for process in (agent, other):
            _, log = process.communicate(timeout=patience(120))
            self.assertEqual(process.returncode, 0, log)


@own_servers
class SlowZookeeper(Cli):
    """ZooKeeper does not answer for longer than a command waits for one answer, while the command waits for its effect."""

    silence_s = 4.5

    def wait_in_silence(self, frozen, *command):
        """A node delays the effect; the servers are silent after the first report of the wait. The result of the command."""
        self.freeze(frozen)
        with (self.folder / "waits").open("w") as waits:
            process = self.spawn(*command, *self.target, "--wait", "3", stderr=waits)
        read = lambda: (self.folder / "waits").read_text()
        self.wait_for("a report of the wait", lambda: "still waiting" in read() or process.poll() is not None)
        server = self.wait_server()
        os.kill(server, signal.SIGSTOP)
        time.sleep(self.silence_s)
        ended = process.poll()
        os.kill(server, signal.SIGCONT)
        self.thaw(frozen)
        process.communicate(timeout=patience(120))
        self.assertIsNone(ended, read())
        self.assertEqual(process.returncode, 0, read())
        return read()

    def test_commands_wait_for_their_effect(self):
        run = self.begin(*STEADY, "--set", "model.inputs=96")
        self.wait_in_silence(pids(self.wait_tasks())["ps:0"], "resize", "ps=2")
        self.wait_in_silence(self.wait_tasks()["chief"]["pid"], "pause")
        self.succeeds("resume", *self.target)
        self.assertEqual(self.end(run)["status"], "done")

    def test_a_drain_waits_for_all_nodes(self):
        """It reports that all nodes have left only when they have, or when the agent has ended."""
        run = self.begin(*STEADY)
        host = self.wait_tasks()["tasks"][0]["host"]
        report = self.wait_in_silence(pids(self.wait_tasks())["ps:0"], "drain", "--host", host)
        self.assertIn(f"has not left {host})", report)
        self.assertIn(f"all nodes of {host} have left", report)
        self.assertEqual(run.communicate(timeout=patience(120))[1].count("no step is lost"), 1)
        self.check_no_process_left()


class Signals(Cli):
    """Signals at the start of a run, and those that come after the first one."""

    @own_servers
    def test_a_stopped_start_leaves_no_run(self):
        """At whatever moment of its start a run is stopped, once or twice: its folder may be that of another job."""
        codes, delay_ms = set(), 0
        # On a slow machine until the program has handled one.
        while delay_ms < 80 or (delay_ms < 5000 and not codes & {130, 143}):
            for signals in ((signal.SIGINT,), (signal.SIGTERM, signal.SIGINT)):
                run = self.start(*LONG)
                time.sleep(delay_ms / 1000)
                for number in signals:
                    run.send_signal(number)
                    time.sleep(0.01)
                errors = run.communicate(timeout=patience(120))[1]
                codes.add(run.returncode)
                left = [path.name for path in (self.folder / "run").glob("*")]
                self.assertIn(left, ([], ["zookeeper"]), (delay_ms, errors))
                shutil.rmtree(self.folder / "run", ignore_errors=True)
            delay_ms = delay_ms + 8 if delay_ms < 80 else 2 * delay_ms
        # Before the folder is opened, a signal ends the process.
        self.assertLessEqual(codes, {130, 143, -signal.SIGINT, -signal.SIGTERM})
        self.assertTrue(codes & {130, 143}, codes)

    def test_closed_terminal(self):
        """The terminal that is closed takes the output, but the exit code is that of the signal."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.environ.update(self.environment)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            os.execv(PROGRAM, [PROGRAM, "run", QUICK, "--dir", "run", *LONG, "--quiet"])
        try:
            self.wait_step()
        finally:
            os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 129)
        self.check_no_process_left()


    def test_closed_terminal_under_nohup(self):
        """A run that was started with SIGHUP ignored continues."""
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGHUP, before)
        run = self.start(*LONG)
        self.wait_step()
        run.send_signal(signal.SIGHUP)
        self.wait_step(self.wait_step()["step"] + 100)
        self.assertEqual(self.tanist("stop", "--dir", "run").returncode, 0)
        run.communicate(timeout=patience(120))
        self.assertEqual(run.returncode, 0)


class SilentZookeeper(Run):
    """Each test has a run of 12 workers, whose nodes are killed while ZooKeeper is frozen."""

    workers = 12

    def setUp(self):
        super().setUp()
        self.server = self.wait_server()
        os.kill(self.server, signal.SIGSTOP)
        os.kill(self.run_process.pid, signal.SIGSTOP)  # It sees the deaths and the signals at once.
        for task in self.started["tasks"]:
            os.kill(task["pid"], signal.SIGKILL)
        self.killed = len(self.started["tasks"])

    def ends_after(self, *signals):
        """The agent gets the signals, and ends; returns its exit code and its log."""
        for number in (*signals, signal.SIGCONT):
            self.run_process.send_signal(number)
        log = self.run_process.communicate(timeout=patience(120))[1]
        return self.run_process.returncode, log

    def check_server_gone(self):
        """The agent has killed and reaped its server, although that was frozen."""
        self.assertFalse(Path(f"/proc/{self.server}").exists())

    def test_one_deadline_for_all_sessions(self):
        """The sessions of all dead nodes share one deadline, and those left over are counted."""
        code, log = self.ends_after(signal.SIGTERM)
        self.assertEqual(code, 143, log)
        self.assertIn("did not close all sessions within 3000 ms", log)
        left = int(re.search(r"left to their timeouts count=(\d+)", log).group(1))
        self.assertEqual(left + log.count("not closed (timed out)"), self.killed, log)
        self.assertGreaterEqual(left, self.killed - 3, log)
        self.check_server_gone()

    def test_second_signal_ends_at_once(self):
        """A second signal kills what runs and waits for no session."""
        code, log = self.ends_after(signal.SIGINT, signal.SIGTERM)
        self.assertIn(code, (130, 143), log)  # Both signals wait for it.
        self.assertIn("second signal: all processes are killed", log)
        self.assertNotIn("did not close all sessions", log)
        self.check_server_gone()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
