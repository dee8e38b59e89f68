#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans and runs a small model of every built-in family on the CPU, every operation compared with the unsharded computation: three
presets, and prefill, decode, and training. Needs no framework. With --record FILE the results are written there. With --one each family
runs under one of these nine only, another one from family to family (the next that is not refused). Arguments that are no options name
families. Ends with 0 when all ran, 1 when one did not, 77 without shardboard-engine beside shardctl.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import samples

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "resources", "families")
SIZES = {
    "vocab_size": 96, "hidden_size": 32, "d_model": 32, "n_embd": 32, "intermediate_size": 24, "intermediate_size_mlp": 24, "ffn_dim": 24,
    "num_hidden_layers": 2, "num_layers": 2, "n_layer": 2, "n_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "n_head": 4, "n_heads": 4, "head_dim": 8, "kv_channels": 8, "max_position_embeddings": 64, "n_positions": 64,
    "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "moe_num_experts": 4, "num_experts_per_tok": 2, "moe_k": 2, "moe_topk": 2,
    "moe_intermediate_size": 12, "shared_expert_intermediate_size": 12, "shared_intermediate_size": 12,
    "moe_shared_expert_intermediate_size": 12, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1,
    "kv_lora_rank": 8, "q_lora_rank": 8, "qk_nope_head_dim": 4, "qk_rope_head_dim": 4, "v_head_dim": 8,
    "linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
    "full_attention_interval": 2, "mamba_n_heads": 4, "mamba_num_heads": 4, "num_heads": 8, "mamba_n_groups": 2, "n_groups": 2,
    "mamba_d_state": 8, "ssm_state_size": 8, "state_size": 8, "mamba_head_dim": 8, "mamba_d_ssm": 32,
    "index_n_heads": 2, "index_head_dim": 8, "index_topk": 8, "rotary_dim": 4,
    "dim": 32, "hidden_dim": 24, "linear_head_dim": 8, "linear_num_heads": 4, "num_dense_layers": 1, "multi_query_group_num": 2,
    "dense_intermediate_size": 24, "padded_vocab_size": 96, "ffn_hidden_size": 24, "num_attention_groups": 2, "moe_top_k": 2, "share_expert_dims": 12, "global_head_dim": 16,
    "hidden_size_per_layer_input": 4, "vocab_size_per_layer_input": 96, "num_kv_shared_layers": 1, "laurel_rank": 4, "altup_num_inputs": 2,
    "d_kv": 8, "d_ff": 24, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_source_positions": 64, "max_target_positions": 64, "attention_heads": 4, "n_inner": 24,
    "attn_layer_period": 2, "attn_layer_offset": 1, "block_multiple_of": 8,
    "global_attn_every_n_layers": 2, "local_attention": 6, "dim_model_base": 16,
}
MORE = {
    "granitemoehybrid": {"layer_types": ["mamba", "attention"]},
    "bamba": {"attn_layer_indices": [1]},
    "nemotron_h": {"hybrid_override_pattern": "M*-E", "moe_latent_size": 8},
    "falcon_h1": {"mamba_rms_norm": True},
    "lfm2": {"layer_types": ["conv", "full_attention"]},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "kimi_linear": {"layer_types": ["linear_attention", "full_attention"]},
    "gemma4": {"layer_types": ["sliding_attention", "full_attention"], "enable_moe_block": True, "num_experts": 4, "top_k_experts": 2,
               "moe_intermediate_size": 12, "attention_k_eq_v": True},
    "gemma3n": {"layer_types": ["sliding_attention", "full_attention"]},
    "cohere": {"use_qk_norm": True},
    "esm": {"position_embedding_type": "rotary"},
    "minimax_m3_vl_text": {"mlp_layer_types": ["dense", "sparse"]},
    "minimax": {"layer_types": ["linear_attention", "full_attention"], "shared_intermediate_size": 0},
    "t5": {"feed_forward_proj": "gated-gelu"},
    "mllama_text_model": {"cross_attention_layers": [1]},
    "gemma4_unified": {"layer_types": ["sliding_attention", "full_attention"]},
    "step3p5": {"layer_types": ["full_attention", "sliding_attention"], "mlp_layer_types": ["dense", "sparse"], "sliding_window": 6},
    "dbrx": {"attn_config": {"kv_n_heads": 2}, "ffn_config": {"ffn_hidden_size": 12, "moe_num_experts": 4, "moe_top_k": 2}},
    "mellum": {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 6},
    "granite_swa": {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 6},
    "granitemoe_swa": {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 6},
    "llama4_text": {"num_hidden_layers": 2, "interleave_moe_layer_step": 1},
}
WORKLOADS = ("prefill", "decode", "train")
PRESETS = {"megatron-tp": "data=2,tp=2", "fsdp": "fsdp=4", "tp+fsdp": "fsdp=2,tp=2"}
# Why not, and what is said then: an encoder has no tokens to decode, and the engine has no operations for an indexer. Softmax is
# blind to a bias of keys that are not rotated: its gradient is 0 but for rounding, which differs.
REFUSED = {"an encoder": "no decoding", "behind an encoder": "no decoding", "priced only": "planned only", "k_proj.bias.grad_b": "but for a gradient that is 0",
           "key_proj.bias.grad_b": "but for a gradient that is 0", "k_lin.bias.grad_b": "but for a gradient that is 0",
           "key.bias.grad_b": "but for a gradient that is 0", ".k.bias.grad_b": "but for a gradient that is 0"}


