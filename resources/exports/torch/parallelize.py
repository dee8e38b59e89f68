class _Gradient(torch.autograd.Function):
    """The value as it is; what comes back in the backward pass is laid out as the value was, by one collective."""

    @staticmethod
    def forward(ctx, value):
        ctx.placements = value.placements
        return value.view_as(value)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.redistribute(placements=ctx.placements)


def _first(args, kwargs):
    """Where the activation stands among the arguments of a module: it is the first tensor of floats."""
    for key, value in [*enumerate(args), *kwargs.items()]:
        if isinstance(value, torch.Tensor) and value.is_floating_point() and value.ndim > 1:
            return key, value
    return None, None


def _replaced(args, kwargs, key, value):
    if isinstance(key, int):
        return args[:key] + (value,) + args[key + 1:], kwargs
    return args, {**kwargs, key: value}


def _kept_in_parts(gathered):
    """A context in which autograd keeps of gathered values, pairs of (part, whole) as DTensors, the part alone: it is gathered again
    for the backward pass, once for all that need it. Where layers are computed again, so is this."""
    def place(tensor):
        local = tensor._local_tensor if isinstance(tensor, DTensor) else tensor
        return local.untyped_storage().data_ptr()
    places = {place(whole): [part.detach(), 0, 0, None] for part, whole in gathered if part.placements != whole.placements}
    places.pop(0, None)  # on the meta device nothing has a place
    if not places or RECOMPUTE != "none":
        return contextlib.nullcontext()

    def pack(tensor):
        known = places.get(place(tensor)) if type(tensor) in (DTensor, torch.Tensor) else None
        if known is None:
            return tensor
        known[1] += 1
        return known, tensor.shape, type(tensor)

    def unpack(packed):
        if not isinstance(packed, tuple):
            return packed
        known, shape, kind = packed
        part, kept, taken, whole = known
        if whole is None:
            whole = part.redistribute(placements=(Replicate(),))
        taken = (taken + 1) % kept
        known[2:] = [taken, whole if taken else None]
        return (whole if kind is DTensor else whole.to_local()).view(shape)
    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


class SharedInput(ParallelStyle):
    """Prepares the input of a module once for all of its linear layers: they share one all-gather, and in the backward pass their
    gradients are added up before the one all-reduce or reduce-scatter. With ColwiseParallel alone each layer has its own."""

    def __init__(self, stream):
        self.stream = stream

    def _apply(self, module, device_mesh):
        forward = module.forward

        def run(*args, **kwargs):
            key, value = _first(args, kwargs)
            if not isinstance(value, DTensor):
                value = DTensor.from_local(value, device_mesh, (self.stream,), run_check=False)
            part = _Gradient.apply(value)
            whole = part.redistribute(placements=(Replicate(),))
            args, kwargs = _replaced(args, kwargs, key, whole)
            with _kept_in_parts([(part, whole)]):
                return forward(*args, **kwargs)
        module.forward = run
        return module


class Whole(ParallelStyle):
    """A module whose parameters every device has, on an activation in the layout `stream`; SequenceParallel is the one of Shard(1).
    `local`: its neighbors compute on local tensors, so it takes and gives one."""

    def __init__(self, stream, local=False):
        self.stream, self.local = stream, local

    def _apply(self, module, device_mesh):
        for leaf, parameter in list(module.named_parameters(recurse=False)):
            tensor = distribute_tensor(parameter.detach(), device_mesh, (Replicate(),))
            module.register_parameter(leaf, torch.nn.Parameter(tensor, requires_grad=parameter.requires_grad))

        def prepare(_, args):
            if isinstance(args[0], DTensor):
                return args
            layout = self.stream if args[0].is_floating_point() else Replicate()
            return (DTensor.from_local(args[0], device_mesh, (layout,), run_check=False), *args[1:])

        def finish(_, args, output):
            return output.to_local() if self.local else output.redistribute(placements=(self.stream,))
        module.register_forward_pre_hook(prepare)
        module.register_forward_hook(finish)
        return module


