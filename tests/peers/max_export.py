#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports designs for MAX and has a released MAX wheel make the shards on the CPU: by DeviceMapping with real arrays, by ShardingStrategy
with the weights of a graph. SHARDBOARD_MAX_PYTHON names the Python with the wheel, or several with colons between them. See samples.py.
"""
import math
import os
import sys

import samples

samples.run_by("SHARDBOARD_MAX_PYTHON")

try:
    from importlib.metadata import version

    import numpy as np
    from max.experimental import sharding
    from max.experimental.tensor import Tensor

    RELEASE = version("max")
except ImportError as problem:
    print(f"skipped: this Python has no MAX ({problem}); SHARDBOARD_MAX_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

REGIONS = hasattr(sharding, "auto_reshard")
PROFILE = "max-26.7" if REGIONS else "max-26.6"
# Of the same interface, and of the other one.
ALIKE = ["G2", "G3", "shardboard"] if REGIONS else ["G0", "G1"]
OTHERS = ["G0", "G1", "max-26.6"] if REGIONS else ["G2", "G3", "max-26.7", "shardboard"]

# Placements of L1 to L7 on data=2, model=4; None: MAX has none.
EXPECTED = {"L1": "R S0", "L2": "R S1", "L3": "S0 S1", "L4": "S1 S0", "L5": "S0 S0", "L6": None, "L7": "R R", "L8": "S0 P"}

# Shape, mesh, strategy, and what some device holds of the cut dim (formats of the field).
STRATEGIES = [
    ([4096, 4096], "tp=4", {"strategy": "rowwise", "axes": ["tp"]}, 0, 1, [(1024, 2048)]),
    ([4096, 3584], "tp=8", {"strategy": "head-aware-columnwise", "axes": ["tp"], "num_heads": 28, "head_dim": 128}, 1, 4, [(2048, 2432)]),
    ([6144, 4096], "tp=4", {"strategy": "segmented", "axes": ["tp"], "dim": 0, "segments": ["heads:32:128", "heads:8:128", "heads:8:128"]}, 0,
     1, [(1024, 2048), (4352, 4608), (5376, 5632)]),
    ([8, 4096, 28672], "tp=4", {"strategy": "gate-up", "axes": ["tp"], "dim": 2}, 2, 0, [(0, 3584), (14336, 17920)]),
    ([5760, 1920], "tp=4", {"strategy": "stacked-qkv", "axes": ["tp"], "num_heads": 30, "head_dim": 64}, 0, 2,
     [(1024, 1472), (2944, 3392), (4864, 5312)]),
    ([1920, 1440], "tp=4", {"strategy": "head-aware-columnwise", "axes": ["tp"], "num_heads": 30, "head_dim": 64}, 1, 2, [(768, 1104)]),
    ([151674, 8], "dp=2,tp=4", {"strategy": "rowwise", "axes": ["tp"]}, 0, 2, [(75838, 113756)]),
    ([8, 16, 12], "tp=4", {"strategy": "gate-up", "axes": ["tp"], "dim": 2}, 2, 3, [(5, 6), (11, 12)]),
    ([6, 10, 4], "dp=2,tp=4", {"strategy": "axiswise", "axes": ["tp"], "dim": 1}, 1, 3, [(8, 10)]),
    ([3, 2], "tp=4", {"strategy": "rowwise", "axes": ["tp"]}, 0, 3, []),
]


def for_profile(path, profile=PROFILE):
    return samples.changed(path, lambda document: document.setdefault("picker", {}).update(profile=profile))


def with_strategy(path, entry):
    return samples.changed(path, lambda document: document.update(strategies=[{"match": "w", **entry}]))


def code(placement):
    return "R" if isinstance(placement, sharding.Replicated) else f"S{placement.axis}" if isinstance(placement, sharding.Sharded) else "P"


def whole_arrays(module, folder, name="w"):
    """The second way: an array of the tensor's whole shape, put on the mesh, of which every shard is read."""
    tensor = next(tensor for tensor in samples.shards(folder)["tensors"] if tensor["name"] == name)
    told = samples.by_device(tensor)
    array = np.arange(math.prod(tensor["shape"]), dtype=np.int32).reshape(tensor["shape"])
    if name not in module.MAPPINGS:
        return
    if "partial" in tensor:  # MAX adds terms up, and makes none of an array
        placements = module.mapping_of(name, module.mesh()).placements
        assert [axis for (axis, _), p in zip(module.AXES, placements, strict=True) if code(p) == "P"] == tensor["partial"]["axes"], placements
        return
    put = Tensor.from_dlpack(array).to(module.mapping_of(name, module.mesh()))
    for device, shard in zip(module.ORDER, put.local_shards, strict=True):
        index = tuple(slice(lo, hi) for lo, hi in told[device][0])
        assert np.array_equal(np.array(np.from_dlpack(shard)), array[index]), f"device {device}"


