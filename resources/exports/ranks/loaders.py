import math

try:
    import torch
    from torch.overrides import TorchFunctionMode
except ImportError as problem:
    skip(f"this Python has no torch ({problem})")


def storage(tensor):
    return tensor.untyped_storage()._cdata


def piece_of(view, tensor):
    """[lo, hi) for each dim of the elements of a tensor that a view of it shows; none where they are no block."""
    offset, piece = view.storage_offset(), []
    for step, size in zip(tensor.stride(), tensor.shape):
        lo = offset // step if size > 1 else 0
        offset -= lo * step
        shown = [length for length, stride in zip(view.shape, view.stride()) if stride == step and length > 1]
        piece.append([lo, lo + (shown[0] if shown and size > 1 else 1)])
    return piece if math.prod(hi - lo for lo, hi in piece) == view.numel() else None


class Copies(TorchFunctionMode):
    """Notes which elements of a checkpoint's tensors go into parameters: a view says by offset and strides where it is cut."""

    def __init__(self):
        super().__init__()
        # Of a storage: names and tensors of the checkpoint, several where they were fused. Storages are told apart while they live.
        self.sources, self.fused, self.taken = {}, [], {}

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        if function is torch.cat:
            made = function(*arguments, **(keywords or {}))
            parts = [part for tensor in arguments[0] for part in self.sources.get(storage(tensor), [])]
            if parts:
                self.sources[storage(made)] = parts
                self.fused.append(made)
            return made
        if function is not torch.Tensor.copy_ or storage(arguments[1]) not in self.sources:
            return function(*arguments, **(keywords or {}))
        view = arguments[1]
        parts = self.sources[storage(view)]
        whole = sum(tensor.numel() for _, tensor in parts) == view.numel()
        for name, tensor in parts:
            piece = [[0, size] for size in tensor.shape] if whole else piece_of(view, tensor) if len(parts) == 1 else None
            if piece:
                self.taken.setdefault(name, []).append(piece)
        return function(*arguments, **(keywords or {}))  # which sees that shapes fit

    def load(self, network, wanted):
        """Gives a network that is on torch's meta device every tensor of the checkpoint, there as well."""
        def tensors():
            for name, shape in checkpoint(wanted):
                tensor = torch.empty(shape, dtype=torch.bfloat16, device="meta")
                self.sources[storage(tensor)] = [(name, tensor)]
                yield name, tensor

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
