// SPDX-License-Identifier: Apache-2.0
#include "engine/run/step/verification.h"

#include "engine/devices/compare.h"
#include "engine/devices/executor.h"
#include "engine/run/record/tolerance.h"
#include "model/ops/opdefinition.h"

#include <vector>

namespace shardboard::engine {

Verification::Verification(const StepState& state, RunRecord& record)
    : m_state(state)
    , m_record(record)
{
}

Layout Verification::wholeLayout(TensorId tensor) const { return Layout::replicated(m_state.graph.tensor(tensor).shape.size()); }

Sharded Verification::fromSource(TensorId tensor, const Source& source) const
{
    Sharded out(m_state.graph.tensor(tensor).shape, wholeLayout(tensor), m_single);
    out.source = source;
    return out;
}

/// Which experts a token gets is decided by the order of scores, and scores that are nearly equal may change places within the
/// tolerance. Their values have been compared where they were made; from here on the reference goes by those of the run, so
/// that both send the token to the same experts.
void Verification::chooseAlike(const Op& op, const OpCall& call)
{
    const int chosenFrom = definitionOf(op.kind).chosenFrom;
    if (chosenFrom < 0)
        return;
    const auto logits = static_cast<std::size_t>(chosenFrom);
    const Sharded& run = *call.operands[logits];
    Sharded* reference = find(op.operands[logits]);
    if (reference == nullptr || !run.layout().partial.empty())
        return;
    m_state.context.executor.assemble(m_state.context, run, *reference);
}

void Verification::runOp(const SegmentPass& pass, std::size_t index, bool takesOver, const std::string& id, const Sharded& result)
{
    Context& context = m_state.context;
    const SharedReference shared(context);
    const Op& op = m_state.op(pass.planned->ops[index]);
    const OpDefinition& definition = definitionOf(op.kind);
    OpCall call { op.kind, op.attributes, {}, id, m_state.program.plan.microBatches };
    std::vector<Sharded> made;
    made.reserve(op.operands.size());
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
        const TensorId tensor = op.operands[i];
        if (!m_state.isMade(tensor)) {
            call.operands.push_back(find(tensor));
            continue;
        }
        made.push_back(fromSource(tensor, m_state.maker.sourceOf(tensor, pass.layer, pass.microBatch)));
        if (definition.streamed != static_cast<int>(i))
            materialize(context, made.back());
        call.operands.push_back(&made.back());
    }
    Sharded reference(m_state.graph.tensor(op.result).shape, wholeLayout(op.result), m_single);
    if (definition.appends)
        reference.source = m_state.maker.cacheOf(op.result, pass.layer);
    if (takesOver) {
        const auto over = static_cast<std::size_t>(definition.taken);
        reference = take(op.operands[over]);
        call.operands[over] = &reference;
    } else {
        reference.allocate(context.arena);
    }
    if (!takesOver || !definition.view)
        executeOp(context, call, reference);
    roundSharded(context, m_state.maker.roundingOfTensor(op.result), reference);
    if (definition.elementsOf >= 0) // as exact as the other logits of its token are, though it may be near 0 itself
        m_among[op.result] = meanSquare(context, *call.operands[static_cast<std::size_t>(definition.elementsOf)]);
    compare(pass, id, op.result, result, m_values.put(op.result, std::move(reference)));
}

void Verification::compare(const SegmentPass& pass, const Collective& collective, const Sharded& value)
{
    const TensorId tensor = collective.tensor;
    if (m_state.isMade(tensor))
        compare(pass, collective.id, tensor, value,
                fromSource(tensor, m_state.maker.sourceOf(tensor, pass.layer, pass.microBatch)));
    else
        compare(pass, collective.id, tensor, value, *find(tensor));
}

void Verification::compare(const SegmentPass& pass, const std::string& id, TensorId tensor, const Sharded& value,
                           const Sharded& reference)
{
    const auto among = m_among.find(tensor);
    const double error = relativeError(m_state.context, value, reference, among == m_among.end() ? 0 : among->second);
    if (!m_state.context.planning())
        m_record.addError(id, error, toleranceOf(pass.segment->phase, m_state.options.designDtype));
}

} // namespace shardboard::engine
