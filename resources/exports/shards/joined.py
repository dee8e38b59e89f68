def joined(pieces, dim):
    """Pieces that lie side by side along `dim` as one; those that hold nothing are left out."""
    out = []
    for piece in pieces:
        if any(lo == hi for lo, hi in piece):
            continue
        last = out[-1] if out else None
        if last and dim is not None and last[dim][1] == piece[dim][0] and all(
                a == b for i, (a, b) in enumerate(zip(last, piece)) if i != dim):
            last[dim][1] = piece[dim][1]
        else:
            out.append([list(range_) for range_ in piece])
    return out
