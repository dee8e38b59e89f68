#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has PyTorch run the forward and backward pass of models of transformers that an export alone lays out, and compares the collectives
that its communication debug mode sees with those of `shardctl plan --json`: kind, mesh axes, count and bytes. Each difference has to be
one of those that are named here with their cause. Nothing is sent: the process group is a fake one.

Ends with 0 when all is as the plan has it but for named differences, 1 when not, 77 where Python has no PyTorch or transformers
(SHARDBOARD_TORCH_PYTHON names another Python).
"""
import collections
import itertools
import json
import os
import re
import sys
import tempfile
import warnings

import samples

samples.run_by("SHARDBOARD_TORCH_PYTHON")

try:
    import torch
    import torch.distributed as dist
    from torch.distributed.tensor import DTensor
    from torch.distributed.tensor.debug import CommDebugMode
    from torch.distributed.tensor.parallel import loss_parallel
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from torch.utils._python_dispatch import TorchDispatchMode
    import transformers
except ImportError as problem:
    print(f"skipped: this Python has no PyTorch with DTensor, or no transformers ({problem}); SHARDBOARD_TORCH_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

# Preset, and meshes of 8 and of 16 devices.
PROGRAMS = [
    ("megatron-tp", "data=2,model=4", "data=4,model=4"),
    ("tp-sp", "data=2,model=4", "data=4,model=4"),
    ("fsdp", "fsdp=8", "fsdp=16"),
    ("hsdp", "data=2,fsdp=4", "data=4,fsdp=4"),
    ("tp+fsdp", "fsdp=2,tensor=4", "fsdp=4,tensor=4"),
    ("cp-all-gather", "context=4,fsdp=2", "context=4,fsdp=4"),
]
# Name, built-in model, what its document and its config have otherwise, the class in transformers.
ROPE = {"attention_bias": False, "mlp_bias": False, "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}}
MODELS = [
    ("Llama", "llama3-8b", {}, ROPE, "Llama"),
    ("Llama, tied", "llama3-8b", {"tie_word_embeddings": True}, ROPE, "Llama"),
    ("Qwen2.5", "qwen2.5-7b", {}, {}, "Qwen2"),
    ("Gemma 2", "gemma2-9b", {"sliding_window": 0, "tie_word_embeddings": True},
     {"query_pre_attn_scalar": 256, "attn_implementation": "eager"}, "Gemma2"),
]
SMALL = {"hidden_size": 64, "intermediate_size": 192, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 8, "vocab_size": 512}
BATCH, SEQUENCE = 16, 32


def small(layers, changes=()):
    def edit(document):
        document["model"].update({**SMALL, "tie_word_embeddings": False, **dict(changes)}, num_hidden_layers=layers, dtype="f32", source="made for a test")
        document["workload"].update(batch=BATCH, sequence=SEQUENCE, dtype="f32")
    return edit


def model_of(layers, of=MODELS[0]):
    _, _, changes, options, name = of
    torch.manual_seed(1)
    tied = changes.get("tie_word_embeddings", False)
    config = getattr(transformers, name + "Config")(**SMALL, num_hidden_layers=layers, rms_norm_eps=1e-5, tie_word_embeddings=tied,
                                                    use_cache=False, pad_token_id=None, **options)
    return getattr(transformers, name + "ForCausalLM")(config)


class Collectives(TorchDispatchMode):
    """Every collective with its kind, the mesh axes of its group, the bytes as the plan counts them, and the pass it belongs to."""
    KINDS = (("reduce_scatter", "reduce-scatter"), ("all_gather", "all-gather"), ("allgather", "all-gather"), ("all_reduce", "all-reduce"),
             ("allreduce", "all-reduce"), ("all_to_all", "all-to-all"), ("alltoall", "all-to-all"), ("broadcast", "broadcast"),
             ("scatter", "scatter"))

    def __init__(self, axes):
        super().__init__()
        self.axes, self.phase, self.seen = axes, "forward", []

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        if any(issubclass(type_, DTensor) for type_ in types):
            return NotImplemented  # DTensor first makes operations on local tensors, and collectives, of it
        out = op(*args, **(kwargs or {}))
        if op.namespace in ("c10d", "_c10d_functional"):
            kind = next((kind for part, kind in self.KINDS if part in op._opname), None)
            if kind:
                flat = torch.utils._pytree.tree_leaves((args, out))
                size = max(t.numel() * t.element_size() for t in flat if isinstance(t, torch.Tensor))
                group = next(a for a in reversed(args) if isinstance(a, str) or "ProcessGroup" in str(getattr(a, "_type", str)()))
                self.seen.append((self.phase, kind, self.axes(group), size))
        return out


def axes_of_groups(module, m):
    """Names of mesh axes by the ranks of a process group."""
    def axes(group):
        if not isinstance(group, str):
            group = dist.ProcessGroup.unbox(group).group_name
        ranks = sorted(dist.get_process_group_ranks(dist.distributed_c10d._resolve_process_group(group)))
        places = [torch.nonzero(m.mesh == rank)[0].tolist() for rank in ranks]
        return tuple(name for i, (name, _) in enumerate(module.AXES) if len({place[i] for place in places}) > 1)
    return axes


def ran(module, model):
    """What the program of the export sends, as Counter of (phase, kind, axes, bytes), and CommDebugMode's own counts."""
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=len(module.ORDER))
    try:
        m = module.mesh("cpu")
        module.parallelize(model, m)
        tokens = torch.zeros(BATCH, SEQUENCE, dtype=torch.long)
        part = module.inputs(m, tokens=tokens, targets=tokens)
        record = Collectives(axes_of_groups(module, m))
        debug = CommDebugMode()
        with debug, record, loss_parallel():
            value = module.loss(model(part["tokens"]).logits, part["targets"])
            record.phase = "backward"
            value.backward()
        return collections.Counter(record.seen), debug.get_comm_counts()
    finally:
        dist.destroy_process_group()


