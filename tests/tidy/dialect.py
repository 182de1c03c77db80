"""One way to write a thing in C: formats of fixed-width integers, minimum and maximum, layout."""

import re
from collections import Counter

from source import load

OPERAND = r"([\w.]+(?:(?:->|\.)\w+|\[[^\[\]]*\]|\([^()]*\))*)"
MINIMUM = re.compile(rf"{OPERAND}\s*[<>]=?\s*{OPERAND}\s*\?\s*(?:\1\s*:\s*\2|\2\s*:\s*\1)(?!\w)")
HELPER = re.compile(r"^static (?:inline )?\w+ ((?:min|max|smaller|larger|lesser|greater)(?:_\w+)?"
                    r"|\w+_(?:min|max))\((\w+) \w+, \2 \w+\)")
MINMAX = "common/base/minmax.h"

# (what it is called, pattern, whether strings are looked at, what to do)
RULES = (
    ("cast", re.compile(r"\((?:unsigned )?long long(?: int)?\)"), False,
     "a cast to long long; print with PRIu64 or PRId64"),
    ("format", re.compile(r"%[-+ 0#]*(?:\d+|\*)?(?:\.(?:\d+|\*))?ll[diouxX]"), True,
     "a format for long long; use PRIu64 or PRId64"),
    ("minimum", MINIMUM, False, f"a minimum or maximum by hand; use {MINMAX}"),
    ("minimum", re.compile(r"#\s*define\s+(?:MIN|MAX)\s*\("), False, f"a macro for it; use {MINMAX}"),
    ("minimum", HELPER, False, f"another function for it; use {MINMAX}"),
    ("broken", re.compile(r"^ +(?:const )?(?:(?:struct|enum) \w+|\w+_t|bool|char|double|[A-Z_]+ =)(?: \*)?\n +\S.*/\*", re.M),
     True, "a field is broken in two for its comment; put the comment above it"),
    ("comment", re.compile(r"^ *(?:/\* \S.*\n *\*/| \* \*/)$", re.M), True,
     "a comment ends on a line of its own; move its last word there"),
    ("unformatted", re.compile(r"clang-format off"), True,
     "clang-format is switched off; a comma after the last element keeps one row a line"),
)


def findings(root):
    """(path, line, name of the rule, what to do)"""
    for source in load(root):
        if source.path == MINMAX:
            continue
        for name, pattern, in_strings, what in RULES:
            text = "\n".join(source.lines if in_strings else source.code)
            for match in pattern.finditer(text) if pattern is not HELPER else ():
                yield source.path, text.count("\n", 0, match.start()) + 1, name, what
            if pattern is HELPER:
                for number, line in enumerate(source.code, 1):
                    if pattern.match(line):
                        yield source.path, number, name, what


def check(args):
    for path, number, _, what in findings(args.root):
        yield path, number, what


def count(args):
    """Prints the number of findings by folder and by rule. Returns their sum."""
    folders, rules = Counter(), Counter()
    for path, _, name, _ in findings(args.root):
        folders[path.rsplit("/", 1)[0]] += 1
        rules[name] += 1
    for title, counter in (("folder", folders), ("rule", rules)):
        print(f"by {title}:")
        for key, number in counter.most_common():
            print(f"{number:6} {key}")
    return sum(folders.values())
