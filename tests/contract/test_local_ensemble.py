#!/usr/bin/env python3
"""Limits on other programs that use the ensemble of `tanist run`: permissions of znodes, number of connections.

A real run; every wait is bounded. TANIST_PROGRAM: the program. TANIST_ZNODE: a client that changes znodes.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
import unittest

from test_cli import LONG, Cli

ZNODE = os.environ.get("TANIST_ZNODE", "build/bin/znode")
OUTSIDE = ("/other", "/zookeeper/other", "/zookeeper/quota/other")
DENIED = "not authenticated"
# Requests to ZooKeeper: a length, then a session of 60 s; the number and the type of a ping.
OPEN_SESSION = struct.pack(">iiqiqi16s", 44, 0, 0, 60000, 0, 16, b"")
PING = struct.pack(">iii", 8, -2, 11)


class LocalEnsemble(Cli):
    def begin(self, *options):
        run = self.start(*LONG, "--set", "checkpoint.every_steps=100", "--set", "zookeeper.session_timeout_ms=1000",
                         *options)
        self.addCleanup(run.kill)
        self.wait_step()
        return run

    def end(self, run):
        """The run is stopped and ends in good order."""
        stop = self.tanist("stop", "--dir", "run")
        self.assertEqual(stop.returncode, 0, stop.stderr)
        _, errors = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, errors)

    def znode(self, command, path):
        """The error of ZooKeeper, "" for none."""
        note = json.loads((self.folder / "run/run.json").read_text())
        result = subprocess.run([ZNODE, note["zookeeper"], command, path], capture_output=True, text=True, timeout=30,
                                check=False, cwd=self.folder, env=self.environment)
        return result.stderr if result.returncode != 0 else ""

    def check_closed(self):
        for path in OUTSIDE:
            self.assertIn(DENIED, self.znode("create", path), path)
        for path in ("/", "/zookeeper", "/zookeeper/quota"):
            self.assertIn(DENIED, self.znode("open", path), path)
        self.znode("delete", "/tanist/quick/history")
        self.assertEqual(self.znode("list", "/tanist"), "")

    def wait_for(self, what, condition, limit_s=60):
        end = time.monotonic() + limit_s
        while not condition():
            self.assertLess(time.monotonic(), end, f"not within {limit_s} s: {what}")
            time.sleep(0.05)

    def committed(self):
        result = self.tanist("status", "--dir", "run", "-o", "json")
        return json.loads(result.stdout)["checkpoint"]["id"] if result.returncode == 0 else 0

    def check_it_continues(self):
        """Another checkpoint is committed from here on."""
        before = self.committed()
        self.wait_for("another checkpoint", lambda: self.committed() > before)

    def server(self):
        """The process id of the ZooKeeper server."""
        return next(pid for pid in self.processes()
                    if b"QuorumPeerMain" in (self.read(f"/proc/{pid}/cmdline") or b""))

    @staticmethod
    def read(path):
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError:
            return None

    def wipe(self, run):
        """The server is killed and loses its data. The agent is frozen meanwhile: it would restart it before."""
        server = self.server()
        os.kill(run.pid, signal.SIGSTOP)
        os.kill(server, signal.SIGKILL)
        self.wait_for("the end of the server", lambda: not self.read(f"/proc/{server}/cmdline"))
        shutil.rmtree(self.folder / "run/zookeeper/1/data/version-2")
        os.kill(run.pid, signal.SIGCONT)

    def check_root(self, *options):
        """The root is closed while the cluster runs, after a resume, and after the ensemble lost its data."""
        run = self.begin(*options)
        self.check_closed()
        self.check_it_continues()
        self.end(run)
        run = self.begin("--resume", *options)
        self.check_closed()
        before = self.committed()
        self.wipe(run)
        self.wait_for("a checkpoint after the wipe", lambda: self.committed() > before)
        self.check_closed()
        self.end(run)

    def test_root_is_closed(self):
        """A plain client cannot create znodes outside the cluster, nor change that; the run, `--resume` and the
        restoring of a wiped ensemble work."""
        self.check_root()

    def test_root_is_closed_with_credentials(self):
        """The same with credentials; then the znodes of the cluster cannot be read, either."""
        self.environment["TANIST_ZK_CREDENTIALS"] = "tanist:secret"
        run = self.begin()
        for path in OUTSIDE:
            self.assertIn(DENIED, self.znode("create", path), path)
        self.assertIn(DENIED, self.znode("list", "/tanist"))
        before = self.committed()
        self.wipe(run)
        self.wait_for("a checkpoint after the wipe", lambda: self.committed() > before)
        self.assertIn(DENIED, self.znode("create", "/other"))
        self.end(run)

    def test_connections_are_limited(self):
        """A server accepts three connections for each task and 200 more; it closes the surplus, and the run
        continues."""
        run = self.begin()
        tasks = len(self.wait_step()["tasks"])
        limit = int(re.search(r"^maxClientCnxns=(\d+)$", (self.folder / "run/zookeeper/1/zoo.cfg").read_text(),
                              re.MULTILINE).group(1))
        self.assertEqual(limit, 3 * tasks + 200)
        host, port = json.loads((self.folder / "run/run.json").read_text())["zookeeper"].split(":")
        with contextlib.ExitStack() as stack:
            clients = []
            while len(clients) <= limit and (client := self.open_session(host, int(port), stack)) is not None:
                clients.append(client)
                if len(clients) % 20 == 0:
                    for client in clients:
                        client.sendall(PING)
            self.assertLessEqual(len(clients), limit)
            self.assertGreater(len(clients), 100)
        self.check_it_continues()
        self.end(run)

    @staticmethod
    def open_session(host, port, stack):
        """A connection with a session; None: the server closed it instead."""
        try:
            client = stack.enter_context(socket.create_connection((host, port), timeout=30))
            client.sendall(OPEN_SESSION)
            return client if client.recv(1) else None
        except (BrokenPipeError, ConnectionResetError):
            return None


if __name__ == "__main__":
    unittest.main()
