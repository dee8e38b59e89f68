os.environ["CUDA_VISIBLE_DEVICES"] = ""  # ranks are made up, on the meta device
os.environ.setdefault("HF_HUB_OFFLINE", "1")
try:
    import logging

    import torch
    import torch.distributed as dist
    import transformers
    from torch.distributed.tensor import Replicate, distribute_tensor
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from transformers import AutoConfig, AutoModelForCausalLM
except ImportError as problem:
    skip(f"this Python has no transformers with torch ({problem})")

FIVE = int(transformers.__version__.split(".")[0]) >= 5
KNOWN = {}
PEER = f"transformers {transformers.__version__}"


class Warnings(logging.Handler):
    """Rules of the export that match nothing are warned of and left aside: that is a mistake here."""

    def __init__(self, plan):
        super().__init__(logging.WARNING)
        self.rules = set(plan.get("base_model_tp_plan", {})) | set(plan.get("distributed_config", {}).get("tp_plan", {}))
        self.rules |= {PREFIX + rule for rule in self.rules}

    def emit(self, entry):
        text = entry.getMessage()
        told = "match nothing" in text or "were not applied" in text
        # Of a family's own rules some may match nothing, too: q_b_proj of a DeepSeek without a query rank.
        if "Unsupported" in text or (told and any(repr(rule) in text for rule in self.rules)):
            sys.exit(text)


def plan_of(version):
    path = os.path.join(HERE, f"tp_plan_v{version}.json")
    if not os.path.exists(path):
        skip(f"the design has no plan for transformers {version}")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def verify_twice_said(plan):
    """The plans stand in the file once for DistributedConfig and once for a model's classes."""
    settings = plan["distributed_config"]
    for key, parts in (("tp_plan", ("base_model_tp_plan", "_tp_plan")), ("ep_plan", ("base_model_ep_plan",))):
        whole = {}
        for part in parts:
            whole.update({name if part == "_tp_plan" else PREFIX + name: style for name, style in plan.get(part, {}).items()})
        if whole != settings.get(key, {}):
            sys.exit(f"{' and '.join(parts)} of tp_plan_v5.json say something else than its distributed_config")


def new_config():
    settings = json.loads(CONFIG)
    if not settings:
        skip("the model's architecture is not known")
    try:
        return AutoConfig.for_model(settings.pop("model_type"), **settings)
    except ValueError as problem:
        skip(f"{PEER} does not know this family: {problem}")


def ranges_of(indices):
    """[3, 4, 5, 9] as [[3, 6], [9, 10]]."""
    out = []
    for index in indices:
        if out and out[-1][1] == index:
            out[-1][1] += 1
        else:
            out.append([index, index + 1])
    return out


def dims_of(parameter):
    """What a rank holds of each dim: torch cuts an array that says its own indices."""
    dims = []
    for dim, size in enumerate(parameter.shape):
        if not hasattr(parameter, "placements"):
            dims.append([[0, size]])
            continue
        here = tuple(p if getattr(p, "dim", None) is not None and p.dim % parameter.ndim == dim else Replicate() for p in parameter.placements)
        key = (parameter.ndim, dim, size, str(here))
        if key not in KNOWN:
            line = torch.arange(size).view([size if d == dim else 1 for d in range(parameter.ndim)])
            local = distribute_tensor(line, parameter.device_mesh, here, src_data_rank=None).to_local()
            KNOWN[key] = ranges_of(local.flatten().tolist())
        dims.append(KNOWN[key])
    return dims


def pieces_of(dims):
    """All combinations of the ranges of each dim, the first dim slowest."""
    pieces = [[]]
    for ranges in dims:
        pieces = [piece + [list(range_)] for piece in pieces for range_ in ranges]
    return pieces


def parts_of(name, made_of):
    """The checkpoint's weights that a parameter is made of, one after the other on dim 1 where there are several."""
    number = re.search(r"\.\d+\.", name)
    if number:
        for weight in made_of.get(name[number.end():], []):
            yield name[:number.end()] + weight
        if name[number.end():] in made_of:
            return
    yield name


def compare(wanted, rank, name, dims, made_of, seen):
    parts = list(parts_of(name, made_of))
    start = 0
    for part in parts:
        if part not in wanted.tensors:
            raise SystemExit(f"the design says nothing about {part!a}")
        seen.add(part)
        own = dims
        if len(parts) > 1:
            size = wanted.tensors[part]["shape"][1]
            own = [dims[0], [[max(lo, start) - start, min(hi, start + size) - start] for lo, hi in dims[1]
                             if lo < start + size and hi > start], *dims[2:]]
            start += size
        wanted.compare(part, rank, pieces_of(own))


