#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports designs with shardctl and has the real JAX make the shards: they have to be those of shards.json, which comes from the plan.

Ends with 0 when all are, 1 when one is not, 77 where Python has no JAX (SHARDBOARD_JAX_PYTHON names another Python).
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile

import samples
from samples import run

samples.run_by("SHARDBOARD_JAX_PYTHON")

DEVICES = 64
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
try:
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec as P
except ImportError as problem:
    print(f"skipped: this Python has no JAX ({problem}); SHARDBOARD_JAX_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)
try:
    import flax.linen as nn
    import optax
    from flax import nnx
    from flax.training.train_state import TrainState
except ImportError:
    nn = None

# Beside the samples: model, mesh, preset, and what else `shardctl new` is told.
EXPORTED = [
    ("llama3-8b", "data=2,model=4", "replicate", []),
    ("llama3-70b", "data=2,fsdp=8", "hsdp", []),
    ("qwen3-4b", "fsdp=2,tensor=8", "tp-sp+fsdp", []),
    ("mixtral-8x7b", "fsdp=2,expert=4", "ep", []),
    ("deepseek2-16b", "data=2,fsdp=2,expert=4,tensor=2", "ep+tp", []),
    ("gpt-oss-20b", "expert=4,tensor=4", "ep+tp", []),
    ("llama3-8b", "context=4,fsdp=2", "cp-ring", []),
    ("llama3-8b", "data=2,model=4", "megatron-tp", ["--workload", "train", "--shard-optimizer", "data", "--recompute", "full"]),
]
# Why the export is refused.
REFUSED = [
    ("qwen2.5-7b", "data=2,model=8", "megatron-tp", [], "model.layers.*.self_attn"),
    ("tinyllama-1.1b", "model=3", "megatron-tp", [], "does not divide|equal parts"),
    ("llama3-8b", "stage=4,model=2", "pp-1f1b", ["--workload", "train", "--micro-batches", "4"], "pipeline"),
]


# For --all: of every built-in model.
MESHES = ["data=2,model=8", "fsdp=3,expert=2,tensor=3", "tensor=2,stage=2,context=2,fsdp=2,expert=2"]
PRESETS = ["replicate", "megatron-tp", "tp-sp", "fsdp", "hsdp", "tp+fsdp", "tp-sp+fsdp", "ep", "ep+tp", "cp-ring", "cp-all-gather", "cp-ulysses",
           "pp-1f1b", "pp-interleaved"]


def shuffled(design):
    """Another device order, whose ids are not those of positions."""
    count = int(np.prod(design["mesh"]["sizes"]))
    design["mesh"]["device_ids"] = [(i * 5 + 3) % 32 for i in range(count)]


def crossed(design):
    """Axes on a dim in another order than in the mesh, which changes what shards hold and not their shapes."""
    design["strategies"] += [
        {"match": "*.mlp.up_proj.weight", "strategy": "spec", "spec": "P(('model','data'))"},
        {"match": "*.mlp.down_proj.weight", "strategy": "spec", "spec": "P('model','data')"},
        {"match": "*embed_tokens.weight", "strategy": "spec", "spec": "P(None,('model','data'))"},
    ]


EDITED = [
    ("llama3-8b", "data=2,model=4", "megatron-tp", [shuffled]),
    ("llama3-8b", "data=4,model=2", "megatron-tp", [crossed]),
    ("qwen3-0.6b", "data=4,model=4", "megatron-tp", [crossed, shuffled]),
]


class Arrays:
    """What devices really hold: of each dim alone, as an array that says its own indices."""

    def __init__(self, mesh):
        self.mesh = mesh
        self.known = {}

    def ranges(self, size, entry):
        if (size, entry) not in self.known:
            array = jax.device_put(np.arange(size, dtype=np.int32), NamedSharding(self.mesh, P(entry)))
            held = {}
            for shard in array.addressable_shards:
                data = np.asarray(shard.data)
                assert (np.diff(data) == 1).all()
                held[shard.device.id] = [int(data[0]), int(data[-1]) + 1]
            self.known[size, entry] = held
        return self.known[size, entry]


def differing(module, proof):
    """Names of the tensors of which a device holds other elements than shards.json says."""
    arrays = Arrays(module.mesh())
    wrong = []
    for tensor in proof["tensors"]:
        shape = tensor["shape"]
        entries = module.entries_of(module.spec_of(tensor["name"]), len(shape))
        told = {device: shard["pieces"] for shard in tensor["shards"] for device in shard["devices"]}
        held = {device: [[arrays.ranges(n, e)[device] for n, e in zip(shape, entries)]] for device in told}
        if held != told or len(told) != len(module.ORDER):
            wrong.append(tensor["name"])
    return wrong


def check_export(shardctl, folder, path):
    export = run(shardctl, "export", path, "--to", "jax", "-o", folder)
    assert export.returncode == 0, export.stderr
    module = samples.module(folder, "export")
    proof_path = os.path.join(folder, "shards.json")
    with open(proof_path, encoding="utf-8") as file:
        proof = json.load(file)
    wrong, total = module.check(proof_path)
    assert not wrong, f"its own check: {wrong[:3]}"
    wrong = differing(module, proof)
    assert not wrong, f"real arrays: {wrong[:3]}"
    return module, proof, total


def check_that_breaks_are_found(module, proof, folder):
    """A check that finds nothing wrong with a wrong layout would be none."""
    proof_path = os.path.join(folder, "shards.json")
    pattern, spec = next((p, s) for p, s in module.LAYOUT.items() if any(module.entries_of(s, 1)))
    module.LAYOUT[pattern] = P()
    assert module.check(proof_path)[0] and differing(module, proof), "a weight that is whole in place of cut"
    module.LAYOUT[pattern] = P(None, *tuple(module.entries_of(spec, 1))[:1])
    assert module.check(proof_path)[0], "a weight that is cut on another dim"
    module.LAYOUT[pattern] = spec
    order = list(module.ORDER)
    module.ORDER[:] = order[1:] + order[:1]
    try:
        found = bool(module.check(proof_path)[0])
    except ValueError:
        found = True
    assert found and differing(module, proof), "another device order"
    module.ORDER[:] = order
    assert not module.check(proof_path)[0]
    script = os.path.join(folder, "export.py")
    environment = {key: value for key, value in os.environ.items() if key not in ("JAX_PLATFORMS", "XLA_FLAGS")}

    def runs():
        return subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, env=environment)

    good = runs()
    assert good.returncode == 0 and "tensors have the same shards" in good.stdout, good.stdout + good.stderr
    proof["tensors"][-1]["shards"][0]["pieces"][0][0][1] -= 1
    with open(proof_path, "w", encoding="utf-8") as file:
        json.dump(proof, file)
    bad = runs()
    assert bad.returncode == 1 and "differs:" in bad.stdout, bad.stdout + bad.stderr


