#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every Python file of every export can be compiled, and all names in it are defined. It needs no framework.

The checks of exports run where a framework is; a name that nobody defines would be found by those alone who have it.
"""
import builtins
import dis
import json
import os
import tempfile
import types

import samples

DESIGNS = [  # between them every target takes at least one
    ("llama3-8b", "data=2,model=4", "megatron-tp", ["--workload", "prefill"]),
    ("llama3-8b", "model=8", "megatron-tp", ["--workload", "decode"]),
    ("llama3-8b", "fsdp=8", "fsdp", ["--workload", "train"]),
    ("llama3-8b", "data=2,model=4", "tp-sp", ["--workload", "train"]),
    ("mixtral-8x7b", "data=2,model=4", "megatron-tp", ["--workload", "prefill"]),
]


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def undefined(path):
    with open(path, encoding="utf-8") as file:
        top = compile(file.read(), os.path.basename(path), "exec")
    defined, used = set(dir(builtins)) | {"__name__", "__file__", "__doc__"}, set()
    for code in codes(top):
        for step in dis.get_instructions(code):
            if step.opname in ("STORE_NAME", "STORE_GLOBAL"):
                defined.add(step.argval)
            elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
                used.add(step.argval)
    return sorted(used - defined)


class Checks:
    def __init__(self):
        self.options = samples.arguments(__doc__).parse_args()
        self.failed = 0

    def target(self, target):
        seen = files = 0
        for model, mesh, preset, options in DESIGNS:
            with tempfile.TemporaryDirectory() as folder:
                path = samples.designed(self.options.shardctl, folder, model, mesh, preset, options)
                if target == "max":
                    samples.changed(path, lambda document: document["picker"].update(profile="max-26.7"))
                out = os.path.join(folder, "out")
                if samples.export(self.options.shardctl, path, target, out):
                    continue
                seen += 1
                for name in sorted(os.listdir(out)):
                    if name.endswith(".py"):
                        files += 1
                        for missing in undefined(os.path.join(out, name)):
                            self.failed += 1
                            print(f"{target} {model} {preset}: {name}: the name {missing} is not defined")
        if seen == 0:
            self.failed += 1
            print(f"{target}: takes none of the designs")
        print(f"{target}: {files} Python files of {seen} exports")

    def all(self):
        with tempfile.TemporaryDirectory() as folder:
            path = samples.designed(self.options.shardctl, folder, "llama3-8b", "model=8", "megatron-tp")
            listed = json.loads(samples.run(self.options.shardctl, "export", path, "--targets", "--json").stdout)
        targets = [target["id"] for target in (listed if isinstance(listed, list) else listed["targets"])]
        assert targets, "there are no targets"
        for target in targets:
            if self.options.only in target:
                self.target(target)
        raise SystemExit(1 if self.failed else 0)


if __name__ == "__main__":
    Checks().all()
