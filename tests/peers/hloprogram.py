# SPDX-License-Identifier: Apache-2.0
"""Collectives of a compiled program, read from XLA's HLO text: kind, mesh axes, bytes, how often they run, and what becomes of them."""
import collections
import functools
import itertools
import re

import numpy as np

BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "s64": 8, "u64": 8, "s32": 4, "u32": 4, "s16": 2, "u16": 2, "pred": 1, "s8": 1, "u8": 1}
KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
# What hands a value on as it is, or in another form of the same size.
SAME = {"bitcast", "bitcast-convert", "copy", "copy-start", "copy-done", "reshape", "transpose", "convert", "get-tuple-element",
        "optimization-barrier", "all-reduce-done", "all-gather-done", "async-done", "async-start", "tuple"}
# What computes each element of those at the same place.
ELEMENTWISE = {"add", "subtract", "multiply", "divide", "negate", "select", "maximum", "minimum", "and", "or", "exponential", "clamp", "tanh",
               "sqrt", "rsqrt", "power", "compare", "logistic", "all-reduce", "all-reduce-start"}
PRODUCTS = {"dot", "convolution", "custom-call"}
# What puts elements of a value elsewhere, as a rotation of halves does.
MOVED = {"slice", "concatenate", "pad"}


class Instruction:
    """One line of a computation."""

    def __init__(self, computation, name, shape, kind, operands, rest, line):
        self.computation, self.name, self.shape, self.kind, self.operands = computation, name, shape, kind, operands
        self.rest, self.line = rest, line
        self.called = [n for n in re.findall(r"(?:calls|to_apply|body|condition|called_computation)=%?([\w.\-]+)", rest)]
        for listed in re.findall(r"(?:branch_computations|called_computations)=\{([^}]*)\}", rest):
            self.called += re.findall(r"%?([\w.\-]+)", listed)

    def arrays(self):
        return [(dtype, [int(n) for n in dims.split(",") if n]) for dtype, dims in re.findall(r"(\w+)\[([\d,]*)\]", self.shape)]

    def size(self):
        """Elements of all arrays."""
        return sum(int(np.prod(dims, dtype=np.int64)) for _, dims in self.arrays())


