def mesh(devices=None):
    """The device mesh, in exactly this device order (jax.make_mesh may reorder)."""
    by_id = {d.id: d for d in (devices or jax.devices())}
    missing = [i for i in ORDER if i not in by_id]
    if missing:
        raise ValueError(f"this design needs device ids {missing[:8]}, but JAX has {len(by_id)} devices")
    grid = np.empty(len(ORDER), dtype=object)
    grid[:] = [by_id[i] for i in ORDER]
    return Mesh(grid.reshape([n for _, n in AXES]), [a for a, _ in AXES])


def spec_of(name):
    """PartitionSpec of a weight by its checkpoint name; dims are those of the checkpoint, [out, in]."""
    if name in LAYOUT:
        return LAYOUT[name]
    for number in re.finditer(r"(?:^|(?<=\.))[0-9]+(?=\.)", name):  # of the layer
        pattern = name[:number.start()] + "*" + name[number.end():]
        if pattern in LAYOUT:
            return LAYOUT[pattern]
    raise KeyError(f"the design says nothing about {name!a}")


def entries_of(spec, ndim):
    """What cuts each dim: None, the name of a mesh axis, or a tuple of names."""
    entries = tuple(getattr(spec, "partitions", spec))
    return entries + (None,) * (ndim - len(entries))


def spec_of_leaf(key, ndim):
    """PartitionSpec of a leaf of a Flax-like tree: a kernel [in, out] is the checkpoint's weight transposed."""
    parts = key.replace("/", ".").split(".")
    if parts[0] == "params":
        parts = parts[1:]
    leaf = {"kernel": "weight", "embedding": "weight", "scale": "weight"}.get(parts[-1], parts[-1])
    name = ".".join(parts[:-1] + [leaf])
    if not name.startswith((PREFIX, "lm_head.")):
        name = PREFIX + name
    spec = spec_of(name)
    if parts[-1] != "kernel":
        return spec
    return P(*reversed(entries_of(spec, ndim)))


def shardings(tree, m):
    """A tree of NamedSharding like `tree`, whose leaves are arrays or shapes."""
    def pick(path, leaf):
        key = jax.tree_util.keystr(path, simple=True, separator="/")
        return NamedSharding(m, spec_of_leaf(key, len(leaf.shape)))
    return jax.tree_util.tree_map_with_path(pick, tree)


def joined(pieces, dim):
    """Pieces that lie side by side along `dim` as one; those that hold nothing are left out."""
    out = []
    for piece in pieces:
        if any(lo == hi for lo, hi in piece):
            continue
        last = out[-1] if out else None
        if last and dim is not None and last[dim][1] == piece[dim][0] and all(
                a == b for i, (a, b) in enumerate(zip(last, piece)) if i != dim):
            last[dim][1] = piece[dim][1]
        else:
            out.append([list(range_) for range_ in piece])
    return out


def check(path):
    """Compares the shards that JAX makes of LAYOUT with shards.json, which comes from the plan of the design; returns the names
    that differ and how many tensors there are."""
    with open(path, encoding="utf-8") as file:
        want = json.load(file)
    is_mesh = [list(zip(want["mesh"]["axes"], want["mesh"]["sizes"])), want["mesh"]["device_ids"]]
    if is_mesh != [list(AXES), ORDER]:
        raise ValueError("shards.json is for another mesh: export both files together")
    if len({tensor["name"] for tensor in want["tensors"]}) != WEIGHTS:
        raise ValueError(f"shards.json does not have the {WEIGHTS} weights of this design: export both files together")
    m = mesh()
    made = {}  # layers have the same
    wrong = []
    for tensor in want["tensors"]:
        shape = tuple(tensor["shape"])
        spec = spec_of(tensor["name"])
        key = (shape, entries_of(spec, len(shape)))
        if key not in made:
            try:
                indices = NamedSharding(m, spec).devices_indices_map(shape)
            except ValueError:  # a dim that does not divide, a mesh axis that is not there
                indices = {}
            made[key] = {d.id: joined([[s.indices(n)[:2] for s, n in zip(index, shape)]], None)
                         for d, index in indices.items()}
        expected = {}
        for shard in tensor["shards"]:
            expected.update(dict.fromkeys(shard["devices"], joined(shard["pieces"], shard["join_dim"])))
        if made[key] != expected:
            wrong.append(tensor["name"])
    return wrong, len(want["tensors"])


if __name__ == "__main__":
    wrong, total = check(os.path.join(os.path.dirname(os.path.abspath(__file__)), "shards.json"))
    print(f"{total - len(wrong)} of {total} tensors have the same shards in JAX")
    for name in wrong[:20]:
        print("differs:", ascii(name))
    sys.stdout.flush()
    os._exit(1 if wrong else 0)  # JAX takes minutes to put thousands of made-up devices away
