def held(shape, placements, at):
    """Index ranges of each dim that this rank holds, in the order in which it holds them: read from a tensor that has its own
    indices, because no offset can say a strided shard."""
    ranges = []
    for dim, size in enumerate(shape):
        along = [Shard(0) if type(p) is Shard and p.dim == dim else
                 _S(0, p.split_factor) if isinstance(p, _StridedShard) and p.dim == dim else Replicate() for p in placements]
        index = distribute_tensor(torch.arange(size), at, along, src_data_rank=None).to_local() if at else torch.arange(size)
        jumps = (torch.nonzero(index[1:] - index[:-1] != 1).flatten() + 1).tolist()
        bounds = zip([0] + jumps, jumps + [index.numel()])
        ranges.append([[int(index[a]), int(index[b - 1]) + 1] for a, b in bounds if b > a])
    return ranges


def pieces_of(shape, placements, at):
    """What this rank holds as index ranges, like `pieces` of shards.json: one dim at most has several."""
    ranges = held(shape, placements, at)
    several = next((dim for dim, parts in enumerate(ranges) if len(parts) > 1), None)
    if any(not parts for parts in ranges):
        return []
    if several is None:
        return [[parts[0] for parts in ranges]]
    return [[part if dim == several else parts[0] for dim, parts in enumerate(ranges)] for part in ranges[several]]


def partial_of(placements):
    """The mesh axes over which a tensor is partial, and the op, like `partial` of shards.json."""
    axes = [axis for axis, _ in AXES if axis != STAGE_AXIS]
    found = [(axis, p.reduce_op) for axis, p in zip(axes, placements) if isinstance(p, Partial)]
    return {"axes": [axis for axis, _ in found], "op": found[0][1]} if found else None


def check(path):
    """Compares the shards that torch makes of LAYOUT with shards.json, which comes from the plan of the design; returns the names
    that differ and how many tensors there are. Every rank is asked in turn, in a process group that sends nothing."""
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
    from torch.testing._internal.distributed.fake_pg import FakeStore
    with open(path, encoding="utf-8") as file:
        want = json.load(file)
    is_mesh = [list(zip(want["mesh"]["axes"], want["mesh"]["sizes"])), want["mesh"]["device_ids"]]
    if is_mesh != [list(AXES), ORDER]:
        raise ValueError("shards.json is for another mesh: export both files together")
    if not len({tensor["name"] for tensor in want["tensors"]}) == len(want["tensors"]) == WEIGHTS:
        raise ValueError(f"shards.json does not have the {WEIGHTS} weights of this design: export both files together")
    expected = []
    for tensor in want["tensors"]:
        shards = {}
        for shard in tensor["shards"]:
            shards.update(dict.fromkeys(shard["devices"], joined(shard["pieces"], shard["join_dim"])))
        expected.append(shards)
    wrong = {}
    stage_axis = [axis for axis, _ in AXES].index(STAGE_AXIS) if STAGE_AXIS is not None else None
    for rank in ORDER:
        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=max(ORDER) + 1)
        m = mesh("cpu")
        at = weights_mesh(m)
        stage = None if stage_axis is None else m.get_coordinate()[stage_axis]
        made = {}  # layers have the same
        for tensor, shards in zip(want["tensors"], expected):
            name, shape = tensor["name"], tuple(tensor["shape"])
            placements = placements_of(name)
            if stage is not None and stage not in stages_of(name):
                if rank in shards:
                    wrong[name] = True
                continue
            key = (shape, placements)
            if key not in made:
                pieces = pieces_of(shape, placements, at)
                sizes = [sum(hi - lo for lo, hi in parts) for parts in held(shape, placements, at)]
                agreed = at is None or list(compute_local_shape_and_global_offset(torch.Size(shape), at, placements)[0]) == sizes
                made[key] = pieces if agreed else None
            if entry_of(name)[1] != shape or partial_of(placements) != tensor.get("partial") or rank not in shards or made[key] != shards[rank]:
                wrong[name] = True
        dist.destroy_process_group()
    return list(wrong), len(want["tensors"])


if __name__ == "__main__":
    wrong, total = check(os.path.join(os.path.dirname(os.path.abspath(__file__)), "shards.json"))
    for name in wrong[:20]:
        print("differs:", ascii(name))
    print(f"{total - len(wrong)} of {total} tensors have the same shards in PyTorch {torch.__version__.partition('+')[0]}")
    sys.exit(1 if wrong else 0)