def tensor_styles(model):
    """Styles of modules by name, for parallelize_module on the mesh axis TENSOR_AXIS: weights that every device uses a part of."""
    at = [axis for axis, _ in AXES if axis != STAGE_AXIS].index(TENSOR_AXIS)
    stream = Shard(1) if SEQUENCE_PARALLEL else Replicate()
    first = {parameter: name for name, parameter in model.named_parameters()}  # a head may share the embedding's
    weights = {}  # by name of the module: its class, and where its weight lies
    for name, module in model.named_modules():
        own = dict(module.named_parameters(recurse=False))
        if own:
            weights[name] = (module, placements_of(first[own.get("weight", next(iter(own.values())))])[at])
    branches = {name.rpartition(".")[0] for name, (module, placement) in weights.items()
                if "." in name and isinstance(module, torch.nn.Linear) and placement == Shard(1)}  # they end with partial sums
    styles, wrong = {}, []
    for name, (module, placement) in weights.items():
        inside = name.rpartition(".")[0] in branches
        if isinstance(module, torch.nn.Embedding) and placement == Shard(0):
            styles[name] = [RowwiseParallel(input_layouts=Replicate(), output_layouts=stream, use_local_output=False)]
        elif isinstance(module, torch.nn.Embedding) and placement == Shard(1):
            styles[name] = [ColwiseParallel(input_layouts=Replicate(), output_layouts=stream, use_local_output=False)]
        elif isinstance(module, torch.nn.Linear) and placement == Shard(1):
            styles[name] = [RowwiseParallel(output_layouts=stream, use_local_output=False)]
        elif isinstance(module, torch.nn.Linear) and placement == Shard(0):
            # The logits stay cut over the vocabulary: see loss().
            styles[name] = [ColwiseParallel()] if inside else [
                SharedInput(stream), ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)]
        elif placement == Replicate() and not (inside and isinstance(module, torch.nn.Linear)):
            styles[name] = [Whole(Shard(2), local=True) if inside else
                            SequenceParallel() if SEQUENCE_PARALLEL and not isinstance(module, (torch.nn.Linear, torch.nn.Embedding)) else
                            Whole(stream)]
        else:
            wrong.append(f"{name!a} ({type(module).__name__}, {placement})")
    if wrong:
        raise NotImplementedError("no style of torch runs these modules as the design lays them out; distribute() lays out their "
                                  "weights alone: " + ", ".join(wrong))
    for name in branches:
        styles[name] = [SharedInput(stream)]
    return styles


def _tensor_parallel(model, at):
    tied = {}  # styles make two parameters of one that two modules share
    for name, parameter in model.named_parameters(remove_duplicate=False):
        tied.setdefault(parameter, []).append(name)
    for name, styles in tensor_styles(model).items():
        for style in styles:
            parallelize_module(model.get_submodule(name), at, style)
    for first, *others in tied.values():
        for name in others:
            owner, _, leaf = name.rpartition(".")
            model.get_submodule(owner).register_parameter(leaf, model.get_parameter(first))


class _WholeKeys(TorchFunctionMode):
    """Attention of a part of the sequence, to the keys and values of all of it: they are gathered, and the gradients of all parts
    are added up."""

    def __init__(self, at):
        super().__init__()
        self.at = at

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is not torch.nn.functional.scaled_dot_product_attention:
            return function(*args, **kwargs)
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
        said = {**dict(zip(names, args)), **kwargs}
        if said.get("attn_mask") is not None:
            raise NotImplementedError("attention over parts of the sequence takes no mask but the causal one")
        gathered = []
        for name in ("key", "value"):
            part = DTensor.from_local(said[name], self.at, (Shard(2),), run_check=False)
            gathered.append((part, part.redistribute(placements=(Replicate(),))))
            said[name] = gathered[-1][1].to_local(grad_placements=(Partial(),))
        if said.pop("is_causal", False):
            own, all_ = said["query"].shape[2], said["key"].shape[2]
            first = self.at.get_local_rank() * own
            device = said["query"].device
            said["attn_mask"] = (torch.arange(all_, device=device)[None, :]
                                 <= torch.arange(first, first + own, device=device)[:, None])
        with _kept_in_parts(gathered):
            return function(**said)


def _context_parallel(model, at):
    """Each device has a part of the sequence: attention gathers keys and values, and positions count from the part's first token."""
    def inside(forward):
        def run(*args, **kwargs):
            with _WholeKeys(at):
                return forward(*args, **kwargs)
        return run

    for layer in layers_of(model):
        layer.forward = inside(layer.forward)

    def positions(_, args, kwargs):
        tokens = args[0] if args else kwargs.get("input_ids")
        if kwargs.get("position_ids") is None and isinstance(tokens, torch.Tensor):
            first = at.get_local_rank() * tokens.shape[1]
            kwargs = {**kwargs, "position_ids": torch.arange(first, first + tokens.shape[1], device=tokens.device)[None, :]}
        return args, kwargs
    decoder = model.get_submodule(PREFIX.rstrip(".")) if hasattr(model, PREFIX.split(".")[0]) else model
    if "position_ids" in inspect.signature(decoder.forward).parameters:
        decoder.register_forward_pre_hook(positions, with_kwargs=True)


def layers_of(model):
    """The layers of a model, in order."""
    before = {pattern.partition(".*.")[0] for pattern in LAYOUT if ".*." in pattern}
    before |= {text[len(PREFIX):] for text in before if text.startswith(PREFIX)}
    return [module for name, module in model.named_modules()
            if name.rpartition(".")[0] in before and name.rpartition(".")[2].isdigit()]


