import functools
import itertools
import json
import math
import os
import re
import sys

if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

FOLDER = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(FOLDER, FILE), encoding="utf-8") as file:
    DESIGN = json.load(file)


@functools.cache
def entry_of(name):
    """What the design says of a weight by its checkpoint name, of an input, or of an activation: dtype, shape, sharding."""
    weights = DESIGN["weights"]
    if name in weights:
        return weights[name]
    for number in re.finditer(r"(?:^|(?<=\.)(?<!\.experts\.))[0-9]+(?=\.)", name):  # of the layer
        pattern = name[:number.start()] + "*" + name[number.end():]
        if pattern in weights and int(number.group()) < DESIGN["layers"]:
            return weights[pattern]
    for kind in ("inputs", "activations"):
        if name in DESIGN[kind]:
            return DESIGN[kind][name]
    raise KeyError(f"the design says nothing about {name!a}")


def text_of(name):
    """The sharding of a tensor, as text."""
    return entry_of(name)["sharding"]


def annotated_arguments(module, names, function, attributes_of):
    """Adds the attributes that `attributes_of(name)` gives, as MLIR text, to the arguments of a function of a StableHLO module. A
    name that the design does not know is an error, and so is an argument of another shape."""
    from jax._src.lib.mlir import ir
    with module.context:
        found = [op for op in module.body.operations
                 if op.operation.name == "func.func" and ir.StringAttr(op.attributes["sym_name"]).value == function]
        if not found:
            raise ValueError(f"the module has no function {function!a}")
        arguments = list(found[0].arguments)
        if len(arguments) != len(names):
            raise ValueError(f"{function!a} has {len(arguments)} arguments, and there are {len(names)} names")
        attributes = []
        for number, (argument, name) in enumerate(zip(arguments, names)):
            known = {}
            if "arg_attrs" in found[0].attributes:
                known = {entry.name: entry.attr for entry in ir.DictAttr(ir.ArrayAttr(found[0].attributes["arg_attrs"])[number])}
            if name is not None:
                shape = list(ir.ShapedType(argument.type).shape)
                if shape != entry_of(name)["shape"]:
                    raise ValueError(f"{name!a} has the shape {shape}, and {entry_of(name)['shape']} in the design")
                known.update({key: ir.Attribute.parse(text) for key, text in attributes_of(name).items()})
            attributes.append(ir.DictAttr.get(known))
        found[0].attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
    return module


