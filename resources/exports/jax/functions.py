def is_partial(spec):
    return bool(getattr(spec, "unreduced", None))


# JAX says terms of a sum of explicit axes alone.
AXIS_TYPE = AxisType.Explicit if any(is_partial(spec) for spec in LAYOUT.values()) else AxisType.Auto


def mesh(devices=None):
    """The device mesh, in exactly this device order (jax.make_mesh may reorder). `devices` may be those of a topology."""
    by_id = {d.id: d for d in (jax.devices() if devices is None else devices)}
    missing = [i for i in ORDER if i not in by_id]
    if missing:
        raise ValueError(f"this design needs device ids {missing[:8]}, but JAX has {len(by_id)} devices")
    grid = np.empty(len(ORDER), dtype=object)
    grid[:] = [by_id[i] for i in ORDER]
    return Mesh(grid.reshape([n for _, n in AXES]), tuple(a for a, _ in AXES), axis_types=(AXIS_TYPE,) * len(AXES))


def entries_of(spec, ndim):
    """What cuts each dim: None, the name of a mesh axis, or a tuple of names."""
    entries = tuple(getattr(spec, "partitions", spec))
    return entries + (None,) * (ndim - len(entries))


def with_terms(entries, spec):
    """A spec of these entries, partial as `spec` is."""
    kind = {"unreduced_kind": spec.unreduced_kind} if is_partial(spec) and hasattr(spec, "unreduced_kind") else {}
    return P(*entries, unreduced=spec.unreduced, **kind) if is_partial(spec) else P(*entries)


def axes_of(entry):
    return () if entry is None else (entry,) if isinstance(entry, str) else tuple(entry)


def parts_of(entry):
    """Into how many parts a dim is cut."""
    return int(np.prod([dict(AXES)[axis] for axis in axes_of(entry)], dtype=np.int64))


# --- Weights by their names in the checkpoint ---


def is_number(text):
    return re.fullmatch("[0-9]+", text) is not None


def is_there(pattern, numbers):
    """Whether the design has the layer, and the expert, of these numbers in place of the `*` of a pattern."""
    if len(numbers) != pattern.count("*"):
        return True
    of_expert = pattern in EXPERTS
    layer = numbers[0] if len(numbers) > of_expert else None
    expert = numbers[-1] if of_expert else None
    return (layer is None or layer < LAYERS) and (expert is None or expert < SHAPES[pattern][0])


def found(name):
    """The pattern of LAYOUT that a checkpoint name means, and whether it is one expert of a stacked weight; None when there is none."""
    if name in LAYOUT:
        return name, False
    parts = name.split(".")
    numbers = [i for i, part in enumerate(parts) if is_number(part)]
    for stars in [(i,) for i in numbers] + [(i, k) for i in numbers for k in numbers if i < k]:
        pattern = ".".join("*" if i in stars else part for i, part in enumerate(parts))
        if pattern in LAYOUT and is_there(pattern, [int(parts[i]) if is_number(parts[i]) else None for i in stars]):
            last = max(i for i, part in enumerate(pattern.split(".")) if part == "*")
            return pattern, pattern in EXPERTS and parts[last] != "*"
    return None


def without_experts(spec, name):
    """Spec of one expert, whose tensor lacks dim 0 of the stacked weight."""
    entries = entries_of(spec, 1)
    if parts_of(entries[0]) > 1:
        raise ValueError(f"{name!a}: its layer's experts are cut over {entries[0]!a}, so that a device has some of them and not "
                         "others, which no spec of one expert says: stack the experts on dim 0")
    return with_terms(entries[1:], spec)


def spec_of(name):
    """PartitionSpec of a weight by its checkpoint name; dims are those of the checkpoint, [out, in]."""
    known = found(name)
    if known is None:
        raise KeyError(f"the design says nothing about {name!a}")
    return without_experts(LAYOUT[known[0]], name) if known[1] else LAYOUT[known[0]]


# --- Leaves of trees ---

