#!/usr/bin/env python3
"""Sessions: a graph on two servers has the bits of one process; lost servers are named, and come back; servers
that are not needed may be dead; a client that disappears leaves nothing; garbage and too large graphs are refused.

Real processes on loopback; every wait is bounded. TANIST_SESSION: tests/contract/session/main.c.
"""

import json
import os
import re
import signal
import socket
import subprocess
import time
import unittest

from case import PROGRAM, QUICK, ROOT, Cli, patience

CLIENT = os.environ.get("TANIST_SESSION", str(ROOT / "build/bin/session"))
EXAMPLE = os.environ.get("TANIST_SESSION_EXAMPLE", str(ROOT / "build/bin/session_example"))


class Server:
    """`tanist serve`; its log is in the folder of the test."""

    def __init__(self, test, port=0, *options):
        self.test, self.log = test, test.folder / f"serve-{len(list(test.folder.glob('serve-*')))}"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = test.spawn("serve", "--listen", f"127.0.0.1:{port}", *options, stderr=log)
        line = self.process.stdout.readline()
        self.address = re.fullmatch(r"listening on (127\.0\.0\.1:\d+)\n", line).group(1)
        self.port = int(self.address.rsplit(":", 1)[1])

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def wait_for(self, text, count=1):
        """This number of lines of the log contain `text`."""
        self.test.wait_for(f"'{text}' in {self.log.name}", lambda: self.log.read_text().count(text) >= count)


