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
