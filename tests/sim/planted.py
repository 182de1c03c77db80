#!/usr/bin/env python3
"""Planted errors that a normal test of ./test.sh must find, each with that test.

Unlike those of mutants.py, they are not errors of the protocol alone: the tests are those of the store, the
agent, the digest, of graphs (planted_graph.py), groups (planted_group.py) and
replicas (planted_replicas.py). Each is built in a copy of the tree, and passes if its test fails.
"""

import argparse
import os
import sys
import tempfile

import mutants
import planted_graph
import planted_group
import planted_replicas

# (name, file, text, replacement, targets to build, test that must fail)
PLANTED = [
    ("a stale manifest is used", "coordinator/chief_plan.c", None, None, ["sim"], "sim.seeds"),
    ("copied values do not replace pages in shared memory", "worker/value_array.c",
     "    if (range->memory == 0) { return true; }\n    uint8_t *to", "    if (range->bytes > 0) { return true; }\n    uint8_t *to",
     ["test_worker_value_array"], "unit.worker_value_array"),
    ("pages of another memory at the same address stay in the array", "worker/value_array.c",
     "    if (range->memory != body->memory || range->from != from) {",
     "    if (range->memory == 0 || range->from != from) {",
     ["test_worker_value_array"], "unit.worker_value_array"),
    ("chunks that do not follow each other count as one answer in shared memory", "worker/value_array.c",
     "           (const uint8_t *)body->data == (const uint8_t *)held->data + held->size;", "           held->size > 0;",
     ["test_worker_value_array"], "unit.worker_value_array"),
    ("pages of former values stay in the array of a worker", "worker/value_array.c",
     "        if (array->sharing == VALUES_BY_ANSWER) { (void)restore(array, range); }\n", "",
     ["test_worker_value_array"], "unit.worker_value_array"),
    ("a loan ends when its first part is returned", "common/net/loans.c",
     "        account->lent[i]++;\n", "        account->lent[i] = atomic_load(&account->shared->returned[i]) + 1;\n",
     ["test_common_net_loans"], "unit.common_net_loans"),
    ("values in shared memory begin at another line", "common/net/slots.c",
     "is_values ? header->first % SLOT_PAGE_LINES", "is_values ? header->first % 2",
     ["test_common_net_slots"], "unit.common_net_slots"),
    ("another body is put into a reserved slot", "common/net/slots.c",
     " || (i == SLOT_RESERVABLE && is_reserved(sender))) {", ") {",
     ["test_common_net_slots"], "unit.common_net_slots"),
    ("a gradient that may be sent again is overwritten", "worker/gradient_array.c",
     "array->memory == NULL || !buffer_is_exclusive(array->memory)) {", "array->memory == NULL) {",
     ["test_worker_gradients"], "unit.worker_gradients"),
    ("a slot is reserved while the receiver reads it", "common/net/slots.c",
     " || is_reserved(sender) || !is_returned(sender, SLOT_RESERVABLE)) {", " || is_reserved(sender)) {",
     ["test_common_net_lane"], "unit.common_net_lane"),
    ("values are overwritten while a worker reads them", "common/net/loans.c",
     "        if (take_count_is_free(&account->shared->returned[i], account->lent[i])) {",
     "        if (account->lent[i] > 0) {",
     ["test_common_net_loans"], "unit.common_net_loans"),
    ("loans end with their lane although the worker still reads", "common/net/loans.c",
     "        if (!loan_locks_held(loans->memory.fd, account->lock, 1)) {", "        if (account->lock > 0) {",
     ["test_common_net_loans"], "unit.common_net_loans"),
    ("a ps overwrites values that its predecessor has lent", "common/net/loans.c",
     "    if (!loans->former || former_peers_exist(loans)) {", "    if (!loans->former || (former_peers_exist(loans) && false)) {",
     ["test_common_net_loans"], "unit.common_net_loans"),
    ("a listener without descriptors keeps a core busy", "common/net/lane_listener.c",
     "listener->fd >= 0 && !listener->starved && free_place", "listener->fd >= 0 && free_place",
     ["test_lane_listener"], "contract.lane_listener"),
    ("slots of another size stay held back", "common/net/loans.c",
     "    forget_former(loans);\n    collect(account);\n", "    if (slot != BUFFER_NO_SLOT) { forget_former(loans); }\n    collect(account);\n",
     ["test_common_net_loans"], "unit.common_net_loans"),
    ("a ps overwrites values that it cannot know to be returned", "ps/kept_memory.c",
     "    buffer_pool_hold_back(kept->slots, load(&head->lent));\n", "",
     ["test_ps_kept_memory"], "unit.ps_kept_memory"),
    ("a ps removes the best checkpoint of a commit that it has not read", "ps/checkpoint_retention.c",
     "    if (client->retention.wanted != client->retention.current &&", "    if (false &&",
     ["test_ps_checkpoint_retention"], "unit.ps_checkpoint_retention"),
    ("a shard is not synced", "ps/store/store_file.c",
     "    if (fsync(file->fd) != 0) {", "    if (file == NULL) {",
     ["test_store_crash_states"], "contract.store_crash_states"),
    ("the folder of a shard is not synced", "ps/store/store_folder.c",
     "    enum tn_status status = files_sync_folder(path, error);\n    if (status != TN_OK) { return status; }\n",
     "    enum tn_status status = TN_OK;\n",
     ["test_store_crash_states"], "contract.store_crash_states"),
    ("the folder of a checkpoint is not synced", "ps/store/store_folder.c",
     "    status = files_sync_folder(path, error);\n", "",
     ["test_store_crash_states"], "contract.store_crash_states"),
    ("a manifest is removed without a sync before its shards", "ps/store/store_folder.c",
     "    if (failed == 0 && fsync(checkpoint) != 0) { failed = errno; }\n", "",
     ["test_store_crash_states"], "contract.store_crash_states"),
    ("workers wait for rows whose question was given up", "worker/row_sharing.c",
     "    case ROW_NEWS_ABANDONED: row_set_asker(other, to, at, ROW_FREE); return true;",
     "    case ROW_NEWS_ABANDONED: return true;",
     ["test_worker_row_sharing"], "unit.worker_row_sharing"),
    ("workers wait for rows that a worker which has left had asked for", "worker/row_sharing.c",
     "        row_sharing_announce(lookup, p, (struct row_cursor){0}, end, ROW_NEWS_ABANDONED);\n", "        (void)end;\n",
     ["test_worker_row_sharing"], "unit.worker_row_sharing"),
    ("an agent runs the former number of workers after a change", "agent/agent_change.c",
     "    adopt_workers(agent);\n", "    if (ps > PS_MAX) { adopt_workers(agent); }\n",
     ["tanist"], "contract.scale"),
    ("sessions of dead nodes are not closed", "agent/agent.c",
     "&node.session) && !closed;", "&node.session) && !closed && false;",
     ["tanist"], "contract.kill"),
    ("the shard writer flips a bit", "ps/store/store.c",
     "        digest_encode(digest_of(floats, bytes), digest);\n",
     "        ((uint8_t *)(uintptr_t)floats)[0] ^= 1;\n        digest_encode(digest_of(floats, bytes), digest);\n",
     ["test_store"], "contract.store"),
    ("the digest of a shard's file is not compared", "ps/store/store_read.c",
     "    if (status != TN_OK || digest_equal(digest, part->digest)) { return status; }",
     "    if (status != TN_OK || digest.low != digest.high) { return status; }",
     ["test_store_scan"], "contract.store_scan"),
    ("a damaged chunk is accepted", "ps/store/store_scan.c",
     "    if (!digest_equal(digest_decode(digest), digest_of(data, bytes))) {", "    if (bytes == 0) {",
     ["test_store_scan"], "contract.store_scan"),
    ("the header of a large value is not checked", "ps/store/store_scan.c",
     "    if (item->value != NULL && item->value->large) {",
     "    if (item->value != NULL && item->value->large && item->bytes == 0) {",
     ["test_store_scan"], "contract.store_scan"),
    ("the digest is constant", "common/base/digest.c",
     "    return code_of_processor()->of(data, size);",
     "    (void)code_of_processor()->of(data, size);\n    return (struct digest){.high = 1, .low = 2};",
     ["test_common_base_digest"], "unit.common_base_digest"),
    ("async: the end is answered once the gate is reached", "ps/step_async.c",
     "(wanted >= s->until && s->step < s->until) || (wanted >= s->end && s->step < s->end)",
     "wanted >= s->until && s->step < s->until",
     ["test_ps_step_async"], "unit.ps_step_async"),
    ("a read-only registration is not replaced", "common/node/membership_register.c",
     "event->reason == ZK_REASON_NO_AUTH && !m->replaces", "event->reason == ZK_REASON_NO_AUTH && false",
     ["test_common_node_membership"], "unit.common_node_membership"),
    ("async: a push beyond the end is applied", "ps/step_async.c",
     "behind_due(s, step) || behind_end(s, step) || ps_gate_is_closed(s, step);",
     "behind_due(s, step) || (behind_end(s, step) && false) || ps_gate_is_closed(s, step);",
     ["test_ps_step_async"], "unit.ps_step_async"),
    ("async: gradients are sent beyond an end that has moved back", "worker/training_loop.c",
     "    return !loop->strategy->slice_updates || loop->step < loop->until;",
     "    return !loop->strategy->slice_updates || loop->step <= loop->until;",
     ["test_worker_training_loop_end"], "unit.worker_training_loop_end"),
    ("async: a push that is parked is replaced by another one", "ps/step_async.c",
     "    if (s->held_count[slice] != 0) {\n", "    if (s->held_count[slice] > 1) {\n",
     ["test_ps_step_async"], "unit.ps_step_async"),
    ("a ps whose arrays are in no slots does not train", "ps/kept_memory.c",
     "    assert(kept->head->records[valid % 2].record.begun == 0 ||\n           load(", "    assert(valid == UINT64_MAX ||\n           load(",
     ["test_ps_kept_memory"], "unit.ps_kept_memory"),
    ("the kept memory of another shard is accepted", "ps/kept_memory.c",
     "    const bool same = memcmp(head->identity, expected, sizeof expected) == 0;",
     "    const bool same = memcmp(head->identity, expected, 0) == 0;",
     ["test_ps_kept_memory"], "unit.ps_kept_memory"),
    ("the memory of a child that failed is kept", "agent/supervisor_faults.c",
     "    return child->signal == SIGKILL;", "    return child->signal == SIGKILL || child->exit_code != 0;",
     ["test_agent_supervisor"], "unit.agent_supervisor"),
    # Rules whose removal a unit test finds sooner than a seed would: P9, C13 to C16, E5.
    ("a ps does not wait for the order of a multiple", "ps/step_sync.c",
     "    return s->kept_checkpoint != 0 && step_is_multiple(s->step, s->config.checkpoint_every) &&",
     "    return s->kept_checkpoint != 0 && s->config.checkpoint_every == 0 &&",
     ["test_ps_step"], "unit.ps_step"),
    ("async: contributions do not wait for the order of a multiple", "ps/step_async.c",
     "    return s->save_due != 0 && step >= s->save_due && s->generation == s->ordered_generation;",
     "    return s->save_due != 0 && step > s->save_due + 1000 && s->generation == s->ordered_generation;",
     ["test_ps_step_async"], "unit.ps_step_async"),
    ("the values of an evaluation are not kept", "ps/step_sync.c",
     "    if (step_is_multiple(s->step, s->config.evaluate_every) && s->evaluate_step <= s->step) {",
     "    if (step_is_multiple(s->step, s->config.evaluate_every) && s->evaluate_step < s->step) {",
     ["test_ps_step"], "unit.ps_step"),
    ("a worker with other inputs gets slices", "coordinator/chief_inputs.c",
     "           inputs_agree(&run->inputs, own, c->config.same_bits);",
     "           (inputs_agree(&run->inputs, own, c->config.same_bits) || true);",
     ["test_coordinator_chief_inputs"], "unit.coordinator_chief_inputs"),
    ("a withdrawn order is not due again", "coordinator/chief_save.c",
     "    if (multiple) { run->save_due = u64_min(run->save_due, run->save_step); }\n", "    (void)multiple;\n",
     ["test_coordinator_chief_lost"], "unit.coordinator_chief_lost"),
    ("a deleted /run or /assignment is not written again", "coordinator/chief_lost.c",
     "    c->lost |= lost & rewritten;", "    c->lost |= lost & ~rewritten;",
     ["test_coordinator_chief_lost"], "unit.coordinator_chief_lost"),
    ("deleted manifests are not published again", "coordinator/chief_lost.c",
     "        if (!found) { out->republish[", "        if (!found && ids == NULL) { out->republish[",
     ["test_coordinator_chief_lost"], "unit.coordinator_chief_lost"),
    ("a chief whose /chief was deleted stays", "coordinator/chief_lost.c",
     "    if (lost & CHIEF_LOST_CHIEF) { return false; }\n", "",
     ["test_coordinator_chief_lost"], "unit.coordinator_chief_lost"),
    ("generations continue where a lost /run is remembered", "coordinator/chief_lost.c",
     "    run->generation += run->generation > 0 ? LOST_MARGIN : 0;\n", "",
     ["test_coordinator_chief_lost"], "unit.coordinator_chief_lost"),
    ("an epoch continues where /chief was lost", "coordinator/election.c",
     "    if (e->epoch > 0 || e->absent || e->damaged) { e->epoch += ELECTION_GAP; }\n", "",
     ["test_coordinator_election"], "unit.coordinator_election"),
    ("a gate that was passed does not move", "coordinator/chief_drain.c",
     "    } else if (reached > run->gate || p->late || has_passed(c, run)) {", "    } else if (p->late && reached == 0) {",
     ["test_coordinator_chief_drain"], "unit.coordinator_chief_drain"),
    ("a new chief takes the gate back", "coordinator/chief_drain.c",
     "        if (chief_has_reported(c, run)) { withdraw_gate(p); }", "        withdraw_gate(p);",
     ["test_coordinator_chief_drain"], "unit.coordinator_chief_drain"),
    ("a ps leaves before all have read of the gate", "coordinator/chief_drain.c",
     "        if (chief_holder(c, i)->report.gate != run->gate) { return false; }\n", "",
     ["test_coordinator_chief_drain"], "unit.coordinator_chief_drain"),
    ("a gate without workers forgets updates of some slices", "coordinator/chief_drain.c",
     "report->gate != run->gate || report->beyond != 0", "report->gate != run->gate",
     ["test_coordinator_chief_drain"], "unit.coordinator_chief_drain"),
    ("a gate stays at a step that a ps has begun", "coordinator/chief_drain.c",
     " || has_passed(c, run)) {", ") {",
     ["test_coordinator_chief_drain"], "unit.coordinator_chief_drain"),
    ("a held run starts over without its manifest", "coordinator/chief_load.c",
     "    if (from.id < run->held_checkpoint) {", "    if (from.id < run->held_checkpoint && from.id != 0) {",
     ["test_coordinator_chief_lost"], "unit.coordinator_chief_lost"),
    ("a denied folder is restored once", "coordinator/coordinator_restore.c",
     "        znode_watch_refresh(&c->root, zk, next_op);\n", "",
     ["test_coordinator_coordinator_restore"], "unit.coordinator_coordinator_restore"),
    ("a checkpoint of another disk is given up", "coordinator/chief_load.c",
     " || report->failed_load_missing != MISSING_MANIFEST) {", " || report->failed_load_missing == MISSING_NOTHING) {",
     ["test_coordinator_chief_lost"], "unit.coordinator_chief_lost"),
    ("a manifest counts as lost on a disk that was never used", "ps/checkpoint_client.c",
     "    return client->listed_all && was_saved ?", "    return client->listed_all || was_saved ?",
     ["test_ps_checkpoint_client"], "unit.ps_checkpoint_client"),
    ("a run is held although the manifest is lost for all", "coordinator/chief_load.c",
     "    if (older.id == 0 || !manifest_is_lost(p)) {", "    if (older.id != 0 || !manifest_is_lost(p)) {",
     ["test_coordinator_chief_lost"], "unit.coordinator_chief_lost"),
    ("a run is held for files that were deleted in turn", "coordinator/chief_load.c",
     " && !chief_is_superseded(p->c, run->load_checkpoint)", "",
     ["test_coordinator_chief_lost"], "unit.coordinator_chief_lost"),
    ("every missing file counts as deleted in turn", "coordinator/chief_write.c",
     "    return newer >= c->config.checkpoint_keep && ", "    return newer > 0 && ",
     ["test_coordinator_chief_lost"], "unit.coordinator_chief_lost"),
    ("a checkpoint that only a disk had is forgotten", "coordinator/chief_write.c",
     "    list_loaded(c);\n", "    (void)list_loaded;\n",
     ["test_coordinator_chief_lost"], "unit.coordinator_chief_lost"),
    ("a row that is listed twice is saved twice", "ps/table/row_table_save.c",
     "    table->twins = !committed || is_late(table);\n", "    table->twins = false;\n",
     ["test_ps_table_row_table"], "unit.ps_table_row_table"),
    ("a delta after a restart has rows twice", "ps/table/row_table_kept.c",
     "    table->twins = dirty > 0;\n", "", ["test_ps_table_row_table_kept"], "unit.ps_table_row_table_kept"),
    ("a load does not publish its manifest", "ps/checkpoint_client.c",
     "        checkpoint_publish(client, checkpoint);\n", "",
     ["test_ps_checkpoint_client"], "unit.ps_checkpoint_client"),
    ("a load keeps the gate", "coordinator/chief_load.c", "    run->gate = 0;\n", "",
     ["test_coordinator_chief_drain"], "unit.coordinator_chief_drain"),
    ("a worker that leaves gets slices", "coordinator/chief_assign.c",
     "run_wants_worker(p->run, i) && c->workers[i].report.leaving == 0 &&", "run_wants_worker(p->run, i) &&",
     ["test_coordinator_chief_drain"], "unit.coordinator_chief_drain"),
    ("a late worker keeps its slices", "coordinator/chief_assign.c",
     "(late || !c->workers[worker].straggler.is_late) &&", "(late || true) &&",
     ["test_coordinator_chief_late"], "unit.coordinator_chief_late"),
    ("a late worker gets slices before it reports", "coordinator/chief_late.c",
     "peer->reported && peer->heard_ms > it->since_ms &&", "peer->reported &&",
     ["test_coordinator_chief_late"], "unit.coordinator_chief_late"),
    ("workers are late although none is idle", "coordinator/chief_late.c",
     "w < c->config.workers && is_any_idle; w++", "w < c->config.workers; w++",
     ["test_coordinator_chief_late"], "unit.coordinator_chief_late"),
    ("a worker that evaluates is late", "coordinator/chief_late.c",
     "if (!may_evaluate(c, w)) {", "if (!(may_evaluate(c, w) && false)) {",
     ["test_coordinator_chief_late"], "unit.coordinator_chief_late"),
    ("the next worker has only the rest of the time for an evaluation", "coordinator/chief_late.c",
     "    if (begins) { peer->evaluates_ms = c->now_ms; }", "    if (begins) { peer->evaluates_ms = c->now_ms - 999; }",
     ["test_coordinator_chief_late"], "unit.coordinator_chief_late"),
    ("an evaluation for which all wait has no limit", "coordinator/chief_late.c",
     "    if (is_any_ready) { take_slices(c, worker); }", "    if (is_any_ready && c->now_ms == 0) { take_slices(c, worker); }",
     ["test_coordinator_chief_late"], "unit.coordinator_chief_late"),
    ("a worker that has just started is expected to evaluate in no time", "coordinator/chief_late.c",
     "        ms = u64_max(ms, c->workers[w].report.evaluation_ms);", "        ms = u64_max(ms, 0);",
     ["test_coordinator_chief_late"], "unit.coordinator_chief_late"),
    ("slices are late after a pause", "ps/step.c",
     "    if (s->phase != RUN_RUNNING) { lateness_stop(&s->lateness); }\n", "",
     ["test_ps_step_late"], "unit.ps_step_late"),
    ("the slowest worker raises the limit", "common/cluster/lateness.c",
     "covered < (slices + 1) / 2", "covered < slices",
     ["test_common_cluster_lateness"], "unit.common_cluster_lateness"),
    ("a report with other metrics counts as the same", "common/cluster/report.c",
     "           same_metrics(&x->metrics, &y->metrics) &&", "           (same_metrics(&x->metrics, &y->metrics) || true) &&",
     ["test_common_cluster_report"], "unit.common_cluster_report"),
    ("a chunk at a wrong offset is accepted", "common/net/chunks.c",
     "    if (before != (chunks->incomplete ? chunks->have : 0)) {", "    if (false) {",
     ["test_common_net_chunks"], "unit.common_net_chunks"),
    ("the chunks of a push are accepted first to last", "common/net/chunks.c",
     "wire_is_last_first(header->type) ? total - header->offset - bytes : header->offset;", "header->offset;",
     ["test_common_net_chunks"], "unit.common_net_chunks"),
    ("a part leaves before it is added to the left subtrees", "worker/compute.c",
     "    for (uint32_t depth = compute->last_depth; depth > 0; depth--) {\n        compute->config.kernels",
     "    for (uint32_t depth = compute->last_depth; depth > 1; depth--) {\n        compute->config.kernels",
     ["test_worker_compute"], "unit.worker_compute"),
    ("a gradient counts as final before its last instruction", "graph/program.c",
     "        while (done + 1 < until) {", "        while (done + 2 < until) {",
     ["test_worker_compute"], "unit.worker_compute"),
    ("a ps that lacks earlier nodes gets parts", "worker/training_loop.c",
     "loop->ps[i].sent != first_node)", "loop->ps[i].sent > first_node)",
     ["test_worker_training_loop_chunks"], "unit.worker_training_loop_chunks"),
    ("chunks of two generations make up a body", "common/net/chunks.c",
     "a->type == b->type && a->generation == b->generation &&", "a->type == b->type &&",
     ["test_common_net_chunks"], "unit.common_net_chunks"),
    ("a second save of rows begins before the first ends", "ps/step.c",
     "s->saves == (s->config.rows ? 1 : PS_SAVES_MAX)", "s->saves == PS_SAVES_MAX",
     ["test_ps_step_rows"], "unit.ps_step_rows"),
    ("a ps takes more memory while workers read retired values", "ps/shard_place.c",
     "shard->former != NULL && !buffer_is_exclusive(shard->former)", "shard == NULL",
     ["test_ps_push_place"], "unit.ps_push_place"),
    ("a late chunk is copied over new values", "ps/shard_place.c",
     "    return shard->next.done > shard->config.count - end;", "    (void)end;\n    return false;",
     ["test_ps_shard_place"], "unit.ps_shard_place"),
    ("a part of an update is made twice", "ps/shard.c",
     "    for (; next->done < until; next->done += count) {",
     "    next->done = until < shard->config.count ? 0 : next->done;\n    for (; next->done < until; next->done += count) {",
     ["test_ps_shard_place"], "unit.ps_shard_place"),
    ("a record shows an update without its progress", "ps/shard_kept.c",
     "    whole = whole && !(record->begun != 0 && lacks_progress);\n", "    (void)lacks_progress;\n",
     ["test_ps_kept_memory"], "unit.ps_kept_memory"),
    ("values grow through shared memory", "ps/step_sync.c",
     "        peer->by_lane = event->by_lane;\n", "", ["test_ps_step_parts"], "unit.ps_step_parts"),
    ("values that were given up are continued", "common/net/chunks.c",
     "        chunks->incomplete = false; /* Its sender has given it up. */\n", "",
     ["test_common_net_chunks"], "unit.common_net_chunks"),
    ("pages of a former answer stay below one that grows", "worker/value_array.c",
     "    if (array->sharing != VALUES_COPIED && (first || by_chunk)) {", "    if (by_chunk || (first && array->values == NULL)) {",
     ["test_worker_value_array"], "unit.worker_value_array"),
    ("a push that repeats slices ends the values of the step before", "ps/step_chunks.c",
     "    if (slice_set_has_all(&s->covered, node)) { return; }\n", "    (void)node;\n",
     ["test_ps_step_chunks"], "unit.ps_step_chunks"),
    ("a push counts without its first chunks", "ps/step_chunks.c",
     "    bool complete = peer->collected == event->chunk;\n", "    bool complete = true;\n",
     ["test_ps_step_chunks"], "unit.ps_step_chunks"),
    ("the last chunks of values count without the first ones", "worker/training_loop.c",
     "    if (event->number != ps->taken || (ps->taken > 0 && event->step != ps->held_step)) { return; }\n", "",
     ["test_worker_training_loop_chunks"], "unit.worker_training_loop_chunks"),
    ("the chunks of a broken connection count", "worker/training_loop.c",
     "    ps->sent = ps->taken = 0;\n    ps->retry_at_ms = 0;\n", "    ps->sent = 0;\n    ps->retry_at_ms = 0;\n",
     ["test_worker_training_loop_chunks"], "unit.worker_training_loop_chunks"),
]