class Session(Cli):
    def servers(self, count=2, *options):
        return [Server(self, 0, *options) for _ in range(count)]

    def client(self, *servers, timeout_ms=0, model=None):
        addresses = ",".join(server.address for server in servers)
        arguments = [CLIENT, addresses, str(timeout_ms)] + ([model] if model else [])
        process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.folder,
                                   stderr=subprocess.PIPE, env=self.environment)
        self.addCleanup(self.kill_and_read, process)
        return process

    @staticmethod
    def ask(client, command):
        client.stdin.write(command + "\n")
        client.stdin.flush()
        return client.stdout.readline().strip()

    def succeeds_with(self, client, command):
        """A server that a busy machine does not run for seconds is lost by its silence: the command is then given again."""
        for _ in range(20):
            answer = self.ask(client, command)
            if "timed out" not in answer and "no answer within" not in answer:
                break
        self.assertRegex(answer, "^ok")
        return answer

    def fails_with(self, client, command, status, *texts):
        answer = self.ask(client, command)
        self.assertTrue(answer.startswith(f"error {status} "), answer)
        for text in texts:
            self.assertIn(text, answer)

    def test_example_has_the_bits(self):
        one, two = self.servers()
        result = subprocess.run([EXAMPLE, f"{one.address},{two.address}"], capture_output=True, text=True, check=False,
                                timeout=patience(120))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.splitlines()[-1], "the bits of one process")

    def test_results_and_values(self):
        """The client compares each result with a run in its own process, also of many chunks and with other values."""
        one, two = self.servers()
        client = self.client(one, two)
        first = self.succeeds_with(client, "run third 5 20")
        self.assertEqual(self.succeeds_with(client, "run third 5"), first)
        self.succeeds_with(client, "run first 16384")
        self.succeeds_with(client, "run third 16384")
        self.succeeds_with(client, "values")
        self.assertNotEqual(self.succeeds_with(client, "run third 5"), first)
        for examples in range(1, 25):  # More plans than a session keeps.
            self.succeeds_with(client, f"run third {examples}")
        self.succeeds_with(client, "run third 5")
        self.fails_with(client, "run none 5", 1, "fetch 'none' is not an output")

    def test_unneeded_servers_may_be_dead(self):
        one, two = self.servers()
        client = self.client(one, two)
        two.kill()
        self.succeeds_with(client, "run first 8")
        self.fails_with(client, "run lone 8", 10, f"server {two.address} (/job:worker/task:1) cannot be reached",
                        f"tanist serve --listen {two.address}")
        self.succeeds_with(client, "run first 8")

    def test_unknown_host_is_named(self):
        client = subprocess.Popen([CLIENT, "no-host:4000,127.0.0.1:1", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.PIPE, cwd=self.folder, env=self.environment)
        self.addCleanup(self.kill_and_read, client)
        self.fails_with(client, "run first 8", 10, "server no-host:4000", "cannot resolve its name")

    def test_lost_server_is_named_and_comes_back(self):
        """SIGKILL in the middle of runs; the same digest once it was started again."""
        one, two = self.servers()
        client = self.client(one, two)
        digest = self.succeeds_with(client, "run third 64")
        for lost in (0, 1):
            client.stdin.write("run third 64 100000000\n")
            client.stdin.flush()
            time.sleep(0.3)
            server = (one, two)[lost]
            server.kill()
            answer = client.stdout.readline()
            self.assertNotIn("timed out", answer)  # It is noticed before its silence.
            self.assertRegex(answer, f"^error 1[01] .*server {server.address} \\(/job:worker/task:{lost}\\)")
            again = Server(self, server.port)
            one, two = (again, two) if lost == 0 else (one, again)
            self.assertEqual(self.succeeds_with(client, "run third 64"), digest)

    def test_frozen_server_is_named(self):
        """Silence for four heartbeats is a loss."""
        one, two = self.servers()
        client = self.client(one, two)
        digest = self.succeeds_with(client, "run third 64")
        two.process.send_signal(signal.SIGSTOP)
        self.fails_with(client, "run third 64", 11, two.address)
        two.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.succeeds_with(client, "run third 64"), digest)

    def test_time_limit_names_the_servers(self):
        one, two = self.servers()
        client = self.client(one, two, timeout_ms=700)
        self.succeeds_with(client, "run third 4")
        two.process.send_signal(signal.SIGSTOP)
        self.fails_with(client, "run third 4", 12, "no answer within 700 ms", two.address)
        two.process.send_signal(signal.SIGCONT)
        self.succeeds_with(client, "run lone 4")

    def test_clients_share_servers_and_leave_nothing(self):
        one, two = self.servers()
        clients = [self.client(one, two) for _ in range(4)]
        digests = {self.succeeds_with(client, "run third 32 20") for client in clients}
        self.assertEqual(len(digests), 1)
        for client in clients[:3]:
            client.kill()
            client.wait()
        self.assertEqual({self.succeeds_with(clients[3], "run third 32")}, digests)
        for server in (one, two):
            server.wait_for("session closed", 3)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(patience(120)), 0)
            self.assertIn("leaving on request sessions=1 plans=1", server.log.read_text())

    def test_garbage_is_refused(self):
        one, two = self.servers()
        client = self.client(one, two)
        digest = self.succeeds_with(client, "run third 8")
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096), b"TNST" + bytes(200)):
            with socket.create_connection(("127.0.0.1", one.port), timeout=patience(120)) as stream:
                stream.sendall(garbage)
                try:
                    self.assertEqual(stream.recv(1 << 16), b"")
                except ConnectionResetError:
                    pass
        self.assertEqual(self.succeeds_with(client, "run third 8"), digest)

    def test_memory_is_limited(self):
        """The error names the server, whichever of the two refuses first; a smaller run works."""
        one, two = self.servers(2, "--memory", "2")
        client = self.client(one, two)
        self.fails_with(client, "run third 16384", 5, "server 127.0.0.1:", "(/job:worker/task:", "--memory")
        self.succeeds_with(client, "run third 16")

    def test_a_trained_model(self):
        """Values of a run's checkpoint: the predictions of `tanist predict`."""
        one, two = self.servers()
        for name in ("run", "other"):
            self.succeeds("run", "--local", QUICK, "--dir", name, "--set", "model.inputs=16", "--set", "train.steps=200",
                          "--set", f"seed={len(name)}", "--quiet")
        rows = [[i % 101 for i in range(n * 16 * 37, (n + 1) * 16 * 37, 37)] for n in range(6)]
        inputs = "".join(",".join(repr(value / 101 - 0.5) for value in row) + "\n" for row in rows)
        (self.folder / "rows.csv").write_text(inputs)
        client = self.client(one, two, model="linear")
        before = self.succeeds_with(client, "print outputs 6")
        for name in ("run", "other"):
            self.succeeds_with(client, f"restore {name}")
            answer = self.succeeds_with(client, "print outputs 6")
            predicted = self.succeeds("predict", name, "--data", "rows.csv", "-o", "json").splitlines()
            self.assertNotEqual(answer, before)
            for ours, theirs in zip(answer.split()[1:], predicted, strict=True):
                self.assertAlmostEqual(float(ours), json.loads(theirs)["outputs"][0], places=5)
        self.fails_with(client, "restore nowhere", 1, "nowhere is not the folder of a run")
        self.assertEqual(self.succeeds_with(client, "print outputs 6"), answer)
        self.fails_with(self.client(one, two), "restore run", 1, "variable 'first/weights' is not in the model")

    def test_one_server_twice(self):
        """Two names of one server are noticed there."""
        one, _ = self.servers()
        other = Server(self, 0)
        other.address = f"localhost:{one.port}"
        client = self.client(one, other)
        self.fails_with(client, "run third 4", 1, "the server is in the session twice")

    def test_options_are_checked(self):
        self.refused(3, ["--listen is missing"], "serve")
        self.refused(128, ["--memory is \"0\"", "from 1 to"], "serve", "--listen", "127.0.0.1:0", "--memory", "0")
        one = Server(self)
        result = subprocess.run([PROGRAM, "serve", "--listen", one.address], capture_output=True, text=True, check=False,
                                timeout=patience(120))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(one.address, result.stderr)
        for servers, text in (("nowhere", "give addresses as HOST:PORT"), ("a:1,a:1", "is given twice"),
                              ("a:1,", "give addresses as HOST:PORT"), ("a:65536", "give addresses as HOST:PORT"),
                              ("a:1", "cannot be placed on '/job:worker/task:1': there is only one task")):
            result = subprocess.run([CLIENT, servers], capture_output=True, text=True, check=False, input="",
                                    timeout=patience(120))
            self.assertIn(text, result.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