# --- Trees of parameters ---

LAYERS, HIDDEN, INTERMEDIATE, HEADS, KV_HEADS, HEAD_DIM, VOCABULARY = 2, 64, 96, 16, 8, 8, 128


def small(document):
    document["model"].update(num_hidden_layers=LAYERS, hidden_size=HIDDEN, intermediate_size=INTERMEDIATE, num_attention_heads=HEADS,
                             num_key_value_heads=KV_HEADS, head_dim=HEAD_DIM, vocab_size=VOCABULARY)


def numbered(proof):
    """Weights of the checkpoint in which every element is another number."""
    out, start = {}, 0
    for tensor in proof["tensors"]:
        count = int(np.prod(tensor["shape"]))
        out[tensor["name"]] = np.arange(start, start + count, dtype=np.int32).reshape(tensor["shape"])
        start += count
    return out


def held(array):
    return {shard.device.id: set(np.asarray(shard.data).ravel().tolist()) for shard in array.addressable_shards}


def planned(proof, weights):
    """Elements on each device, by weight, as shards.json says."""
    out = {}
    for tensor in proof["tensors"]:
        for device, pieces in samples.by_device(tensor).items():
            out.setdefault(tensor["name"], {})[device] = {
                int(n) for piece in pieces for n in weights[tensor["name"]][tuple(slice(lo, hi) for lo, hi in piece)].ravel()}
    return out


