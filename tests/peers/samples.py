# SPDX-License-Identifier: Apache-2.0
"""What the scripts of this folder share: designs to export, the export itself, its own check, and the record of what was proven.

A script exports every sample for one target, has the framework make the shards, and ends with 0 when all are equal or refused for the
right reason, 1 when something is not, and 77 (skipped, with a sentence) where the framework is not there.
"""
import argparse
import contextlib
import datetime
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROOFS = os.path.join(ROOT, "resources", "exports", "proofs.json")

MODELS = ["llama3-8b", "qwen2.5-7b", "gemma2-9b", "mixtral-8x7b", "deepseek2-16b"]
# Preset, and a mesh of eight devices on which it makes sense.
LAYOUTS_OF_MODELS = [
    ("megatron-tp", "data=2,model=4"),
    ("tp-sp", "data=2,model=4"),
    ("fsdp", "fsdp=8"),
    ("tp+fsdp", "fsdp=2,tensor=4"),
]
WORKLOADS = ["train", "prefill"]

# One tensor [16, 8] on data=2, model=4: every layout that notations tell apart.
LAYOUTS = {
    "L1": "P('model')",
    "L2": "P(None,'model')",
    "L3": "P('data','model')",
    "L4": "P('model','data')",
    "L5": "P(('data','model'))",
    "L6": "P(('model','data'))",
    "L7": "P()",
    "L8": "P('data',unreduced={'model'})",
}
# One tensor [64, 64] on pod=2, fsdp=4, tp=8.
LAYOUTS_3D = [
    "P('fsdp','tp')",
    "P('tp','fsdp')",
    "P(('pod','fsdp'),'tp')",
    "P('tp',('pod','fsdp'))",
    "P(('fsdp','tp'))",
    "P(('pod','tp'),'fsdp')",
    "P('fsdp',unreduced={'tp'})",
]
CUT_RULES = ["strict", "ceil-flat", "ceil-nested", "balanced"]
# Elements, mesh, spec: dims that do not divide, over one mesh axis and over two.
UNEVEN = [
    (10, "x=4", "P('x')"),
    (5, "x=4", "P('x')"),
    (5, "x=2,y=2", "P(('x','y'))"),
    (10, "x=2,y=3", "P(('x','y'))"),
    (28, "x=8", "P('x')"),
    (32000, "x=12", "P('x')"),
]


def run_by(variable):
    """Where the environment names another Python in `variable`, or several, each of them runs the script instead."""
    if variable not in os.environ:
        return
    inner = {key: value for key, value in os.environ.items() if key != variable}
    ends = [abs(subprocess.run([python, *sys.argv], env=inner, check=False).returncode)
            for python in os.environ[variable].split(os.pathsep)]
    sys.exit(max((end for end in ends if end != SKIPPED), default=SKIPPED))


def arguments(description):
    """The options that every script has: --shardctl, --only, --record."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--shardctl", default="shardctl")
    parser.add_argument("--only", default="", help="only samples whose name has this text")
    parser.add_argument("--record", action="store_true", help="write what was proven to resources/exports/proofs.json")
    return parser


def run(*command, environment=None):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, env=environment)


def designed(shardctl, folder, model, mesh, preset, options=()):
    """A design of a built-in model: the path of its file."""
    path = os.path.join(folder, "d.shardboard")
    new = run(shardctl, "new", "--model", model, "--mesh", mesh, "--preset", preset, "--batch", 16, "--sequence", 64, *options, "-o", path)
    assert new.returncode == 0, new.stderr
    return path


def changed(path, edit):
    """Lets `edit` change the document of a design."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    edit(document)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return path