def closed(text, start):
    """Where the parenthesis that opens at `start` closes."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    return len(text)


class Program:
    """All computations of a module, and who uses what."""

    def __init__(self, text):
        self.computations = {}
        self.roots = {}
        self.entry = None
        current = None
        for line in text.splitlines():
            if head := re.match(r"(ENTRY )?%?([\w.\-]+) \(.*\{$", line):
                current = head[2]
                self.computations[current] = {}
                self.entry = current if head[1] else self.entry
            elif current and (one := self.read(current, line)):
                self.computations[current][one.name] = one
                if line.lstrip().startswith("ROOT"):
                    self.roots[current] = one
        self.users = collections.defaultdict(list)
        self.callers = collections.defaultdict(list)
        for instructions in self.computations.values():
            for one in instructions.values():
                for i, operand in enumerate(one.operands):
                    self.users[one.computation, operand].append((one, i))
                for name in one.called:
                    self.callers[name].append(one)
        self.known_times = {}
        self.parameters = {(one.computation, int(re.search(r"parameter\((\d+)\)", one.line)[1])): one
                           for instructions in self.computations.values() for one in instructions.values() if one.kind == "parameter"}

    @staticmethod
    def read(computation, line):
        at = re.match(r"\s+(?:ROOT )?%?([\w.\-]+) = ", line)
        if not at:
            return None
        start = at.end()
        end = closed(line, start) + 1 if line[start] == "(" else line.index(" ", start)
        kind = re.match(r" ([\w\-]+)\(", line[end:])
        if not kind:
            return None
        opening = end + kind.end() - 1
        closing = closed(line, opening)
        operands = re.findall(r"%([\w.\-]+)", line[opening:closing])
        return Instruction(computation, at[1], line[start:end], kind[1], operands, line[closing + 1:], line)

    def times(self, computation):
        """How often a computation runs: loops run their body as often as XLA knows that they do."""
        if computation == self.entry:
            return 1
        if computation not in self.known_times:
            total = 0
            for caller in self.callers[computation]:
                count = 1
                if caller.kind == "while":
                    known = re.search(r'"known_trip_count":\{"n":"(\d+)"\}', caller.rest)
                    assert known, f"a loop that XLA does not know the length of: {caller.name}"
                    count = int(known[1])
                total += count * self.times(caller.computation)
            self.known_times[computation] = total
        return self.known_times[computation]

    def uses(self, one):
        """(instruction, which operand) that take a value, into and out of fusions and calls."""
        for user, i in self.users[one.computation, one.name]:
            if user.kind in ("fusion", "call") and user.called:
                inner = self.parameters.get((user.called[0], i))
                if inner is not None:
                    yield from self.uses(inner)
            else:
                yield user, i
        if self.roots.get(one.computation) is one:
            for caller in self.callers[one.computation]:
                if caller.kind in ("fusion", "call"):
                    yield from self.uses(caller)

    def slices(self, one):
        """Of which part of its size the slices are in which all uses of a value end, each device's its own; None where some use is no such
        slice. What computes element by element, or moves elements, may come before the slice."""
        parts, seen = set(), set()
        waiting = [one]
        while waiting:
            value = waiting.pop()
            if (value.computation, value.name) in seen:
                continue
            seen.add((value.computation, value.name))
            for user, i in self.uses(value):
                if user.kind == "dynamic-slice" and i == 0:
                    parts.add(one.size() / user.size())
                elif user.kind == "tuple" and self.roots.get(user.computation) is user and user.computation == self.entry:
                    return None
                elif user.kind in SAME | MOVED or user.kind in ELEMENTWISE and user.size() == value.size():
                    waiting.append(user)
                else:
                    return None
            if value.computation == self.entry and self.roots[self.entry] is value:
                return None
        return next(iter(parts)) if len(parts) == 1 else None

    def sources(self, one, through):
        """Instructions from which a value comes, back through the kinds `through`, fusions, and calls."""
        found, seen = [], set()
        waiting = [one]
        while waiting:
            value = waiting.pop()
            if value is None or (value.computation, value.name) in seen:
                continue
            seen.add((value.computation, value.name))
            if value.kind in ("fusion", "call") and value.called:
                waiting.append(self.roots.get(value.called[0]))
            elif value.kind == "parameter":
                number = int(re.search(r"parameter\((\d+)\)", value.line)[1])
                for caller in self.callers[value.computation]:
                    if caller.kind in ("fusion", "call") and number < len(caller.operands):
                        waiting.append(self.computations[caller.computation].get(caller.operands[number]))
            elif value is one or value.kind in through:
                waiting += [self.computations[value.computation].get(operand) for operand in value.operands]
            if value is not one:
                found.append(value)
        return found


class Collective:
    """One of a program: kind, mesh axes, bytes of the whole, how often it runs, and where it stands."""

    def __init__(self, kind, over, size, times, instruction, program):
        self.key = (kind, over, size)
        self.kind, self.over, self.size, self.times, self.instruction, self.program = kind, over, size, times, instruction, program
        lines = [instruction.line] + [caller.line for caller in program.callers[instruction.computation]]
        name = next(filter(None, (re.search(r'op_name="([^"]*)"', line) for line in lines)), None)
        self.source = name[1] if name else instruction.computation

    @functools.cache
    def sliced(self):
        return self.program.slices(self.instruction)

    def over_two_dims(self):
        """Whether a TPU's chips send along two dims of their torus or grid at once."""
        return bool(re.search(r'"strategy":"\w*ND\w*"', self.instruction.rest))

    def types(self):
        """Of its elements."""
        return {dtype for dtype, _ in self.instruction.arrays()}

    def added_up(self):
        """How many elements are summed up into one by the device itself, after what it has received."""
        out, seen, waiting = set(), set(), [self.instruction]
        while waiting:
            value = waiting.pop()
            if (value.computation, value.name) in seen:
                continue
            seen.add((value.computation, value.name))
            for user, i in self.program.uses(value):
                if user.kind == "reduce" and i == 0:
                    out.add(value.size() / user.size())
                elif user.kind in SAME | ELEMENTWISE | {"dynamic-slice", "slice"}:
                    waiting.append(user)
        return out

    @functools.cache
    def sent_on(self):
        """Whether an all-to-all takes what it has summed, all of it."""
        seen, waiting = set(), [self.instruction]
        while waiting:
            value = waiting.pop()
            if (value.computation, value.name) in seen:
                continue
            seen.add((value.computation, value.name))
            for user, _ in self.program.uses(value):
                if user.kind.startswith("all-to-all"):
                    return True
                if user.kind in SAME | ELEMENTWISE | {"slice"}:
                    waiting.append(user)
        return False

    @functools.cache
    def added_to_another(self):
        """Whether what it has summed, over another mesh axis too perhaps, is added to what another collective has summed."""
        further = {"add", "dynamic-slice", "slice", "all-reduce", "all-reduce-start"}
        seen, waiting = set(), [self.instruction]
        while waiting:
            value = waiting.pop()
            if (value.computation, value.name) in seen:
                continue
            seen.add((value.computation, value.name))
            for user, i in self.program.uses(value):
                if user.kind == "add":
                    other = self.program.computations[user.computation].get(user.operands[1 - i])
                    steps = SAME | further
                    back = [other] + (self.program.sources(other, steps) if other.kind in steps | {"fusion", "call", "parameter"} else [])
                    if any(one.kind in ("all-reduce", "all-reduce-start", "reduce-scatter") and one is not self.instruction for one in back):
                        return True
                if user.kind in SAME | further:
                    waiting.append(user)
        return False

    @functools.cache
    def multiplied(self):
        """Whether what it has summed is a factor of a product, moved or cut perhaps."""
        seen, waiting = set(), [self.instruction]
        while waiting:
            value = waiting.pop()
            if (value.computation, value.name) in seen:
                continue
            seen.add((value.computation, value.name))
            for user, _ in self.program.uses(value):
                if user.kind in PRODUCTS:
                    return True
                if user.kind in SAME | ELEMENTWISE | MOVED | {"dynamic-slice"}:
                    waiting.append(user)
        return False

    @functools.cache
    def looked_up_and_multiplied(self):
        """Whether rows are taken of what it makes, and products have it as a factor as well."""
        kinds, seen, waiting = set(), set(), [self.instruction]
        while waiting:
            value = waiting.pop()
            if (value.computation, value.name) in seen:
                continue
            seen.add((value.computation, value.name))
            for user, i in self.program.uses(value):
                if user.kind in SAME:
                    waiting.append(user)
                elif user.kind == "gather" and i == 0:
                    kinds.add("gather")
                elif user.kind in PRODUCTS:
                    kinds.add("product")
        return len(kinds) == 2

    def widened(self):
        """Whether the program has it in bf16, and XLA's CPU backend sends f32: what it sums says so, or its operand or all its uses are
        converted from or to bf16."""
        if self.types() != {"f32"}:
            return False
        if any(name.endswith("_promoted") for name in self.instruction.called):
            return True

        def narrow(value):
            return value is not None and {dtype for dtype, _ in value.arrays()} == {"bf16"}
        if any(one.kind == "convert" and any(narrow(self.program.computations[one.computation].get(name)) for name in one.operands)
               for one in self.program.sources(self.instruction, SAME)):
            return True
        uses, seen, waiting = [], set(), [self.instruction]
        while waiting:
            value = waiting.pop()
            if (value.computation, value.name) in seen:
                continue
            seen.add((value.computation, value.name))
            for user, _ in self.program.uses(value):
                if user.kind == "convert":
                    uses.append(narrow(user))
                elif user.kind in SAME | {"dynamic-slice", "slice"}:
                    waiting.append(user)
                else:
                    return False
        return bool(uses) and all(uses)

    def comes_from(self, kind, through=frozenset()):
        """Whether its operand is what an instruction of that kind makes."""
        return any(one.kind == kind for one in self.program.sources(self.instruction, SAME | set(through)))


