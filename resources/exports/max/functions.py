

def entry_of(table, name):
    """The entry of a weight by its checkpoint name, of an input, or of an activation."""
    if name in table:
        return table[name]
    for number in re.finditer(r"(?:^|(?<=\.)(?<!\.experts\.))[0-9]+(?=\.)", name):  # of the layer
        pattern = name[:number.start()] + "*" + name[number.end():]
        if pattern in table and int(number.group()) < LAYERS:
            return table[pattern]
    raise KeyError(f"the design says nothing about {name!a} here")


def verify(weights):
    """Raises one error that names all weights of a model that the design does not know, that have another shape, or that are missing.
    `weights`: arrays, or anything else with a shape, by checkpoint name; the experts of a layer may be one by one or stacked, with `*`
    for their number."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "shards.json"), encoding="utf-8") as file:
        design = {tensor["name"]: tensor["shape"] for tensor in json.load(file)["tensors"]}
    wrong, there = [], {}
    for name, weight in weights.items():
        known, want = name, design.get(name)
        expert = re.search(r"(?<=\.experts\.)[0-9]+(?=\.)", name)
        if want is None and expert:
            known = name[:expert.start()] + "*" + name[expert.end():]
            stacked = design.get(known, [0])
            want = stacked[1:] if int(expert[0]) < stacked[0] else None
        shape = [int(size) for size in weight.shape]
        if want is None:
            wrong.append(f"the design says nothing about {name!a}")
        elif shape != want:
            wrong.append(f"{name!a} has shape {shape}, in the design {want}")
        there[known] = there.get(known, 0) + (0 if want is None else want[0] if "*" in name else 1)
    wrong += [f"the design has {name!a}, and the model does not" for name in design if name not in there]
    wrong += [f"the model has {there[name]} of {name!a}, and the design {shape[0]}" for name, shape in design.items()
              if "*" in name and name in there and there[name] != shape[0]]
    if wrong:
        raise ValueError(f"the model is not the one of this design, {MODEL!a}:\n  " + "\n  ".join(wrong))


def mesh(devices=None):
    """The device mesh. `devices` gives a device by its id; without it one CPU stands for all of them (simulated)."""
    listed = [CPU()] * len(ORDER) if devices is None else [devices[i] for i in ORDER]
    return DeviceMesh(devices=tuple(listed), mesh_shape=tuple(n for _, n in AXES), axis_names=tuple(a for a, _ in AXES))


def mapping_of(name, m):
    """The DeviceMapping of a tensor on a mesh of this design."""
    for table in (MAPPINGS, INPUTS, ACTIVATIONS):
        try:
            return Mapping(m, entry_of(table, name))
        except KeyError:
            continue
    if said(STRATEGIES, name) is not None:
        raise KeyError(f"{name!a} is cut in segments or whole heads, which no DeviceMapping says: use strategy_of()")
    raise KeyError(f"the design says nothing about {name!a}")


def strategy_of(name):
    """The ShardingStrategy of a weight; its devices are those along strategy_axis_of(name), in mesh order."""
    return entry_of(STRATEGIES, name)[1]


def strategy_axis_of(name):
    """The mesh axis over which strategy_of(name) cuts; None: all devices hold the same."""
    return entry_of(STRATEGIES, name)[0]


def shard_index(name, position):
    """Which shard of strategy_of(name) the device at a row-major position of the mesh has."""
    axis = strategy_axis_of(name)
    if axis is None:
        return position
    at = [a for a, _ in AXES].index(axis)
    return position // math.prod(n for _, n in AXES[at + 1:]) % AXES[at][1]


class Shards:
    """What MAX makes of the layouts, as lists of the indices along each dim that a device holds. Dims are cut each on its own, so that
    a line of numbers along one of them says what a device has."""

    def __init__(self):
        self.mesh = mesh()
        self.lines = {}
        self.pieces = {}

    def by_placements(self, shape, placements):
        """By position in the mesh: the indices along each dim, of real arrays that MAX puts on the mesh."""
        out = [[] for _ in ORDER]
        for dim, size in enumerate(shape):
            line = tuple(Sharded(0) if isinstance(p, Sharded) and p.axis == dim else Replicated() for p in placements)
            key = size, str(line)
            if key not in self.lines:
                self.lines[key] = self.put(np.arange(size, dtype=np.int32), line)
            for position, held in enumerate(self.lines[key]):
                out[position].append(held)
        return out

    def put(self, line, placements):
        if not any(isinstance(p, Sharded) for p in placements):
            return [line] * len(ORDER)  # no dim of size 0 has to be put
        from max.experimental.tensor import Tensor
        put = Tensor.from_dlpack(line.reshape(-1, 1)).to(Mapping(self.mesh, placements))
        return [np.array(np.from_dlpack(shard)).reshape(-1) for shard in put.local_shards]

    def by_strategy(self, shape, strategy):
        """By shard: its shape from a Weight of a graph, and the indices along each dim that MAX's own function takes of an array."""
        from max.dtype import DType
        from max.graph import DeviceRef, Graph, Weight
        key = tuple(shape), str(getattr(strategy.shard, "keywords", "")), getattr(strategy.shard, "func", strategy.shard), strategy.num_devices
        if key not in self.pieces:
            with Graph("shards"):
                weight = Weight("w", DType.int32, list(shape), DeviceRef.CPU())
                weight.sharding_strategy = strategy
                shapes = [[int(size) for size in shard.shape] for shard in weight.shard([DeviceRef.CPU()] * strategy.num_devices)]
            shards = [[along(strategy, shape, dim, i) for dim in range(len(shape))] for i in range(strategy.num_devices)]
            if shapes != [[len(held) for held in shard] for shard in shards]:
                raise ValueError(f"shapes {shapes}, and other contents")
            self.pieces[key] = shards
        return self.pieces[key]


