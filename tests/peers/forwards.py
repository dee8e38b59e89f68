# SPDX-License-Identifier: Apache-2.0
"""One forward pass of a small Llama on two ranks, laid out by an export: its logits have to be those of the model in one piece.

Designs are megatron-tp with one weight laid out otherwise. Each of them is refused or computes right.
"""
import json
import os
import random
import re
import sys

import samples

SMALL = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
         "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 8, "vocab_size": 256, "tie_word_embeddings": False,
         "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "torch_dtype": "float32"}
WEIGHTS = ["*embed_tokens.weight", "*.q_proj.weight", "*.k_proj.weight", "*.v_proj.weight", "*.o_proj.weight", "*.gate_proj.weight",
           "*.up_proj.weight", "*.down_proj.weight", "*lm_head.weight", "*.self_attn.*", "*.mlp.*"]
STRATEGIES = ["replicate", "rowwise", "columnwise"]

# Run by torchrun after a preamble that defines logits(checkpoint, folder, tokens): those of this rank, whole or a part of the vocabulary.
COMPARES = """
wanted = torch.load(sys.argv[1] + "/wanted.pt")
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
for folder in sys.argv[2:]:
    try:
        with torch.no_grad():
            have = logits(sys.argv[1], folder, wanted["tokens"])
        want = wanted["logits"] if have.shape == wanted["logits"].shape else wanted["logits"].chunk(world, -1)[rank]
        said = f"differs by {float((have - want).abs().max())}" if have.shape == want.shape else f"has the shape {tuple(have.shape)}"
        said = "equal" if said.startswith("differs") and torch.allclose(have, want, atol=1e-5) else said
    except Exception as problem:
        said = f"{type(problem).__name__}: {str(problem)[:150]}".replace(chr(10), " ")
    print(f"<{os.path.basename(folder)} on {rank}: {said}>", flush=True)
"""


def checkpoint(folder, tied=False):
    """A checkpoint of random weights, the logits of some tokens beside it."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    torch.manual_seed(0)
    settings = {**SMALL, "tie_word_embeddings": tied}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**settings)).float()
    tokens = torch.arange(32).view(2, 16)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.2)
        torch.save({"tokens": tokens, "logits": model(tokens).logits}, os.path.join(folder, "wanted.pt"))
    model.save_pretrained(folder)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(settings, file)


def exports(shardctl, folder, target, more=()):
    """Folders of the designs that are exported, and how many are refused."""
    base = os.path.join(folder, "base.shardboard")
    new = samples.run(shardctl, "new", "--model", os.path.join(folder, "config.json"), "--mesh", "model=2", "--preset", "megatron-tp",
                      "--batch", 2, "--sequence", 16, "-o", base)
    assert new.returncode == 0, new.stderr
    with open(base, encoding="utf-8") as file:
        text = file.read()
    made, refused = [], 0
    for match, strategy in [("", ""), *((weight, strategy) for weight in WEIGHTS for strategy in STRATEGIES)]:
        document = json.loads(text)
        document["strategies"] += more
        if match:
            axes = {} if strategy == "replicate" else {"axes": ["model"]}
            document["strategies"].append({"match": match, "strategy": strategy, **axes})
        name = re.sub("[^a-z_]", "", f"{match.replace('.weight', '')}_{strategy}") if match else "as_it_is"
        design = os.path.join(folder, name + ".shardboard")
        with open(design, "w", encoding="utf-8") as file:
            json.dump(document, file)
        out = os.path.join(folder, name)
        if samples.export(shardctl, design, target, out) is None:
            made.append(out)
        else:
            refused += 1
    return made, refused


def some(folders, count, seed=0):
    """The first one and others at random."""
    return folders[:1] + random.Random(seed).sample(folders[1:], min(count - 1, len(folders) - 1))


def compared(folder, preamble, folders):
    """Runs the models on two ranks; raises where one computes something else."""
    script = os.path.join(folder, "computes.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(preamble + COMPARES)
    ran = samples.run(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", 2, "--master-port", random.randint(20000, 40000),
                      script, folder, *folders, environment={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})
    said = {}
    for name, rank, what in re.findall(r"<(\w+) on (\d): (.*?)>", ran.stdout):
        said.setdefault(name, {})[rank] = what
    wrong = {name: what for name, what in said.items() if set(what.values()) != {"equal"}}
    assert not wrong, wrong
    missing = [one for one in map(os.path.basename, folders) if len(said.get(one, {})) != 2]
    assert not missing, f"{missing} said nothing: {ran.stderr[-1500:]}"
