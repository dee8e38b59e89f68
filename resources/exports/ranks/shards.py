# `python check.py MODEL` compares the names and shapes in the safetensors files of that folder with the design as well.
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def skip(reason):
    """The framework cannot be asked here."""
    print(f"skipped: {reason}")
    sys.exit(77)


def in_a_child(act, *arguments):
    """What `act` returns, from a process of its own: frameworks keep the first rank that they are told."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        code = 1
        try:
            answer = json.dumps(act(*arguments))
            with os.fdopen(write, "w", encoding="utf-8") as file:
                file.write(answer)
            code = 0
        except SystemExit as end:
            print(end, file=sys.stderr)
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as file:
        answer = file.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code != 0:
        sys.exit(code)
    return json.loads(answer)


def tensors_of(path):
    """Shapes of the tensors in the safetensors files of a folder, by name: their headers are read alone."""
    out = {}
    try:
        names = [name for name in os.listdir(path) if name.endswith(".safetensors")]
        index = os.path.join(path, "model.safetensors.index.json")
        if os.path.exists(index):  # other files may hold the same weights under other names
            with open(index, encoding="utf-8") as file:
                names = set(json.load(file)["weight_map"].values())
        elif "model.safetensors" in names:
            names = ["model.safetensors"]
        files = sorted(os.path.join(path, name) for name in names)
        for file_name in files:
            with open(file_name, "rb") as file:
                length = int.from_bytes(file.read(8), "little")
                if length > os.path.getsize(file_name):
                    raise ValueError(f"{file_name!a} is no safetensors file")
                header = json.loads(file.read(length))
            out.update({name: list(entry["shape"]) for name, entry in header.items() if name != "__metadata__"})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        sys.exit(f"the checkpoint in {path!a} cannot be read: {problem}")
    if not out:
        sys.exit(f"{path!a} has no safetensors files")
    return out


class Wanted:
    """What shards.json, which comes from the plan of the design, gives every rank; a rank is the device of that id."""

    def __init__(self, path=os.path.join(HERE, "shards.json")):
        with open(path, encoding="utf-8") as file:
            self.document = json.load(file)
        self.ranks = sorted(self.document["mesh"]["device_ids"])
        self.tensors = {tensor["name"]: tensor for tensor in self.document["tensors"]}
        if not len(self.tensors) == len(self.document["tensors"]) == WEIGHTS:
            sys.exit(f"shards.json does not have each of the {WEIGHTS} weights of this design once: export all files together")
        self.held = {name: {device: joined(shard["pieces"], shard["join_dim"]) for shard in tensor["shards"] for device in shard["devices"]}
                     for name, tensor in self.tensors.items()}
        self.wrong = {}  # name: what differs, the first time
        for path in sys.argv[1:]:
            self.verify(path)

    def verify(self, path):
        """Ends with the names of a checkpoint's tensors that the design does not know, that have another shape, or that are missing."""
        there = tensors_of(path)
        if any(name.endswith(("qweight", "_packed", "_blocks", "_scales", "weight_scale", "weight_scale_inv")) for name in there):
            print(f"names and shapes in {path!a} are not compared: it is packed")
            return
        seen, told, experts = set(), [], {}
        for name, shape in there.items():
            known, want, number = name, self.tensors.get(name, {}).get("shape"), re.search(r"\.experts\.([0-9]+)\.", name)
            if want is None and number:  # experts of a layer are one tensor in the plan
                known = f"{name[:number.start()]}.experts.*.{name[number.end():]}"
                stacked = self.tensors.get(known, {}).get("shape", [0])
                want = stacked[1:] if int(number[1]) < stacked[0] else None
                experts[known] = experts.get(known, 0) + (want is not None)
            if want is None:
                if not name.endswith("rotary_emb.inv_freq") and name != "lm_head.weight":  # a constant, and the head that is the embedding
                    told.append(f"the design says nothing about {name!a}")
            elif shape != want:
                told.append(f"{name!a} has shape {shape}, in the design {want}")
            seen.add(known)
        told += [f"the design has {name!a}, and the checkpoint does not" for name in self.tensors if name not in seen]
        told += [f"the checkpoint has {count} of {name!a}, and the design {self.tensors[name]['shape'][0]}" for name, count in experts.items()
                 if name in self.tensors and count != self.tensors[name]["shape"][0]]
        if told:
            sys.exit(f"the checkpoint in {path!a} is not of this design's model, {MODEL!a}:\n  " + "\n  ".join(told[:20])
                     + (f"\n  and {len(told) - 20} more" if len(told) > 20 else ""))
        print(f"{len(there)} tensors of {path!a} have the names and shapes of the design")

    def differs(self, name, what):
        self.wrong.setdefault(name, what)

    def compare(self, name, rank, pieces):
        """`pieces` is what the framework puts on a rank: lists of [lo, hi) for each dim; empty where the rank has nothing."""
        want = self.held[name].get(rank, [])
        if pieces != want:
            self.differs(name, f"rank {rank} has {pieces}, in the plan {want}")

    def end(self, peer):
        """The last lines, and the end of the program."""
        total = len(self.tensors)
        for name, what in list(self.wrong.items())[:20]:
            print("differs:", ascii(name), what)
        print(f"{total - len(self.wrong)} of {total} tensors have the same shards in {peer}")
        sys.stdout.flush()
        os._exit(1 if self.wrong else 0)
