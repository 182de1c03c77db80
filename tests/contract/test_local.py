#!/usr/bin/env python3
"""`tanist run --local`: one process has the digest of a cluster, and survives kills and damage.

Real processes and disks, and for two tests a real cluster; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import random
import resource
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from case import QUICK, Cli, patience
from installed import sanitizer_flags

# Slow enough that a step too many or a lost state of the optimizer still shows at the end.
MANY = ["--set", "train.steps=60000", "--set", "checkpoint.every_steps=2000", "--set", "train.optimizer=adam",
        "--set", "train.learning_rate=0.00001"]
WIDE = ["--set", "model.inputs=64", "--set", "cluster.ps=2", "--set", "cluster.workers=3"]  # Enough for 2 ps.
KNOWN = "bb84c9c9c077aec9b9d475da736d7d10"  # The digest of QUICK on every processor.
OPENBLAS = ["--set", "train.kernels=openblas"]
ENDLESS = ["--set", "train.steps=500000000", "--set", "checkpoint.every_steps=5000"]


class Local(Cli):
    def local(self, *options, directory="run"):
        """Run to the end; returns the result."""
        result = self.tanist("run", "--local", QUICK, "--dir", directory, "-o", "json", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def launch(self, *options, directory="run"):
        return self.spawn("run", "--local", QUICK, "--dir", directory, "-o", "json", *options)

    def await_line(self, process, text, limit_s=60):
        """Read stderr up to a line that contains `text`."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            line = process.stderr.readline()
            self.assertNotEqual(line, "", f"it ended without {text}")
            if text in line:
                return line
        return self.fail(f"no line with {text} within {limit_s} s")

    def manifests(self, directory="run"):
        return sorted((self.folder / directory / "checkpoints").glob("*/manifest.json"))

    def shard(self, manifest):
        return manifest.parent / "shard-0-of-1/data.mdb"

    def damage(self, path):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)


class Data(Local):
    def check_shorter_file(self, directory, *options):
        rows = "".join(f"{i % 7},{i % 2}\n" for i in range(5000))
        data = self.folder / "rows.csv"
        data.write_text("x,y\n" + rows)
        job = self.job(json.dumps({
            "name": "rows", "model": {"type": "softmax", "outputs": 2},
            "data": {"format": "csv", "train": "rows.csv", "split": {"test": 0.1}, "label": {"column": "y"},
                     "columns": {"x": "number"}}, "train": {"steps": 100000000}}))
        run = self.spawn("run", "--local", job, "--dir", directory, "-q", *options)
        self.wait_status("a step", lambda status: status["phase"] == "running" and status["step"] > 0,
                         ["--dir", directory])
        data.write_text("")
        _, errors = run.communicate(timeout=patience(120))
        self.assertEqual(run.returncode, 6, errors)
        self.assertIn(f"{data} became shorter", errors)

    def test_shorter_file_is_named(self):
        """A file of data that becomes shorter during training ends the run with an error that names it."""
        self.check_shorter_file("one", "--set", "train.threads=1")

    def test_shorter_file_is_named_on_any_thread(self):
        """The thread that computes a slice, or that reads it ahead, may be the first to find out."""
        self.check_shorter_file("threads", "--set", "train.threads=4")
        self.check_shorter_file("ahead", "--set", "train.threads=4", "--set", "data.threads=2")


class Strategy(Local):
    def test_a_job_file_chooses_one_process(self):
        job = json.loads(Path(QUICK).read_text())
        job["strategy"] = {"type": "local"}
        path = self.folder / "job.json"
        path.write_text(json.dumps(job))
        result = json.loads(self.succeeds("run", path, "--dir", "file", "-o", "json", "--quiet"))
        self.assertEqual((result["parameters_digest"], result["elections"]), (KNOWN, 0))
        self.refused(3, ["strategy.type is local", "--set strategy.type=ps"], "worker", "--job", path, "--index", "0")
        self.refused(3, ["strategy.type is local", "--set strategy.type=ps"], "agent", path, "--tasks", "ps:0", "--zk", "h:1")

    def test_an_unknown_strategy_is_refused(self):
        self.refused(3, ["strategy.type is \"ring\"", "mirror", "ps", "local"], "run", QUICK, "--set", "strategy.type=ring")


