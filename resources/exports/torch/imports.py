import contextlib
import inspect
import json
import os
import re
import sys

try:
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel, SequenceParallel, loss_parallel,
                                                   parallelize_module)
    # Private, and all that torch 2.15 has for mesh axes on a dim in another order than in the mesh: its specs know a shard
    # order, which no public function takes. It says parts of fused tensors, too.
    from torch.distributed.tensor.placement_types import _StridedShard
    from torch.distributed.tensor.parallel.style import ParallelStyle
    from torch.overrides import TorchFunctionMode
except ImportError as problem:
    if __name__ != "__main__":
        raise
    print(f"skipped: this Python has no PyTorch with DTensor ({problem})")
    sys.exit(77)


def _S(dim, factor):
    """The dim is cut into `factor` parts first, then each of them over the mesh axis."""
    return _StridedShard(dim, split_factor=factor)

