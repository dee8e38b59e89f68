#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports designs to DeepSpeed with shardctl and has the real DeepSpeed say what each rank holds: by the export's own check, and by
initializing small models in four processes, whose parameters say by their values where they are from.

Ends with 0 when all shards are those of shards.json, 1 when one is not, 77 where Python has no DeepSpeed with transformers
(SHARDBOARD_DEEPSPEED_PYTHON names another Python).
"""
import json
import os
import re
import sys

import forwards
import samples

samples.run_by("SHARDBOARD_DEEPSPEED_PYTHON")

try:
    import importlib.metadata
    VERSION = importlib.metadata.version("deepspeed")
    importlib.metadata.version("transformers")
except importlib.metadata.PackageNotFoundError as problem:
    print(f"skipped: this Python has no DeepSpeed with transformers ({problem}); SHARDBOARD_DEEPSPEED_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

READY = samples.Ready("import deepspeed.module_inject.tp_shard, deepspeed.runtime.tensor_parallel.config", {"DS_ACCELERATOR": "cpu"})
EMBEDDING = "AutoTP cuts an embedding over the vocabulary together with a tied head alone"
# Why a sample is refused; None: it is not. Models with a tied head may cut both over the vocabulary.
REASONS = {"megatron-tp": EMBEDDING, "tp-sp": EMBEDDING, "fsdp": None, "tp+fsdp": "ZeRO stage 3 cuts every parameter from its first row on"}
TIED = {"gemma2-9b"}

SMALL = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 97,  # over two ranks 49 and 48
         "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 8, "vocab_size": 128,
         "tie_word_embeddings": False, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "torch_dtype": "float32"}

# Run by torchrun: initializes the model of the first argument by the export of the second one, compares every local tensor, and writes
# what it found to a file of its rank. Ranks wait for each other's files and not in a collective: one that is scheduled late would find
# connections closed in the middle of it, and abort after all has been compared.
INITIALIZES = """
import json, os, sys, time
os.environ["CUDA_VISIBLE_DEVICES"], os.environ["DS_ACCELERATOR"] = "", "cpu"
import deepspeed
import torch
from transformers import AutoConfig, AutoModelForCausalLM
path, folder = sys.argv[1:3]
tensors = json.load(open(folder + "/shards.json"))["tensors"]
def whole(tensor):
    return torch.arange(int(torch.tensor(tensor["shape"]).prod()), dtype=torch.float32).view(tensor["shape"])
model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(path))
own = dict(model.named_parameters())
with torch.no_grad():
    for tensor in tensors:
        own[tensor["name"]].copy_(whole(tensor))
engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), config=folder + "/ds_config.json")
own = dict(engine.module.named_parameters())
rank, wrong = int(os.environ["RANK"]), []
for tensor in tensors:
    piece = next(shard["pieces"][0] for shard in tensor["shards"] if rank in shard["devices"])
    want = whole(tensor)[tuple(slice(lo, hi) for lo, hi in piece)]
    if not torch.equal(want, own[tensor["name"]].detach().float()):
        wrong.append(tensor["name"])
with open(f"{folder}/said.part.{rank}", "w") as file:
    file.write(f"{len(tensors) - len(wrong)} of {len(tensors)} {wrong[:3]}")
os.rename(file.name, f"{folder}/said.{rank}")
deadline = time.monotonic() + 120
while time.monotonic() < deadline and not all(os.path.exists(f"{folder}/said.{r}") for r in range(4)):
    time.sleep(0.05)
os._exit(bool(wrong))
"""


# For forwards.py.
COMPUTES = """
import json, os, sys
os.environ["CUDA_VISIBLE_DEVICES"], os.environ["DS_ACCELERATOR"] = "", "cpu"
import deepspeed
import torch
from transformers import AutoModelForCausalLM
def logits(checkpoint, folder, tokens):
    deepspeed.init_distributed(dist_backend="gloo")
    settings = json.load(open(folder + "/ds_config.json"))
    settings.pop("bf16", None)
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)
    engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), config=settings)
    engine.eval()
    return engine(tokens).logits
