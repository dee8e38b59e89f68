#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports designs to Megatron with shardctl and has Megatron-Core say what each rank holds: by the export's own check, and by its GPTModel,
whose own names, offsets and shapes of a checkpoint are compared with shards.json.

Ends with 0 when all shards are those of shards.json, 1 when one is not, 77 where Python has no Megatron-Core (SHARDBOARD_MEGATRON_PYTHON
names another Python).
"""
import json
import os
import sys

import samples

samples.run_by("SHARDBOARD_MEGATRON_PYTHON")

try:
    import importlib.metadata
    VERSION = importlib.metadata.version("megatron-core")
except importlib.metadata.PackageNotFoundError:
    print("skipped: this Python has no Megatron-Core; SHARDBOARD_MEGATRON_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

IMPORTS = ("import warnings; warnings.simplefilter('ignore'); import megatron.core.parallel_state, torch.testing._internal.distributed.fake_pg; "
           "import megatron.core.tensor_parallel.layers, megatron.core.transformer.transformer_config; "
           "import megatron.core.transformer.pipeline_parallel_layer_layout")

# Why a sample is refused; None: it is not.
REASONS = {"megatron-tp": None, "tp-sp": None, "fsdp": "Megatron's FSDP cuts one flat buffer", "tp+fsdp": "Megatron's FSDP cuts one flat buffer"}

# A configuration of the design's model takes its settings; others do not.
CONFIGURES = """
import sys
from megatron.core.transformer.transformer_config import TransformerConfig
sys.path.insert(0, sys.argv[1])
import export
def config(**others):
    sizes = dict(num_layers=2, hidden_size=4096, num_attention_heads=32, num_query_groups=8, kv_channels=128, ffn_hidden_size=14336)
    return TransformerConfig(**{**sizes, **others})
assert export.configure(config()).tensor_model_parallel_size == 4
for others, said in ((dict(num_query_groups=4), "num_query_groups is 4, in the design 8"), (dict(ffn_hidden_size=14337), "ffn_hidden_size is 14337")):
    try:
        export.configure(config(**others))
    except ValueError as problem:
        assert said in str(problem), problem
    else:
        sys.exit(f"{others} is taken")
try:
    export.configure(object())
except ValueError as problem:
    assert "it has no tensor_model_parallel_size" in str(problem), problem
else:
    sys.exit("an object without groups of ranks is taken")
"""

# One rank: builds GPTModel as export.py says, without values, and prints what its checkpoint says of every weight of the rank. Arguments:
# folder of the export, rank, ranks, layers, heads, KV heads, head dim, hidden size, MLP size, vocabulary.
BUILDS = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
folder = sys.argv[1]
rank, ranks, layers, heads, kv, size, hidden, mlp, vocabulary = map(int, sys.argv[2:])
import torch
from megatron.core import parallel_state
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.transformer.transformer_config import TransformerConfig
from torch.testing._internal.distributed.fake_pg import FakeStore
sys.path.insert(0, folder)
import export
torch.cuda.current_device = lambda: "cpu"
torch.distributed.init_process_group("fake", store=FakeStore(), rank=rank, world_size=ranks)
settings = export.SETTINGS
parallel_state.initialize_model_parallel(
    settings["tensor_model_parallel_size"], settings["pipeline_model_parallel_size"],
    context_parallel_size=settings["context_parallel_size"], create_gloo_process_groups=False,
    order="tp-cp-ep-pp-dp" if settings.get("use_tp_pp_dp_mapping") else "tp-cp-ep-dp-pp")
sizes = {name: settings[name] for name in ("tensor_model_parallel_size", "pipeline_model_parallel_size", "pipeline_model_parallel_layout",
                                           "context_parallel_size") if name in settings}
config = TransformerConfig(
    num_layers=layers, hidden_size=hidden, num_attention_heads=heads, num_query_groups=kv, kv_channels=size, ffn_hidden_size=mlp,
    use_cpu_initialization=True, perform_initialization=False, params_dtype=torch.bfloat16, pipeline_dtype=torch.bfloat16, bf16=True,
    add_bias_linear=False, gated_linear_unit=True, normalization="RMSNorm", **sizes)
with torch.device("meta"):
    model = GPTModel(config, get_gpt_layer_local_spec(normalization="RMSNorm"), vocabulary, 64,
                     pre_process=parallel_state.is_pipeline_first_stage(), post_process=parallel_state.is_pipeline_last_stage(),
                     share_embeddings_and_output_weights=False, position_embedding_type="rope")
out = {}
for entry in model.sharded_state_dict().values():
    if hasattr(entry, "build"):  # gate and up, side by side
        entry.data = torch.empty(entry.data.shape, device="meta")
        parts = entry.build()
    else:
        parts = [entry]
    for part in parts:
        if hasattr(part, "local_shape"):
            skip = part.prepend_axis_num
            out.setdefault(part.key, []).append([part.global_offset, part.local_shape, skip, part.global_shape])
print("BUILT " + json.dumps(out))
"""