def checkpoint_array(path, shape, weights):
    """The checkpoint's weight as the leaf at a path of a Flax tree has it, and the weights that it is made of."""
    parts = [part for part in path.replace("layers_", "layers/").split("/") if part not in ("params", "model", "value")]
    leaf = {"kernel": "weight", "embedding": "weight", "scale": "weight"}[parts[-1]]
    stem = ".".join(parts[:-1] + [leaf])

    def one(name):
        array = weights[name if name in weights else "model." + name]
        return array.T if parts[-1] == "kernel" else array
    if parts[0] == "layers" and not parts[1].isdigit():
        names = [stem.replace("layers", f"model.layers.{i}") for i in range(LAYERS)]
        return np.stack([one(name) for name in names]).reshape(shape), names
    name = stem if stem in weights else "model." + stem
    return one(name).reshape(shape), [name]


def check_tree(export, tree, expected, weights):
    """Puts a tree of the framework on the devices, filled with the checkpoint's numbers; how many leaves hold what they should."""
    m = export.mesh()
    shardings = jax.tree.leaves(export.shardings(tree, m))
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    assert len(leaves) == len(shardings) > 0
    for (path, leaf), sharding in zip(leaves, shardings):
        key = jax.tree_util.keystr(path, simple=True, separator="/")
        array, names = checkpoint_array(key, leaf.shape, weights)
        want = {device: set().union(*(expected[name][device] for name in names)) for device in export.ORDER}
        assert held(jax.device_put(array, sharding)) == want, f"{key} holds other elements than {names}"
    return len(leaves)