MERGED = "FSDP2 has one collective for the weights, or gradients, of a layer (or of what is outside of them), where the plan has one for each"
SUMMED = "DTensor sums a norm's gradient over the tensor axis, then FSDP2 over the data axes, where the plan has one all-reduce over both"
BIASES = "FSDP2 gathers a layer for its backward pass as a whole, and with it the biases, which no gradient needs"
TIED = ("what embedding and head share is in FSDP2's outermost group, with the last norm: gathered once and kept, where the plan gathers it "
        "for each (with --framework torchtitan it does not)")
SCALED = "Gemma's embedding multiplies by its scale inside of the module, before what DTensor has in parts is sent: it is summed whole"
WEIGHT = re.compile(r"^(?P<gradient>grad of )?(?P<name>[^\s,]*\.(weight|bias))( from .*|, sum of .*)?$")


def expected(shardctl, design, module, model):
    """Collectives of the plan, as Counter of (phase, kind, axes, bytes), once as they are, and once with the named differences; and
    which of these there are."""
    tied = model.config.tie_word_embeddings
    plan = json.loads(samples.run(shardctl, "plan", design, "--json").stdout)
    told, merged, out, causes, biases = collections.Counter(), {}, collections.Counter(), set(), collections.Counter()
    for c in plan["collectives"]:
        if c["kind"] == "local-slice":
            continue
        phase, kind, axes, size, count = c["phase"], c["kind"], tuple(c["axes"]), c["bytes"], c["count"]
        told[phase, kind, axes, size] += count
        weight = WEIGHT.match(c["tensor"])
        if not weight:
            out[phase, kind, axes, size] += count
            continue
        if module.TENSOR_AXIS in axes and weight["gradient"] and len(axes) > 1:
            causes.add(SUMMED)
            out[phase, kind, (module.TENSOR_AXIS,), size] += count
            axes = tuple(axis for axis in axes if axis != module.TENSOR_AXIS)
        unit = c["layer"] if module.GATHERED_AXES and not tied or c["layer"] == "block" else "ends"
        if tied and unit == "ends" and kind == "all-gather" and (phase == "backward" or
                                                                 c["layer"] == "head" and "embed_tokens" in c["tensor"]):
            causes.add(TIED)
            continue
        entry = merged.setdefault((phase, kind, axes, unit, count), [0, 0])
        entry[0] += size
        entry[1] += 1
        if weight["name"].endswith(".bias") and kind == "all-gather" and phase == "forward":
            biases[axes, unit, count] += size
    for (phase, kind, axes, unit, count), entry in merged.items():
        if (phase, kind) == ("backward", "all-gather") and biases[axes, unit, count]:
            causes.add(BIASES)
            entry[0] += biases[axes, unit, count]
    scattered = ("forward", "reduce-scatter", (module.TENSOR_AXIS,))
    if hasattr(model.model.embed_tokens, "scalar_embed_scale"):
        for key in [key for key in out if key[:3] == scattered][:1]:  # all of them have the size of the residual stream
            causes.add(SCALED)
            out[key] -= 1
            out["forward", "all-reduce", *key[2:]] += 1
    for (phase, kind, axes, _, count), (size, members) in merged.items():
        out[phase, kind, axes, size] += count
        if members > 1:
            causes.add(MERGED)
    return told, out, causes


