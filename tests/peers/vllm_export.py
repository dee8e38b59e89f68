#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports designs to vLLM with shardctl, has vLLM's own parser read the config and its own models and loaders cut the weights, and
holds designs that are refused to the reason.

Ends with 0 when all shards are those of shards.json, 1 when one is not, 77 where Python has no vLLM (SHARDBOARD_VLLM_PYTHON names
another Python).
"""
import os
import subprocess
import sys

import samples

samples.run_by("SHARDBOARD_VLLM_PYTHON")

try:
    import importlib.metadata
    VERSION = importlib.metadata.version("vllm")
except importlib.metadata.PackageNotFoundError:
    print("skipped: this Python has no vLLM; SHARDBOARD_VLLM_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

# As the check does it: vLLM looks for a GPU while it is imported, if it is not told of a CPU.
IMPORTS = ("import os; os.environ.setdefault('VLLM_LOGGING_LEVEL', 'ERROR'); import vllm.platforms; from vllm.platforms.cpu import CpuPlatform; "
           "vllm.platforms._current_platform = CpuPlatform(); import vllm.engine.arg_utils, vllm.model_executor.models.registry; "
           "from vllm.model_executor.layers.fused_moe import expert_map_manager; from transformers import AutoConfig, AutoModelForCausalLM; "
           "from vllm.model_executor.models import deepseek_v2, gemma2, llama, mixtral, qwen2")

# Why a sample is refused; None: it is not.
REASONS = {"megatron-tp": None, "tp-sp": None, "fsdp": "weights are gathered before use", "tp+fsdp": "weights are gathered before use"}

# Another way to the sizes of shards: vLLM's functions for heads, without its layers.
SIZES = """
import sys
from vllm.distributed.utils import divide
heads, kv, tensor = map(int, sys.argv[1:])
print(divide(heads, tensor), 1 if tensor >= kv else divide(kv, tensor))
"""


def main():
    options = samples.arguments(__doc__.splitlines()[0]).parse_args()
    exports = samples.Exports(options.shardctl, "vllm", "vllm.yaml", IMPORTS)
    made, exported, equal, refused = exports.made, exports.exported, exports.equal, exports.refused
    report = samples.Report("vllm", f"vLLM {VERSION}", options)

    for model in samples.MODELS:
        for preset, mesh in samples.LAYOUTS_OF_MODELS:
            reason = REASONS[preset]
            report.sample(f"{model} {preset} prefill",
                          lambda folder: equal(folder, made(folder, model, mesh, preset, 2)) if reason is None
                          else refused(folder, made(folder, model, mesh, preset, 2), reason))
            report.sample(f"{model} {preset} train",
                          lambda folder: refused(folder, made(folder, model, mesh, preset, 2, "--workload", "train"), "vLLM serves models"))
    report.sample("mixtral-8x7b whole experts", lambda folder: equal(folder, made(
        folder, "mixtral-8x7b", "model=4", "megatron-tp", 1,
        edit=samples.give("*.experts.*", "P('model')")),
        "enable-expert-parallel: true"))
    report.sample("mixtral-8x7b experts over all ranks", lambda folder: equal(
        folder, made(folder, "mixtral-8x7b", "expert=4", "ep", 1), "data-parallel-size: 4", "enable-expert-parallel: true"))
    report.sample("llama3-8b in three stages", lambda folder: equal(
        folder, made(folder, "llama3-8b", "stage=3,model=2", "pp-1f1b", 5), "pipeline-parallel-size: 3"))
    report.sample("qwen2.5-7b heads that do not divide", lambda folder: refused(
        folder, made(folder, "qwen2.5-7b", "model=8", "megatron-tp", 1), "vLLM cannot cut 28 heads over 8 tensor ranks"))
    report.sample("llama3-8b with more ranks than KV heads", lambda folder: equal(folder, made(
        folder, "llama3-8b", "head=8,part=2", "replicate", 1, edit=samples.share_heads)))
    report.sample("llama3-8b tensor axis first", lambda folder: refused(
        folder, made(folder, "llama3-8b", "model=4,data=2", "megatron-tp", 1), "numbers its ranks over data and model"))
    report.sample("llama3-8b one weight whole", lambda folder: refused(folder, made(
        folder, "llama3-8b", "model=4", "megatron-tp", 1,
        edit=samples.one_whole),
        "is 0:14336, in vLLM 0:3584"))
    for name, spec in samples.LAYOUTS.items():
        report.sample(f"one tensor {name}", lambda folder: refused(
            folder, samples.loose(folder, (16, 8), "data=2,model=4", spec), "it is partial over mesh axis" if name == "L8" else "of this model that is not known"))

    def broken(folder):
        out, why = exported(folder, made(folder, "llama3-8b", "model=2", "megatron-tp", 1))
        assert why is None, why
        path = os.path.join(out, "vllm.yaml")
        with open(path, encoding="utf-8") as file:
            good = file.read()
        for bad in (good.replace("tensor-parallel-size: 2", "tensor-parallel-size: 1"), good + "no-such-option: 3\n"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(bad)
            checked = exports.ready.run(os.path.join(out, "check.py"))
            assert checked.returncode not in (0, 77), f"a broken config is not found: {checked.stdout[-300:]}"
        return "two broken configs are found"
    report.sample("configs that are broken", broken)

    def sizes(folder):
        out, why = exported(folder, made(folder, "llama3-8b", "model=4", "megatron-tp", 1))
        assert why is None, why
        answer = subprocess.run([sys.executable, "-c", SIZES, "32", "8", "4"], capture_output=True, text=True, check=True).stdout.split()
        tensors = {tensor["name"]: tensor for tensor in samples.shards(out)["tensors"]}
        for name, heads in (("q", answer[-2]), ("k", answer[-1])):
            for piece in samples.by_device(tensors[f"model.layers.0.self_attn.{name}_proj.weight"]).values():
                assert piece[0][0][1] - piece[0][0][0] == int(heads) * 128, piece
        return 2
    report.sample("heads of a rank", sizes)
    report.end()


if __name__ == "__main__":
    main()