def of_llama(key, entries, kv, size, heads):
    """Names and ranges of the checkpoint of a Llama for what Megatron says of one of its weights."""
    group = (heads // kv + 2) * size  # rows of queries, keys, and values of a KV head
    for offset, shape, skip, whole in entries:
        layer = f"model.layers.{offset[0]}." if skip else ""
        ranges = [[low, low + own] for low, own in zip(offset[skip:], shape[-(len(whole) - skip):])]
        if key == "embedding.word_embeddings.weight":
            yield "model.embed_tokens.weight", ranges
        elif key == "output_layer.weight":
            yield "lm_head.weight", ranges
        elif key == "decoder.final_layernorm.weight":
            yield "model.norm.weight", ranges
        elif key.endswith("linear_qkv.layer_norm_weight"):
            yield layer + "input_layernorm.weight", ranges
        elif key.endswith("linear_fc1.layer_norm_weight"):
            yield layer + "post_attention_layernorm.weight", ranges
        elif key.endswith("linear_proj.weight"):
            yield layer + "self_attn.o_proj.weight", ranges
        elif key.endswith("linear_fc2.weight"):
            yield layer + "mlp.down_proj.weight", ranges
        elif key.endswith("linear_qkv.weight"):
            low, high = (end // group for end in ranges[0])
            assert [low * group, high * group] == ranges[0], f"{key} is cut inside of a KV head: {ranges}"
            yield layer + "self_attn.q_proj.weight", [[low * heads // kv * size, high * heads // kv * size], ranges[1]]
            for name in "kv":
                yield layer + f"self_attn.{name}_proj.weight", [[low * size, high * size], ranges[1]]
        elif key.endswith("linear_fc1.weight"):
            half = whole[skip] // 2
            name = "gate" if ranges[0][0] < half else "up"
            yield layer + f"mlp.{name}_proj.weight", [[end - (half if name == "up" else 0) for end in ranges[0]], ranges[1]]
        else:
            raise AssertionError(f"{key} is not a weight of Llama")


def built(folder, ranks):
    """Compares GPTModel on some ranks with shards.json; returns how many tensors are equal."""
    document = samples.shards(folder)
    tensors = {tensor["name"]: tensor for tensor in document["tensors"]}
    kv, size, heads = 8, 128, 32
    layers = sum(name.endswith("q_proj.weight") for name in tensors)
    vocabulary, hidden = tensors["model.embed_tokens.weight"]["shape"]
    mlp = tensors["model.layers.0.mlp.gate_proj.weight"]["shape"][0]
    equal = set()
    for rank in ranks:
        ran = samples.run(sys.executable, "-c", BUILDS, folder, rank, len(document["mesh"]["device_ids"]), layers, heads, kv, size, hidden, mlp,
                          vocabulary)
        said = [line for line in ran.stdout.splitlines() if line.startswith("BUILT ")]
        assert ran.returncode == 0 and said, f"exit {ran.returncode}: {ran.stderr[-1500:]}"
        seen = {}
        for key, entries in json.loads(said[0].split(" ", 1)[1]).items():
            seen.update(of_llama(key, entries, kv, size, heads))
        want = {name: pieces[0] for name, tensor in tensors.items() if (pieces := samples.by_device(tensor).get(rank))}
        wrong = [name for name in {*want, *seen} if want.get(name) != seen.get(name)]
        assert not wrong, f"rank {rank}: {wrong[0]} is {seen.get(wrong[0])}, in the plan {want.get(wrong[0])}"
        equal |= set(want)
    return len(equal)


def main():
    options = samples.arguments(__doc__.splitlines()[0]).parse_args()
    exports = samples.Exports(options.shardctl, "megatron", "export.py", IMPORTS)
    made, exported, refused = exports.made, exports.exported, exports.refused
    report = samples.Report("megatron", f"Megatron-Core {VERSION}", options)

    def equal(folder, design, *parts, ranks=()):
        count = exports.equal(folder, design, *parts)
        if ranks:
            built(os.path.join(folder, "out"), ranks)
        return count

    for model in samples.MODELS:
        for preset, mesh in samples.LAYOUTS_OF_MODELS:
            reason = REASONS[preset]
            for workload in samples.WORKLOADS:
                def act(folder):
                    design = made(folder, model, mesh, preset, 3, "--workload", workload)
                    if reason is not None:
                        return refused(folder, design, reason)
                    parts = ['"sequence_parallel": True'] if preset == "tp-sp" else []
                    parts += ['"global_batch_size": 16', '"micro_batch_size": 8'] if workload == "train" else []
                    return equal(folder, design, *parts)
                report.sample(f"{model} {preset} {workload}", act)

    report.sample("llama3-8b as GPTModel", lambda folder: equal(
        folder, made(folder, "llama3-8b", "data=2,model=4", "megatron-tp", 2), ranks=[5]))
    report.sample("llama3-8b as GPTModel in stages", lambda folder: equal(
        folder, made(folder, "llama3-8b", "stage=3,model=2", "pp-1f1b", 5), '"pipeline_model_parallel_layout"', ranks=[0, 5]))
    report.sample("mixtral-8x7b whole experts", lambda folder: equal(folder, made(
        folder, "mixtral-8x7b", "model=4", "megatron-tp", 1,
        edit=samples.give("*.experts.*", "P('model')")),
        '"expert_model_parallel_size": 4', '"expert_tensor_parallel_size": 1'))
    report.sample("mixtral-8x7b experts over all ranks", lambda folder: equal(
        folder, made(folder, "mixtral-8x7b", "expert=4", "ep", 1), '"expert_model_parallel_size": 4'))
    report.sample("llama3-8b parts of the sequence", lambda folder: equal(
        folder, made(folder, "llama3-8b", "data=2,context=2", "cp-ring", 2), '"context_parallel_size": 2'))
    report.sample("qwen2.5-7b heads that do not divide", lambda folder: refused(
        folder, made(folder, "qwen2.5-7b", "model=8", "megatron-tp", 1), "Megatron cannot cut 28 heads over 8 tensor ranks"))
    report.sample("llama3-8b tensor axis first", lambda folder: refused(
        folder, made(folder, "llama3-8b", "model=4,data=2", "megatron-tp", 1), "numbers its ranks over data and model"))
    report.sample("llama3-8b one weight whole", lambda folder: refused(folder, made(
        folder, "llama3-8b", "model=4", "megatron-tp", 1,
        edit=samples.one_whole),
        "is 0:14336, in Megatron 0:3584"))
    for name, spec in samples.LAYOUTS.items():
        report.sample(f"one tensor {name}", lambda folder: refused(
            folder, samples.loose(folder, (16, 8), "data=2,model=4", spec), "it is partial over mesh axis" if name == "L8" else "of this model that is not known"))

    def broken(folder):
        out, why = exported(folder, made(folder, "llama3-8b", "data=2,model=2", "megatron-tp", 1))
        assert why is None, why
        path = os.path.join(out, "export.py")
        with open(path, encoding="utf-8") as file:
            good = file.read()
        for old, new in (('"tensor_model_parallel_size": 2', '"tensor_model_parallel_size": 1'),
                         ('"make_vocab_size_divisible_by": 1', '"make_vocab_size_divisible_by": 100000')):
            assert old in good, good
            with open(path, "w", encoding="utf-8") as file:
                file.write(good.replace(old, new))
            checked = exports.ready.run(os.path.join(out, "check.py"))
            assert checked.returncode == 1 and "differs:" in checked.stdout, f"broken settings are not found: {checked.stdout[-300:]}"
        return "two broken settings are found"
    report.sample("settings that are broken", broken)

    def other_models(folder):
        """A configuration of Megatron-Core is what a provider is, too: it takes the settings, and one of another model is named."""
        out, why = exported(folder, made(folder, "llama3-8b", "data=2,model=4", "megatron-tp", 2))
        assert why is None, why
        ran = samples.run(sys.executable, "-c", CONFIGURES, out)
        assert ran.returncode == 0, f"exit {ran.returncode}: {ran.stdout[-300:]}{ran.stderr[-1500:]}"
        return "two other models are named"
    report.sample("other models", other_models)
    report.end()


if __name__ == "__main__":
    main()
