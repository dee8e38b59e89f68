# SPDX-License-Identifier: Apache-2.0
"""What hlo_export.py and shardy_export.py share: the JAX whose XLA reads the exports, and samples that both go through.

SHARDBOARD_JAX_PYTHON names another Python, or several with colons between them.
"""
import itertools
import math
import os
import random
import sys

import samples

samples.run_by("SHARDBOARD_JAX_PYTHON")

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=64"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import jax
    import numpy as np
    from jax._src.lib import _jax, xla_client
    from jax._src.sharding_impls import GSPMDSharding
    from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
except ImportError as problem:
    print(f"skipped: this Python has no JAX ({problem}); SHARDBOARD_JAX_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

PEER = f"XLA of JAX {jax.__version__}"


def parts(size, sizes, rule):
    """[lo, hi) of each part of a dim, by the definition of the rule; None where it refuses."""
    count = math.prod(sizes)
    if rule == "strict":
        return None if size % count else parts(size, sizes, "ceil-flat")
    if rule == "ceil-flat":
        tile = -(-size // count)
        return [[min(size, i * tile), min(size, (i + 1) * tile)] for i in range(count)]
    if rule == "balanced":
        edges = [i * (size // count) + min(i, size % count) for i in range(count + 1)]
        return [list(edge) for edge in itertools.pairwise(edges)]
    ranges = [[0, size]]
    for n in sizes:
        nested = []
        for lo, hi in ranges:
            nested += [[lo + a, lo + b] for a, b in parts(hi - lo, [n], "ceil-flat")]
        ranges = nested
    return ranges


def held_by_jax(sharding, shape, devices):
    """What JAX itself says that devices hold under an HloSharding, which has to divide."""
    placed = GSPMDSharding(jax.devices()[:devices], sharding)
    return {device.id: [list(s.indices(n)[:2]) for s, n in zip(index, shape)]
            for device, index in placed.devices_indices_map(tuple(shape)).items()}


def check_by_jax(folder, sharding_of):
    """The second way: JAX's own map of each sharding, against shards.json. Returns how many tensors divide."""
    proof = samples.shards(folder)
    devices = math.prod(proof["mesh"]["sizes"])
    known = {}
    for tensor in proof["tensors"]:
        told = {device: pieces[0] for device, pieces in samples.by_device(tensor).items()}
        sharding = sharding_of(tensor["name"])
        key = (str(sharding), tuple(tensor["shape"]))
        if key not in known:
            try:
                known[key] = held_by_jax(sharding, tensor["shape"], devices)
            except (ValueError, NotImplementedError) as problem:
                assert ("unreduced" if "partial" in tensor else "divi") in str(problem), problem
                known[key] = None
        assert known[key] is None or known[key] == told, f"JAX holds {tensor['name']} otherwise"
    return sum(held is not None for held in known.values())


def check_arrays(folder, sharding_of, name="w"):
    """A real array, put on devices and read back."""
    proof = next(tensor for tensor in samples.shards(folder)["tensors"] if tensor["name"] == name)
    whole = np.arange(math.prod(proof["shape"]), dtype=np.int32).reshape(proof["shape"])
    devices = math.prod(samples.shards(folder)["mesh"]["sizes"])
    array = jax.device_put(whole, GSPMDSharding(jax.devices()[:devices], sharding_of(name)))
    told = samples.by_device(proof)
    assert len(array.addressable_shards) == len(told) == devices
    for shard in array.addressable_shards:
        index = tuple(slice(lo, hi) for lo, hi in told[shard.device.id][0])
        assert np.array_equal(np.asarray(shard.data), whole[index]), f"device {shard.device.id}"


def check_layout(folder, module, spec, rank):
    """An array; of what is partial, which JAX puts on no devices, that JAX's own sharding reads the same to XLA, and that another is found."""
    if "unreduced" not in spec:
        return check_arrays(folder, module.sharding_of)
    mesh = samples.shards(folder)["mesh"]
    grid = np.array(jax.devices()[:math.prod(mesh["sizes"])]).reshape(mesh["sizes"])
    made = Mesh(grid, mesh["axes"], axis_types=(AxisType.Explicit,) * grid.ndim)
    partial = eval(spec, {"P": P})  # of samples.py
    theirs = NamedSharding(made, partial)._to_xla_hlo_sharding(rank)
    assert str(module.sharding_of("w")) == str(theirs), f"{module.sharding_of('w')}, in JAX {theirs}"
    copies = NamedSharding(made, P(*partial.partitions))._to_xla_hlo_sharding(rank)
    assert module.differing(lambda name: copies, os.path.join(folder, "shards.json"))[0] == ["w"], "copies are taken for terms"


def random_designs(rng, folder, count, weights):
    """`count` designs of `weights` loose weights of random meshes, shapes and specs, sub-axes not among them: path, axes, sizes and the
    specs as lists of axes by weight."""
    for number in range(count):
        axes = [f"a{i}" for i in range(rng.randint(1, 4))]
        sizes = [rng.choice([1, 2, 2, 3, 4]) for _ in axes]
        while math.prod(sizes) > 64:
            sizes[rng.randrange(len(sizes))] = 1
        specs = {}
        for weight in range(weights):
            rank = rng.randint(1, 4)
            used = rng.sample(axes, rng.randint(0, len(axes)))
            dims = [[] for _ in range(rank)]
            for axis in used:
                dims[rng.randrange(rank)].append(axis)
            specs[f"w{weight}"] = dims
        path = samples.loose(folder, [1], ",".join(f"{a}={n}" for a, n in zip(axes, sizes)), "P()")

        def edit(document):
            document["model"]["weights"] = []
            document["strategies"] = []
            for name, dims in specs.items():
                shape = [24 * math.prod(sizes[axes.index(axis)] for axis in dim) for dim in dims]
                entries = ["None" if not dim else "(" + ",".join(f"'{a}'" for a in dim) + ("," if len(dim) == 1 else "") + ")" for dim in dims]
                document["model"]["weights"].append({"dtype": "f32", "name": name, "shape": shape})
                document["strategies"].append({"match": name, "strategy": "spec", "spec": f"P({', '.join(entries)})"})

        samples.changed(path, edit)
        yield path, axes, sizes, specs


def named_sharding(axes, sizes, dims, unreduced=()):
    grid = np.array(jax.devices()[:math.prod(sizes)]).reshape(sizes)
    mesh = Mesh(grid, axes, axis_types=(AxisType.Explicit,) * len(axes))
    entries = [None if not dim else tuple(dim) for dim in dims]
    spec = P(*entries, unreduced=set(unreduced)) if unreduced else P(*entries)
    return NamedSharding(mesh, spec)


class Checks:
    """Samples for a target whose module is `module`.py, with `sharding_of(module, name)` as HloSharding."""

    def __init__(self, target, module, sharding_of, text_of, unsaid, rewrite):
        self.target, self.module, self.sharding_of, self.text_of = target, module, sharding_of, text_of
        self.unsaid = unsaid  # (samples.LAYOUTS row) -> None
        self.rewrite = rewrite  # folder, name, text: a wrong sharding on purpose
        self.options = samples.arguments(__doc__).parse_args()
        self.report = samples.Report(target, PEER, self.options)
        self.ctl = self.options.shardctl

    def exported(self, folder, path):
        """The refusal, or the module of the export after both checks."""
        refused = samples.export(self.ctl, path, self.target, folder)
        if refused:
            return refused
        module = samples.module(folder, self.module)
        wrong, total = module.differing(module.sharding_of, os.path.join(folder, "shards.json"))
        assert not wrong and total, f"its own check: {wrong[:3]} of {total}"
        check_by_jax(folder, module.sharding_of)
        return module

    def equal(self, folder, path):
        module = self.exported(folder, path)
        assert not isinstance(module, str), f"refused: {module}"
        return len(samples.shards(folder)["tensors"])

    def refusal(self, folder, path, *reasons):
        refused = samples.export(self.ctl, path, self.target, folder)
        assert refused and any(reason in refused for reason in reasons), f"not refused for {reasons}: {refused}"
        return refused[:150]

    def models(self):
        for model in samples.MODELS:
            for preset, mesh in samples.LAYOUTS_OF_MODELS:
                for workload in samples.WORKLOADS:
                    self.report.sample(f"{model} {preset} {workload}", lambda folder: self.equal(
                        folder, samples.designed(self.ctl, folder, model, mesh, preset, ["--workload", workload])))

    def layouts(self):
        for name, spec in samples.LAYOUTS.items():
            def layout(folder):
                path = samples.loose(folder, [16, 8], "data=2,model=4", spec)
                module = self.exported(folder, path)
                assert not isinstance(module, str), module
                check_layout(folder, module, spec, 2)
                self.text_of(name, spec, module.text_of("w"))
                return 1
            self.report.sample(name, layout)
        for spec in samples.LAYOUTS_3D:
            def layout3(folder):
                path = samples.loose(folder, [64, 64], "pod=2,fsdp=4,tp=8", spec)
                module = self.exported(folder, path)
                assert not isinstance(module, str), module
                check_layout(folder, module, spec, 2)
                self.text_of("3D", spec, module.text_of("w"))
                return 1
            self.report.sample(f"pod, fsdp, tp: {spec}", layout3)

    def uneven(self):
        for size, mesh, spec in samples.UNEVEN:
            sizes = [int(axis.split("=")[1]) for axis in mesh.split(",")]
            for rule in samples.CUT_RULES:
                def cut(folder):
                    path = samples.loose(folder, [size, 6], mesh, spec, cut=rule)
                    planned = parts(size, sizes, rule)
                    if planned is None:
                        return self.refusal(folder, path, "divide", "equal parts")
                    same = [p for p in planned if p[0] < p[1]] == [p for p in parts(size, sizes, "ceil-flat") if p[0] < p[1]] and len(
                        planned) == math.prod(sizes)
                    if not same:
                        return self.refusal(folder, path, "is cut by the rule")
                    return self.equal(folder, path)
                self.report.sample(f"{size} over {mesh} {rule}", cut)

    def device_orders(self):
        orders = {"backward": lambda n: list(range(n))[::-1], "by fives": lambda n: [(i * 5 + 3) % n for i in range(n)],
                  "an iota": lambda n: [i // 2 + i % 2 * (n // 2) for i in range(n)]}
        for order, ids in orders.items():
            for name in ("L1", "L3", "L6"):
                self.report.sample(f"{name}, devices {order}", lambda folder: self.equal(
                    folder, samples.loose(folder, [16, 8], "data=2,model=4", samples.LAYOUTS[name], device_ids=ids(8))))
            self.report.sample(f"llama3-8b, devices {order}", lambda folder: self.equal(folder, samples.changed(
                samples.designed(self.ctl, folder, "llama3-8b", "data=2,model=4", "megatron-tp"),
                lambda document: document["mesh"].update(device_ids=ids(8)))))
        self.report.sample("device ids above", lambda folder: self.refusal(
            folder, samples.loose(folder, [16, 8], "data=2,model=4", "P('model')", device_ids=range(8, 16)), "numbers its devices 0 to 7"))

    def sub_axes(self):
        for spec in ("P('x:(1)2')", "P('x:(2)4')", "P('x:(2)2')", "P(('x:(4)2','x:(1)2'))", "P('x:(4)2','x:(1)2')", "P('y','x:(2)4')"):
            self.report.sample(f"sub-axes {spec}",
                               lambda folder: self.equal(folder, samples.loose(folder, [16, 8], "x=8,y=2", spec)))

    def refused(self):
        for model, mesh, preset, options, reason in (
                ("qwen2.5-7b", "data=2,model=8", "megatron-tp", [], "whole units"),
                ("llama3-8b", "stage=4,model=2", "pp-1f1b", ["--workload", "train", "--micro-batches", "4"], "pipeline"),
        ):
            self.report.sample(f"{model} {preset} on {mesh}", lambda folder: self.refusal(
                folder, samples.designed(self.ctl, folder, model, mesh, preset, options), reason))

    def names(self):
        """Names that would like to be code stand as names in what MLIR and XLA read."""
        for number, name in enumerate(('a") loc("x")} { return } //', "a\\", 'quote " and \\22', "%0 : tensor<1xf32>", "\U0001f600 \xe9", "a.*.b")):
            def named(folder):
                path = samples.changed(samples.loose(folder, [16, 8], "data=2,model=4", "P('model')", name="*"),
                                       lambda document: document["model"]["weights"][0].update(name=name))
                module = self.exported(folder, path)
                assert not isinstance(module, str), module
                assert list(module.DESIGN["weights"]) == [name] == [tensor["name"] for tensor in samples.shards(folder)["tensors"]]
                return samples.own_check(folder, self.module + ".py") if number == 0 else 1
            self.report.sample(f"name {number}", named)

    def activations(self):
        """L8 of the plan's partial sums, and every other layout of values, in XLA's own reading."""
        def act(folder):
            path = samples.designed(self.ctl, folder, "llama3-8b", "data=2,model=4", "tp-sp", ["--workload", "prefill"])
            module = self.exported(folder, path)
            assert not isinstance(module, str), module
            values = module.DESIGN["activations"]
            assert values["block/self_attn.residual"]["pinned"], "the residual stream is pinned"
            out = module.sharding_of("block/self_attn.o_proj")
            want = named_sharding(["data", "model"], [2, 4], [["data"], [], []], ["model"])
            assert str(out) == str(want._to_xla_hlo_sharding(3)), f"{out}"
            residual = module.sharding_of("block/self_attn.residual")
            assert str(residual) == str(named_sharding(["data", "model"], [2, 4], [["data"], ["model"], []])._to_xla_hlo_sharding(3))
            assert module.entry_of("model.layers.31.mlp.up_proj.weight")
            try:
                raise AssertionError(f"there is no layer 32: {module.entry_of('model.layers.32.mlp.up_proj.weight')}")
            except KeyError as problem:
                assert "says nothing about" in str(problem), problem
            return sum(module.sharding_of(name) is not None for name in values)
        self.report.sample("activations", act)

    def random_texts(self, text_of_named, designs=12, weights=180):
        rng = random.Random(21)

        def act(folder):
            seen = 0
            for path, axes, sizes, specs in random_designs(rng, folder, designs, weights):
                refused = samples.export(self.ctl, path, self.target, folder)
                assert not refused, refused
                module = samples.module(folder, self.module)
                wrong, total = module.differing(module.sharding_of, os.path.join(folder, "shards.json"))
                assert not wrong and total == weights, wrong[:3]
                for name, dims in specs.items():
                    want = text_of_named(named_sharding(axes, sizes, dims), len(dims))
                    assert module.text_of(name) == want, f"{module.text_of(name)} for {want}"
                    seen += 1
                for leftover in ("shards.json",):
                    os.remove(os.path.join(folder, leftover))
            return seen
        self.report.sample(f"{designs * weights} random specs", act)

    def broken(self):
        def act(folder):
            path = samples.designed(self.ctl, folder, "llama3-8b", "data=2,model=4", "megatron-tp")
            assert not isinstance(self.exported(folder, path), str)
            total = samples.own_check(folder, self.module + ".py")
            self.rewrite(folder, "model.layers.*.mlp.up_proj.weight")
            checked = samples.run(sys.executable, os.path.join(folder, self.module + ".py"))
            last = checked.stdout.strip().splitlines()[-1]
            assert checked.returncode == 1 and last.startswith(f"{total - 32} of {total} "), checked.stdout + checked.stderr
            module = samples.module(folder, self.module)
            try:
                check_by_jax(folder, module.sharding_of)
            except AssertionError:
                return total
            raise AssertionError("JAX's own map found nothing")
        self.report.sample("a wrong sharding is found", act)

    def all(self):
        self.models()
        self.layouts()
        self.uneven()
        self.device_orders()
        self.sub_axes()
        self.refused()
        self.names()
        self.activations()
        self.broken()


def hlo_of(module):
    """The text of the HLO that XLA makes of a StableHLO module."""
    return _jax.mlir.mlir_module_to_xla_computation(str(module), use_tuple_args=False, return_tuple=False).as_hlo_text()
