#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How right predictions are on this machine after a calibration.

    tests/bench/accuracy.py [--shardctl build/release/bin/shardctl] [--hardware FILE] [--steps 9] [--repeats 5] [--json]

Calibrates (unless --hardware names a file that `shardctl calibrate` wrote), then runs a model of two layers on six meshes and
workloads that no constant was fitted to, and compares what was measured with what was predicted for that hardware: operations of 50 µs
and more, collectives of 1 MB and more, and steps. Times are medians over the steps of all repeats; the cases take turns, so that a machine that is
slow for a while is seen. A point whose samples spread by more than 4 % (distance of the quartiles by the median) is counted apart:
nothing predicts it better than it repeats itself.
Exit code 0: every mean is within the bound; 1: one is not. Other programs disturb it: the load is printed with the numbers.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

LEAST_SECONDS = 50e-6
LEAST_BYTES = 1_000_000
SPREAD = 0.04
BOUND = 0.08

MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816,
    "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 64, "num_hidden_layers": 2, "vocab_size": 8192,
    "rms_norm_eps": 1e-6, "max_position_embeddings": 4096, "tie_word_embeddings": False, "hidden_act": "silu",
    "torch_dtype": "float32",
}
CASES = [
    # name, mesh, preset, workload, batch, sequence
    ("prefill, tensor parallel", "model=4", "megatron-tp", "prefill", 2, 512),
    ("prefill, sequence parallel", "data=2,model=2", "tp-sp", "prefill", 4, 384),
    ("decode, tensor parallel", "model=4", "megatron-tp", "decode", 16, 1024),
    ("decode, data and tensor parallel", "data=2,model=2", "megatron-tp", "decode", 8, 512),
    ("train, FSDP", "fsdp=4", "fsdp", "train", 4, 256),
    ("train, FSDP and tensor parallel", "fsdp=2,model=2", "tp+fsdp", "train", 4, 192),
]


