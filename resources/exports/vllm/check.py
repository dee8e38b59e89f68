import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # ranks are made up, on the meta device
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
if LAYER_PARTITION:
    os.environ["VLLM_PP_LAYER_PARTITION"] = LAYER_PARTITION
try:
    import torch
    import vllm
    import vllm.distributed.parallel_state as groups
    import vllm.platforms
    from transformers import AutoConfig, AutoModelForCausalLM
    from vllm.platforms.cpu import CpuPlatform

    vllm.platforms._current_platform = CpuPlatform()
    from vllm.config import ModelConfig, ParallelConfig, VllmConfig, set_current_vllm_config
    from vllm.engine.arg_utils import EngineArgs
    from vllm.model_executor.layers.fused_moe import expert_map_manager
    from vllm.model_executor.models.registry import ModelRegistry
    from vllm.utils.argparse_utils import FlexibleArgumentParser
except ImportError as problem:
    skip(f"this Python has no vLLM ({problem})")

PEER = f"vLLM {vllm.__version__}"


class Sizes:
    def __init__(self, rank, size):
        self.own_rank, self.own_size = rank, size

    def size(self):
        return self.own_size

    def rank(self):
        return self.own_rank


class Group:
    """A group of ranks that are not there: layers ask for their rank and the number of ranks."""

    def __init__(self, rank, size):
        self.rank = self.rank_in_group = self.local_rank = rank
        self.world_size = size
        self.ranks = list(range(size))
        self.first_rank, self.last_rank = 0, size - 1
        self.is_first_rank, self.is_last_rank = rank == 0, rank == size - 1
        self.device_group = self.cpu_group = Sizes(rank, size)
        self.device = torch.device("cpu")
        self.device_communicator = None


def on_rank(folder, architectures, parsed, wanted, rank):
    """What a rank takes of every tensor: vLLM's own model, with its own loaders."""
    tensor, stages, copies = parsed.tensor_parallel_size, parsed.pipeline_parallel_size, parsed.data_parallel_size
    rank %= tensor * stages * copies  # else the copies are servers of their own
    own, stage, copy = rank % tensor, rank // tensor % stages, rank // (tensor * stages)
    groups._WORLD = Group(rank % (tensor * stages), tensor * stages)
    groups._TP, groups._PP, groups._DP = Group(own, tensor), Group(stage, stages), Group(copy, copies)
    groups._EP = Group(copy * tensor + own, tensor * copies)
    groups._DCP = groups._PCP = Group(0, 1)
    model = ModelConfig(model=folder, skip_tokenizer_init=True, dtype="bfloat16", enforce_eager=True)
    parallel = ParallelConfig(tensor_parallel_size=tensor, pipeline_parallel_size=stages, enable_expert_parallel=parsed.enable_expert_parallel)
    parallel.data_parallel_size, parallel.data_parallel_rank = copies, copy
    config = VllmConfig(model_config=model, parallel_config=parallel)
    make_map = expert_map_manager.ExpertMapManager.__init__

    def made_on_cpu(self, *arguments, **keywords):  # it looks at its numbers
        with torch.device("cpu"):
            make_map(self, *arguments, **keywords)

    expert_map_manager.ExpertMapManager.__init__ = made_on_cpu
    built, _ = ModelRegistry.resolve_model_cls(architectures, model)
    copied = Copies()
    with set_current_vllm_config(config, check_compile=False):
        torch.set_default_dtype(torch.bfloat16)
        with torch.device("meta"):
            network = built(vllm_config=config, prefix="")

        copied.load(network, wanted)
    return in_plan(copied.taken)


def main():
    wanted = Wanted()
    settings = json.loads(CONFIG)
    if not settings:
        skip("the model's architecture is not known")
    # The command line, read by vLLM's own parser.
    parser = EngineArgs.add_cli_args(FlexibleArgumentParser())
    parsed = parser.parse_args(["--config", os.path.join(HERE, "vllm.yaml")])
    if parsed.tensor_parallel_size * parsed.pipeline_parallel_size * parsed.data_parallel_size > len(wanted.ranks):
        sys.exit("vllm.yaml asks for more ranks than the design has devices")
    with tempfile.TemporaryDirectory() as folder:
        config = AutoConfig.for_model(settings.pop("model_type"), **settings)
        config.architectures = [AutoModelForCausalLM._model_mapping[type(config)].__name__]
        config.save_pretrained(folder)
        for rank in wanted.ranks:
            taken = in_a_child(on_rank, folder, config.architectures, parsed, wanted, rank)
            for name in wanted.tensors:
                wanted.compare(name, rank, taken.get(name, []))
    wanted.end(PEER)


if __name__ == "__main__":
    main()
