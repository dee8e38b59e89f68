#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Llama in plain JAX, laid out by the export alone, compiled by XLA: its collectives have to be those of the plan.

Prefill and a training step with Adam, for CPU devices and ahead of time for TPU v5e (libtpu compiles without a TPU). Collectives of the
compiled program are told by kind, mesh axes, and bytes, and counted; where the counts differ from the plan's, the cause is one of those
below, which the table names, or the script ends with 1. 77 where Python has no JAX (SHARDBOARD_JAX_PYTHON names another Python).
"""
import collections
import importlib.util
import itertools
import json
import os
import re
import sys
import tempfile
import time

import samples

samples.run_by("SHARDBOARD_JAX_PYTHON")

os.environ["JAX_PLATFORMS"] = "cpu"
# Combined collectives could not be counted one by one.
COMBINERS = "cpu-all-reduce-combiner,all-reduce-combiner,all-gather-combiner,reduce-scatter-combiner"
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count=16 --xla_disable_hlo_passes={COMBINERS}"
# No cloud is asked which TPU it has.
os.environ.update({"TPU_SKIP_MDS_QUERY": "1", "TPU_ACCELERATOR_TYPE": "v5litepod-16", "TPU_WORKER_HOSTNAMES": "localhost"})
try:
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental import topologies
except ImportError as problem:
    print(f"skipped: this Python has no JAX ({problem}); SHARDBOARD_JAX_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

SAMPLES = [
    ("megatron-tp", "data=2,model=4", "data=4,model=4"),
    ("tp-sp", "data=2,model=4", "data=4,model=4"),
    ("fsdp", "fsdp=8", "fsdp=16"),
    ("hsdp", "data=2,fsdp=4", "data=2,fsdp=8"),
    ("tp+fsdp", "fsdp=2,tensor=4", "fsdp=4,tensor=4"),
    ("cp-all-gather", "context=4,fsdp=2", "context=4,fsdp=4"),
]
LAYERS, HIDDEN, INTERMEDIATE, HEADS, KV_HEADS, HEAD_DIM, VOCABULARY = 2, 256, 512, 8, 4, 32, 1280
BATCH, SEQUENCE = 16, 128


# --- The program ---


def shapes():
    """Parameters by checkpoint names, [out, in]."""
    def layer():
        return {
            "input_layernorm": {"weight": (HIDDEN,)}, "post_attention_layernorm": {"weight": (HIDDEN,)},
            "self_attn": {"q_proj": {"weight": (HEADS * HEAD_DIM, HIDDEN)}, "k_proj": {"weight": (KV_HEADS * HEAD_DIM, HIDDEN)},
                          "v_proj": {"weight": (KV_HEADS * HEAD_DIM, HIDDEN)}, "o_proj": {"weight": (HIDDEN, HEADS * HEAD_DIM)}},
            "mlp": {"gate_proj": {"weight": (INTERMEDIATE, HIDDEN)}, "up_proj": {"weight": (INTERMEDIATE, HIDDEN)},
                    "down_proj": {"weight": (HIDDEN, INTERMEDIATE)}},
        }
    return {"model": {"embed_tokens": {"weight": (VOCABULARY, HIDDEN)}, "norm": {"weight": (HIDDEN,)},
                      "layers": {str(i): layer() for i in range(LAYERS)}},
            "lm_head": {"weight": (VOCABULARY, HIDDEN)}}


def norm(x, weight):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * weight


def rotated(x):
    half = HEAD_DIM // 2
    angles = jnp.arange(x.shape[1])[:, None] * 1e4 ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angles)[None, :, None], jnp.sin(angles)[None, :, None]
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def layer_of(export):
    c = export.constrain

    def layer(x, weights):
        w = export.use(weights)
        h = c("attention in", norm(x, w["input_layernorm"]["weight"]))

        def heads(name, count):
            y = c(name, h @ w["self_attn"][name + "_proj"]["weight"].T)
            return c(name + " heads", y.reshape(*y.shape[:2], count, HEAD_DIM))
        q, k, v = heads("q", HEADS), heads("k", KV_HEADS), heads("v", KV_HEADS)
        q, k = c("q rotated", rotated(q)), c("k rotated", rotated(k))
        q = q.reshape(*q.shape[:2], KV_HEADS, HEADS // KV_HEADS, HEAD_DIM)
        scores = jnp.einsum("bqhgd,bkhd->bhgqk", q, k) / HEAD_DIM ** 0.5
        scores = jnp.where(jnp.tril(jnp.ones((scores.shape[-2], scores.shape[-1]), bool)), scores, -1e9)
        out = jnp.einsum("bhgqk,bkhd->bqhgd", jax.nn.softmax(scores, axis=-1), v)
        out = c("attention heads", out.reshape(*out.shape[:2], HEADS, HEAD_DIM))
        out = c("attention values", out.reshape(*out.shape[:2], HEADS * HEAD_DIM))
        x = c("residual", x + c("attention out", out @ w["self_attn"]["o_proj"]["weight"].T))
        h = c("mlp in", norm(x, w["post_attention_layernorm"]["weight"]))
        gate, up = c("mlp gate", h @ w["mlp"]["gate_proj"]["weight"].T), c("mlp up", h @ w["mlp"]["up_proj"]["weight"].T)
        h = c("mlp hidden", c("mlp gate active", jax.nn.silu(gate)) * up)
        return c("layer out", x + c("mlp out", h @ w["mlp"]["down_proj"]["weight"].T))
    return layer


def logits_of(export, last):
    c = export.constrain

    def head(x, weights):
        w = export.use(weights)
        return c("logits", c("head in", norm(x, w["model"]["norm"]["weight"])) @ w["lm_head"]["weight"].T)

    def logits(params, tokens):
        model = params["model"]
        table = export.use({"embed_tokens": model["embed_tokens"]})["embed_tokens"]["weight"]
        x = c("residual stream", c("embedding", jnp.take(table, tokens, axis=0)))
        layer = export.checkpoint(layer_of(export))
        for i in range(LAYERS):
            x = layer(x, model["layers"][str(i)])
        if last:
            x = c("last token", x[:, -1:])
        return export.checkpoint(head)(x, {"model": {"norm": model["norm"]}, "lm_head": params["lm_head"]})
    return logits


def step_of(export):
    c = export.constrain

    def loss(params, batch):
        z = logits_of(export, False)(params, batch["tokens"])
        largest = c("largest logit", jax.lax.stop_gradient(z.max(axis=-1)))
        total = c("sum of exponentials", jnp.exp(z - largest[..., None]).sum(axis=-1))
        target = c("target logit", jnp.take_along_axis(z, batch["targets"][..., None], axis=-1)[..., 0])
        return c("token loss", jnp.log(total) + largest - target).mean()

    def step(state, batch):
        value, gradients = jax.value_and_grad(loss)(state["params"], batch)
        mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["opt_state"]["mu"], gradients)
        nu = jax.tree.map(lambda n, g: 0.99 * n + 0.01 * g * g, state["opt_state"]["nu"], gradients)
        params = jax.tree.map(lambda p, m, n: p - 1e-3 * m / (jnp.sqrt(n) + 1e-8), state["params"], mu, nu)
        return {"params": params, "opt_state": {"mu": mu, "nu": nu}}, value
    return step


def compiled(export, training, devices):
    """Text of the program that XLA makes."""
    m = export.mesh(devices)

    def described(tree):
        return jax.tree.map(lambda leaf, sharding: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), tree,
                            export.shardings(tree, m))
    params = jax.tree.map(lambda shape: jax.ShapeDtypeStruct(shape, jnp.float32), shapes(), is_leaf=lambda x: isinstance(x, tuple))
    batch = {name: jax.ShapeDtypeStruct((BATCH, SEQUENCE), jnp.int32) for name in (("tokens", "targets") if training else ("tokens",))}
    batch = jax.tree.map(lambda leaf, s: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=s), batch, export.batch_shardings(batch, m))
    with jax.default_matmul_precision("highest"):  # or a TPU multiplies in bf16 and gathers what it has cast
        if training:
            state = described({"params": params, "opt_state": {"mu": params, "nu": params}})
            out = jax.tree.map(lambda leaf: leaf.sharding, state)
            lowered = jax.jit(step_of(export), out_shardings=(out, None), donate_argnums=0).lower(state, batch)
        else:
            lowered = jax.jit(logits_of(export, True)).lower(described(params), batch["tokens"])
        return lowered.compile().as_text()


# --- Collectives of a compiled program ---

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "pred": 1, "s8": 1, "u8": 1}


def groups_in(line, devices):
    """Replica groups of an instruction, in any of XLA's three notations."""
    ids = np.arange(devices)
    by_mesh = re.search(r"replica_groups=mesh\[([^\]]*)\](?:, device_ids=\(\[([\d,]+)\](?:T\(([\d,]+)\))?\))?,?\s*\{([^}]*)\}", line)
    if by_mesh:
        axes = re.findall(r"'([^']+)'=(\d+)", by_mesh[1])
        if by_mesh[2]:
            ids = ids.reshape([int(n) for n in by_mesh[2].split(",")])
            ids = ids.transpose([int(n) for n in by_mesh[3].split(",")]) if by_mesh[3] else ids
        ids = ids.reshape([int(size) for _, size in axes])
        used = [[name for name, _ in axes].index(name) for name in re.findall(r"'([^']+)'", by_mesh[4])]
        rest = [i for i in range(len(axes)) if i not in used]
        groups = ids.transpose(rest + used).reshape(-1, int(np.prod([int(axes[i][1]) for i in used])))
    elif by_iota := re.search(r"replica_groups=\[(\d+),(\d+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?", line):
        ids = ids.reshape([int(n) for n in by_iota[3].split(",")])
        ids = ids.transpose([int(n) for n in by_iota[4].split(",")]) if by_iota[4] else ids
        groups = ids.reshape(int(by_iota[1]), int(by_iota[2]))
    else:
        listed = re.search(r"replica_groups=\{(\{[\d,{}]*\})\}", line)
        groups = [[int(n) for n in group.split(",")] for group in re.findall(r"\{([\d,]+)\}", listed[1])] if listed else [ids]
    return frozenset(frozenset(int(n) for n in group) for group in groups)


