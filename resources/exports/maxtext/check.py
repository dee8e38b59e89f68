"""Compares the shards that MaxText's rules give with shards.json, which comes from the plan of the design.

maxtext.yml is read and its rules are resolved by MaxText itself where it is installed, else by flax, whose function MaxText calls.
JAX then makes the shards on made-up CPU devices, and names.json says which elements of which weight lie in a parameter.
"""
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return json.load(file)


names, proof = read("names.json"), read("shards.json")
devices = math.prod(proof["mesh"]["sizes"])
if __name__ == "__main__":
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + f" --xla_force_host_platform_device_count={devices}"
try:
    import flax
    import flax.linen
    import jax
    import numpy as np
    import yaml
    from jax.sharding import Mesh, NamedSharding
except ImportError as problem:
    skip(f"this Python has no flax, JAX or PyYAML ({problem})")


def resolver(config):
    """Function from (logical names, mesh) to a PartitionSpec, and what it is of."""
    rules = [(name, tuple(axes) if isinstance(axes, list) else axes) for name, axes in config["logical_axis_rules"]]
    try:
        from maxtext.utils import sharding
        from importlib.metadata import version
        return lambda logical, mesh: sharding.logical_to_mesh_axes(logical, mesh, rules=rules), f"MaxText {version('maxtext')}"
    except Exception:  # it needs much that a machine without accelerators may not have
        return lambda logical, mesh: flax.linen.logical_to_mesh_axes(logical, rules), f"flax {flax.__version__}"


def config_mesh(config):
    """The mesh that MaxText makes of the options; its devices in the order that CPU devices have there."""
    options = {"stage": "pipeline", "model": "tensor"}
    sizes = [config[f"ici_{options.get(axis, axis)}_parallelism"] for axis in config["mesh_axes"]]
    return Mesh(np.array(jax.devices()[:devices]).reshape(sizes), config["mesh_axes"])


def per_layer(parameter):
    """(number in the tree or None, layer of the model) of the parameters that this one stands for; layer -1 is outside layers."""
    if "layers" not in parameter or parameter.get("stacked"):
        return [-1]
    first, count = parameter["layers"]
    return range(first, first + count)


def elements(parameter, source, ranges):
    """Per dim of a source, the layers first where they are stacked, the indices that a shard with these ranges of dims holds."""
    factors = parameter["factors"]
    held = {}
    for dim, range_ in zip(parameter["dims"], ranges):
        sizes = [factors[f]["size"] for f in dim]
        grid = np.arange(*range_)
        digits = np.unravel_index(grid, sizes) if sizes else ()
        for f, digit in zip(dim, digits):
            values = np.unique(digit)
            held[f] = values
        if len(grid) != math.prod(len(held[f]) for f in dim):
            raise ValueError(f"a shard of {parameter['name']} is no product of its factors")
    out = []
    for dim in parameter["from"]:
        index = np.zeros(1, np.int64)
        for f in dim:
            size, own = factors[f]["size"], held.get(f)
            if own is None:
                own = np.array([factors[f]["taken"]])
            if parameter.get("joined") == f:
                before = sum(parameter["parts"][:source])
                size = parameter["parts"][source]
                own = own[(own >= before) & (own < before + size)] - before
            index = (index[:, None] * size + own[None, :]).ravel()
        out.append(np.sort(index))
    return out


def taken_of(parameter, source, dim, indices):
    """Of indices of a source's dim those that this parameter has at all."""
    factors = parameter["factors"]
    sizes = [parameter["parts"][source] if parameter.get("joined") == f else factors[f]["size"] for f in parameter["from"][dim]]
    digits = np.unravel_index(indices, sizes)
    keep = np.ones(len(indices), bool)
    for f, digit in zip(parameter["from"][dim], digits):
        if "taken" in factors[f]:
            keep &= digit == factors[f]["taken"]
    return indices[keep]


