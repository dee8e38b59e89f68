#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has four processes of PyTorch compute small models of transformers as exports lay them out, and compares with the model in one
piece: logits, loss and gradients. Every parameter has the placements of the export and holds what shards.json says.

Ends with 0 when all are equal, 1 when one is not, 77 where Python has no PyTorch or transformers (SHARDBOARD_TORCH_PYTHON names
another Python).
"""
import copy
import json
import os
import socket
import sys
import tempfile
import traceback
import warnings

import samples

samples.run_by("SHARDBOARD_TORCH_PYTHON")

try:
    import torch
    import torch.distributed as dist
    import transformers
    from torch.distributed.tensor import DTensor, distribute_tensor
    from torch.distributed.tensor.parallel import loss_parallel
except ImportError as problem:
    print(f"skipped: this Python has no PyTorch with DTensor, or no transformers ({problem}); SHARDBOARD_TORCH_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

WORLD, BATCH, SEQUENCE = 4, 8, 16
SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 4, "vocab_size": 256,
         "num_hidden_layers": 2}
MODELS = {
    "llama3-8b": ("Llama", {}, {"rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}}),
    "qwen2.5-7b": ("Qwen2", {}, {}),
    "gemma2-9b": ("Gemma2", {"sliding_window": 0}, {"query_pre_attn_scalar": 256, "attn_implementation": "eager"}),
}
LAYOUTS = [
    ("megatron-tp", "data=2,model=2", ()),
    ("tp-sp", "data=2,model=2", ()),
    ("tp-sp", "model=4", ()),
    ("fsdp", "fsdp=4", ()),
    ("fsdp", "fsdp=4", ("--recompute", "full")),
    ("tp+fsdp", "fsdp=2,tensor=2", ("--recompute", "selective")),
    ("tp+fsdp", "tensor=2,fsdp=2", ()),
    ("hsdp", "data=2,fsdp=2", ()),
    ("cp-all-gather", "context=2,fsdp=2", ()),
]

# Mixtures of experts, whose weights are laid out: transformers fuses experts, so that names are mapped.
EXPERTS = {
    "mixtral-8x7b": ("Mixtral", {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64}, {"num_local_experts": 4}),
    "deepseek2-16b": ("DeepseekV2", {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "kv_lora_rank": 16, "head_dim": 24,
                                     "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16, "num_key_value_heads": 8},
                      {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "kv_lora_rank": 16, "q_lora_rank": None,
                       "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16, "num_key_value_heads": 8, "n_shared_experts": 2,
                       "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "head_dim": 8}),
}
LAYOUTS_OF_EXPERTS = [
    ("megatron-tp", "data=2,model=2", ()),
    ("tp+fsdp", "fsdp=2,tensor=2", ()),
    ("ep", "fsdp=2,expert=2", ()),
]


def shrunk(changes):
    def edit(document):
        document["model"].update({**SMALL, **changes}, dtype="f32", source="made for a test")
        document["workload"].update(batch=BATCH, sequence=SEQUENCE, dtype="f32")
    return edit


def model_of(name, options):
    torch.manual_seed(1)
    sizes = {**SMALL, "use_cache": False, "pad_token_id": None, **options}
    config = getattr(transformers, name + "Config")(**sizes)
    model = getattr(transformers, name + "ForCausalLM")(config)
    with torch.no_grad():  # norms of ones would hide much
        for parameter in model.parameters():
            parameter.normal_(std=0.2)
    return model


def check(folder, name, options):
    """Of this rank: what differs."""
    module = samples.module(folder, "export")
    with open(os.path.join(folder, "shards.json"), encoding="utf-8") as file:
        proof = {tensor["name"]: tensor for tensor in json.load(file)["tensors"]}
    whole = model_of(name, options)
    values = {key: parameter.detach().clone() for key, parameter in whole.named_parameters()}
    model = copy.deepcopy(whole)
    m = module.mesh("cpu")
    module.parallelize(model, m)
    order = [axis for axis, _ in module.AXES]
    wrong = []
    for key, parameter in model.named_parameters():
        key = key.replace("_checkpoint_wrapped_module.", "")
        # FSDP2 puts its axes first, so that the order of axes on a dim is said by a strided shard or not: the contents tell.
        placed = {axis: getattr(p, "dim", None) for axis, p in zip(parameter.device_mesh.mesh_dim_names, parameter.placements)}
        told = {axis: getattr(p, "dim", None) for axis, p in zip(order, module.placements_of(key))}
        if placed != told:
            wrong.append(f"{key} is {placed}, in the design {told}")
        shard = next(s for s in proof[key]["shards"] if dist.get_rank() in s["devices"])
        parts = [values[key][tuple(slice(lo, hi) for lo, hi in piece)] for piece in shard["pieces"]]
        part = parts[0] if len(parts) == 1 else torch.cat(parts, dim=shard["join_dim"])
        if not torch.equal(parameter.to_local(), part):
            wrong.append(f"{key} holds something else than shards.json says")
    tokens, targets = torch.randint(0, SMALL["vocab_size"], (2, BATCH, SEQUENCE))
    logits = whole(tokens).logits
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())
    expected.backward()
    part = module.inputs(m, tokens=tokens, targets=targets)
    with loss_parallel():
        got = model(part["tokens"]).logits
        value = module.loss(got, part["targets"])
        value.backward()
    full = got.full_tensor() if isinstance(got, DTensor) else got
    own = distribute_tensor(logits.detach(), m, module.INPUTS["tokens"][1], src_data_rank=None).to_local()
    difference = (full - own).abs().max().item()
    if difference > 1e-5:
        wrong.append(f"logits differ by {difference}")
    gradients = {key: parameter.grad for key, parameter in whole.named_parameters()}
    for key, parameter in model.named_parameters():
        key = key.replace("_checkpoint_wrapped_module.", "")
        difference = (parameter.grad.full_tensor() - gradients[key]).abs().max().item()
        if not difference <= 1e-5:
            wrong.append(f"gradient of {key} differs by {difference}")
    torch.optim.AdamW(model.parameters()).step()
    return wrong


def check_weights(folder, name, options):
    """Of this rank: what of a model of experts, fused by transformers, lies in another way than shards.json says."""
    module = samples.module(folder, "export")
    with open(os.path.join(folder, "shards.json"), encoding="utf-8") as file:
        proof = {tensor["name"]: tensor for tensor in json.load(file)["tensors"]}
    model = model_of(name, options)
    values = {key: parameter.detach().clone() for key, parameter in model.named_parameters()}
    model = module.distribute(model, module.mesh("cpu"))

    def part_of(key, value):
        shard = next(s for s in proof[key]["shards"] if dist.get_rank() in s["devices"])
        parts = [value[tuple(slice(lo, hi) for lo, hi in piece)] for piece in shard["pieces"]]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=shard["join_dim"])
    wrong = []
    for key, parameter in model.named_parameters():
        value = values[key]
        if key in proof:
            part = part_of(key, value)
        else:
            at = key.replace("model.layers.", "").split(".")[0]
            before = next(k[:k.index("experts.*.")] for k in proof if k.startswith(f"model.layers.{at}.") and "experts.*." in k)
            gate, up, down = (before + f"experts.*.{leaf}.weight" for leaf in (("w1", "w3", "w2") if "block_sparse" in before else
                                                                               ("gate_proj", "up_proj", "down_proj")))
            if key.endswith("gate_up_proj"):
                half = value.shape[1] // 2
                part = torch.cat((part_of(gate, value[:, :half]), part_of(up, value[:, half:])), dim=1)
            else:
                part = part_of(down if key.endswith("down_proj") else before + "gate.weight", value)
        if not torch.equal(parameter.to_local(), part):
            wrong.append(f"{key} holds something else than shards.json says")
    return wrong


def work(rank, port, cases, answers):
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    for i, (folder, name, options) in enumerate(cases):
        try:
            wrong = (check if name not in {known[0] for known in EXPERTS.values()} else check_weights)(folder, name, options)
        except Exception:  # told as what is wrong
            wrong = [traceback.format_exc()[-1500:]]
        with open(os.path.join(answers, f"{i}.{rank}"), "w", encoding="utf-8") as file:
            json.dump(wrong, file)
        if any("Traceback" in text for text in wrong):
            break  # others may wait for this rank
    dist.destroy_process_group()


def main():
    options = samples.arguments(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as root:
        cases, names = [], []
        for model, (name, changes, more) in (MODELS | EXPERTS).items():
            for preset, mesh, told in LAYOUTS if model in MODELS else LAYOUTS_OF_EXPERTS:
                title = f"{model} {preset} on {mesh}{' '.join(('', *told))}"
                if options.only not in title or (preset.startswith("cp") and "eager" in more.values()):
                    continue
                folder = os.path.join(root, str(len(cases)))
                os.mkdir(folder)
                design = samples.designed(options.shardctl, folder, model, mesh, preset, ["--workload", "train", *told])
                refusal = samples.export(options.shardctl, samples.changed(design, shrunk(changes)), "torch", folder)
                assert refusal is None, refusal
                cases.append((folder, name, more))
                names.append(title)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        torch.multiprocessing.spawn(work, (port, cases, root), WORLD)
        failed = 0
        for i, title in enumerate(names):
            wrong = set()
            for rank in range(WORLD):
                path = os.path.join(root, f"{i}.{rank}")
                with open(path, encoding="utf-8") if os.path.exists(path) else open(os.devnull, encoding="utf-8") as file:
                    wrong.update(json.loads(file.read() or '["it was not run"]'))
            failed += bool(wrong)
            print(f"{title}: " + ("FAILED: " + "; ".join(sorted(wrong))[:1500] if wrong else
                                   "weights are equal" if any(model in title for model in EXPERTS) else "weights, logits and gradients are equal"))
    print(f"{len(names) - failed} of {len(names)} models compute the same in PyTorch {torch.__version__.partition('+')[0]}")
    sys.exit(1 if failed or not names else 0)


if __name__ == "__main__":
    main()
