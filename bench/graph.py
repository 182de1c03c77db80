#!/usr/bin/env python3
"""Figures of graphs: the worst relative error of a gradient over all operations and examples, in double precision
against central differences; planted errors and how many were found; the time to build a graph of 1,000 layers; and
the memory of each example over its lower bound.

  bench/graph.py [BUILD]      BUILD: the folder of a build, with the target bench_graph; default: build
  bench/graph.py -o json      for programs

Errors that are planted in the source: tests/sim/planted.py --only 'planner: ' and --only 'gradient: '.
Exit status: 0; 1 a gradient is wrong, or a planted error was not found.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LARGEST_ERROR = 1e-5


def lines_of(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def numbers(text, pattern):
    """The groups of each match, as numbers."""
    found = [[float(number) for number in match] for match in re.findall(pattern, text)]
    if not found:
        sys.exit(f"no line has the form '{pattern}':\n{text}")
    return found


def measure(build):
    jobs = sorted((ROOT / "examples").glob("*.json"))
    found = json.loads(lines_of(build / "bin/bench_graph", *jobs))
    [[operations, cases, worst]] = numbers(
        lines_of(build / "bin/test_graph_ops_registry"),
        r"(\d+) operations, (\d+) cases, worst relative error of a gradient (\S+)")
    found["operations"] = {"operations": int(operations), "cases": int(cases), "worst_gradient_error": worst}
    tests = lines_of(build / "bin/test_graph_check") + lines_of(build / "bin/test_graph_plan")
    planted = numbers(tests, r"(\d+) (?:gradients|overwrites) planted, (\d+) found")
    found["planted"] = {"errors": int(sum(row[0] for row in planted)), "found": int(sum(row[1] for row in planted))}
    found["worst_gradient_error"] = max([worst, *(example["worst_gradient_error"] for example in found["examples"])])
    return found


def print_table(found):
    print(f"{'EXAMPLE':18} {'PARAMETERS':>10} {'ARENA':>9} {'OVER LOWER BOUND':>17} {'GRADIENT ERROR':>15}")
    for row in found["examples"]:
        print(f"{row['name']:18} {row['parameters']:10} {row['arena_bytes']:9} {row['arena_over_lower_bound']:17.4f} "
              f"{row['worst_gradient_error']:15.1e}")
    operations, planted, deep = found["operations"], found["planted"], found["deep"]
    print(f"\n{operations['operations']} operations, {operations['cases']} cases: worst relative error of a gradient "
          f"{operations['worst_gradient_error']:.1e}; with the examples {found['worst_gradient_error']:.1e}\n"
          f"{planted['errors']} errors planted in plans and gradients, {planted['found']} found\n"
          f"a graph of {deep['layers']} layers: built in {deep['build_ms']} ms, compiled in {deep['compile_ms']} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    options = parser.parse_args()
    found = measure(options.build)
    if options.output == "json":
        print(json.dumps(found, indent=2))
    else:
        print_table(found)
    return 0 if found["worst_gradient_error"] < LARGEST_ERROR and \
        found["planted"]["errors"] == found["planted"]["found"] else 1


if __name__ == "__main__":
    sys.exit(main())
