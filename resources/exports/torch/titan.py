def torchtitan():
    """TorchTitan's config of this design, made of its own classes. In the folder of this file:
    `torchrun ... -m torchtitan.train --module export --config torchtitan`; its other options can follow."""
    if NOT_TITAN:
        raise NotImplementedError("TorchTitan would do something else than this design: " + "; ".join(NOT_TITAN))
    from torchtitan.config import ParallelismConfig
    from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC
    from torchtitan.models.llama3 import config_registry
    config = getattr(config_registry, TITAN["config"])()
    stages = {}
    if STAGE_AXIS is not None:  # layers that follow each other on a stage are one part of the model
        starts = [i for i, stage in enumerate(LAYER_STAGES) if i == 0 or stage != LAYER_STAGES[i - 1]]
        parts = [[f"layers.{i}" for i in range(start, end)] for start, end in zip(starts, starts[1:] + [LAYERS])]
        parts[0].insert(0, "tok_embeddings")
        parts[-1] += ["norm", "lm_head"]
        stages = {"module_fqns_per_model_part": parts}
        config.training.disable_cuda_graphs = True  # not with a pipeline yet
    config.parallelism = ParallelismConfig(enable_sequence_parallel=SEQUENCE_PARALLEL, **TITAN["parallelism"], **stages)
    for key, value in TITAN["training"].items():
        setattr(config.training, key, value)
    config.activation_checkpoint = {"none": None, "selective": SelectiveAC.Config(), "full": FullAC.Config()}[RECOMPUTE]
    return config


def sharding_configs():
    """The layouts as TorchTitan's ShardingConfig of each module (its SPMD form, for torchtitan.protocols.Module), by the names of
    modules in the checkpoint, with * for the number of a layer."""
    if NOT_RUN or TENSOR_AXIS is None:
        raise NotImplementedError("; ".join(NOT_RUN) or "weights are not used in parts: TorchTitan's FSDP does all")
    from torchtitan.models.common import decoder_sharding as titan
    from torchtitan.protocols.sharding import ShardingConfig
    at = [axis for axis, _ in AXES if axis != STAGE_AXIS].index(TENSOR_AXIS)
    stream = titan.dense_sequence_parallel_placement() if SEQUENCE_PARALLEL else titan.dense_activation_placement(tp=titan.spmd.I)
    whole = titan.dense_activation_placement(tp=titan.spmd.R)
    configs = {}
    for name, (shape, placements) in LAYOUT.items():
        module = name.rpartition(".")[0]
        if not name.endswith(".weight"):
            continue
        if placements[at] == Shard(1):
            configs[module] = titan.rowwise_config(output_sp=SEQUENCE_PARALLEL)
            configs[module.rpartition(".")[0]] = ShardingConfig(
                in_src_shardings={"x_BLD" if "attn" in module else "x": stream},
                in_dst_shardings={"x_BLD" if "attn" in module else "x": whole})
        elif placements[at] == Shard(0) and module.endswith("embed_tokens"):
            configs[module] = ShardingConfig(
                state_shardings={"weight": titan.dense_param_placement(tp=titan.spmd.S(0))}, in_src_shardings={"input": whole},
                in_dst_shardings={"input": whole}, out_src_shardings=titan.dense_activation_placement(tp=titan.spmd.P),
                out_dst_shardings=stream, local_map=titan.LocalMapConfig(in_grad_placements=None))
        elif placements[at] == Shard(0) and "*" not in module:
            cut = titan.dense_activation_placement(tp=titan.spmd.S(-1))
            configs[module] = ShardingConfig(
                state_shardings={"weight": titan.dense_param_placement(tp=titan.spmd.S(0))}, in_src_shardings={"input": whole},
                in_dst_shardings={"input": whole}, out_src_shardings=cut, out_dst_shardings=cut)
        elif placements[at] == Shard(0):
            configs[module] = titan.colwise_config()
        elif len(shape) > 1:
            raise NotImplementedError(f"every device has all of {name}, for which TorchTitan has no config beside cut weights")
        elif "*" in module:
            configs[module] = titan.norm_config(enable_sp=SEQUENCE_PARALLEL)
        else:
            configs[module] = titan.pre_lm_head_norm_config(enable_sp=SEQUENCE_PARALLEL)
    return configs
