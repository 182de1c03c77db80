#!/usr/bin/env python3
"""Plant protocol bugs, one at a time, and count the seeds until the simulator notices.

    tests/sim/mutants.py [--seeds N] [--jobs J] [--only PART|PART] [--list]

Works on a copy of the tree, so that the sources stay as they are. A bug that escapes N seeds means that the checker is deaf: exit
status 1. So does a mutant whose text is not in the sources any more.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

# name, file, text that is there, text that is planted instead; or a list of such pairs
MUTANTS = [
    ("the chief's writes are not fenced", "coordinator/coordinator_write.c",
     [('    add(c, t, ZK_CHECK, "chief")->version = c->fence;', '    add(c, t, ZK_CHECK, "chief");'),
      ("    write->version = c->run_version;", "    write->version = c->run_exists ? ZK_ANY_VERSION : 0;")]),
    ("becoming chief does not raise the epoch", "coordinator/election.c", "    e->epoch++;\n", "    e->epoch += e->epoch == 0;\n"),
    ("reports of a dead incarnation count", "coordinator/chief.c",
     "    if (!peer->present || report->incarnation != peer->incarnation) {\n        peer->early = *report;\n        return;\n    }",
     "    if (!peer->present) {\n        peer->early = *report;\n        return;\n    }"),
    ("running is ordered when one ps has loaded", "coordinator/chief_peers.c",
     "        if (!chief_ps_holds(c, run, i)) { return false; }\n    }\n    return true;",
     "        if (chief_ps_holds(c, run, i)) { return true; }\n    }\n    return false;"),
    ("a reborn ps is not noticed", "coordinator/chief_plan.c",
     "        bool other = chief_ps_reported(p->c, i) && !chief_ps_holds(p->c, p->run, i);\n        if (!gone && !peer->lost && !other) { continue; }",
     "        bool other = false;\n        if (!gone && !other) { continue; }"),
    ("a restore takes no new generation", "coordinator/chief_plan.c",
     "    return highest + 1;", "    return highest + (highest == 0);"),
    ("committed before every shard is durable", "coordinator/chief_save.c",
     "        saved = saved && holds && report->saved_checkpoint == id &&\n                report->saved_step == p->run->save_step;",
     "        if (i == 0) saved = holds && report->saved_checkpoint == id;"),
    ("a restore takes the checkpoint before the newest", "coordinator/chief_plan.c",
     "    start_loading(p, run->committed_checkpoint, run->committed_step);\n}\n\n/* ------------------------------------------------------------ term, end of the run */",
     "    struct chief_checkpoint old = checkpoint_before(p->c, run->committed_checkpoint);\n"
     "    start_loading(p, old.id, old.step);\n}\n\n/* ------------------------------------------------------------ term, end of the run */"),
    ("collection takes the newest checkpoint as well", "coordinator/chief.c",
     "    while (c->checkpoint_count > c->config.checkpoint_keep &&", "    while (c->checkpoint_count > 0 &&"),
    ("the epoch is not raised over a wiped ensemble", "coordinator/chief.c",
     "    return highest == c->epoch && ours ? 0 : highest;", "    (void)ours;\n    return 0;"),
    ("a shard is reported saved before it is durable", "ps/step.c",
     "    s->saving[s->saves].checkpoint = s->save_checkpoint;\n",
     "    s->saved_checkpoint = s->save_checkpoint;\n    s->saved_step = s->save_step;\n"
     "    s->saving[s->saves].checkpoint = s->save_checkpoint;\n"),
    ("a shard is saved at whatever step the ps has reached", "ps/step.c",
     "    if (missed || s->saves == PS_SAVES_MAX) {", "    if (s->saves == PS_SAVES_MAX) {"),
    ("a restore forgets how many updates Adam has made", "ps/ps.c",
     "    ps->incoming_updates = metadata->optimizer_steps;", "    ps->incoming_updates = 0;"),
    ("a ps answers before it has applied", "ps/step_sync.c",
     "        hold(s, node, out);\n        apply_if_complete(s, out);",
     "        hold(s, node, out);\n        ps_answer(s, out, event->conn, event->round, s->step + 1, false);\n"
     "        apply_if_complete(s, out);"),
    ("slices are summed in order of their number, not of the tree", "common/cluster/slices.c",
     "    assert(count == part_count - 1); /* Else a part lies within another or outside. */\n    return count;",
     "    for (uint32_t k = 0; k < count; k++) out[k] = (struct slice_sum){parts[0].first, parts[k + 1].first};\n"
     "    return count;"),
    ("a step is applied with a slice missing", "ps/step_sync.c",
     "    if (slice_set_count(&s->covered) < s->config.slices) { return; }",
     "    if (slice_set_count(&s->covered) + (s->config.slices > 1) < s->config.slices) { return; }"),
    ("the step before is not kept", "ps/step.c",
     "    s->applying = false;\n    s->has_previous = true;", "    s->applying = false;"),
    ("async: a push is applied again when it comes again", "ps/step_async.c",
     "    if (event->step < s->clock[slice] || outdated || being_applied) {",
     "    if (outdated || being_applied) {"),
    ("async: a slice past the ordered step does not spoil the cut", "ps/step.c",
     "    if (s->config.mode == TRAIN_SYNC) { return s->step > s->save_step; }",
     "    if (s->config.mode == TRAIN_SYNC || s->config.slices > 0) { return s->step > s->save_step; }"),
    ("async: nobody waits for the slowest", "ps/step_async.c",
     "    return step > s->step && step - s->step > s->config.max_staleness;",
     "    return step > s->step && step - s->step > s->config.max_staleness && false;"),
    ("a worker keeps its gradients over a restore", "worker/training_loop.c",
     "    go_idle(loop, now_ms, out);\n    loop->generation = run->generation;",
     "    loop->generation = run->generation;"),
    ("a worker mixes values of different steps", "worker/training_loop.c",
     "    if (equal || loop->config.mode == TRAIN_ASYNC) {", "    if (true || equal) {"),
    ("a worker trains past the end", "worker/training_loop.c",
     "    if (loop->phase != RUN_RUNNING || loop->step >= loop->until) { return; }",
     "    if (loop->phase != RUN_RUNNING) { return; }"),
    ("what was sent on a broken connection is not sent again", "worker/training_loop.c",
     "    ps->up = up;\n    ps->asked = false;\n    ps->sent = 0;", "    ps->up = up;"),
    ("a lost report is not sent again", "common/node/membership.c",
     "    if (m->acknowledged < m->sent) { return m->sent_at_ms + REPORT_RESEND_MS; }\n    return m->sent_at_ms + REPORT_REFRESH_MS;",
     "    return UINT64_MAX - (m->sent_at_ms + REPORT_RESEND_MS + REPORT_REFRESH_MS) * 0;"),
    ("a read whose answer is lost is not repeated", "common/zk/mirror.c",
     "    return mirror->state == MIRROR_RETRYING ? mirror->retry_at_ms : UINT64_MAX;",
     "    return mirror->state == MIRROR_RETRYING ? UINT64_MAX - 1 : UINT64_MAX;"),
]


def copy_tree(root, target):
    names = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True).stdout
    for name in names.decode().split("\0"):
        if not name or not os.path.exists(os.path.join(root, name)):
            continue
        os.makedirs(os.path.dirname(os.path.join(target, name)) or ".", exist_ok=True)
        shutil.copy2(os.path.join(root, name), os.path.join(target, name))


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def build(tree):
    return run(["ninja", "-C", os.path.join(tree, "build"), "sim"])


def hunt(tree, seeds, jobs):
    """Number of the seed that noticed, and what it said; None: nobody did."""
    step = 100
    for first in range(1, seeds + 1, step):
        found = run([os.path.join(tree, "build/bin/sim"), str(first), str(min(step, seeds - first + 1)),
                     "--jobs", str(jobs), "--no-shrink", "--quiet"])
        failed = re.findall(r"seed (\d+) FAILED: (.*)", found.stdout)
        if failed:
            seed, words = min(failed, key=lambda pair: int(pair[0]))
            return int(seed), words
        if found.returncode != 0:
            words = (found.stderr.strip().splitlines() or ["crashed"])[-1]
            return first, words
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    wanted = options.only.split("|") if options.only else [""]
    mutants = [m for m in MUTANTS if any(part in m[0] for part in wanted)]
    if options.list:
        print("\n".join(name for name, *_ in mutants))
        return 0
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    escaped = 0
    with tempfile.TemporaryDirectory(prefix="tanist-mutants-") as tree:
        copy_tree(root, tree)
        made = run(["cmake", "-G", "Ninja", "-S", tree, "-B", os.path.join(tree, "build"), "-DTANIST_BENCH=OFF"])
        made = made if made.returncode != 0 else build(tree)
        if made.returncode != 0:
            print(made.stdout[-2000:], made.stderr[-2000:])
            return 1
        for name, file, *changes in mutants:
            path = os.path.join(tree, file)
            source = open(path).read()
            changes = changes[0] if len(changes) == 1 else [tuple(changes)]
            if any(source.count(old) != 1 for old, _ in changes):
                print(f"STALE    {name}: its text is not once in {file}")
                escaped += 1
                continue
            planted = source
            for old, new in changes:
                planted = planted.replace(old, new)
            with open(path, "w") as out:
                out.write(planted)
            made = build(tree)
            found = hunt(tree, options.seeds, options.jobs) if made.returncode == 0 else None
            if made.returncode != 0:
                print(f"NO BUILD {name}\n{made.stdout[-1500:]}")
                escaped += 1
            elif found is None:
                print(f"ESCAPED  {name}: {options.seeds} seeds saw nothing")
                escaped += 1
            else:
                print(f"found    {name}: seed {found[0]}: {found[1][:110]}")
            sys.stdout.flush()
            with open(path, "w") as out:
                out.write(source)
    print(f"{len(mutants) - escaped} of {len(mutants)} planted bugs found")
    return 1 if escaped else 0


if __name__ == "__main__":
    sys.exit(main())
