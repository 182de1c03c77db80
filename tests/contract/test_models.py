#!/usr/bin/env python3
"""Models in C: the programs of examples/c, built out of the tree, train alone, on a cluster and as single nodes, with
one digest, and so do they as libraries; a run whose loss is not finite ends.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program of the build that is installed.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import unittest

from installed import build_project, install, option, run
from case import PROGRAM, QUICK, ROOT, Cli, patience

SERVERS = ["--set", "zookeeper.servers=1"]
NO_FILES = ["--set", "data.type=synthetic", "--set", "data.examples=1024", "--set", "data.test_examples=256"]


def setUpModule():
    """Once for all classes."""
    unittest.addModuleCleanup(Installed.doClassCleanups)
    install(Installed)
    Installed.build = Installed.folder / "examples"
    build_project(ROOT / "examples/c", Installed.build, Installed.prefix)


class Installed(Cli):
    """`build`: the examples, built with the installed library."""

    def call(self, program, *arguments, **environment):
        return subprocess.run([program, *arguments], capture_output=True, text=True,
                              timeout=patience(120), cwd=self.folder,
                              env=dict(self.environment, **environment), check=False)

    def output_of(self, program, *arguments, **environment):
        called = self.call(program, *arguments, "-o", "json", **environment)
        self.assertEqual(called.returncode, 0, called.stderr)
        return json.loads(called.stdout)

    def digest(self, *arguments):
        result = self.output_of(*arguments)
        self.assertEqual(result["status"], "done")
        return result["parameters_digest"]


class Programs(Installed):
    def test_line_alone_and_on_a_cluster(self):
        alone = self.output_of(self.build / "linear")
        self.assertGreater(alone["accuracy"], 0.9)
        self.assertTrue((self.folder / "runs/line/job.json").exists())
        cluster = self.digest(self.build / "linear", "run", *SERVERS, "--dir", "cluster")
        self.assertEqual(cluster, alone["parameters_digest"])

    def test_network_is_that_of_the_job_file(self):
        """The same graph in C and as layers: one hash, one digest."""
        job = str(ROOT / "examples/cnn.json")
        small = [*NO_FILES, "--set", "train.steps=6", "--set", "train.batch=32"]
        hashes = {self.output_of(self.build / "cnn", "graph")["hash"], self.output_of(PROGRAM, "graph", job)["hash"]}
        self.assertEqual(len(hashes), 1)
        digests = {self.digest(self.build / "cnn", *small, "--dir", "alone"),
                   self.digest(self.build / "cnn", "run", *SERVERS, *small, "--dir", "cluster"),
                   self.digest(PROGRAM, "run", "--local", job, *small, "--dir", "layers")}
        self.assertEqual(len(digests), 1)

    def test_guide_has_the_programs(self):
        """Every C text of the guide is in an example; the first is a whole one, without its first comment."""
        guide = [part.split("```")[0] for part in (ROOT / "docs/models.md").read_text().split("```c\n")[1:]]
        self.assertEqual(guide[0], (ROOT / "examples/c/linear.c").read_text().split("*/\n", 1)[1])
        sources = [path.read_text() for path in (ROOT / "examples/c").glob("*.c")]
        for text in guide:
            self.assertTrue(any(text in source for source in sources), text)

    def test_a_loss_of_ones_own(self):
        """Its gradients are slopes, and it trains to the same parameters alone and on a cluster."""
        checked = self.call(self.build / "quantile", "check")
        self.assertEqual(checked.returncode, 0, checked.stdout)
        self.assertLess(float(checked.stdout.split()[3]), 1e-4)
        few = ["--set", "train.steps=50", "--set", "evaluate.every_steps=25"]
        alone = self.output_of(self.build / "quantile", *few, "--dir", "alone")
        cluster = self.output_of(self.build / "quantile", "run", *SERVERS, *few, "--dir", "cluster")
        self.assertEqual(cluster["parameters_digest"], alone["parameters_digest"])
        self.check_metrics(alone)
        self.assertEqual(cluster["evaluations"], alone["evaluations"])
        watched = self.call(self.build / "quantile", "watch", "--history", "--dir", "cluster", "-o", "jsonl").stdout
        events = [json.loads(line) for line in watched.splitlines()]
        self.assertEqual([event["metrics"] for event in events if event["event"] == "evaluated"],
                         [evaluation["metrics"] for evaluation in alone["evaluations"]])

    def check_metrics(self, result):
        """The model's own metric, and those of all models of numbers, by their names."""
        self.assertEqual([evaluation["step"] for evaluation in result["evaluations"]], [25, 50])
        self.assertEqual(sorted(result["metrics"]), ["distance", "mae", "r2", "rmse"])
        self.assertEqual(result["metrics"], result["evaluations"][-1]["metrics"])
        self.assertAlmostEqual(result["metrics"]["distance"], result["metrics"]["mae"], places=6)
        lines = [json.loads(line) for line in (self.folder / "alone/metrics.jsonl").read_text().splitlines()]
        self.assertEqual([line["step"] for line in lines if "distance" in line], [25, 50])

    def test_an_operation_of_ones_own(self):
        """Its kernels have right gradients, and train to the same parameters alone and on a cluster."""
        checked = self.call(self.build / "bell", "check")
        self.assertEqual(checked.returncode, 0, checked.stdout)
        self.assertLess(float(checked.stdout.split()[3]), 1e-7)
        self.assertIn("custom", self.call(self.build / "bell", "graph").stdout)
        self.assertEqual(self.digest(self.build / "bell", "--dir", "alone"),
                         self.digest(self.build / "bell", "run", *SERVERS, "--dir", "cluster"))

    def test_job_file_replaces_defaults(self):
        job = self.job(json.dumps({"name": "other", "train": {"steps": 20}}))
        self.output_of(self.build / "linear", "run", "--local", job, "--set", "seed=5")
        kept = json.loads((self.folder / "runs/other/job.json").read_text())
        self.assertEqual((kept["seed"], kept["train"]["steps"], kept["train"]["batch"]), (5, 20, 32))
        self.assertEqual(kept["model"]["type"], "program")

    def test_commands_are_those_of_tanist(self):
        def listed(program):
            return self.call(program, "help").stdout
        self.assertIn("checkpoints", listed(self.build / "linear"))
        self.assertEqual(listed(self.build / "linear"), listed(PROGRAM))
        faults = self.call(self.build / "linear", "chaos", "list").stdout
        self.assertIn("SUPPORTED", faults)
        self.assertEqual(faults, self.call(PROGRAM, "chaos", "list").stdout)

    def test_refusals(self):
        called = self.call(self.build / "linear", "run", QUICK)
        self.assertEqual(called.returncode, 3, called.stderr)
        self.assertIn('model.type is "linear", but this program brings a model of its own', called.stderr)
        self.refused(3, ["this program has no model of its own"], "run", QUICK, "--set", "model.type=program", "--set",
                     "model.outputs=2")


