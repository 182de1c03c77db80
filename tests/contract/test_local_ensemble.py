#!/usr/bin/env python3
"""Limits on other programs that use the ensemble of `tanist run`: permissions of znodes, number of connections.

A real run; every wait is bounded. TANIST_PROGRAM: the program. TANIST_ZNODE: a client that changes znodes.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import struct
import unittest

from case import Cli, own_servers

OUTSIDE = ("/other", "/zookeeper/other", "/zookeeper/quota/other")
DENIED = "not authenticated"
# Requests to ZooKeeper: a length, then a session of 60 s; the number and the type of a ping.
OPEN_SESSION = struct.pack(">iiqiqi16s", 44, 0, 0, 60000, 0, 16, b"")
PING = struct.pack(">iii", 8, -2, 11)


@own_servers
class LocalEnsemble(Cli):
    def begin(self, *options):
        return super().begin("--set", "checkpoint.every_steps=100", "--set", "zookeeper.session_timeout_ms=1000",
                             *options)

    def error_of(self, command, path):
        """The error of ZooKeeper, "" for none."""
        result = self.znode(command, path)
        return result.stderr if result.returncode != 0 else ""

    def check_closed(self):
        for path in OUTSIDE:
            self.assertIn(DENIED, self.error_of("create", path), path)
        for path in ("/", "/zookeeper", "/zookeeper/quota"):
            self.assertIn(DENIED, self.error_of("open", path), path)
        self.error_of("delete", "/tanist/quick/history")
        self.assertEqual(self.error_of("list", "/tanist"), "")

    def server(self):
        """The process id of the ZooKeeper server."""
        return next(pid for pid in self.processes()
                    if any(b"QuorumPeerMain" in word for word in self.command_line(pid)))

    def wipe(self, run):
        """The server is killed and loses its data. The agent is frozen meanwhile: it would restart it before."""
        server = self.server()
        os.kill(run.pid, signal.SIGSTOP)
        os.kill(server, signal.SIGKILL)
        self.wait_for("the end of the server", lambda: not self.command_line(server))
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
        before = self.newest_checkpoint()
        self.wipe(run)
        self.wait_for("a checkpoint after the wipe", lambda: self.newest_checkpoint() > before)
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
            self.assertIn(DENIED, self.error_of("create", path), path)
        self.assertIn(DENIED, self.error_of("list", "/tanist"))
        before = self.newest_checkpoint()
        self.wipe(run)
        self.wait_for("a checkpoint after the wipe", lambda: self.newest_checkpoint() > before)
        self.assertIn(DENIED, self.error_of("create", "/other"))
        self.end(run)

    def test_connections_are_limited(self):
        """A server accepts three connections for each task and 200 more; it closes the surplus, and the run
        continues."""
        run = self.begin()
        tasks = len(self.wait_step()["tasks"])
        limit = int(re.search(r"^maxClientCnxns=(\d+)$", (self.folder / "run/zookeeper/1/zoo.cfg").read_text(),
                              re.MULTILINE).group(1))
        self.assertEqual(limit, 3 * tasks + 200)
        host, port = self.zookeeper_of_run().split(":")
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
            client = stack.enter_context(socket.create_connection((host, port), timeout=120))
            client.sendall(OPEN_SESSION)
            return client if client.recv(1) else None
        except (BrokenPipeError, ConnectionResetError):
            return None


if __name__ == "__main__":
    unittest.main()
