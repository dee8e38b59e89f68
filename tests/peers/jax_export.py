#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports designs with shardctl and has the real JAX make the shards: they have to be those of shards.json, which comes from the plan.

Ends with 0 when all are, 1 when one is not, 77 where Python has no JAX (SHARDBOARD_JAX_PYTHON names another Python).
"""
import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time

if "SHARDBOARD_JAX_PYTHON" in os.environ and os.environ.get("SHARDBOARD_JAX_PYTHON_RUNS") != "1":
    os.environ["SHARDBOARD_JAX_PYTHON_RUNS"] = "1"
    os.execvp(os.environ["SHARDBOARD_JAX_PYTHON"], [os.environ["SHARDBOARD_JAX_PYTHON"], *sys.argv])

DEVICES = 32
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
try:
    import jax
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec as P
except ImportError as problem:
    print(f"skipped: this Python has no JAX ({problem}); SHARDBOARD_JAX_PYTHON may name one that has")
    sys.exit(77)

# Model, mesh, preset, and what else `shardctl new` is told.
EXPORTED = [
    ("llama3-8b", "data=2,model=4", "megatron-tp", []),
    ("llama3-8b", "data=2,model=4", "replicate", []),
    ("qwen2.5-7b", "model=4,data=2", "tp-sp", ["--workload", "train"]),
    ("llama2-7b", "data=8", "fsdp", []),
    ("llama3-70b", "data=2,fsdp=8", "hsdp", []),
    ("gemma2-9b", "tensor=4,fsdp=4", "tp+fsdp", ["--workload", "train"]),
    ("qwen3-4b", "fsdp=2,tensor=8", "tp-sp+fsdp", []),
    ("mixtral-8x7b", "fsdp=2,expert=4", "ep", []),
    ("deepseek2-16b", "data=2,fsdp=2,expert=4,tensor=2", "ep+tp", []),
    ("gpt-oss-20b", "expert=4,tensor=4", "ep+tp", []),
    ("llama3-8b", "context=4,fsdp=2", "cp-ring", []),
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
    design["mesh"]["device_ids"] = [(i * 5 + 3) % DEVICES for i in range(count)]


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


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


def made(shardctl, folder, model, mesh, preset, options):
    path = os.path.join(folder, "d.shardboard")
    new = run(shardctl, "new", "--model", model, "--mesh", mesh, "--preset", preset, "--batch", 16, "--sequence", 64, *options, "-o", path)
    assert new.returncode == 0, new.stderr
    return path


def module_of(folder):
    spec = importlib.util.spec_from_file_location("export", os.path.join(folder, "export.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    module = module_of(folder)
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shardctl", default="shardctl")
    parser.add_argument("--all", action="store_true", help="every built-in model, preset and mesh instead: some minutes")
    arguments = parser.parse_args()
    shardctl = arguments.shardctl
    if arguments.all:
        sys.exit(1 if check_all(shardctl) else 0)
    failed = 0

    def report(case, act):
        nonlocal failed
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                text = act(folder)
            except AssertionError as problem:
                failed += 1
                text = f"FAILED: {problem}"
        print(f"{case}: {text} ({time.monotonic() - start:.1f} s)", flush=True)

    print(f"JAX {jax.__version__}")
    for model, mesh, preset, options in EXPORTED:
        report(f"{model} {preset} on {mesh}",
               lambda folder: f"{check_export(shardctl, folder, made(shardctl, folder, model, mesh, preset, options))[2]} tensors are equal")
    for model, mesh, preset, edits in EDITED:
        def edited(folder):
            path = made(shardctl, folder, model, mesh, preset, [])
            with open(path, encoding="utf-8") as file:
                design = json.load(file)
            for edit in edits:
                edit(design)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(design, file)
            return f"{check_export(shardctl, folder, path)[2]} tensors are equal"
        report(f"{model} {preset} on {mesh}, {' and '.join(edit.__name__ for edit in edits)}", edited)

    def broken(folder):
        path = made(shardctl, folder, "llama3-8b", "data=2,model=4", "megatron-tp", [])
        module, proof, _ = check_export(shardctl, folder, path)
        check_that_breaks_are_found(module, proof, folder)
        return "found by the module's own check, and by arrays"
    report("layouts that are broken", broken)
    for model, mesh, preset, options, why in REFUSED:
        def refused(folder):
            export = run(shardctl, "export", made(shardctl, folder, model, mesh, preset, options), "--to", "jax", "-o", folder)
            assert export.returncode == 3 and any(part in export.stderr for part in why.split("|")), f"{export.returncode} {export.stderr}"
            assert not os.path.exists(os.path.join(folder, "export.py"))
            return "refused"
        report(f"{model} {preset} on {mesh}", refused)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
