// SPDX-License-Identifier: Apache-2.0
// Bodies on plain vectors, as the CPU runs them.
#pragma once

#include "engine/ops/bodies/shared.h"
#include "tests/engine/numeric.h"

namespace shardboard::engine::numeric {

inline bodies::Elements elements(const Floats& values)
{
    bodies::Elements out;
    out.data = const_cast<float*>(values.data());
    return out;
}

/// All items of one entry.
template <class Body>
void runAll(Body body, const typename Body::Entry& entry, std::int64_t items)
{
    body.entries = &entry;
    runItems(body, 0, 0, items);
}

/// `out` may be one of the operands.
inline void each(bodies::Each kind, const std::vector<const Floats*>& operands, float number, Floats& out)
{
    bodies::EachBody body;
    body.kind = kind;
    body.number = number;
    bodies::EachBody::Entry entry;
    entry.count = static_cast<std::int64_t>(out.size());
    entry.a = elements(*operands[0]);
    if (operands.size() > 1)
        entry.b = elements(*operands[1]);
    if (operands.size() > 2)
        entry.c = elements(*operands[2]);
    entry.out = elements(out);
    runAll(body, entry, (entry.count + bodies::kTile - 1) / bodies::kTile);
}

} // namespace shardboard::engine::numeric