def _recompute(model):
    """Layers keep for the backward pass what the design says; the rest is computed again."""
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing, checkpoint_wrapper
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    def policy(_, op, *args, **kwargs):  # no matrix product, attention or collective runs twice
        keep = "_c10d_functional" in op.namespace or any(part in str(op) for part in ("mm", "attention"))
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE
    options = {} if RECOMPUTE == "full" else {"context_fn": lambda: create_selective_checkpoint_contexts(policy)}
    layers = set(layers_of(model))
    apply_activation_checkpointing(model, checkpoint_wrapper_fn=lambda layer: checkpoint_wrapper(layer, **options),
                                   check_fn=lambda module: module in layers)


def _one_axis(at, axes):
    """A mesh of one axis for these axes, in the order of the mesh."""
    part = at[tuple(axes)] if len(axes) > 1 else at[axes[0]]
    return part if len(axes) == 1 else part._flatten("_".join(axes))


def _data_parallel(model, at):
    """FSDP2 for the axes over which weights are gathered where they are used, a sum of gradients for the others."""
    from torch.distributed._composable.replicate_with_fsdp import replicate  # DDP by the means of FSDP2, which knows DTensor
    from torch.distributed.fsdp import fully_shard
    order = [axis for axis, _ in AXES if axis != STAGE_AXIS]
    summed = [axis for axis in order if axis in SUMMED_AXES]
    gathered = [axis for axis in order if axis in GATHERED_AXES]
    if not summed and not gathered:
        return
    if not gathered:
        mesh_ = _one_axis(at, summed)
        for layer in layers_of(model):
            replicate(layer, mesh=mesh_)
        replicate(model, mesh=mesh_)
        return
    if len(summed) + len(gathered) == 1 or not summed:
        mesh_ = _one_axis(at, gathered)
    elif len(summed) == 1 and len(gathered) == 1:
        mesh_ = at[summed[0], gathered[0]]
    else:
        raise NotImplementedError(f"fully_shard takes one mesh axis for parts and one for copies, the design has {gathered} and {summed}")
    dims, wrong = {}, []
    for name, parameter in model.named_parameters():
        placed = {dict(zip(order, placements_of(name)))[axis] for axis in gathered}
        if len(placed) != 1 or not isinstance(next(iter(placed)), (Shard, _StridedShard)):
            wrong.append(name)
        else:
            dims[parameter] = next(iter(placed)).dim
    if wrong:
        raise NotImplementedError("fully_shard cuts every parameter of a module, and the design leaves some whole over "
                                  f"{', '.join(gathered)}: {wrong[:8]!a}")

    def shard(*modules, **options):
        fully_shard(list(modules) if len(modules) > 1 else modules[0], mesh=mesh_,
                    shard_placement_fn=lambda parameter: Shard(dims[parameter]),
                    reshard_after_forward=RESHARD_AFTER_FORWARD, **options)
    layers = layers_of(model)
    for layer in layers:
        shard(layer)
    inside = {module for layer in layers for module in layer.modules()}
    first = [module for module in model.modules() if isinstance(module, torch.nn.Embedding) and module not in inside]
    last = [module for module in model.modules() if module not in inside and module not in first
            and any(True for _ in module.parameters(recurse=False))]
    tied = {p for module in first for p in module.parameters()} & {p for module in last for p in module.parameters()}
    if tied or not first or not last:
        fully_shard(model, mesh=mesh_, shard_placement_fn=lambda parameter: Shard(dims[parameter]), reshard_after_forward=False)
        return
    for module in first:
        shard(module)
        module.set_unshard_in_backward(False)  # the gradient of an embedding does not need it
    shard(*last)
    fully_shard(model, mesh=mesh_)


def parallelize(model, m):
    """Lays out a model as the design does and has it compute so, forward and backward: tensor and sequence parallel, parts of the
    sequence, FSDP2, recompute. Parameters stay or become DTensors, which an optimizer's states follow. Returns the model; each rank
    passes its part of the batch (see inputs()). Of a pipeline the model has the modules of this rank's stage alone."""
    verify(model)
    verify_whole(model, m)
    verify_stage(model, m)
    if NOT_RUN:
        raise NotImplementedError("torch has no ready parts for this design; distribute() lays out its weights alone: " + "; ".join(NOT_RUN))
    at = weights_mesh(m)
    if TENSOR_AXIS is not None:
        _tensor_parallel(model, at[TENSOR_AXIS])
    if CONTEXT_AXIS is not None:
        _context_parallel(model, at[CONTEXT_AXIS])
    if RECOMPUTE != "none":
        _recompute(model)
    if at is not None:
        _data_parallel(model, at)
    return model


def inputs(m, **whole):
    """This rank's part of each input: inputs(m, tokens=tokens, targets=targets)["tokens"]."""
    return {name: distribute_tensor(tensor, weights_mesh(m), INPUTS[name][1], src_data_rank=None).to_local()
            for name, tensor in whole.items()}


def loss(logits, targets):
    """Mean cross-entropy of the tokens of this rank. Where logits are cut over the vocabulary no device ever has all of them; then
    call this, and backward() of what it gives, within loss_parallel()."""
    return torch.nn.functional.cross_entropy(logits.flatten(0, -2).float(), targets.flatten())