class Digests(Local):
    def test_result_is_that_of_a_cluster(self):
        """Both print the same object but for times and for what only a cluster has."""
        more = ["--set", "evaluate.every_steps=100", *WIDE]
        local = self.local(*more)
        process = self.start("--dir", "cluster", *more)
        out, errors = process.communicate(timeout=patience(120))
        self.assertEqual(process.returncode, 0, errors)
        cluster = json.loads(out)
        self.assertEqual((local["elections"], local["recoveries"]), (0, []))
        for result in (local, cluster):
            for key in ("seconds", "elections", "recoveries", "epoch", "generation", "checkpoint",
                        "skipped_checkpoints"):
                del result[key]
        self.assertEqual(local, cluster)
        self.assertEqual([entry["step"] for entry in local["evaluations"]], [100, 200, 300])
        self.refused(3, ["the run of a cluster", "--local"], "run", "--local", QUICK, "--dir", "cluster",
                     "--resume", *more)

    def test_kernels(self):
        """Plain C in one process has the bits of the fastest kernels in a cluster; OpenBLAS has others."""
        classifier = ["--set", "model.type=mlp", "--set", "model.inputs=24", "--set", "model.hidden=[40]",
                      "--set", "model.outputs=5"]
        self.environment["TANIST_ISA"] = "scalar"
        plain = self.local(*classifier, directory="plain")
        del self.environment["TANIST_ISA"]
        process = self.start("--dir", "cluster", *classifier)
        out, errors = process.communicate(timeout=patience(120))
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(json.loads(out)["parameters_digest"], plain["parameters_digest"])
        other = self.local(*classifier, *OPENBLAS, directory="other")
        self.assertNotEqual(other["parameters_digest"], plain["parameters_digest"])
        self.refused(3, ["train.kernels", "portable", "openblas"], "run", "--local", QUICK, "--dir", "plain",
                     "--resume", *classifier, *OPENBLAS, "--set", "train.steps=400")

    def test_digest_is_known(self):
        """The bits of the default kernels depend on nothing but the job."""
        self.assertEqual(self.local()["parameters_digest"], KNOWN)

    def test_openblas_is_loaded_on_demand(self):
        """A process with the default kernels needs no OpenBLAS."""
        for kernels, loaded in (("portable", False), ("openblas", True)):
            process = self.launch(*ENDLESS, "--set", f"train.kernels={kernels}", directory=kernels)
            self.await_line(process, "is committed")
            libraries = Path(f"/proc/{process.pid}/maps").read_text()
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=patience(120))
            self.assertEqual("libopenblas" in libraries, loaded, kernels)

    def test_folder_of_a_version_without_the_key(self):
        """A run whose job does not name its kernels was trained with openblas, and continues only with them."""
        self.local(*OPENBLAS)
        path = self.folder / "run/job.json"
        job = json.loads(path.read_text())
        del job["train"]["kernels"]
        path.write_text(json.dumps(job))
        longer = ["--resume", "--set", "train.steps=400"]
        self.refused(3, ['train.kernels is "openblas" there and "portable" here'], "run", "--local", QUICK,
                     "--dir", "run", *longer)
        self.assertEqual(self.local(*longer, *OPENBLAS)["steps"], 400)

    def test_cluster_continues_a_local_run(self):
        """A cluster with two ps continues from the checkpoint that one process has left."""
        process = self.launch(*ENDLESS, *WIDE)
        self.await_line(process, "is committed")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=patience(120))
        step = json.loads(out)["checkpoint"]["step"]
        longer = [*WIDE, "--set", f"train.steps={step + 300}"]
        again = self.start(*longer)
        out, errors = again.communicate(timeout=patience(120))
        self.assertEqual(again.returncode, 0, errors)
        self.assertIn(f"from step {step}", errors)
        whole = self.local(*longer, directory="whole")
        self.assertEqual(json.loads(out)["parameters_digest"], whole["parameters_digest"])

    def test_target_accuracy(self):
        """The run ends at the evaluation that reaches the target, also when it is continued from there."""
        more = ["--set", "evaluate.every_steps=50", "--set", "train.target_accuracy=0.9"]
        first = self.local(*more)
        self.assertLess(first["steps"], 300)
        self.assertEqual(first["steps"] % 50, 0)
        (self.folder / "run/result.json").unlink()
        again = self.local(*more)
        for key in ("steps", "parameters_digest", "evaluations", "checkpoint"):
            self.assertEqual(first[key], again[key])


