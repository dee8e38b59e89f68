#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks the picker of a released MAX wheel random questions, and shardctl the same under that release's profile.

Runs in a Python that has the wheel: SHARDBOARD_MAX_PYTHON names one or more (of virtual environments with
`pip install max==26.7.0`), with colons between them. Ends with 0 when all answers agree, 1 when one does not, 77 where there is no wheel or no profile for its release.
"""
import argparse
import collections
import json
import math
import random
import subprocess
import sys
import warnings

import samples

samples.run_by("SHARDBOARD_MAX_PYTHON")

try:
    from importlib.metadata import version

    RELEASE = version("max")
    from max.driver import CPU
    from max.dtype import DType
    from max.experimental import sharding as sh
    from max.experimental.sharding import placements as pl
    from max.experimental.sharding import rules
    from max.experimental.sharding.cost import tensor_byte_count, transition_cost
    from max.experimental.sharding.per_shard_dim import make_per_shard_dim
    from max.graph import Dim
except ImportError as problem:
    print(f"skipped: this Python has no MAX ({problem}); SHARDBOARD_MAX_PYTHON may name one that has")
    sys.exit(77)

PROFILES = {"26.6.0": "max-26.6", "26.7.0": "max-26.7"}
if RELEASE not in PROFILES:
    print(f"skipped: there is no profile for MAX {RELEASE}")
    sys.exit(77)
GREEDY = RELEASE == "26.6.0"
KINDS = {"R": pl.Replicated, "S": pl.Sharded, "P": pl.Partial}


def placement(code):
    if code == "R":
        return pl.Replicated()
    if code.startswith("S"):
        return pl.Sharded(int(code[1:]))
    if code.startswith("P"):
        return pl.Partial(getattr(pl.ReduceOp, code[1:].upper())) if code != "P" else pl.Partial()
    return pl.Unknown()


def code_of(value):
    if isinstance(value, pl.Sharded):
        return f"S{value.axis}"
    if isinstance(value, pl.Replicated):
        return "R"
    if isinstance(value, pl.Partial):
        op = getattr(value, "reduce_op", "sum")
        op = str(getattr(op, "value", op))
        return "P" if op in ("sum", "add") else "P" + op
    return "U"


def cells_of(size, cuts, mesh):
    """The size on each device: one balanced split over all mesh axes that cut the dim, or a name per device."""
    parts = math.prod(mesh.mesh_shape[axis] for axis in cuts)
    cells = []
    for device in range(mesh.num_devices):
        at = 0
        name = str(size)
        for axis in cuts:
            own = device // math.prod(mesh.mesh_shape[axis + 1:]) % mesh.mesh_shape[axis]
            at = at * mesh.mesh_shape[axis] + own
            name += f"_{mesh.axis_names[axis]}_{own}"
        cells.append(Dim(name) if isinstance(size, str) else Dim(size // parts + (at < size % parts)))
    return cells


def layout_of(given, mesh):
    places = tuple(placement(code) for code in given["placements"])
    shape = given["global_shape"]
    dims = []
    for at, size in enumerate(shape):
        cuts = [axis for axis, p in enumerate(places) if isinstance(p, pl.Sharded) and p.axis == at]
        dims.append(make_per_shard_dim(cells_of(size, cuts, mesh), global_dim=Dim(size)) if cuts else Dim(size))
    return sh.TensorLayout(getattr(DType, given["dtype"]), dims, sh.DeviceMapping(mesh, places))


def rule_of(question, x):
    """The call of the rule: what it is called with follows the operation's signature."""
    op = question["op"]
    a = question.get("attrs") or {}
    r = rules
    two = {"matmul": "matmul_rule", "outer": "outer_rule", "binary": "binary_rule", "linear_binary": "linear_binary_rule",
           "buffer_store": "buffer_store_rule", "rms_norm": "rms_norm_rule"}
    if op in two:
        return getattr(r, two[op])(*x, *([1e-5] if op == "rms_norm" else []))
    if op in ("mul", "div"):
        return getattr(r, "binary_rule" if GREEDY else op + "_rule")(*x)
    if op == "cast":
        if GREEDY:
            return r.unary_rule(x[0])
        return r.cast_rule(x[0], x[0].dtype if a.get("same_dtype") else DType.float16)
    one = {"unary": "unary_rule", "linear_unary": "linear_unary_rule", "argsort": "argsort_rule", "band_part": "band_part_rule",
           "as_interleaved_complex": "as_interleaved_complex_rule", "fold": "fold_rule", "irfft": "irfft_rule"}
    if op in one:
        extra = {"band_part": [None, None], "fold": [(2, 2), (2, 2)]}.get(op, [])
        return getattr(r, one[op])(x[0], *extra)
    if op in ("pool", "linear_pool"):
        return getattr(r, op + "_rule")(x[0], (2, 2))
    if op == "resize":
        return (r.resize_linear_rule if GREEDY else r.resize_rule)(x[0], list(question["inputs"][0]["global_shape"]))
    if op == "layer_norm":
        return r.layer_norm_rule(*x, 1e-5)
    if op == "ternary":
        return r.ternary_rule(*x)
    if op in ("conv2d", "conv2d_transpose"):
        from max.graph.type import ConvInputLayout
        keyed = {"groups": a["groups"]} if "groups" in a else {}
        if a.get("layout") == "NCHW":
            keyed["input_layout"] = ConvInputLayout.NCHW
        return getattr(r, op + "_rule")(*x, **keyed)
    if op in ("reduce", "softmax", "linear_reduce"):
        return getattr(r, op + "_rule")(x[0], a["axis"])
    if op == "cumsum":
        return (r.linear_reduce_rule if GREEDY else r.cumsum_rule)(x[0], a["axis"])
    if op == "mean":
        return (r.mean_rule if GREEDY else r.reduce_rule)(x[0], a["axis"])
    if op == "top_k":
        return r.top_k_rule(x[0], a["k"], a["axis"])
    if op == "permute":
        return r.permute_rule(x[0], a["dims"])
    if op == "transpose":
        return r.transpose_rule(x[0], a["axis_1"], a["axis_2"])
    if op in ("unsqueeze", "squeeze"):
        return getattr(r, op + "_rule")(x[0], a["axis"])
    if op == "flatten":
        return r.flatten_rule(x[0], a["start_dim"], a["end_dim"])
    if op in ("reshape", "broadcast_to"):
        shape = [x[0].shape[int(dim.rsplit(" ", 1)[1])] if isinstance(dim, str) and dim.startswith("dim of") else dim
                 for dim in a["shape"]]
        if not GREEDY:
            from max.experimental.sharding.rules import shape as shapes
            local = (shapes.localize_reshape_target if op == "reshape" else shapes.localize_same_shape_target)(x[0], shape)
            shape = shape if local is None else local
        return getattr(r, op + "_rule")(x[0], shape)
    if op in ("concat", "stack"):
        from max.experimental.sharding.rules.shape import concat_rule, stack_rule
        return (concat_rule if op == "concat" else stack_rule)(list(x), a["axis"])
    if op == "chunk":
        return r.chunk_rule(x[0], a["chunks"], a["axis"])
    if op == "split":
        return r.split_rule(x[0], a["split_sizes"], a["axis"])
    if op == "tile":
        return r.tile_rule(x[0], a["repeats"])
    if op == "pad":
        return r.pad_rule(x[0], a["paddings"])
    if op == "repeat_interleave":
        return r.repeat_interleave_rule(x[0], a["repeats"], a["axis"])
    if op == "slice":
        index = tuple(slice(1, None) if k in a["touched"] else slice(None) for k in range(x[0].rank))
        return r.slice_tensor_rule(x[0], index)
    if op == "gather":
        return r.gather_rule(x[0], x[1], a["axis"])
    if op == "gather_nd":
        return r.gather_nd_rule(x[0], x[1], a["batch_dims"])
    if op == "scatter":
        return r.scatter_rule(x[0], x[1], x[2], a["axis"])
    if op == "scatter_nd":
        return r.scatter_nd_rule(*x)
    if op == "custom":
        rows = []
        for needed, result in question["rows"]:
            needed = tuple(placement(code) for code in needed)
            rows.append(sh.AxisAssignment(needed, placement(result)) if GREEDY
                        else sh.AxisAssignment(needed, (placement(result),)))
        return sh.build_action_set(rows, layouts=tuple(x)) if GREEDY else rows
    raise KeyError(op)