LEAVES = {"kernel": "weight", "embedding": "weight", "scale": "weight"}
BOXES = ("value", "raw_value")
STATES = ("opt_state", "mu", "nu", "trace", "v_row", "v_col")
BATCH = ("tokens", "input_ids", "inputs", "targets", "labels", "positions", "position_ids", "segment_ids", "attention_mask", "mask",
         "loss_mask", "inputs_position", "inputs_segmentation", "targets_position", "targets_segmentation", "targets_loss_mask")
INDEX = {}


def words_of(path):
    """`params/layers_0/mlp/kernel/value` as params, layers, 0, mlp, kernel."""
    words = []
    for part in re.split(r"[/.]", path):
        numbered = re.fullmatch(r"(.+)_([0-9]+|\*)", part)
        words += numbered.groups() if numbered else (part,)
    while len(words) > 1 and words[-1] in BOXES:
        words.pop()
    return words


def own_words(words):
    """What follows the collection or the optimizer's state that a parameter is in."""
    starts = [i + 1 for i, word in enumerate(words[:-1]) if word == "params" or word in STATES]
    return words[max(starts, default=0):]


def names_index():
    """(words, pattern, name in TREES or None) of all weights, by their last two words."""
    if not INDEX:
        for path, pattern in [(name, None) for name in TREES] + [(pattern, pattern) for pattern in LAYOUT]:
            words = own_words(words_of(path))
            INDEX.setdefault(tuple(words[-2:]), []).append((words, pattern, path if pattern is None else None))
    return INDEX


def aligned(words, leaf, stacked):
    """The numbers that a leaf has in place of the `*` of a known name, when it ends with that name or is its end; else None. Where a
    stacked one has no number, its place in the list is None."""
    numbers = []
    i, k = len(words) - 1, len(leaf) - 1
    while i >= 0 and k >= 0:
        if words[i] == "*" and is_number(leaf[k]):
            numbers.append(int(leaf[k]))
        elif words[i] == "*" and (leaf[k] == "*" or stacked and words[i - 1] == leaf[k]):
            numbers.append(None)
            k += leaf[k] != "*"
        elif words[i] != leaf[k]:
            return None
        i, k = i - 1, k - 1
    return None if i >= 0 and k >= 0 else numbers[::-1]


def matches(leaf):
    """Weights that a leaf may be, as (pattern, name in TREES, numbers): those whose whole name it has, the longest; or all that end so."""
    plain = leaf[:-1] + [LEAVES.get(leaf[-1], leaf[-1])]
    out = []
    for ending in dict.fromkeys((tuple(leaf[-2:]), tuple(plain[-2:]))):
        for words, pattern, tree in names_index().get(ending, ()):
            numbers = aligned(words, leaf if pattern is None else plain, pattern is not None)
            if numbers is not None:
                whole = len(leaf) + numbers.count(None) >= len(words)
                out.append(((whole, len(words) if whole else len(leaf)), pattern, tree, numbers))
    best = max((match[0] for match in out), default=None)
    return [match[1:] for match in out if match[0][0] == best[0]]


def groups_of(side):
    return [(a or b).split() for a, b in re.findall(r"\(([^()]*)\)|(\S+)", side)]


def shape_of(view, sizes):
    return tuple(int(np.prod([sizes[factor] for factor in group])) for group in groups_of(view.split("->")[1]))


def carried(spec, view, sizes):
    """A spec carried over a view, `(heads head_dim) in -> in heads head_dim`: a dim that is split is cut in its major part."""
    source, made = (groups_of(side) for side in view.split("->"))
    cut = {}
    for group, entry in zip(source, entries_of(spec, len(source))):
        i, left = 0, sizes[group[0]]
        for axis in axes_of(entry):
            while left == 1 and i + 1 < len(group):
                i, left = i + 1, sizes[group[i + 1]]
            if left % parts_of(axis):
                raise ValueError(f"{left} {group[i]} do not divide into the {parts_of(axis)} parts of {axis!a}")
            if parts_of(axis) > 1:
                cut[group[i]] = cut.get(group[i], ()) + (axis,)
                left //= parts_of(axis)
    entries = []
    for group in made:
        axes, whole = (), True  # whether what is cut so far goes down to single indices
        for factor in group:
            if factor in cut and not whole:
                raise ValueError(f"{factor} is cut, and lies inside of {group[0]}")
            axes += cut.get(factor, ())
            whole = whole and int(np.prod([parts_of(axis) for axis in cut.get(factor, ())])) == sizes[factor]
        entries.append(axes[0] if len(axes) == 1 else axes or None)
    while entries and entries[-1] is None:
        entries.pop()
    return with_terms(entries, spec)