def collectives_in(text, axes):
    """(kind, mesh axes, bytes) of every collective, with the operations of the program that they are for."""
    sizes = [size for _, size in axes]
    positions = np.arange(int(np.prod(sizes))).reshape(sizes)
    known = {}
    for count in range(1, len(axes) + 1):
        for chosen in itertools.combinations(range(len(axes)), count):
            rest = [i for i in range(len(axes)) if i not in chosen]
            rows = positions.transpose(rest + list(chosen)).reshape(-1, int(np.prod([sizes[i] for i in chosen])))
            known.setdefault(frozenset(frozenset(int(n) for n in row) for row in rows), tuple(axes[i][0] for i in chosen))
    found = collections.defaultdict(list)
    seen = set()
    computation = ""
    for line in text.splitlines():
        if head := re.match(r"(?:ENTRY )?%?([\w.\-]+) \(.*\{$", line):
            computation = head[1]
        at = re.search(r"= (\(?[^=]*?\)?) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(-start)?\(", line)
        if not at:
            continue
        channel = re.search(r"channel_id=(\d+)", line)
        if channel and channel[1] in seen:  # a TPU runs one beside several fusions, and each lists it
            continue
        seen.add(channel[1] if channel else line)
        kind = "reduce-scatter" if computation.startswith("all-reduce-scatter") else at[2]  # a TPU's fusion of both
        arrays = re.findall(r"(\w+)\[([\d,]*)\]", at[1])
        if at[3] and kind != "all-reduce":
            arrays = arrays[-1:]
        size = sum(BYTES[dtype] * int(np.prod([int(n) for n in dims.split(",") if n])) for dtype, dims in arrays)
        if kind == "collective-permute":
            over = ()
        else:
            groups = groups_in(line, positions.size)
            over = known.get(groups, ("?",))
            size *= len(next(iter(groups))) if at[2] == "reduce-scatter" else 1
        name = re.search(r'op_name="([^"]*)"', line)
        found[kind, over, size].append(name[1] if name else computation)
    return found