def groups_in(line, devices):
    """Replica groups of an instruction, in any of XLA's three notations."""
    ids = np.arange(devices)
    by_mesh = re.search(r"replica_groups=mesh\[([^\]]*)\](?:, device_ids=\(\[([\d,]+)\](?:T\(([\d,]+)\))?\))?,?\s*\{([^}]*)\}", line)
    if by_mesh:
        axes = re.findall(r"'([^']+)'=(\d+)", by_mesh[1])
        if by_mesh[2]:
            ids = ids.reshape([int(n) for n in by_mesh[2].split(",")])
            ids = ids.transpose([int(n) for n in by_mesh[3].split(",")]) if by_mesh[3] else ids
        ids = ids.reshape([int(size) for _, size in axes])
        used = [[name for name, _ in axes].index(name) for name in re.findall(r"'([^']+)'", by_mesh[4])]
        rest = [i for i in range(len(axes)) if i not in used]
        groups = ids.transpose(rest + used).reshape(-1, int(np.prod([int(axes[i][1]) for i in used])))
    elif by_iota := re.search(r"replica_groups=\[(\d+),(\d+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?", line):
        ids = ids.reshape([int(n) for n in by_iota[3].split(",")])
        ids = ids.transpose([int(n) for n in by_iota[4].split(",")]) if by_iota[4] else ids
        groups = ids.reshape(int(by_iota[1]), int(by_iota[2]))
    else:
        listed = re.search(r"replica_groups=\{(\{[\d,{}]*\})\}", line)
        groups = [[int(n) for n in group.split(",")] for group in re.findall(r"\{([\d,]+)\}", listed[1])] if listed else [ids]
    return frozenset(frozenset(int(n) for n in group) for group in groups)