def forms(pattern, leaf, layers, one_expert):
    """Views from the dims of a weight (with `layers` in front when they are stacked) to those that leaves have: a kernel is transposed,
    and dims of heads may be split."""
    dims = [(n,) if isinstance(n, int) else n for n in SHAPES[pattern]][1 if one_expert else 0:]
    order = list(range(len(dims)))
    if leaf == "kernel":
        order[-2:] = order[:-3:-1]
    for split in itertools.product(*([False, True] if len(dim) > 1 else [False] for dim in dims)):
        labels = [[f"heads{i}", f"head_dim{i}"] if split[i] else [f"dim{i}"] for i in range(len(dims))]
        sizes = {"layers": layers}
        for group, dim, apart in zip(labels, dims, split):
            sizes.update(zip(group, dim if apart else [int(np.prod(dim))]))
        first = ["layers"] if layers else []
        source = first + ["(" + " ".join(group) + ")" for group in labels]
        yield " ".join(source) + " -> " + " ".join(first + [label for i in order for label in labels[i]]), sizes


class Place:
    """A leaf that was found: a name in LAYOUT, and how its specs are carried over to the leaf's dims."""

    def __init__(self, key, pattern, shape, view=None, sizes=None, one_expert=False):
        self.key, self.pattern, self.shape, self.view, self.sizes, self.one_expert = key, pattern, shape, view, sizes, one_expert

    def carry(self, spec):
        if self.one_expert:
            spec = without_experts(spec, self.key)
        if self.view is None:
            return spec
        if self.view.startswith("layers "):
            spec = with_terms((None, *entries_of(spec, 0)), spec)
        try:
            return carried(spec, self.view, self.sizes)
        except ValueError as problem:
            raise ValueError(f"{self.key!a} with shape {self.shape}: {problem}") from None

    def spec(self, table=None):
        spec = LAYOUT[self.pattern]
        spec = spec if table is None else table.get(self.pattern, spec)
        return None if spec is None else self.carry(spec)

    def gradients(self):
        return [self.carry(spec) for spec in GRADIENTS.get(self.pattern, [LAYOUT[self.pattern]])]

    def said(self):
        """All that is said of the leaf."""
        return self.spec(), self.spec(USED), self.spec(OPTIMIZER), self.gradients()


def layers_alike(pattern, layers):
    """The pattern that says a weight of these layers; ValueError when the design lays them out differently."""
    names = [pattern.replace("*", str(layer), 1) for layer in layers] if pattern not in LAYOUT else [pattern]
    names = [name if name in LAYOUT else (found(name) or (None,))[0] for name in names]
    said = [[table.get(name) for table in (LAYOUT, USED, GRADIENTS, OPTIMIZER)] for name in names]
    if not names:
        raise ValueError("is of one of several layers: give the path to it, with at=")
    if None in names or any(one != said[0] for one in said):
        raise ValueError("stacks layers that the design lays out differently")
    return names[0]


def places(key, problems):
    """What the leaf at a path may be, one by one; `problems` gets why something that is called so cannot be it."""
    for pattern, tree, numbers in matches(own_words(words_of(key))):
        if tree is not None:
            name, view, sizes, first, step = TREES[tree]
            number = next((n for n in numbers if n is not None), None)
            layers = range(first, first + step * sizes.get("layers", 0), step) if number is None else [first + step * number]
            if number is not None and layers[0] >= LAYERS:
                continue
            try:
                yield Place(key, layers_alike(name, layers), shape_of(view, sizes), view, sizes)
            except ValueError as problem:
                problems.append(f"{key!a} {problem}")
            continue
        if not is_there(pattern, numbers):
            continue
        one_expert = pattern in EXPERTS and numbers[-1:] != [None] and bool(numbers)
        in_layer = pattern.count("*") > (pattern in EXPERTS)
        stacked = in_layer and len(numbers) == pattern.count("*") and numbers[0] is None
        for view, sizes in forms(pattern, own_words(words_of(key))[-1], LAYERS if stacked else 0, one_expert):
            yield Place(key, pattern, shape_of(view, sizes), view, sizes, one_expert)


