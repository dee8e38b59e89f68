import itertools

try:
    import torch
    from torch.overrides import TorchFunctionMode
except ImportError as problem:
    skip(f"this Python has no torch ({problem})")


class Copies(TorchFunctionMode):
    """Notes which elements of a checkpoint's tensor go into parameters: a slice says by its offset where it is cut."""

    def __init__(self):
        super().__init__()
        self.name, self.shape, self.taken = None, None, {}

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        if function is not torch.Tensor.copy_ or self.name is None:
            return function(*arguments, **(keywords or {}))
        source, offset, piece = arguments[1], arguments[1].storage_offset(), []
        stride = list(itertools.accumulate(reversed(self.shape[1:]), lambda a, b: a * b, initial=1))[::-1]
        if source.dim() == len(self.shape):
            for step, size in zip(stride, source.shape):
                piece.append([offset // step, offset // step + size])
                offset %= step
            self.taken.setdefault(self.name, []).append(piece)
        return arguments[0]

    def load(self, network, wanted):
        """Gives a network that is on torch's meta device every tensor of the checkpoint, there as well."""
        def tensors():
            for self.name, self.shape in checkpoint(wanted):
                yield self.name, torch.empty(self.shape, dtype=torch.bfloat16, device="meta")

        with self:
            network.load_weights(tensors())


def checkpoint(wanted):
    """Names and shapes as a checkpoint has them: experts one by one."""
    for name, tensor in wanted.tensors.items():
        if ".experts.*." not in name:
            yield name, tensor["shape"]
            continue
        for expert in range(tensor["shape"][0]):
            yield name.replace(".experts.*.", f".experts.{expert}."), tensor["shape"][1:]


def in_plan(taken):
    """What was taken, by the plan's names: the experts of a layer are one tensor there."""
    out, experts = {}, {}
    for name, pieces in taken.items():
        number = re.search(r"\.experts\.(\d+)\.", name)
        if not number:
            out[name] = pieces
            continue
        experts.setdefault(name[:number.start()] + ".experts.*." + name[number.end():], {})[int(number.group(1))] = pieces
    for name, each in experts.items():
        out[name] = joined([[[number, number + 1], *piece] for number, pieces in sorted(each.items()) for piece in pieces], 0)
    return out
