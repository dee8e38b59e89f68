import tempfile
from types import SimpleNamespace

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # ranks are made up, on the meta device
os.environ.setdefault("HF_HUB_OFFLINE", "1")
if LAYER_PARTITION:
    os.environ["SGLANG_PP_LAYER_PARTITION"] = LAYER_PARTITION
try:
    import sglang
    from sglang.srt import runtime_context
    from sglang.srt.configs.load_config import LoadConfig
    from sglang.srt.configs.model_config import ModelConfig
    from sglang.srt.layers.dp_attention import initialize_dp_attention
    from sglang.srt.layers.moe import initialize_moe_config
    from sglang.srt.layers.moe.fused_moe_triton import layer as experts
    from sglang.srt.layers.rotary_embedding import base as rotary
    from sglang.srt.model_loader.loader import DefaultModelLoader
    from sglang.srt.models import registry  # noqa: F401  all models are imported here, and not by every rank
    from sglang.srt.server_args import prepare_server_args
    from transformers import AutoConfig, AutoModelForCausalLM
except ImportError as problem:
    skip(f"this Python has no SGLang ({problem})")

PEER = f"SGLang {sglang.__version__}"
GROUPS = ["tp", "pp", "attn_tp", "attn_cp", "moe_ep", "moe_tp", "moe_dp"]


class Group:
    """A group of ranks that are not there: layers ask for their rank and the number of ranks."""

    def __init__(self, rank, size):
        self.rank = self.rank_in_group = self.local_rank = rank
        self.world_size = size
        self.ranks = list(range(size))
        self.first_rank, self.last_rank = 0, size - 1
        self.is_first_rank, self.is_last_rank = rank == 0, rank == size - 1
        self.device_group = self.cpu_group = None
        self.device = torch.device("cpu")


def on_rank(settings, wanted, rank):
    """What a rank takes of every tensor: SGLang's own model, with its own loaders."""
    context = runtime_context.publish(settings, role="scheduler", ranks=runtime_context.SpawnRanks(world_rank=rank, gpu_id=0))
    parallel = context.parallel
    made = {f"{name}_group": Group(getattr(parallel, f"{name}_rank"), getattr(parallel, f"{name}_size")) for name in GROUPS}
    parallel.override_permanently(world_group=Group(rank, settings.tp_size * settings.pp_size), **made)
    initialize_dp_attention(settings)
    initialize_moe_config()
    model = ModelConfig.from_server_args(settings)
    # Neither has weights, and without a GPU they cannot be made.
    experts.create_moe_dispatcher = lambda *_, **_ignored: None
    rotary._is_cuda = True
    copied = Copies()
    with runtime_context.get_device().override(device="cuda"):  # what it builds there, on the meta device
        network = DefaultModelLoader(LoadConfig()).initialize_model_for_startup(model_config=model, device_config=SimpleNamespace(device="meta"))
    copied.load(network, wanted)
    return in_plan(copied.taken)


def main():
    wanted = Wanted()
    config = json.loads(CONFIG)
    if not config:
        skip("the model's architecture is not known")
    with tempfile.TemporaryDirectory() as folder:
        config = AutoConfig.for_model(config.pop("model_type"), **config)
        kind = next(kind for kind in type(config).__mro__ if kind in AutoModelForCausalLM._model_mapping)
        config.architectures = [AutoModelForCausalLM._model_mapping[kind].__name__]
        if not hasattr(config, "hidden_act"):
            config.hidden_act = config.hidden_activation  # checkpoints of Gemma have both
        config.save_pretrained(folder)
        # The command line, read and validated by SGLang itself.
        settings = prepare_server_args(["--model-path", folder, "--config", os.path.join(HERE, "sglang.yaml"),
                                        "--skip-tokenizer-init", "--device", "cpu", "--log-level", "error"])
        settings.resolve_once()
        settings.check_server_args()
        ranks = settings.tp_size * settings.pp_size
        if len(wanted.ranks) % (ranks * settings.dp_size):  # servers of that many serve all devices
            sys.exit(f"servers of {ranks * settings.dp_size} ranks, as sglang.yaml asks for, do not add up to "
                     f"{len(wanted.ranks)} devices")
        for rank in range(ranks):
            taken = in_a_child(on_rank, settings, wanted, rank)
            for copy in range(rank, len(wanted.ranks), ranks):
                for name in wanted.tensors:
                    wanted.compare(name, copy, taken.get(name, []))
    wanted.end(PEER)


if __name__ == "__main__":
    main()
