// SPDX-License-Identifier: Apache-2.0
// Single operations of the engine on one device, with made-up operands, for tests against plain loops.
#pragma once

#include "engine/cpu/cpuexecutor.h"
#include "engine/ops/execute.h"
#include "tests/engine/numeric.h"

#include <list>
#include <vector>

namespace shardboard::engine::test {

class OneDevice {
public:
    Sharded made(const Shape& shape, const std::string& name, double mean = 0, double deviation = 1)
    {
        Sharded out = unmade(shape, name, mean, deviation);
        out.allocate(m_arena);
        fillBox(*out.source, shape, out.box(0), out.data(0));
        return out;
    }
    /// Without memory: made where it is used.
    Sharded unmade(const Shape& shape, const std::string& name, double mean = 0, double deviation = 1)
    {
        Sharded out(shape, Layout::replicated(shape.size()), m_single);
        out.source = Source { Generator::values(1, name, mean, deviation), Rounding::None, 1 };
        return out;
    }
    Sharded of(const Shape& shape, const numeric::Floats& values)
    {
        Sharded out(shape, Layout::replicated(shape.size()), m_single);
        out.allocate(m_arena);
        std::copy(values.begin(), values.end(), out.data(0));
        return out;
    }
    numeric::Floats run(OpKind kind, const std::vector<const Sharded*>& operands, const Shape& result,
                        const OpAttributes& attributes = {})
    {
        Sharded y(result, Layout::replicated(result.size()), m_single);
        y.allocate(m_arena);
        std::fill_n(y.data(0), y.elements(0), 1e30f); // what is not written shows
        executeOp(m_context, { kind, attributes, operands, "op" }, y);
        return { y.data(0), y.data(0) + y.elements(0) };
    }
    static numeric::Doubles values(const Sharded& tensor)
    {
        return numeric::Doubles(tensor.data(0), tensor.data(0) + tensor.elements(0));
    }

private:
    Arena m_arena { std::int64_t { 64 } << 20 };
    TaskPool m_pool { 2, nullptr };
    CpuExecutor m_cpu;
    Context m_context { m_arena, m_cpu, &m_pool, 2, {} };
    Mesh m_single;
};

} // namespace shardboard::engine::test