# --- Differences with a cause ---


def explained(want, found, platform):
    """Takes out of both counts what is the same thing in another form; returns (cause, what of the plan, what of the program, times)."""
    causes = []

    def pair(cause, planned, made, times):
        if times > 0:
            if planned:
                want[planned] -= times
            for key, each in made.items():
                found[key] -= each * times
            causes.append((cause, planned, made, times))

    sizes = AXIS_SIZES
    for key in sorted(found):
        kind, over, size = key
        if kind == "all-reduce" and size <= 8:
            pair("the mean of the loss, one number", None, {key: 1}, found[key])
        if kind == "collective-permute":
            pair("the last token's slice is passed on by a collective-permute before the sum that the plan has", None, {key: 1}, found[key])
    for key in sorted(want):  # over two axes, one of which cuts the result: first reduce-scatter, then all-reduce of the part
        kind, over, size = key
        for scattered in sorted(k for k in want if kind == "all-reduce" and k[0] == "reduce-scatter" and k[1] != over):
            whole = {("all-reduce", over, scattered[2]): 1, ("all-reduce", scattered[1], scattered[2]): 1}
            if scattered[2] == size * int(np.prod([sizes[axis] for axis in scattered[1]])):
                times = min([want[key] - found[key], want[scattered] - found[scattered]] + [found[k] - want[k] for k in whole])
                if times > 0:
                    want[scattered] -= times
                    pair("one all-reduce for each axis, and a slice", key, whole, times)
    for key in sorted(want):
        kind, over, size = key
        left = want[key] - found[key]
        if kind == "reduce-scatter" and left > 0:
            whole = ("all-reduce", over, size)
            pair("all-reduce and slice: XLA makes no reduce-scatter of it " + ("on CPU" if platform == "cpu" else "on a TPU, whose tiles it would cut"),
                 key, {whole: 1}, min(left, max(0, found[whole] - want[whole])))
        left = want[key] - found[key]
        if kind == "all-gather" and left > 0 and platform == "tpu":
            whole = ("all-reduce", over, size)
            pair("a TPU gathers shards smaller than a tile by an all-reduce", key, {whole: 1}, min(left, max(0, found[whole] - want[whole])))
        if kind == "all-reduce" and len(over) > 1 and left > 0:
            parts = {("all-reduce", (axis,), size): 1 for axis in over}
            times = min([left] + [found[part] - want[part] for part in parts])
            pair("one all-reduce for each dim that is summed", key, parts, times)
    for key in sorted(want):  # over two axes, one of which cuts the result: first reduce-scatter, then all-reduce of the part
        kind, over, size = key
        left = want[key] - found[key]
        if kind == "all-reduce" and left > 0:
            for scattered in sorted(k for k in want if k[0] == "reduce-scatter"):
                both = tuple(axis for axis in sizes if axis in over + scattered[1])
                whole = ("all-reduce", both, scattered[2])
                if scattered[2] == size * int(np.prod([sizes[axis] for axis in scattered[1]])) and want[scattered] > found[scattered]:
                    times = min(left, want[scattered] - found[scattered], max(0, found[whole] - want[whole]))
                    if times > 0:
                        want[scattered] -= times
                        pair("one all-reduce over both axes, and a slice", key, {whole: 1}, times)
                        left -= times
    for key in sorted(found):
        kind, over, size = key
        more = found[key] - want[key]
        if kind == "all-reduce" and more > 0 and key in want | SUMMED:
            pair("each product's sum is reduced before they are added; the plan adds first", None, {key: 1}, more)
    return causes