def as_rank(rank, world):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world))
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)


def five(config, rank, world):
    """Dims of all parameters on a rank: transformers 5 distributes a model on the meta device, as from_pretrained does before it loads
    anything."""
    from transformers.distributed import DistributedConfig

    as_rank(rank, world)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    if model.config.tie_word_embeddings:  # from_pretrained ties them after they are laid out
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
    plan, _, mesh = type(model).prepare_distribute_model(DistributedConfig(**plan_of(5)["distributed_config"]))
    model = type(model).maybe_distribute_model(model, plan, mesh)
    return {name: dims_of(parameter) for name, parameter in model.named_parameters()}


def old_dims(style, name, parameter, rank, mesh):
    """What the style of transformers 4 cuts out of arrays that say their own indices."""
    dims = []
    for dim, size in enumerate(parameter.shape):
        line = torch.arange(size).view([size if d == dim else 1 for d in range(parameter.ndim)]).expand(parameter.shape)
        local = style.partition_tensor(line, parameter, name.rsplit(".", 1)[-1], torch.int64, False, rank, mesh)
        local = getattr(local, "_local_tensor", local)
        local = local.to_local() if hasattr(local, "to_local") else local
        for other in range(parameter.ndim):
            if other != dim and local.shape[other]:
                local = local.narrow(other, 0, 1)
        dims.append(ranges_of(local.flatten().tolist()))
    return dims


def four(config, rank, world):
    """Transformers 4 cuts each tensor of the checkpoint as its style says, when it loads it; every copy of the model is a run of its own."""
    from transformers.integrations import tensor_parallel

    plan = plan_of(4)
    size = plan["tp_size"]
    as_rank(rank % size, size)
    mesh = dist.init_device_mesh("cpu", (size,))
    config.base_model_tp_plan = plan["base_model_tp_plan"]
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    # It also has the decoder's rules without their prefix, and the head's with it, which match nothing.
    rules = {name: style for name, style in model.tp_plan.items() if (name in config.base_model_tp_plan) == (name == "lm_head")
             and not name.endswith(".lm_head")}
    tensor_parallel.verify_tp_plan([name for name, _ in model.named_parameters(remove_duplicate=False)], rules)
    tensor_parallel.nn.Parameter = lambda data, requires_grad=True: data  # of arrays that say their own indices
    out = {}
    for name, parameter in model.named_parameters():
        rule = tensor_parallel._get_parameter_tp_plan(name, model.tp_plan)
        key = (rule, name.rsplit(".", 1)[-1] == "bias", tuple(parameter.shape))
        if key not in KNOWN:
            KNOWN[key] = [[[0, length]] for length in parameter.shape] if rule is None else old_dims(
                tensor_parallel.ALL_PARALLEL_STYLES[rule], name, parameter, rank % size, mesh)
        number = re.search(r"\.experts\.(\d+)\.", name)
        if not number:
            out[name] = KNOWN[key]
            continue
        stacked = name[:number.start()] + ".experts.*." + name[number.end():]  # experts of a layer are one tensor in the plan
        count = int(number.group(1)) + 1
        if stacked in out and out[stacked][1:] != KNOWN[key]:
            sys.exit(f"the experts of {stacked!a} are cut differently")
        out[stacked] = [[[0, count]], *KNOWN[key]]
    return out


def main():
    wanted = Wanted()
    config, made_of = new_config(), json.loads(MADE_OF) if FIVE else {}
    warned = Warnings(plan_of(5 if FIVE else 4))
    if FIVE:
        verify_twice_said(plan_of(5))
    for name in ("", ".modeling_utils", ".integrations.tensor_parallel", ".distributed.mixin", ".distributed.tensor_parallel"):
        logging.getLogger("transformers" + name).addHandler(warned)
    seen = set()
    AutoModelForCausalLM._model_mapping[type(config)]  # imported here, and not by every rank
    for rank in wanted.ranks:
        for name, dims in in_a_child(five if FIVE else four, config, rank, len(wanted.ranks)).items():
            if name != "lm_head.weight" or name in wanted.tensors:  # else it is the embedding
                compare(wanted, rank, name, dims, made_of, seen)
    for name in wanted.tensors:
        if name not in seen:
            wanted.differs(name, f"{PEER} has no such parameter")
    wanted.end(PEER)


if __name__ == "__main__":
    main()
