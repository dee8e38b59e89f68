// SPDX-License-Identifier: Apache-2.0
// What comes into a passage and what it leaves: carried on to the next one, kept for the backward pass, waiting for other segments.
#include "engine/run/passagerunner.h"

#include "engine/devices/collective.h"
#include "engine/devices/failure.h"
#include "engine/run/passageparts.h"

#include <algorithm>
#include <numeric>

namespace shardboard::engine {

namespace {

Layout withoutNewPartials(Layout wanted, const Layout& have)
{
    std::erase_if(wanted.partial, [&](const AxisRef& ref) {
        return std::find(have.partial.begin(), have.partial.end(), ref) == have.partial.end();
    });
    return wanted;
}

} // namespace

void PassageRunner::enterCarried(const Passage& passage)
{
    const TensorId tensor = passage.segment->carryIn;
    if (tensor == kNoTensor)
        return;
    const Layout* wanted = nullptr;
    for (const PlannedOp& planned : passage.planned->ops)
        for (const OperandUse& use : planned.operands)
            if (use.tensor == tensor && wanted == nullptr)
                wanted = &use.before;
    if (wanted == nullptr)
        return;
    const Shape& shape = m_graph.tensor(tensor).shape;
    if (!m_carry.valid()) {
        m_carry = fresh(tensor, *wanted);
        m_carryRun = passage.run;
        m_carry.source = m_maker.streamOf(tensor, passage.microBatch);
        materialize(m_context, m_carry);
        if (m_verify) {
            m_referenceCarry = referenceSource(tensor, *m_carry.source);
            materialize(m_context, m_referenceCarry);
        }
    }
    if (m_carry.shape() != shape)
        failPlan("what the segment before leaves has another shape than what it takes", passage.planned->name);
    m_carry = broughtInto(*wanted, std::move(m_carry), passage.planned->name);
    if (&m_carry.mesh() != m_mesh) {
        const Collective* send = m_stages.streamSend(passage.segment->phase);
        if (send == nullptr)
            failPlan("'" + m_graph.tensor(tensor).name + "' lies on another stage, and nothing sends it here",
                     passage.planned->name);
        const std::int64_t next = m_carryRun < passage.run ? 1 : -1;
        for (std::int64_t run = m_carryRun; run != passage.run; run += next)
            m_carry = sent(passage, *send, std::move(m_carry), m_stages.mesh(run + next), m_verify ? &m_referenceCarry : nullptr);
    }
    m_current[tensor] = *wanted;
    m_values.put(tensor, std::move(m_carry));
    if (m_verify)
        m_reference.put(tensor, std::move(m_referenceCarry));
    m_carry = {};
    m_referenceCarry = {};
}

/// To the devices of another stage. What leaves a stage is dropped there.
Sharded PassageRunner::sent(const Passage& passage, const Collective& collective, Sharded value, const Mesh& target,
                            const Sharded* reference)
{
    const double start = now();
    Resharded moved = executeSend(m_context, value, target, breaks(collective));
    recordCollective(collective, moved.timing, start);
    if (reference != nullptr)
        compare(passage, collective.id, collective.tensor, moved.tensor, *reference);
    return std::move(moved.tensor);
}

/// What brings an operand from the stage on which another segment left it.
const Collective& PassageRunner::sendOf(const Passage& passage, const OperandUse& use) const
{
    for (const int number : use.collectives)
        if (const Collective& collective = m_program.plan.collectives[static_cast<std::size_t>(number)];
            m_stages.isSend(collective))
            return collective;
    failPlan("'" + m_graph.tensor(use.tensor).name + "' lies on another stage, and nothing sends it here", passage.planned->name);
}

/// Where a run skips the layer that would have left this layout, and where layers of other layouts share an update: outside of
/// what is timed.
Sharded PassageRunner::broughtInto(const Layout& wanted, Sharded value, const std::string& where)
{
    if (value.layout() == wanted)
        return value;
    const Mesh& mesh = value.mesh();
    std::vector<int> all(static_cast<std::size_t>(mesh.axisCount()));
    std::iota(all.begin(), all.end(), 0);
    const Layout summed = withoutNewPartials(wanted, value.layout());
    const ReshardStep step { CollectiveKind::AllToAll, all, value.layout(), summed };
    Sharded moved = executeStep(m_context, step, value, false, where).tensor;
    Sharded out = Sharded(value.shape(), wanted, mesh).withMemoryOf(std::move(moved));
    const auto addends = partialDevices(wanted, mesh) / partialDevices(summed, mesh);
    if (addends > 1)
        scaleSharded(m_context, 1.0f / static_cast<float>(addends), out);
    return out;
}

/// Takes what was kept of the layer, and what other segments left for this one.
void PassageRunner::enterWaiting(const Passage& passage)
{
    const int of = passage.segment->of;
    for (auto& [tensor, value] : m_waiting.takeKept(of, passage.layer)) {
        m_current[tensor] = value.layout();
        m_values.put(tensor, std::move(value));
    }
    for (auto& [tensor, value] : m_referenceWaiting.takeKept(of, passage.layer))
        m_reference.put(tensor, std::move(value));
    for (const PlannedOp& planned : passage.planned->ops)
        for (const OperandUse& use : planned.operands) {
            const WaitingValues::Key key { use.tensor, passage.layer };
            auto value = m_waiting.take(key);
            if (!value)
                continue;
            auto reference = m_referenceWaiting.take(key);
            m_current[use.tensor] = use.before;
            Sharded here = broughtInto(use.before, std::move(*value), passage.planned->name);
            if (&here.mesh() != m_mesh)
                here = sent(passage, sendOf(passage, use), std::move(here), *m_mesh, reference ? &*reference : nullptr);
            m_values.put(use.tensor, std::move(here));
            if (reference)
                m_reference.put(use.tensor, std::move(*reference));
        }
}

void PassageRunner::endPassage(const Passage& passage)
{
    keepForBackward(passage);
    leaveForOthers(passage);
    const TensorId tensor = passage.segment->carryOut;
    if (tensor != kNoTensor) {
        const auto current = m_current.find(tensor);
        if (current == m_current.end() || m_values.find(tensor, current->second) == nullptr)
            failPlan("nothing writes what it hands on", passage.planned->name);
        m_carry = m_values.take(tensor, current->second);
        m_carryRun = passage.run;
        if (m_verify)
            m_referenceCarry = m_reference.take(tensor, wholeLayout(tensor));
    }
    m_values.clear();
    m_reference.clear();
    m_current.clear();
}

void PassageRunner::keepForBackward(const Passage& passage)
{
    for (const Kept& kept : passage.planned->kept) {
        const WaitingValues::Key key { kept.tensor, passage.layer, passage.planned->segment };
        if (m_values.find(kept.tensor, kept.layout) == nullptr)
            failPlan("'" + m_graph.tensor(kept.tensor).name + "', to be kept for the backward pass, does not exist in the layout "
                         + specText(kept.layout, m_program.plan.mesh),
                     passage.planned->name);
        const bool carried = kept.tensor == passage.segment->carryOut;
        const auto taken = [&](RunValues& values, const Layout& layout) {
            return carried ? copyOf(m_context, *values.find(kept.tensor, layout)) : values.take(kept.tensor, layout);
        };
        m_waiting.put(key, taken(m_values, kept.layout));
        if (m_verify)
            m_referenceWaiting.put(key, taken(m_reference, wholeLayout(kept.tensor)));
    }
}

void PassageRunner::leaveForOthers(const Passage& passage)
{
    for (const TensorId tensor : m_leaving[static_cast<std::size_t>(passage.planned->segment)]) {
        const auto current = m_current.find(tensor);
        if (current == m_current.end() || m_values.find(tensor, current->second) == nullptr)
            failPlan("nothing writes what it leaves for other segments: '" + m_graph.tensor(tensor).name + "'",
                     passage.planned->name);
        const WaitingValues::Key key { tensor, passage.layer };
        accumulate(key, m_values.take(tensor, current->second), m_waiting);
        if (m_verify)
            accumulate(key, m_reference.take(tensor, wholeLayout(tensor)), m_referenceWaiting);
    }
}

/// What still waits there is the gradient of the micro-batches before.
void PassageRunner::accumulate(const WaitingValues::Key& key, Sharded value, WaitingValues& waiting)
{
    Sharded* sum = waiting.find(key);
    if (sum == nullptr)
        return waiting.put(key, std::move(value));
    if (sum->layout() != value.layout())
        failPlan("a gradient lies otherwise than that of the micro-batch before", m_graph.tensor(key.tensor).name);
    addSharded(m_context, value, *sum);
}

bool PassageRunner::stays(const Passage& passage, TensorId tensor, const Layout* layout) const
{
    const auto& kept = passage.planned->kept;
    if (std::any_of(kept.begin(), kept.end(),
                    [&](const Kept& k) { return k.tensor == tensor && (layout == nullptr || k.layout == *layout); }))
        return true;
    const auto& leaving = m_leaving[static_cast<std::size_t>(passage.planned->segment)];
    if (tensor != passage.segment->carryOut && std::find(leaving.begin(), leaving.end(), tensor) == leaving.end())
        return false;
    const auto current = m_current.find(tensor);
    return layout == nullptr || (current != m_current.end() && current->second == *layout);
}

} // namespace shardboard::engine