class Interrupted(Local):
    def test_killed_at_any_moment(self):
        """SIGKILL after random times; each start continues from the last checkpoint, to the same digest."""
        expected = self.local(*MANY, directory="whole")
        for _ in range(8):
            process = self.launch(*MANY)
            try:
                process.wait(timeout=random.uniform(0.02, 0.4))
            except subprocess.TimeoutExpired:
                process.kill()
            process.communicate(timeout=patience(120))
        result = self.local("--resume", *MANY)
        for key in ("parameters_digest", "checkpoint_digest", "loss", "accuracy", "evaluations"):
            self.assertEqual(result[key], expected[key])

    def test_signals(self):
        """Each signal saves the present step: nothing is computed twice."""
        before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        self.addCleanup(signal.signal, signal.SIGHUP, before)
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            process = self.launch(*ENDLESS)
            self.await_line(process, "is committed")
            process.send_signal(number)
            out, errors = process.communicate(timeout=patience(120))
            self.assertEqual(process.returncode, code, errors)
            result = json.loads(out)
            self.assertEqual(result["status"], "stopped")
            self.assertEqual(result["steps"], result["checkpoint"]["step"])
            self.assertIn("no step is lost", errors)
            self.assertFalse((self.folder / "run/result.json").exists())
        process = self.launch(*ENDLESS)
        self.await_line(process, f"(step {result['steps']})")
        process.kill()

    def test_second_signal(self):
        """A process that hangs in its last checkpoint ends at the second signal."""
        process = self.launch(*ENDLESS)
        self.await_line(process, "is committed")
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGCONT)
        _, errors = process.communicate(timeout=patience(120))
        self.assertIn(process.returncode, (130, 143))
        self.assertNotIn("no step is lost", errors)
        self.assertEqual(self.tanist("checkpoints", "verify", "--dir", "run").returncode, 0)

    def test_one_process_at_a_time(self):
        process = self.launch(*ENDLESS)
        self.await_line(process, "is committed")
        self.refused(3, ["in use", f"pid {process.pid}"], "run", "--local", QUICK, "--dir", "run", *ENDLESS)
        status = self.tanist("status", "--dir", "run", "-o", "json")
        self.assertEqual(status.returncode, 0, status.stderr)
        self.assertEqual(json.loads(status.stdout)["phase"], "running")
        self.refused(5, ["in one process"], "pause", "--dir", "run")
        process.kill()


