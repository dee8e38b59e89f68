#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports designs to TensorRT-LLM with shardctl, has TensorRT-LLM's mapping number the ranks and deal layers and experts, and holds
designs that are refused to the reason.

Ends with 0 when all shards are those of shards.json, 1 when one is not, 77 where Python has no TensorRT-LLM
(SHARDBOARD_TRTLLM_PYTHON names another Python).
"""
import os
import sys

import samples

samples.run_by("SHARDBOARD_TRTLLM_PYTHON")

try:
    import tensorrt_llm
except ImportError as problem:
    print(f"skipped: this Python has no TensorRT-LLM ({problem}); SHARDBOARD_TRTLLM_PYTHON may name one that has")
    sys.exit(samples.SKIPPED)

REASONS = {"fsdp": "weights are gathered before use", "tp+fsdp": "weights are gathered before use"}
UNKNOWN = {model: "cuts the weights of each family by code of its own" for model in ("gemma2-9b", "deepseek2-16b")}


def give(match, spec):
    return lambda document: document["strategies"].append({"match": match, "strategy": "spec", "spec": spec})


def main():
    options = samples.arguments(__doc__.splitlines()[0]).parse_args()
    shardctl = options.shardctl
    report = samples.Report("trtllm", f"the mapping of TensorRT-LLM {tensorrt_llm.__version__}", options)

    def exported(folder, model, mesh, preset, layers=2, *more, edit=None):
        def edited(document):
            document["model"]["num_hidden_layers"] = layers
            if edit:
                edit(document)
        out = os.path.join(folder, "out")
        design = samples.changed(samples.designed(shardctl, folder, model, mesh, preset, more), edited)
        return out, samples.export(shardctl, design, "trtllm", out)

    def equal(*arguments, **keywords):
        out, why = exported(*arguments, **keywords)
        assert why is None, why
        return samples.own_check(out, "check.py")

    def refused(reason, *arguments, **keywords):
        _, why = exported(*arguments, **keywords)
        assert why and reason in why, why
        return why

    for model in samples.MODELS:
        for preset, mesh in samples.LAYOUTS_OF_MODELS:
            reason = REASONS.get(preset) or UNKNOWN.get(model)
            whole = give("*embed_tokens.weight", "P()") if model == "mixtral-8x7b" else None
            report.sample(f"{model} {preset} prefill",
                          lambda folder: refused(reason, folder, model, mesh, preset, edit=whole) if reason
                          else equal(folder, model, mesh, preset, edit=whole))
            report.sample(f"{model} {preset} train", lambda folder: refused(
                "TensorRT-LLM serves models", folder, model, mesh, preset, 2, "--workload", "train"))
    report.sample("mixtral-8x7b vocabulary cut", lambda folder: refused(
        "in TensorRT-LLM 0:32000", folder, "mixtral-8x7b", "model=4", "megatron-tp"))
    report.sample("mixtral-8x7b data-parallel attention", lambda folder: equal(folder, "mixtral-8x7b", "data=2,expert=4", "ep"))
    report.sample("llama3-8b in three stages", lambda folder: equal(folder, "llama3-8b", "stage=3,model=2", "pp-1f1b", 5))
    for name, spec in samples.LAYOUTS.items():
        def one(folder):
            design = samples.loose(folder, (16, 8), "data=2,model=4", spec)
            why = samples.export(shardctl, design, "trtllm", os.path.join(folder, "out"))
            assert why and "for this model that is not known" in why, why
            return why
        report.sample(f"one tensor {name}", one)

    def broken(folder):
        out, why = exported(folder, "llama3-8b", "stage=2,model=2", "pp-1f1b")
        assert why is None, why
        path = os.path.join(out, "trtllm.yaml")
        with open(path, encoding="utf-8") as file:
            good = file.read()
        for what, by in (("tensor_parallel_size: 2", "tensor_parallel_size: 4"), ("pipeline_parallel_size: 2", "pipeline_parallel_size: 1")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(good.replace(what, by))
            checked = samples.run(sys.executable, os.path.join(out, "check.py"))
            assert checked.returncode not in (0, 77), f"a broken config is not found: {checked.stdout[-300:]}"
        return "two broken configs are found"
    report.sample("configs that are broken", broken)
    report.end()


if __name__ == "__main__":
    main()
