#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports designs with shardctl and has the real PyTorch make the shards: they have to be those of shards.json, which comes from the plan.

Besides the export's own check, which asks every rank in turn, all ranks are simulated at once here (LocalTensorMode) and the
contents of their tensors compared. Ends with 0 when all are equal, 1 when one is not, 77 where Python has no PyTorch with DTensor
(SHARDBOARD_TORCH_PYTHON names another Python).
"""
import os
import re
import sys

import samples

samples.run_by("SHARDBOARD_TORCH_PYTHON")

try:
    import torch
    import torch.distributed as dist
    from torch.distributed._local_tensor import LocalTensorMode
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.testing._internal.distributed.fake_pg import FakeStore
except ImportError as problem:
    print(f"skipped: this Python has no PyTorch with DTensor ({problem}); SHARDBOARD_TORCH_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)


def tensor_of(pieces, join_dim, whole):
    """The part of `whole` that shards.json says a device holds."""
    parts = [whole[tuple(slice(lo, hi) for lo, hi in piece)] for piece in pieces]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=join_dim)


class Ranks:
    """All ranks of a design at once, in one process."""

    def __init__(self, module):
        self.module, self.world = module, max(module.ORDER) + 1
        self.known = {}

    def __enter__(self):
        dist.init_process_group("fake", store=FakeStore(), rank=self.module.ORDER[0], world_size=self.world)
        self.mode = LocalTensorMode(self.world)
        self.mode.__enter__()
        self.mesh = self.module.mesh("cpu")
        return self

    def __exit__(self, *problem):
        self.mode.__exit__(*problem)
        dist.destroy_process_group()

    def locals_of(self, whole, placements):
        local = distribute_tensor(whole, self.mesh, placements, src_data_rank=None).to_local()
        return getattr(local, "_local_tensors", None) or dict.fromkeys(range(self.world), local)

    def differs(self, tensor):
        """Whether a rank holds other elements than shards.json says: of each dim alone, and of a small tensor all of it."""
        placements = self.module.placements_of(tensor["name"])
        told = repr((tensor["shape"], tensor["shards"], placements))
        if told not in self.known:
            self.known[told] = self.compare(tensor, placements)
        return self.known[told]

    def compare(self, tensor, placements):
        shape = tensor["shape"]
        count = 1
        for size in shape:
            count *= size
        if "partial" in tensor:
            return self.differs_in_terms(torch.arange(count, dtype=torch.float64).reshape(shape), placements, tensor)
        if count <= 1 << 16:
            return self.compare_whole(torch.arange(count).reshape(shape), placements, tensor["shards"])
        for dim, size in enumerate(shape):
            whole = torch.arange(size).reshape([size if i == dim else 1 for i in range(len(shape))])
            along = [p if getattr(p, "dim", dim) == dim else Replicate() for p in placements]
            narrow = [{"devices": s["devices"], "join_dim": s["join_dim"],
                       "pieces": [[r if i == dim else [0, 1] for i, r in enumerate(p)] for p in s["pieces"]][:None if s["join_dim"] == dim else 1]}
                      for s in tensor["shards"]]
            if self.compare_whole(whole, along, narrow):
                return True
        return False

    def differs_in_terms(self, whole, placements, tensor):
        """Whether the terms of a sum, of which torch makes equal ones, add up to something else than the shards."""
        held = self.locals_of(whole, placements)
        terms = 1
        for axis, size in self.module.AXES:
            terms *= size if axis in tensor["partial"]["axes"] else 1
        return not all(torch.equal(sum(held[rank] for rank in s["devices"]) * terms / len(s["devices"]), tensor_of(s["pieces"], s["join_dim"], whole))
                       and not torch.equal(held[s["devices"][0]], tensor_of(s["pieces"], s["join_dim"], whole)) for s in tensor["shards"])

    def compare_whole(self, whole, placements, shards):
        held = self.locals_of(whole, placements)
        told = {device: tensor_of(s["pieces"], s["join_dim"], whole) for s in shards for device in s["devices"]}
        return sorted(told) != sorted(self.module.ORDER) or not all(torch.equal(held[rank], told[rank]) for rank in told)


def differing(module, proof):
    """Names of the tensors of which a rank holds other elements than shards.json says."""
    with Ranks(module) as ranks:
        return [tensor["name"] for tensor in proof["tensors"] if ranks.differs(tensor)]


def proven(shardctl, design, folder, alone=False):
    """How many tensors are equal, or why the export is refused. Its check runs here; `alone`: as a program, too, which starts torch."""
    refusal = samples.export(shardctl, design, "torch", folder)
    if refusal:
        return refusal
    module = samples.module(folder, "export")
    proof = samples.shards(folder)
    if alone:
        samples.own_check(folder, "export.py")
    wrong, total = module.check(os.path.join(folder, "shards.json"))
    assert not wrong, f"its own check: {wrong[:3]}"
    if module.STAGE_AXIS is None:  # ranks of one process are all on one stage
        wrong = differing(module, proof)
        assert not wrong, f"contents differ: {wrong[:3]}"
    return total


def refused(answer, *parts):
    """The refusal, which has to say one of these."""
    assert isinstance(answer, str), f"{answer} tensors were exported, and it has to be refused"
    assert any(part in answer for part in parts), answer
    return answer[:160]


def shuffled(document):
    """Another order of ranks."""
    count = 1
    for size in document["mesh"]["sizes"]:
        count *= size
    document["mesh"]["device_ids"] = [(i * 5 + 3) % count for i in range(count)]


def crossed(document):
    """Mesh axes on a dim in another order than in the mesh, which changes what shards hold and not their shapes."""
    document["strategies"] += [
        {"match": "*.mlp.up_proj.weight", "strategy": "spec", "spec": "P(('model','data'))"},
        {"match": "*.mlp.down_proj.weight", "strategy": "spec", "spec": "P('model','data')"},
        {"match": "*embed_tokens.weight", "strategy": "spec", "spec": "P(None,('model','data'))"},
    ]


def breaks_are_found(shardctl, folder):
    """A check that finds nothing wrong with a wrong layout would be none."""
    design = samples.designed(shardctl, folder, "llama3-8b", "data=2,model=4", "megatron-tp")
    assert samples.export(shardctl, design, "torch", folder) is None
    module, proof = samples.module(folder, "export"), samples.shards(folder)
    path = os.path.join(folder, "shards.json")
    assert not module.check(path)[0]
    pattern = next(p for p, (_, placements) in module.LAYOUT.items() if Shard(0) in placements)
    shape, placements = module.LAYOUT[pattern]
    for other in ((Replicate(), Replicate()), (Replicate(), Shard(1)), (Shard(0), Replicate()), (Replicate(), module._S(0, 2))):
        module.LAYOUT[pattern] = (shape, other)
        assert module.check(path)[0] and differing(module, proof), f"{other} in place of {placements}"
    module.LAYOUT[pattern] = (shape, placements)
    order = list(module.ORDER)
    module.ORDER[:] = order[1:] + order[:1]
    try:
        found = bool(module.check(path)[0])
    except ValueError:
        found = True
    assert found and differing(module, proof), "another order of ranks"
    module.ORDER[:] = order
    assert not module.check(path)[0]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("[0,32064]", "[0,32063]", 1))
    bad = samples.run(sys.executable, os.path.join(folder, "export.py"))
    assert bad.returncode == 1 and "differs:" in bad.stdout, bad.stdout + bad.stderr
    return len(proof["tensors"])


def strangers_are_named(shardctl, folder):
    """A model that is another one than the design's: all that differs in one error."""
    design = samples.designed(shardctl, folder, "llama3-8b", "data=2,model=4", "megatron-tp")
    assert samples.export(shardctl, design, "torch", folder) is None
    module = samples.module(folder, "export")
    with torch.device("meta"):
        model = torch.nn.Module()
        model.norm = torch.nn.Linear(3, 5)
        model.lm_head = torch.nn.Linear(4096, 7, bias=False)
        tied = torch.nn.Module()
        tied.embed_tokens = tied.lm_head = torch.nn.Embedding(128256, 4096)

    def told(act, *arguments):
        try:
            act(*arguments)
        except ValueError as problem:
            return str(problem)
        raise AssertionError("nothing was found")
    text = told(module.verify, model)
    for part in ("'norm.bias'", "'norm.weight' has shape (5, 3), in the design (4096,)", "'lm_head.weight' has shape (7, 4096)"):
        assert part in text, text
    assert "'lm_head.weight' is tied to 'embed_tokens.weight'" in told(module.verify, tied)
    lacks = told(module.verify_whole, tied, None)
    assert "the design has 'model.layers.31.mlp.up_proj.weight'" in lacks and "lm_head" not in lacks, lacks
    return "named: " + re.sub(r"\s+", " ", text)[:120]


