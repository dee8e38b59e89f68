#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports designs to Hugging Face with shardctl and has the real transformers lay the models out: by the export's own check, and by
loading a small checkpoint whose elements say where they are, one process a rank.

Ends with 0 when all shards are those of shards.json, 1 when one is not, 77 where Python has no transformers with torch
(SHARDBOARD_HF_PYTHON names another Python; SHARDBOARD_HF4_PATH the site-packages of transformers 4, tried too where it is set).
"""
import json
import os
import sys

import forwards
import samples

samples.run_by("SHARDBOARD_HF_PYTHON")

try:
    import importlib.metadata

    import torch  # noqa: F401
    VERSION = importlib.metadata.version("transformers")
except (ImportError, importlib.metadata.PackageNotFoundError) as problem:
    print(f"skipped: this Python has no transformers with torch ({problem}); SHARDBOARD_HF_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

IMPORTS = "import torch.testing._internal.distributed.fake_pg, torch.distributed.tensor; from transformers import AutoConfig, AutoModelForCausalLM"
for family in ("llama", "qwen2", "gemma2", "mixtral", "deepseek_v2"):
    IMPORTS += f"; import transformers.models.{family}.modeling_{family}"
FIVE = samples.Ready(IMPORTS + "; import transformers.distributed")
FOUR = "SHARDBOARD_HF4_PATH" in os.environ and samples.Ready(IMPORTS, {"PYTHONPATH": os.environ["SHARDBOARD_HF4_PATH"]})

# Why a sample is refused; all others are exported.
REFUSED = {"fsdp": "", "tp+fsdp": "Hugging Face cuts it over fsdp|leaves it whole|cut over"}

SMALL = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
         "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 8, "vocab_size": 128, "tie_word_embeddings": False,
         "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "torch_dtype": "float32"}

# Run by torchrun: loads the checkpoint of the first argument as the export of the second one says, compares every local tensor.
LOADS = """
import json, os, sys
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import torch
from transformers import AutoModelForCausalLM
from transformers.distributed import DistributedConfig
path, folder = sys.argv[1:3]
settings = json.load(open(folder + "/tp_plan_v5.json"))["distributed_config"]
model = AutoModelForCausalLM.from_pretrained(path, distributed_config=DistributedConfig(**settings))
rank, wrong, seen = int(os.environ["RANK"]), [], 0
own = dict(model.named_parameters())
for tensor in json.load(open(folder + "/shards.json"))["tensors"]:
    whole = torch.arange(int(torch.tensor(tensor["shape"]).prod()), dtype=torch.float32).view(tensor["shape"])
    piece = next(shard["pieces"][0] for shard in tensor["shards"] if rank in shard["devices"])
    local = own[tensor["name"]]
    local = local.to_local() if hasattr(local, "to_local") else local
    seen += 1
    if not torch.equal(whole[tuple(slice(lo, hi) for lo, hi in piece)], local.detach()):
        wrong.append(tensor["name"])
print(f"RANK {rank}: {seen - len(wrong)} of {seen} {wrong[:3]}", flush=True)
sys.exit(bool(wrong))
"""


# For forwards.py.
COMPUTES = """
import json, os, sys
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import torch
from transformers import AutoModelForCausalLM
from transformers.distributed import DistributedConfig
def logits(checkpoint, folder, tokens):
    settings = json.load(open(folder + "/tp_plan_v5.json"))["distributed_config"]
    model = AutoModelForCausalLM.from_pretrained(checkpoint, distributed_config=DistributedConfig(**settings), dtype=torch.float32)
    out = model(tokens).logits
    return out.full_tensor() if hasattr(out, "full_tensor") else out