def place(key, shape=None, ndim=None):
    """The weight that the leaf at a path is, of that shape, or of so many dims. KeyError where there is none; ValueError where the shape
    differs, where the layout cannot be said of it, or where several weights are called so and lie differently."""
    problems = []
    all_places = list(places(key, problems))
    fitting = [p for p in all_places if (p.shape == tuple(shape) if shape is not None else len(p.shape) == ndim)]
    if not all_places and problems:
        raise ValueError(problems[0])
    if not all_places:
        raise KeyError(f"the design says nothing about {key!a}")
    if not fitting:
        has = f"shape {tuple(shape)}" if shape is not None else f"{ndim} dims"
        shapes = " or ".join(str(s) for s in dict.fromkeys(p.shape for p in all_places))
        raise ValueError(f"{key!a} has {has}, and in the design {shapes}")
    if len({ascii(p.said()) for p in fitting}) > 1:
        raise ValueError(f"{key!a} may be {' or '.join(ascii(p.pattern) for p in fitting[:4])}, which lie differently: give more of its path")
    return fitting[0]


def spec_of_leaf(key, shape):
    """PartitionSpec of a leaf of a tree of parameters by its path and shape (or number of dims). A kernel [in, out], [in, heads, head_dim]
    or [heads, head_dim, out] is the checkpoint's weight transposed."""
    return place(key, ndim=shape).spec() if isinstance(shape, int) else place(key, shape).spec()


def is_state(words):
    return any(word in STATES for word in words[:-2])


def leaves_of(tree):
    return [(jax.tree_util.keystr(path, simple=True, separator="/"), leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)]


def problem_text(problems):
    most = 40
    more = [f"and {len(problems) - most} more"] if len(problems) > most else []
    return "these leaves do not fit the design:\n  " + "\n  ".join(problems[:most] + more)


def mapped(tree, act):
    """A tree of act(key, leaf); what does not fit is one error that names all."""
    problems = []

    def each(path, leaf):
        try:
            return act(jax.tree_util.keystr(path, simple=True, separator="/"), leaf)
        except (KeyError, ValueError) as problem:
            problems.append(str(problem.args[0]))
            return None
    out = jax.tree_util.tree_map_with_path(each, tree)
    if problems:
        raise ValueError(problem_text(problems))
    return out


def shardings(tree, m, rest=None):
    """A tree of NamedSharding like `tree`, whose leaves are arrays or shapes: parameters by checkpoint, Flax, nnx or MaxText names, optimizer
    states of them (laid out as the optimizer works), a TrainState, a batch. Single numbers are on every device. `rest` is the
    PartitionSpec of leaves that the design does not know, and of states of other shapes (Adafactor's rows and columns); without it
    they are an error."""
    def pick(key, leaf):
        words = words_of(key)
        shape = tuple(leaf.shape)
        if not shape or is_state(words) and shape == (1,):  # Adafactor's, where it keeps no rows and columns
            return NamedSharding(m, P())
        try:
            return NamedSharding(m, place(key, shape).spec(OPTIMIZER if is_state(words) else None))
        except KeyError:
            if words[-1] in BATCH and INPUTS:
                return NamedSharding(m, batch_spec(key, shape))
            if rest is None:
                raise
            return NamedSharding(m, rest)
        except ValueError:
            if rest is None or not is_state(words):
                raise
            return NamedSharding(m, rest)
    return mapped(tree, pick)