LINE = {
    "name": "line",
    "model": {"type": "library", "path": "line.so", "inputs": 8, "outputs": 1, "loss": "squared_error"},
    "data": {"type": "synthetic", "examples": 1024, "test_examples": 256},
    "train": {"steps": 300, "batch": 32, "learning_rate": 0.05},
    "checkpoint": {"every_steps": 100},
    "cluster": {"coordinators": 1, "ps": 1, "workers": 2, "min_workers": 2},
    "zookeeper": {"servers": 1},
}


BELL = {
    "name": "bell",
    "model": {"type": "library", "path": "bell.so", "inputs": 8, "outputs": 3},
    "data": {"type": "synthetic", "examples": 1024, "test_examples": 256},
    "train": {"steps": 300, "batch": 32, "learning_rate": 0.2},
    "checkpoint": {"every_steps": 100},
}


class Libraries(Installed):
    """The same models as libraries that `tanist` loads."""

    def compile(self, name, source, compiler=None, flags=("-O1",)):
        """Without libtanist: its functions are those of the program."""
        path = self.folder / name
        path.write_text(source)
        library = path.with_suffix(".so")
        run(compiler or option("CMAKE_C_COMPILER"), "-shared", "-fPIC", "-Wall", "-Werror", *flags,
            f"-I{self.prefix}/include", f"-I{ROOT}/examples/c", path, "-o", library)
        return str(library)

    def line(self, name="line.c", compiler=None, **changes):
        source = (ROOT / "examples/c/linear.c").read_text()
        for old, new in changes.items():
            self.assertIn(old, source)
            source = source.replace(old, new)
        return self.compile(name, source, compiler)

    def refused_library(self, path, *expected, options=()):
        job = self.job(json.dumps(LINE))
        self.refused(3, ["model.path", *expected], "run", "--local", job, "--set", f"model.path={path}", *options)

    def test_library_trains_as_the_program_does(self):
        alone = self.digest(self.build / "linear")
        job = self.job(json.dumps(LINE))
        path = ["--set", f"model.path={self.build / 'linear.so'}"]
        self.assertEqual(self.digest(PROGRAM, "run", "--local", job, *path, "--dir", "local"), alone)
        self.assertEqual(self.digest(PROGRAM, "run", job, *path, "--dir", "cluster"), alone)

    def agent(self, zookeeper, job, library, tasks):
        process = subprocess.Popen(
            [PROGRAM, "agent", job, "--zk", zookeeper, "--tasks", tasks, "--dir",
             tasks.split(",", maxsplit=1)[0], "--set", f"model.path={library}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=self.folder, env=self.environment)
        self.addCleanup(self.kill_and_read, process)
        return process

    def test_builds_of_two_compilers_in_one_cluster(self):
        """Their agents see one graph; a build of another model is refused with both hashes."""
        if not shutil.which("clang") or not shutil.which("gcc"):
            self.skipTest("needs gcc and clang")
        builds = [self.line(f"{name}.c", name) for name in ("gcc", "clang")]
        other = self.line("other.c", tn_squared_error="tn_absolute_error")
        job = self.job(json.dumps(LINE))
        hashes = [self.output_of(PROGRAM, "graph", job, "--set", f"model.path={path}")["hash"]
                  for path in (*builds, other)]
        self.assertEqual(hashes[0], hashes[1])
        self.assertNotEqual(hashes[0], hashes[2])
        zookeeper = self.start_ensemble()
        first = self.agent(zookeeper, job, builds[0], "coordinator:0,ps:0,worker:0")
        self.wait_for("the cluster", lambda: self.status(["--zk", zookeeper, "--cluster", "line"]))
        _, errors = (refused := self.agent(zookeeper, job, other, "worker:1")).communicate(timeout=patience(120))
        self.assertEqual(refused.returncode, 3, errors)
        for text in ("give every node a build of the same model", hashes[0], hashes[2]):
            self.assertIn(text, errors)
        self.assertFalse((self.folder / "worker:1").exists())  # It has trained nothing.
        for agent in (first, self.agent(zookeeper, job, builds[1], "worker:1")):
            _, errors = agent.communicate(timeout=patience(120))
            self.assertEqual(agent.returncode, 0, errors)
        (self.folder / "coordinator:0/run.json").unlink()
        continued = self.output_of(PROGRAM, "run", "--local", job, "--set", f"model.path={builds[1]}", "--resume", "--dir",
                                "coordinator:0")
        self.assertEqual(continued["parameters_digest"], self.digest(self.build / "linear"))

    def test_kernels_of_two_compilers_in_one_cluster(self):
        """Builds of an operation's kernels by gcc and clang, at different levels, have the same bits; another version of
        the operation is another graph."""
        if not shutil.which("clang") or not shutil.which("gcc"):
            self.skipTest("needs gcc and clang")
        source = (ROOT / "examples/c/bell.c").read_text()
        job = self.job(json.dumps(dict(BELL, cluster=LINE["cluster"], zookeeper=LINE["zookeeper"])))
        flags = ["-march=native", "-ffp-contract=off"]
        builds = [self.compile("gcc.c", source, "gcc", ["-O3", *flags]),
                  self.compile("clang.c", source, "clang", ["-O2", *flags])]
        newer = self.compile("newer.c", source.replace(".version = 1", ".version = 2"))
        hashes = [self.output_of(PROGRAM, "graph", job, "--set", f"model.path={path}")["hash"]
                  for path in (*builds, newer)]
        self.assertEqual(hashes[0], hashes[1])
        self.assertNotEqual(hashes[0], hashes[2])
        zookeeper = self.start_ensemble()
        agents = [self.agent(zookeeper, job, builds[0], "coordinator:0,ps:0,worker:0"),
                  self.agent(zookeeper, job, builds[1], "worker:1")]
        for agent in agents:
            _, errors = agent.communicate(timeout=patience(120))
            self.assertEqual(agent.returncode, 0, errors)
        saved = self.output_of(PROGRAM, "checkpoints", "verify", "--store", "coordinator:0/checkpoints")
        self.assertEqual(saved["checkpoints"][0]["step"], BELL["train"]["steps"])
        (self.folder / "coordinator:0/run.json").unlink()
        continued = self.output_of(PROGRAM, "run", "--local", job, "--set", f"model.path={builds[1]}", "--resume", "--dir",
                                   "coordinator:0")
        self.assertEqual(continued["parameters_digest"], self.digest(self.build / "bell"))

    def test_library_that_is_replaced_during_a_run(self):
        """A node that restarts with another build is refused with both hashes, although its agent had the first."""
        library = self.line("model.c")
        job = self.job(json.dumps(dict(LINE, train=dict(LINE["train"], steps=100000000))))
        first = self.output_of(PROGRAM, "graph", job, "--set", f"model.path={library}")["hash"]
        process = self.spawn("run", job, "--dir", "run", "--set", f"model.path={library}")
        self.wait_step()
        other = self.line("other.c", tn_squared_error="tn_absolute_error")
        second = self.output_of(PROGRAM, "graph", job, "--set", f"model.path={other}")["hash"]
        os.rename(other, library)
        os.kill(self.wait_pid("worker:0"), signal.SIGKILL)
        _, errors = process.communicate(timeout=patience(120))
        self.assertEqual(process.returncode, 3, errors)
        for text in ("worker:0 cannot run", first, second):
            self.assertIn(text, errors)

    def test_checkpoint_of_another_model(self):
        job = self.job(json.dumps(LINE))
        here = [job, "--dir", "run", "--resume", "--set"]
        self.digest(PROGRAM, "run", "--local", *here, f"model.path={self.line()}", "--set", "train.steps=50")
        other = self.line("other.c", tn_squared_error="tn_absolute_error")
        self.refused(3, ["its model is a graph with the hash", "use the same model"], "run", "--local", "--quiet", *here,
                     f"model.path={other}")

    def test_wrong_files(self):
        self.refused_library("nowhere.so", "cannot open nowhere.so", "No such file")
        self.refused_library(self.folder, "is not a regular file")
        self.refused_library(self.job("{}"), "cannot be loaded")
        empty = self.compile("empty.c", "int main(void) { return 0; }\n")
        self.refused_library(empty, 'exports no model "tanist_model"')
        self.refused_library(self.compile("code.c", "void tanist_model(void) {}\n"), 'exports no model "tanist_model"')
        self.refused_library(self.line(), 'exports no model "another"', options=["--set", "model.symbol=another"])
        newer = self.line("newer.c", **{"#include <tanist/tanist.h>":
                                        "#include <tanist/tanist.h>\n#undef TN_API_MAJOR\n#define TN_API_MAJOR 2"})
        self.refused(3, ["newer.so", "interface 2.0 of libtanist, but this is 1.0"], "graph",
                     self.job(json.dumps(LINE)), "--set", f"model.path={newer}")
        unknown = self.line("unknown.c", **{"int main": "int tn_of_the_future(void);\nint main",
                                            "return tn_main": "return tn_of_the_future() + tn_main"})
        self.refused_library(unknown, "undefined symbol: tn_of_the_future")


class Hooks(Installed):
    """They are called in the process of `run`, and may end it."""

    def calls(self, *command):
        called = self.call(*command, "--quiet", "-o", "json")
        self.assertEqual(called.returncode, 0, called.stderr)
        self.assertEqual(json.loads(called.stdout)["status"], "done")
        return [line[6:] for line in called.stderr.splitlines() if line.startswith("hook: ")]

    def check_order(self, calls):
        """Started once and first, ended once and last; each evaluation and checkpoint is seen."""
        self.assertEqual(calls[0], "started at step 0")
        self.assertRegex(calls[-1], r"^ended at step \d+: ok$")
        self.assertEqual([call for call in calls[1:-1] if not call.startswith(("step ", "checkpoint "))], [])
        self.assertTrue(any(call.startswith("checkpoint ") for call in calls))

    def test_alone(self):
        """The run ends at the very step whose evaluation is good enough."""
        calls = self.calls(self.build / "hooks", "--dir", "alone")
        self.check_order(calls)
        accuracies = {int(call.split()[1]): float(call.split()[-1]) for call in calls if call.startswith("step ")}
        last = max(accuracies)
        self.assertEqual(list(accuracies), list(range(20, last + 1, 20)))
        self.assertEqual([step for step, accuracy in accuracies.items() if accuracy >= 0.9], [last])
        self.assertEqual(calls[-1], f"ended at step {last}: ok")
        self.assertIn(f"checkpoint 1 is of step {last}", calls)

    def test_on_a_cluster_and_as_a_library(self):
        self.check_order(self.calls(self.build / "hooks", "run", *SERVERS, "--dir", "cluster"))
        job = self.job(json.dumps(dict(LINE, train=dict(LINE["train"], steps=100000000), evaluate={"every_steps": 20})))
        self.check_order(self.calls(PROGRAM, "run", job, "--set", f"model.path={self.build / 'hooks.so'}", "--dir",
                                    "library"))


class Divergence(Installed):
    """A loss that is not finite ends the run; the checkpoints before it stay."""

    def test_alone(self):
        self.digest(self.build / "linear", "--set", "train.steps=100", "--dir", "run")
        job = json.loads((self.folder / "run/job.json").read_text())
        self.assertEqual(job["train"]["steps"], 100)
        called = self.call(self.build / "linear", "--dir", "bad", "--set", "train.learning_rate=1e6", "--set",
                           "checkpoint.every_steps=2")
        self.assertEqual(called.returncode, 3, called.stderr)
        self.assertIn("is not finite", called.stderr)
        self.assertIn("TANIST_CHECK_NUMERICS=1", called.stderr)
        kept = self.output_of(PROGRAM, "checkpoints", "verify", "--store", "bad/checkpoints")
        self.assertGreater(kept["checkpoints"][0]["step"], 0)
        named = self.call(self.build / "linear", "--dir", "named", "--set", "train.learning_rate=1e6",
                          TANIST_CHECK_NUMERICS="1")
        self.assertEqual(named.returncode, 3, named.stderr)
        self.assertRegex(named.stderr, r"step \d+, slice \d+: model: not finite: scope '[a-z]*', \w+")

    def test_on_a_cluster(self):
        called = self.call(self.build / "linear", "run", *SERVERS, "--dir", "bad", "--set", "train.learning_rate=1e6",
                           "--set", "checkpoint.every_steps=2")
        self.assertEqual(called.returncode, 3, called.stderr)
        self.assertIn("is not finite", called.stderr)


class Nodes(Installed):
    """Single nodes without an agent, which get their tasks as with distributed TensorFlow."""

    def node(self, zookeeper, *flags, **environment):
        process = subprocess.Popen(
            [self.build / "linear", "--zk", zookeeper, "--dir", "nodes", "--set", "name=nodes", *flags],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=self.folder,
            env=dict(self.environment, **environment))
        self.addCleanup(self.kill_and_read, process)
        return process

    @staticmethod
    def free_ports(count):
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        ports = [each.getsockname()[1] for each in sockets]
        for each in sockets:
            each.close()
        return ports

    def test_tasks_of_the_environment_and_of_flags(self):
        alone = self.digest(self.build / "linear")
        zookeeper = self.start_ensemble()
        chief, ps, worker = (f"127.0.0.1:{port}" for port in self.free_ports(3))
        cluster = {"chief": [chief], "ps": [ps], "worker": [worker]}
        nodes = [self.node(zookeeper, TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": kind, "index": 0}}))
                 for kind in ("chief", "ps")]
        nodes.append(self.node(zookeeper, "--job_name=worker", "--task_index", "0", "--ps_hosts", ps, "--worker_hosts",
                               worker))
        for node in nodes:
            _, errors = node.communicate(timeout=patience(120))
            self.assertEqual(node.returncode, 0, errors)
        saved = self.output_of(PROGRAM, "checkpoints", "verify", "--store", "nodes/checkpoints")
        self.assertEqual(self.digest(self.build / "linear", "--dir", "nodes"), alone)
        self.assertEqual(saved["checkpoints"][0]["step"], 300)


if __name__ == "__main__":
    unittest.main()
