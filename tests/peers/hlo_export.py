#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports designs as HloSharding and has the XLA inside JAX read them: by the export's own check, by JAX's map of every sharding, by
arrays, and by the text that JAX itself gives for the same layout. See samples.py and xla.py.
"""
import os
import re

import samples
import xla
from xla import jax, xla_client

# formats of the field: one tensor [16, 8] on data=2, model=4
EXPECTED = {
    "L1": "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
    "L2": "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
    "L3": "{devices=[2,4]<=[8]}",
    "L4": "{devices=[4,2]<=[2,4]T(1,0)}",
    "L5": "{devices=[8,1]<=[8]}",
    "L6": "{devices=[8,1]<=[2,4]T(1,0)}",
    "L7": "{replicated}",
    "L8": "{devices=[2,1,4]<=[8] last_tile_dims={unreduced}}",
    "P('fsdp',unreduced={'tp'})": "{devices=[4,1,2,8]<=[2,4,8]T(1,0,2) last_tile_dims={replicated, unreduced}}",
    "P('fsdp','tp')": "{devices=[4,8,2]<=[2,32]T(1,0) last_tile_dim_replicate}",
    "P('tp','fsdp')": "{devices=[8,4,2]<=[2,4,8]T(2,1,0) last_tile_dim_replicate}",
    "P(('pod','fsdp'),'tp')": "{devices=[8,8]<=[64]}",
    "P('tp',('pod','fsdp'))": "{devices=[8,8]<=[8,8]T(1,0)}",
    "P(('fsdp','tp'))": "{devices=[32,1,2]<=[2,32]T(1,0) last_tile_dim_replicate}",
    "P(('pod','tp'),'fsdp')": "{devices=[16,4]<=[2,4,8]T(0,2,1)}",
}


def expect(name, spec, text):
    want = EXPECTED[spec if name == "3D" else name]
    assert text == want, f"{text} for {want}"


def rewrite(folder, name):
    path = os.path.join(folder, "hlo_shardings.json")

    def edit(document):
        assert document["weights"][name]["sharding"] == "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"
        document["weights"][name]["sharding"] = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"
    samples.changed(path, edit)


def annotated(checks):
    """The lines of the export's usage, on a real module; XLA reads them."""
    def act(folder):
        path = samples.designed(checks.ctl, folder, "llama3-8b", "data=2,model=4", "tp-sp")
        module = checks.exported(folder, path)
        names = ["model.layers.3.self_attn.q_proj.weight", None, "tokens", "model.layers.0.mlp.down_proj.weight"]
        shapes = [module.entry_of(name)["shape"] if name else [2] for name in names]
        arguments = [jax.ShapeDtypeStruct(shape, "int32") for shape in shapes]

        def lowered():
            return jax.jit(lambda *values: [value + 1 for value in values], keep_unused=True).lower(*arguments).compiler_ir("stablehlo")

        text = xla.hlo_of(module.annotate(lowered(), names))
        for number, name in enumerate(names):
            line = re.search(rf"parameter\({number}\)(.*)", text)[1]
            assert (f"sharding={module.text_of(name)}" in line) if name else ("sharding" not in line), line
        for wrong, why in ((["nothing", *names[1:]], "says nothing"), ([names[3], *names[1:]], "has the shape"), (names[:2], "arguments")):
            try:
                module.annotate(lowered(), wrong)
            except (KeyError, ValueError) as problem:
                assert why in str(problem), problem
            else:
                raise AssertionError(f"{wrong} was taken")
        return len(names) - 1
    checks.report.sample("annotate", act)


def partial_texts(checks):
    """Values that are partial: our text and JAX's mean the same to XLA, which writes the groups in an order of its own."""
    def act(folder):
        rng = xla.random.Random(8)
        count = 150
        for _ in range(count):
            axes = [f"a{i}" for i in range(rng.randint(1, 4))]
            sizes = [rng.choice([2, 2, 3, 4]) if axis != "a3" else 1 for axis in axes]
            rank = rng.randint(1, 3)
            dims = [[] for _ in range(rank)]
            partial = []
            for axis in rng.sample(axes, rng.randint(1, len(axes))):
                rng.choice([*dims, partial]).append(axis)
            partial.sort()
            entries = [f"({''.join(repr(a) + ',' for a in dim)})" if dim else "None" for dim in dims]
            spec = f"P({', '.join(entries + ([f'unreduced={{{repr(partial)[1:-1]}}}'] if partial else []))})"
            mesh = ",".join(f"{a}={n}" for a, n in zip(axes, sizes))
            made = samples.run(checks.ctl, "notation", spec, "--mesh", mesh, "--rank", rank, "--to", "hlo")
            assert made.returncode == 0, made.stderr
            ours = xla_client.HloSharding.from_string(made.stdout.strip())
            theirs = xla.named_sharding(axes, sizes, dims, partial)._to_xla_hlo_sharding(rank)
            assert str(ours) == str(theirs), f"{spec} on {mesh}: {made.stdout.strip()} reads {ours}, JAX has {theirs}"
        return count
    checks.report.sample("partial values", act)


def main():
    checks = xla.Checks("hlo", "hlo_shardings", None, expect, None, rewrite)
    checks.all()
    annotated(checks)
    partial_texts(checks)
    checks.random_texts(lambda named, rank: str(named._to_xla_hlo_sharding(rank)))
    checks.report.end()


if __name__ == "__main__":
    main()
