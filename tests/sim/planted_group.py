"""Planted errors of the attempts of groups (G1), which a unit test finds sooner than a seed: rows of planted.py."""

PLANTED = [
    ("a group is complete before its members are ready", "group/attempt.c",
     "    return attempt->begun && all(attempt, attempt->ready);", "    return attempt->begun;",
     ["test_group_attempt"], "unit.group_attempt"),
    ("the next attempt has the number of the last one", "group/attempt.c",
     "        if (attempt->begun) { end(attempt, attempt->number + 1, out); }",
     "        if (attempt->begun) { end(attempt, attempt->number, out); }",
     ["test_group_attempt"], "unit.group_attempt"),
    ("READY of a former attempt counts", "group/attempt.c",
     "event->number != attempt->number || !attempt->begun) { return; }", "!attempt->begun) { return; }",
     ["test_group_attempt"], "unit.group_attempt"),
    ("a connection that replaces another one ends no attempt", "group/attempt.c",
     "        link_down(attempt, event->member, out);\n        attempt->up[event->member] = true;",
     "        attempt->up[event->member] = true;",
     ["test_group_attempt"], "unit.group_attempt"),
]