def ask_wheel(question):
    shape = question["mesh"]["shape"]
    mesh = sh.DeviceMesh([CPU()] * math.prod(shape), tuple(shape), tuple(question["mesh"]["axes"]))
    try:
        layouts = [layout_of(each, mesh) for each in question["inputs"]]
        menu = rule_of(question, layouts)
        if GREEDY:
            policy = question.get("policy") or {}
            solver = (sh.GreedyReshard(allow_partial_to_sharded=policy.get("allow_partial_to_sharded", False))
                      if question["picker"] == "GreedyReshard" else getattr(sh, question["picker"])())
            action = solver(menu, menu.layouts)
            moved = []
            for entry in action.inputs:
                moved.extend(entry if isinstance(entry, (list, tuple)) else [entry])
            to = [m for m in moved if isinstance(m, sh.DeviceMapping)]
            places = [m.to_placements() for m in to]
            out = action.outputs[0].to_placements() if action.outputs else None
        else:
            from max.experimental.sharding._auto_reshard import pick_reshard_action
            policy = question.get("policy") or {}
            allowed = policy.get("allowed_transitions", "DEFAULT")
            if isinstance(allowed, list):
                allowed = {tuple(KINDS[code] for code in pair.split("->")) for pair in allowed}
            else:
                allowed = getattr(sh, allowed + "_TRANSITIONS")
            mode = {"mode": policy["mode"]} if "mode" in policy else {}
            with sh.auto_reshard(allowed, **mode):
                action = pick_reshard_action(menu, tuple(layouts), op_name="op", operand_names=())
            places = [m.placements for m in action.inputs]
            out = action.outputs[0].placements if action.outputs else None
    except (sh.ShardingError, ValueError, RuntimeError, IndexError, TypeError) as refusal:
        return {"error": type(refusal).__name__, "reason": str(refusal)[:200]}
    sizes = [tensor_byte_count(each) for each in layouts]
    cost = sum(transition_cost(placement(was), p, message_bytes=size, mesh=mesh, axis_index=axis)
               for each, given, size in zip(places, question["inputs"], sizes)
               for axis, (was, p) in enumerate(zip(given["placements"], each)))
    return {"inputs": [[code_of(p) for p in each] for each in places],
            "output": [code_of(p) for p in out] if out is not None else None,
            "bytes": sizes, "cost": cost}