def linen_model(general, scanned):
    class Norm(nn.Module):
        @nn.compact
        def __call__(self, x):
            return x * self.param("scale", nn.initializers.ones, (x.shape[-1],))

    def dense(shape, name):
        return nn.DenseGeneral(shape, use_bias=False, name=name)

    class Attention(nn.Module):
        @nn.compact
        def __call__(self, x):
            q, k, v = (dense((n, HEAD_DIM) if general else n * HEAD_DIM, name)(x)
                       for n, name in ((HEADS, "q_proj"), (KV_HEADS, "k_proj"), (KV_HEADS, "v_proj")))
            return nn.DenseGeneral(HIDDEN, axis=(-2, -1) if general else -1, use_bias=False, name="o_proj")(q)

    class Mlp(nn.Module):
        @nn.compact
        def __call__(self, x):
            return dense(HIDDEN, "down_proj")(dense(INTERMEDIATE, "gate_proj")(x) * dense(INTERMEDIATE, "up_proj")(x))

    class Layer(nn.Module):
        @nn.compact
        def __call__(self, x, _=None):
            x = x + Attention(name="self_attn")(Norm(name="input_layernorm")(x))
            return x + Mlp(name="mlp")(Norm(name="post_attention_layernorm")(x)), None

    class Model(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(VOCABULARY, HIDDEN, name="embed_tokens")(tokens)
            if scanned:
                x, _ = nn.scan(Layer, variable_axes={"params": 0}, split_rngs={"params": True}, length=LAYERS)(name="layers")(x, None)
            else:
                for i in range(LAYERS):
                    x, _ = Layer(name=f"layers_{i}")(x)
            return dense(VOCABULARY, "lm_head")(Norm(name="norm")(x))
    return jax.eval_shape(lambda: Model().init(jax.random.key(0), jnp.zeros((1, 4), jnp.int32)))


def nnx_model():
    class Attention(nnx.Module):
        def __init__(self, rngs):
            for name, heads in (("q_proj", HEADS), ("k_proj", KV_HEADS), ("v_proj", KV_HEADS)):
                setattr(self, name, nnx.LinearGeneral(HIDDEN, (heads, HEAD_DIM), use_bias=False, rngs=rngs))
            self.o_proj = nnx.LinearGeneral((HEADS, HEAD_DIM), HIDDEN, axis=(-2, -1), use_bias=False, rngs=rngs)

    class Layer(nnx.Module):
        def __init__(self, rngs):
            self.input_layernorm = nnx.RMSNorm(HIDDEN, rngs=rngs)
            self.self_attn = Attention(rngs)

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.embed_tokens = nnx.Embed(VOCABULARY, HIDDEN, rngs=rngs)
            for i in range(LAYERS):
                setattr(self, f"layers_{i}", Layer(rngs))
            self.lm_head = nnx.Linear(HIDDEN, VOCABULARY, use_bias=False, rngs=rngs)
    return nnx.eval_shape(lambda: Model(nnx.Rngs(0)))


def maxtext_tree(export, proof, scanned):
    """MaxText's parameters by the documents of MaxText: names, and how they are made of the checkpoint's."""
    weights = numbered(proof)
    stack = (lambda arrays: np.stack(arrays, axis=1)) if scanned else None

    def layers(make):
        return [make(f"model.layers.{i}.") for i in range(LAYERS)]

    def kernel(name, *dims):
        return lambda at: weights[at + name].T.reshape(dims or weights[at + name].T.shape)
    parameters = {
        "self_attention/query/kernel": kernel("self_attn.q_proj.weight", HIDDEN, HEADS, HEAD_DIM),
        "self_attention/key/kernel": kernel("self_attn.k_proj.weight", HIDDEN, KV_HEADS, HEAD_DIM),
        "self_attention/value/kernel": kernel("self_attn.v_proj.weight", HIDDEN, KV_HEADS, HEAD_DIM),
        "self_attention/out/kernel": kernel("self_attn.o_proj.weight", HEADS, HEAD_DIM, HIDDEN),
        "mlp/wi_0/kernel": kernel("mlp.gate_proj.weight"), "mlp/wi_1/kernel": kernel("mlp.up_proj.weight"),
        "mlp/wo/kernel": kernel("mlp.down_proj.weight"),
        "pre_self_attention_layer_norm/scale": lambda at: weights[at + "input_layernorm.weight"],
    }
    checkpoint = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj",
                  "mlp.down_proj", "input_layernorm"]
    out = {"params/params/token_embedder/embedding": (weights["model.embed_tokens.weight"], ["model.embed_tokens.weight"]),
           "params/params/decoder/logits_dense/kernel": (weights["lm_head.weight"].T, ["lm_head.weight"])}
    for (name, make), source in zip(parameters.items(), checkpoint):
        names = [f"model.layers.{i}.{source}.weight" for i in range(LAYERS)]
        if scanned:
            out["params/params/decoder/layers/" + name] = stack(layers(make)), names
        else:
            out.update({f"params/params/decoder/layers_{i}/{name}": (array, names[i:i + 1]) for i, array in enumerate(layers(make))})
    return out


def nested(flat):
    out = {}
    for path, value in flat.items():
        *parents, last = path.split("/")
        at = out
        for parent in parents:
            at = at.setdefault(parent, {})
        at[last] = value
    return out