def put(tree, m, rest=None):
    """The arrays of `tree` on the devices, as shardings() says. Of what is partial over mesh axes, which jax.device_put does not make, the
    first device along them has the values and the others have zeros (of a maximum or minimum: the values too), so that it is what it was."""
    def placed(array, sharding):
        if not is_partial(sharding.spec):
            return jax.device_put(array, sharding)
        array = np.asarray(array)
        whole = NamedSharding(m, P(*entries_of(sharding.spec, array.ndim)))
        sums = str(getattr(sharding.spec, "unreduced_kind", None) or "sum").endswith("sum")
        along = [axis for axis, _ in AXES].index
        terms = {m.devices[at].id: sums and any(at[along(axis)] for axis in sharding.spec.unreduced) for at in np.ndindex(m.devices.shape)}
        parts = [jax.device_put(np.zeros_like(array[index]) if terms[device.id] else array[index], device)
                 for device, index in whole.addressable_devices_indices_map(array.shape).items()]
        return jax.make_array_from_single_device_arrays(array.shape, sharding, parts)
    return jax.tree.map(placed, tree, shardings(tree, m, rest))


def batch_spec(key, shape):
    """Of an input [batch, sequence, ...], as the design's tokens (or its own entry in INPUTS) are."""
    spec = INPUTS.get(words_of(key)[-1], next(iter(INPUTS.values())))
    entries = entries_of(spec, len(shape))[:len(shape)]
    for i, (size, entry) in enumerate(zip(shape, entries)):
        if size % parts_of(entry):
            raise ValueError(f"{key!a} has shape {shape}: dim {i} does not divide into the {parts_of(entry)} parts of {entry!a}")
    return P(*entries)


def batch_shardings(batch, m):
    """A tree of NamedSharding like `batch`, whose leaves are [batch, sequence] (or [batch]): tokens, targets, positions, masks."""
    return mapped(batch, lambda key, leaf: NamedSharding(m, batch_spec(key, tuple(leaf.shape)) if leaf.shape else P()))


# --- Inside of a program ---


def laid(x, spec, m):
    """`x` laid out so. Inside of jit the devices are those of the arguments."""
    if m is None:
        names, sizes = tuple(a for a, _ in AXES), tuple(n for _, n in AXES)
        inside = isinstance(x, jax.core.Tracer)
        m = AbstractMesh(sizes, names, axis_types=(AXIS_TYPE,) * len(AXES)) if inside else mesh()
    return jax.lax.with_sharding_constraint(x, NamedSharding(m, spec))


def through(x, forward, gradient, m, kept=None, name=None):
    """`x` laid out in each of `forward`, one after the other, and its gradient in each of `gradient`."""
    def run(x):
        for i, spec in enumerate(forward):
            x = laid(x, spec, m)
            if kept is not None and spec == kept:
                x = checkpoint_name(x, name)
                # Or what is kept would lie as the next operation takes it, gathered.
                x = laid(x, spec, m) if i + 1 < len(forward) else x
        return x

    def back(_, g):
        for spec in gradient:
            g = laid(g, spec, m)
        return (g,)

    f = jax.custom_vjp(run)
    f.defvjp(lambda x: (run(x), None), back)
    return f(x)


def activations():
    """Names for constrain(), in program order, with the dims that they have: {"mlp in": ("batch", "sequence", "hidden"), ...}."""
    return {name: dims for name, (dims, _, _) in ACTIVATIONS.items()}


def activation_key(name, layer):
    if name in ACTIVATIONS:
        return name
    keys = [key for key in ACTIVATIONS if key.endswith("/" + name)]
    for segment, first, count in SEGMENTS:
        if layer is not None and first <= layer < first + count and segment + "/" + name in keys:
            return segment + "/" + name
    if keys:
        raise KeyError(f"layers have {name!a} in different layouts: give layer=, or one of {', '.join(ascii(key) for key in keys)}")
    raise KeyError(f"the plan has no activation {name!a}; it has {', '.join(ascii(key) for key in ACTIVATIONS)}")


def constrain(name, x, m=None, dims=None, layer=None):
    """`x` laid out as the plan lays out the activation of that name, as it is made and then as operations take it; its gradient, too. The
    dims are those of activations()[name], or in another order `dims`, e.g. ("batch", "heads", "sequence", "head dim"). `layer` is
    the layer's number, where layers differ. `m` is needed outside of jit alone, where it is another mesh than mesh()."""
    key = activation_key(name, layer)
    own, forward, gradient = ACTIVATIONS[key]
    dims = own if dims is None else tuple(dims)
    if sorted(dims) != sorted(own) or x.ndim != len(own):
        raise ValueError(f"{name!a} has the dims {own}, and this value {dims if sorted(dims) != sorted(own) else x.shape}")

    def turned(spec):
        entries = dict(zip(own, entries_of(spec, len(own))))
        return P(*(entries[dim] for dim in dims))
    kept = KEPT.get(key)
    return through(x, [turned(s) for s in forward], [turned(s) for s in gradient], m, None if kept is None else turned(kept), key)


