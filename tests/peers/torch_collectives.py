#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the collectives that one layer of a Llama adds to a step, in PyTorch (DTensor and FSDP2) and in Megatron-Core, and compares
them with what `shardctl plan` has for the design under the framework's name: kind, mesh axis, pass, count. Nothing is sent: the
process group is a fake one.

  --only torchtitan   tensor and sequence parallel as an export lays them out, FSDP2 with and without gathering again
  --only megatron     GPTModel with tensor_model_parallel_size 4, with and without sequence_parallel

Ends with 0 when all counts are equal, 1 when not, 77 where Python has neither (SHARDBOARD_TORCH_PYTHON names another Python).
"""
import collections
import contextlib
import functools
import json
import subprocess
import sys
import tempfile
import warnings

import samples

samples.run_by("SHARDBOARD_TORCH_PYTHON")

import torch_programs as programs  # which ends this one with 77 where there is no PyTorch
import torch.distributed.fsdp as fsdp

PYTORCH = [
    ("megatron-tp", "data=2,model=4", []),
    ("tp-sp", "data=2,model=4", []),
    ("fsdp", "fsdp=8", []),
    ("fsdp", "fsdp=8", ["--reshard-after-forward", "never"]),
    ("tp+fsdp", "fsdp=2,tensor=4", []),
    ("tp+fsdp", "fsdp=2,tensor=4", ["--reshard-after-forward", "never"]),
    ("hsdp", "data=2,fsdp=4", []),
]
MEGATRON = [("megatron-tp", "model=4", False), ("tp-sp", "model=4", True)]

# Megatron-Core on a machine without GPUs: its places that ask for one are told of the CPU.
MODEL = """
import collections, contextlib, json, os, sys, warnings
warnings.filterwarnings("ignore")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
layers, sequence_parallel, hidden, mlp, heads, kv, size, vocabulary, tokens = map(int, sys.argv[1:])
import torch
import torch.distributed as dist
torch.cuda.current_device = lambda: "cpu"
import megatron.core.fusions.fused_softmax as softmax
import megatron.core.tensor_parallel.random as rng
import megatron.core.transformer.torch_norm as norms
from megatron.core import parallel_state
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.transformer.transformer_config import TransformerConfig
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode
softmax.get_default_causal_mask = lambda n: torch.triu(torch.ones(n, n), diagonal=1).bool()
rng.CudaRNGStatesTracker.fork = lambda self, name="": contextlib.nullcontext()
norms.WrappedTorchNorm.__new__ = lambda cls, config, hidden_size, eps=1e-5, **more: torch.nn.RMSNorm(hidden_size, eps)
KINDS = (("reduce_scatter", "reduce-scatter"), ("allgather", "all-gather"), ("all_gather", "all-gather"), ("allreduce", "all-reduce"),
         ("all_reduce", "all-reduce"))

class Seen(TorchDispatchMode):
    phase, counts = "forward", collections.Counter()
    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        if op.namespace == "c10d":
            kind = next((kind for part, kind in KINDS if part in op._opname), None)
            if kind:
                self.counts[self.phase + " " + kind] += 1
        return op(*args, **(kwargs or {}))

dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
parallel_state.initialize_model_parallel(4, create_gloo_process_groups=False)
config = TransformerConfig(
    num_layers=layers, hidden_size=hidden, ffn_hidden_size=mlp, num_attention_heads=heads, num_query_groups=kv, kv_channels=size,
    tensor_model_parallel_size=4, sequence_parallel=bool(sequence_parallel), use_cpu_initialization=True, perform_initialization=False,
    gated_linear_unit=True, activation_func=torch.nn.functional.silu, add_bias_linear=False, normalization="RMSNorm",
    gradient_accumulation_fusion=False, masked_softmax_fusion=False, hidden_dropout=0, attention_dropout=0)
model = GPTModel(config, get_gpt_layer_local_spec(normalization="RMSNorm"), vocabulary, tokens, position_embedding_type="rope",
                 share_embeddings_and_output_weights=False)
ids = torch.zeros(2, tokens, dtype=torch.long)
with Seen() as seen:
    loss = model(ids, torch.arange(tokens).repeat(2, 1), None, labels=ids).sum()
    seen.phase = "backward"
    loss.backward()