def check_trees(shardctl, folder, preset, mesh):
    path = samples.changed(samples.designed(shardctl, folder, "llama3-8b", mesh, preset, ["--workload", "train"]), small)
    export, proof, _ = check_export(shardctl, folder, path)
    weights = numbered(proof)
    expected = planned(proof, weights)
    m = export.mesh()
    count = 0
    for scanned in (False, True):
        made = maxtext_tree(export, proof, scanned)
        shardings = export.shardings(nested({key: array for key, (array, _) in made.items()}), m)
        for path, sharding in jax.tree_util.tree_leaves_with_path(shardings):
            key = jax.tree_util.keystr(path, simple=True, separator="/")
            array, names = made[key]
            want = {device: set().union(*(expected[name][device] for name in names)) for device in export.ORDER}
            assert held(jax.device_put(array, sharding)) == want, f"{key} holds other elements than {names}"
            count += 1
    batch = {name: jnp.zeros((16, 64), jnp.int32) for name in ("input_ids", "labels", "attention_mask", "positions")}
    first = export.entries_of(next(iter(export.INPUTS.values())), 2)
    for tree in (export.shardings(batch, m), export.batch_shardings(batch, m)):
        assert all(export.entries_of(s.spec, 2) == first for s in tree.values())
    if nn is None:
        return count
    for general, scanned in itertools.product((False, True), repeat=2):
        count += check_tree(export, linen_model(general, scanned), expected, weights)
    model = nnx_model()
    count += check_tree(export, nnx.state(model, nnx.Param), expected, weights)
    params = linen_model(True, False)["params"]
    transform = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    state = jax.eval_shape(lambda p: TrainState.create(apply_fn=None, params=p, tx=transform), params)
    laid = export.shardings(state, m)
    assert jax.tree.leaves(laid.params) == jax.tree.leaves(export.shardings(params, m))
    assert jax.tree.leaves(laid.opt_state[1][0].mu) == jax.tree.leaves(laid.params)  # without ZeRO as the weights
    assert laid.opt_state[1][0].count.spec == P() and laid.step.spec == P()
    assert jax.tree.leaves(export.shardings(jax.eval_shape(transform.init, params), m)) == jax.tree.leaves(laid.opt_state)
    factored = jax.eval_shape(optax.adafactor(1e-3).init, params)
    rows = export.shardings(factored, m, rest=P())
    assert len(jax.tree.leaves(rows)) == len(jax.tree.leaves(factored))
    wrong = {"params": {"layers_0": {"mlp": {"up_proj": {"kernel": np.zeros((HIDDEN, INTERMEDIATE + 1))}, "new_proj": {"kernel": np.zeros((2, 2))}}}}}
    wrong["params"]["layers_99"] = {"mlp": {"up_proj": {"kernel": np.zeros((HIDDEN, INTERMEDIATE))}}}
    try:
        export.shardings(wrong, m)
        raise AssertionError("an unknown parameter was laid out")
    except ValueError as problem:
        assert "mlp/new_proj/kernel" in str(problem) and "layers_99/mlp/up_proj/kernel" in str(problem) and f"({HIDDEN}, {INTERMEDIATE + 1})" in str(problem), problem
    return count + len(jax.tree.leaves(state))


def check_zero(shardctl, folder):
    """States of the optimizer are cut further where the design says so, by the same elements as ZeRO's parts."""
    path = samples.changed(samples.designed(shardctl, folder, "llama3-8b", "data=2,model=4", "megatron-tp",
                                            ["--workload", "train", "--shard-optimizer", "data"]), small)
    export, proof, _ = check_export(shardctl, folder, path)
    shapes = {tensor["name"]: jax.ShapeDtypeStruct(tuple(tensor["shape"]), jnp.float32) for tensor in proof["tensors"]}
    laid = export.shardings({"params": shapes, "opt_state": {"mu": shapes}}, export.mesh())
    for name, shape in shapes.items():
        weight, state = (int(np.prod(tree[name].shard_shape(shape.shape))) for tree in (laid["params"], laid["opt_state"]["mu"]))
        assert state * 2 == weight, f"{name}: {state} elements of {weight}"
    return len(shapes)


