"""Planted errors of the replicas (mirror/), each found by the simulator of replicas (sim.replicas); two that 10,000
seeds do not find, by the unit test, as those of the chief and of the tensors, which that simulator replaces."""

SIM = (["sim_replicas"], "sim.replicas")
UNIT = (["test_mirror_replica"], "unit.mirror_replica")
CHIEF = (["test_coordinator_chief_mirror"], "unit.coordinator_chief_mirror")
TENSORS = (["test_mirror_tensors"], "unit.mirror_tensors")


def plant(name, path, text, replacement, test=SIM):
    return (name, path, text, replacement, *test)


PLANTED = [
    plant("a push for the next step is ignored", "mirror/replica_frames.c",
          "    } else {\n        wait_for_sum(r, event, out);", "    } else if (step == r->step) {\n        wait_for_sum(r, event, out);"),
    plant("an owner that lacks a sum asks no peer", "mirror/replica_asks.c",
          "    if (!is_due || r->computing) { return; }", "    if (!is_due || r->config.workers > 0) { return; }"),
    plant("a worker that knows of one that is further does not compute", "mirror/replica.c",
          "    if (r->step >= limit(r)) { return; }\n    for (", "    if (r->step >= limit(r) || r->ahead != REPLICA_NONE) { return; }\n    for ("),
    plant("a new owner is not asked", "mirror/replica_asks.c",
          "    if (ask->to == peer) { return; }", "    if (ask->to != REPLICA_NONE) { return; }"),
    plant("held gradients are dropped when the range moves away", "mirror/replica.c",
          "    ranges_owners(assignment, r->config.workers, r->config.ranges, r->owners);",
          "    uint16_t before[RANGES_MAX];\n    memcpy(before, r->owners, sizeof before);\n"
          "    ranges_owners(assignment, r->config.workers, r->config.ranges, r->owners);\n"
          "    for (uint32_t i = 0; i < r->config.ranges; i++) {\n"
          "        if (before[i] != r->config.index || r->owners[i] == before[i]) { continue; }\n"
          "        memset(r->sums[i], 0, sizeof r->sums[i]);\n"
          "        for (uint32_t k = 0; k < r->waiter_count;) {\n"
          "            if (r->waiters[k].range == i) { replica_remove_waiter(r, k); } else { k++; }\n        }\n    }"),
    plant("a node below one that is held replaces it", "mirror/replica_sums.c",
          "    if (slice_set_has_all(&sum->covered, node)) { return false; }", "    if (sum->count[node.first] != 0) { return false; }"),
    plant("an early push is held for the present step", "mirror/replica_frames.c",
          "    struct replica_sum *sum = replica_sum_of(r, event->range, event->step);",
          "    struct replica_sum *sum = replica_sum_of(r, event->range, r->step);"),
    plant("a worker that receives GONE releases its values", "mirror/replica_frames.c",
          "            r->is_behind = true;\n", "            r->is_behind = true;\n            r->whole = false;\n"),
    plant("no step is computed while the run is stopping", "mirror/replica.c",
          "    if (!r->whole || !replica_is_active(r) || r->fetching || replica_is_busy(r)) { return; }",
          "    if (!r->whole || r->run.phase != RUN_RUNNING || r->fetching || replica_is_busy(r)) { return; }"),
    plant("values are adopted backwards", "mirror/replica_frames.c",
          "(r->whole && event->step <= r->step)", "(r->whole && event->step == r->step)"),
    plant("sums of the step before count after values were adopted", "mirror/replica_frames.c",
          "    replica_forget_step(r, out);\n    r->whole = true;",
          "    r->node_count = 0;\n    memset(&r->done, 0, sizeof r->done);\n    r->whole = true;"),
    plant("a checkpoint is saved after its step", "mirror/replica.c",
          "        const bool is_missed = r->step > run->save_step;", "        const bool is_missed = false;"),
    plant("a sum counts whatever its step", "mirror/replica_frames.c",
          "    if (event->step != r->step || r->have[event->range]) { return; }", "    if (r->have[event->range]) { return; }"),
    plant("a late question is answered with the newest sum", "mirror/replica_frames.c",
          "        replica_answer(r, event->conn, range, step, out);\n    } else if (step > r->step + 1)",
          "        replica_answer(r, event->conn, range, step < r->step ? r->step - 1 : step, out);\n    } else if (step > r->step + 1)"),
    plant("values are adopted while the chief counts", "mirror/replica_frames.c",
          " || !replica_is_active(r)) { return; }\n    if (replica_is_busy", ") { return; }\n    if (replica_is_busy"),
    plant("a load counts while the chief counts", "mirror/replica.c",
          "    const bool is_ordered = r->run.phase == RUN_LOADING || replica_is_active(r);",
          "    const bool is_ordered = r->run.phase != RUN_FORMING;", UNIT),
    plant("a question counts as sent on a new connection", "mirror/replica.c",
          "        if (ask->to != peer) { continue; }", "        if (ask->to != peer || peer < WORKERS_MAX) { continue; }"),
    plant("the writers of a checkpoint are the owners in each view", "mirror/replica.c",
          "        if (r->writers[range] != r->config.index) { continue; }", "        if (r->owners[range] != r->config.index) { continue; }"),
    plant("those that wait for a step that was jumped over hear nothing", "mirror/replica_frames.c",
          "        replica_refuse(r, waiter.conn, waiter.range, REPLICA_GONE, out);\n", ""),
    plant("a second GONE changes the peer that is asked for values", "mirror/replica_frames.c",
          "            if (!r->fetching) { r->donor", "            { r->donor"),
    plant("a worker gives its values to one that is as far", "mirror/replica_frames.c",
          "event->step == STEP_NONE || r->step > event->step;", "event->step == STEP_NONE || r->step + 1 > 0;", UNIT),
    plant("a step that must be evaluated is passed", "mirror/replica.c",
          "{ step = u64_min(step, r->run.evaluate_step); }", "{ step = u64_min(step, r->run.until); }"),
    plant("sums from before the adopted values count as kept", "mirror/replica_frames.c",
          "    r->step = r->kept_from = event->step;", "    r->step = event->step;"),
    plant("gradients held for a step that was jumped over stay", "mirror/replica_frames.c",
          "    const bool is_next = r->whole && step == r->step + 1;", "    const bool is_next = r->whole;"),
    plant("gradients are pushed before they are computed", "mirror/replica_asks.c",
          "        if (ask->sent < r->node_count && !r->computing)", "        if (ask->sent < r->node_count)"),
    plant("held gradients outlive their generation", "mirror/replica.c",
          "    memset(r->sums, 0, sizeof r->sums);\n", ""),
    plant("a replica acts in the generation of its values", "mirror/replica.c",
          "    r->whole = r->fetching = false;\n", "    r->fetching = false;\n"),
    plant("a checkpoint that was passed is not reported", "mirror/replica.c",
          "is_missed ? REPLICA_DO_MISS : REPLICA_DO_SAVE", "is_missed ? REPLICA_DO_DROP : REPLICA_DO_SAVE"),
    plant("a lost donor is waited for", "mirror/replica.c",
          "    r->fetching = r->is_behind = false;\n    r->fetch_at_ms", "    r->is_behind = false;\n    r->fetch_at_ms"),
    plant("the chief loads when the last reports name no holder", "tests/sim/replicas/chief.c",
          "        write_run(s, RUN_PAUSED);\n        return;", "        load(s);\n        return;"),
    plant("the chief loads before all have reported", "tests/sim/replicas/chief.c",
          "v->holders == 0 && v->unknown == 0) {\n        s->counts->pauses++;\n        write_run(s, RUN_PAUSED);",
          "v->holders == 0) {\n        s->counts->pauses++;\n        load(s);"),
    plant("the count is not awaited", "tests/sim/replicas/chief.c",
          "v.registered > 0 && v.counted == v.registered", "v.registered > 0"),
    plant("the chief waits for a writer that was lost", "coordinator/chief_mirror.c",
          "    writer->lost = peer->known && (!peer->present || peer->reported) && !writer->holds;\n",
          "    writer->lost = false;\n", CHIEF),
    plant("the chief counts a worker that may not know of the pause", "coordinator/chief_mirror.c",
          "    return peer->present && (!peer->reported || !is_counted(c, run, worker));",
          "    return peer->present && (!peer->reported || (!is_counted(c, run, worker) && false));", CHIEF),
    plant("a worker without values gets slices", "coordinator/chief_mirror.c",
          "    return chief_holds(c, run, worker) && chief_worker_agrees", "    return chief_worker_agrees", CHIEF),
    plant("a load has failed when one worker could not carry it out", "coordinator/chief_mirror.c",
          "        if (!chief_load_failed(c, run, i)) { return false; }", "        if (!chief_load_failed(c, run, i)) { continue; }",
          CHIEF),
    plant("a pushed gradient is held in the slot of another slice", "mirror/tensors.c",
          "    pushes->slots[node.first] = (struct range_sum)", "    pushes->slots[node.first / 2 * 2] = (struct range_sum)",
          TENSORS),
    plant("pushes of the next step replace those of the present one", "mirror/tensors.c",
          "    struct range_pushes *pushes = &tensors->pushes[range][step % 2];\n    assert(range < tensors->ranges);",
          "    struct range_pushes *pushes = &tensors->pushes[range][0];\n    assert(range < tensors->ranges);", TENSORS),
]
