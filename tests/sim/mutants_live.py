"""Planted bugs of changes of the job while it runs, and of workers that leave a run without ps: rows of mutants.py."""

MUTANTS = [
    ("a change forgets that an operator has paused the run", "cli/run/live_plan.c",
     "    out->pause_requested = now->pause_requested;\n", ""),
    ("a run that an operator stops is changed", "cli/run/live_plan.c",
     "    return run_is_over(&view->run) || ends_early(job, &view->run) ? LIVE_OVER : LIVE_WRITE;",
     "    return run_is_over(&view->run) && ends_early(job, &view->run) ? LIVE_OVER : LIVE_WRITE;"),
    ("a change starts over", "cli/run/live_plan.c",
     "    out->recovery.kind = RECOVERY_OPERATOR;\n",
     "    out->recovery.kind = RECOVERY_OPERATOR;\n    out->committed_checkpoint = out->committed_step = 0;\n"),
    ("an acceptance of a change that was refused is obeyed", "agent/job_change.c",
     "    change->stage = JOB_CHANGE_IDLE;\n    publish(change, CHANGE_REFUSED, text, zk);",
     "    change->stage = JOB_CHANGE_ANSWERING;\n    publish(change, CHANGE_REFUSED, text, zk);"),
    ("without ps, all workers leave without a gate", "coordinator/chief_mirror.c",
     "        *worker = i - 1;\n        found = true;", "        *worker = i - 1;\n        found = false;"),
    ("slices of workers that leave go to one that may be dead", "coordinator/chief_assign.c",
     "        if (stays && peer->heard_ms < c->departs_ms + CHIEF_DEPART_MS) { return false; }\n",
     "        if (stays && peer->heard_ms > c->now_ms) { return false; }\n"),
]
