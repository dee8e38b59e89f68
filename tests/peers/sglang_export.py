#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports designs to SGLang with shardctl, has SGLang read and validate the config and its own models and loaders cut the weights,
compares what its layers hold of a small model, number by number, and holds designs that are refused to the reason.

Ends with 0 when all shards are those of shards.json, 1 when one is not, 77 where Python has no SGLang (SHARDBOARD_SGLANG_PYTHON names
another Python).
"""
import os
import sys

import samples

samples.run_by("SHARDBOARD_SGLANG_PYTHON")

try:
    import importlib.metadata
    VERSION = importlib.metadata.version("sglang")
except importlib.metadata.PackageNotFoundError:
    print("skipped: this Python has no SGLang; SHARDBOARD_SGLANG_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

IMPORTS = ("from sglang.srt.layers.moe.fused_moe_triton import layer; from sglang.srt.model_loader import loader; "
           "from sglang.srt.server_args import prepare_server_args; import sglang.srt.models.registry; "
           "from transformers import AutoConfig, AutoModelForCausalLM")

# Why a sample is refused; None: it is not.
REASONS = {"megatron-tp": None, "tp-sp": None, "fsdp": "weights are gathered before use", "tp+fsdp": "weights are gathered before use"}

SMALL = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 8, "vocab_size": 320,
         "num_hidden_layers": 1}
# Another way to the shards: SGLang's parallel layers alone, with numbers in them, on one rank after the other.
LAYERS = """
import json, os, sys
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import torch
from sglang.srt import runtime_context
from sglang.srt.server_args import prepare_server_args
from sglang.srt.layers.linear import MergedColumnParallelLinear, QKVParallelLinear, RowParallelLinear
from sglang.srt.layers.vocab_parallel_embedding import ParallelLMHead, VocabParallelEmbedding

with open(os.path.join(sys.argv[1], "shards.json"), encoding="utf-8") as file:
    shards = {tensor["name"]: tensor for tensor in json.load(file)["tensors"]}
size = json.loads(sys.argv[2])
hidden, width, vocabulary = size["hidden_size"], size["intermediate_size"], size["vocab_size"]
full = {name: torch.arange(tensor["shape"][0] * tensor["shape"][-1], dtype=torch.float32).reshape(tensor["shape"])
        for name, tensor in shards.items() if len(tensor["shape"]) == 2}
settings = prepare_server_args(["--model-path", "dummy", "--config", os.path.join(sys.argv[1], "sglang.yaml"), "--device", "cpu",
                                "--log-level", "error"])
ranks, equal = settings.tp_size, 0
for rank in range(ranks):
    runtime_context.publish(settings, role="scheduler", ranks=runtime_context.SpawnRanks(world_rank=rank, gpu_id=0))
    plain = {"bias": False, "params_dtype": torch.float32}
    qkv = QKVParallelLinear(hidden, size["head_dim"], size["num_attention_heads"], size["num_key_value_heads"], **plain)
    gate_up = MergedColumnParallelLinear(hidden, [width, width], **plain)
    output = RowParallelLinear(size["num_attention_heads"] * size["head_dim"], hidden, **plain)
    down = RowParallelLinear(width, hidden, **plain)
    table = VocabParallelEmbedding(vocabulary, hidden, params_dtype=torch.float32)
    head = ParallelLMHead(vocabulary, hidden, params_dtype=torch.float32)
    layer = "model.layers.0."
    held = {}
    for part in "qkv":
        name = layer + f"self_attn.{part}_proj.weight"
        qkv.weight.data.fill_(-1)
        qkv.weight_loader(qkv.weight, full[name], part)
        held[name] = qkv.weight.data[qkv.weight.data[:, 0] >= 0]
    for index, part in enumerate(("gate", "up")):
        name = layer + f"mlp.{part}_proj.weight"
        gate_up.weight.data.fill_(-1)
        gate_up.weight_loader(gate_up.weight, full[name], index)
        held[name] = gate_up.weight.data[gate_up.weight.data[:, 0] >= 0]
    for name, module in ((layer + "self_attn.o_proj.weight", output), (layer + "mlp.down_proj.weight", down)):
        module.weight_loader(module.weight, full[name])
        held[name] = module.weight.data
    for name, module in (("model.embed_tokens.weight", table), ("lm_head.weight", head)):
        module.weight_loader(module.weight, full[name])
        held[name] = module.weight.data[:module.num_org_embeddings_per_partition]
    for name, values in held.items():
        pieces = next(shard["pieces"] for shard in shards[name]["shards"] if rank in shard["devices"])
        assert len(pieces) == 1, pieces
        (rows, columns), = pieces
        want = full[name][rows[0]:rows[1], columns[0]:columns[1]]
        assert torch.equal(values, want), f"{name} on rank {rank} has {tuple(values.shape)}, in the plan {pieces}"
        equal += 1