def use(tree, m=None, at=""):
    """Weights as operations take them: what FSDP has cut is gathered, and gradients go to where the plan sums them. `tree` holds weights by
    the names that shardings() knows, all of a model or those of one layer; `at` is the path at which it hangs, where its own
    paths do not say it ("layers/3", say)."""
    def found_at(key, leaf):
        weight = place(at + "/" + key if at and key else at or key, tuple(leaf.shape))
        return weight.spec(USED), weight.gradients() if TRAINING else []
    said = mapped(tree, found_at)
    return jax.tree.map(lambda leaf, both: through(leaf, [] if both[0] is None else [both[0]], both[1], m), tree, said)


def policy(primitive, *arguments, **parameters):
    """Of jax.checkpoint: what the plan keeps for the backward pass, and products with weights unless it recomputes more."""
    if primitive.name == "name":
        return parameters["name"] in KEPT
    return RECOMPUTE == "none" and jax.checkpoint_policies.dots_with_no_batch_dims_saveable(primitive, *arguments, **parameters)


def checkpoint(function, **options):
    """jax.checkpoint with policy(): values are kept as constrain() names them; gathers, and what the plan recomputes, are made again."""
    return jax.checkpoint(function, policy=policy, **options) if TRAINING else function


# --- The check ---


class Numbered:
    """A device that is a number alone: JAX says which part of an array it would hold, and no array is put on it."""

    def __init__(self, i):
        self.id, self.process_index, self.platform, self.device_kind, self.client = i, 0, "cpu", "cpu", None

    def __repr__(self):
        return f"device {self.id}"


def checked_mesh():
    """The mesh of the devices that are there; of numbered ones where too many would have to be simulated."""
    there = {d.id for d in jax.devices()}
    return mesh() if max(ORDER) < MOST_SIMULATED or there.issuperset(ORDER) else mesh([Numbered(i) for i in ORDER])


def same_terms(spec, partial):
    """Whether a spec is partial as shards.json says."""
    if not is_partial(spec) or partial is None:
        return not is_partial(spec) and partial is None
    op = str(getattr(spec, "unreduced_kind", "sum")).rpartition(".")[2]
    return sorted(spec.unreduced) == sorted(partial["axes"]) and op == partial["op"]


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
    m = checked_mesh()
    made = {}  # layers have the same
    wrong = []
    for tensor in want["tensors"]:
        shape = tuple(tensor["shape"])
        spec = spec_of(tensor["name"])
        entries = entries_of(spec, len(shape))
        key = (shape, entries)
        if key not in made:
            try:
                indices = NamedSharding(m, P(*entries)).devices_indices_map(shape)
            except ValueError:  # a dim that does not divide, a mesh axis that is not there
                indices = {}
            made[key] = {d.id: joined([[s.indices(n)[:2] for s, n in zip(index, shape)]], None)
                         for d, index in indices.items()}
        expected = {}
        for shard in tensor["shards"]:
            expected.update(dict.fromkeys(shard["devices"], joined(shard["pieces"], shard["join_dim"])))
        if made[key] != expected or not same_terms(NamedSharding(m, spec).spec, tensor.get("partial")):
            wrong.append(tensor["name"])
    return wrong, len(want["tensors"])


if __name__ == "__main__":
    wrong, total = check(os.path.join(os.path.dirname(os.path.abspath(__file__)), "shards.json"))
    for name in wrong[:20]:
        print("differs:", ascii(name))
    print(f"{total - len(wrong)} of {total} tensors have the same shards in JAX {jax.__version__}")
    sys.stdout.flush()
    os._exit(1 if wrong else 0)  # JAX takes minutes to put thousands of made-up devices away