def held(sharding, shape, devices):
    """What each device holds under an HloSharding of XLA: tiles of equal size in the order of the tile assignment, of which the
    last ones may be short or empty."""
    if sharding.is_replicated() or sharding.is_unreduced():
        return {device: [[0, size] for size in shape] for device in range(devices)}
    dims = list(sharding.tile_assignment_dimensions())
    ids = list(sharding.tile_assignment_devices())
    ranges = []
    for parts, size in itertools.zip_longest(dims[:len(shape)], shape):
        tile = -(-size // parts)
        ranges.append([[min(size, i * tile), min(size, (i + 1) * tile)] for i in range(parts)])
    copies = math.prod(dims[len(shape):])
    out = {}
    for number, piece in enumerate(itertools.product(*ranges)):
        for device in ids[number * copies:(number + 1) * copies]:
            out[device] = list(piece)
    return out


def is_partial(sharding):
    return sharding.is_unreduced() or any(str(kind).endswith("UNREDUCED") for kind in sharding.subgroup_types())


def alike(sharding, shape, devices):
    """Which devices have the same: a set of sets of device ids. Devices that have different terms of a partial value do not."""
    if sharding.is_unreduced():
        return {frozenset([device]) for device in range(devices)}
    dims = list(sharding.tile_assignment_dimensions())
    kinds = [] if sharding.replicate_on_last_tile_dim() else [str(kind) for kind in sharding.subgroup_types()]
    apart = [True] * len(shape) + [kind.endswith("UNREDUCED") for kind in kinds]
    sets = {}
    if sharding.is_replicated():
        dims, apart = [devices], []
    for at, device in zip(itertools.product(*map(range, dims)), sharding.tile_assignment_devices() or range(devices)):
        sets.setdefault(tuple(i for i, one in zip(at, apart) if one), set()).add(device)
    return {frozenset(one) for one in sets.values()}


def alike_in_mesh(cut, partial):
    """The same of shards.json: sets of devices with the same shard, told apart by their place along the axes of `partial`."""
    axes = {axis: (number, size) for number, (axis, size) in enumerate(zip(DESIGN["mesh"]["axes"], DESIGN["mesh"]["sizes"]))}
    sizes = DESIGN["mesh"]["sizes"]
    ids = DESIGN["mesh"].get("device_ids", list(range(math.prod(sizes))))
    places = dict(zip(ids, itertools.product(*map(range, sizes))))
    sets = {}
    for number, group in enumerate(cut):
        for device in group:
            terms = []
            for name in partial["axes"]:
                axis, pre, part = re.fullmatch(r"(.*?)(?::\(([0-9]+)\)([0-9]+))?", name, re.DOTALL).groups()
                at, size = axes[axis]
                pre, part = int(pre or 1), int(part or size)
                terms.append(places[device][at] // (size // (pre * part)) % part)
            sets.setdefault((number, *terms), set()).add(device)
    return {frozenset(one) for one in sets.values()}


def differing(sharding_of, path):
    """Compares the shards that XLA makes with shards.json, which comes from the plan of the design; `sharding_of` gives the
    HloSharding of a weight. Returns the names that differ and how many tensors there are."""
    with open(path, encoding="utf-8") as file:
        want = json.load(file)
    mesh = DESIGN["mesh"]
    devices = math.prod(mesh["sizes"])
    ids = mesh.get("device_ids", list(range(devices)))
    if want["mesh"] != {"axes": mesh["axes"], "sizes": mesh["sizes"], "device_ids": ids}:
        raise ValueError("shards.json is for another mesh: export all files together")
    if not len({tensor["name"] for tensor in want["tensors"]}) == len(want["tensors"]) == DESIGN["tensors"]:
        raise ValueError(f"shards.json does not have each of the {DESIGN['tensors']} weights once: export all files together")
    made = {}  # layers have the same
    wrong = []
    for tensor in want["tensors"]:
        shape = tuple(tensor["shape"])
        entry = entry_of(tensor["name"])
        sharding = sharding_of(tensor["name"])
        key = (shape, str(sharding))
        if key not in made:
            made[key] = {device: joined([piece], None) for device, piece in held(sharding, shape, devices).items()}
        expected = {}
        for shard in tensor["shards"]:
            expected.update(dict.fromkeys(shard["devices"], joined(shard["pieces"], shard["join_dim"])))
        partial = tensor.get("partial")
        same = partial is None and not is_partial(sharding) or partial is not None and is_partial(sharding) and (
            alike(sharding, shape, devices) == alike_in_mesh([shard["devices"] for shard in tensor["shards"]], partial))
        if made[key] != expected or not same or list(shape) != entry["shape"] or tensor["dtype"] != entry["dtype"]:
            wrong.append(tensor["name"])
    return wrong, len(want["tensors"])


def run_check(sharding_of):
    """The check of this file, for a shell: ends with 0 when all shards are equal, 1 when some differ."""
    import jax
    try:
        wrong, total = differing(sharding_of, os.path.join(FOLDER, "shards.json"))
    except (KeyError, ValueError) as problem:
        print(f"0 of 0 tensors have the same shards: {problem}")
        sys.exit(1)
    for name in wrong[:20]:
        print("differs:", ascii(name))
    print(f"{total - len(wrong)} of {total} tensors have the same shards in XLA of JAX {jax.__version__}")
    sys.exit(1 if wrong else 0)
