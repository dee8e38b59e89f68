#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has TorchTitan read the config that an export to PyTorch makes of a design, and lay out its own Llama by it: the shards have to be
those of shards.json. Its SPMD sharding configs are compared with those that TorchTitan sets itself.

TorchTitan fuses Q, K and V. Over the tensor axis a rank has the same heads of them as in the design; what FSDP cuts further is cut
from the fused tensor, so that of these alone shards are not compared. Ends with 0, 1, or 77 where Python has no TorchTitan
(SHARDBOARD_TORCH_PYTHON names another Python).
"""
import importlib
import multiprocessing
import sys
import warnings

import samples

samples.run_by("SHARDBOARD_TORCH_PYTHON")

warnings.filterwarnings("ignore")
try:
    import torch
    import torch.distributed as dist
    import torchtitan
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from torchtitan.config import CompileConfig
    from torchtitan.config.manager import ConfigManager
    from torchtitan.distributed import ParallelDims, parallel_dims, utils
    from torchtitan.models.llama3 import model_registry
    from torchtitan.models.llama3.parallelize import parallelize_llama
    from torchtitan.models.llama3.sharding import set_llama3_sharding_config
except ImportError as problem:
    print(f"skipped: this Python has no TorchTitan ({problem}); SHARDBOARD_TORCH_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

DESIGNS = [
    ("llama3-8b", "megatron-tp", "data=2,model=4", ["--workload", "train"], None),
    ("llama3-8b", "tp-sp", "data=2,model=4", ["--workload", "train", "--recompute", "full"], None),
    ("llama3-8b", "fsdp", "fsdp=8", ["--workload", "train", "--recompute", "selective"], None),
    ("llama3-8b", "hsdp", "data=2,fsdp=4", ["--workload", "train", "--micro-batches", "2"], None),
    ("llama3-70b", "tp-sp", "model=8", ["--workload", "train"], None),
    ("llama3-8b", "pp-1f1b", "stage=4,model=2", ["--workload", "train", "--micro-batches", "4"], "config"),
    ("llama3-8b", "pp-interleaved", "stage=4,model=2", ["--workload", "train", "--micro-batches", "4"], "config"),
    ("llama3-8b", "tp+fsdp", "fsdp=2,tensor=4", ["--workload", "train"], "FSDP cuts dim 0"),
    ("llama3-8b", "cp-all-gather", "fsdp=2,context=4", ["--workload", "train"], "context axis"),
    ("llama3-8b", "megatron-tp", "model=4,data=2", ["--workload", "train"], "in this order"),
    ("llama3-8b", "megatron-tp", "data=2,model=4", ["--workload", "prefill"], "it trains"),
    ("qwen2.5-7b", "tp-sp", "data=2,model=4", ["--workload", "train"], "none of its configs"),
    ("mixtral-8x7b", "megatron-tp", "data=2,model=4", ["--workload", "train"], "experts"),
]
NAMES = {"tok_embeddings.weight": "model.embed_tokens.weight", "norm.weight": "model.norm.weight", "lm_head.weight": "lm_head.weight"}
IN_LAYERS = {"attention.wo": "self_attn.o_proj", "feed_forward.w1": "mlp.gate_proj", "feed_forward.w2": "mlp.down_proj",
             "feed_forward.w3": "mlp.up_proj", "attention_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}


def checkpoint_name(name):
    if name in NAMES:
        return NAMES[name]
    layers, number, rest = name.split(".", 2)
    known = IN_LAYERS.get(rest.rpartition(".")[0])
    return known and f"model.{layers}.{number}.{known}.weight"


def differing(folder, rank, layers=2):
    """Of a rank: names of TorchTitan's tensors that lie as shards.json says, and what is wrong."""
    config = ConfigManager().parse_args(["--module", "export", "--config", "torchtitan"])
    module = importlib.import_module("export")
    by_name = {tensor["name"]: tensor for tensor in samples.shards(folder)["tensors"]}
    set_llama3_sharding_config(config.model_spec.model, enable_sp=config.parallelism.enable_sequence_parallel)
    config.model_spec.model.layers = config.model_spec.model.layers[:layers]
    parallel_dims.device_type = "cpu"
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=len(module.ORDER))
    dims = ParallelDims.from_config(config.parallelism, len(module.ORDER))
    dims.build_mesh()
    utils.set_spmd_backend(config.parallelism.spmd_backend)
    with torch.device("meta"):
        model = config.model_spec.model.build()
    parallelize_llama(model, parallel_dims=dims, training=config.training, parallelism=config.parallelism,
                      compile_config=CompileConfig(), ac_config=None, dump_folder="")
    equal, wrong = [], []
    for name, parameter in model.named_parameters():
        known = checkpoint_name(name)
        if known is None:
            continue
        shape, offset = compute_local_shape_and_global_offset(parameter.shape, parameter.device_mesh, parameter.placements)
        told = next(s["pieces"] for s in by_name[known]["shards"] if rank in s["devices"])
        if [[[lo, lo + n] for lo, n in zip(offset, shape)]] == told:
            equal.append(name)
        else:
            wrong.append(f"{name} on rank {rank}: {offset} {shape}, told {told}")
    return equal, wrong


