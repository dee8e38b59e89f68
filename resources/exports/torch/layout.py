def mesh(device_type="cuda"):
    """The device mesh, in exactly this order of ranks (init_device_mesh counts them row-major)."""
    ranks = torch.tensor(ORDER).reshape([n for _, n in AXES])
    return DeviceMesh(device_type, ranks, mesh_dim_names=tuple(axis for axis, _ in AXES))


def weights_mesh(m):
    """The mesh that weights lie on: all of it, of a pipeline the part of this rank's stage; None when that is one device."""
    names = tuple(axis for axis, _ in AXES if axis != STAGE_AXIS)
    return m if STAGE_AXIS is None else m[names] if names else None


def entry_of(name):
    """The entry of LAYOUT, or MODULES, of a parameter: its key, shape and placements. Wrappers and a missing prefix of the decoder do no harm;
    one expert (experts.3.w1) has its part of the stacked ones."""
    name = name.replace("_checkpoint_wrapped_module.", "").replace("_orig_mod.", "")
    for full in (name, PREFIX + name):
        numbers = [None, *re.finditer(r"(?:^|(?<=\.))[0-9]+(?=\.)", full)]
        for expert in numbers:
            for layer in numbers:
                if expert and layer and layer.start() >= expert.start():
                    continue
                key = full
                for number in (expert, layer):  # the later one first
                    key = key[:number.start()] + "*" + key[number.end():] if number else key
                known = LAYOUT if key in LAYOUT else MODULES
                if key not in known or layer and int(layer.group()) >= LAYERS or bool(expert) != (key in STACKED and "*" not in full):
                    continue
                shape, placements = known[key]
                if not expert:
                    return key, shape, placements
                if int(expert.group()) >= shape[0]:
                    continue
                if any(not isinstance(p, Replicate) and p.dim == 0 for p in placements):
                    raise ValueError(f"the design cuts over the experts, so {name!a} is on some ranks alone: stack the experts on dim 0")
                return key, shape[1:], tuple(p if isinstance(p, Replicate) else _S(p.dim - 1, p.split_factor)
                                             if isinstance(p, _StridedShard) else Shard(p.dim - 1) for p in placements)
        for number in numbers:
            pattern = full[:number.start()] + "*" + full[number.end():] if number else full
            if pattern in NOT_LAID_OUT:
                raise ValueError(f"{name!a} cannot be laid out as the design says: {NOT_LAID_OUT[pattern]}")
    raise KeyError(f"the design does not know {name!a}")


def placements_of(name):
    """Placements of a parameter by its name, one for each axis of weights_mesh(); dims are those of the checkpoint, [out, in]."""
    return entry_of(name)[2]


def stages_of(name):
    """Stages of the pipeline that hold a parameter; () without a pipeline."""
    if STAGE_AXIS is None:
        return ()
    pattern = entry_of(name)[0]
    if pattern in END_STAGES:
        return END_STAGES[pattern]
    layer = next(number for number in re.findall(r"(?:^|(?<=\.))[0-9]+(?=\.)", name)
                 if pattern == name or f".{number}." not in pattern)
    return (LAYER_STAGES[int(layer)],)


def stage_modules(stage):
    """Names of the modules on a stage of the pipeline, as torch.distributed.pipelining and TorchTitan take them."""
    names = []
    for pattern in LAYOUT:
        if pattern in END_STAGES:
            names += [pattern.rpartition(".")[0]] if stage in END_STAGES[pattern] else []
            continue
        before, _, _ = pattern.partition(".*.") if ".*." in pattern else re.split(r"(\.)[0-9]+\.", pattern, maxsplit=1)
        names += [f"{before}.{i}" for i, at in enumerate(LAYER_STAGES) if at == stage]
    return list(dict.fromkeys(names))


def verify(model):
    """Raises one error that names all parameters that the design does not know, those of another shape, and those that are one and the
    same though the design has them apart."""
    wrong, first = [], {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        try:
            key, shape, _ = entry_of(name)
            known, other = first.setdefault(parameter, (key, name))
            if known != key:
                wrong.append(f"{name!a} is tied to {other!a}, and in the design each is a weight of its own")
        except (KeyError, ValueError) as problem:
            if parameter not in first:  # else it is another name of one that is known: of a head that is the embedding
                wrong.append(problem.args[0])
            continue
        if tuple(parameter.shape) != shape:
            wrong.append(f"{name!a} has shape {tuple(parameter.shape)}, in the design {shape}")
    if wrong:
        raise ValueError(f"the model is not the one of this design, {MODEL!a}:\n  " + "\n  ".join(wrong))


def verify_whole(model, m):
    """Raises where a model has not all the weights that the design has, or has on this rank's stage of the pipeline."""
    own = {name.replace("_checkpoint_wrapped_module.", "").replace("_orig_mod.", "")
           for name, _ in model.named_parameters(remove_duplicate=False)}
    own |= {PREFIX + name for name in own}
    stage = None if STAGE_AXIS is None else m.get_coordinate()[[axis for axis, _ in AXES].index(STAGE_AXIS)]
    missing = []
    for pattern in LAYOUT:
        if pattern in STACKED or {pattern, re.sub(r"(?<=\.)[0-9]+(?=\.)", "*", pattern, count=1)} & set(IN_MODULES):
            continue  # modules may have them in other parameters
        names = [pattern.replace("*", str(layer)) for layer in range(LAYERS)] if "*" in pattern else [pattern]
        missing += [name for name in names if name not in own and (stage is None or stage in stages_of(name))]
    if missing:
        raise ValueError(f"the model is not the one of this design, {MODEL!a}:\n  "
                         + "\n  ".join(f"the design has {name!a}, and the model does not" for name in missing))


def verify_stage(model, m):
    """Raises where a model has parameters that are not on this rank's stage of the pipeline."""
    if STAGE_AXIS is None:
        return
    stage = m.get_coordinate()[[axis for axis, _ in AXES].index(STAGE_AXIS)]
    other = [name for name, _ in model.named_parameters() if stage not in stages_of(name)]
    if other:
        raise ValueError(f"{len(other)} parameters of the model are not on stage {stage} of the pipeline, which is this rank's: take out "
                         f"all modules but stage_modules({stage}) first; the first ones are {other[:4]!a}")


def distribute(model, m, src_data_rank=0):
    """Makes every parameter a DTensor as the design lays it out, and returns the model; an optimizer's states follow the
    parameters. Of each tensor rank `src_data_rank` of the mesh has the values; None: every rank has them. Of a pipeline the model
    has the modules of this rank's stage alone."""
    verify(model)
    verify_stage(model, m)
    at = weights_mesh(m)
    for name, parameter in list(model.named_parameters()):
        if at is None:
            continue
        owner, _, leaf = name.rpartition(".")
        tensor = distribute_tensor(parameter.detach(), at, placements_of(name), src_data_rank=src_data_rank)
        model.get_submodule(owner).register_parameter(leaf, torch.nn.Parameter(tensor, requires_grad=parameter.requires_grad))
    return model
