#!/usr/bin/env python3
"""Counts the tests of one ctest run: prints `PASSED FAILED SKIPPED` and the names of the failed tests, and on stderr
each skipped test and the end of the output of each failed one.

  scripts/count_tests.py JUNIT.xml

A program that ran but skipped some of its cases (cmocka, unittest, "SKIPPED: reason") counts as passed, and
its skipped cases are counted as well.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

SKIPPED_CASES = (
    re.compile(r"^\[  SKIPPED \] (\d+) test\(s\)", re.MULTILINE),  # cmocka
    re.compile(r"^OK \(.*?skipped=(\d+)", re.MULTILINE),  # unittest
)
LINES_OF_A_FAILURE = 50
SKIPPED_LINE = re.compile(r"^SKIPPED: .*$", re.MULTILINE)


def skipped_cases(output):
    numbers = (int(number) for pattern in SKIPPED_CASES for number in pattern.findall(output))
    return sum(numbers) + len(SKIPPED_LINE.findall(output))


def print_failure(name, output):
    lines = output.splitlines()[-LINES_OF_A_FAILURE:]
    print(f"   FAILED: {name}", *(f"      {line}" for line in lines), sep="\n", file=sys.stderr)


def main():
    passed = skipped = 0
    failed = []
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        name, cases = case.get("name"), skipped_cases(case.findtext("system-out") or "")
        if case.find("failure") is not None:
            failed.append(name)
            print_failure(name, case.findtext("system-out") or "")
        elif case.find("skipped") is not None:
            skipped += 1
            print(f"   skipped: {name}", file=sys.stderr)
        else:
            passed += 1
        if cases > 0:
            skipped += cases
            print(f"   skipped: {cases} cases of {name}", file=sys.stderr)
    print(passed, len(failed), skipped, *failed)


if __name__ == "__main__":
    main()
