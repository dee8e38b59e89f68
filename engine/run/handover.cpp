// SPDX-License-Identifier: Apache-2.0
#include "engine/run/handover.h"

#include "engine/devices/collective.h"
#include "engine/machine/failure.h"

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

HandOver::HandOver(StepState& state, Verification& verification, StepTimes& times)
    : m_state(state)
    , m_verification(verification)
    , m_times(times)
    , m_leaving(leavingTensors(state.graph))
{
}

void HandOver::enter(const SegmentPass& pass)
{
    enterCarried(pass);
    if (pass.segment->phase != Phase::Forward)
        enterWaiting(pass);
}

void HandOver::dropCarried()
{
    m_carry = {};
    m_referenceCarry = {};
}

void HandOver::clear()
{
    dropCarried();
    m_waiting.clear();
    m_referenceWaiting.clear();
}

void HandOver::enterCarried(const SegmentPass& pass)
{
    const TensorId tensor = pass.segment->carryIn;
    if (tensor == kNoTensor)
        return;
    const Layout* wanted = nullptr;
    for (const PlannedOp& planned : pass.planned->ops)
        for (const OperandUse& use : planned.operands)
            if (use.tensor == tensor && wanted == nullptr)
                wanted = &use.before;
    if (wanted == nullptr)
        return;
    const Shape& shape = m_state.graph.tensor(tensor).shape;
    if (!m_carry.valid()) {
        m_carry = m_state.fresh(pass, tensor, *wanted);
        m_carryStage = pass.virtualStage;
        m_carry.source = m_state.maker.streamOf(tensor, pass.microBatch);
        materialize(m_state.context, m_carry);
        if (m_verification.on()) {
            m_referenceCarry = m_verification.fromSource(tensor, *m_carry.source);
            materialize(m_state.context, m_referenceCarry);
        }
    }
    if (m_carry.shape() != shape)
        failPlan("what the segment before leaves has another shape than what it takes", pass.planned->name);
    m_carry = broughtInto(*wanted, std::move(m_carry), pass.planned->name);
    if (&m_carry.mesh() != &m_state.mesh(pass)) {
        const Collective* send = m_state.stages.streamSend(pass.segment->phase);
        if (send == nullptr)
            failPlan("'" + m_state.graph.tensor(tensor).name + "' lies on another stage, and nothing sends it here",
                     pass.planned->name);
        const std::int64_t next = m_carryStage < pass.virtualStage ? 1 : -1;
        for (std::int64_t stage = m_carryStage; stage != pass.virtualStage; stage += next)
            m_carry = sent(pass, *send, std::move(m_carry), m_state.stages.mesh(stage + next),
                           m_verification.on() ? &m_referenceCarry : nullptr);
    }
    m_state.layouts[tensor] = *wanted;
    m_state.values.put(tensor, std::move(m_carry));
    if (m_verification.on())
        m_verification.put(tensor, std::move(m_referenceCarry));
    m_carry = {};
    m_referenceCarry = {};
}

/// To the devices of another stage. What leaves a stage is dropped there.
Sharded HandOver::sent(const SegmentPass& pass, const Collective& collective, Sharded value, const Mesh& target,
                       const Sharded* reference)
{
    const double start = now();
    Resharded moved = executeSend(m_state.context, value, target, m_state.breaks(collective));
    m_times.add(pass, collective, moved.timing, start);
    if (reference != nullptr)
        m_verification.compare(pass, collective.id, collective.tensor, moved.tensor, *reference);
    return std::move(moved.tensor);
}

/// What brings an operand from the stage on which another segment left it.
const Collective& HandOver::sendOf(const SegmentPass& pass, const OperandUse& use) const
{
    for (const int number : use.collectives)
        if (const Collective& collective = m_state.program.plan.collectives[static_cast<std::size_t>(number)];
            m_state.stages.isSend(collective))
            return collective;
    failPlan("'" + m_state.graph.tensor(use.tensor).name + "' lies on another stage, and nothing sends it here",
             pass.planned->name);
}

/// Where a run skips the layer that would have left this layout, and where layers of other layouts share an update: outside of
/// what is timed.
Sharded HandOver::broughtInto(const Layout& wanted, Sharded value, const std::string& where)
{
    if (value.layout() == wanted)
        return value;
    const Mesh& mesh = value.mesh();
    std::vector<int> all(static_cast<std::size_t>(mesh.axisCount()));
    std::iota(all.begin(), all.end(), 0);
    const Layout summed = withoutNewPartials(wanted, value.layout());
    const ReshardStep step { CollectiveKind::AllToAll, all, value.layout(), summed };
    Sharded moved = executeStep(m_state.context, step, value, false, where).tensor;
    Sharded out = Sharded(value.shape(), wanted, mesh).withMemoryOf(std::move(moved));
    const auto addends = partialDevices(wanted, mesh) / partialDevices(summed, mesh);
    if (addends > 1)
        scaleSharded(m_state.context, 1.0f / static_cast<float>(addends), out);
    return out;
}