STALE_MANIFEST = "a restore loads the checkpoint before the newest"


def resolved(planted):
    """The row with its changes; the stale manifest is the same change as in mutants.py."""
    name, path, old, new, targets, test = planted
    if old is not None:
        return name, path, [(old, new)], targets, test
    same = next(mutant for mutant in mutants.MUTANTS if mutant[0] == STALE_MANIFEST)
    return name, same[1], mutants.changes_of(same), targets, test


def is_found(tree, row):
    name, path, changes, targets, test = row
    file_path = os.path.join(tree, path)
    with open(file_path, encoding="utf-8") as file:
        source = file.read()
    changed = source
    for old, new in changes:
        changed = changed.replace(old, new)
    with open(file_path, "w", encoding="utf-8") as file:
        file.write(changed)
    build = os.path.join(tree, "build")
    made = mutants.run(["ninja", "-C", build, *targets])
    tested = mutants.run(["ctest", "--test-dir", build, "-R", f"^{test}$", "--no-tests=error"])
    with open(file_path, "w", encoding="utf-8") as file:
        file.write(source)
    if made.returncode != 0:
        print(f"NO BUILD {name}\n{made.stdout[-1500:]}", flush=True)
        return False
    found = "tests failed out of" in tested.stdout and "Not Run" not in tested.stdout and tested.returncode != 0
    print(f"{'found   ' if found else 'ESCAPED '} {name}: {test}", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a part of names")
    parser.add_argument("--check", action="store_true", help="only check that every error applies")
    options = parser.parse_args()
    planted_errors = [*PLANTED, *planted_graph.PLANTED, *planted_group.PLANTED, *planted_replicas.PLANTED]
    rows = [resolved(planted) for planted in planted_errors if options.only in planted[0]]
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    stale = [row[0] for row in rows if mutants.is_stale(root, (row[0], row[1], row[2]))]
    for name in stale:
        print(f"STALE    {name}: its text does not occur exactly once")
    if options.check or stale:
        print(f"{len(rows) - len(stale)} of {len(rows)} planted errors apply")
        return 1 if stale else 0
    with tempfile.TemporaryDirectory(prefix="tanist-planted-") as tree:
        mutants.copy_tree(root, tree)
        made = mutants.run(["cmake", "-G", "Ninja", "-S", tree, "-B", os.path.join(tree, "build"), "-DTANIST_BENCH=OFF"])
        if made.returncode != 0:
            print(made.stdout[-2000:], made.stderr[-2000:])
            return 1
        found = sum(is_found(tree, row) for row in rows)
    print(f"{found} of {len(rows)} planted errors found")
    return 0 if found == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
