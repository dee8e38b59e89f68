#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports designs as Shardy MLIR and has the MLIR and the XLA inside JAX read them: the module is parsed and verified, printed back,
converted to HloSharding, and compared with shards.json; texts are compared with those that JAX itself lowers. See samples.py and xla.py.
"""
import math
import os
import re

import samples
import xla
from xla import jax, np

from jax._src.lib.mlir.dialects import sdy

# formats of the field: one tensor [16, 8] on data=2, model=4
EXPECTED = {
    "L1": '[{"model"}, {}]', "L2": '[{}, {"model"}]', "L3": '[{"data"}, {"model"}]', "L4": '[{"model"}, {"data"}]',
    "L5": '[{"data", "model"}, {}]', "L6": '[{"model", "data"}, {}]', "L7": "[{}, {}]",
    "L8": '[{"data"}, {}], unreduced={"model"}', "P('fsdp',unreduced={'tp'})": '[{"fsdp"}, {}], unreduced={"tp"}',
    "P('fsdp','tp')": '[{"fsdp"}, {"tp"}]', "P('tp','fsdp')": '[{"tp"}, {"fsdp"}]',
    "P(('pod','fsdp'),'tp')": '[{"pod", "fsdp"}, {"tp"}]', "P('tp',('pod','fsdp'))": '[{"tp"}, {"pod", "fsdp"}]',
    "P(('fsdp','tp'))": '[{"fsdp", "tp"}, {}]', "P(('pod','tp'),'fsdp')": '[{"pod", "tp"}, {"fsdp"}]',
}


def expect(name, spec, text):
    want = f"#sdy.sharding<@mesh, {EXPECTED[spec if name == '3D' else name]}>"
    assert text == want, f"{text} for {want}"


def rewrite(folder, name):
    """In both files, or the check says that they differ."""
    path = os.path.join(folder, "shardings.json")

    def edit(document):
        assert document["weights"][name]["sharding"] == '#sdy.sharding<@mesh, [{"model"}, {}]>'
        document["weights"][name]["sharding"] = '#sdy.sharding<@mesh, [{"data"}, {}]>'
    samples.changed(path, edit)
    with open(os.path.join(folder, "design.mlir"), encoding="utf-8") as file:
        text = file.read()
    pattern = r'(%model\.layers\.\d+\.' + name.rsplit("*.")[-1].replace(".", r"\.") + r': [^{]*\{sdy\.sharding = #sdy\.sharding<@mesh, \[\{")model'
    text, count = re.subn(pattern, r"\1data", text)
    assert count == 32, count
    with open(os.path.join(folder, "design.mlir"), "w", encoding="utf-8") as file:
        file.write(text)


class ShardyChecks(xla.Checks):
    def exported(self, folder, path):
        """Also that the module says what shardings.json says, and prints back as it was written."""
        module = super().exported(folder, path)
        if isinstance(module, str):
            return module
        with open(os.path.join(folder, "design.mlir"), encoding="utf-8") as file:
            text = file.read()
        parsed = module.parsed(text)
        printed = str(parsed)
        # MLIR's printer: its own names of values, results on one line, no comments.
        shardings = re.compile(r"#sdy\.sharding<@mesh, .*?>(?=[},\s]|$)|sharding_constraint %\S+ <@mesh, .*?> :")

        def found(of):
            return [re.sub(r"%\S+", "%", match) for match in shardings.findall(of)]
        assert found(text) == found(printed) and found(text), "printed otherwise"
        names = module.names_of(parsed)
        tensors = [tensor["name"] for tensor in samples.shards(folder)["tensors"]] + list(module.DESIGN["inputs"])
        assert names == tensors, "names of the arguments"
        made = module.shardings_of_design()
        for name in tensors:
            assert str(made[name]) == str(module.sharding_of(name)), name
        pinned = [name for name, value in module.DESIGN["activations"].items() if value["pinned"]]
        assert module.names_of(parsed, "activations") == pinned, "pinned activations"
        return module


def annotated(checks):
    """The lines of the export's usage, on a real module, which XLA compiles for the devices and which holds what it has to."""
    def act(folder):
        path = samples.loose(folder, [16, 8], "data=2,model=4", samples.LAYOUTS["L6"])
        module = checks.exported(folder, path)
        argument = jax.ShapeDtypeStruct((16, 8), "int32")

        def lowered():
            return jax.jit(lambda w, x: (w + x, w), keep_unused=True).lower(argument, argument).compiler_ir("stablehlo")

        made = module.annotate(lowered(), ["w", None])
        assert made.operation.verify()
        shardings = module.hlo_shardings(made)
        assert str(shardings[0]) == "{devices=[8,1]<=[2,4]T(1,0)}" and shardings[1] is None, shardings
        module.annotate(made, ["w", "w"])  # once more: the mesh is there already
        client = jax.devices()[0].client
        options = xla.xla_client.CompileOptions()
        options.num_replicas, options.num_partitions = 1, 8
        build = options.executable_build_options
        build.num_partitions, build.use_spmd_partitioning, build.use_shardy_partitioner = 8, True, True
        options.device_assignment = xla.xla_client.DeviceAssignment.create(np.arange(8).reshape(1, 8))
        compiled = client.compile_and_load(str(made), xla.xla_client.DeviceList(tuple(jax.devices()[:8])), options)
        got = [str(xla.xla_client.HloSharding.from_proto(sharding)) for sharding in compiled.get_parameter_shardings()]
        assert [str(xla.xla_client.HloSharding.from_string(g)) for g in got] and all("[8,1]" in g for g in got), got
        for wrong, why in ((["nothing", None], "says nothing"), (["w"], "arguments")):
            try:
                module.annotate(lowered(), wrong)
            except (KeyError, ValueError) as problem:
                assert why in str(problem), problem
            else:
                raise AssertionError(f"{wrong} was taken")
        return 2
    checks.report.sample("annotate", act)


