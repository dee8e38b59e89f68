#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranges of predictions, from what published steps and memories were predicted to be.

usage: residuals.py PUBLISHED.json [--write FILE]

PUBLISHED.json is what `published.py --json` writes. Of each kind of run the least and the greatest of predicted / measured, of ten rows
or more without the outermost tenth at either end, and at least as far as 1, becomes a row of model/plan/time/residualtable.h; --write writes that file. A kind
with fewer than three rows takes those of the kind it is part of."""

import argparse
import json
import re
import sys

HEAD = """// SPDX-License-Identifier: Apache-2.0
// How far published steps and memories lie from what is predicted of them; written by tests/bench/residuals.py.
#pragma once

#include "model/plan/time/residuals.h"

namespace shardboard {

"""


def kind_of(row):
    """TPU, or GPU with experts or without, in fp8 or not."""
    options = row["options"]
    hardware = options[options.index("--hardware") + 1]
    if re.search(r"tpu|v\d[ep]", hardware, re.IGNORECASE) or row["group"].startswith("maxtext"):
        return "Tpu"
    experts = re.search(r"DSV3|DeepSeek|A3B|A22B|Mixtral|MoE|gpt-oss", row["title"], re.IGNORECASE)
    return "GpuExperts" if experts else "GpuDense"


def bounds(ratios):
    ratios = sorted(ratios)
    cut = len(ratios) // 10
    return min(1, ratios[cut]), max(1, ratios[-1 - cut])


def table(rows, key):
    kinds = {}
    for row in rows:
        if row.get(key):
            kinds.setdefault(kind_of(row), []).append(row)
            if not kind_of(row).startswith("Tpu"):
                kinds.setdefault("Gpu", []).append(row)
    out = []
    for kind in ("GpuDense", "GpuExperts", "Gpu", "Tpu"):
        known = kinds.get(kind, [])
        if len(known) < 3:
            continue
        least, most = bounds([row[key] for row in known])
        groups = sorted({row["group"] for row in known})
        out.append(f'    {{ ResidualKind::{kind}, {least:.3f}, {most:.3f}, {len(known)}, "{", ".join(groups)}" }},')
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("published", help="what published.py --json wrote")
    parser.add_argument("--write", metavar="FILE", help="the table to write")
    given = parser.parse_args()
    with open(given.published, encoding="utf-8") as file:
        rows = [row for row in json.load(file)["rows"] if "failed" not in row]
    text = HEAD
    for name, key in (("kStepResiduals", "ratio"), ("kMemoryResiduals", "memory_ratio")):
        # Steps are rated by tokens a second: predicted / measured of seconds is its inverse.
        if key == "ratio":
            rows = [{**row, "inverse": 1 / row["ratio"]} if row.get("ratio") else row for row in rows]
            key = "inverse"
        text += f"inline constexpr Residual {name}[] {{\n" + "\n".join(table(rows, key)) + "\n};\n\n"
    text += "} // namespace shardboard\n"
    if given.write:
        with open(given.write, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
