#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs shardctl solve on the instances of the IOPDDL contest and prints a table.

  tests/bench/solve_contest.py build/release/bin/shardctl FOLDER [A B …] [--time S]

FOLDER has the instances (*-A.json.gz, …) and reference.json with the best known costs, bounds, and time limits. The cost of each
answer and its memory are computed here again, from the file.
"""
import argparse
import collections
import gzip
import itertools
import json
import os
import pathlib
import subprocess
import sys
import time


def value_of(problem, assignment):
    """Cost, and whether the limit is kept, by the definition."""
    nodes, edges = problem["nodes"], problem["edges"]
    cost = sum(costs[s] for costs, s in zip(nodes["costs"], assignment))
    for (a, b), costs in zip(edges["nodes"], edges["costs"]):
        cost += costs[assignment[a] * len(nodes["costs"][b]) + assignment[b]]
    change = collections.Counter()
    for (begin, end), usages, s in zip(nodes["intervals"], nodes["usages"], assignment):
        if begin < end:
            change[begin] += usages[s]
            change[end] -= usages[s]
    most = max(itertools.accumulate(change[t] for t in sorted(change)), default=0)
    return cost, problem.get("usage_limit") is None or most <= problem["usage_limit"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shardctl")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--time", type=float, help="instead of the contest's time limits")
    arguments = parser.parse_args()
    reference = json.loads((arguments.folder / "reference.json").read_text())
    print("instance          cost  best/cost   lower bound  bound/best  seconds  cpu  load")
    score = 0.0
    failed = False
    for name in arguments.names or sorted(reference):
        known = reference[name]
        path = next(arguments.folder.glob(f"*-{name}.json*"))
        limit = arguments.time or known["contest_timeout_s"]
        before, began = os.times(), time.monotonic()
        run = subprocess.run([arguments.shardctl, "solve", path, "--time", str(limit), "--json"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, check=False)
        seconds, after = time.monotonic() - began, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        if run.returncode != 0:
            print(f"{name:8} failed with exit code {run.returncode}")
            failed = True
            continue
        answer = json.loads(run.stdout)
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path) as file:
            cost, feasible = value_of(json.load(file)["problem"], answer["assignment"])
        wrong = not feasible or cost != answer["cost"] or answer["lower_bound"] > cost or seconds > limit
        failed = failed or wrong
        ratio = known["best_known_cost"] / cost if feasible else 0.0
        score += ratio
        print(f"{name:8} {cost:13d} {ratio:10.5f} {answer['lower_bound']:13d}"
              f" {answer['lower_bound'] / known['best_published_lower_bound']:11.4f} {seconds:8.1f} {cpu:4.0f}"
              f" {os.getloadavg()[0]:5.1f}{'  WRONG' if wrong else ''}", flush=True)
    print(f"sum of best/cost {score:.4f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