print("COUNTS " + json.dumps(seen.counts))
"""


def planned(shardctl, folder, preset, mesh, layers, options):
    """(phase, kind, axes) of the plan's calls, without those of the update, and the design. A difference that has a name: a norm's
    gradient is summed over the tensor axis, for each norm, and then goes with the others over the data axes, where the plan has one
    all-reduce over both."""
    design = samples.changed(samples.designed(shardctl, folder, "llama3-8b", mesh, preset, ["--workload", "train", *options]),
                             programs.small(layers))
    plan = json.loads(samples.run(shardctl, "plan", design, "--json").stdout)
    counts = collections.Counter()
    for c in plan["collectives"]:
        axes = tuple(c["axes"])
        if c["kind"] == "local-slice" or c["phase"] == "update":
            continue
        if len(axes) > 1 and set(axes) & {"model", "tensor"} and c["tensor"].startswith("grad of "):
            tensor = tuple(axis for axis in axes if axis in ("model", "tensor"))
            counts[c["phase"], "all-reduce", tensor] += c["count"]
        elif not c.get("joins"):
            counts[c["phase"], c["kind"], axes] += c["count"]
    return counts, design


def a_layer_more(counted):
    """What a layer adds: the counts of three without those of two."""
    two, three = counted(2), counted(3)
    three.subtract(two)
    return collections.Counter({key: n for key, n in three.items() if n})


@contextlib.contextmanager
def resharding(after_forward):
    """Layers give gathered weights back after their forward pass, or keep them."""
    theirs = fsdp.fully_shard
    fsdp.fully_shard = lambda module, **given: theirs(module, **{**given, "reshard_after_forward": after_forward
                                                                 and given.get("reshard_after_forward", True)})
    try:
        yield
    finally:
        fsdp.fully_shard = theirs


def pytorch(shardctl, preset, mesh, options):
    def counted(layers):
        with tempfile.TemporaryDirectory() as folder:
            design = planned(shardctl, folder, preset, mesh, layers, ["--framework", "torchtitan", *options])[1]
            refusal = samples.export(shardctl, design, "torch", folder)
            assert refusal is None, refusal
            module = samples.module(folder, "export")
            module._kept_in_parts = lambda gathered: contextlib.nullcontext()  # PyTorch as it is keeps what was gathered
            with resharding("never" not in options):
                seen, _ = programs.ran(module, programs.model_of(layers))
            return programs.kinds_of(seen)
    return a_layer_more(counted)


def megatron(sequence_parallel):
    size = programs.SMALL
    def counted(layers):
        words = [layers, int(sequence_parallel), size["hidden_size"], size["intermediate_size"], size["num_attention_heads"],
                 size["num_key_value_heads"], size["head_dim"], size["vocab_size"], programs.SEQUENCE]
        done = subprocess.run([sys.executable, "-c", MODEL, *map(str, words)], capture_output=True, text=True, check=False)
        told = [line for line in done.stdout.splitlines() if line.startswith("COUNTS ")]
        assert told, done.stderr[-2000:]
        counts = json.loads(told[0].removeprefix("COUNTS "))
        return collections.Counter({(*key.split(" "), ("model",)): n for key, n in counts.items()})
    return a_layer_more(counted)


def shown(counts):
    return ", ".join(f"{phase} {n} {kind} over {'+'.join(axes)}" for (phase, kind, axes), n in sorted(counts.items())) or "none"


def main():
    options = samples.arguments(__doc__).parse_args()
    warnings.filterwarnings("ignore")
    has_megatron = subprocess.run([sys.executable, "-c", "import megatron.core"], capture_output=True, check=False).returncode == 0
    cases = [("torchtitan", preset, mesh, more, functools.partial(pytorch, options.shardctl, preset, mesh, more))
             for preset, mesh, more in PYTORCH]
    cases += [("megatron", preset, mesh, [], functools.partial(megatron, sp)) for preset, mesh, sp in MEGATRON if has_megatron]
    failed = 0
    for framework, preset, mesh, more, counted in cases:
        name = " ".join([framework, preset, "on", mesh, *more])
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            plan = a_layer_more(lambda layers: planned(options.shardctl, folder, preset, mesh, layers, ["--framework", framework, *more])[0])
        seen = counted()
        # Of Megatron-Core its layers are run, not what sums gradients when they are done.
        if framework == "megatron":
            plan -= collections.Counter({("backward", "all-reduce", ("model",)): 2 if preset == "tp-sp" else 0})
        equal = plan == seen
        failed += not equal
        print(f"{'equal ' if equal else 'FAILED'} {name}: {shown(seen)}" + ("" if equal else f"; by the plan {shown(plan)}"))
    if not has_megatron:
        print("Megatron-Core is not there")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
