#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows as others may write them: what published.py makes options of, what it refuses in one sentence, and what it says of remarks."""
import published

ROW = {"group": "others", "title": "a run", "model": "llama3-8b", "hardware": "dgx-h100", "mesh": "fsdp=8", "preset": "fsdp", "batch": 64,
       "sequence": 4096}


def options(**keys):
    row = published.plain_row({**ROW, **keys})
    extra, _, _ = published.read_gaps(row)
    words = published.together(published.new_options(row, "."), [said for said, _ in extra])
    assert all(isinstance(word, str) for word in words), words
    return dict(zip(words[::2], words[1::2])) if "--fp8-gather" not in words and "--graphs" not in words else words


def refused(row):
    try:
        published.plain_row(row)
    except ValueError as failure:
        return str(failure)
    raise AssertionError(f"{row} is taken")


# Numbers as text or floats, words in capitals and lists, a mesh as an object or with spaces.
plain = options()
assert options(batch="64", sequence=4096.0, micro_batches=None, gaps=None, preset="FSDP", dtype="BF16") == plain
assert options(mesh={"fsdp": 8}) == plain and options(mesh=" fsdp = 8 ") == plain
assert options(recompute=["norms", "activations"])["--recompute"] == "norms,activations"
assert options(mesh="data=8", preset="dp", zero1=True)["--shard-optimizer"] == "data"
assert options(preset="hsdp")["--preset"] == "fsdp"  # one axis has no copies
assert published.plain_row({**ROW, "measured_tok": "1,234"})["measured_tok"] == 1234

# Remarks in one text; what several say of overlap and of types is joined, and goes before what the row says.
said = options(overlap="all", gaps="async TP; A2A overlap with 1F1B; bf16 optimizer states; gradients reduced in fp32")
assert said["--overlap"] == "weights,tensor,experts", said
assert said["--precision"] == "optimizer=bf16,reductions=f32", said
assert options(gaps=["CP: zigzag load balancing"])["--context-order"] == "head-tail"
assert options(gaps=["2 MTP modules"])["--mtp"] == "2" and plain["--mtp"] == "0"
assert options(gaps=["recompute of RMSNorm and MLA up-projection"])["--recompute"] == "norms,latent-up"
for remark, every in (("selective AC every second layer", "2"), ("full recompute of every 4th layer", "4"), ("every third layer: remat", "3")):
    said = options(gaps=[remark])
    assert said["--recompute"] == "full" and said["--recompute-every"] == every, remark
assert options(recompute="by-op", gaps=["AC every 2nd layer"])["--recompute"] == "by-op"
assert "f8e4m3" in options(gaps=["FP8 delayed scaling"])["--dtype"]
for remark, expressed in (("ZB-V schedule", False), ("Adafactor optimizer", False), ("tied embeddings", True)):
    _, left, unknown = published.read_gaps(published.plain_row({**ROW, "gaps": [remark]}))
    assert (not left) == expressed and not unknown, remark
_, _, unknown = published.read_gaps(published.plain_row({**ROW, "gaps": [3, {"a": 1}, None]}))
assert unknown == ["3", '{"a": 1}'], unknown

# One sentence for what is no row.
assert "object with keys" in refused("a string") and "object with keys" in refused(None)
assert "has no model" in refused({**ROW, "model": None}) and "mesh, hardware" in refused({"model": "x"})
assert "name=size" in refused({**ROW, "mesh": "fsdp:8"})
assert "no number" in refused({**ROW, "batch": "many"}) and "no number" in refused({**ROW, "sequence": [1]})
for number in (float("inf"), float("nan"), "1e400", -5):
    assert "which no run has" in refused({**ROW, "measured_gib": number}), number
for remark in ("layout of 0 layers by hand", "layout of 99999999999999999999 layers by hand", "capacity factor 1e309", "(((recompute of"):
    published.read_gaps(published.plain_row({**ROW, "gaps": [remark]}))  # told, not taken
print("all as expected")