def volume(counter, kind, phase, axes):
    return sum(size * n for (p, k, a, size), n in counter.items() if (p, k, a) == (phase, kind, axes))


def compared(shardctl, folder, preset, mesh, layers, of=MODELS[0], options=()):
    design = samples.changed(samples.designed(shardctl, folder, of[1], mesh, preset, ["--workload", "train", *options]), small(layers, of[2]))
    refusal = samples.export(shardctl, design, "torch", folder)
    assert refusal is None, refusal
    module = samples.module(folder, "export")
    model = model_of(layers, of)
    told, wanted, causes = expected(shardctl, design, module, model)
    seen, counts = ran(module, model)
    assert sum(counts.values()) == sum(seen.values()), f"CommDebugMode counts {counts}, and {sum(seen.values())} were seen"
    return seen, told, wanted, causes


def kinds_of(counter):
    out = collections.Counter()
    for (phase, kind, axes, _), n in counter.items():
        out[phase, kind, axes] += n
    return out


def main():
    options = samples.arguments(__doc__).parse_args()
    warnings.filterwarnings("ignore")
    print(f"PyTorch {torch.__version__.partition('+')[0]}: collectives of models of two layers, and how many of them a layer more adds")
    failed = 0
    for (preset, *meshes), of in itertools.product(PROGRAMS, MODELS):
        title = f"{of[0]} {preset}"
        if options.only not in title or (preset.startswith("cp") and "attn_implementation" in of[3]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            two, three = (compared(options.shardctl, folder, preset, meshes[0], layers, of) for layers in (2, 3))
            # Once more on 16 devices: only what differs is said.
            many = compared(options.shardctl, folder, preset, meshes[1], 2, of)
        print(f"\n{title} on {meshes[0]}\n  {'pass':9}{'kind':15}{'over':16}{'plan':>5}{'torch':>6}{'a layer: plan':>15}{'torch':>6}{'plan bytes':>12}{'torch bytes':>12}")
        seen, told, wanted, causes = two
        per_layer = [kinds_of(three[i]) - kinds_of(two[i]) for i in (0, 1)]
        for phase, kind, axes in sorted({key[:3] for key in (*seen, *told)}, key=lambda key: (key[0] == "backward", key)):
            key = (phase, kind, axes)
            print(f"  {phase:9}{kind:15}{'+'.join(axes):16}{kinds_of(told)[key]:5}{kinds_of(seen)[key]:6}{per_layer[1][key]:15}{per_layer[0][key]:6}"
                  f"{volume(told, kind, phase, axes):12}{volume(seen, kind, phase, axes):12}")
        for cause in sorted(causes):
            print("  difference:", cause)
        for seen, _, wanted, _ in (two, three, many):
            for key in sorted({*seen, *wanted}):
                if seen[key] != wanted[key]:
                    failed += 1
                    print(f"  FAILED: {key}: {wanted[key]} by the plan and the named differences, {seen[key]} in PyTorch")
    print(f"\n{failed} collectives differ in other ways than named")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