def loose(folder, shape, mesh, spec, cut=None, device_ids=None, name="w"):
    """A design of one tensor without a model: the path of its file. `mesh` is `data=2,model=4`."""
    axes = [axis.split("=") for axis in mesh.split(",")]
    entry = {"match": name, "strategy": "spec", "spec": spec}
    if cut:
        entry["cut"] = cut
    document = {
        "format": "shardboard", "version": 1, "hardware": "dgx-h100",
        "mesh": {"axes": [axis for axis, _ in axes], "sizes": [int(size) for _, size in axes]},
        "model": {"name": "one tensor", "source": "one tensor", "dtype": "f32", "not_understood": "it is one tensor", "family": "",
                  "activation": "silu", "attention_bias": "none", "mlp_bias": False, "qk_norm": False, "tie_word_embeddings": False,
                  "head_dim": 0, "hidden_size": 0, "intermediate_size": 0, "num_attention_heads": 0, "num_hidden_layers": 0,
                  "num_key_value_heads": 0, "vocab_size": 0, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "weight_prefix": "model.",
                  "weights": [{"dtype": "f32", "name": name, "shape": list(shape)}]},
        "strategies": [entry], "picker": {"profile": "shardboard"},
        "workload": {"batch": 8, "dtype": "f32", "kind": "prefill", "sequence": 64},
    }
    if device_ids:
        document["mesh"]["device_ids"] = list(device_ids)
    path = os.path.join(folder, "one.shardboard")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return path


def export(shardctl, design, target, folder):
    """None when it was exported, else the one line that says why it was refused."""
    made = run(shardctl, "export", design, "--to", target, "-o", folder)
    if made.returncode == 0:
        return None
    assert made.returncode == 3 and made.stderr.strip(), f"exit {made.returncode}: {made.stderr}"
    assert not os.path.exists(os.path.join(folder, "shards.json")), "a refused export leaves no files"
    return made.stderr.strip()


class Exports:
    """Designs of models of a few layers, exported to one target that says sizes in a file `config` and has its check in check.py."""

    def __init__(self, shardctl, target, config, imports):
        self.shardctl, self.target, self.config, self.ready = shardctl, target, config, Ready(imports)

    def made(self, folder, model, mesh, preset, layers, *more, edit=None):
        def edited(document):
            document["model"]["num_hidden_layers"] = layers
            if edit:
                edit(document)
        return changed(designed(self.shardctl, folder, model, mesh, preset, more), edited)

    def exported(self, folder, design):
        """The folder with the export, and why it was refused."""
        out = os.path.join(folder, "out")
        return out, export(self.shardctl, design, self.target, out)

    def equal(self, folder, design, *parts):
        """Exports and checks a design whose config has these parts; how many tensors are equal."""
        out, why = self.exported(folder, design)
        assert why is None, why
        with open(os.path.join(out, self.config), encoding="utf-8") as file:
            text = file.read()
        for part in parts:
            assert part in text, f"{part} is not in {text}"
        return own_check(out, "check.py", self.ready)

    def refused(self, folder, design, reason):
        _, why = self.exported(folder, design)
        assert why and reason in why, why
        return why


def give(match, spec):
    """An edit of a document: the weights that match lie so."""
    return lambda document: document["strategies"].append({"match": match, "strategy": "spec", "spec": spec})


def share_heads(document):
    """Two ranks share each KV head, on the mesh head=8,part=2."""
    for names, spec in (("q gate up", "P(('head','part'))"), ("k v", "P('head')"), ("o down", "P(None,('head','part'))")):
        for name in names.split():
            give(f"*.{name}_proj.weight", spec)(document)
    for name in ("*embed_tokens.weight", "lm_head.weight"):
        give(name, "P(('head','part'))")(document)
    document["strategies"].append({"match": "tokens", "strategy": "replicate"})


def one_whole(document):
    """An edit: one weight of each layer is whole on every rank."""
    document["strategies"].append({"match": "*.up_proj.weight", "strategy": "replicate"})


def shards(folder):
    with open(os.path.join(folder, "shards.json"), encoding="utf-8") as file:
        return json.load(file)