"""


def fewer_layers(document, layers):
    document["model"]["num_hidden_layers"] = layers


def exported(shardctl, folder, design):
    out = os.path.join(folder, "out")
    return out, samples.export(shardctl, design, "hf", out)


def check_with_four(folder):
    if not FOUR or not os.path.exists(os.path.join(folder, "tp_plan_v4.json")):
        return
    checked = FOUR.run(os.path.join(folder, "check.py"))
    last = (checked.stdout.strip().splitlines() or [""])[-1]
    assert checked.returncode == 0, f"transformers 4: exit {checked.returncode}: {checked.stdout[-800:]}{checked.stderr[-1500:]}"
    equal, _, total = last.split()[:3]
    assert equal == total and "transformers 4." in last, last


def main():
    options = samples.arguments(__doc__.splitlines()[0]).parse_args()
    shardctl = options.shardctl
    report = samples.Report("hf", f"transformers {VERSION}", options)

    for model in samples.MODELS:
        layers = 2
        for preset, mesh in samples.LAYOUTS_OF_MODELS:
            for workload in samples.WORKLOADS:
                def act(folder):
                    design = samples.changed(samples.designed(shardctl, folder, model, mesh, preset, ["--workload", workload]),
                                             lambda document: fewer_layers(document, layers))
                    out, why = exported(shardctl, folder, design)
                    if why is not None:
                        reasons = REFUSED.get(preset, "")
                        assert reasons and any(reason in why for reason in reasons.split("|")), why
                        return why
                    equal = samples.own_check(out, "check.py", FIVE)
                    check_with_four(out)
                    return equal
                if workload == "train" and preset in ("megatron-tp", "tp+fsdp"):
                    continue  # the same plan
                report.sample(f"{model} {preset} {workload}", act)

    def experts(folder):
        design = samples.changed(samples.designed(shardctl, folder, "mixtral-8x7b", "model=8", "megatron-tp"),
                                 lambda document: (fewer_layers(document, 1), document["strategies"].append(
                                     {"match": "*.experts.*", "strategy": "spec", "spec": "P('model')"})))
        out, why = exported(shardctl, folder, design)
        assert why is None, why
        with open(os.path.join(out, "tp_plan_v5.json"), encoding="utf-8") as file:
            assert json.load(file)["distributed_config"]["ep_size"] == 8
        return samples.own_check(out, "check.py", FIVE)
    report.sample("mixtral-8x7b whole experts", experts)

    def two_dims(folder):
        """FSDP beside tensor parallelism, as transformers cuts: dim 0 of every parameter, after its tensor-parallel part."""
        def edit(document):
            fewer_layers(document, 2)
            for match in ("*.q_proj.weight", "*.k_proj.weight", "*.v_proj.weight", "*.gate_proj.weight", "*.up_proj.weight", "*embed_tokens.weight",
                          "lm_head.weight"):
                samples.give(match, "P(('tensor','fsdp'))")(document)
            for match in ("*.o_proj.weight", "*.down_proj.weight"):
                samples.give(match, "P('fsdp','tensor')")(document)
        design = samples.changed(samples.designed(shardctl, folder, "llama3-8b", "fsdp=2,tensor=4", "tp+fsdp", ["--workload", "train"]), edit)
        out, why = exported(shardctl, folder, design)
        assert why is None, why
        return samples.own_check(out, "check.py", FIVE)
    report.sample("llama3-8b tp+fsdp as transformers cuts", two_dims)

    def uneven(folder):
        """28 heads of 128 over 8: torch's rule cuts 3584 rows into equal parts, which the plan has to say as well."""
        design = samples.designed(shardctl, folder, "qwen2.5-7b", "model=8", "megatron-tp")
        out, why = exported(shardctl, folder, design)
        assert why and "in Hugging Face 0:448" in why, why
        return why
    report.sample("qwen2.5-7b whole heads that do not divide", uneven)

    def torch_rule(folder):
        design = samples.changed(samples.designed(shardctl, folder, "llama3-8b", "model=6", "replicate"),
                                 lambda document: (fewer_layers(document, 1), document["strategies"].append(
                                     {"match": "*.mlp.down_proj.weight", "strategy": "spec", "spec": "P(None,'model')", "cut": "ceil-nested"})))
        out, why = exported(shardctl, folder, design)
        assert why is None, why
        return samples.own_check(out, "check.py", FIVE)
    report.sample("llama3-8b uneven by torch's rule", torch_rule)

    def other_order(folder):
        out, why = exported(shardctl, folder, samples.designed(shardctl, folder, "llama3-8b", "model=4,data=2", "megatron-tp"))
        assert why and "numbers its ranks over data and model" in why, why
        return why
    report.sample("llama3-8b tensor axis first", other_order)

    for name, spec in samples.LAYOUTS.items():
        def loose(folder):
            out, why = exported(shardctl, folder, samples.loose(folder, (16, 8), "data=2,model=4", spec))
            assert why and ("of this model that is not known" in why or "partial" in why), why
            return why
        report.sample(f"one tensor {name}", loose)

    def broken(folder):
        design = samples.changed(samples.designed(shardctl, folder, "llama3-8b", "data=2,model=2", "megatron-tp"),
                                 lambda document: fewer_layers(document, 1))
        out, why = exported(shardctl, folder, design)
        assert why is None, why
        path = os.path.join(out, "tp_plan_v5.json")
        with open(path, encoding="utf-8") as file:
            good = file.read()
        for edit in ((lambda plan: plan.update({"model.layers.*.mlp.up_proj": "replicate"})),
                     (lambda plan: plan.update({"model.embed_tokens": "embedding_colwise"})),
                     (lambda plan: plan.update({"model.layers.*.mlp.other": "colwise"}))):
            document = json.loads(good)
            edit(document["distributed_config"]["tp_plan"])
            with open(path, "w", encoding="utf-8") as file:
                json.dump(document, file)
            checked = FIVE.run(os.path.join(out, "check.py"))
            assert checked.returncode == 1, f"a broken plan is not found: {checked.stdout[-300:]}"
        return "three broken plans are found"
    report.sample("plans that are broken", broken)

    def loaded(folder):
        """A real from_pretrained in four processes, by contents."""
        from safetensors.torch import save_file
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(SMALL, file)
        design = os.path.join(folder, "d.shardboard")
        new = samples.run(shardctl, "new", "--model", os.path.join(folder, "config.json"), "--mesh", "data=2,model=2", "--preset", "megatron-tp",
                          "--batch", 16, "--sequence", 16, "-o", design)
        assert new.returncode == 0, new.stderr
        out, why = exported(shardctl, folder, design)
        assert why is None, why
        tensors = samples.shards(out)["tensors"]
        save_file({tensor["name"]: torch.arange(int(torch.tensor(tensor["shape"]).prod()), dtype=torch.float32).view(tensor["shape"])
                   for tensor in tensors}, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
        script = os.path.join(folder, "loads.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(LOADS)
        ran = samples.run(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", 4, script, folder, out,
                          environment={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})
        equal = ran.stdout.count(f": {len(tensors)} of {len(tensors)} []")  # ranks write at the same time
        assert ran.returncode == 0 and equal == 4, f"{ran.stdout[-800:]}{ran.stderr[-1500:]}"
        # The export's check names what is another in a checkpoint: here one weight is renamed, and one has another shape.
        shapes = {tensor["name"]: tensor["shape"] for tensor in tensors}
        script = os.path.join(out, "check.py")
        said = samples.run(sys.executable, script, folder)
        assert said.returncode == 0 and f"{len(tensors)} tensors of" in said.stdout, said.stderr[-800:]
        shapes["model.layers.1.mlp.other_proj.weight"] = shapes.pop("model.layers.1.mlp.up_proj.weight")
        shapes["model.norm.weight"] = [65]
        save_file({name: torch.zeros(shape) for name, shape in shapes.items()}, os.path.join(folder, "model.safetensors"))
        said = samples.run(sys.executable, script, folder)
        assert said.returncode == 1, said.stdout
        for text in ("says nothing about 'model.layers.1.mlp.other_proj.weight'", "'model.norm.weight' has shape [65], in the design [64]",
                     "has 'model.layers.1.mlp.up_proj.weight', and the checkpoint does not"):
            assert text in said.stderr, said.stderr[-800:]
        return len(tensors)
    report.sample("a small checkpoint that is loaded", loaded)

    for tied in (False, True):
        def computed(folder):
            """What is exported computes the logits of the whole model; what would not is refused."""
            forwards.checkpoint(folder, tied)
            made, refused = forwards.exports(shardctl, folder, "hf")
            assert len(made) >= 6 and refused >= 12, (made, refused)
            forwards.compared(folder, COMPUTES, made)
            return len(samples.shards(made[0])["tensors"])
        report.sample(f"forward passes of megatron-tp with one weight laid out otherwise{', tied' if tied else ''}", computed)
    report.end()


if __name__ == "__main__":
    main()