AXIS_SIZES = {}
SUMMED = collections.Counter()


def run(shardctl, folder, preset, mesh, training, platform):
    path = samples.designed(shardctl, folder, "llama3-8b", mesh, preset, ["--dtype", "f32", "--workload", "train" if training else "prefill"])

    def small(document):
        document["model"].update(num_hidden_layers=LAYERS, hidden_size=HIDDEN, intermediate_size=INTERMEDIATE, num_attention_heads=HEADS,
                                 num_key_value_heads=KV_HEADS, head_dim=HEAD_DIM, vocab_size=VOCABULARY)
        document["workload"]["sequence"] = SEQUENCE
    samples.changed(path, small)
    refused = samples.export(shardctl, path, "jax", folder)
    assert refused is None, refused
    spec = importlib.util.spec_from_file_location("export", os.path.join(folder, "export.py"))
    export = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(export)
    planned = json.loads(samples.run(shardctl, "plan", path, "--json").stdout)
    want = collections.Counter()
    for collective in planned["collectives"]:
        if collective["kind"] != "local-slice":
            want[collective["kind"], tuple(collective["axes"]), collective["bytes"]] += collective["count"]
    count = len(export.ORDER)
    devices = jax.devices() if platform == "cpu" else topologies.get_topology_desc(
        platform="tpu", topology_name={8: "v5e:2x4", 16: "v5e:4x4"}[count]).devices
    names = collectives_in(compiled(export, training, devices), export.AXES)
    found = collections.Counter({key: len(value) for key, value in names.items()})
    AXIS_SIZES.clear()
    AXIS_SIZES.update(export.AXES)
    SUMMED.clear()
    SUMMED.update({("all-reduce", key[1], key[2]): 1 for key in want if key[0] in ("all-reduce", "reduce-scatter")})
    rows = [(key, want[key], found[key]) for key in sorted(set(want) | set(found))]
    same = sum(min(w, f) for _, w, f in rows)
    total = sum(want.values())
    left_want, left_found = want.copy(), found.copy()
    causes = explained(left_want, left_found, platform)
    for key, w, f in rows:
        print(f"    {key[0]:18} over {'+'.join(key[1]) or '-':14} {key[2]:>10,} B   plan {w:3}   XLA {f:3}{'' if w == f else '   *'}")
    for cause, before, after, times in causes:
        print(f"    * {times} x {cause}" + (f" ({before[0]} over {'+'.join(before[1])}, {before[2]:,} B)" if before else ""))
    unexplained = [(key, left_want[key], left_found[key]) for key in sorted(set(left_want) | set(left_found)) if left_want[key] != left_found[key]]
    for key, w, f in unexplained:
        print(f"    UNEXPLAINED {key}: plan {w}, XLA {f}: {collections.Counter(n[-110:] for n in names.get(key, ())).most_common(6)}")
    return same, total, sum(times for *_, times in causes), len(unexplained)


