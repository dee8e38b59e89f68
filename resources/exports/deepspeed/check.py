os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("DS_ACCELERATOR", "cpu")
try:
    import logging

    import deepspeed
    import deepspeed.runtime.config as runtime_config
    from deepspeed.module_inject.autotp_config import PartitionType
    from deepspeed.module_inject.tp_shard import AutoTPMeta, get_shard_size_list
    from deepspeed.runtime.tensor_parallel.config import TPTrainingConfig
except ImportError as problem:
    skip(f"this Python has no DeepSpeed with AutoTP ({problem})")

PEER = f"DeepSpeed {deepspeed.__version__}"


class Cuts:
    """The dim of a weight that tensor parallelism cuts, and where: by DeepSpeed's specs and its sizes of shards."""

    def __init__(self, settings):
        self.size = settings["autotp_size"] if settings else 1
        self.config = TPTrainingConfig(**settings).get_partition_config_object() if settings else None
        self.vocabulary = bool(settings and settings["vocab_parallel_lm_head"])
        self.meta = AutoTPMeta(num_kv_heads=KV_HEADS)

    def dim(self, name, rank_of_tensor):
        module, _, leaf = name.rpartition(".")
        if self.size == 1 or leaf not in ("weight", "bias"):
            return None
        embedding = module.endswith("embed_tokens")
        if self.vocabulary and (module == "lm_head" or (embedding and TIED)):
            return 0
        spec = self.config.find_matching_spec(module + ".weight")
        if spec is None or spec.partition_type == PartitionType.SKIP:
            return None
        if embedding:
            return 1  # any spec: AutoTP slices embeddings over the hidden dim
        if spec.partition_type == PartitionType.COLUMN:
            return 0
        return None if rank_of_tensor == 1 else 1

    def ranges(self, name, shape, rank):
        out = [[0, size] for size in shape]
        dim = self.dim(name, len(shape))
        if dim is not None:
            module = "lm_head" if dim == 0 and "embed_tokens" in name else name.rpartition(".")[0]  # the tied head
            sizes = get_shard_size_list(shape[dim], self.size, self.meta, module)
            own = rank % self.size
            out[dim] = [sum(sizes[:own]), sum(sizes[:own + 1])]
        return out


def cut_flat(ranges, part):
    """ZeRO stage 3 cuts what is left of a parameter as one line of elements; nothing where a cut is inside of a row."""
    rows = ranges[0][1] - ranges[0][0]
    row = 1
    for low, high in ranges[1:]:
        row *= high - low
    each = -(-rows * row // COPIES)
    low, high = min(part * each, rows * row), min((part + 1) * each, rows * row)
    if low % row or high % row:
        return None
    return [[ranges[0][0] + low // row, ranges[0][0] + high // row], *ranges[1:]]


def main():
    wanted = Wanted()
    path = os.path.join(HERE, "ds_config.json")
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    logging.disable(logging.WARNING)
    runtime_config.dist.get_rank = lambda: 0  # of ranks that are not there
    runtime_config.dist.get_world_size = lambda *group: len(wanted.ranks)
    read = runtime_config.DeepSpeedConfig(path)  # refuses batches that do not fit, and unknown values
    assert read.train_micro_batch_size_per_gpu == settings["train_micro_batch_size_per_gpu"]
    cuts = Cuts(settings.get("tensor_parallel"))
    if cuts.size * COPIES != len(wanted.ranks):
        sys.exit(f"ds_config.json is for {cuts.size * COPIES} ranks, and the design has {len(wanted.ranks)} devices")
    for name, tensor in wanted.tensors.items():
        for rank in wanted.ranks:
            ranges = cuts.ranges(name, tensor["shape"], rank)
            if read.zero_config.stage == 3:
                ranges = cut_flat(ranges, rank // cuts.size)
            wanted.compare(name, rank, joined([ranges], None) if ranges else ["a cut inside of a row"])
    wanted.end(PEER)


if __name__ == "__main__":
    main()