def check_experts(shardctl, folder, preset, mesh):
    """One expert of a checkpoint: its own spec, or an error where experts are cut over devices."""
    path = samples.designed(shardctl, folder, "mixtral-8x7b", mesh, preset)
    export, proof, _ = check_export(shardctl, folder, path)
    count = 0
    for tensor in proof["tensors"]:
        if ".experts." not in tensor["name"] or ".layers.0." not in tensor["name"]:
            continue
        name = tensor["name"].replace("*", "3")
        shape = jax.ShapeDtypeStruct(tuple(tensor["shape"][1:]), jnp.float32)
        over_experts = len({tuple(pieces[0][0]) for pieces in samples.by_device(tensor).values()}) > 1
        try:
            spec = export.shardings({name: shape}, export.mesh())[name].spec
            assert not over_experts, f"{name} was laid out, but experts are cut"
            assert export.entries_of(spec, 2) == export.entries_of(export.spec_of(tensor["name"]), 3)[1:]
        except ValueError as problem:
            assert over_experts and "stack the experts" in str(problem), problem
        count += 1
    assert count == 3
    return count


def check_loose(shardctl, folder, shape, mesh, spec, **options):
    """One tensor: refused, or every device holds the elements that shards.json says."""
    refused = samples.export(shardctl, samples.loose(folder, shape, mesh, spec, **options), "jax", folder)
    if refused:
        return refused
    export, proof = samples.module(folder, "export"), samples.shards(folder)
    weights = numbered(proof)
    m = export.mesh()
    partial = proof["tensors"][0].get("partial")
    array = export.put(weights, m)["w"]
    assert array.sharding == NamedSharding(m, export.spec_of("w")), array.sharding
    assert partial is None or export.spec_of("w").unreduced == set(partial["axes"]), export.spec_of("w")
    if partial is not None:  # JAX adds the terms up
        assert len({np.asarray(shard.data).sum() for shard in array.addressable_shards}) > 1, "every device has the same"
        with jax.set_mesh(m):
            array = jax.reshard(array, P(*export.entries_of(export.spec_of("w"), len(shape))))
    got = {shard.device.id: np.asarray(shard.data).tolist() for shard in array.addressable_shards}
    for device, pieces in samples.by_device(proof["tensors"][0]).items():
        part, = (weights["w"][tuple(slice(lo, hi) for lo, hi in piece)].tolist() for piece in pieces)
        assert got[device] == part, f"device {device} holds {got[device]}"
    return samples.own_check(folder, "export.py")


def check_all(shardctl):
    """Every built-in model under every preset on every mesh: the export is refused, or equal in JAX."""
    models = [model["name"] for model in json.loads(run(shardctl, "models", "--json").stdout)["models"]]
    equal = refused = senseless = failed = 0
    for model in models:
        for preset in PRESETS:
            for mesh in MESHES:
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "d.shardboard")
                    new = run(shardctl, "new", "--model", model, "--mesh", mesh, "--preset", preset, "--batch", 96, "--sequence", 64, "-o", path)
                    if new.returncode != 0:
                        senseless += 1
                        continue
                    export = run(shardctl, "export", path, "--to", "jax", "-o", folder)
                    if export.returncode == 3:
                        refused += 1
                        continue
                    try:
                        check_export(shardctl, folder, path)
                        equal += 1
                    except AssertionError as problem:
                        failed += 1
                        print(f"{model} {preset} on {mesh}: FAILED: {problem}", flush=True)
        print(f"{model}: so far {equal} exports are equal in JAX, {refused} are refused", flush=True)
    print(f"{equal} exports are equal in JAX, {refused} are refused, {failed} differ; {senseless} presets make no sense there")
    return failed