def main():
    parser = samples.arguments(__doc__)
    parser.add_argument("--platform", default="cpu,tpu")
    parser.add_argument("--devices", default="8,16")
    options = parser.parse_args()
    failed = 0
    table = []
    for platform in options.platform.split(","):
        for count in options.devices.split(","):
            for preset, *meshes in SAMPLES:
                mesh = meshes[0 if count == "8" else 1]
                for training in (False, True):
                    name = f"{platform} {count} devices, {preset} on {mesh}, {'training step' if training else 'prefill'}"
                    if options.only not in name:
                        continue
                    start = time.monotonic()
                    print(name, flush=True)
                    with tempfile.TemporaryDirectory() as folder:
                        same, total, other, unexplained = run(options.shardctl, folder, preset, mesh, training, platform)
                    failed += unexplained > 0
                    table.append((name, same, total, other, unexplained))
                    print(f"    {same} of {total} collectives as planned, {other} in another form, {unexplained} unexplained "
                          f"({time.monotonic() - start:.0f} s)", flush=True)
    for name, same, total, other, unexplained in table:
        print(f"{name}: {same} of {total} the same, {other} in another form{', UNEXPLAINED' if unexplained else ''}")
    print(f"{len(table)} programs, {failed} with differences that have no cause, by JAX {jax.__version__}")
    sys.exit(1 if failed or not table else 0)


if __name__ == "__main__":
    main()
