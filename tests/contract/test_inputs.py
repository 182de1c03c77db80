#!/usr/bin/env python3
"""Workers whose arithmetic or data differ from those of the run are refused, also after --resume.

Real processes, a real ensemble of one server. OPENBLAS_CORETYPE makes one machine compute as two
types of processor do, with `train.kernels=openblas`; Nehalem and Sandybridge run on every x86-64 machine of today.
"""

import json
import struct
import subprocess
import sys
import unittest

from case import LONG, QUICK, Cli, own_servers, patience

ONE, OTHER = "Nehalem", "Sandybridge"
OPENBLAS = ["--set", "train.kernels=openblas"]
SMALL = ["--set", "model.type=softmax", "--set", "model.inputs=4", "--set", "model.outputs=2",
         "--set", "data.type=idx"]


class Inputs(Cli):
    def ensemble(self):
        """The ZooKeeper of a run that continues, for clusters of agents."""
        self.begin()
        return self.zookeeper_of_run()

    def agent(self, zookeeper, name, tasks, core, *options):
        """An agent of the cluster `name` on a host whose processor is `core`."""
        return self.spawn("agent", QUICK, "--set", f"name={name}", "--dir", f"{name}.{tasks.split(',')[-1]}", "--tasks",
                          tasks, "--zk", zookeeper, *LONG, *OPENBLAS, *options, stdout=subprocess.DEVNULL,
                          env={"OPENBLAS_CORETYPE": core})

    def wait_running(self, zookeeper, name, least=1):
        return self.wait_step(least, ["--zk", zookeeper, "--cluster", name])

    def stop(self, zookeeper, name, agent):
        self.succeeds("stop", "--zk", zookeeper, "--cluster", name)
        _, errors = agent.communicate(timeout=patience(120))
        self.assertEqual(agent.returncode, 0, errors)

    def refusal(self, agent, *expected):
        _, errors = agent.communicate(timeout=patience(120))
        self.assertEqual(agent.returncode, 3, errors)
        for text in ("worker:1 cannot run", "refused", "worker:0", *expected):
            self.assertIn(text, errors)

    def test_worker_with_other_kernels(self):
        """It exits with 3 and both fingerprints; the run continues, also with the next worker:1."""
        zookeeper = self.ensemble()
        first = self.agent(zookeeper, "bits", "coordinator:0,ps:0,worker:0", ONE)
        status = self.wait_running(zookeeper, "bits")
        self.assertIn(ONE, status["fingerprint"])
        self.refusal(self.agent(zookeeper, "bits", "worker:1", OTHER), f"kernels for {ONE}",
                     f"kernels for {OTHER}", f"OPENBLAS_CORETYPE={ONE}", "train.same_bits=false")
        same = self.agent(zookeeper, "bits", "worker:1", ONE)
        self.wait_running(zookeeper, "bits", status["step"] + 1)
        self.stop(zookeeper, "bits", first)
        self.assertIsNotNone(same.communicate(timeout=patience(120)))
        self.assertEqual(same.returncode, 0)

    def test_mixture_is_permitted_on_request(self):
        zookeeper = self.ensemble()
        mixed = ["--set", "train.same_bits=false", "--set", "cluster.min_workers=2"]
        first = self.agent(zookeeper, "mixed", "coordinator:0,ps:0,worker:0", ONE, *mixed)
        second = self.agent(zookeeper, "mixed", "worker:1", OTHER, *mixed)
        self.wait_running(zookeeper, "mixed")
        self.stop(zookeeper, "mixed", first)
        second.communicate(timeout=patience(120))
        self.assertEqual(second.returncode, 0)

    def write_data(self, pixel):
        folder = self.folder / "data"
        folder.mkdir(exist_ok=True)
        for name in ("train", "t10k"):
            pixels = bytes(i % 251 for i in range(64 * 4 - 1)) + bytes([pixel])
            (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, 64, 2, 2) + pixels)
            (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, 64) + bytes([0, 1] * 32))
        return ["--set", f"data.path={folder}", *SMALL]

    def test_worker_with_other_data(self):
        """One pixel differs at the same path: the worker exits with 3 and both digests."""
        zookeeper = self.ensemble()
        data = self.write_data(7)
        first = self.agent(zookeeper, "data", "coordinator:0,ps:0,worker:0", ONE, *data)
        status = self.wait_running(zookeeper, "data")
        self.write_data(8)
        self.refusal(self.agent(zookeeper, "data", "worker:1", ONE, *data), status["data_digest"],
                     str(self.folder / "data"))
        self.stop(zookeeper, "data", first)

    def resume(self, core, *options):
        return self.tanist("run", QUICK, "--dir", "run", "--resume", "-o", "json", *OPENBLAS, *options,
                           env={"OPENBLAS_CORETYPE": core})

    def test_resume_with_other_kernels(self):
        """Also when only the disk remembers the run."""
        first = self.tanist("run", QUICK, "--dir", "run", *OPENBLAS, env={"OPENBLAS_CORETYPE": ONE})
        self.assertEqual(first.returncode, 0, first.stderr)
        more = ["--set", "train.steps=400"]
        for source in ("worker:", "from checkpoint"):
            again = self.resume(OTHER, *more)
            self.assertEqual(again.returncode, 3, again.stderr)
            for text in (f"kernels for {ONE}", f"kernels for {OTHER}", source):
                self.assertIn(text, again.stderr)
            subprocess.run(["rm", "-rf", self.folder / "run/zookeeper"], check=True)
        permitted = self.resume(OTHER, "--set", "train.same_bits=false", *more)
        self.assertEqual(permitted.returncode, 0, permitted.stderr)
        self.assertEqual(json.loads(permitted.stdout)["steps"], 400)

    @own_servers
    def test_resume_of_a_checkpoint_of_openblas(self):
        """The checkpoint on the disk decides, also if the folder's job has other kernels; the remedy names them."""
        first = self.tanist("run", QUICK, "--dir", "run", *OPENBLAS)
        self.assertEqual(first.returncode, 0, first.stderr)
        subprocess.run(["rm", "-rf", self.folder / "run/zookeeper"], check=True)
        job = self.folder / "run/job.json"
        job.write_text(job.read_text().replace("openblas", "portable"))
        again = self.tanist("run", QUICK, "--dir", "run", "--resume", "--set", "train.steps=400")
        self.assertEqual(again.returncode, 3, again.stderr)
        for text in ("portable: version", "kernels for", "set train.kernels=openblas", "from checkpoint"):
            self.assertIn(text, again.stderr)

    def test_resume_with_other_data(self):
        data = self.write_data(7)
        first = self.tanist("run", QUICK, "--dir", "run", *OPENBLAS, *data)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.write_data(8)
        again = self.resume(ONE, "--set", "train.steps=400", "--set", "train.same_bits=false", *data)
        self.assertEqual(again.returncode, 3, again.stderr)
        self.assertIn("have the digest", again.stderr)
        self.write_data(7)
        again = self.resume(ONE, "--set", "train.steps=400", "--set", "train.same_bits=false", *data)
        self.assertEqual(again.returncode, 0, again.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