def dim_sets(tensor):
    """Per device the indices of each dim that it holds; a shard is their product."""
    out = {}
    for shard in tensor["shards"]:
        sets = []
        for dim in range(len(tensor["shape"])):
            pieces = [np.arange(*piece[dim]) for piece in shard["pieces"]]
            sets.append(np.unique(np.concatenate(pieces)) if pieces else np.zeros(0, np.int64))
        for device in shard["devices"]:
            out[device] = sets
    return out


def check(config):
    """Names of the tensors that differ, how many there are, and of which peer."""
    resolve, peer = resolver(config)
    mesh = config_mesh(config)
    tensors = {tensor["name"]: tensor for tensor in proof["tensors"]}
    seen = dict.fromkeys(tensors, 0.0)  # share of the elements that parameters have
    wrong = set()
    known = {}
    for parameter in names["parameters"]:
        spec = resolve(tuple(parameter["logical"]), mesh)
        shards = NamedSharding(mesh, spec).devices_indices_map(tuple(parameter["shape"]))
        ranges = {d.id: [s.indices(n)[:2] for s, n in zip(index, parameter["shape"])] for d, index in shards.items()}
        for source, name in enumerate(parameter["sources"]):
            held = {device: elements(parameter, source, r) for device, r in ranges.items()}
            stacked = parameter.get("stacked", False)
            for layer in per_layer(parameter):
                if stacked:
                    first = parameter["layers"][0]
                    layers = taken_of(parameter, source, 0, np.arange(math.prod(parameter["factors"][f]["size"] for f in parameter["from"][0])))
                    every = all(np.array_equal(sets[0], layers) for sets in held.values())
                    of = [name.replace("*", str(first + i), 1) for i in layers]
                else:
                    every, of = True, [name if layer < 0 else name.replace("*", str(layer), 1)]
                for concrete in of:
                    tensor = tensors[concrete]
                    key = (json.dumps(tensor["shards"]), tuple(tensor["shape"]), parameter["name"], source)
                    if key not in known:
                        expected = dim_sets(tensor)
                        equal = every and set(expected) == set(held)
                        for device, sets in held.items():
                            sets = sets[1:] if stacked else sets
                            shift = 1 if stacked else 0
                            equal = equal and len(sets) == len(expected[device]) and all(
                                np.array_equal(mine, taken_of(parameter, source, dim + shift, theirs))
                                for dim, (mine, theirs) in enumerate(zip(sets, expected[device])))
                        known[key] = equal
                    if not known[key]:
                        wrong.add(concrete)
                    shares = [factor["size"] for f, factor in enumerate(parameter["factors"])
                              if "taken" in factor and not (stacked and f in parameter["from"][0])]
                    seen[concrete] += 1 / math.prod(shares)
    wrong |= {name for name, share in seen.items() if abs(share - 1) > 1e-9}  # no parameter has it, or more than one
    return sorted(wrong), len(tensors), peer


def main():
    with open(os.path.join(HERE, "maxtext.yml"), encoding="utf-8") as file:
        config = yaml.safe_load(file)
    axes = [(axis["design"], axis["size"]) for axis in names["axes"]]
    if axes != list(zip(proof["mesh"]["axes"], proof["mesh"]["sizes"])) or config["mesh_axes"] != [axis["maxtext"] for axis in names["axes"]]:
        raise SystemExit("maxtext.yml, names.json and shards.json are of different exports: export them together")
    listed = {tensor["name"] for tensor in proof["tensors"]}
    if not len(listed) == len(proof["tensors"]) == names["tensors"]:
        raise SystemExit(f"shards.json does not have each of the {names['tensors']} weights of this design once: export all files together")
    wrong, total, peer = check(config)
    for name in wrong[:20]:
        print("differs:", ascii(name))
    print(f"{total - len(wrong)} of {total} tensors have the same shards in {peer}")
    sys.stdout.flush()
    os._exit(1 if wrong else 0)  # JAX takes minutes to put thousands of made-up devices away


if __name__ == "__main__":
    main()
