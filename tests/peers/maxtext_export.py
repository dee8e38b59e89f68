#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports designs with shardctl and has the real MaxText lay out its own models by the rules: the shards have to be those of shards.json.

Besides the export's own check (MaxText's rule code over the name maps), each model under `megatron-tp` and `tp+fsdp` is built by MaxText
from the exported configuration, without values, and the shardings of its parameter tree are compared by a name map that is written
here a second time. Ends with 0 when all are equal, 1 when one is not, 77 where Python has no MaxText (SHARDBOARD_MAXTEXT_PYTHON names
another Python).
"""
import importlib.metadata
import json
import os
import re
import subprocess
import sys

import samples

samples.run_by("SHARDBOARD_MAXTEXT_PYTHON")

# MaxText builds a model in half a minute: these are enough to see that its trees have the names and logical names of the tables.
BUILT = ("megatron-tp", "tp+fsdp")

# Path in MaxText's tree -> weight of the checkpoint, dims of the parameter without that of the layers as dims of the weight.
NAMES = [
    (r"token_embedder/embedding", "model.embed_tokens.weight", "out in"),
    (r"decoder/decoder_norm/scale", "model.norm.weight", "out"),
    (r"decoder/logits_dense/kernel", "lm_head.weight", "in out"),
    (r".*/query/kernel", "self_attn.q_proj.weight", "in heads"), (r".*/key/kernel", "self_attn.k_proj.weight", "in heads"),
    (r".*/value/kernel", "self_attn.v_proj.weight", "in heads"), (r".*/out/kernel", "self_attn.o_proj.weight", "heads out"),
    (r".*/query/bias", "self_attn.q_proj.bias", "heads"), (r".*/key/bias", "self_attn.k_proj.bias", "heads"),
    (r".*/value/bias", "self_attn.v_proj.bias", "heads"),
    (r".*/wkv_a/kernel", "self_attn.kv_a_proj_with_mqa.weight", "in out"), (r".*/kv_norm/scale", "self_attn.kv_a_layernorm.weight", "out"),
    (r".*/wkv_b/kernel", "self_attn.kv_b_proj.weight", "in heads"),
    (r".*/shared_experts/wi_0/kernel", "mlp.shared_experts.gate_proj.weight", "in out"),
    (r".*/shared_experts/wi_1/kernel", "mlp.shared_experts.up_proj.weight", "in out"),
    (r".*/shared_experts/wo/kernel", "mlp.shared_experts.down_proj.weight", "in out"),
    (r".*mlp[a-z_]*/wi_0/kernel", "mlp.gate_proj.weight", "in out"), (r".*mlp[a-z_]*/wi_1/kernel", "mlp.up_proj.weight", "in out"),
    (r".*mlp[a-z_]*/wo/kernel", "mlp.down_proj.weight", "in out"),
    (r".*gate/kernel", "{moe}.gate.weight", "in out"),
    (r".*/wi_0", "{moe}.experts.*.{gate}.weight", "experts in out"), (r".*/wi_1", "{moe}.experts.*.{up}.weight", "experts in out"),
    (r".*/wo", "{moe}.experts.*.{down}.weight", "experts in out"),
    (r".*/pre_self_attention_(layer_)?norm(_local|_global)?/scale", "input_layernorm.weight", "out"),
    (r".*/post_self_attention_(layer_)?norm(_local|_global)?/scale", "post_attention_layernorm.weight", "out"),
    (r".*/pre_ffw_norm(_local|_global)?/scale", "pre_feedforward_layernorm.weight", "out"),
    (r".*/post_ffw_norm(_local|_global)?/scale", "post_feedforward_layernorm.weight", "out"),
]
MIXTURES = {"mixtral": dict(moe="block_sparse_moe", gate="w1", up="w3", down="w2"),
            "deepseek": dict(moe="mlp", gate="gate_proj", up="up_proj", down="down_proj")}

# Run in a process of its own, because a process has its devices once: prints path -> [shape, {device: ranges}].
BUILD = r"""
import json, os, sys
folder, model, devices, vocabulary = sys.argv[1:5]
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=" + devices
from flax import nnx
from jax.sharding import Mesh
from maxtext.configs import pyconfig
from maxtext.utils import maxtext_utils, model_creation_utils
config = pyconfig.initialize(["train", os.path.join(folder, "maxtext.yml"), "model_name=" + model, "run_name=peers", "per_device_batch_size=2",
                              "max_target_length=64", "enable_checkpointing=false", "skip_jax_distributed_system=true", "hardware=cpu",
                              "attention=dot_product", "dataset_type=synthetic", "log_config=false",
                              "override_model_config=true", "vocab_size=" + vocabulary])