SIZES = [1, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 32, 48, 64, 96, 100, 128]
MESHES = [[1], [2], [3], [4], [8], [2, 2], [2, 3], [2, 4], [4, 2], [1, 4], [8, 4], [2, 2, 2]]
AXES = {1: ["tp"], 2: ["dp", "tp"], 3: ["dp", "fsdp", "tp"]}


class Asker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def shape(self, fewest=1, most=4):
        out = [self.random.choice(SIZES) for _ in range(self.random.randint(fewest, most))]
        if out and self.random.random() < 0.08:
            out[self.random.randrange(len(out))] = self.random.choice(["batch", "seq"])
        return out

    def given(self, shape, mesh, dtype=None):
        places = []
        for _ in mesh:
            kind = self.random.random()
            cuttable = [k for k in range(len(shape))]
            places.append("R" if kind < 0.37 or not cuttable else "P" if kind < 0.52 else f"S{self.random.choice(cuttable)}")
        return {"global_shape": shape, "placements": places, "dtype": dtype or self.random.choice(["float32", "float32", "bfloat16"])}

    def question(self):
        r = self.random
        op = r.choice(["argsort", "as_interleaved_complex", "band_part", "binary", "binary", "broadcast_to", "buffer_store", "cast",
                       "chunk", "concat", "conv2d", "conv2d_transpose", "cumsum", "custom", "div", "flatten", "fold", "gather",
                       "gather_nd", "irfft", "layer_norm", "linear_binary", "linear_binary", "linear_pool", "linear_reduce",
                       "linear_unary", "matmul", "matmul", "mean", "mul", "mul", "outer", "pad", "permute", "pool", "reduce",
                       "repeat_interleave", "reshape", "reshape", "reshape", "resize", "rms_norm", "scatter", "scatter_nd", "slice",
                       "softmax", "split", "squeeze", "stack", "ternary", "ternary", "tile", "top_k", "transpose", "unary",
                       "unsqueeze"])
        mesh = r.choice(MESHES)
        out = {"op": op, "mesh": {"shape": mesh, "axes": AXES[len(mesh)]}}
        if GREEDY:
            out["picker"] = r.choice(["GreedyReshard"] * 7 + ["NoReshard", "PartialsOnly"])
            if out["picker"] == "GreedyReshard":
                out["policy"] = {"allow_partial_to_sharded": r.random() < 0.45}
        else:
            kinds = ["P->R", "P->S", "R->P", "R->S", "S->R", "S->S"]
            allowed = r.choice(["DEFAULT", "DEFAULT", "ALL", sorted(r.sample(kinds, r.randint(1, 6)))])
            out["picker"] = "auto_reshard"
            out["policy"] = {"allowed_transitions": allowed, "mode": r.choice(["silent"] * 5 + ["raise"])}
        attrs = {}
        one = self.shape()
        rank = len(one)
        axis = r.randrange(-rank, rank)
        shapes = [one]
        if op in ("binary", "linear_binary", "mul", "div", "ternary"):
            def broadcast(s):
                s = [1 if r.random() < 0.2 else n for n in s]
                return s[r.randrange(len(s)):] if r.random() < 0.25 and len(s) > 1 else s
            shapes = [broadcast(one) for _ in range(3 if op == "ternary" else 2)]
        elif op == "matmul":
            batch = self.shape(0, 2) if r.random() < 0.5 else []
            m, k, n = (r.choice(SIZES) for _ in range(3))
            shapes = [[*batch, m, k], [*batch, k, n] if r.random() < 0.5 else [k, n]]
            if r.random() < 0.1:
                shapes[1] = [k]
            elif r.random() < 0.1:
                shapes[0] = [k]
        elif op == "outer":
            shapes = [[r.choice(SIZES)], [r.choice(SIZES)]]
        elif op == "buffer_store":
            shapes = [one, one]
        elif op in ("rms_norm", "layer_norm"):
            tail = r.randint(1, rank) if op == "layer_norm" else 1
            shapes = [one, one[-tail:]] + ([one[-tail:]] if op == "layer_norm" else [])
        elif op in ("concat", "stack"):
            count = r.randint(2, 3)
            if op == "concat":
                shapes = [list(one) for _ in range(count)]
                for s in shapes:
                    s[axis] = r.choice(SIZES)
            else:
                shapes = [one] * count
                axis = r.randrange(-rank - 1, rank + 1)
            attrs = {"axis": axis}
        elif op in ("conv2d", "conv2d_transpose"):
            channels = r.choice([4, 8, 16])
            shapes = [[r.choice([1, 2, 4, 8]), 7, 7, channels], [3, 3, channels, r.choice([4, 8, 12])]]
            if op == "conv2d_transpose":
                shapes[1] = [3, 3, r.choice([4, 8, 12]), channels]
        elif op in ("pool", "linear_pool", "resize"):
            shapes = [[r.choice(SIZES) for _ in range(4)]]
        elif op == "fold":
            shapes = [[r.choice(SIZES) for _ in range(3)]]
        elif op == "band_part":
            shapes = [self.shape(2, 4)]
        elif op == "as_interleaved_complex":
            shapes = [[*self.shape(1, 3), 2]]
        elif op == "custom":
            shapes = [self.shape(2, 2) for _ in range(r.randint(1, 3))]
            rows = []
            for _ in range(r.randint(1, 6)):
                rows.append([[r.choice(["R", "S0", "S1", "R", "P"]) for _ in shapes], r.choice(["R", "S0", "S1", "P"])])
            out["rows"] = rows
        elif op in ("reduce", "softmax", "linear_reduce", "cumsum", "mean"):
            attrs = {"axis": axis}
        elif op == "top_k":
            attrs = {"axis": axis, "k": 1}
        elif op == "permute":
            attrs = {"dims": r.sample(range(rank), rank)}
        elif op == "transpose":
            attrs = {"axis_1": axis, "axis_2": r.randrange(-rank, rank)}
        elif op == "unsqueeze":
            attrs = {"axis": r.randrange(-rank - 1, rank + 1)}
        elif op == "squeeze":
            one[axis] = 1
            attrs = {"axis": axis}
        elif op == "flatten":
            first = r.randrange(rank)
            attrs = {"start_dim": first, "end_dim": r.randrange(first, rank)}
        elif op == "broadcast_to":
            shapes = [[1 if r.random() < 0.4 else n for n in one]]
            attrs = {"shape": ([r.choice([2, 4])] if r.random() < 0.3 else [])
                     + [(r.choice(SIZES) if r.random() < 0.6 else 1) if n == 1 else n for n in shapes[0]]}
        elif op == "reshape":
            one[:] = [n if isinstance(n, int) else 4 for n in one] if r.random() < 0.8 else one
            target = list(one)
            for _ in range(r.randint(1, 3)):
                at = r.randrange(len(target))
                kind = r.random()
                if kind < 0.4 and len(target) > 1:
                    at = r.randrange(len(target) - 1)
                    if isinstance(target[at], int) and isinstance(target[at + 1], int):
                        target[at:at + 2] = [target[at] * target[at + 1]]
                elif kind < 0.8 and isinstance(target[at], int):
                    divisors = [d for d in range(1, target[at] + 1) if target[at] % d == 0]
                    d = r.choice(divisors)
                    target[at:at + 1] = [d, target[at] // d]
            if r.random() < 0.3:
                target[r.randrange(len(target))] = -1
            attrs = {"shape": target}
        elif op == "chunk":
            attrs = {"axis": axis, "chunks": r.choice([2, 3])}
        elif op == "split":
            one[axis] = r.choice([7, 8, 10, 12, 16, 20])
            sizes = [one[axis] // 2, one[axis] - one[axis] // 2] if r.random() < 0.6 else [one[axis] // 4, one[axis] - one[axis] // 4]
            attrs = {"axis": axis, "split_sizes": sizes}
        elif op == "tile":
            attrs = {"repeats": [r.choice([1, 1, 2, 3]) for _ in one]}
        elif op == "pad":
            attrs = {"paddings": [r.choice([0, 0, 1]) for _ in range(2 * rank)]}
        elif op == "repeat_interleave":
            attrs = {"axis": r.choice([None, axis]), "repeats": 2}
        elif op == "slice":
            attrs = {"touched": sorted(r.sample(range(rank), r.randint(0, rank)))}
        elif op == "gather":
            shapes = [one, self.shape(1, 2)]
            attrs = {"axis": axis}
        elif op == "gather_nd":
            batch = r.randint(0, min(2, rank - 1))
            shapes = [one, [*one[:batch], r.choice(SIZES), 1]]
            attrs = {"batch_dims": batch}
        elif op == "scatter":
            shapes = [one, one, one]
            attrs = {"axis": axis}
        elif op == "scatter_nd":
            shapes = [one, one, [r.choice(SIZES), 1]]
        elif op == "cast":
            attrs = {"same_dtype": r.random() < 0.5}
        if attrs:
            out["attrs"] = attrs
        out["inputs"] = []
        for at, shape in enumerate(shapes):
            indices = (op in ("gather", "gather_nd") and at == 1) or (op == "scatter" and at == 2) or (op == "scatter_nd" and at == 2)
            dtype = "int64" if indices else r.choice(["int32", "float32"]) if op == "cumsum" else None
            out["inputs"].append(self.given(list(shape), mesh, dtype))
        return out


def ask_shardctl(shardctl, question):
    asked = {key: question[key] for key in ("op", "attrs", "mesh", "rows", "policy", "picker") if key in question}
    asked["profile"] = PROFILES[RELEASE]
    asked["inputs"] = [{key: each[key] for key in ("global_shape", "placements", "dtype")} for each in question["inputs"]]
    run = subprocess.run([shardctl, "pick", "-", "--json"], input=json.dumps(asked), capture_output=True, text=True)
    if run.returncode == 3:
        return {"error": run.stderr.strip()[:200]}
    if run.returncode != 0:
        return {"broken": run.returncode, "stderr": run.stderr[:300]}
    return json.loads(run.stdout)


def agree(mine, real):
    if "error" in real:
        return "error" in mine
    if "inputs" not in mine or mine["inputs"] != real["inputs"]:
        return False
    cost = math.inf if mine["cost"] is None else mine["cost"]  # JSON has no word for it
    if not math.isclose(cost, real["cost"], rel_tol=1e-9):
        return False
    return real["output"] is None or mine.get("output") == real["output"]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--shardctl", required=True)
    options.add_argument("--vectors", help="a file of questions and answers")
    options.add_argument("--count", type=int, default=600)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--show", type=int, default=10, help="how many differences are printed")
    options.add_argument("--wheel-only", action="store_true", help="hold the answers of the file against the wheel's")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    if given.vectors:
        with open(given.vectors, encoding="utf-8") as file:
            questions = [v for v in json.load(file)["vectors"] if v.get("release") == RELEASE]
    else:
        asker = Asker(given.seed)
        questions = [asker.question() for _ in range(given.count)]
    different = collections.Counter()
    shown = 0
    refused = 0
    for question in questions:
        real = ask_wheel(question)
        refused += "error" in real
        mine = question["expect"] if given.wheel_only else ask_shardctl(given.shardctl, question)
        if not agree(mine, real):
            different[question["op"]] += 1
            if shown < given.show:
                shown += 1
                print(json.dumps({k: question[k] for k in question if k not in ("expect", "source", "dispatch")}))
                print("   wheel:", json.dumps(real))
                print("   mine: ", json.dumps({k: mine.get(k) for k in ("inputs", "output", "cost", "error", "broken", "stderr") if k in mine}))
    print(f"MAX {RELEASE}: {len(questions)} questions, {refused} refused by the wheel, {sum(different.values())} answers differ", dict(different))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