class Checks:
    def __init__(self):
        self.options = samples.arguments(__doc__).parse_args()
        self.report = samples.Report("max", f"MAX {RELEASE}", self.options)
        self.ctl = self.options.shardctl

    def exported(self, folder, path):
        refused = samples.export(self.ctl, path, "max", folder)
        assert not refused, f"refused: {refused}"
        module = samples.module(folder, "max_design")
        wrong, total = module.check(os.path.join(folder, "shards.json"))
        assert not wrong and total, f"its own check: {wrong[:3]} of {total}"
        return module

    def equal(self, folder, path):
        self.exported(folder, path)
        return len(samples.shards(folder)["tensors"])

    def refusal(self, folder, path, *reasons):
        refused = samples.export(self.ctl, path, "max", folder)
        assert refused and any(reason in refused for reason in reasons), f"not refused for {reasons}: {refused}"
        return refused[:150]

    def models(self):
        for model in samples.MODELS:
            for preset, mesh in samples.LAYOUTS_OF_MODELS:
                for workload in samples.WORKLOADS:
                    def planned(folder):
                        path = for_profile(samples.designed(self.ctl, folder, model, mesh, preset, ["--workload", workload]))
                        if (model, preset) == ("qwen2.5-7b", "tp+fsdp"):  # biases are cut over tensor, then fsdp
                            return self.refusal(folder, path, "self_attn.q_proj.bias, self_attn.k_proj.bias, self_attn.v_proj.bias")
                        return self.equal(folder, path)
                    self.report.sample(f"{model} {preset} {workload}", planned)
        self.report.sample("qwen2.5-7b megatron-tp, whole heads over 8", lambda folder: self.equal(folder, for_profile(
            samples.designed(self.ctl, folder, "qwen2.5-7b", "model=8", "megatron-tp"))))

    def layouts(self):
        for name, spec in samples.LAYOUTS.items():
            def layout(folder):
                path = for_profile(samples.loose(folder, [16, 8], "data=2,model=4", spec))
                if EXPECTED[name] is None:
                    return self.refusal(folder, path, "in mesh order")
                module = self.exported(folder, path)
                assert " ".join(code(p) for p in module.MAPPINGS["w"]) == EXPECTED[name], module.MAPPINGS
                whole_arrays(module, folder)
                return 1
            self.report.sample(name, layout)
        for spec in samples.LAYOUTS_3D:
            def layout3(folder):
                path = for_profile(samples.loose(folder, [64, 64], "pod=2,fsdp=4,tp=8", spec))
                module = self.exported(folder, path)
                whole_arrays(module, folder)
                return 1
            self.report.sample(f"pod, fsdp, tp: {spec}", layout3)
        self.report.sample("sub-axes", lambda folder: self.refusal(
            folder, for_profile(samples.loose(folder, [16, 8], "x=8", "P('x:(2)4')")), "sub-axes"))
        self.report.sample("device order", lambda folder: self.equal(folder, for_profile(
            samples.loose(folder, [16, 8], "data=2,model=4", "P('model','data')", device_ids=[7, 3, 5, 1, 6, 2, 4, 10]))))

    def uneven(self):
        for size, mesh, spec in samples.UNEVEN:
            sizes = [int(axis.split("=")[1]) for axis in mesh.split(",")]
            for rule in samples.CUT_RULES:
                def cut(folder):
                    path = for_profile(samples.loose(folder, [size, 6], mesh, spec, cut=rule))
                    if rule == "strict":
                        return self.refusal(folder, path, "divide")
                    if len(sizes) > 1 and not REGIONS:
                        return self.refusal(folder, path, "one mesh axis after the other")
                    nested = rule == "ceil-nested" and (size, sizes) == (5, [2, 2])  # which is what balanced parts are
                    if rule != "balanced" and not nested:
                        return self.refusal(folder, path, "is cut by the rule")
                    module = self.exported(folder, path)
                    whole_arrays(module, folder)
                    return 1
                self.report.sample(f"{size} over {mesh} {rule}", cut)

        def one_row(folder):
            """MAX puts no dim of size 1 on a mesh; a strategy gives it to the first device."""
            module = self.exported(folder, for_profile(samples.loose(folder, [1, 6], "x=4", "P('x')", cut="balanced")))
            assert "w" not in module.MAPPINGS and "w" in module.STRATEGIES
            return 1
        self.report.sample("a dim of size 1", one_row)

    def strategies(self):
        for shape, mesh, entry, dim, device, ranges in STRATEGIES:
            def strategy(folder):
                path = with_strategy(for_profile(samples.loose(folder, shape, mesh, "P()")), entry)
                module = self.exported(folder, path)
                made = module.Shards().by_strategy(shape, module.strategy_of("w"))[module.shard_index("w", device)]
                want = np.concatenate([np.arange(lo, hi) for lo, hi in ranges]) if ranges else np.arange(0)
                assert np.array_equal(made[dim], want), f"{made[dim][:4]} …"
                return 1
            self.report.sample(f"{entry['strategy']} {shape} over {mesh}", strategy)

    def generations(self):
        for profile in ALIKE:
            self.report.sample(f"profile {profile}", lambda folder: self.equal(folder, for_profile(
                samples.designed(self.ctl, folder, "llama3-8b", "data=2,model=4", "megatron-tp"), profile)))
        for profile in OTHERS:
            def other(folder):
                path = for_profile(samples.loose(folder, [16, 8], "data=2,model=4", "P('model')"), profile)
                assert not samples.export(self.ctl, path, "max", folder)
                checked = samples.run(sys.executable, os.path.join(folder, "max_design.py"))
                assert checked.returncode == samples.SKIPPED and checked.stdout.startswith("skipped: "), checked.stdout + checked.stderr
                return "its check is skipped here"
            self.report.sample(f"profile {profile}", other)

    def policy(self):
        """Under the export's policy MAX refuses to move what the program does not move."""
        def act(folder):
            path = for_profile(samples.loose(folder, [16, 8], "data=2,model=4", "P('data','model')"))
            module = self.exported(folder, path)
            m = module.mesh()
            with module.policy():  # the lines of the export's usage; a move that the program asks for is one
                a = Tensor.from_dlpack(np.zeros((16, 8), np.int32)).to(module.mapping_of("w", m))
            b = Tensor.from_dlpack(np.zeros((16, 8), np.int32)).to(module.Mapping(m, (sharding.Sharded(1), sharding.Sharded(0))))
            with module.policy():
                try:
                    a + b
                except Exception as problem:
                    assert "reshard" in str(problem).lower(), problem
                    return 1
            raise AssertionError("a was moved")
        self.report.sample("policy", act)

    def strangers(self):
        """Weights that are not the design's are named: of another name, shape, or layer."""
        def told(act, *arguments):
            try:
                act(*arguments)
            except (KeyError, ValueError) as problem:
                return str(problem)
            raise AssertionError("nothing was found")

        def act(folder):
            module = self.exported(folder, for_profile(samples.designed(self.ctl, folder, "llama3-8b", "data=2,model=4", "megatron-tp")))
            weights = {tensor["name"]: np.broadcast_to(np.int8(0), tensor["shape"]) for tensor in samples.shards(folder)["tensors"]}
            module.verify(weights)
            weights["model.layers.3.mlp.other.weight"] = weights.pop("model.layers.3.mlp.up_proj.weight")
            weights["lm_head.weight"] = weights["lm_head.weight"][:7]
            text = told(module.verify, weights)
            for part in ("says nothing about 'model.layers.3.mlp.other.weight'", "'lm_head.weight' has shape [7, 4096], in the design [128256, 4096]",
                         "has 'model.layers.3.mlp.up_proj.weight', and the model does not"):
                assert part in text, text
            assert "says nothing about 'model.layers.32." in told(module.mapping_of, "model.layers.32.mlp.up_proj.weight", module.mesh())
            return len(weights)
        self.report.sample("another model", act)

    def broken(self):
        def act(folder):
            path = for_profile(samples.designed(self.ctl, folder, "llama3-8b", "data=2,model=4", "megatron-tp"))
            self.exported(folder, path)
            total = samples.own_check(folder, "max_design.py")
            script = os.path.join(folder, "max_design.py")
            with open(script, encoding="utf-8") as file:
                text = file.read()
            for old, new in (('mlp.up_proj.weight": (Replicated(), Sharded(0))', 'mlp.up_proj.weight": (Sharded(0), Replicated())'),
                             ('mlp.up_proj.weight": ("model", ShardingStrategy.rowwise(4))',
                              'mlp.up_proj.weight": ("model", ShardingStrategy.columnwise(4))')):
                assert text.count(old) == 1, old
                with open(script, "w", encoding="utf-8") as file:
                    file.write(text.replace(old, new))
                checked = samples.run(sys.executable, script)
                assert checked.returncode == 1 and f"{total - 32} of {total} " in checked.stdout, checked.stdout + checked.stderr[-500:]
            return total
        self.report.sample("wrong layouts are found", act)

    def refused(self):
        self.report.sample("llama3-8b pp-1f1b", lambda folder: self.refusal(folder, for_profile(samples.designed(
            self.ctl, folder, "llama3-8b", "stage=4,model=2", "pp-1f1b", ["--workload", "train", "--micro-batches", "4"])), "pipeline"))

    def all(self):
        self.layouts()
        self.strategies()
        self.uneven()
        self.generations()
        self.policy()
        self.strangers()
        self.refused()
        self.broken()
        self.models()
        self.report.end()


if __name__ == "__main__":
    Checks().all()
