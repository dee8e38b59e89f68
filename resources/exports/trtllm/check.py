try:
    import tensorrt_llm
    from tensorrt_llm.mapping import Mapping
except ImportError as problem:
    skip(f"this Python has no TensorRT-LLM ({problem}), which is installed from NVIDIA's own index and needs a GPU")

PEER = f"the mapping of TensorRT-LLM {tensorrt_llm.__version__}"
# What TensorRT-LLM's models cut over the ranks that its mapping numbers, by modules of a checkpoint.
COLUMNS = ("q_proj", "gate_proj", "up_proj", "w1", "w3")
ROWS = ("o_proj", "down_proj", "w2")


def part(size, parts, index):
    width = -(-size // parts)
    return [min(index * width, size), min((index + 1) * width, size)]


def held(name, shape, settings, mapping):
    """What a rank has of a tensor: [lo, hi) for each dim; none where it lies on another stage."""
    piece = [[0, size] for size in shape]
    layer = re.search(r"\.layers\.(\d+)\.", name)
    if layer and int(layer.group(1)) not in mapping.pp_layers(settings["num_hidden_layers"]):
        return None
    tied = settings["tie_word_embeddings"]
    embedding = name.endswith("embed_tokens.weight")
    if not layer and not (embedding and (mapping.is_first_pp_rank() or tied and mapping.is_last_pp_rank())
                          or not embedding and mapping.is_last_pp_rank()):
        return None
    module = name.split(".")[-2]
    tensor, rank = (1, 0) if mapping.enable_attention_dp else (mapping.tp_size, mapping.tp_rank)
    first = 0
    if ".experts.*." in name:
        experts = mapping.ep_experts(shape[0])
        piece[0], first = [experts[0], experts[-1] + 1], 1
        tensor, rank = mapping.moe_tp_size, mapping.moe_tp_rank
    if module in ("k_proj", "v_proj"):
        heads = settings["num_key_value_heads"]
        parts = min(tensor, heads)
        piece[0] = part(shape[0], parts, rank // (tensor // parts))
    elif module in COLUMNS or module == "lm_head" or embedding and settings["model_type"] != "mixtral":
        piece[first] = part(shape[first], tensor, rank)
    elif module in ROWS and len(shape) > first + 1:
        piece[first + 1] = part(shape[first + 1], tensor, rank)
    return piece


def main():
    wanted = Wanted()
    model = json.loads(CONFIG)
    with open(os.path.join(HERE, "trtllm.yaml"), encoding="utf-8") as file:
        settings = dict(line.split(": ") for line in file.read().splitlines() if line and not line.startswith("#"))
    tensor, stages = int(settings["tensor_parallel_size"]), int(settings["pipeline_parallel_size"])
    size = tensor * stages
    for position in wanted.ranks:
        mapping = Mapping(world_size=size, rank=position % size, tp_size=tensor, pp_size=stages,
                          moe_ep_size=int(settings.get("moe_expert_parallel_size", -1)),
                          moe_tp_size=int(settings.get("moe_tensor_parallel_size", -1)),
                          enable_attention_dp=settings.get("enable_attention_dp") == "true")
        for name, what in wanted.tensors.items():
            piece = held(name, what["shape"], model, mapping)
            wanted.compare(name, position, joined([piece] if piece else [], None))
    wanted.end(PEER)


if __name__ == "__main__":
    main()