def family(name):
    document = json.load(open(os.path.join(FOLDER, name + ".json")))
    base = family(document["like"]) if "like" in document else {}
    return {**base, **document, "config": {**base.get("config", {}), **document.get("config", {})},
            "required": document.get("required", base.get("required", [])), "planned": "model" in document or base.get("planned", False)}


def small(name, file):
    config = {"model_type": name, "torch_dtype": "float32"}
    for key in [*file["config"], *file["required"]]:
        if key in SIZES and (key in file["required"] or file["config"].get(key) is not None):
            config[key] = SIZES[key]
    return {**config, **MORE.get(name, {})}


def tried(shardctl, engine, folder, cases, one):
    wrong, refused = [], set()
    for workload, preset in cases:
        design = os.path.join(folder, "d.shardboard")
        made = subprocess.run([shardctl, "new", "--model", folder, "--mesh", PRESETS[preset], "--preset", preset, "--workload", workload,
                               "--batch", "4", "--sequence", "12", "-o", design], capture_output=True, text=True)
        run = made
        if made.returncode <= 1:
            run = subprocess.run([shardctl, "run", design, "--verify", "--engine", engine], capture_output=True, text=True)
        if run.returncode == 0:
            if one:
                break
            continue
        said = (run.stdout + run.stderr).strip()
        known = [REFUSED[why] for why in REFUSED if why in said]
        refused.update(known)
        if not known:
            wrong.append(f"{workload}, {preset}: {said[-300:]}")
    return wrong, sorted(refused)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--shardctl", required=True)
    options.add_argument("--record")
    options.add_argument("--one", action="store_true")
    options.add_argument("families", nargs="*")
    given = options.parse_args()
    engine = os.path.join(os.path.dirname(os.path.abspath(given.shardctl)), "shardboard-engine")
    if not os.path.exists(engine):
        print("skipped: there is no shardboard-engine beside shardctl")
        return samples.SKIPPED
    results, failed = {}, 0
    at = 0
    cases = [(workload, preset) for workload in WORKLOADS for preset in PRESETS]
    for name in given.families or sorted(each[:-5] for each in os.listdir(FOLDER)):
        file = family(name)
        if not file["planned"]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "config.json"), "w") as out:
                json.dump(small(name, file), out)
            wrong, refused = tried(given.shardctl, engine, folder, cases[at:] + cases[:at], given.one)
        at = (at + 1) % len(cases) if given.one else 0
        failed += 1 if wrong else 0
        results[name] = "failed" if wrong else "planned only" if "planned only" in refused else ", ".join(["verified", *refused])
        print(f"{name:20} {results[name]}", *wrong, sep="\n    ", flush=True)
    if given.record:
        with open(given.record, "w") as out:
            json.dump(results, out, indent=2)
            out.write("\n")
    print(f"{len(results) - failed} of {len(results)} families")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