mesh = Mesh(maxtext_utils.create_device_mesh(config), config.mesh_axes)
_, built = model_creation_utils.create_nnx_abstract_model(config, mesh)
out = {}
for path, leaf in nnx.to_flat_state(nnx.split(built)[1]):
    if isinstance(leaf, nnx.Param):
        value = leaf.get_value()
        shards = value.sharding.devices_indices_map(value.shape)
        out["/".join(map(str, path))] = [value.shape, {d.id: [s.indices(n)[:2] for s, n in zip(i, value.shape)] for d, i in shards.items()}]
json.dump(out, open(os.path.join(folder, "built.json"), "w"))
sys.stdout.flush()
os._exit(0)
"""


def built_tree(folder, model, devices):
    vocabulary = next(tensor["shape"][0] for tensor in samples.shards(folder)["tensors"] if tensor["name"] == "model.embed_tokens.weight")
    made = samples.run(sys.executable, "-c", BUILD, folder, model, devices, vocabulary)
    path = os.path.join(folder, "built.json")
    assert os.path.exists(path), f"MaxText did not build {model}: {made.stdout[-300:]}{made.stderr[-1500:]}"
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def layers_of(path, stacked, layers):
    """Layers of the model that a parameter of so many stacked layers has."""
    if "moe_layers" in path:
        return range(layers - stacked, layers)
    if "dense_layers" in path:
        return range(stacked)
    if path.rsplit("/", 2)[0].endswith("_local") or "_local/" in path:
        return range(0, layers, 2)
    return range(1, layers, 2) if "_global/" in path else range(layers)


def differing(folder, model, tree, whole=True):
    """Weights whose shards in MaxText's own tree are others than in shards.json, and how many weights the tree has: all, if it is whole."""
    tensors = {tensor["name"]: tensor for tensor in samples.shards(folder)["tensors"]}
    layers = 1 + max(int(re.match(r"model\.layers\.(\d+)\.", name)[1]) for name in tensors if "layers." in name)
    seen, wrong = set(), set()
    for path, (shape, held) in tree.items():
        name, dims = next((name, dims) for pattern, name, dims in NAMES if re.fullmatch(pattern, path))
        name = name.format(**MIXTURES["mixtral" if model.startswith("mixtral") else "deepseek"])
        inside = name.startswith(("model.", "lm_head"))
        own = list(shape) if inside else list(shape[:1] + shape[2:])
        for layer in ([None] if inside else layers_of(path, shape[1], layers)):
            weight = name if layer is None else f"model.layers.{layer}.{name}"
            tensor = tensors[weight]
            seen.add(weight)
            if "experts.*" not in weight:
                assert sorted(own) == sorted(tensor["shape"]) or len(own) > len(tensor["shape"]), f"{path} is {shape}, {weight} {tensor['shape']}"
            for device, pieces in samples.by_device(tensor).items():
                ranges = held[str(device)]
                if not inside:
                    assert ranges[1] == [0, shape[1]], f"{path}: its layers are cut"
                    ranges = ranges[:1] + ranges[2:]
                (piece,) = pieces
                if expected(tensor["shape"], piece, dims, own) != [list(r) for r in ranges]:
                    wrong.add(weight)
    assert not whole or seen == set(tensors), f"not in MaxText's tree: {sorted(set(tensors) - seen)[:3]}"
    return wrong, len(seen)