class Damage(Local):
    def unfinished(self):
        """Three checkpoints of a run that was killed before its end."""
        result = self.local("--set", "checkpoint.keep=5")
        (self.folder / "run/result.json").unlink()
        self.assertEqual(len(self.manifests()), 3)
        return result

    def test_older_checkpoint_is_loaded(self):
        """Damaged checkpoints are reported and kept; the result is the same."""
        expected = self.unfinished()
        manifests = self.manifests()
        self.damage(self.shard(manifests[2]))
        self.shard(manifests[1]).unlink()
        process = self.launch("--set", "checkpoint.keep=1")
        out, errors = process.communicate(timeout=patience(120))
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn("checkpoint 3: damaged or missing; checkpoint 1 of step 100 is loaded instead", errors)
        self.assertEqual(json.loads(out)["parameters_digest"], expected["parameters_digest"])
        self.assertEqual([path.parent.name for path in self.manifests()],
                         ["0000000002", "0000000003", "0000000005"])

    def test_manifest_is_damaged(self):
        expected = self.unfinished()
        self.damage(self.manifests()[2])
        self.assertEqual(self.local()["parameters_digest"], expected["parameters_digest"])

    def test_no_checkpoint_is_intact(self):
        """Training does not begin again in silence."""
        self.unfinished()
        for manifest in self.manifests():
            self.damage(self.shard(manifest))
        result = self.tanist("run", "--local", QUICK, "--dir", "run")
        self.assertEqual(result.returncode, 6, result.stderr)
        self.assertIn("no checkpoint in", result.stderr)
        self.assertEqual(len(self.manifests()), 3)

    def test_other_data(self):
        """A checkpoint of other data is refused, although the job is the same."""
        self.unfinished()
        job = json.loads((self.folder / "run/job.json").read_text())
        text = self.manifests()[2].read_text()
        self.assertIn('"data":', text)
        for manifest in self.manifests():
            shutil.rmtree(manifest.parent)
        other = self.local("--set", "seed=7", directory="other")
        self.assertEqual(other["status"], "done")
        for manifest in self.manifests("other"):
            shutil.copytree(manifest.parent, self.folder / "run/checkpoints" / manifest.parent.name)
        self.refused(3, ["checkpoint 3", "seed"], "run", "--local", QUICK, "--dir", "run", "-q")
        self.assertEqual(job["seed"], json.loads((self.folder / "run/job.json").read_text())["seed"])

    def test_folder_is_no_run(self):
        (self.folder / "run").mkdir()
        (self.folder / "run/job.json").write_text("garbage")
        self.refused(3, ["job.json"], "run", "--local", QUICK, "--dir", "run")
        (self.folder / "file").write_text("")
        self.refused(3, ["--dir"], "run", "--local", QUICK, "--dir", "file")

    def test_cluster_has_no_effect(self):
        """A model that is too small for cluster.ps trains in one process; a cluster refuses it."""
        job = self.job(json.dumps({"model": {"type": "linear", "inputs": 8, "outputs": 1},
                                   "data": {"type": "synthetic", "examples": 64, "test_examples": 8},
                                   "train": {"steps": 3, "batch": 8}, "cluster": {"ps": 5}}))
        self.succeeds("run", "--local", job, "--dir", "run", "--quiet")
        self.refused(3, ["cluster.ps is 5", "at most 1 ps"], "run", job, "--dir", "other")

    def test_size_of_files_is_limited(self):
        """A file above the limit of the process (ulimit -f) is an error as on a full disk, not the signal SIGXFSZ."""
        limits = {0: "File too large", 10240: "ulimit -f"}
        if "-fsanitize=thread" in sanitizer_flags():
            del limits[0]  # TSan writes a file before the program ignores the signal.
        for limit, expected in limits.items():
            result = self.tanist("run", "--local", QUICK, "--dir", f"limit-{limit}", "--quiet",
                                 preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                                   (limit, limit)))
            self.assertEqual(result.returncode, 6, result.stderr)
            self.assertIn(expected, result.stderr.splitlines()[-1])

    def test_damaged_manifest(self):
        """`verify` fails although the other checkpoints are intact; a command that uses another one names it."""
        self.succeeds("run", "--local", QUICK, "--dir", "run", "--quiet")
        (self.folder / "run/checkpoints/0000000003/manifest.json").write_text("{")
        result = self.tanist("checkpoints", "verify", "run")
        self.assertEqual(result.returncode, 6, result.stdout)
        self.assertIn("0000000003/manifest.json: not JSON", result.stderr)
        result = self.tanist("evaluate", "run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("checkpoint 2 is used, but others cannot be read", result.stderr)
        self.assertIn("0000000003/manifest.json", result.stderr)

    def test_numbers_are_short(self):
        """The job file of the folder, and the plan, have the numbers as they were given."""
        self.succeeds("run", "--local", QUICK, "--dir", "run", "--quiet", "--set", "train.learning_rate=0.005")
        self.assertIn('"learning_rate": 0.005,', (self.folder / "run/job.json").read_text())
        self.assertIn('"learning_rate": 0.005,', self.succeeds("status", "run", "-o", "json"))

    def test_damaged_record_is_named(self):
        """`status` names the file and the remedy; a run that continues writes it again."""
        self.succeeds("run", "--local", QUICK, "--dir", "run", "--quiet")
        record = self.folder / "run/record.json"
        record.write_text(record.read_text()[:100])
        self.refused(6, ["record.json", "is damaged"], "status", "run")
        self.succeeds("run", "--local", QUICK, "--dir", "run", "--quiet", "--resume")
        self.assertIn("epoch 2\n", self.succeeds("status", "run"))

    def test_disk_fails_for_a_while(self):
        """Checkpoints that cannot be written are skipped and counted; at the end that is an error."""
        process = self.launch(*ENDLESS)
        self.await_line(process, "is committed")
        checkpoints, away = self.folder / "run/checkpoints", self.folder / "run/away"
        checkpoints.rename(away)
        self.await_line(process, "is skipped")
        away.rename(checkpoints)
        self.await_line(process, "is committed")
        checkpoints.rename(away)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=patience(120))
        self.assertEqual((process.returncode, out), (6, ""), errors)
        self.assertIn("the last checkpoint, of step", errors)
        away.rename(checkpoints)
        record = json.loads((self.folder / "run/record.json").read_text())
        self.assertEqual(record["run"]["phase"], "failed")
        again = self.launch(*ENDLESS)
        self.await_line(again, "continuing the run")
        again.send_signal(signal.SIGINT)
        out, errors = again.communicate(timeout=patience(120))
        self.assertEqual(again.returncode, 130, errors)
        self.assertGreaterEqual(json.loads(out)["skipped_checkpoints"], 1)


class Options(Local):
    def test_options_without_a_meaning(self):
        for option in ("--zk=h:1", "--zk-credentials=file", "--wait=3", "--networks=file", "--allow-chaos",
                       "--log-max-size=9999999"):
            name = option.split("=", maxsplit=1)[0]
            self.refused(3, [name + " has no meaning with --local"], "run", "--local", QUICK, option)
        self.refused(3, ["train.mode is async", "--set train.mode=sync"], "run", "--local", QUICK, "--set",
                     "train.mode=async")
        self.assertFalse((self.folder / "runs").exists())


if __name__ == "__main__":
    unittest.main()
