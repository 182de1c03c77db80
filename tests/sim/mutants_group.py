"""Planted bugs of groups of workers (section G and rule M13 of docs/protocol.md): rows of mutants.py. The scenarios of groups must
find them."""

SCENARIOS = ["group", "group-kills", "group-lost"]
SCENARIOS_WITHOUT_PS = ["group-mirror-survivor", "group-mirror", "group-mirror-lost"]

MUTANTS = [
    ("the head of an incomplete group is ready", "group/group_worker.c",
     "        report.ready = member_is_complete(worker->member);", "        report.ready = true;"),
    ("every member of a group is ready", "group/group_worker.c",
     "        .leaving = worker->drain_until_ms != 0,\n        .evaluation",
     "        .leaving = worker->drain_until_ms != 0,\n        .ready = member_is_ready(worker->member),\n        .evaluation"),
    ("a member is ready before it is connected to all others", "group/attempt.c",
     "attempt->number == 0 || !all(attempt, attempt->up)) { return; }",
     "attempt->number == 0 || !attempt->up[0]) { return; }"),
    ("a member does not report that it lost a connection", "group/attempt.c",
     "        act(out, ATTEMPT_DO_BROKEN, 0, attempt->number);\n", ""),
    ("the head continues without a member", "group/attempt.c",
     "        if (attempt->begun) { end(attempt, attempt->number + 1, out); }\n    } else if (member == 0) {",
     "    } else if (member == 0) {"),
    ("a member that begins a new attempt keeps the last one", "group/attempt.c",
     "    if (attempt->begun) { act(out, ATTEMPT_DO_RESET, 0, attempt->number); }",
     "    if (attempt->begun && is_head(attempt)) { act(out, ATTEMPT_DO_RESET, 0, attempt->number); }"),
    ("what arrived in the last attempt counts", "group/schedule.c",
     "    for (uint32_t slot = 0; slot < SCHEDULE_SLOTS; slot++) { clear(schedule, slot); }\n    schedule->present",
     "    schedule->present"),
    ("what arrived for the last attempt is used", "group/computation.c",
     "    schedule_reset(&computation->schedule);\n    for", "    for"),
    ("activations of an earlier slice are used", "group/schedule.c",
     "    clear(schedule, schedule->present);\n", ""),
    ("connections to ps outlive an attempt", "group/group_values.c",
     "    links_reset(&worker->links, worker->now_ms);\n", ""),
    ("a group that restarts continues its evaluation", "group/group_worker.c",
     "    group_evaluate_reset(worker);\n", ""),
    ("the gradient of a slice is added to another node of the tree", "group/computation.c",
     "        level += is_right;", "        level += !is_right;"),
    ("a gradient of a member is counted twice", "group/computation.c",
     "    for (; ends > 0; ends--, level--) {\n",
     "    if (computation->order.node.count == 1) { for (uint64_t i = 0; i < floats; i++) { sum[i] *= 2; } }\n    for (; ends > 0; ends--, level--) {\n"),
]

WITHOUT_PS = [
    ("without ps, every member of a group is ready", "mirror/mirror_group.c",
     "    if (!is_head(group)) { return false; }\n", "    if (!is_head(group)) { return member_is_ready(group->member); }\n"),
    ("without ps, the head of an incomplete group is ready", "mirror/mirror_worker.c",
     "        .ready = mirror_group_is_worker(worker),", "        .ready = worker->core.config.index % 2 == 0 || mirror_group_is_worker(worker),"),
    ("without ps, members compute with the values of an earlier step", "mirror/member_state.c",
     "copy->generation == generation && copy->step == step;",
     "copy->generation == generation && (copy->step == step || copy->step % 2 == 0);"),
    ("without ps, an order begins while the member is behind", "mirror/mirror_group.c",
     "    case MEMBER_HAS_NOT_YET: return MEMBER_WAITS;", "    case MEMBER_HAS_NOT_YET:\n        if (!worker->core.whole) { return MEMBER_WAITS; }\n        copy_values(worker);\n        break;"),
    ("without ps, an order that waits never begins", "mirror/mirror_group.c",
     "member_resume(group->member, &group->error);", "is_head(group) ? member_resume(group->member, &group->error) : TN_OK;"),
    ("without ps, the gradient of one member is missing", "mirror/mirror_group.c",
     "        part_vector_scatter(&group->parts, m,", "        part_vector_scatter(&group->parts, m == 1 ? 0 : m,"),
]