def joined(pieces, along_axis):
    return np.concatenate(pieces) if along_axis else pieces[0]


def along(strategy, shape, dim, i):
    """The indices along `dim` that the strategy takes for shard i: MAX's function slices an array that says its own indices."""
    from max.graph import ops
    concat = ops.concat
    ops.concat = lambda pieces, axis: joined(pieces, axis % len(shape) == dim)
    try:
        held = strategy(Line(shape, dim), i)
    finally:
        ops.concat = concat
    return held


class Line:
    """In place of a graph's weight: slices are taken of the indices along one dim, and those of other dims are not looked at."""

    def __init__(self, shape, dim):
        self.shape, self.dim = shape, dim

    def __getitem__(self, index):
        slices = list(index) if isinstance(index, tuple) else [index]
        slices += [slice(None)] * (len(self.shape) - len(slices))
        return np.arange(self.shape[self.dim])[slices[self.dim]]


def expected(shard):
    """The indices along each dim of a shard of shards.json."""
    pieces, join = shard["pieces"], shard["join_dim"]
    out = []
    for dim in range(len(pieces[0])):
        ranges = [piece[dim] for piece in (pieces if dim == join else pieces[:1])]
        out.append(np.concatenate([np.arange(lo, hi) for lo, hi in ranges]))
    return out


def same(held, wanted):
    """Empty shards are equal wherever they begin."""
    if any(len(line) == 0 for line in held) or any(len(line) == 0 for line in wanted):
        return [len(line) for line in held] == [len(line) for line in wanted] or (
            any(len(line) == 0 for line in held) and any(len(line) == 0 for line in wanted))
    return all(np.array_equal(a, b) for a, b in zip(held, wanted, strict=True))


def said(table, name):
    """entry_of(), or None."""
    try:
        return entry_of(table, name)
    except KeyError:
        return None


def partial_of(placements):
    """The mesh axes over which a tensor is partial, like `partial` of shards.json."""
    axes = [axis for (axis, _), p in zip(AXES, placements) if isinstance(p, Partial)]
    return {"axes": axes, "op": "sum"} if axes else None


def check(path, shards=None):
    """Compares the shards that MAX makes with shards.json, which comes from the plan of the design; returns the names that differ and
    how many tensors there are."""
    with open(path, encoding="utf-8") as file:
        want = json.load(file)
    if [list(zip(want["mesh"]["axes"], want["mesh"]["sizes"])), want["mesh"]["device_ids"]] != [list(AXES), ORDER]:
        raise ValueError("shards.json is for another mesh: export both files together")
    if not len({tensor["name"] for tensor in want["tensors"]}) == len(want["tensors"]) == WEIGHTS:
        raise ValueError(f"shards.json does not have each of the {WEIGHTS} weights once: export both files together")
    shards = shards or Shards()
    known = {}  # layers have the same
    wrong = []
    for tensor in want["tensors"]:
        name = tensor["name"]
        placements, strategy = said(MAPPINGS, name), said(STRATEGIES, name)
        axis, strategy = strategy or (None, None)
        both = said(dict.fromkeys(MAPPING_ONLY, True), name) is None and said(dict.fromkeys(STRATEGY_ONLY, True), name) is None
        key = str((tensor["shape"], tensor["shards"], tensor.get("partial"), placements, axis, strategy, both))
        if key not in known:
            wanted = {device: expected(shard) for shard in tensor["shards"] for device in shard["devices"]}
            there = [placements is not None, strategy is not None]
            equal = (all(there) if both else any(there)) and sorted(wanted) == sorted(ORDER)
            if equal and placements is not None:
                held = shards.by_placements(tensor["shape"], placements)
                equal = partial_of(placements) == tensor.get("partial") and all(
                    same(held[position], wanted[device]) for position, device in enumerate(ORDER))
            if equal and strategy is not None:
                held = shards.by_strategy(tensor["shape"], strategy)
                equal = all(same(held[shard_index(name, position)], wanted[device]) for position, device in enumerate(ORDER))
            known[key] = equal
        if not known[key]:
            wrong.append(name)
    return wrong, len(want["tensors"])


if __name__ == "__main__":
    print("MAX may compile its slices first, which takes minutes", file=sys.stderr)
    wrong, total = check(os.path.join(os.path.dirname(os.path.abspath(__file__)), "shards.json"))
    for name in wrong[:20]:
        print("differs:", ascii(name))
    print(f"{total - len(wrong)} of {total} tensors have the same shards in MAX {version('max')}")
    sys.exit(1 if wrong else 0)