def module(folder, name):
    """A Python file of an export, imported."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, name + ".py"))
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def by_device(tensor):
    """Pieces of a tensor of shards.json by device id."""
    return {device: shard["pieces"] for shard in tensor["shards"] for device in shard["devices"]}


# Of a ready Python: reads paths of scripts, and writes the exit status of each.
SERVES = """
import os, runpy, sys, traceback
exec(sys.argv[1])
for line in sys.stdin:
    script = line.rstrip("\\n")
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for stream, end in ((1, ".out"), (2, ".err")):
            os.dup2(os.open(script + end, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        sys.argv = [script]
        sys.path.insert(0, os.path.dirname(script))
        code = 0
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else end.code is not None
            if code is True:
                print(end.code, file=sys.stderr)
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(code))
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Ready:
    """A Python that has imported a framework: each script runs in a fork of it. Importing takes ten times as long as most checks. The
    first script is run by a Python of its own, as users run it. Of exports that are the same byte for byte one is run: most are the same
    for training and prefill."""

    def __init__(self, imports, environment=None):
        self.imports = imports
        self.environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", **(environment or {})}
        self.first, self.server, self.known = True, None, {}

    def run(self, script):
        """As `run` of the Python with that script alone."""
        folder = os.path.dirname(script)
        files = []
        for path, _, names in sorted(os.walk(folder)):
            for name in sorted(name for name in names if not name.endswith((".pyc", ".shardboard"))):
                with open(os.path.join(path, name), "rb") as file:
                    files.append((os.path.relpath(file.name, folder), hashlib.sha256(file.read()).digest()))
        if tuple(files) not in self.known:
            self.known[tuple(files)] = self.ran(script)
        return self.known[tuple(files)]

    def ran(self, script):
        if self.first:
            self.first = False
            return run(sys.executable, script, environment=self.environment)
        if self.server is None:
            self.server = subprocess.Popen([sys.executable, "-c", SERVES, self.imports], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           text=True, env=self.environment)
        self.server.stdin.write(script + "\n")
        self.server.stdin.flush()
        # Frameworks print while they are imported.
        answer = next((line for line in self.server.stdout if line.startswith("ended ")), None)
        assert answer, f"the Python that has run `{self.imports}` is gone"
        texts = []
        for end in (".out", ".err"):
            with open(script + end, encoding="utf-8") as file:
                texts.append(file.read())
        return subprocess.CompletedProcess([script], int(answer.split()[1]), *texts)


def own_check(folder, script, ready=None):
    """Has the export check itself, by a ready Python or one of its own; returns how many tensors are equal."""
    environment = {key: value for key, value in os.environ.items() if key not in ("JAX_PLATFORMS", "XLA_FLAGS")}
    path = os.path.join(folder, script)
    checked = ready.run(path) if ready else run(sys.executable, path, environment=environment)
    last = (checked.stdout.strip().splitlines() or [""])[-1]
    assert checked.returncode == 0, f"exit {checked.returncode}: {checked.stdout[-800:]}{checked.stderr[-2000:]}"
    equal, of, total = last.split()[:3]
    assert of == "of" and equal == total and int(total) > 0, last
    return int(total)


class Report:
    """One line a sample, and at the end the exit code and the record."""

    def __init__(self, target, peer, options):
        self.target, self.peer, self.options = target, peer, options
        self.equal = self.tensors = self.refused = self.failed = 0

    def sample(self, name, act):
        """`act(folder)` returns how many tensors are equal, or a text that says why it was refused, as it has to be."""
        if self.options.only not in name:
            return
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                answer = act(folder)
            except AssertionError as problem:
                self.failed += 1
                text = f"FAILED: {problem}"
            else:
                if isinstance(answer, int):
                    self.equal += 1
                    self.tensors += answer
                    text = f"{answer} tensors are equal"
                else:
                    self.refused += 1
                    text = f"refused: {answer}"
        print(f"{name}: {text} ({time.monotonic() - start:.1f} s)", flush=True)

    def end(self):
        print(f"{self.target}: {self.equal} exports with {self.tensors} tensors are equal in {self.peer}, {self.refused} are refused as they "
              f"have to be, {self.failed} failed")
        if self.options.record and not self.failed and not self.options.only:
            record(self.target, self.peer, self.equal, self.tensors, self.refused)
        sys.exit(1 if self.failed or not self.equal else 0)


def record(target, peer, exports, tensors, refused):
    """Keeps the newest proof of a target by a peer, whose name ends with its version: `JAX 0.11.1`. Of MAX, whose releases are profiles
    of their own, it keeps one for each."""
    known = []
    with contextlib.suppress(FileNotFoundError), open(PROOFS, encoding="utf-8") as file:
        known = json.load(file)
    def kind(name):
        return name if target == "max" else name.rsplit(" ", 1)[0]
    known = [proof for proof in known if (proof["target"], kind(proof["peer"])) != (target, kind(peer))]
    known.append({"target": target, "peer": peer, "date": datetime.date.today().isoformat(), "exports": exports, "tensors": tensors,
                  "refused": refused})
    known.sort(key=lambda proof: (proof["target"], proof["peer"]))
    with open(PROOFS, "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join("  " + json.dumps(proof) for proof in known) + "\n]\n")
