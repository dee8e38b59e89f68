#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays out the parameter trees of MaxText's own models by the export to JAX: the shards have to be those of shards.json.

MaxText builds each model once, without values; export.py's shardings() takes the tree as it is, and what devices would hold is compared
by the name map of maxtext_export.py. A parameter that JAX cannot lay out as the design has it is named with the reason, and has to be one
of those below. Ends with 0, 1, or 77 where Python has no MaxText (SHARDBOARD_MAXTEXT_PYTHON names another Python).
"""
import importlib.metadata
import sys

import samples

samples.run_by("SHARDBOARD_MAXTEXT_PYTHON")

import maxtext_export  # noqa: E402

try:
    import jax
    import maxtext.utils.model_creation_utils  # noqa: F401
    from jax.sharding import NamedSharding
except ImportError as problem:
    print(f"skipped: this Python has no MaxText with JAX ({problem}); SHARDBOARD_MAXTEXT_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

LAYOUTS = [*samples.LAYOUTS_OF_MODELS, ("hsdp", "data=2,fsdp=4"), ("ep", "fsdp=2,expert=4"), ("tp-sp+fsdp", "fsdp=2,tensor=4")]
DENSE = {"ep"}  # presets for experts alone
# A design may cut heads that JAX's arrays have as a dim of their own: seven heads are not cut in two.
HEADS = "do not divide into the"


def nested(tree):
    """Shapes by path as a tree of shapes."""
    out = {}
    for path, (shape, _) in tree.items():
        *parents, last = path.split("/")
        at = out
        for parent in parents:
            at = at.setdefault(parent, {})
        at[last] = jax.ShapeDtypeStruct(tuple(shape), "float32")
    return out


def laid(export, tree):
    """The tree as maxtext_export.py compares it, with what each device would hold; and why other parameters are not laid out."""
    mesh = export.mesh([export.Numbered(i) for i in export.ORDER])
    held, why = {}, {}

    def hold(path, leaf, sharding):
        assert isinstance(sharding, NamedSharding), path
        indices = sharding.devices_indices_map(leaf.shape)
        held[path] = leaf.shape, {str(d.id): [list(s.indices(n)[:2]) for s, n in zip(i, leaf.shape)] for d, i in indices.items()}
    try:
        shardings = export.shardings(nested(tree), mesh)
        for (path, leaf), sharding in zip(export.leaves_of(nested(tree)), jax.tree.leaves(shardings), strict=True):
            hold(path, leaf, sharding)
    except ValueError as problem:
        for path, leaf in export.leaves_of(nested(tree)):
            try:
                hold(path, leaf, NamedSharding(mesh, export.spec_of_leaf(path, leaf.shape)))
            except ValueError as reason:
                why[path] = str(reason)
                assert path in str(problem), f"{path} is not in the error"
    return held, why


def main():
    options = samples.arguments(__doc__).parse_args()
    report = samples.Report("jax", f"MaxText {importlib.metadata.version('maxtext')}", options)
    for model in samples.MODELS:
        trees = {}

        def tree_of(folder, model=model, trees=trees):
            """MaxText's tree, which is the same under every layout."""
            if model not in trees:
                design = samples.designed(options.shardctl, folder, model, "data=2,model=4", "megatron-tp", ["--workload", "train"])
                refused = samples.export(options.shardctl, design, "maxtext", folder)
                assert refused is None, refused
                trees[model] = maxtext_export.built_tree(folder, model, 8)
            return trees[model]
        for preset, mesh in LAYOUTS:
            if preset in DENSE and not model.startswith(tuple(maxtext_export.MIXTURES)):
                continue

            def sample(folder, model=model, preset=preset, mesh=mesh, tree_of=tree_of):
                tree = tree_of(folder)
                design = samples.designed(options.shardctl, folder, model, mesh, preset, ["--workload", "train"])
                refused = samples.export(options.shardctl, design, "jax", folder)
                assert refused is None, refused
                held, why = laid(samples.module(folder, "export"), tree)
                assert len(held) + len(why) == len(tree)
                assert all(HEADS in reason for reason in why.values()), why
                wrong, seen = maxtext_export.differing(folder, model, held, whole=not why)
                assert not wrong, f"{sorted(wrong)[:3]} of {seen}"
                for reason in why.values():
                    print(f"    {reason}")
                return seen
            report.sample(f"{model} {preset} on {mesh}", sample)
    report.end()


if __name__ == "__main__":
    main()