def main():
    parser = samples.arguments(__doc__)
    parser.add_argument("--all", action="store_true", help="every built-in model, preset and mesh instead: some minutes")
    options = parser.parse_args()
    shardctl = options.shardctl
    if options.all:
        sys.exit(1 if check_all(shardctl) else 0)
    report = samples.Report("jax", f"JAX {jax.__version__}", options)

    def sample(model, mesh, preset, more, edits=()):
        def act(folder):
            path = samples.designed(shardctl, folder, model, mesh, preset, more)
            for edit in edits:
                samples.changed(path, edit)
            return check_export(shardctl, folder, path)[2]
        report.sample(" ".join([model, preset, "on", mesh, *more, *(edit.__name__ for edit in edits)]), act)
    for model in samples.MODELS:
        for (preset, mesh), workload in itertools.product(samples.LAYOUTS_OF_MODELS, samples.WORKLOADS):
            sample(model, mesh, preset, ["--workload", workload])
    for model, mesh, preset, more in EXPORTED:
        sample(model, mesh, preset, more)
    for model, mesh, preset, edits in EDITED:
        sample(model, mesh, preset, [], edits)
    for name, spec in samples.LAYOUTS.items():
        def layout(folder, name=name, spec=spec):
            answer = check_loose(shardctl, folder, (16, 8), "data=2,model=4", spec)
            assert not isinstance(answer, str), answer
            return answer
        report.sample(f"{name} {spec}", layout)
    for spec in samples.LAYOUTS_3D:
        def layout_3d(folder, spec=spec):
            answer = check_loose(shardctl, folder, (64, 64), "pod=2,fsdp=4,tp=8", spec)
            assert not isinstance(answer, str), answer
            return answer
        report.sample(f"three axes {spec}", layout_3d)
    for (count, mesh, spec), cut in itertools.product(samples.UNEVEN, samples.CUT_RULES):
        def uneven(folder, count=count, mesh=mesh, spec=spec, cut=cut):
            answer = check_loose(shardctl, folder, (count, 4), mesh, spec, cut=cut)
            assert isinstance(answer, str) and ("divide" in answer or "equal parts" in answer), answer
            return answer
        report.sample(f"{count} elements over {mesh}, {cut}", uneven)
    for preset, mesh in samples.LAYOUTS_OF_MODELS:
        report.sample(f"trees, {preset} on {mesh}", lambda folder, preset=preset, mesh=mesh: check_trees(shardctl, folder, preset, mesh))
    report.sample("optimizer states, ZeRO", lambda folder: check_zero(shardctl, folder))
    for preset, mesh in (("megatron-tp", "data=2,model=4"), ("ep", "fsdp=2,expert=4")):
        report.sample(f"experts one by one, {preset} on {mesh}",
                      lambda folder, preset=preset, mesh=mesh: check_experts(shardctl, folder, preset, mesh))

    def broken(folder):
        path = samples.designed(shardctl, folder, "llama3-8b", "data=2,model=4", "megatron-tp")
        module, proof, total = check_export(shardctl, folder, path)
        check_that_breaks_are_found(module, proof, folder)
        return total
    report.sample("layouts that are broken are found", broken)

    def many(folder):
        """More devices than are simulated, in another order: the check asks JAX about their numbers, and still finds what is wrong."""
        def edit(document):
            document["workload"]["batch"] = 512
            document["mesh"]["device_ids"] = [(i * 5 + 3) % 4096 for i in range(1024)]
        path = samples.designed(shardctl, folder, "llama3-8b", "pod=4,fsdp=32,tensor=8", "tp+fsdp")
        assert samples.export(shardctl, samples.changed(path, edit), "jax", folder) is None
        total = samples.own_check(folder, "export.py")
        script = os.path.join(folder, "export.py")
        with open(script, encoding="utf-8") as file:
            text = file.read()
        for before, after in (('q_proj.weight": P("tensor", "fsdp")', 'q_proj.weight": P("fsdp", "tensor")'), ("ORDER = [\n    3, 8,", "ORDER = [\n    8, 3,")):
            assert before in text, before
            with open(script, "w", encoding="utf-8") as file:
                file.write(text.replace(before, after, 1))
            broken = run(sys.executable, script)
            assert broken.returncode == 1, f"{after} is not found: {broken.stdout[-300:]}"
        return total
    report.sample("1,024 devices", many)
    for model, mesh, preset, more, why in REFUSED:
        def refused(folder, model=model, mesh=mesh, preset=preset, more=more, why=why):
            answer = samples.export(shardctl, samples.designed(shardctl, folder, model, mesh, preset, more), "jax", folder)
            assert answer and any(part in answer for part in why.split("|")), answer
            return answer
        report.sample(f"{model} {preset} on {mesh}", refused)
    report.end()


if __name__ == "__main__":
    main()
