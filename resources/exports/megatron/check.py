os.environ["CUDA_VISIBLE_DEVICES"] = ""
try:
    import warnings

    warnings.simplefilter("ignore")
    import megatron.core
    import torch
    from megatron.core.parallel_state import RankGenerator
    from megatron.core.tensor_parallel.layers import ColumnParallelLinear, RowParallelLinear
    from megatron.core.tensor_parallel.utils import VocabUtility, divide
    from megatron.core.transformer.enums import LayerType
    from megatron.core.transformer.pipeline_parallel_layer_layout import PipelineParallelLayerLayout
    from megatron.core.transformer.transformer_config import MLATransformerConfig, TransformerConfig
    from torch.testing._internal.distributed.fake_pg import FakeStore
except ImportError as problem:
    skip(f"this Python has no Megatron-Core ({problem})")

PEER = f"Megatron-Core {megatron.core.__version__}"


class Group:
    """A group of ranks that are not there: layers ask for their rank and the number of ranks."""

    def __init__(self, rank, size):
        self.own_rank, self.own_size = rank, size

    def rank(self):
        return self.own_rank

    def size(self):
        return self.own_size


def places(settings, world):
    """For every rank its numbers in the groups of Megatron's own rank generators."""
    tensor, stages, context = (settings[name] for name in
                               ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"))
    expert, width = settings.get("expert_model_parallel_size", 1), settings.get("expert_tensor_parallel_size", tensor)
    order = "tp-cp-ep-pp-dp" if settings.get("use_tp_pp_dp_mapping") else "tp-cp-ep-dp-pp"
    dense = RankGenerator(tp=tensor, ep=1, dp=divide(world, tensor * context * stages), pp=stages, cp=context, order=order)
    experts = RankGenerator(tp=width, ep=expert, dp=divide(world, width * expert * stages), pp=stages, cp=1, order=order)
    out = [{} for _ in range(world)]
    for name, generator, token in (("tensor", dense, "tp"), ("stage", dense, "pp"), ("expert", experts, "ep"), ("width", experts, "tp"),
                                   ("expert_stage", experts, "pp")):
        for group in generator.get_ranks(token):
            for number, rank in enumerate(group):
                out[rank][name] = number
    assert all(place["stage"] == place["expert_stage"] for place in out)
    return out


class Layers:
    """What a rank holds of each kind of weight: by Megatron's layers on the meta device, and its functions for heads and the vocabulary."""

    def __init__(self, settings, model):
        fields = {name: settings[name] for name in ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size",
                                                    "expert_model_parallel_size", "expert_tensor_parallel_size", "sequence_parallel",
                                                    "pipeline_model_parallel_layout", "recompute_granularity", "recompute_method",
                                                    "recompute_num_layers") if name in settings}
        latent = "kv_lora_rank" in model
        experts = next((model[name] for name in ("n_routed_experts", "num_local_experts", "num_experts") if name in model), None)
        if experts:
            fields.update(num_moe_experts=experts, moe_ffn_hidden_size=model.get("moe_intermediate_size", model["intermediate_size"]),
                          moe_router_topk=model["num_experts_per_tok"])
        self.model, self.settings, self.experts = model, settings, experts
        self.kv = model["num_attention_heads"] if latent else model["num_key_value_heads"]
        self.config = (MLATransformerConfig if latent else TransformerConfig)(
            num_layers=model["num_hidden_layers"], hidden_size=model["hidden_size"], num_attention_heads=model["num_attention_heads"],
            num_query_groups=None if latent else self.kv, ffn_hidden_size=model["intermediate_size"] or model["hidden_size"],
            use_cpu_initialization=True, perform_initialization=False, pipeline_dtype=torch.bfloat16, params_dtype=torch.bfloat16,
            bf16=True, add_bias_linear=False, gated_linear_unit=True, **fields)
        self.known = {}

    def part(self, kind, size, rank, ranks):
        """Of `size` output (column) or input (row) elements those of a rank."""
        key = (kind, size, rank, ranks)
        if key not in self.known:
            group = Group(rank, ranks)
            with torch.device("meta"):
                if kind == "column":
                    layer = ColumnParallelLinear(8, size, config=self.config, init_method=None, bias=False, tp_group=group,
                                                 skip_weight_param_allocation=False)
                else:
                    layer = RowParallelLinear(size, 8, config=self.config, init_method=None, bias=False, input_is_parallel=True,
                                              skip_bias_add=True, tp_group=group)
            dim = 0 if kind == "column" else 1
            own = layer.weight.shape[dim]
            self.known[key] = [rank * own, (rank + 1) * own]
        return self.known[key]

    def heads(self, size, count, rank, ranks):
        each = size // count
        if count >= ranks:
            own = divide(count, ranks)
            return [rank * own * each, (rank + 1) * own * each]
        head = rank // divide(ranks, count)
        return [head * each, (head + 1) * each]

    def vocabulary(self, size, rank, ranks):
        multiple = self.settings["make_vocab_size_divisible_by"] * ranks
        padded = -(-size // multiple) * multiple
        return [min(end, size) for end in VocabUtility.vocab_range_from_global_vocab_size(padded, rank, ranks)]

    def ranges(self, name, shape, place):
        out = [[0, size] for size in shape]
        tensor, ranks = place["tensor"], self.settings["tensor_model_parallel_size"]
        if ".experts." in name:
            own = divide(shape[0], self.settings["expert_model_parallel_size"])
            out[0] = [place["expert"] * own, (place["expert"] + 1) * own]
            down = "down_proj" in name or name.endswith(".w2.weight")
            packed = name.endswith(("gate_up_proj", "down_proj"))  # [experts, in, out]
            width = self.settings.get("expert_tensor_parallel_size", ranks)
            if len(shape) == 3:
                dim = (1 if packed else 2) if down else (2 if packed else 1)
                out[dim] = self.part("row" if down else "column", shape[dim], place["width"], width)
            elif not down:
                out[1] = self.part("column", shape[1], place["width"], width)
            return out
        leaf = name.split(".")[-2] if name.count(".") else name
        if leaf in ("embed_tokens", "lm_head"):
            out[0] = self.vocabulary(shape[0], tensor, ranks)
        elif leaf == "q_proj":
            out[0] = self.heads(shape[0], self.model["num_attention_heads"], tensor, ranks)
        elif leaf in ("k_proj", "v_proj"):
            out[0] = self.heads(shape[0], self.kv, tensor, ranks)
        elif leaf in ("q_b_proj", "kv_b_proj", "gate_proj", "up_proj"):
            out[0] = self.part("column", shape[0], tensor, ranks)
        elif leaf in ("o_proj", "down_proj") and len(shape) == 2:
            out[1] = self.part("row", shape[1], tensor, ranks)
        return out


def stage_layers(settings, layers):
    """Layers of each stage: by Megatron's reading of the layout."""
    stages = settings["pipeline_model_parallel_size"]
    if stages == 1:
        return [set(range(layers))]
    layout = PipelineParallelLayerLayout(settings["pipeline_model_parallel_layout"], stages)
    layout.validate_layer_layout(layers, 0)
    out, number = [set() for _ in range(stages)], 0
    for chunk in range(layout.virtual_pipeline_model_parallel_size):
        for stage in range(stages):
            for kind in layout.layout[stage][chunk]:
                if kind == LayerType.decoder:
                    out[stage].add(number)
                    number += 1
    return out


def is_on(name, stage, of_stage, tied):
    number = re.search(r"\.layers\.(\d+)\.", name)
    if number:
        return int(number.group(1)) in of_stage[stage]
    first = ".embed_tokens." in name or name.startswith("embed_tokens.")
    return (first and stage == 0) or ((not first or tied) and stage == len(of_stage) - 1)


def main():
    sys.path.insert(0, HERE)
    import export

    wanted, model = Wanted(), json.loads(CONFIG)
    if not model:
        skip("the model's architecture is not known")
    settings = export.SETTINGS
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)  # else all groups have one rank
    layers, of_stage = Layers(settings, model), stage_layers(settings, model["num_hidden_layers"])
    place_of = places(settings, len(wanted.ranks))
    for name, tensor in wanted.tensors.items():
        for rank in wanted.ranks:
            place = place_of[rank]
            held = is_on(name, place["stage"], of_stage, model["tie_word_embeddings"])
            wanted.compare(name, rank, joined([layers.ranges(name, tensor["shape"], place)], None) if held else [])
    wanted.end(PEER)


if __name__ == "__main__":
    main()