def lowered_text(named, rank):
    """What JAX itself writes for an argument with this sharding."""
    size = math.prod(named.mesh.shape.values())
    argument = jax.ShapeDtypeStruct((size,) * rank, "int8", sharding=named)
    text = jax.jit(lambda x: x).lower(argument).as_text()
    return re.search(r"sdy\.sharding = (#sdy\.sharding<@mesh, .*?>)[},]", text)[1]


def partial_texts(checks):
    """Values that are partial, maxima and minima among them: our text is one that Shardy reads and prints as it is."""
    def act(folder):
        rng = xla.random.Random(9)
        path = samples.loose(folder, [16, 8], "a=2,b=3,c=4", "P()")
        module = checks.exported(folder, path)
        count = 100
        kinds = ["sum", "max", "min"] if hasattr(sdy, "ReductionOp") else ["sum"]  # newer JAX alone
        for _ in range(count):
            rank = rng.randint(1, 3)
            dims = [[] for _ in range(rank)]
            partial = []
            for axis in rng.sample(["a", "b", "c"], rng.randint(1, 3)):
                rng.choice([*dims, partial]).append(axis)
            kind = rng.choice(kinds)
            entries = [f"({''.join(repr(a) + ',' for a in dim)})" if dim else "None" for dim in dims]
            if partial:
                entries.append(f"unreduced={{{repr(partial)[1:-1]}}}")
                entries += [f"unreduced_kind={kind}"] if kind != "sum" else []
            made = samples.run(checks.ctl, "notation", f"P({', '.join(entries)})", "--mesh", "a=2,b=3,c=4", "--rank", rank, "--to", "shardy")
            assert made.returncode == 0, made.stderr
            text = f"#sdy.sharding<@mesh, {made.stdout.strip()}>"
            program = (f"{module.mesh_text()}\nfunc.func public @main(%0: tensor<{'24x' * rank}i8> {{sdy.sharding = {text}}}) {{ return }}")
            assert text in str(module.parsed(program)), f"{text} is printed otherwise"
        return count
    checks.report.sample("partial values", act)


# Each is wrong, and has to be so for Shardy and for our reader alike.
WRONG = ['[{"x"}, {"x"}]', '[{"nope"}, {}]', '[{"x":(1)8}, {}]', '[{"x":(1)2, "x":(2)2}, {}]', '[{"x":(3)2}, {}]', '[{"x":(1)1}, {}]',
         '[{"x"}, {}], replicated={"x"}', '[{"x"}, {}], unreduced={"x"}', '[{"x":(1)4, "x":(2)4}, {}]', '[{"x"}, {}], replicated={"y", "y"}',
         '[{"x"p1}, {}]', '[{"x"}p01, {}]', '[{}p1, {}]', '[{"x"}, {}], unreduced={"y"}, unreduced={"y"}', '[{"x", "x"}, {}]', '[{x}, {}]',
         '[{"x"}', '["x", {}]', '[{"x"}, {}], sharded={"y"}', '[{"x":(2)8}, {}]', '[{"x":2}, {}]', '[{"x":(1)}, {}]', '[{"x"} {}]',
         '[{"x"},, {}]', '[{"x"}, {}], replicated={}', '[{"x"}, {}, {}]', '[{"x"}]', '[{"y":(1)2}, {}]', '[{"x":(0)2}, {}]', '[{"x":(-1)2}, {}]',
         '[{"x":(1)3}, {}]', '[{"x":(2)4, "x":(4)2}, {}]', '[{"x":(1)4}, {"x":(2)2}]', '[{"x"}, {}], unreduced={"y"', '[{?, "x"}, {}]',
         '[{"x"}pp1, {}]', '[{"x"}, {}], unreduced=avg{"y"}', '[{"x"}, {}], replicated="y"', '', '[]', '{"x"}, {}']


def wrong_texts(checks):
    def act(folder):
        path = samples.loose(folder, [16, 8], "x=8,y=2", "P()")
        module = checks.exported(folder, path)
        taken = []
        for text in WRONG:
            program = (f"{module.mesh_text()}\nfunc.func public @main(%0: tensor<16x8xi8> {{sdy.sharding = "
                       f"#sdy.sharding<@mesh, {text}>}}) {{ return }}")
            try:
                module.parsed(program)
                theirs = True
            except Exception:  # of MLIR
                theirs = False
            ours = samples.run(checks.ctl, "notation", text, "--from", "shardy", "--mesh", "x=8,y=2", "--rank", 2).returncode == 0
            if ours or theirs:
                taken.append(f"{text} (Shardy: {theirs}, ours: {ours})")
        assert not taken, taken
        return len(WRONG)
    checks.report.sample("wrong texts are refused", act)


def main():
    checks = ShardyChecks("shardy", "shardings", None, expect, None, rewrite)
    checks.all()
    annotated(checks)
    partial_texts(checks)
    wrong_texts(checks)
    checks.random_texts(lowered_text, designs=6, weights=60)
    checks.report.end()


if __name__ == "__main__":
    main()