print(equal // ranks)
"""


def main():
    options = samples.arguments(__doc__.splitlines()[0]).parse_args()
    exports = samples.Exports(options.shardctl, "sglang", "sglang.yaml", IMPORTS)
    made, exported, equal, refused = exports.made, exports.exported, exports.equal, exports.refused
    report = samples.Report("sglang", f"SGLang {VERSION}", options)

    for model in samples.MODELS:
        for preset, mesh in samples.LAYOUTS_OF_MODELS:
            reason = REASONS[preset]
            report.sample(f"{model} {preset} prefill",
                          lambda folder: equal(folder, made(folder, model, mesh, preset, 2)) if reason is None
                          else refused(folder, made(folder, model, mesh, preset, 2), reason))
            report.sample(f"{model} {preset} train", lambda folder: refused(
                folder, made(folder, model, mesh, preset, 2, "--workload", "train"), "SGLang serves models"))
    report.sample("mixtral-8x7b whole experts", lambda folder: equal(
        folder, made(folder, "mixtral-8x7b", "model=4", "megatron-tp", 1, edit=samples.give("*.experts.*", "P('model')")), "ep-size: 4"))
    report.sample("qwen3-30b-a3b data-parallel attention", lambda folder: equal(
        folder, made(folder, "qwen3-30b-a3b", "data=2,expert=4", "ep", 1), "attn-dp-size: 4", "ep-size: 4"))
    report.sample("deepseek2-16b data-parallel attention", lambda folder: equal(
        folder, made(folder, "deepseek2-16b", "expert=4", "ep", 2), "moe-dense-tp-size: 1", "moe-a2a-backend: deepep"))
    report.sample("deepseek3-671b", lambda folder: equal(folder, made(folder, "deepseek3-671b", "model=2", "megatron-tp", 4)))
    report.sample("mixtral-8x7b data-parallel attention", lambda folder: refused(
        folder, made(folder, "mixtral-8x7b", "expert=4", "ep", 1), "SGLang has that not for mixtral"))
    report.sample("gpt-oss-20b", lambda folder: equal(
        folder, made(folder, "gpt-oss-20b", "model=2", "megatron-tp", 1, edit=samples.give("*.sinks", "P('model')"))))
    report.sample("gpt-oss-20b whole experts", lambda folder: refused(
        folder, made(folder, "gpt-oss-20b", "expert=2", "ep", 1), "SGLang loads the packed experts"))
    report.sample("qwen2.5-7b in three stages", lambda folder: equal(
        folder, made(folder, "qwen2.5-7b", "stage=3,model=2", "pp-1f1b", 5), "pp-size: 3", "SGLANG_PP_LAYER_PARTITION=2,2,1"))
    report.sample("qwen2.5-0.5b tied, in two stages", lambda folder: equal(
        folder, made(folder, "qwen2.5-0.5b", "stage=2,model=2", "pp-1f1b", 2), "pp-size: 2"))
    for model, reason in (("llama3-8b", "SGLang has it on every stage"), ("gemma2-9b", "SGLang has no stages")):
        report.sample(f"{model} in two stages", lambda folder: refused(folder, made(folder, model, "stage=2,model=2", "pp-1f1b", 2), reason))
    report.sample("gemma3-4b", lambda folder: equal(
        folder, made(folder, "gemma3-4b", "model=4", "megatron-tp", 1, edit=samples.give("*embed_tokens.weight", "P()"))))
    report.sample("gemma3-4b vocabulary cut", lambda folder: refused(
        folder, made(folder, "gemma3-4b", "model=4", "megatron-tp", 1), "is 0:65552, in SGLang 0:262208"))
    report.sample("qwen2.5-7b heads that do not divide", lambda folder: refused(
        folder, made(folder, "qwen2.5-7b", "model=8", "megatron-tp", 1), "SGLang cannot cut 28 heads over 8 tensor ranks"))
    report.sample("llama3-8b with more ranks than KV heads", lambda folder: equal(folder, made(
        folder, "llama3-8b", "head=8,part=2", "replicate", 1, edit=samples.share_heads)))
    report.sample("llama3-8b tensor axis first", lambda folder: refused(
        folder, made(folder, "llama3-8b", "model=4,data=2", "megatron-tp", 1), "numbers its ranks over data and model"))
    report.sample("llama3-8b one weight whole", lambda folder: refused(folder, made(
        folder, "llama3-8b", "model=4", "megatron-tp", 1,
        edit=samples.one_whole),
        "is 0:14336, in SGLang 0:3584"))
    for name, spec in samples.LAYOUTS.items():
        report.sample(f"one tensor {name}", lambda folder: refused(
            folder, samples.loose(folder, (16, 8), "data=2,model=4", spec), "it is partial over mesh axis" if name == "L8" else "of this model that is not known"))

    def broken(folder):
        out, why = exported(folder, made(folder, "llama3-8b", "model=2", "megatron-tp", 1))
        assert why is None, why
        path = os.path.join(out, "sglang.yaml")
        with open(path, encoding="utf-8") as file:
            good = file.read()
        bad = {"another size": good.replace("tp-size: 2", "tp-size: 1"), "an unknown option": good + "no-such-option: 3\n",
               "stages": good.replace("tp-size: 2", "tp-size: 1").replace("pp-size: 1", "pp-size: 2"),
               "a refused size": good + "attn-dp-size: 3\n"}
        for what, text in bad.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            checked = exports.ready.run(os.path.join(out, "check.py"))
            assert checked.returncode not in (0, 77), f"{what} is not found: {checked.stdout[-300:]}"
        return f"{len(bad)} broken configs are found"
    report.sample("configs that are broken", broken)

    def layers(folder, mesh, break_it=False):
        out, why = exported(folder, made(folder, "llama3-8b", mesh, "megatron-tp", 1,
                                                   edit=lambda document: document["model"].update(SMALL)))
        assert why is None, why
        if break_it:
            with open(os.path.join(out, "shards.json"), encoding="utf-8") as file:
                text = file.read()
            name = '"model.layers.0.mlp.down_proj.weight"'
            at = text.index(name)
            moved = text[:at] + text[at:].replace("[0,24]", "[24,48]", 1).replace("[0, 24]", "[24, 48]", 1)
            assert moved != text, "the shard to break is not there"
            with open(os.path.join(out, "shards.json"), "w", encoding="utf-8") as file:
                file.write(moved)
        answer = samples.run(sys.executable, "-W", "ignore", "-c", LAYERS, out, samples.json.dumps(SMALL))
        if break_it:
            assert answer.returncode != 0 and "down_proj" in answer.stderr, answer.stderr[-500:]
            return "a shard that was moved is found"
        assert answer.returncode == 0, answer.stderr[-2000:]
        return int(answer.stdout.split()[-1])
    report.sample("contents of layers, four ranks", lambda folder: layers(folder, "model=4"))
    report.sample("contents of layers, two ranks of two copies", lambda folder: layers(folder, "data=2,model=2"))
    report.sample("a shard that was moved", lambda folder: layers(folder, "model=4", True))
    report.end()


if __name__ == "__main__":
    main()
