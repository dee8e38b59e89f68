#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has the real transformers make a model of every family on its meta device, from the default values of its configuration class cut
to a few layers, and compares the names and shapes of all weights with what shardctl makes of the same config.json.

Ends with 0 when all are equal, 1 when one is not, 77 where Python has no transformers with torch (SHARDBOARD_HF_PYTHON names another
Python). With --record FILE what was compared is written there. Arguments that are no options name families; without them all are
asked.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import samples

samples.run_by("SHARDBOARD_HF_PYTHON")

try:
    import importlib.metadata

    import torch
    import transformers
    from transformers.core_model_loading import revert_weight_conversion
    from transformers.models.auto import modeling_auto
    VERSION = importlib.metadata.version("transformers")
except (ImportError, importlib.metadata.PackageNotFoundError) as problem:
    print(f"skipped: this Python has no transformers with torch ({problem}); SHARDBOARD_HF_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

MAPPINGS = ("MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING", "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING", "MODEL_FOR_CAUSAL_LM_MAPPING",
            "MODEL_FOR_MASKED_LM_MAPPING", "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING")
# Encoders, whose causal form is another use of the same weights.
MASKED = ("bert", "roberta", "modernbert", "eurobert", "distilbert", "mpnet", "nomic_bert", "deberta-v2",
          "esm", "ernie", "xlm-roberta-xl", "roberta-prelayernorm", "megatron-bert", "data2vec-text")
CLASSES = {"mllama_text_model": "MllamaForCausalLM"}  # that no mapping has
# What the class does not give, or cannot be made from: too many experts to list, an attribute without a default.
MORE = {
    "nemotron": {"num_key_value_heads": 8, "head_dim": 128},
    "ministral": {"head_dim": 128, "num_key_value_heads": 8},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128, "num_experts": 4, "moe_topk": 2},
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention", "linear_attention"], "num_local_experts": 4},
    "llama4_text": {"interleave_moe_layer_step": 2, "num_hidden_layers": 4},
    "exaone4": {"sliding_window": 4096},
    "phimoe": {"lm_head_bias": True, "attention_bias": True},
    "seed_oss": {"attention_out_bias": False},
    "glm4_moe": {"use_qk_norm": True, "attention_bias": True, "head_dim": 128},
    "stablelm": {"use_qkv_bias": True},
    "qwen3_moe": {"decoder_sparse_step": 2, "num_hidden_layers": 4},
    "dots1": {"head_dim": 128},
    "deepseek_v2": {"num_experts_per_tok": 6},
    "bamba": {"attn_layer_indices": [1]},
    "nemotron_h": {"num_hidden_layers": None, "n_routed_experts": 4, "moe_latent_size": 512},
    "falcon_h1": {"mamba_rms_norm": True},
    "bloom": {"hidden_size": 256},
    "lfm2": {"layer_types": ["conv", "full_attention", "conv"]},
    "lfm2_moe": {"layer_types": ["conv", "full_attention", "conv"], "num_dense_layers": 1, "num_experts": 4, "num_experts_per_tok": 2},
    "kimi_linear": {"num_hidden_layers": 5, "num_local_experts": 4, "num_experts_per_tok": 2, "mlp_layer_types": ["sparse"] * 5},
    "gemma4": {"hidden_size_per_layer_input": 0, "num_hidden_layers": 6, "enable_moe_block": True, "num_experts": 4, "top_k_experts": 2,
               "moe_intermediate_size": 704, "attention_k_eq_v": True},
    "gemma4_unified": {"num_hidden_layers": 6},
    "gemma3n": {"num_hidden_layers": 10, "num_kv_shared_layers": 5, "intermediate_size": [16384] * 10, "activation_sparsity_pattern": [0.0] * 10},
    "cohere": {"use_qk_norm": True},
    "esm": {"vocab_size": 33, "position_embedding_type": "rotary", "pad_token_id": 1, "mask_token_id": 32},
    "minimax_m3_vl_text": {"num_hidden_layers": 4, "num_local_experts": 4, "num_experts_per_tok": 2,
                           "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"]},
    "mllama_text_model": {"cross_attention_layers": [1], "rope_scaling": None},
    "minimax": {"num_hidden_layers": 4, "num_local_experts": 4, "layer_types": ["linear_attention", "full_attention"] * 2},
    "electra": {"embedding_size": 256},
    "deberta-v2": {"relative_attention": True, "share_att_key": True, "pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm",
                   "position_buckets": 256, "position_biased_input": False},
    "t5": {"feed_forward_proj": "gated-gelu", "num_layers": 3, "num_decoder_layers": 2},
    "umt5": {"num_layers": 3, "num_decoder_layers": 3},
    "gpt_neo": {"attention_types": [[["global", "local"], 2]], "num_layers": 4, "num_hidden_layers": None},
    "jamba": {"num_hidden_layers": 5, "num_experts": 4, "attn_layer_period": 4, "attn_layer_offset": 1},
    "modernbert": {"num_hidden_layers": 4},
    "modernbert-decoder": {"num_hidden_layers": 4},
    "mimo_v2_flash": {"num_hidden_layers": 6, "n_routed_experts": 4, "num_experts_per_tok": 2},
    "granite_swa": {"layer_types": ["full_attention", "sliding_attention", "full_attention"]},
    "afmoe": {"num_hidden_layers": 5, "num_experts": 4, "num_experts_per_tok": 2},
    "dbrx": {"attn_config": {"kv_n_heads": 4}, "ffn_config": {"moe_num_experts": 4, "moe_top_k": 2, "ffn_hidden_size": 512}},
    "qwen3_next": {"num_hidden_layers": 4, "num_experts": 4, "num_experts_per_tok": 2},
    "qwen3_5": {"num_hidden_layers": 4},
    "qwen3_5_moe": {"num_hidden_layers": 4, "num_experts": 4, "num_experts_per_tok": 2},
}
# Names of a list that a config has for every layer, which have to be as many as the layers that are left.
PER_LAYER = ("layer_types", "mlp_layer_types", "no_rope_layers", "moe_layers", "indexer_types", "hybrid_layer_pattern")
LAYERS = 3


