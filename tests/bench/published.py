#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted steps and memory against published measurements.

usage: published.py [--rows FILE] [--json] [--shardctl PROGRAM] [--group NAME] [--page FILE]

Every row becomes options of `shardctl new` and `shardctl plan`, and nothing is edited. Without --rows the rows beside this script are
taken. A row names hardware and model by what shardctl knows, or by files relative to its own file (hw/NAME.json, models/NAME). What it
used that no option says yet is in its `not_expressed`; a remark that nobody has taught this script to read is in `not_understood`.
--page writes the table as a page of the help. Exit code: 0, 1 when a row could not be planned, 2 when it was called wrongly."""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap

GIB = 1 << 30
WIDTH = 140  # of a page of the help
HERE = os.path.dirname(os.path.abspath(__file__))
OWN_ROWS = os.path.join(HERE, "published", "rows.json")

# --- What rows used beside their settings, by words of their remarks ------------------------------------------------------------
# (words, what says it): a list of options for `new`; a function of row and match that gives such a list; PARTS, where the preset's
# parts or an option made from another key of the row say it; HARDWARE or MODEL, where the file that the row names says it; or None,
# where nothing says it yet. The first line that matches counts. New options get their line here.
PARTS = "parts"
HARDWARE = "hardware"
MODEL = "model"  # its config.json says it


def front_loaded(row, match):
    """Megatron-Bridge's layouts of layers by hand: every run is full but for the last ones, which have the loss."""
    layers = int(match.group(1))
    runs = axis_size(row, STAGE) * max(1, row.get("chunks") or 1)
    each = -(-layers // runs)
    full, rest = divmod(layers, each)
    counts = [each] * full + ([rest] if rest else [])
    return ["--stage-layers", ",".join(str(n) for n in counts + [0] * (runs - len(counts)))]


def fp8(row, match):
    """The recipe that a remark names: one scale for a tensor (current scaling, TorchTitan's float8) unless it says another."""
    remark = match.string.lower()
    names = [("mxfp8", "mxfp8"), ("nvfp4", "nvfp4"), ("block", "blockwise"), ("rowwise", "rowwise"), ("delayed", "delayed")]
    gathers = re.search(r"gather", remark) is not None
    return ["--dtype", "f8e4m3", "--fp8", next((name for word, name in names if word in remark), "tensorwise")] + (["--fp8-gather"] if gathers else [])


def recomputed(row, match):
    """Parts that a remark names in its own words."""
    remark = match.string.lower()
    parts = [("norms", r"norm"), ("activations", r"swiglu|\bact|silu|gelu"), ("latent-up", r"mla|latent|up.?proj"),
             ("attention", r"core.?att|attention|scores|softmax"), ("mlp", r"\bmlp\b"), ("experts", r"\bmoe\b|experts")]
    named = [part for part, words in parts if re.search(words, remark)]
    return ["--recompute", ",".join(named)] if named else None


def every_layer(row, match):
    """One layer in so many is computed again, all of it unless the row says what."""
    word = next(group for group in match.groups() if group)
    every = {"second": "2", "third": "3", "fourth": "4"}.get(word, word)
    return ([] if row.get("recompute") not in (None, "none") else ["--recompute", "full"]) + ["--recompute-every", every]


def held_in(row, match):
    """The type of the optimizer's states, gradients or their reductions."""
    remark = match.string.lower()
    kinds = [("optimizer", r"moment|optimizer|states"), ("reductions", r"reduc"), ("gradients", r"gradients? (accumul|buffer|in)|main.?grad")]
    names = {"bf16": "bf16", "bfloat16": "bf16", "fp16": "f16", "fp32": "f32", "f32": "f32", "float32": "f32"}
    kind = next((kind for kind, words in kinds if re.search(words, remark)), None)
    found = re.search(r"\b(bf16|bfloat16|fp16|fp32|f32|float32)\b", remark)
    return ["--precision", f"{kind}={names[found.group(1)]}"] if kind and found else None


def offload(row, match):
    """What lies on the host, by the remark's words; of activations as many layers as it says."""
    remark = match.string.lower()
    kinds = [("optimizer", r"optimizer|moment|state"), ("weights", r"weight|param"), ("activations", r"activation|layers|recompute|carry")]
    what = [kind for kind, words in kinds if re.search(words, remark)] or ["activations"]
    layers = re.search(r"(\d+) (?:of \d+ )?layers|layers\D{0,6}(\d+)", remark)
    count = ["--offload-layers", layers.group(1) or layers.group(2)] if layers else []
    return ["--offload", ",".join(what), *count]


GAPS = [
    (r"virtual (stages|pipeline)|\bVPP?\b|interleaved", PARTS),
    (r"\bH[SF]DP\b|hybrid shard", PARTS),
    (r"PP with .* preset", PARTS),
    (r"CP with SP", PARTS),
    (r"FSDP shards over dp x cp|fsdp over dp x cp", PARTS),
    (r"experts .*over (fsdp|dp)|EP with (TP|FSDP|ETP)|ETP", PARTS),
    (r"embedding and loss counted|account_for_(embedding|loss)", ["--count-as-layers", "embedding,loss"]),
    (r"layout of (\d+) layers by hand", front_loaded),
    (r"ZB-?V|ZB-?H?2|V-?schedule|DualPipe-?V", None),
    (r"zero.?bubble|ZB-?H1|ZB1P", ["--schedule", "zero-bubble"]),
    (r"dual.?pipe", ["--schedule", "dualpipe"]),
    (r"\bgpipe\b", ["--schedule", "gpipe"]),
    (r"\b(GB300|GB200|B300|TPU v\w+) preset|torus shapes|hardware file", HARDWARE),
    (r"\bfp8\b|float8|MXFP8|NVFP4", fp8),
    (r"selective AC by op|every second matri", ["--recompute", "by-op"]),
    (r"(?:recompute|AC|checkpoint\w*|remat)\b(?: of)? every (second|third|fourth|\d+)\w* layer|"
     r"every (second|third|fourth|\d+)\w* layer\b.*(?:recompute|\bAC\b|checkpoint|remat)", every_layer),
    (r"full recompute of (\d+)", lambda row, match: ["--recompute", "full", "--recompute-layers", match.group(1)]),
    (r"(?:selective )?recompute of modules \(([^)]*)\)", lambda row, match: ["--recompute", re.sub(r"[\s;]+", "", match.group(1))]),
    (r"(?:selective )?recompute of ", recomputed),
    (r"remat policy by name .*taken as full", ["--recompute", "full"]),
    (r"remat policy by name \((\w+)", lambda row, match: ["--recompute", match.group(1)] if row.get("recompute") == "selective" else []),
    (r"offload", offload),
    (r"reshard_after_forward ?= ?False", ["--reshard-after-forward", "never"]),
    (r"(8|4)-?bit|fp8 (attention|optimizer|moments)|delayed (weight|wgrad)|split.?wgrad|delay.?wgrad", None),
    (r"(moments?|optimizer|states|gradients?|grads?|reduc\w*)\b.*\b(bf16|bfloat16|fp16|fp32|f32|float32)", held_in),
    (r"\b(bf16|bfloat16|fp16|fp32|f32|float32)\b.*(moments?|optimizer|states|gradients?|grads?|reduc)", held_in),
    (r"overlap of (the )?expert|expert all-to-all|(EP|MoE|A2A|all-to-all)\b.*overlap|overlap.*(\bEP\b|A2A|all-to-all|expert)",
     ["--overlap", "weights,experts"]),
    (r"async TP|TP overlap|user buffers", ["--overlap", "weights,tensor"]),
    (r"CUDA graphs?", ["--graphs"]),
    (r"host-bound|small launches", None),
    (r"HybridEP|DeepEP|dispatcher", ["--dispatch", "per-node"]),
    (r"(?:(\d+) )?(?:multi-token|MTP)", lambda row, match: ["--mtp", match.group(1) or "1"]),
    (r"no load balanc|without load balanc|in order", ["--context-order", "in-order"]),
    (r"zig.?zag|head.?tail|load.?balanc|SDPA in two parts", ["--context-order", "head-tail"]),
    (r"(fused|chunked|cut|liger).*(cross.?entropy|loss)", ["--loss", "fused"]),
    (r"loss parallel|vocab\w*.parallel", PARTS),
    (r"parallel attention|multi-query|grouped.query|GQA|MQA|squared ReLU|ALiBi|sliding window|tied embedding", MODEL),
    (r"capacity factor (?:of )?([\d.]+)", lambda row, match: ["--capacity-factor", match.group(1)]),
    (r"dropless", []),
    (r"\b(Muon|SGD|Adam)W?\b", lambda row, match: ["--optimizer", match.group(1).lower()]),
    (r"ZeRO-?1|distributed optimizer", lambda row, match: [] if row.get("zero1") else None),
    (r"optimizer|ZeRO", None),
]

# Whose memory a group of rows is of: by words of its name.
FRAMEWORKS = [(r"titan", "torchtitan"), (r"megatron|nemo|bridge", "megatron"), (r"maxtext", "maxtext"), (r"deepspeed|zero", "deepspeed")]

# What the runs of a group set that no row says: (words of its group, words of its model, options). Megatron-Bridge's performance
# scripts, and NeMo's before them, reduce gradients in bf16, in which they are added up, too (scripts/performance/configs,
# set_*_common_configs: grad_reduce_in_fp32 = False); for DeepSeek-V3 its recipe holds the moments in bf16 (recipes/deepseek/
# deepseek_v3.py: exp_avg_dtype, exp_avg_sq_dtype).
SETTINGS = [(r"bridge|nemo", r"deepseek|moonlight", ["--precision", "gradients=bf16,reductions=bf16,optimizer=bf16"]),
            (r"bridge|nemo", r"", ["--precision", "gradients=bf16,reductions=bf16"])]

# What runs beside the products in a framework where a row says that collectives of weights do: XLA on a TPU makes those asynchronous
# that it is told to, and MaxText's scripts for the v5e and v5p (MaxText/configs/v5e and v5p, LIBTPU_INIT_ARGS) name all-gathers
# alone (xla_enable_async_all_gather, xla_tpu_enable_async_collective_fusion_fuse_all_gather).
BESIDE = {"maxtext": {"weights": "weight-gathers"}}

# What is known of rows that are off by more than FAR: (words of their group, words of their title, what). Said in the page.
FAR = 0.3
WHY = [
    (r"bridge", r"Qwen3-30B-A3B H100",
     "In the release before, with tokens dropped, NVIDIA has 10,494 tokens/s for the same run, and later 12,488 in bf16 on as many GPUs, "
     "with HybridEP and in graphs (Megatron-Bridge#5094), which is predicted 1.3 times too fast. What took twice the time in between is "
     "not known; kernels, copies of tokens and the host, as the source has them, come to less than half of what was measured."),
    (r"bridge", r"Qwen3-30B-A3B B200",
     "With micro-batches of 4,096 tokens a step waits for the host, which is predicted from a count of its calls; what is not counted, "
     "such as Python's own collector, is missing. In the release before, with tokens dropped, it was 18,066 tokens/s."),
    (r"bridge", r"EP16 HybridEP, overlapped",
     "Without the overlap the same run is predicted 1.2 times too fast: the kernels of its layers are; which of them is not known."),
    (r"titan", r"8B .*CP 8",
     "Attention is measured 1.4 times slower for the same FLOPs than with one or two devices along the sequence, as in the 405B run "
     "with four. Its work is the same on all of them (PyTorch cuts from head and tail), and that keys and values of all 32 heads go "
     "around (torchtitan#1283) is 4 %: the rest is not explained."),
]

# --- What a row may be written like ------------------------------------------------------------------------------------------------
NUMBERS = ("batch", "sequence", "micro_batches", "chunks", "measured_tok", "measured_tflops", "tflops_per_token", "measured_gib")
WORDS = ("preset", "recompute", "overlap", "software", "dtype", "loss", "attention", "zero1", "mesh")
SAME = {"dtype": {"fp8": "f8e4m3", "float8": "f8e4m3", "f8": "f8e4m3", "bfloat16": "bf16", "fp16": "f16", "float16": "f16", "fp32": "f32"},
        "recompute": {"no": "none", "false": "none", "yes": "full"}, "preset": {"ddp": "dp", "zero3": "fsdp", "tp": "megatron-tp"}}


def number(row, key):
    """A number, also as text with commas; whole where it is one."""
    value = row[key]
    if isinstance(value, str):
        value = value.replace(",", "").replace("_", "").strip() or None
        try:
            value = None if value is None else float(value)
        except ValueError:
            raise ValueError(f"{key} is '{row[key]}', which is no number") from None
    if isinstance(value, bool) or not (value is None or isinstance(value, (int, float))):
        raise ValueError(f"{key} is {json.dumps(row[key])}, which is no number")
    if isinstance(value, float) and not math.isfinite(value) or value is not None and value < 0:
        raise ValueError(f"{key} is {row[key]}, which no run has")
    return int(value) if isinstance(value, float) and value.is_integer() else value


def plain_row(row):
    """The row with its keys as they are usually written. Raises ValueError with what is wrong."""
    if not isinstance(row, dict):
        raise ValueError(f"a row is an object with keys, not {json.dumps(row)[:60]}")
    out = dict(row)
    if isinstance(out.get("mesh"), dict):
        out["mesh"] = ",".join(f"{name}={size}" for name, size in out["mesh"].items())
    if out.get("zero1") is True:
        names = [part.split("=")[0].strip() for part in str(out.get("mesh")).split(",")]
        out["zero1"] = ",".join(name for name in names if name in DATA)
    for key in WORDS:
        if isinstance(out.get(key), list):
            out[key] = ",".join(str(part) for part in out[key])
        if out.get(key) is False:
            out[key] = None
        if out.get(key) is not None:
            out[key] = re.sub(r"\s+", "", str(out[key]))
            out[key] = out[key] if key in ("mesh", "zero1") else out[key].lower()
            out[key] = SAME.get(key, {}).get(out[key], out[key])
    for key in NUMBERS:
        if key in out:
            out[key] = number(out, key)
    for key in ("group", "title", "model", "hardware"):
        if out.get(key) is not None:
            out[key] = str(out[key])
    gaps = out.get("gaps") or []
    gaps = re.split(r"\s*;\s*", gaps) if isinstance(gaps, str) else gaps if isinstance(gaps, list) else [gaps]
    out["gaps"] = [gap if isinstance(gap, str) else json.dumps(gap) for gap in gaps if gap not in (None, "")]
    missing = [key for key in ("model", "mesh", "hardware", "batch", "sequence") if out.get(key) is None]
    if missing:
        raise ValueError("the row has no " + ", ".join(missing))
    if not all(re.fullmatch(r"[^=]+=\d+", part) for part in out["mesh"].split(",")):
        raise ValueError(f"mesh is '{out['mesh']}': it is written name=size,name=size")
    return out


# --- From a row to options ------------------------------------------------------------------------------------------------------
DATA = {"data", "dp", "replica", "data_parallel", "dp_replicate"}
STAGE = {"stage", "pp", "pipe", "pipeline", "stages"}
FSDP = {"fsdp", "zero", "dp_shard", "fully_sharded"}
TENSOR = {"model", "tp", "tensor", "mp", "tensor_parallel", "model_parallel"}
CONTEXT = {"context", "cp", "sequence", "seq", "sp", "context_parallel"}
EXPERT = {"expert", "ep", "experts", "expert_parallel"}
USUAL = {"micro_batches": 1, "recompute": "none", "overlap": "none", "attention": "flash", "software": "fused", "dtype": "bf16",
         "loss": "unfused", "preset": "replicate"}


def axes(row):
    return [(name, int(size)) for name, size in (part.split("=") for part in row["mesh"].split(","))]


def axis_size(row, names):
    return math.prod(size for name, size in axes(row) if name in names)


def has_axis(row, names):
    return any(name in names for name, _ in axes(row))


def preset_of(row):
    """The row's preset, and as parts what its other keys say of parallelism: a pipeline, sequence beside context parallel, weights
    sharded over the context axis, experts over fsdp."""
    asked = row.get("preset") or USUAL["preset"]
    parts = [{"megatron-tp": "tp", "pp-1f1b": "pp"}.get(part, part) for part in asked.split("+")]
    chunks = row.get("chunks") or 0
    staged = chunks > 0 or any(part.startswith("pp") for part in parts)
    experts = "ep" in parts and has_axis(row, FSDP)
    more = row.get("sp_cp") or row.get("fsdp_cp") or (staged and not any(part.startswith("pp") for part in parts)) or experts
    if "hsdp" in parts and not has_axis(row, DATA):  # one axis has no copies
        parts = ["fsdp" if part == "hsdp" else part for part in parts]
    elif not more:
        return asked
    if staged and not any(part.startswith("pp") for part in parts):
        parts.insert(0, "pp")
    if "replicate" in parts:
        parts.remove("replicate")
    if any(part.startswith("cp-") for part in parts):  # alone they use tensor and fsdp axes where these are there
        if has_axis(row, TENSOR) and not any(part in ("tp", "tp-sp") for part in parts):
            parts.append("tp-sp" if row.get("sp_cp") else "tp")
        if has_axis(row, FSDP) and "fsdp" not in parts and "hsdp" not in parts:
            parts.append("fsdp")
    if experts and "fsdp" not in parts and "hsdp" not in parts:
        parts.append("fsdp")
    if row.get("fsdp_cp"):
        parts = [{"fsdp": "fsdp-cp", "hsdp": "hsdp-cp"}.get(part, part) for part in parts]
    return "+".join(parts)


def read_gaps(row):
    """(options, remark) of the row's remarks that options say; remarks that nothing says yet; those that no line of the table reads."""
    options, not_expressed, not_understood = [], [], []
    for remark in row.get("gaps") or []:
        for words, says in GAPS:
            match = re.search(words, remark, re.IGNORECASE)
            if not match:
                continue
            try:
                said = says(row, match) if callable(says) else says
            except (ValueError, ArithmeticError):  # numbers that no run has
                said = None
            if isinstance(said, list):
                options.append((said, remark))
            elif said is None:
                not_expressed.append(remark)
            break
        else:
            not_understood.append(remark)
    return options, not_expressed, not_understood


def together(options, remarks=()):
    """An option that is given twice counts as said last, such as by a remark; what several remarks say of overlap or of types is
    joined; layers by hand leave nothing to count."""
    given = {}
    for words in (options, *remarks):
        for word in words:
            if word.startswith("--"):
                option, before = word, given.get(word, [])
                joins = option == "--precision" or (option == "--overlap" and any(option in other for other in remarks if other is not words))
                given[option] = list(before) if words is not options and joins and before else []
                if option == "--overlap" and joins and words is next(other for other in remarks if option in other):
                    given[option] = []  # the first of the remarks replaces what the row says
            else:
                given[option].append(word)
    for option in ("--overlap", "--precision"):
        if len(given.get(option, [])) > 1:
            parts = [part for value in given[option] for part in value.split(",")]
            kept = {part.split("=")[0]: part for part in parts}
            given[option] = [",".join(kept.values())]
    if "--stage-layers" in given:
        given.pop("--count-as-layers", None)
    return [word for option, values in given.items() for word in (option, *values)]


def framework_of(row):
    named = next((name for words, name in FRAMEWORKS if re.search(words, row.get("group") or "", re.IGNORECASE)), None)
    return ["--framework", named] if named else []


def settings_of(row):
    says = lambda words, key: re.search(words, row.get(key) or "", re.IGNORECASE)
    return next((options for group, model, options in SETTINGS if says(group, "group") and says(model, "model")), [])


def beside(folder, name, kinds):
    """A file of the rows, or the name itself, which shardctl knows."""
    for path in [os.path.join(folder, name)] + [os.path.join(folder, kind.format(name)) for kind in kinds]:
        if os.path.exists(path):
            return path
    return name


def new_options(row, folder):
    value = {key: row[key] if row.get(key) is not None else usual for key, usual in USUAL.items()}
    beside_products = BESIDE.get((framework_of(row) or [None])[-1], {})
    value["overlap"] = beside_products.get(value["overlap"], value["overlap"])
    options = ["--model", beside(folder, row["model"], ["models/{}/config.json"]), "--mesh", row["mesh"], "--preset", preset_of(row),
               "--hardware", beside(folder, row["hardware"], ["hw/{}.json"]), "--workload", "train", "--mtp", "0", "--batch", str(row["batch"]),
               "--sequence", str(row["sequence"]), "--micro-batches", str(value["micro_batches"]), "--recompute", value["recompute"],
               "--overlap", value["overlap"], "--attention", value["attention"], "--software", value["software"], "--dtype",
               value["dtype"], "--loss", value["loss"]]
    options += framework_of(row) + settings_of(row)
    if row.get("zero1"):
        options += ["--shard-optimizer", row["zero1"]]
    if (row.get("chunks") or 0) > 1:
        options += ["--virtual-stages", str(row["chunks"])]
    return options


# --- One row ----------------------------------------------------------------------------------------------------------------------
def shardctl(program, words):
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError((done.stderr.strip().splitlines() or ["shardctl failed"])[-1][:300])
    return done.stdout


def planned(program, options):
    with tempfile.TemporaryDirectory() as folder:
        design = os.path.join(folder, "row.shardboard")
        shardctl(program, ["new", *options, "-o", design])
        return json.loads(shardctl(program, ["plan", design, "--json"]))


def memory_of(plan, kind):
    """GiB of the fullest device as frameworks report it: without what lies outside of the allocator; allocated is without its
    reserve."""
    peak, causes = plan["memory"]["peak_bytes_per_device"], plan["memory"]["by_cause"]
    if plan.get("pipeline"):
        fullest = max(plan["pipeline"]["memory"], key=lambda stage: stage["peak_bytes_per_device"])
        peak, causes = fullest["peak_bytes_per_device"], fullest["by_cause"]
    return (peak - causes["runtime"] - (causes["reserve"] if kind == "allocated" else 0)) / GIB


def measure(row, folder, program):
    out = {key: row.get(key) if isinstance(row, dict) else None for key in ("id", "group", "title")}
    out.update(not_expressed=[], not_understood=[])
    try:
        row = plain_row(row)
        extra, not_expressed, not_understood = read_gaps(row)
        out.update(group=row.get("group"), title=row.get("title"), not_expressed=not_expressed, not_understood=not_understood)
        plain = new_options(row, folder)
        plan = None
        while plan is None:
            out["options"] = together(plain, [words for words, _ in extra])
            try:
                plan = planned(program, out["options"])
            except RuntimeError as refusal:  # what a remark asks for may not go with this mesh: then it is told, not taken
                if not extra:
                    raise
                out["not_expressed"].append(f"{extra[-1][1]} ({refusal})")
                extra = extra[:-1]
    except (RuntimeError, OSError, ValueError, KeyError, TypeError, ArithmeticError) as failure:
        return {**out, "failed": str(failure)}
    totals = plan["totals"]
    tokens = totals["tokens_per_second_per_device"]
    if row.get("measured_tok"):
        measured, predicted, unit = row["measured_tok"], tokens, "tokens/s/device"
    elif row.get("measured_tflops") and row.get("tflops_per_token"):
        measured, predicted, unit = row["measured_tflops"], tokens * row["tflops_per_token"], "TFLOP/s/device"
    else:
        measured, predicted, unit = None, tokens, "tokens/s/device"
    out.update(measured=measured, predicted=predicted, unit=unit, step_seconds=totals["seconds"],
               fits=plan["memory"]["fit"]["fits"], predicted_gib=memory_of(plan, row.get("memory_kind")),
               measured_gib=row.get("measured_gib"), ran="OOM" not in (row.get("title") or ""))
    if measured:
        out.update(ratio=predicted / measured, error=abs(predicted / measured - 1))
    if row.get("measured_gib"):
        out.update(memory_ratio=out["predicted_gib"] / row["measured_gib"],
                   memory_error=abs(out["predicted_gib"] / row["measured_gib"] - 1))
    return out


def first_word(row):
    return (row["title"] or "").split(" ")[0]


def pairs_in_order(rows):
    """Of pairs of rows of one model and group that differ by more than 5 %: how often the faster one is predicted to be faster."""
    kept = of = 0
    for index, one in enumerate(rows):
        for other in rows[:index]:
            alike = all(one[key] == other[key] for key in ("unit", "group")) and first_word(one) == first_word(other)
            if not alike or abs(one["measured"] / other["measured"] - 1) < 0.05:
                continue
            of += 1
            kept += (one["measured"] > other["measured"]) == (one["predicted"] > other["predicted"])
    return kept, of


def summary(rows):
    timed = [row for row in rows if "error" in row]
    held = [row for row in rows if "memory_error" in row]
    kept, of = pairs_in_order(timed)
    return {
        "mean_error": statistics.mean(row["error"] for row in timed) if timed else None,
        "median_error": statistics.median(row["error"] for row in timed) if timed else None,
        "order_kept": kept / of if of else None,
        "pairs": of,
        "memory_mean_error": statistics.mean(row["memory_error"] for row in held) if held else None,
        "memory_too_low": sum(row["memory_ratio"] < 0.95 for row in held),
        "said_not_to_fit": sum(row["ran"] and not row["fits"] for row in rows if "fits" in row),
        "failed": sum("failed" in row for row in rows),
    }


# --- What is shown ----------------------------------------------------------------------------------------------------------------
def percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def line_of(row):
    head = f"{row['group'] or '':22s} {row['title'] or '':52s}"
    if "failed" in row:
        return f"{head} FAILED {row['failed']}"
    speed = f"{row['measured']:9.0f} {row['predicted']:9.0f} {row['ratio']:6.2f}" if "ratio" in row else f"{'':9s} {row['predicted']:9.0f}"
    memory = f"{row['measured_gib']:6.1f} {row['predicted_gib']:6.1f} {row['memory_ratio']:5.2f}" if "memory_ratio" in row else \
        f"{'':6s} {row['predicted_gib']:6.1f} {'':5s}"
    left = len(row["not_expressed"]) + len(row["not_understood"])
    return f"{head} {speed}  {memory} {'fits' if row['fits'] else 'does not fit'}" + (f"  ({left} not expressed)" if left else "")


def summary_text(name, rows):
    it = summary(rows)
    order = "-" if it["order_kept"] is None else f"{it['order_kept'] * it['pairs']:.0f} of {it['pairs']}"
    return (f"{name}: {len(rows)} rows, mean error {percent(it['mean_error'])}, median {percent(it['median_error'])}, order kept {order}, "
            f"memory {percent(it['memory_mean_error'])}, said not to fit {it['said_not_to_fit']}, failed {it['failed']}")


def groups_of(rows):
    return list(dict.fromkeys(row["group"] for row in rows))


def page(rows):
    """The table as a page of the help: what is predicted too fast or too slow is as plain as what is right."""
    it = summary(rows)
    memory = f"; of memory {percent(it['memory_mean_error'])}" if it["memory_mean_error"] is not None else ""
    prose = ["What others measured and published, and what is predicted for the same settings. No number is fitted to these rows, "
             "but which facts of frameworks count in memory was chosen with the rows in view that have a measured memory. "
             f"Of {len(rows)} rows the mean error of the step is {percent(it['mean_error'])}, the median {percent(it['median_error'])}"
             f"{memory}. Of those that ran, {it['said_not_to_fit']} are said not to fit.",
             "A ratio above 1 is predicted too fast. Speed is tokens per second and device, or TFLOP/s per device. Memory is GiB of a "
             "device. *Left out* counts what a run used that no option says."]
    text = ["# Predictions and published measurements", ""]
    for paragraph in prose:
        text += textwrap.wrap(paragraph, WIDTH) + [""]
    for group in groups_of(rows):
        text += [f"## {group}", "", "| run | measured | predicted | ratio | memory | predicted | left out |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
        for row in (row for row in rows if row["group"] == group):
            if "failed" in row:
                text.append(f"| {row['title']} | | {row['failed']} | | | | |")
                continue
            measured = f"{row['measured']:,.0f}" if row["measured"] else ""
            ratio = f"{row['ratio']:.2f}" if "ratio" in row else ""
            memory = f"{row['measured_gib']:.1f}" if row["measured_gib"] else ""
            left = len(row["not_expressed"]) + len(row["not_understood"])
            text.append(f"| {row['title']} | {measured} | {row['predicted']:,.0f} | {ratio} | {memory} | {row['predicted_gib']:.1f}"
                        f"{'' if row['fits'] else ', does not fit'} | {left or ''} |")
        text.append("")
    far = [row for row in rows if row.get("error", 0) > FAR]
    if far:
        text += [f"## Off by more than {100 * FAR:.0f} %", ""]
        for row in far:
            known = [why for group, title, why in WHY if re.search(group, row["group"]) and re.search(title, row["title"])]
            text += textwrap.wrap(f"- **{row['title']}** ({row['ratio']:.2f}): {(known or ['Not explained.'])[0]}", WIDTH, subsequent_indent="  ")
        text.append("")
    text += ["The table is made by `tests/bench/published.py --rows FILE --page FILE`, in the source.", ""]
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--rows", default=OWN_ROWS, help="a file of rows (those beside this script)")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--shardctl", default=os.environ.get("SHARDCTL", "shardctl"), help="the program ($SHARDCTL, else shardctl)")
    parser.add_argument("--group", help="only rows of this group")
    parser.add_argument("--page", help="also write the table as a page of the help")
    arguments = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")  # titles are of others
    try:
        with open(arguments.rows, encoding="utf-8") as file:
            rows = json.load(file)
        rows = rows.get("rows", [rows]) if isinstance(rows, dict) else rows
        if not isinstance(rows, list):
            raise ValueError("the file has no list of rows")
        rows = [row for row in rows if arguments.group is None or (isinstance(row, dict) and row.get("group") == arguments.group)]
    except (OSError, ValueError) as failure:
        print(f"published.py: {arguments.rows}: {failure}", file=sys.stderr)
        return 2
    folder = os.path.dirname(os.path.abspath(arguments.rows))
    results = []
    for row in rows:
        results.append(measure(row, folder, arguments.shardctl))
        if not arguments.json:
            print(line_of(results[-1]), flush=True)
    if arguments.json:
        print(json.dumps({"rows": results, **summary(results)}, indent=1))
    else:
        print()
        for group in groups_of(results):
            print(summary_text(group, [row for row in results if row["group"] == group]))
        print(summary_text("all", results))
        left = sorted({remark for row in results for remark in row["not_expressed"]})
        unknown = sorted({remark for row in results for remark in row["not_understood"]})
        for title, remarks in (("not expressed", left), ("not understood", unknown)):
            if remarks:
                print(f"{title}: " + "; ".join(remarks))
    if arguments.page:
        with open(arguments.page, "w", encoding="utf-8") as file:
            file.write(page(results))
    return 1 if any("failed" in row for row in results) else 0


if __name__ == "__main__":
    sys.exit(main())