def shards_are_equal(module, folder):
    """How many of TorchTitan's tensors lie as shards.json says, on some ranks; each is a process of its own, because meshes are
    kept for one."""
    seen = set()
    ranks = len(module.ORDER)
    for rank in (0, ranks // 2 + 1, ranks - 1):
        with multiprocessing.get_context("fork").Pool(1) as pool:
            equal, wrong = pool.apply(differing, (folder, rank))
        assert not wrong, wrong[:2]
        seen.update(equal)
    return len(seen)


def configs_are_its_own(module):
    """Compares ShardingConfigs with those of TorchTitan's Llama."""
    model = model_registry("8B").model
    set_llama3_sharding_config(model, enable_sp=module.SEQUENCE_PARALLEL)
    layer = model.layers[0]
    pairs = {"model.embed_tokens": model.tok_embeddings, "model.norm": model.norm, "lm_head": model.lm_head,
             "model.layers.*.self_attn": layer.attention, "model.layers.*.self_attn.q_proj": layer.attention.qkv_linear.wqkv,
             "model.layers.*.mlp": layer.feed_forward}
    for name, known in IN_LAYERS.items():
        part = layer
        for leaf in name.split("."):
            part = getattr(part, leaf)
        pairs["model.layers.*." + known] = part
    made = module.sharding_configs()
    for name, part in pairs.items():
        assert repr(made[name]) == repr(part.sharding_config), f"{name}: {made[name]}, in TorchTitan {part.sharding_config}"
    assert set(made) - set(pairs) == {"model.layers.*.self_attn.k_proj", "model.layers.*.self_attn.v_proj"}, sorted(made)


def proven(shardctl, folder, model, preset, mesh, options, told):
    design = samples.designed(shardctl, folder, model, mesh, preset, options)
    refusal = samples.export(shardctl, design, "torch", folder)
    assert refusal is None, refusal
    sys.path.insert(0, folder)
    sys.modules.pop("export", None)
    importlib.invalidate_caches()
    try:
        module = importlib.import_module("export")
        if told and told != "config":
            try:
                module.torchtitan()
            except NotImplementedError as problem:
                assert told in str(problem), str(problem)
                return str(problem)[:150]
            raise AssertionError(f"a config was made, and {told} stands against it")
        try:
            config = ConfigManager().parse_args(["--module", "export", "--config", "torchtitan", "--training.steps", "3"])
        except SystemExit as problem:
            raise AssertionError("its parser refused the config") from problem
        assert config.training.steps == 3 and config.training.seq_len == 64 and config.training.global_batch_size == 16
        ParallelDims.from_config(config.parallelism, len(module.ORDER))
        if told == "config":  # a model of all layers is cut by torch.distributed.pipelining when it is there
            parts = config.parallelism.module_fqns_per_model_part
            layers = [name for part in parts for name in part if name.startswith("layers.")]
            assert layers == [f"layers.{i}" for i in range(32)] and parts[0][0] == "tok_embeddings" and parts[-1][-1] == "lm_head", parts
            for i, part in enumerate(parts):
                own = {name.replace("layers.", "model.layers.") for name in part if name.startswith("layers.")}
                assert own <= set(module.stage_modules(i % 4)), part
            return len(parts)
        if module.TENSOR_AXIS:
            configs_are_its_own(module)
        return shards_are_equal(module, folder)
    finally:
        sys.path.remove(folder)


def main():
    options = samples.arguments(__doc__).parse_args()
    version = importlib.import_module("importlib.metadata").version("torchtitan")
    report = samples.Report("torch", f"TorchTitan {version}", options)
    for model, preset, mesh, more, told in DESIGNS:
        report.sample(f"{model} {preset} on {mesh} {' '.join(more[1:])}",
                      lambda folder, of=(model, preset, mesh, more, told): proven(options.shardctl, folder, *of))
    report.end()


if __name__ == "__main__":
    main()
