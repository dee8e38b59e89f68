#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of built-in families in resources/help/families.md: made from the family files and from what transformers_families.py and
families_run.py recorded, and families_sizes.json: of a model of real size the parameters, and who says so. Ends with 1 where the page has another table; with --write it is written. Needs no framework.
"""
import argparse
import json
import os
import sys

from families_run import FOLDER, family

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "resources", "help", "families.md")
HEADING = "## The built-in families\n"


def record(name):
    with open(os.path.join(HERE, name)) as file:
        return json.load(file)


def table():
    peers, runs = record("families_transformers.json"), record("families_cpu.json")
    version, sizes = peers["transformers"], record("families_sizes.json")
    rows, counts = [], {"planned": 0, "laid out": 0}
    for name in sorted(each[:-5] for each in os.listdir(FOLDER)):
        file = family(name)
        state = "planned" if file["planned"] else "laid out"
        counts[state] += 1
        also = file.get("also", []) if "also" in json.load(open(os.path.join(FOLDER, name + ".json"))) else []
        of = peers["families"].get(name, {}).get("result", "not asked")
        why = "" if file["planned"] else ": " + file["stops"][0]["say"]
        size = sizes.get(name)
        counted = f"{size['parameters']:,}, {size['model']} ({size['by']})" if size and file["planned"] else ""
        rows.append(f"| `{name}`{''.join(f', `{each}`' for each in also)} | {state}{why} | {of if file['planned'] else ''} | {runs.get(name, '')} | {counted} |")
    return (HEADING + "\n" + f"{counts['planned']} are planned, {counts['laid out']} {'has its' if counts['laid out'] == 1 else 'have their'} weights laid out without a plan. A planned one may "
            "stop at a config that asks for more than its file knows, and says then what is missing.\n"
            f"`transformers`: whether transformers {version} makes the same names and shapes of weights on its meta device; \"not asked\" are types that it\n"
            "does not have, or that its model cannot be made from. `CPU`: a small model, planned by three presets for prefill, decode, and training, and run with\n"
            "every operation compared with the unsharded computation. `parameters`: those of a config of real size are exactly so many, as transformers makes of the\n"
            "same config, or as published; the rest have not been held against a real size.\n\n"
            "| `model_type` | state | transformers | CPU | parameters |\n| --- | --- | --- | --- | --- |\n" + "\n".join(rows) + "\n")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--shardctl", help="is not needed")
    options.add_argument("--write", action="store_true")
    given = options.parse_args()
    with open(PAGE) as file:
        page = file.read()
    start = page.find(HEADING)
    end = page.find("\n## ", start + 1)
    rest = page[end:] if start >= 0 and end >= 0 else ""
    wanted = (page[:start] if start >= 0 else page.rstrip("\n") + "\n\n") + table() + rest
    if given.write:
        with open(PAGE, "w") as file:
            file.write(wanted)
    elif wanted != page:
        print("resources/help/families.md has another table: run tests/peers/family_table.py --write")
        return 1
    return 0


sys.exit(main())
