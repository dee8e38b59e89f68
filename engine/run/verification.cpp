// SPDX-License-Identifier: Apache-2.0
// The unsharded computation beside the run, and what is compared with it.
#include "engine/run/passagerunner.h"

#include "engine/devices/collective.h"
#include "engine/devices/compare.h"
#include "engine/run/executor.h"
#include "engine/run/passageparts.h"
#include "engine/devices/team.h"

#include <vector>

namespace shardboard::engine {

namespace {

/// A tensor of an executor in memory of this process, as long as it lives.
class Brought {
public:
    Brought(Executor& executor, const Sharded* value)
    {
        if (value == nullptr)
            return;
        m_value.emplace(value->shape(), value->layout(), value->mesh());
        m_arena.emplace(m_value->bytes() + 4096);
        m_value->allocate(*m_arena);
        executor.bringHere(*value, *m_value);
    }
    const Sharded* get() const { return m_value ? &*m_value : nullptr; }

private:
    std::optional<Arena> m_arena; // outlives the value's memory
    std::optional<Sharded> m_value;
};

} // namespace

double PassageRunner::tolerance(const Passage& passage) const { return toleranceOf(passage.segment->phase, m_options.designDtype); }

void PassageRunner::show(const Passage& passage, TensorId tensor)
{
    if (!m_showsValues || (m_context.planning() && (m_context.team == nullptr || m_context.executor != nullptr)))
        return;
    const Sharded* value = m_values.find(tensor, m_current[tensor]);
    const Sharded* unsharded = m_verify ? m_reference.find(tensor, wholeLayout(tensor)) : nullptr;
    const std::string name = concreteName(m_graph.tensor(tensor).name, passage.layer);
    if (m_context.executor != nullptr) {
        Brought here(*m_context.executor, value);
        Brought wholeHere(*m_context.executor, unsharded);
        if (leads() && m_hooks.value)
            m_hooks.value({ name, passage.microBatch, *here.get(), wholeHere.get() });
        return;
    }
    beginReading(m_context, allToFirst(m_context, *value));
    if (m_context.planning())
        return;
    if (leads() && m_hooks.value)
        m_hooks.value({ name, passage.microBatch, *value, unsharded });
    endReading(m_context);
}

Layout PassageRunner::wholeLayout(TensorId tensor) const { return Layout::replicated(m_graph.tensor(tensor).shape.size()); }

Sharded PassageRunner::referenceSource(TensorId tensor, const Source& source) const
{
    const Shape& shape = m_graph.tensor(tensor).shape;
    Sharded out(shape, Layout::replicated(shape.size()), m_single);
    out.source = source;
    return out;
}

/// Which experts a token gets is decided by the order of scores, and scores that are nearly equal may change places within the
/// tolerance. Their values have been compared where they were made; from here on the reference goes by those of the run, so
/// that both send the token to the same experts.
void PassageRunner::chooseAlike(const Op& op, const OpCall& call)
{
    std::size_t logits = 0;
    if (op.kind == OpKind::TopKGatesGrad || op.kind == OpKind::BiasedTopKGatesGrad)
        logits = 1;
    else if (op.kind != OpKind::TopKGates && op.kind != OpKind::BiasedTopKGates)
        return;
    const Sharded& run = *call.operands[logits];
    Sharded* reference = m_reference.find(op.operands[logits], wholeLayout(op.operands[logits]));
    if (reference == nullptr || !run.layout().partial.empty())
        return;
    if (m_context.executor != nullptr)
        return m_context.executor->putTogether(m_context, run, *reference);
    beginReading(m_context, allToFirst(m_context, run));
    if (m_context.planning())
        return;
    for (std::int64_t device = 0; device < run.deviceCount() && leads(); ++device)
        if (run.elements(device) > 0)
            copyRegion(run.box(device), run.box(device), run.data(device), reference->box(0), reference->data(0), Combine::Copy);
    endReading(m_context);
}

void PassageRunner::runReference(const Passage& passage, std::size_t index, const std::string& id, const Sharded& result)
{
    const Together together(m_context);
    const Op& op = opOf(m_graph, passage.planned->ops[index]);
    OpCall call { op.kind, op.attributes, {}, id, m_program.plan.microBatches };
    std::vector<Sharded> made;
    made.reserve(op.operands.size());
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
        const TensorId tensor = op.operands[i];
        if (!isMade(tensor)) {
            call.operands.push_back(m_reference.find(tensor, wholeLayout(tensor)));
            continue;
        }
        made.push_back(referenceSource(tensor, m_maker.sourceOf(tensor, passage.layer, passage.microBatch)));
        if (!isStreamed(op.kind, i))
            materialize(m_context, made.back());
        call.operands.push_back(&made.back());
    }
    Sharded reference(m_graph.tensor(op.result).shape, wholeLayout(op.result), m_single);
    if (op.kind == OpKind::KvAppend)
        reference.source = m_maker.cacheOf(op.result, passage.layer);
    const bool takes = mayTakeOver(passage, index);
    if (takes) {
        const std::size_t over = takenOperand(op.kind);
        reference = m_reference.take(op.operands[over], wholeLayout(op.operands[over]));
        call.operands[over] = &reference;
    } else {
        reference.allocate(m_context.arena);
    }
    if (!takes || op.kind == OpKind::AdamStep)
        executeOp(m_context, call, reference);
    roundSharded(m_context, m_maker.roundingOfTensor(op.result), reference);
    if (op.kind == OpKind::TargetLogit) // as exact as the other logits of its token are, though it may be near 0 itself
        m_among[op.result] = meanSquare(m_context, *call.operands.front());
    compare(passage, id, op.result, result, m_reference.put(op.result, std::move(reference)));
}

void PassageRunner::compare(const Passage& passage, const std::string& id, TensorId tensor, const Sharded& value,
                            const Sharded& reference)
{
    const auto among = m_among.find(tensor);
    const double error = relativeError(m_context, value, reference, among == m_among.end() ? 0 : among->second);
    if (!m_context.planning())
        m_record.addError(id, error, tolerance(passage));
}

} // namespace shardboard::engine