def groups_of_axes(axes):
    """Groups of devices over every choice of mesh axes, and the names of those."""
    sizes = [size for _, size in axes]
    positions = np.arange(int(np.prod(sizes))).reshape(sizes)
    known = {}
    for count in range(1, len(axes) + 1):
        for chosen in itertools.combinations(range(len(axes)), count):
            rest = [i for i in range(len(axes)) if i not in chosen]
            rows = positions.transpose(rest + list(chosen)).reshape(-1, int(np.prod([sizes[i] for i in chosen])))
            known.setdefault(frozenset(frozenset(int(n) for n in row) for row in rows), tuple(axes[i][0] for i in chosen))
    return known


def collectives_in(text, axes):
    """The collectives of a compiled program over a mesh with these axes."""
    program = Program(text)
    known = groups_of_axes(axes)
    devices = int(np.prod([size for _, size in axes]))
    out = []
    seen = set()
    for instructions in program.computations.values():
        for one in instructions.values():
            base = one.kind.removesuffix("-start")
            if base not in KINDS:
                continue
            channel = re.search(r"channel_id=(\d+)", one.rest)
            if channel and channel[1] in seen:  # a TPU runs one beside several fusions, and each lists it
                continue
            seen.add(channel[1] if channel else one.line)
            kind = "reduce-scatter" if one.computation.startswith("all-reduce-scatter") else base  # a TPU's fusion of both
            arrays = one.arrays()
            if one.kind.endswith("-start") and base != "all-reduce":
                arrays = arrays[1:2]  # operand, result, and what the device keeps of it
            size = sum(BYTES[dtype] * int(np.prod(dims, dtype=np.int64)) for dtype, dims in arrays)
            over = ()
            if base != "collective-permute":
                groups = groups_in(one.line, devices)
                over = known.get(groups, ("?",))
                size *= len(next(iter(groups))) if base == "reduce-scatter" else 1
            out.append(Collective(kind, over, size, program.times(one.computation), one, program))
    return out