"""


def pinned(match, spec):
    """One more layout for a design."""
    return lambda document: document["strategies"].append({"match": match, "strategy": "spec", "spec": spec})


def whole_embedding(document):
    pinned("model.embed_tokens.weight", "P()")(document)


def exported(shardctl, folder, design):
    out = os.path.join(folder, "out")
    return out, samples.export(shardctl, design, "deepspeed", out)


def main():
    options = samples.arguments(__doc__.splitlines()[0]).parse_args()
    shardctl = options.shardctl
    report = samples.Report("deepspeed", f"DeepSpeed {VERSION}", options)

    def made(folder, model, mesh, preset, layers, *more, edits=()):
        def edited(document):
            document["model"]["num_hidden_layers"] = layers
            for edit in edits:
                edit(document)
        return samples.changed(samples.designed(shardctl, folder, model, mesh, preset, more), edited)

    def equal(folder, design, stage=0):
        out, why = exported(shardctl, folder, design)
        assert why is None, why
        with open(os.path.join(out, "ds_config.json"), encoding="utf-8") as file:
            assert json.load(file)["zero_optimization"]["stage"] == stage
        return samples.own_check(out, "check.py", READY)

    def refused(folder, design, reason):
        _, why = exported(shardctl, folder, design)
        assert why and reason in why, why
        return why

    for model in samples.MODELS:
        for preset, mesh in samples.LAYOUTS_OF_MODELS:
            reason = None if model in TIED and REASONS[preset] == EMBEDDING else REASONS[preset]
            for workload in samples.WORKLOADS:
                def act(folder):
                    design = made(folder, model, mesh, preset, 2, "--workload", workload)
                    return equal(folder, design, 3 if preset == "fsdp" else 0) if reason is None else refused(folder, design, reason)
                report.sample(f"{model} {preset} {workload}", act)

    for model in ("llama3-8b", "qwen2.5-7b"):
        report.sample(f"{model} embedding whole", lambda folder: equal(
            folder, made(folder, model, "data=2,model=4", "megatron-tp", 2, edits=[whole_embedding])))
    for model in ("llama3-8b", "gemma2-9b"):
        report.sample(f"{model} embedding over the hidden dim", lambda folder: refused(
            folder, made(folder, model, "data=2,model=4", "megatron-tp", 2, edits=[pinned("model.embed_tokens.weight", "P(None,'model')")]),
            "AutoTP cuts an embedding over the hidden dim without a gather"))
    report.sample("mixtral-8x7b experts whole", lambda folder: equal(folder, made(
        folder, "mixtral-8x7b", "data=2,model=4", "megatron-tp", 1, edits=[whole_embedding, pinned("*.experts.*", "P()")])))
    report.sample("mixtral-8x7b experts cut", lambda folder: refused(
        folder, made(folder, "mixtral-8x7b", "data=2,model=4", "megatron-tp", 1, edits=[whole_embedding]), "AutoTP cuts linear layers"))
    for stage, more in ((1, []), (2, ["--shard-gradients"])):
        report.sample(f"llama3-8b ZeRO stage {stage}", lambda folder: equal(folder, made(
            folder, "llama3-8b", "data=2,model=4", "megatron-tp", 1, "--workload", "train", "--shard-optimizer", "data", *more,
            edits=[whole_embedding]), stage))
    def balanced(document):
        for name, spec in (("gate", "P('model')"), ("up", "P('model')"), ("down", "P(None,'model')")):
            document["strategies"].append({"match": f"*.{name}_proj.weight", "strategy": "spec", "spec": spec, "cut": "balanced"})
    report.sample("llama3-8b MLP over six ranks", lambda folder: equal(folder, made(
        folder, "llama3-8b", "model=6", "replicate", 1, edits=[balanced])))
    report.sample("qwen2.5-7b heads that do not divide", lambda folder: refused(
        folder, made(folder, "qwen2.5-7b", "model=8", "megatron-tp", 1, edits=[whole_embedding]), "AutoTP deals the 4 KV heads to 8 ranks"))
    report.sample("llama3-8b tensor axis first", lambda folder: refused(
        folder, made(folder, "llama3-8b", "model=4,data=2", "megatron-tp", 1), "numbers its ranks over data and model"))
    for name, spec in samples.LAYOUTS.items():
        report.sample(f"one tensor {name}", lambda folder: refused(
            folder, samples.loose(folder, (16, 8), "data=2,model=4", spec), "not known"))

    def broken(folder):
        out, why = exported(shardctl, folder, made(folder, "llama3-8b", "model=4", "megatron-tp", 1, edits=[whole_embedding]))
        assert why is None, why
        path = os.path.join(out, "ds_config.json")
        with open(path, encoding="utf-8") as file:
            good = file.read()
        for old, new in (('"row"', '"column"'), ("mlp\\\\.up_proj", "mlp\\\\.other")):
            assert old in good, good
            with open(path, "w", encoding="utf-8") as file:
                file.write(good.replace(old, new))
            checked = READY.run(os.path.join(out, "check.py"))
            assert checked.returncode == 1 and "differs:" in checked.stdout, f"a broken config is not found: {checked.stdout[-300:]}"
        return "two broken configs are found"
    report.sample("configs that are broken", broken)

    def initialized(folder):
        """A real deepspeed.initialize in four processes, by contents."""
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(SMALL, file)
        design = os.path.join(folder, "d.shardboard")
        new = samples.run(shardctl, "new", "--model", os.path.join(folder, "config.json"), "--mesh", "data=2,model=2", "--preset", "megatron-tp",
                          "--batch", 16, "--sequence", 16, "-o", design)
        assert new.returncode == 0, new.stderr
        out, why = exported(shardctl, folder, samples.changed(design, whole_embedding))
        assert why is None, why
        total = len(samples.shards(out)["tensors"])
        script = os.path.join(folder, "initializes.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(INITIALIZES)
        ran = samples.run(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", 4, script, folder, out,
                          environment={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})
        said = [one for one in (os.path.join(out, f"said.{rank}") for rank in range(4)) if os.path.exists(one)]
        assert len(said) == 4, f"{4 - len(said)} ranks ended before they had compared: {ran.stdout[-800:]}{ran.stderr[-1500:]}"
        for one in said:
            with open(one, encoding="utf-8") as file:
                text = file.read()
            assert text == f"{total} of {total} []", f"{os.path.basename(one)}: {text}"
        if ran.returncode != 0:  # all are equal: what follows is the end of the processes
            print(f"    a rank ended badly after all had compared: {re.findall('exitcode +: .*', ran.stderr)}")
        return total
    report.sample("a small model that is initialized", initialized)

    for tied in (False, True):
        def computed(folder):
            """What is exported computes the logits of the whole model; what would not is refused."""
            forwards.checkpoint(folder, tied)
            more = [] if tied else [{"match": "*embed_tokens.weight", "strategy": "replicate"}]
            out, none = forwards.exports(shardctl, folder, "deepspeed", more)
            assert len(out) >= 5 and none >= 12, (out, none)
            for one in forwards.some(out, 3):  # DeepSpeed keeps its groups
                forwards.compared(folder, COMPUTES, [one])
            return len(samples.shards(out[0])["tensors"])
        report.sample(f"forward passes of megatron-tp with one weight laid out otherwise{', tied' if tied else ''}", computed)
    report.end()


if __name__ == "__main__":
    main()