def config_of(family):
    if family + "_text" in transformers.CONFIG_MAPPING:
        return config_of(family + "_text")
    plain = transformers.AutoConfig.for_model(family).to_dict()
    given = {"num_hidden_layers": LAYERS, **MORE.get(family.removesuffix("_text") if family not in MORE else family, {})}
    given = {key: value for key, value in given.items() if value is not None}
    for key in PER_LAYER:
        if isinstance(plain.get(key), list) and key not in given and key != "moe_layers":
            given[key] = plain[key][:given.get("num_hidden_layers", LAYERS)]
    return transformers.AutoConfig.for_model(family, **given)


def class_of(config):
    for name in ("MODEL_FOR_MASKED_LM_MAPPING",) if config.model_type in MASKED else MAPPINGS:
        mapping = getattr(modeling_auto, name)
        if type(config) in mapping:
            found = mapping[type(config)]
            return found[0] if isinstance(found, tuple) else found
    if config.model_type in CLASSES:
        return getattr(transformers, CLASSES[config.model_type])
    raise ValueError("no class of a causal model")


def theirs(config):
    """Names and shapes as a checkpoint has them; tied weights once."""
    with torch.device("meta"):
        model = class_of(config)._from_config(config)
    state = dict(model.state_dict())
    first = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):  # one parameter may have several names
        if first.setdefault(id(parameter), name) != name:
            state.pop(name, None)
    if config.get_text_config().tie_word_embeddings:
        tied = getattr(model, "_tied_weights_keys", None) or {}
        for name in tied:
            state.pop(name, None)
    buffers = {name for name, _ in model.named_buffers()} - {name for name, _ in model.named_parameters()}
    weights = revert_weight_conversion(model, state)
    # Old names that the mapping gives back; files of today have the others.
    weights = {name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): tensor
               for name, tensor in weights.items()}
    kept = re.compile("e_score_correction_bias|expert_bias")
    return {name: list(tensor.shape) for name, tensor in weights.items()
            if (name not in buffers or kept.search(name)) and not name.endswith("inv_freq")}


def checkpoint(folder, config, weights):
    """config.json and one safetensors file with a header and a hole in place of the data."""
    with open(os.path.join(folder, "config.json"), "w") as file:
        file.write(config.to_json_string(use_diff=False).replace("Infinity", "1e30"))
    header, end = {}, 0
    for name, shape in weights.items():
        size = 2
        for extent in shape:
            size *= extent
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)


def opened(shardctl, folder, parameters):
    """What shardctl says of the checkpoint: nothing where it plans it and all names and shapes are the graph's."""
    out = subprocess.run([shardctl, "new", "--model", folder, "--mesh", "tp=2", "--preset", "megatron-tp", "--batch", "2", "--sequence", "64", "-o",
                          os.path.join(folder, "d.shardboard"), "--json"], capture_output=True, text=True)
    if out.returncode > 1:
        return [out.stderr.strip()]
    said = [line for line in out.stderr.splitlines() if line.startswith(("warning:", "error:"))]
    document = json.loads(out.stdout)
    if not said and document["parameters"] != parameters:
        said.append(f"{document['parameters']} parameters, and not {parameters}")
    return said


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--shardctl", required=True)
    options.add_argument("--record")
    options.add_argument("families", nargs="*")
    given = options.parse_args()
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "resources", "families")
    families = given.families or sorted(name[:-5] for name in os.listdir(root))
    results = {}
    for family in families:
        document = json.load(open(os.path.join(root, family + ".json")))
        if "model" not in document and "like" not in document:
            results[family] = {"result": "laid out", "why": document["stops"][0]["say"]}
            continue
        try:
            config = config_of(family)
            weights = theirs(config)
        except Exception as problem:  # noqa: BLE001 - whatever transformers raises
            results[family] = {"result": "not asked", "why": str(problem).splitlines()[0][:160]}
            print(f"{family:20} not asked: {results[family]['why']}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            checkpoint(folder, config, weights)
            parameters = sum(torch.Size(shape).numel() for shape in weights.values())
            wrong = opened(given.shardctl, folder, parameters)
        results[family] = {"result": "different" if wrong else "equal", "weights": len(weights), "parameters": parameters}
        if wrong:
            results[family]["why"] = wrong
        print(f"{family:20} {results[family]['result']}: {len(weights)} weights", *wrong, sep="\n    " if wrong else " ", flush=True)
    counts = {}
    for result in results.values():
        counts[result["result"]] = counts.get(result["result"], 0) + 1
    print(f"transformers {VERSION}:", ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    if given.record:
        with open(given.record, "w") as file:
            json.dump({"transformers": VERSION, "families": results}, file, indent=2)
            file.write("\n")
    return 1 if counts.get("different") else 0


sys.exit(main())
