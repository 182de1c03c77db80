#!/usr/bin/env python3
"""Groups of workers (`strategy.type` group): the same bits as `--local`, whatever is killed, and no step done again.

Real processes and a real ensemble; every wait is bounded. TANIST_PROGRAM: the program.
"""

import json
import time
import unittest

from case import LONG, STEADY, Cli, long, own_servers, some
from installed import sanitizer_flags

# Values go from member 0 to member 1, and gradients back. 67 test examples are chunks of two sizes.
JOB = {"name": "group", "seed": 3,
       "model": {"type": "layers", "inputs": 20, "outputs": 5,
                 "layers": [{"dense": {"units": 48, "activation": "tanh"}, "task": 0}, {"dropout": 0.25},
                            {"dense": {"units": 24, "activation": "relu"}, "task": 1}, {"dense": 5}]},
       "data": {"type": "synthetic", "examples": 1000, "test_examples": 67},
       "train": {"steps": 150, "batch": 64, "slices": 8, "learning_rate": 0.05},
       "evaluate": {"every_steps": 50}, "checkpoint": {"every_steps": 50},
       "strategy": {"type": "group", "members": 2}, "placement": {"strategy": "greedy"},
       "cluster": {"coordinators": 2, "ps": 2, "workers": 2}, "zookeeper": {"servers": 1}}
BRANCHES = [{"concat": [[{"dense": 16, "task": 0}, "batch_norm", "relu"], [{"dense": 16, "task": 1}, "tanh"]],
             "task": 2}, {"dense": 8, "task": 2}, {"residual": [{"dense": 8, "task": 0}], "task": 1},
            {"dense": 5, "task": 2}]


