#!/usr/bin/env python3
"""Plants protocol bugs, one at a time, and counts the seeds until the simulator finds each.

    tests/sim/mutants.py [--seeds N] [--jobs J] [--only PART|PART] [--list]

Works on a copy of the tree. Exit status 1: N seeds did not find a bug, or the text of a mutant is no longer
in the sources.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

import mutants_group
import mutants_live
import mutants_tables

TIMEOUT_S = 600  # For 100 seeds, which take about 10 s.
SCENARIO_SEEDS = 20  # For each scenario; scenarios run before other seeds.

# (name, file, text in the sources, text that replaces it), or a list of such pairs of texts.
MUTANTS = [
    ("the chief's writes are not fenced", "coordinator/coordinator_write.c",
     [('    add(c, t, ZK_CHECK, "chief")->version = c->fence;\n    add_path(t, ZK_CHECK, c->candidate);',
       '    add(c, t, ZK_CHECK, "chief");'),
      ('c->run_form, "run", c->run_version)', 'c->run_form, "run", ZK_ANY_VERSION)')]),
    ("becoming chief does not raise the epoch", "coordinator/election.c", "    e->epoch++;\n", "    e->epoch += e->epoch == 0;\n"),
    ("values in shared memory are returned while a worker uses them", "worker/worker_actions.c",
     "    value_array_return(old);\n", "    value_array_return(worker->current);\n"),
    ("values in shared memory do not stay in use", "worker/value_array.c",
     "    range->held = buffer_retain(body);\n", ""),
    ("lent values end although a worker reads them", "common/net/loans.c",
     "        if (take_count_is_free(&account->shared->returned[i], account->lent[i])) {",
     "        if (account->lent[i] > 0) {"),
    ("lent values end with their lane", "common/net/loans.c",
     "        if (!loan_locks_held(loans->memory.fd, account->lock, 1)) {", "        if (account->lock > 0) {"),
    ("a ps forgets what its predecessor has lent", "common/net/loans.c",
     "    if (!loans->former || former_peers_exist(loans)) {", "    if (!loans->former || (former_peers_exist(loans) && false)) {"),
    ("a ps that is restarted twice forgets what the first one has lent", "common/net/loans.c",
     "    return loan_locks_held(fd, 0, loans->locks) || ", "    return "),
    ("a slot is lent without a note for the next ps", "common/net/loans.c",
     "    atomic_store(loans->memory.lent, lent | bit);\n", "    (void)lent;\n"),
    ("slots that are held back are written", "common/base/buffer.c",
     "    return slot < 64 && (pool->held_back >> slot & 1) != 0;", "    return slot < 64 && (pool->held_back >> slot & 1) != 0 && pool->slot_count > 64;"),
    ("a loan holds no reference to its values", "common/net/loans.c",
     [("    account->bodies[i] = buffer_retain(body);", "    account->bodies[i] = body;"),
      ("    buffer_release(account->bodies[i]);\n", "")]),
    ("gradients are written to the memory of a former connection", "worker/gradient_array.c",
     "(range->memory == place->memory && range->from == place->data)) {", "range->memory != 0) {"),
    ("a frozen worker keeps its slices", "coordinator/chief_late.c",
     "if (!may_evaluate(c, w)) {", "if (!may_evaluate(c, w) && c->now_ms == 0) {"),
    ("a worker that is frozen in the first evaluation keeps its slices", "coordinator/chief_late.c",
     "    const uint64_t least_ms = c->evaluation_ms == 0 ? CHIEF_LATE_FIRST_MS : 0;",
     "    const uint64_t least_ms = c->evaluation_ms == 0 ? COUNTER_MAX : 0;"),
    ("without ps, a frozen worker keeps its slices and ranges", "mirror/replica_late.c",
     "    const uint64_t periods = lateness_periods(&r->lateness, now_ms) / limits;",
     "    const uint64_t periods = lateness_periods(&r->lateness, now_ms) * 0 / limits;"),
    ("without ps, a frozen worker keeps its ranges when it has pushed", "mirror/replica_late.c",
     "        set = slices_of_owners(r);\n", "        (void)slices_of_owners(r);\n"),
    ("without ps, the slices of a late worker are computed for the step before", "mirror/mirror_actions.c",
     "        compute_one(worker, action->step, i);",
     "        compute_one(worker, action->step - (action->first_node > 0 && action->step > 0), i);"),
    ("reports of a dead incarnation count", "coordinator/chief.c",
     "    if (!peer->present || report->incarnation != peer->incarnation) {\n        chief_keep_early(peer, report);\n        return;\n    }",
     "    if (!peer->present) {\n        chief_keep_early(peer, report);\n        return;\n    }"),
    ("running is ordered when one ps has loaded", "coordinator/chief_strategy.c",
     "        if (!chief_holds(c, run, i)) { return false; }\n    }\n    return true;",
     "        if (chief_holds(c, run, i)) { return true; }\n    }\n    return false;"),
    ("a restarted ps is not detected", "coordinator/chief_strategy.c",
     "        bool other = chief_holder_reported(c, i) && !chief_holds(c, run, i);\n        if (!gone && !peer->lost && !other) { continue; }",
     "        bool other = false;\n        if (!gone && !other) { continue; }"),
    ("a restore does not start a new generation", "coordinator/chief_load.c",
     "    return highest + 1;", "    return highest + (highest == 0);"),
    ("committed before every shard is durable", "coordinator/chief_save.c",
     "    if (saved == shards) {", "    if (saved > 0) {"),
    ("a restore loads the checkpoint before the newest", "coordinator/chief_plan.c",
     "    plan_load(\n        p, (struct chief_checkpoint){.id = run->committed_checkpoint, .step = run->committed_step});\n"
     "}\n\n/* ------------------------------------------------------------ term",
     "    struct chief_checkpoint from = {0};\n"
     "    for (uint32_t i = 0; i < p->c->checkpoint_count; i++) {\n"
     "        if (p->c->checkpoints[i].id < run->committed_checkpoint) from = p->c->checkpoints[i];\n    }\n"
     "    plan_load(p, from);\n}\n\n/* ------------------------------------------------------------ term"),
    ("a ps accepts requests of an old generation", "ps/step.c",
     "    if (s->generation == event->generation && s->generation != 0) { return false; }",
     "    if (s->generation != 0) { return false; }"),
    ("a checkpoint that was missed keeps its id", "coordinator/chief_save.c",
     "    p->run->save_checkpoint = ++p->run->last_checkpoint;",
     "    p->run->last_checkpoint += p->run->last_checkpoint <= p->run->committed_checkpoint;\n"
     "    p->run->save_checkpoint = p->run->last_checkpoint;"),
    ("the newest checkpoint is deleted as well", "coordinator/chief_write.c",
     "        bool old = !wanted && loadable > c->config.checkpoint_keep;", "        bool old = !wanted;"),
    ("the epoch is not raised after a wipe", "coordinator/chief_write.c",
     "    return highest == c->epoch && c->committed ? 0 : highest;", "    (void)highest;\n    return 0;"),
    ("a shard is reported saved before it is durable", "ps/step.c",
     "    s->saving[s->saves].checkpoint = s->save_checkpoint;\n",
     "    s->saved_checkpoint = s->save_checkpoint;\n    s->saved_step = s->save_step;\n"
     "    s->saving[s->saves].checkpoint = s->save_checkpoint;\n"),
    ("a ps saves its state as that of another range", "ps/checkpoint_client.c",
     "        .shard = client->index,", "        .shard = (client->index + 1) % client->shards,"),
    ("a shard is saved at any step", "ps/step.c",
     "    if (missed || busy) {", "    if (busy) {"),
    ("the arrays of a checkpoint that must not be skipped are not kept", "ps/step.c",
     "    return ordered && must_save(s, step);", "    return ordered && must_save(s, step) && s->begun;"),
    ("a save that a death interrupted is not repeated", "ps/step_recover.c",
     "    s->save_handled = memory->saved_checkpoint;", "    s->save_handled = memory->save_handled;"),
    ("a restore forgets how many updates Adam has made", "ps/ps.c",
     "    ps->incoming_updates = metadata->optimizer_steps;", "    ps->incoming_updates = 0;"),
    ("a ps answers before it has applied", "ps/step_sync.c",
     "            return;\n        }\n        hold(s, event->conn, node, out);",
     "            return;\n        }\n        hold(s, event->conn, node, out);\n"
     "        ps_answer(s, out, event->conn, event->round, s->step + 1, VALUES_CURRENT);"),
    ("slices are summed in order of their number, not of the tree", "common/cluster/slices.c",
     "    assert(count == part_count - 1);",
     "    assert(count == part_count - 1);\n"
     "    for (uint32_t k = 0; k < count; k++) out[k] = (struct slice_sum){parts[0].first, parts[k + 1].first};"),
    ("a step is applied with a slice missing", "ps/step_sync.c",
     "    if (slice_set_count(&s->covered) < s->config.slices) {\n",
     "    if (slice_set_count(&s->covered) + (s->config.slices > 1) < s->config.slices) {\n"),
    ("the previous step is not kept", "ps/step_sync.c",
     "    s->has_previous = true;\n", ""),
    # P17: updates that follow the chunks of pushes.
    ("chunks count that a slice lacks", "ps/step_parts.c",
     "least = u32_min(least, collected[v]);", "least = u32_max(least % UINT32_MAX, collected[v]);"),
    ("chunks of a push of another step are applied", "ps/step_parts.c",
     "peer->pushed_step == s->step;", "(peer->pushed_step == s->step || s->config.chunks > 0);"),
    ("values are sent beyond the chunks that are updated", "ps/step_parts.c",
     "answer_chunks(s, peer, s->step + 1, s->parts_done, out); }",
     "answer_chunks(s, peer, s->step + 1, s->config.chunks, out); }"),
    ("nested pushes are added twice", "ps/step_parts.c",
     "first < s->config.slices; first += count) {", "first < s->config.slices; first++) {"),
    ("the place of a late push stays its own", "ps/ps_actions.c",
     "sum->array != NULL && sum->array == ps->shard.current[0]) {", "sum->array != NULL && sum->ended) {"),
    ("async: a repeated push is applied again", "ps/step_async.c",
     "    if (event->step < s->clock[slice] || being_applied) {",
     "    if (being_applied) {"),
    ("async: a slice past the ordered step does not spoil the cut", "ps/step_async.c",
     "        if (s->clock[v] > step) { return true; }",
     "        if (s->clock[v] > step && s->step > step) { return true; }"),
    ("a block that was half updated is accepted", "ps/shard_kept.c",
     "    kept_memory_copy_block(shard->config.kept, changed);",
     "    memset(changed, 0, sizeof changed);\n"
     "    kept_memory_copy_block(shard->config.kept, changed);"),
    ("a begun update is done again from its beginning", "ps/shard_kept.c",
     "    shard->next.done = kept_memory_done(shard->config.kept);", "    shard->next.done = 0;"),
    ("the memory shows the next step before its update is done", "ps/ps_actions.c",
     "    ps_kept_write(ps, step);\n", "    ps_kept_write(ps, step + 1);\n"),
    ("values are sent before the memory shows their step", "ps/ps_actions.c",
     "        ps_kept_write(ps, step + 1);\n", ""),
    ("the state of a begun update is saved", "ps/step_sync.c",
     "return s->step + s->begun > step;", "return s->step > step;"),
    ("a ps that returns has the generation that is ordered", "ps/step.c",
     "    if (other_run && s->recovered) { leave_generation(s, out); }",
     "    if (s->recovered || other_run) { s->generation = s->ordered_generation; }"),
    ("the previous step is not kept in memory", "ps/ps_kept.c",
     "                                   .has_previous = record.previous != BUFFER_NO_SLOT,",
     "                                   .has_previous = record.previous == KEPT_SLOTS,"),
    ("a save that its process did not end is begun again", "ps/ps_kept.c",
     "        .save_handled = core->save_handled,\n", ""),
    ("async: no worker waits for the slowest", "ps/step_async.c",
     "    return step > s->step && step - s->step > s->config.max_staleness;",
     "    return step > s->step && step - s->step > s->config.max_staleness && false;"),
    ("a worker keeps its gradients after a restore", "worker/training_loop.c",
     "    go_idle(loop, now_ms, out);\n    loop->generation = run->generation;",
     "    loop->generation = run->generation;"),
    ("a worker mixes values of different steps", "worker/training_loop.c",
     "    if (!goes_back && (equal || !loop->strategy->exact_steps)) {",
     "    if (!goes_back && (true || equal)) {"),
    ("a worker trains past the end", "worker/training_loop.c",
     "    return loop->phase == RUN_RUNNING && loop->step < loop->until && slice_set_count",
     "    return loop->phase == RUN_RUNNING && slice_set_count"),
    ("requests of a broken connection are not sent again", "worker/training_loop.c",
     "    ps->up = up;\n    ps->asked = ps->lookup_sent = false;\n    ps->sent = ps->taken = 0;",
     "    ps->up = up;\n    ps->taken = 0;"),
    ("a lost report is not sent again", "common/node/membership.c",
     "    if (m->acknowledged < m->sent) { return m->sent_at_ms + REPORT_RESEND_MS; }\n    return m->sent_at_ms + REPORT_REFRESH_MS;",
     "    return UINT64_MAX - (m->sent_at_ms + REPORT_RESEND_MS + REPORT_REFRESH_MS) * 0;"),
    ("a read whose answer is lost is not repeated", "common/zk/znode_watch.c",
     "    return watch->state == WATCH_RETRYING ? watch->retry_at_ms : UINT64_MAX;",
     "    (void)watch;\n    return UINT64_MAX;"),
    ("a ps answers a pull beyond the end that it knows", "ps/step_async.c",
     "(peer->wanted > s->until || peer->last) && follows_newer_order(s, peer)", "follows_newer_order(s, peer) && false"),
    ("async: an end that is moved back is not gathered again", "worker/training_loop.c",
     "until < loop->until && loop->step + 1 >= until", "until < loop->until && loop->step > until"),
    ("async: a worker that gathers computes its gradient again", "worker/training_loop.c",
     "    if (loop->strategy->exact_steps) { forget_gradients(loop, out); }", "    forget_gradients(loop, out);"),
    ("async: values are sent before the pushes of their worker are applied", "ps/step_async.c",
     "        if (has_parked(s, peer->conn, peer->wanted)) { continue; }\n", ""),
    ("async: a load leaves the clocks of slices as they are", "ps/step_async.c",
     "        s->clock[v] = clocks != NULL ? u64_max(clocks[v], s->step) : s->step;",
     "        s->clock[v] = u64_max(clocks != NULL ? clocks[v] : s->clock[v], s->step);"),
    # The gate and the multiples: P10, C14, C16.
    ("a ps passes the gate", "ps/step.c",
     "    return s->gate != 0 && step >= s->gate && s->generation == s->ordered_generation;",
     "    return s->gate != 0 && step > s->gate + 1000 && s->generation == s->ordered_generation;"),
    ("a drained ps leaves at once", "ps/ps.c",
     "    if (!may_leave && !late) { return; }\n", "    (void)late;\n"),
    ("a drain pauses the run before the commit", "coordinator/chief_drain.c",
     "    if (ends || !evaluated || !is_at_gate(c, run)) { return; }",
     "    if (ends || !evaluated || !c->strategy->is_held(c, run)) { return; }"),
    ("training stops at the gate and no ps may leave", "coordinator/chief_drain.c",
     "    if (ends || !evaluated || !is_at_gate(c, run)) { return; }",
     "    if (ends || !evaluated || !is_at_gate(c, run) || run->gate != 0) { return; }"),
    ("the run resumes while a drained ps is present", "coordinator/chief_plan.c",
     "    if (plan_watch_leaving(p)) { return; }\n", ""),
    ("a multiple of the checkpoints is left out", "coordinator/chief_save.c",
     "        p->run->save_due = chief_multiple_after(step, p->c->config.checkpoint_every_steps);",
     "        p->run->save_due = chief_multiple_after(step + p->c->config.checkpoint_every_steps, p->c->config.checkpoint_every_steps);"),
    ("a skipped checkpoint is not recorded", "coordinator/chief_save.c",
     "    struct history_entry *entry = plan_entry(p, HISTORY_SKIPPED);\n    entry->step = step;\n"
     "    text_set(entry->cause, sizeof entry->cause, cause);\n",
     "    (void)step;\n    (void)cause;\n"),
    ("the last checkpoint comes before the multiples", "coordinator/chief_save.c",
     "    return final_needed && near && !multiple_left ? run->until : STEP_NONE;",
     "    (void)multiple_left;\n    return final_needed && near ? run->until : STEP_NONE;"),
    ("a checkpoint is committed before its evaluations are known", "coordinator/chief_save.c",
     "        if (is_evaluated(p->run)) { commit(p); }", "        if (is_evaluated(p->run) || true) { commit(p); }"),
    ("an evaluation is left out", "coordinator/chief_evaluate.c",
     "    if (every > 0) { next = chief_multiple_after(passed, every); }",
     "    if (every > 0) { next = chief_multiple_after(passed + (passed > run->load_step ? every : 0), every); }"),
    # Starting over and pauses: I12, I13.
    ("a run starts over when it cannot load", "coordinator/chief_load.c",
     "        hold(p, index);\n        return;",
     "        if (index < PS_MAX) {\n            plan_load(p, (struct chief_checkpoint){0});\n        } else {\n"
     "            hold(p, index);\n        }\n        return;"),
    ("a pause ignores the step of the commit", "coordinator/chief_peers.c",
     "    uint64_t step = u64_max(run->load_step, run->committed_step);", "    uint64_t step = run->load_step;"),
    # Changes by other programs, and other data: C13, C15, E5.
    ("deleted folders are not created again", "coordinator/chief_lost.c",
     "    out->restore = lost & ~rewritten;", "    out->restore = 0;"),
    ("a chief that has never read /spec does not restore it", "coordinator/coordinator.c",
     "    if (config->spec != NULL) {", "    if (config->spec != NULL && c->now_ms > 0) {"),
    ("ids continue where a lost /run is remembered", "coordinator/chief_lost.c",
     [("    run->last_checkpoint += LOST_MARGIN;\n", ""), ("newest->id + LOST_MARGIN", "newest->id")]),
    ("a read-only /run is not replaced", "coordinator/coordinator_write.c",
     "        if (*form == WRITE_REPLACE) { return false; }\n        *form = WRITE_REPLACE;\n        return true;",
     "        return false;"),
    ("a read-only /chief is not replaced", "coordinator/election.c", "        e->denied = true;\n", ""),
    ("a chief that may not raise its epoch stays", "coordinator/coordinator_write.c",
     "    if (writing->raises && event->reason == ZK_REASON_NO_AUTH) {",
     "    if (writing->raises && event->reason == ZK_REASON_NONE) {"),
    # Parts of norms: P11.
    ("a part of a norm is not sent again", "ps/step_norm.c",
     "    if (s->measured) { send_part(s, ps, false, out); }", "    (void)out;"),
    ("the part of the step before is not sent again", "ps/step_norm.c",
     "    if (s->has_previous_part) { send_part(s, ps, true, out); }\n", ""),
    ("an update does not wait for the parts of other ps", "ps/step_norm.c",
     "    return s->measured && missing(s) == 0;", "    return s->measured;"),
    ("a part of an old step is held", "ps/step_norm.c",
     "                   event->step == s->step && !s->applying;", "                   !s->applying;"),
    ("a chunk of values is copied to a wrong place", "worker/worker_actions.c",
     "    const size_t offset = (size_t)action->chunk * worker->ports.transport.chunk_bytes;", "    const size_t offset = 0;"),
    ("values count before their last chunk", "worker/training_loop.c", "    if (event->more) { return; }\n", ""),
    ("a chunk of a push is summed at a wrong place", "ps/shard_sums.c", "->chunks[offset / chunk]->data", "->chunks[0]->data"),
    ("the chunks of a push are kept as they arrive", "ps/pushed_gradient.c",
     "    const uint32_t place = pushed->capacity - ++pushed->count;", "    const uint32_t place = pushed->count++;"),
    ("a part of a gradient leaves too early", "worker/worker_push.c",
     "    first = (first + chunk - 1) / chunk * chunk;", "    first = first / chunk * chunk;"),
    ("a worker with other data is not refused", "worker/worker.c",
     "    if (!run_is_over(run) &&\n", "    if (false && !run_is_over(run) &&\n"),
    ("the step at which a run stops early depends on the speed", "coordinator/chief_evaluate.c",
     "c->config.target_accuracy > 0 || c->config.early_stop.patience > 0;", "c->config.target_accuracy > 0;"),
    # The evaluator: C18.
    ("a result of the evaluator counts again", "coordinator/chief_evaluator.c",
     [("    run->evaluated_checkpoint = id;\n    run->evaluate_checkpoint = run->evaluate_checkpoint_step = 0;\n", ""),
      ("    if (newer) { count_result(p, id, found); }", "    if (newer || true) { count_result(p, id, found); }")]),
    ("an old result of the evaluator counts for another checkpoint", "coordinator/chief_evaluator.c",
     [("    if (peer->report.evaluated_checkpoint != id) { return; }\n", ""),
      ("    if (found->step != step) {", "    if (found->step == STEP_NONE) {")]),
    ("the order for the evaluator is not withdrawn", "coordinator/chief_evaluator.c",
     "    run->evaluated_checkpoint = id;\n    run->evaluate_checkpoint = run->evaluate_checkpoint_step = 0;\n",
     "    run->evaluated_checkpoint = id;\n"),
    ("a ps removes the checkpoint that is evaluated, and may be the best", "ps/checkpoint_retention.c",
     "    client->retention.held[HELD_EVALUATE] = run->evaluate_checkpoint;\n    client->retention.held[HELD_BEST] = run->best_checkpoint.checkpoint;\n", ""),
    ("a load forgets the best evaluation", "common/job/early_stop.c",
     "    if (run->best_step <= step) { return; }\n", "    (void)step;\n"),
    # Workers without ps: the driver of the replicas.
    ("an answer is continued on a new connection", "mirror/mirror_frames.c",
     "        assembly_reset(&worker->answers[peer]);\n        mirror_drop_fetched(worker, peer);\n        mirror_feed",
     "        mirror_drop_fetched(worker, peer);\n        mirror_feed"),
    ("the sum of the first range is applied to all", "mirror/mirror_actions.c",
     "tensors_sum(&worker->tensors, r, step)->body->data", "tensors_sum(&worker->tensors, 0, step)->body->data"),
    ("a worker does not report that it missed a checkpoint", "mirror/mirror_actions.c",
     "    case REPLICA_DO_MISS: miss(worker, action->checkpoint, true); break;", "    case REPLICA_DO_MISS: break;"),
] + mutants_tables.MUTANTS + mutants_live.MUTANTS + mutants_group.MUTANTS + mutants_group.WITHOUT_PS


def copy_tree(root, target):
    names = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True).stdout
    for name in names.decode().split("\0"):
        if not name or not os.path.exists(os.path.join(root, name)):
            continue
        os.makedirs(os.path.dirname(os.path.join(target, name)) or ".", exist_ok=True)
        shutil.copy2(os.path.join(root, name), os.path.join(target, name))


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def build(tree):
    return run(["ninja", "-C", os.path.join(tree, "build"), "sim"])


def tries_of(mutant, seeds):
    """The runs of the simulator, one after the other: (first seed, arguments)."""
    step = 100
    if mutant in mutants_group.MUTANTS + mutants_group.WITHOUT_PS:  # Other seeds have no groups. Most are found by the first few.
        without_ps = mutant in mutants_group.WITHOUT_PS
        scenarios = mutants_group.SCENARIOS_WITHOUT_PS if without_ps else mutants_group.SCENARIOS
        few = [(first, name, 5) for first in range(1, min(seeds, 20) + 1, 5) for name in scenarios]
        many = [(first, name, step) for first in range(21, seeds + 1, step) for name in scenarios]
        return [(first, ["--scenario", name, str(first), str(min(count, seeds - first + 1))])
                for first, name, count in few + many]
    tries = [(1, ["--scenario", "all", "1", str(SCENARIO_SEEDS)])]
    if mutant in mutants_tables.MUTANTS:  # Most are found by these, which take seconds.
        tries = [(first, ["--scenario", name, str(first), str(SCENARIO_SEEDS)])
                 for first in range(1, mutants_tables.SEEDS + 1, SCENARIO_SEEDS) for name in mutants_tables.SCENARIOS] + tries
    return tries + [(first, [str(first), str(min(step, seeds - first + 1))]) for first in range(1, seeds + 1, step)]


def find(tree, mutant, options):
    """(seed, message) of the first failure; None: no seed failed."""
    for first, what in tries_of(mutant, options.seeds):
        try:
            found = run([os.path.join(tree, "build/bin/sim"), *what, "--jobs", str(options.jobs), "--no-shrink", "--quiet"],
                        timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return first, f"a run did not end within {TIMEOUT_S} s"
        failed = re.findall(r"seed (\d+) FAILED: (.*)", found.stdout)
        if failed:
            seed, message = min(failed, key=lambda pair: int(pair[0]))
            return int(seed), message
        if found.returncode != 0:
            message = (found.stderr.strip().splitlines() or ["crashed"])[-1]
            return first, message
    return None


def changes_of(mutant):
    """The (text, replacement) pairs of a mutant."""
    return mutant[2] if len(mutant) == 3 else [mutant[2:]]


def is_stale(root, mutant):
    with open(os.path.join(root, mutant[1]), encoding="utf-8") as file:
        source = file.read()
    return any(source.count(old) != 1 for old, _ in changes_of(mutant))


def try_mutant(tree, mutant, options):
    """Builds and runs one mutant. Returns True when the simulator found it."""
    name, path = mutant[0], os.path.join(tree, mutant[1])
    with open(path, encoding="utf-8") as file:
        source = file.read()
    planted = source
    for old, new in changes_of(mutant):
        planted = planted.replace(old, new)
    with open(path, "w", encoding="utf-8") as file:
        file.write(planted)
    made = build(tree)
    found = find(tree, mutant, options) if made.returncode == 0 else None
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    if made.returncode != 0:
        print(f"NO BUILD {name}\n{made.stdout[-1500:]}", flush=True)
    elif found is None:
        print(f"ESCAPED  {name}: not found by {options.seeds} seeds", flush=True)
    else:
        print(f"found    {name}: seed {found[0]}: {found[1][:110]}", flush=True)
    return found is not None


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="parts of names, separated by |")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--check", action="store_true", help="only check that every mutant applies")
    return parser.parse_args(arguments)


def main():
    options = options_of(sys.argv[1:])
    wanted = options.only.split("|") if options.only else [""]
    mutants = [mutant for mutant in MUTANTS if any(part in mutant[0] for part in wanted)]
    if options.list:
        print("\n".join(mutant[0] for mutant in mutants))
        return 0
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    stale = [mutant for mutant in mutants if is_stale(root, mutant)]
    for mutant in stale:
        print(f"STALE    {mutant[0]}: its text does not occur exactly once in {mutant[1]}")
    if options.check:
        print(f"{len(mutants) - len(stale)} of {len(mutants)} mutants apply")
        return 1 if stale else 0
    with tempfile.TemporaryDirectory(prefix="tanist-mutants-") as tree:
        copy_tree(root, tree)
        made = run(["cmake", "-G", "Ninja", "-S", tree, "-B", os.path.join(tree, "build"), "-DTANIST_BENCH=OFF"])
        made = made if made.returncode != 0 else build(tree)
        if made.returncode != 0:
            print(made.stdout[-2000:], made.stderr[-2000:])
            return 1
        found = sum(try_mutant(tree, mutant, options) for mutant in mutants if mutant not in stale)
    print(f"{found} of {len(mutants)} planted bugs found")
    return 0 if found == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