def shardctl(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"shardctl {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def spread(values):
    """The distance of the quartiles by the median."""
    if len(values) < 4 or min(values) <= 0:
        return 0.0
    first, _, third = statistics.quantiles(values, n=4)
    return (third - first) / statistics.median(values)


def steps_of(document):
    """Seconds of every step: its operations' samples, summed step by step where all have as many."""
    sums = [0.0] * document["steps"]
    for row in document["operations"]:
        each = len(row.get("samples", [])) // document["steps"]
        for step in range(document["steps"] if each else 0):
            sums[step] += sum(row["samples"][step * each:(step + 1) * each])
    return sums


def measure(program, design, steps, folder):
    profile = os.path.join(folder, "profile.json")
    shardctl(program, "run", design, "--layers", "2", "--steps", str(steps), "--profile", profile)
    with open(profile) as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shardctl", default="build/release/bin/shardctl")
    parser.add_argument("--hardware", help="what shardctl calibrate wrote; without it this machine is calibrated now")
    parser.add_argument("--steps", type=int, default=9)
    parser.add_argument("--repeats", type=int, default=5, help="of every case")
    parser.add_argument("--cases", default="", help="only those whose name has this in it")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    out = {"format": "shardboard-accuracy", "version": 1, "load_before": os.getloadavg()[0], "cases": []}
    with tempfile.TemporaryDirectory() as folder:
        hardware = given.hardware
        if hardware is None:
            hardware = os.path.join(folder, "here.json")
            shardctl(given.shardctl, "calibrate", "-o", hardware)
        with open(hardware) as file:
            out["fits"] = json.load(file).get("calibration", {}).get("fits", [])
        model = os.path.join(folder, "config.json")
        with open(model, "w") as file:
            json.dump(MODEL, file)
        cases = [case for case in CASES if given.cases in case[0]]
        measured = [[] for _ in cases]
        for at, (name, mesh, preset, workload, batch, sequence) in enumerate(cases):
            shardctl(given.shardctl, "new", "--model", model, "--mesh", mesh, "--preset", preset, "--workload", workload, "--batch",
                     str(batch), "--sequence", str(sequence), "--dtype", "f32", "--hardware", hardware, "-o",
                     os.path.join(folder, f"case{at}.shardboard"))
        for _ in range(given.repeats):  # all in turn, so that what disturbs one run does not disturb all of its case
            for at in range(len(cases)):
                measured[at].append(measure(given.shardctl, os.path.join(folder, f"case{at}.shardboard"), given.steps, folder))
        for (name, mesh, _, workload, _, _), documents in zip(cases, measured):
            rows = []
            for same in zip(*(document["operations"] for document in documents)):
                row = same[0]
                samples = [sample for one in same for sample in one.get("samples", [])]
                seconds = statistics.median(one["median_seconds"] for one in same)  # of the slowest device; samples are of all
                if seconds <= 0 or row["kind"] == "local-slice":
                    continue
                counts = row["executed_bytes"] >= LEAST_BYTES if row["collective"] else seconds >= LEAST_SECONDS
                if counts:
                    rows.append({"id": row["id"], "kind": row["kind"], "collective": row["collective"], "measured": seconds,
                                 "predicted": row["predicted_seconds"], "error": row["predicted_seconds"] / seconds - 1,
                                 "count": row["count"], "spread": spread(samples)})
            steps = [step for document in documents for step in steps_of(document)]
            step = statistics.median(document["step_seconds"]["median"] for document in documents)
            predicted = documents[0]["predicted_step_seconds"]
            out["cases"].append({"name": name, "mesh": mesh, "workload": workload, "measured": step, "predicted": predicted,
                                 "error": predicted / step - 1, "spread": spread(steps), "rows": rows})
    out["load_after"] = os.getloadavg()[0]
    everything = [row for case in out["cases"] for row in case["rows"]]
    rows = [row for row in everything if row["spread"] <= SPREAD]
    mean = lambda values: sum(abs(value) for value in values) / len(values) if values else None
    out["operations"] = mean([row["error"] for row in rows if not row["collective"]])
    out["collectives"] = mean([row["error"] for row in rows if row["collective"]])
    out["both"] = mean([row["error"] for row in rows])
    out["points"] = len(rows)
    out["spread_points"] = len(everything) - len(rows)
    out["with_spread"] = mean([row["error"] for row in everything])
    out["steps"] = mean([case["error"] for case in out["cases"]])
    if given.json:
        print(json.dumps(out, indent=1))
    else:
        for fit in out["fits"]:
            print(f"  fit of {fit['name']:<16} {fit['points']:>4} points, mean {100 * fit['mean']:5.1f} %, worst {100 * fit['worst']:5.1f} %")
        for case in out["cases"]:
            spreads = sum(1 for row in case["rows"] if row["spread"] > SPREAD)
            note = f"   {spreads} of {len(case['rows'])} points spread" if spreads else ""
            note += "" if case["spread"] <= SPREAD else f"   its steps spread by {100 * case['spread']:.0f} %"
            print(f"{case['name']:<34} {case['mesh']:<16} measured {1e3 * case['measured']:8.2f} ms, predicted "
                  f"{1e3 * case['predicted']:8.2f} ms, {100 * case['error']:+6.1f} %{note}")
            for row in sorted(case["rows"], key=lambda row: -abs(row["predicted"] - row["measured"]) * row["count"])[:6]:
                print(f"    {100 * row['error']:+6.1f} % (± {50 * row['spread']:4.1f} %)  {1e6 * row['measured']:9.1f} µs x {row['count']}  {row['kind']}  {row['id']}")
        text = lambda value: "none" if value is None else f"{100 * value:.1f} %"
        print(f"mean error: operations of 50 µs and more {text(out['operations'])}, collectives of 1 MB and more "
              f"{text(out['collectives'])}, both {text(out['both'])} of {out['points']} points; {out['spread_points']} more spread by more than "
              f"{100 * SPREAD:.0f} %, with them {text(out['with_spread'])}; steps {text(out['steps'])}; "
              f"load {out['load_before']:.1f} before, {out['load_after']:.1f} after")
    bad = [name for name in ("both", "steps") if out[name] is None or out[name] > BOUND]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