/// Takes what was kept of the layer, and what other segments left for this one.
void HandOver::enterWaiting(const SegmentPass& pass)
{
    const int of = pass.segment->of;
    for (auto& [tensor, value] : m_waiting.takeKept(of, pass.layer)) {
        m_state.layouts[tensor] = value.layout();
        m_state.values.put(tensor, std::move(value));
    }
    for (auto& [tensor, value] : m_referenceWaiting.takeKept(of, pass.layer))
        m_verification.put(tensor, std::move(value));
    for (const PlannedOp& planned : pass.planned->ops)
        for (const OperandUse& use : planned.operands) {
            const WaitingValues::Key key { use.tensor, pass.layer };
            auto value = m_waiting.take(key);
            if (!value)
                continue;
            auto reference = m_referenceWaiting.take(key);
            m_state.layouts[use.tensor] = use.before;
            Sharded here = broughtInto(use.before, std::move(*value), pass.planned->name);
            if (&here.mesh() != &m_state.mesh(pass))
                here = sent(pass, sendOf(pass, use), std::move(here), m_state.mesh(pass), reference ? &*reference : nullptr);
            m_state.values.put(use.tensor, std::move(here));
            if (reference)
                m_verification.put(use.tensor, std::move(*reference));
        }
}

void HandOver::leave(const SegmentPass& pass)
{
    keepForBackward(pass);
    leaveForOthers(pass);
    const TensorId tensor = pass.segment->carryOut;
    if (tensor != kNoTensor) {
        const auto current = m_state.layouts.find(tensor);
        if (current == m_state.layouts.end() || m_state.values.find(tensor, current->second) == nullptr)
            failPlan("nothing writes what it hands on", pass.planned->name);
        m_carry = m_state.values.take(tensor, current->second);
        m_carryStage = pass.virtualStage;
        if (m_verification.on())
            m_referenceCarry = m_verification.take(tensor);
    }
    m_state.values.clear();
    m_verification.clear();
    m_state.layouts.clear();
}

void HandOver::keepForBackward(const SegmentPass& pass)
{
    for (const Kept& kept : pass.planned->kept) {
        const WaitingValues::Key key { kept.tensor, pass.layer, pass.planned->segment };
        if (m_state.values.find(kept.tensor, kept.layout) == nullptr)
            failPlan("'" + m_state.graph.tensor(kept.tensor).name
                         + "', to be kept for the backward pass, does not exist in the layout "
                         + specText(kept.layout, m_state.program.plan.mesh),
                     pass.planned->name);
        const bool carried = kept.tensor == pass.segment->carryOut;
        m_waiting.put(key,
                      carried ? copyOf(m_state.context, *m_state.values.find(kept.tensor, kept.layout))
                              : m_state.values.take(kept.tensor, kept.layout));
        if (m_verification.on())
            m_referenceWaiting.put(
                key, carried ? copyOf(m_state.context, *m_verification.find(kept.tensor)) : m_verification.take(kept.tensor));
    }
}

void HandOver::leaveForOthers(const SegmentPass& pass)
{
    for (const TensorId tensor : m_leaving[static_cast<std::size_t>(pass.planned->segment)]) {
        const auto current = m_state.layouts.find(tensor);
        if (current == m_state.layouts.end() || m_state.values.find(tensor, current->second) == nullptr)
            failPlan("nothing writes what it leaves for other segments: '" + m_state.graph.tensor(tensor).name + "'",
                     pass.planned->name);
        const WaitingValues::Key key { tensor, pass.layer };
        accumulate(key, m_state.values.take(tensor, current->second), m_waiting);
        if (m_verification.on())
            accumulate(key, m_verification.take(tensor), m_referenceWaiting);
    }
}

/// What still waits there is the gradient of the micro-batches before.
void HandOver::accumulate(const WaitingValues::Key& key, Sharded value, WaitingValues& waiting)
{
    Sharded* sum = waiting.find(key);
    if (sum == nullptr)
        return waiting.put(key, std::move(value));
    if (sum->layout() != value.layout())
        failPlan("a gradient lies otherwise than that of the micro-batch before", m_state.graph.tensor(key.tensor).name);
    addSharded(m_state.context, value, *sum);
}

bool HandOver::stays(const SegmentPass& pass, TensorId tensor, const Layout* layout) const
{
    const auto& kept = pass.planned->kept;
    if (std::any_of(kept.begin(), kept.end(),
                    [&](const Kept& k) { return k.tensor == tensor && (layout == nullptr || k.layout == *layout); }))
        return true;
    const auto& leaving = m_leaving[static_cast<std::size_t>(pass.planned->segment)];
    if (tensor != pass.segment->carryOut && std::find(leaving.begin(), leaving.end(), tensor) == leaving.end())
        return false;
    const auto current = m_state.layouts.find(tensor);
    return layout == nullptr || (current != m_state.layouts.end() && current->second == *layout);
}

} // namespace shardboard::engine