def main():
    options = samples.arguments(__doc__).parse_args()
    shardctl = options.shardctl
    report = samples.Report("torch", f"PyTorch {torch.__version__.partition('+')[0]}", options)
    for model in samples.MODELS:
        for preset, mesh in samples.LAYOUTS_OF_MODELS:
            for workload in samples.WORKLOADS:
                report.sample(f"{model} {preset} on {mesh}, {workload}", lambda folder, of=(model, mesh, preset, workload): proven(
                    shardctl, samples.designed(shardctl, folder, *of[:3], ["--workload", of[3]]), folder, alone=of[2:] == ("fsdp", "train")))
    for name, spec in samples.LAYOUTS.items():
        def row(folder, spec=spec):
            return proven(shardctl, samples.loose(folder, (16, 8), "data=2,model=4", spec), folder)
        report.sample(f"{name} {spec}", row)
    for spec in samples.LAYOUTS_3D:
        def row3(folder, spec=spec):
            return proven(shardctl, samples.loose(folder, (64, 64), "pod=2,fsdp=4,tp=8", spec), folder)
        report.sample(f"three axes {spec}", row3)
    for size, mesh, spec in samples.UNEVEN:
        for cut in samples.CUT_RULES:
            report.sample(f"{size} over {mesh}, {cut}", lambda folder, of=(size, mesh, spec, cut): uneven(shardctl, folder, *of))
    report.sample("uneven in another order", lambda folder: refused(
        proven(shardctl, samples.loose(folder, (10, 4), "x=2,y=3", "P(('y','x'))", "ceil-nested"), folder), "another order"))
    for name, edit in (("shuffled", shuffled), ("crossed", crossed)):
        report.sample(f"llama3-8b {name}", lambda folder, edit=edit: proven(shardctl, samples.changed(
            samples.designed(shardctl, folder, "llama3-8b", "data=2,model=4", "megatron-tp"), edit), folder))
    for preset, count in (("pp-1f1b", 4), ("pp-interleaved", 4)):
        report.sample(f"llama3-8b {preset}", lambda folder, preset=preset, count=count: proven(shardctl, samples.designed(
            shardctl, folder, "llama3-8b", f"stage={count},model=2", preset, ["--workload", "train", "--micro-batches", "4"]), folder))
    report.sample("layouts that are broken", lambda folder: breaks_are_found(shardctl, folder))
    report.sample("another model", lambda folder: strangers_are_named(shardctl, folder))
    report.end()


def uneven(shardctl, folder, size, mesh, spec, cut):
    """torch cuts by ceil, axis after axis: what a rule cuts elsewhere is refused."""
    answer = proven(shardctl, samples.loose(folder, (size, 4), mesh, spec, cut), folder)
    if isinstance(answer, str):
        return refused(answer, "is cut by the rule", "does not divide")
    return answer


if __name__ == "__main__":
    main()
