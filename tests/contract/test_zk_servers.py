#!/usr/bin/env python3
"""`tanist zk`: the servers of an ensemble are started, reported and stopped.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import json
import socket
import unittest

from case import QUICK, ROOT, Cli


class ZkServers(Cli):
    """`tanist zk` with servers of an ensemble of three."""

    def files(self):
        """A zoo.cfg for each of three servers, on free ports."""
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(9)]
        ports = [taken.getsockname()[1] for taken in sockets]
        for taken in sockets:
            taken.close()
        servers = "".join(f"server.{i + 1}=127.0.0.1:{ports[3 * i]}:{ports[3 * i + 1]}\n" for i in range(3))
        names = []
        for i in range(3):
            folder = self.folder / f"zk{i + 1}"
            folder.mkdir()
            (folder / "myid").write_text(f"{i + 1}\n")
            names.append(f"zoo{i + 1}.cfg")
            (self.folder / names[i]).write_text(
                f"tickTime=500\ninitLimit=10\nsyncLimit=4\ndataDir={folder}\nadmin.enableServer=false\n"
                f"4lw.commands.whitelist=srvr,ruok,mntr\nclientPort={ports[3 * i + 2]}\n{servers}")
        return names

    def test_missing_chroot_is_created(self):
        """On an ensemble of `zk start`, whose root is open, a run creates the chroot of --zk."""
        name = self.alone()
        config = (self.folder / name).read_text()
        started = self.tanist("zk", "start", "--quiet", "--heap", "64", name)
        self.assertEqual(started.returncode, 0, started.stderr)
        port = config.split("clientPort=")[1].split()[0]
        result = self.tanist("run", QUICK, "--dir", "below", "--zk", f"127.0.0.1:{port}/one/two",
                             "--set", "train.steps=20")
        self.assertEqual(result.returncode, 0, result.stderr)
        status = json.loads(self.succeeds("status", "--dir", "below", "-o", "json"))
        self.assertEqual(status["zookeeper"]["servers"],
                         [{"address": f"127.0.0.1:{port}", "pid": None, "mode": "standalone"}])
        stopped = self.tanist("zk", "stop", name)
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        self.check_no_process_left()

    def test_wait_ends_in_the_foreground(self):
        """A server without a quorum is stopped when --wait is over: exit code 5."""
        name = self.files()[0]
        result = self.tanist("zk", "start", "--foreground", "--wait", "2", "--heap", "64", name)
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("0 of 1 servers serve after 2 s; stopping them", result.stderr)
        self.check_no_process_left()

    def test_stop_reports_each(self):
        """`zk stop` reports each file: stopped, not running, or not readable."""
        names = self.files()
        started = self.tanist("zk", "start", "--quiet", "--heap", "64", *names[:2])
        self.assertEqual((started.returncode, started.stdout, started.stderr), (0, "", ""))
        stopped = self.tanist("zk", "stop", "nowhere.cfg", *names)
        self.assertEqual(stopped.returncode, 3, stopped.stderr)
        lines = stopped.stderr.splitlines()
        self.assertEqual(len(lines), 4, stopped.stderr)
        for line, text in zip(lines, ("nowhere.cfg", "stopped", "stopped", "is not running")):
            self.assertIn(text, line)
        for i in range(3):
            self.assertIn(f"server {i + 1} ", lines[i + 1])
        self.check_no_process_left()

    def test_taken_port(self):
        """A port that another program has, for clients or elections, and an address of another host are refused before
        any server starts: exit code 3, with the file, the value and the remedy."""
        names = self.files()
        config = (self.folder / names[1]).read_text()
        port = config.split("clientPort=")[1].split()[0]
        election = config.split("server.2=127.0.0.1:")[1].split()[0].split(":")[1]
        for taken, key in ((port, "clientPort is"), (election, "server.2 for elections is")):
            with socket.create_server(("127.0.0.1", int(taken))):
                self.refused(3, [names[1], key, taken, "give another port"], "zk", "start", *names)
        (self.folder / names[2]).write_text((self.folder / names[2]).read_text() + "clientPortAddress=240.0.0.1\n")
        self.refused(3, [names[2], "240.0.0.1", "clientPortAddress"], "zk", "start", *names)
        self.check_no_process_left()

    def test_running_server_in_the_foreground(self):
        """A server that runs in the background is not started again in the foreground: exit code 3."""
        name = self.alone()
        started = json.loads(self.succeeds("zk", "start", "--heap", "64", name, "-o", "json"))
        server = started["servers"][0]
        self.assertEqual((started["connect"], server["id"], server["config"]),
                         (server["address"], None, str(self.folder / name)))
        self.refused(3, [f"(pid {server['pid']})", "tanist zk stop"], "zk", "start", "--foreground", name)
        stopped = json.loads(self.succeeds("zk", "stop", name, "-o", "json"))
        self.assertEqual(stopped["servers"], [dict(server, stopped=True)])
        stopped = json.loads(self.succeeds("zk", "stop", name, "-o", "json"))
        self.assertEqual(stopped["servers"], [dict(server, pid=None, stopped=True)])
        self.check_no_process_left()

    def test_one_file_for_all_hosts(self):
        """In a file without clientPort, the server line with an address of this host is that of its server. 240.0.0.0/4
        is that of no host."""
        self.files()
        port = (self.folder / "zoo1.cfg").read_text().split("clientPort=")[1].split()[0]
        config = (ROOT / "deploy/zookeeper/three-hosts.cfg").read_text().replace("10.0.0.", "240.0.0.").replace(
            "/var/lib/tanist-zookeeper", str(self.folder))
        (self.folder / "other.cfg").write_text(config)
        self.refused(3, ["other.cfg", "myid", "an address of its host"], "zk", "status", "other.cfg")
        config = config.replace("240.0.0.2:2181", f"127.0.0.1:{port}").replace("240.0.0.2", "127.0.0.1")
        (self.folder / "same.cfg").write_text(config)
        result = self.tanist("zk", "status", "same.cfg", "-o", "json")
        self.assertEqual(result.returncode, 5, result.stderr)
        server = json.loads(result.stdout)["servers"][0]
        self.assertEqual((server["id"], server["address"], server["mode"]), (2, f"127.0.0.1:{port}", "down"))

    def alone(self):
        """The zoo.cfg of a standalone server."""
        name = self.files()[0]
        config = (self.folder / name).read_text()
        (self.folder / name).write_text("".join(f"{line}\n" for line in config.splitlines()
                                                if not line.startswith("server.")))
        return name


if __name__ == "__main__":
    unittest.main(verbosity=2)