def expected(shape, piece, dims, own):
    """Ranges of the parameter's dims that hold a piece of the weight."""
    where = {"out": 0, "in": len(shape) - 1, "experts": 0}
    if len(shape) == 3:
        where["out"] = 1
    out = []
    for word in dims.split():
        if word != "heads":
            out.append(list(piece[where[word]]))
            continue
        dim = 0 if dims in ("in heads", "heads") else 1
        width = own[len(out) + 1]
        low, high = piece[dim]
        if low // width == (high - 1) // width:  # a head or a part of one
            out += [[low // width, low // width + 1], [low % width, low % width + high - low]]
            continue
        assert low % width == 0 and high % width == 0, "heads are cut"
        out += [[low // width, high // width], [0, width]]
    return out


def main():
    options = samples.arguments(__doc__).parse_args()
    try:
        import maxtext.configs.pyconfig  # noqa: F401
        import maxtext.utils.model_creation_utils  # noqa: F401
    except ImportError as problem:
        print(f"skipped: this Python has no MaxText ({problem}); SHARDBOARD_MAXTEXT_PYTHON may name one that has")
        sys.exit(samples.SKIPPED)
    report = samples.Report("maxtext", f"MaxText {importlib.metadata.version('maxtext')}", options)

    def exported(folder, design, why=None):
        """How many tensors are equal, or why it was refused as it has to be."""
        refused = samples.export(options.shardctl, design, "maxtext", folder)
        if refused:
            assert why and why in refused, refused
            return refused[:160]
        return samples.own_check(folder, "check.py")

    # Rules name dims: fsdp cuts the largest dim of each weight, which need not be the one that a name has elsewhere.
    reasons = {"fsdp": ("names both", "no logical name", "does not divide its 28 heads"), "tp+fsdp": ("no logical name", "does not divide its 28 heads")}
    for model in samples.MODELS:
        for preset, mesh in samples.LAYOUTS_OF_MODELS:
            for workload in samples.WORKLOADS:
                def sample(folder, model=model, preset=preset, mesh=mesh, workload=workload):
                    design = samples.designed(options.shardctl, folder, model, mesh, preset, ["--workload", workload])
                    refused = samples.export(options.shardctl, design, "maxtext", folder)
                    if refused:
                        assert any(why in refused for why in reasons.get(preset, ())), refused
                        return refused[:160]
                    total = samples.own_check(folder, "check.py")
                    if workload == "train" and preset in BUILT:
                        wrong, seen = differing(folder, model, built_tree(folder, model, 8))
                        assert not wrong and seen == total, f"MaxText's own tree: {sorted(wrong)[:3]} of {seen}"
                    return total
                report.sample(f"{model} {preset} {workload}", sample)

    for name, spec in samples.LAYOUTS.items():
        report.sample(f"{name} {spec}", lambda folder, spec=spec: exported(
            folder, samples.loose(folder, (16, 8), "data=2,model=4", spec), "unreduced" if "unreduced" in spec else None))
    for spec in samples.LAYOUTS_3D:
        report.sample(f"three axes {spec}", lambda folder, spec=spec: exported(
            folder, samples.loose(folder, (64, 64), "pod=2,fsdp=4,tp=8", spec), "unreduced" if "unreduced" in spec else None))
    for size, mesh, spec in samples.UNEVEN:
        for cut in samples.CUT_RULES:
            report.sample(f"{size} over {mesh} {cut}", lambda folder, size=size, mesh=mesh, spec=spec, cut=cut: exported(
                folder, samples.loose(folder, (size,), mesh, spec, cut), "equal" if cut != "strict" else "divid"))
    report.sample("device order", lambda folder: exported(
        folder, samples.loose(folder, (16, 8), "data=2,model=4", "P('model')", device_ids=[7, 6, 5, 4, 3, 2, 1, 0]), "orders the devices"))

    def broken(folder):
        """Wrong rules are found by the check; the check ends with 1 and names the tensors."""
        design = samples.designed(options.shardctl, folder, "llama3-8b", "data=2,model=4", "megatron-tp", [])
        total = exported(folder, design)
        path = os.path.join(folder, "maxtext.yml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for before, after in (("['mlp', ['tensor']]", "['mlp', []]"), ("['q_heads', ['tensor']]", "['q_heads', ['data']]"),
                              ("['embed', []]", "['embed', ['data']]")):
            assert before in text
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(before, after))
            checked = subprocess.run([sys.executable, os.path.join(folder, "check.py")], capture_output=True, text=True, check=False)
            assert checked.returncode == 1 and "differs:" in checked.stdout, f"{after} is not found: {checked.stdout[-300:]}"
        return total

    report.sample("rules that are broken", broken)
    report.end()


if __name__ == "__main__":
    main()
