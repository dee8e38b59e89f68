#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Llama in plain JAX, laid out by the export alone, compiled by XLA: its collectives have to be those of the plan.

Prefill and a training step with Adam, for CPU devices and ahead of time for TPU v5e (libtpu compiles without a TPU). Collectives of the
compiled program are told by kind, mesh axes, and bytes, and counted; where the counts differ from the plan's, the cause is one of those
below, which the table names, or the script ends with 1. 77 where Python has no JAX (SHARDBOARD_JAX_PYTHON names another Python).
"""
import collections
import dataclasses
import itertools
import json
import os
import re
import sys
import tempfile
import time

import samples

samples.run_by("SHARDBOARD_JAX_PYTHON")

os.environ["JAX_PLATFORMS"] = "cpu"
# Combined collectives could not be counted one by one.
COMBINERS = "cpu-all-reduce-combiner,all-reduce-combiner,all-gather-combiner,reduce-scatter-combiner"
# Without it the CPU's program still says which of its f32 values are bf16 in the one that was written.
SIMPLIFIER = "simplify-fp-conversions"
# The program is read and never run: LLVM need not make it fast, which takes most of the time.
QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count=16 --xla_disable_hlo_passes={COMBINERS},{SIMPLIFIER} {QUICK}"
# No cloud is asked which TPU it has.
os.environ.update({"TPU_SKIP_MDS_QUERY": "1", "TPU_ACCELERATOR_TYPE": "v5litepod-16", "TPU_WORKER_HOSTNAMES": "localhost"})
try:
    import jax
    import numpy as np
    from jax.experimental import topologies

    import hloprogram
    import jaxllama
except ImportError as problem:
    print(f"skipped: this Python has no JAX ({problem}); SHARDBOARD_JAX_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

SAMPLES = [
    ("megatron-tp", "data=2,model=4", "data=4,model=4"),
    ("tp-sp", "data=2,model=4", "data=4,model=4"),
    ("fsdp", "fsdp=8", "fsdp=16"),
    ("hsdp", "data=2,fsdp=4", "data=2,fsdp=8"),
    ("tp+fsdp", "fsdp=2,tensor=4", "fsdp=4,tensor=4"),
    ("cp-all-gather", "context=4,fsdp=2", "context=4,fsdp=4"),
]
# Model, preset, meshes, options of the design: what is made again in the backward pass, experts, all-to-alls of attention, ZeRO.
MORE = [
    ("llama3-8b", "megatron-tp", "data=2,model=4", "data=4,model=4", ("--recompute", "full")),
    ("llama3-8b", "tp-sp", "data=2,model=4", "data=4,model=4", ("--recompute", "full")),
    ("llama3-8b", "tp-sp", "data=2,model=4", "data=4,model=4", ("--recompute", "selective")),
    ("llama3-8b", "fsdp", "fsdp=8", "fsdp=16", ("--recompute", "full")),
    ("llama3-8b", "cp-ulysses", "context=4,fsdp=2", "context=4,fsdp=4", ()),
    ("llama3-8b", "megatron-tp", "data=2,model=4", "data=4,model=4", ("--shard-optimizer", "data")),
    ("llama3-8b", "replicate", "data=8", "data=16", ("--shard-optimizer", "data")),
    ("llama3-8b", "replicate", "data=8", "data=16", ("--shard-optimizer", "data", "--shard-gradients")),
    ("mixtral-8x7b", "ep", "data=2,expert=4", "data=4,expert=4", ()),
    ("mixtral-8x7b", "ep+tp", "expert=4,tensor=2", "expert=4,tensor=4", ()),
]
# Other models, under all presets: name, model, sizes.
OTHERS = [
    ("one KV head", "llama3-8b", jaxllama.Sizes(kv_heads=1)),
    ("biases, 3 layers", "qwen2.5-7b", jaxllama.Sizes(biases=True, layers=3)),
    ("biases, tied", "qwen2.5-7b", jaxllama.Sizes(biases=True, tied=True)),
    ("Gemma 2", "gemma2-9b", jaxllama.Sizes(gemma=True, tied=True)),
]
# What somebody else would write: name, sizes, writing.
VARIATIONS = [
    ("4 layers", jaxllama.Sizes(layers=4), jaxllama.Writing()),
    ("other sizes", jaxllama.Sizes(layers=3, hidden=512, intermediate=1536, heads=16, kv_heads=8, vocabulary=2048, batch=32, sequence=64),
     jaxllama.Writing()),
    ("as many KV heads", jaxllama.Sizes(heads=16, kv_heads=16, head_dim=16, batch=8, sequence=256), jaxllama.Writing()),
    ("Flax names", jaxllama.Sizes(), jaxllama.Writing(flax=True)),
    ("scanned", jaxllama.Sizes(layers=4), jaxllama.Writing(scanned=True)),
    ("heads first", jaxllama.Sizes(), jaxllama.Writing(heads_first=True)),
    ("adamw of optax", jaxllama.Sizes(), jaxllama.Writing(optax=True)),
    ("loss of optax", jaxllama.Sizes(), jaxllama.Writing(library_loss=True)),
    ("all at once", jaxllama.Sizes(layers=4), jaxllama.Writing(flax=True, scanned=True, heads_first=True, optax=True, library_loss=True)),
]


# --- Differences with a cause ---


class Found:
    """Collectives of the program that no cause has taken yet."""

    def __init__(self, collectives):
        self.all = collectives
        self.left = collections.defaultdict(list)
        for collective in collectives:
            self.left[collective.key] += [collective] * collective.times

    def take(self, key, most, holds=lambda collective: True):
        """Takes as many as there are, `most` at most, of which `holds` is true; returns how many."""
        taken = [collective for collective in self.left[key] if holds(collective)][:max(0, most)]
        for collective in taken:
            self.left[key].remove(collective)
        return len(taken)

    def both(self, key):
        """Of how many gathers the result is a table of which rows are taken, and a matrix of a product as well."""
        return sum(collective.times for collective in self.all if collective.key == key and collective.looked_up_and_multiplied())

    def count(self, key, holds=lambda collective: True):
        return sum(1 for collective in self.left[key] if holds(collective))


def explained(want, of_weights, found, sizes, platform):
    """Takes out of both what is the same, and what is the same thing in another form, which has to be seen in the program's text; returns
    how many are the same, and (cause, what of the plan, times). `of_weights` are those of `want` that are of weights."""
    causes = []

    def parts(over):
        return int(np.prod([sizes[axis] for axis in over]))

    def say(cause, planned, times):
        if times:
            causes.append((cause, planned, times))

    def sliced(over):
        return lambda collective: collective.sliced() == parts(over)

    def reduced(key):
        """How many all-reduces the plan's sums are in the forms below: as they are, in place of a reduce-scatter, or of both of these
        over two axes."""
        _, over, size = key
        times = want[key] + want["reduce-scatter", over, size]
        for one in [k for k in want if k[0] == "all-reduce"]:
            for scattered in [k for k in want if k[0] == "reduce-scatter" and k[1] != one[1] and k[2] == size == one[2] * parts(k[1])]:
                both = tuple(axis for axis in sizes if axis in one[1] + scattered[1])
                times += min(want[one], want[scattered]) if over in (one[1], both) else 0
        return times

    # Partial sums that the plan sends to where they are summed: XLA sums first, and a product alone.
    early = set()
    for key in sorted(found.left):
        kind, over, size = key
        later = max((k for k in want if k[:2] == (kind, over) and k[2] < size and size % k[2] == 0 and want[k]), default=None, key=lambda k: k[2])
        if kind != "all-reduce" or want[key] or later is None:
            continue
        added = found.take(key, found.count(key) // 2 * 2, lambda c: c.sent_on() and c.added_to_another())
        times = min(want[later], added // 2 + found.take(key, len(found.left[key]), lambda c: c.sent_on()))
        want[later] -= times
        say("XLA sums partial values where they are made; the plan sends them by an all-to-all first", later, times)
        say("each product's sum is reduced before they are added; the plan adds first", key, added // 2)
        early |= set(over) if times else set()
    # Which of them are too many cannot be said later, when some have been taken.
    for key in sorted(key for key in found.left if key[0] == "all-reduce" and reduced(key)):
        more = found.count(key) - reduced(key)
        say("each product's sum is reduced before they are added; the plan adds first", key,
            found.take(key, more, lambda c: "transpose(" in c.source and c.added_to_another()))
    # An all-reduce that a slice follows may be a reduce-scatter of the plan, and is taken as one first.
    place = "on CPU" if platform == "cpu" else "on a TPU, whose tiles it would cut"
    same = 0
    for key in sorted(want):
        kind, over, size = key
        times = found.take(key, want[key], (lambda c: c.sliced() is None) if kind == "all-reduce" else lambda c: True)
        same, want[key] = same + times, want[key] - times
    for key in sorted(want):  # over two axes, one of which cuts the result: first reduce-scatter, then all-reduce of the part
        kind, over, size = key
        for scattered in sorted(k for k in want if kind == "all-reduce" and k[0] == "reduce-scatter" and k[1] != over):
            if scattered[2] != size * parts(scattered[1]):
                continue
            whole = [("all-reduce", axes, scattered[2]) for axes in (over, scattered[1])]
            times = min([want[key], want[scattered]] + [found.count(one, sliced(scattered[1])) for one in whole])
            for one in whole:
                found.take(one, times, sliced(scattered[1]))
            both = ("all-reduce", tuple(axis for axis in sizes if axis in over + scattered[1]), scattered[2])
            at_once = found.take(both, min(want[key], want[scattered]) - times, sliced(scattered[1]))
            for planned in (key, scattered):
                want[planned] -= times + at_once
                say("one all-reduce for each axis, and a slice", planned, times)
                say("one all-reduce over both axes, and a slice", planned, at_once)
    for key in sorted(want):
        kind, over, size = key
        if kind == "reduce-scatter":
            # Of lax.psum_scatter over all 16 chips of a 4x4 slice XLA makes the same, whatever its size and the order of devices.
            times = found.take(("all-reduce", over, size), want[key], lambda c: c.over_two_dims() and sliced(over)(c))
            want[key] -= times
            say("all-reduce and slice: over both dims of a slice of chips at once XLA has no reduce-scatter", key, times)
            times = found.take(("all-reduce", over, size), want[key], sliced(over))
            want[key] -= times
            say(f"all-reduce and slice: XLA makes no reduce-scatter of it {place}", key, times)
            times = found.take(("all-reduce", over, size), want[key], lambda c, n=parts(over): (c.sliced() or 1) % n == 0 and c.sliced())
            want[key] -= times
            say(f"all-reduce and a slice of the last token alone: XLA makes no reduce-scatter of it {place}", key, times)
            for more in sorted(k for k in found.left if k[:2] == ("all-reduce", over) and k[2] > size and k[2] % size == 0):
                times = found.take(more, want[key], lambda c, n=more[2] // size: n in c.added_up())
                want[key] -= times
                say("the program repeats keys and values for its heads, and XLA sums over devices before over repeats", key, times)
    # No sharding of JAX says partial: XLA sums before a product what the plan sums after it.
    early_sums = collections.Counter()
    for collective in found.all:
        if collective.kind in ("all-reduce", "reduce-scatter") and "transpose(" in collective.source and collective.multiplied():
            early_sums[collective.over] += collective.times
    for key in sorted(want):
        kind, over, size = key
        if kind == "all-gather" and key in of_weights:
            times = min(want[key], early_sums[over])
            want[key] -= times
            say("the plan gathers a weight for a product with partial values, which XLA has summed before", key, times)
        for more in sorted(k for k in found.left if kind == "reduce-scatter" and key in of_weights and k[:2] == ("all-reduce", over)):
            times = found.take(more, want[key], lambda c: "transpose(" in c.source and c.multiplied())
            want[key] -= times
            say("XLA sums partial values where they are made; the plan sums what a product with them gives", key, times)
    for key in sorted(want):  # a sum that is cut by another mesh axis later
        if key[0] == "all-reduce":
            times = found.take(key, want[key])
            same, want[key] = same + times, want[key] - times
    for key in sorted(want):
        kind, over, size = key
        if kind == "all-gather" and found.both(key):
            times = min(want[key], found.both(key))
            want[key] -= times
            say("XLA gathers what is embedding and head once for both; the plan gathers it for each", key, times)
        if kind == "all-gather" and platform == "tpu":
            times = found.take(("all-reduce", over, size), want[key], lambda c: c.comes_from("dynamic-update-slice"))
            want[key] -= times
            say("a TPU gathers shards smaller than a tile by an all-reduce of what it has padded with zeros", key, times)
        rest = tuple(axis for axis in over if axis not in early)
        if kind == "all-reduce" and rest not in ((), over):
            times = found.take((kind, rest, size), want[key])
            want[key] -= times
            say(f"what it is made of has been summed over {'+'.join(early)} already, where the plan still has partial values", key, times)
        if kind == "all-reduce" and len(over) > 1:
            each = [("all-reduce", (axis,), size) for axis in over]
            times = min([want[key]] + [found.count(one) for one in each])
            chained = max((found.count(one, lambda c: c.comes_from("all-reduce")) for one in each), default=0)
            times = min(times, chained)
            for one in each:
                found.take(one, times)
            want[key] -= times
            say("one all-reduce for each dim that is summed, one after the other", key, times)
    for key in sorted(want):
        kind, over, size = key
        times = found.take((kind, over, size // 2), want[key], lambda c: "reduce_max" in c.source and c.types() == {"bf16"})
        want[key] -= times
        say("the largest of bf16 values is the same before they are converted, and XLA sends it so, in half the bytes", key, times)
    for key in sorted(found.left):
        kind, over, size = key
        if kind == "all-reduce" and size <= 8:
            say("the mean of the loss, one number", key, found.take(key, len(found.left[key]), lambda c: c.instruction.size() <= 2))
        if kind == "collective-permute":
            say("the last token's slice is passed on before the sum that the plan has", key,
                found.take(key, len(found.left[key]), lambda c: "/slice" in c.source))
    return same, causes


def exported(shardctl, folder, case, sizes):
    """export.py of a Llama of those sizes, the collectives of its plan, and which of them are of weights."""
    path = samples.designed(shardctl, folder, case.model, case.mesh, case.preset, [
        "--dtype", sizes.dtype, "--workload", "train" if case.training else "prefill", *case.options])

    def small(document):
        document["model"].update(num_hidden_layers=sizes.layers, hidden_size=sizes.hidden, intermediate_size=sizes.intermediate,
                                 num_attention_heads=sizes.heads, num_key_value_heads=sizes.kv_heads, head_dim=sizes.head_dim,
                                 vocab_size=sizes.vocabulary)
        document["model"].update(tie_word_embeddings=sizes.tied)
        if sizes.experts:
            document["model"].update(num_experts=sizes.experts, moe_intermediate_size=sizes.intermediate)
        document["workload"].update(batch=sizes.batch, sequence=sizes.sequence)
    samples.changed(path, small)
    refused = samples.export(shardctl, path, "jax", folder)
    assert refused is None, refused
    export = samples.module(folder, "export")
    want, of_weights = collections.Counter(), set()
    for collective in json.loads(samples.run(shardctl, "plan", path, "--json").stdout)["collectives"]:
        if collective["kind"] != "local-slice":
            key = collective["kind"], tuple(collective["axes"]), collective["bytes"]
            want[key] += collective["count"]
            if re.search(r"\.(weight|bias)( from .*)?$", collective["tensor"]):
                of_weights.add(key)
    return export, want, of_weights


def run(shardctl, folder, case):
    """How many collectives are the same, of how many, in another form, and without a cause."""
    export, want, of_weights = exported(shardctl, folder, case, case.sizes)
    devices = jax.devices() if case.platform == "cpu" else topologies.get_topology_desc(
        platform="tpu", topology_name={8: "v5e:2x4", 16: "v5e:4x4"}[len(export.ORDER)]).devices
    model = jaxllama.Llama(export, case.sizes, case.writing)
    collectives = hloprogram.collectives_in(jaxllama.compiled(model, case.training, devices), export.AXES)
    if case.platform == "cpu" and case.sizes.dtype == "bf16":
        wide = [collective for collective in collectives if collective.widened()]
        for collective in wide:
            collective.key = (*collective.key[:2], collective.size // 2)
        print(f"    * {sum(c.times for c in wide)} x XLA's CPU backend sends bf16 as f32, twice the bytes below")
    counts = collections.Counter()
    for collective in collectives:
        counts[collective.key] += collective.times
    planned, total, found = want.copy(), sum(want.values()), Found(collectives)
    same, causes = explained(want, of_weights, found, dict(export.AXES), case.platform)
    for key in sorted(set(planned) | set(counts)):
        w, f = planned[key], counts[key]
        print(f"    {key[0]:18} over {'+'.join(key[1]) or '-':14} {key[2]:>10,} B   plan {w:3}   XLA {f:3}{'' if w == f else '   *'}")
    for cause, key, times in causes:
        print(f"    * {times} x {cause} ({key[0]} over {'+'.join(key[1]) or '-'}, {key[2]:,} B)")
    unexplained = [key for key in sorted(set(want) | set(found.left)) if want[key] or found.left[key]]
    for key in unexplained:
        print(f"    UNEXPLAINED {key}: plan {want[key]}, XLA {len(found.left[key])}: "
              f"{collections.Counter(c.source[-110:] for c in found.left[key]).most_common(6)}")
    return same, total, sum(times for *_, times in causes), len(unexplained)


@dataclasses.dataclass(frozen=True)
class Case:
    """One program: a design, and who writes it how."""
    preset: str
    mesh: str
    training: bool
    platform: str = "cpu"
    sizes: jaxllama.Sizes = jaxllama.Sizes()
    writing: jaxllama.Writing = jaxllama.Writing()
    said: str = ""
    model: str = "llama3-8b"
    options: tuple = ()

    def name(self):
        devices = int(np.prod([int(axis.split("=")[1]) for axis in self.mesh.split(",")]))
        return (f"{self.platform} {devices} devices, {self.preset} on {self.mesh}, {'training step' if self.training else 'prefill'}"
                + (f", {self.said}" if self.said else ""))


def cases(platforms, devices):
    """Every preset as it is written here, on every platform, in f32 and in bf16; and on CPU those that other people would write."""
    for platform in platforms:
        for count in devices:
            for preset, *meshes in SAMPLES:
                for training, dtype in itertools.product((False, True), ("f32", "bf16")):
                    yield Case(preset, meshes[0 if count == "8" else 1], training, platform, jaxllama.Sizes(dtype=dtype),
                               said="" if dtype == "f32" else dtype)
            for model, preset, *meshes, more in MORE:
                sizes = jaxllama.Sizes(experts=8) if model.startswith("mixtral") else jaxllama.Sizes()
                for training in (False, True):
                    if training or not more:
                        yield Case(preset, meshes[0 if count == "8" else 1], training, platform, sizes, model=model, options=more,
                                   said=" ".join((model, *more)))
            for said, model, sizes in OTHERS:
                for (preset, *meshes), training in itertools.product(SAMPLES, (False, True)):
                    yield Case(preset, meshes[0 if count == "8" else 1], training, platform, sizes, said=said, model=model)
    if "cpu" in platforms and "8" in devices:
        for said, sizes, writing in VARIATIONS:
            for preset, mesh, _ in SAMPLES:
                for training in (False, True):
                    if training or not (writing.optax or writing.library_loss):
                        yield Case(preset, mesh, training, "cpu", sizes, writing, said)


def main():
    parser = samples.arguments(__doc__)
    parser.add_argument("--platform", default="cpu,tpu")
    parser.add_argument("--devices", default="8,16")
    options = parser.parse_args()
    failed = 0
    table = []
    for case in cases(options.platform.split(","), options.devices.split(",")):
        if options.only not in case.name():
            continue
        start = time.monotonic()
        print(case.name(), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            same, total, other, unexplained = run(options.shardctl, folder, case)
        failed += unexplained > 0
        table.append((case.name(), same, total, other, unexplained))
        print(f"    {same} of {total} collectives as planned, {other} in another form, {unexplained} unexplained "
              f"({time.monotonic() - start:.0f} s)", flush=True)
    for name, same, total, other, unexplained in table:
        print(f"{name}: {same} of {total} the same, {other} in another form{', UNEXPLAINED' if unexplained else ''}")
    print(f"{len(table)} programs, {failed} with differences that have no cause, by JAX {jax.__version__}")
    sys.exit(1 if failed or not table else 0)


if __name__ == "__main__":
    main()