class Group(Cli):
    def job_with(self, **changes):
        """The job with other keys: model_layers=[...] replaces model.layers."""
        job = json.loads(json.dumps(JOB))
        for key, value in changes.items():
            section, name = key.split("_", 1)
            job[section][name] = value
        return self.job(json.dumps(job))

    def check_as_local(self, job):
        """The parameters and the evaluations are those of one process."""
        expected = self.alone(job, "local")
        result = self.result(self.spawn("run", job, "--dir", "run", "-o", "json", *STEADY))
        self.assertEqual(result["parameters_digest"], expected["parameters_digest"])
        self.assertEqual(result["checkpoint_digest"], expected["parameters_digest"])
        self.assertEqual(result["evaluations"], expected["evaluations"])
        self.assertEqual(result["recoveries"], [])

    def begin_group(self, job):
        """A run without an end that trains."""
        run = self.spawn("run", job, "--dir", "run", "-o", "json", *LONG, *STEADY)
        self.wait_step(5)
        return run

    def end_as_local(self, run, job):
        """The run is stopped; one process computes the same parameters in as many steps. Returns the result."""
        result = self.end(run)
        expected = self.alone(job, "local", "--set", f"train.steps={result['steps']}")["parameters_digest"]
        self.assertEqual((result["parameters_digest"], result["checkpoint_digest"]), (expected, expected))
        return result

    def test_same_bits(self):
        """A group of two, with evaluations."""
        self.check_as_local(self.job_with())

    def test_two_groups_of_three(self):
        """Branches on different members, batch norm, several ps for a member."""
        self.check_as_local(self.job_with(model_layers=BRANCHES, strategy_members=3, cluster_workers=6, cluster_ps=6))

    @long
    def test_regression(self):
        """R squared is computed from outputs that another member has computed."""
        layers = [{"dense": {"units": 16, "activation": "tanh"}, "task": 0}, {"dense": 2, "task": 1}]
        self.check_as_local(self.job_with(model_layers=layers, model_outputs=2, model_loss="squared_error"))

    def test_members_are_killed(self):
        """SIGKILL to the head and to another member, again and again: nothing pauses, no step is done again."""
        job = self.job_with()
        run = self.begin_group(job)
        for name in ("worker:0", "worker:1", "worker:1", "worker:0"):
            self.kill_in_the_middle(name, steps=3)
        self.assertEqual(self.end_as_local(run, job)["recoveries"], [])

    def test_one_group_trains_on(self):
        """The slices of a group that lacks a member go to the others."""
        job = self.job_with(cluster_workers=4)
        run = self.begin_group(job)
        tasks = [task for task in self.status()["tasks"] if task["role"] == "worker"]
        self.assertEqual([(task["group"], task["member"]) for task in tasks], [(0, 0), (0, 1), (1, 0), (1, 1)])
        for name in ("worker:1", "worker:2"):
            self.kill_in_the_middle(name, steps=3)
        self.assertEqual(self.end_as_local(run, job)["recoveries"], [])

    def test_ps_and_chief_are_killed(self):
        """Each ps, and the chief."""
        job = self.job_with()
        run = self.begin_group(job)
        for name in ("ps:0", "ps:1", "chief"):
            self.kill_in_the_middle(name, steps=3)
        result = self.end_as_local(run, job)
        self.assertEqual([each["steps_redone"] for each in result["recoveries"] if each["steps_redone"] != 0], [])

    @own_servers
    def test_it_continues_in_its_folder(self):
        """A run that was killed as a whole continues from its last checkpoint."""
        job = self.job_with()
        run = self.begin_group(job)
        self.wait_for("a checkpoint", lambda: self.newest_checkpoint() > 0)
        self.kill_run(run)
        run = self.begin_group(job)
        self.wait_step(self.live_status()["step"] + 3)
        self.end_as_local(run, job)

    @long
    def test_another_layout_continues(self):
        """From one process to a group, and between a group, ps and mirror: each reads the order of the other, with all state."""
        adam = {"train_optimizer": "adam", "train_learning_rate": 0.001, "train_steps": 250}
        job = self.job_with(**adam)
        expected = self.alone(job, "local")
        placed = ["--set", "strategy.type=group", "--set", "placement.strategy=greedy"]
        ranges = ["--set", "placement.strategy=ranges"]
        self.result(self.spawn("run", job, "--local", "--dir", "run", "-o", "json", "--set", "train.steps=30"))
        for steps, options in ((60, placed), (90, [*ranges, "--set", "strategy.type=ps", "--set", "cluster.ps=3"]),
                               (120, [*placed, "--set", "cluster.ps=4", "--set", "cluster.workers=4"]),
                               (150, [*ranges, "--set", "strategy.type=mirror"]), (180, placed),
                               (210, ["--set", "strategy.type=ps", "--set", "placement.strategy=round_robin"]),
                               (250, [*placed, "--set", "cluster.ps=3"])):
            result = self.result(self.spawn("run", job, "--dir", "run", "-o", "json", "--resume", "--set",
                                            f"train.steps={steps}", *options))
            self.assertEqual(result["steps"], steps)
            self.succeeds("evaluate", "run")
        for key in ("parameters_digest", "checkpoint_digest", "loss", "accuracy"):
            self.assertEqual(result[key], expected[key], key)
        changes = [entry["cause"] for entry in self.history() if entry["kind"] == "changed"]
        self.assertEqual(changes[0], 'strategy.type group of 2 -> ps, cluster.ps 2 -> 3, placement.strategy "greedy" -> "ranges"')
        self.assertEqual(len(changes), 6)

    @own_servers
    def test_kills_around_a_change(self):
        """The agent, a ps, a member and the chief are killed before, while and after the nodes of the new layout load."""
        job = self.job_with(train_optimizer="adam", train_learning_rate=0.0001)
        placed = ["--set", "strategy.type=group", "--set", "placement.strategy=greedy", "--set", "cluster.workers=4"]
        mirror = ["--set", "strategy.type=mirror", "--set", "placement.strategy=ranges"]
        options = []
        run = self.begin_group(job)
        for options in ([*mirror, "--set", "cluster.workers=3"], placed):
            self.wait_for("a checkpoint", lambda: self.newest_checkpoint() > 0)
            self.kill_run(run)
            for delay in some((1.0, 0.5), 1):  # Before, while or just after they load.
                run = self.spawn("run", job, "--dir", "run", "-o", "json", "--resume", *LONG, *STEADY, *options)
                time.sleep(delay)
                self.kill_run(run)
                self.succeeds("checkpoints", "verify", "--dir", "run")
            run = self.spawn("run", job, "--dir", "run", "-o", "json", "--resume", *LONG, *STEADY, *options)
            self.check_it_continues()
            for name in ("worker:1", "worker:0", "chief", *(["ps:1"] if options == placed else [])):
                self.kill_in_the_middle(name, steps=3)
            self.check_it_continues()
        self.end_as_local(run, job)

    def without_ps(self, **changes):
        """The job with groups without ps."""
        return self.job_with(cluster_ps=0, placement_strategy="ranges", **changes)

    def test_same_bits_without_ps(self):
        """Two groups of three, each of which has all values; gradients are clipped."""
        self.check_as_local(self.without_ps(model_layers=BRANCHES, strategy_members=3, cluster_workers=6,
                                            train_clip_norm=0.5))

    def test_members_without_ps_are_killed(self):
        """SIGKILL to heads and other members, also when the other group has just lost one: no step is done again."""
        job = self.without_ps(cluster_workers=4, train_optimizer="adam", train_learning_rate=0.0001)
        run = self.begin_group(job)
        for name in ("worker:0", "worker:3", "worker:2", "worker:1"):
            self.kill_in_the_middle(name, steps=3)
        self.kill_and_wait("worker:1", "worker:2")
        self.check_it_continues()
        self.assertEqual({each["steps_redone"] for each in self.end_as_local(run, job)["recoveries"]}, {0})

    @long
    def test_one_group_without_ps_waits(self):
        """The only group loses its members one after the other: the other one has the values, and nothing is loaded."""
        job = self.without_ps()
        run = self.begin_group(job)
        for name in ("worker:1", "worker:0", "worker:1"):
            self.kill_in_the_middle(name, steps=3)
        self.assertEqual({each["steps_redone"] for each in self.end_as_local(run, job)["recoveries"]}, {0})

    def test_groups_with_and_without_ps(self):
        """A run continues as groups without ps, with ps, and again without."""
        job = self.without_ps(train_optimizer="adam", train_learning_rate=0.001, train_steps=120)
        expected = self.alone(job, "local")["parameters_digest"]
        placed = ["--set", "placement.strategy=greedy", "--set", "cluster.ps=3"]
        for steps, options in ((30, []), (60, placed), (90, ["--set", "strategy.type=mirror"]), (120, [])):
            resume = ["--resume"] if steps > 30 else []
            result = self.result(self.spawn("run", job, "--dir", "run", "-o", "json", *resume, "--set",
                                            f"train.steps={steps}", *options))
            self.assertEqual(result["steps"], steps)
        self.assertEqual(result["parameters_digest"], expected)
        changes = [entry["cause"] for entry in self.history() if entry["kind"] == "changed"]
        self.assertEqual([change.split(",")[0] for change in changes],
                         ["strategy.type group of 2 without ps -> group of 2", "strategy.type group of 2 -> mirror",
                          "strategy.type mirror -> group of 2 without ps"])

    def test_another_layout_needs_resume(self):
        """Without it the command is refused and names both strategies; tasks of layers are part of the model."""
        job = self.job_with(train_steps=50)
        self.result(self.spawn("run", job, "--dir", "run", "-o", "json"))
        (self.folder / "run/result.json").unlink()
        self.refused(3, ["strategy.type group", "--resume", "strategy.type ps"], "run", job, "--dir", "run", "--set",
                     "strategy.type=ps")
        self.refused(3, ["placement.strategy is \"greedy\" there", "--resume"], "run", job, "--dir", "run", "--set",
                     "placement.strategy=round_robin")
        other = self.job_with(train_steps=50, model_layers=[{"dense": 5}])
        self.refused(3, ["model.layers"], "run", other, "--dir", "run", "--resume", "--set", "strategy.type=ps")

    def test_divergence_ends_the_job(self):
        """A gradient that is not finite ends it with exit code 3, as without groups."""
        job = self.job_with(train_learning_rate=1e6, model_loss="squared_error", model_outputs=2,
                            model_layers=[{"dense": 16, "task": 0}, {"dense": 2, "task": 1}])
        self.assertEqual(self.tanist("run", job, "--dir", "run").returncode, 3)

    def test_no_member_has_the_whole_model(self):
        """Three members have a large layer each, the last one little: the memory of each is that of its own layers."""
        if sanitizer_flags():
            self.skipTest("sanitizers need memory of their own")
        width = 1280
        large = {"units": width}
        job = self.job_with(model_layers=[{"dense": large, "task": 0}, {"dense": large}, {"dense": large, "task": 1},
                                          {"dense": large, "task": 2}, {"dense": 5, "task": 3}],
                            strategy_members=4, cluster_workers=4, cluster_ps=4, train_batch=8, train_slices=1,
                            train_learning_rate=1e-6, evaluate_every_steps=0, checkpoint_every_steps=1000)
        whole = 3 * width * width * 4
        planned = json.loads(self.succeeds("plan", job, "-o", "json"))["memory"]["members"]
        run = self.begin_group(job)
        peaks = [self.memory_peak(f"worker:{member}") for member in range(4)]
        self.end(run)
        for member, peak in enumerate(peaks):
            # Arrays of the whole model, of which a worker of ps has several, would exceed it.
            self.assertLess(peak, planned[member]["total"] + whole, f"member {member} of {peaks}")
        self.assertLess(peaks[3], whole, f"{peaks}")

    def test_what_it_cannot_do_is_refused(self):
        """Each error names the key and the remedy."""
        job = self.job_with()
        for setting, expected in (("train.mode=async", "train.mode"), ("cluster.evaluators=1", "cluster.evaluators"),
                                  ("train.ema=0.9", "train.ema"), ("cluster.workers=2-4", "cluster.workers"),
                                  ("placement.strategy=ranges", "placement.strategy"),
                                  ("transport.lane=shm", "transport.lane"), ("cluster.ps=1", "cluster.ps"),
                                  ("cluster.workers=3", "cluster.workers"), ("cluster.min_workers=2", "min_workers")):
            self.refused(3, [expected, "give" if "min" not in setting else "lower"], "run", job, "--dir", "run", "--set",
                         setting)
        self.refused(3, ["without any variable", "member 1", "\"task\": 1"], "run",
                     self.job_with(model_layers=[{"dense": 5}]), "--dir", "run")
        self.refused(3, ["task:2", "strategy.members is 2"], "run",
                     self.job_with(model_layers=[{"dense": 5, "task": 2}]), "--dir", "run")
        self.refused(3, ["member 1", "computes nothing", "\"task\": 1"], "run",
                     self.without_ps(model_layers=[{"dense": 5}]), "--dir", "run")


if __name__ == "__main__":
    unittest.main(verbosity=2)
