// SPDX-License-Identifier: Apache-2.0
#include "engine/run/step/handover.h"

#include "engine/devices/collective.h"
#include "engine/machine/failure.h"

#include <algorithm>
#include <numeric>
#include <utility>

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

void HandOver::dropCarried() { m_carry = {}; }

void HandOver::clear()
{
    dropCarried();
    m_waiting.clear();
}

Handed HandOver::takeOut(TensorId tensor, const Layout& layout, bool copies)
{
    Context& context = m_state.context;
    Handed out;
    out.value = copies ? copyOf(context, *m_state.values.find(tensor, layout)) : m_state.values.take(tensor, layout);
    if (m_verification.on())
        out.reference = copies ? copyOf(context, *m_verification.find(tensor)) : m_verification.take(tensor);
    return out;
}

void HandOver::putBack(TensorId tensor, Handed handed)
{
    m_state.layouts[tensor] = handed.value.layout();
    m_state.values.put(tensor, std::move(handed.value));
    if (handed.reference.valid())
        m_verification.put(tensor, std::move(handed.reference));
}

Handed HandOver::madeStream(const SegmentPass& pass, const Layout& layout)
{
    const TensorId tensor = pass.segment->carryIn;
    Handed out { m_state.fresh(pass, tensor, layout), {} };
    out.value.source = m_state.maker.streamOf(tensor, pass.microBatch);
    materialize(m_state.context, out.value);
    if (m_verification.on()) {
        out.reference = m_verification.fromSource(tensor, *out.value.source);
        materialize(m_state.context, out.reference);
    }
    return out;
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
    if (!m_carry.value.valid()) {
        m_carry = madeStream(pass, *wanted);
        m_carryStage = pass.virtualStage;
    }
    if (m_carry.value.shape() != m_state.graph.tensor(tensor).shape)
        failPlan("what the segment before leaves has another shape than what it takes", pass.planned->name);
    m_carry.value = broughtInto(*wanted, std::move(m_carry.value), pass.planned->name);
    if (&m_carry.value.mesh() != &m_state.mesh(pass)) {
        const Collective* send = m_state.stages.streamSend(pass.segment->phase);
        if (send == nullptr)
            failPlan("'" + m_state.graph.tensor(tensor).name + "' lies on another stage, and nothing sends it here",
                     pass.planned->name);
        const std::int64_t next = m_carryStage < pass.virtualStage ? 1 : -1;
        for (std::int64_t stage = m_carryStage; stage != pass.virtualStage; stage += next)
            m_carry.value = sent(pass, *send, m_carry, m_state.stages.mesh(stage + next));
    }
    putBack(tensor, std::exchange(m_carry, {}));
}

/// To the devices of another stage. What leaves a stage is dropped there.
Sharded HandOver::sent(const SegmentPass& pass, const Collective& collective, const Handed& handed, const Mesh& target)
{
    const double start = now();
    Resharded moved = executeSend(m_state.context, handed.value, target, m_state.breaks(collective));
    m_times.add(pass, collective, moved.timing, start);
    if (handed.reference.valid())
        m_verification.compare(pass, collective.id, collective.tensor, moved.tensor, handed.reference);
    return std::move(moved.tensor);
}

/// What brings an operand from the stage on which another segment left it.
const Collective& HandOver::sendOf(const SegmentPass& pass, const OperandUse& use) const
{
    for (const CollectiveId number : use.collectives)
        if (const Collective& collective = m_state.program.plan.collective(number); m_state.stages.isSend(collective))
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
    for (auto& [tensor, handed] : m_waiting.takeKept(pass.segment->of, pass.layer))
        putBack(tensor, std::move(handed));
    for (const PlannedOp& planned : pass.planned->ops)
        for (const OperandUse& use : planned.operands) {
            auto handed = m_waiting.take({ use.tensor, pass.layer });
            if (!handed)
                continue;
            handed->value = broughtInto(use.before, std::move(handed->value), pass.planned->name);
            if (&handed->value.mesh() != &m_state.mesh(pass))
                handed->value = sent(pass, sendOf(pass, use), *handed, m_state.mesh(pass));
            putBack(use.tensor, std::move(*handed));
        }
}

void HandOver::leave(const SegmentPass& pass)
{
    keepForBackward(pass);
    leaveForOthers(pass);
    const TensorId tensor = pass.segment->carryOut;
    if (tensor != kNoTensor) {
        if (m_state.current(tensor) == nullptr)
            failPlan("nothing writes what it hands on", pass.planned->name);
        m_carry = takeOut(tensor, m_state.layouts.at(tensor));
        m_carryStage = pass.virtualStage;
    }
    m_state.values.clear();
    m_verification.clear();
    m_state.layouts.clear();
}

void HandOver::keepForBackward(const SegmentPass& pass)
{
    for (const Kept& kept : pass.planned->kept) {
        if (m_state.values.find(kept.tensor, kept.layout) == nullptr)
            failPlan("'" + m_state.graph.tensor(kept.tensor).name
                         + "', to be kept for the backward pass, does not exist in the layout "
                         + specText(kept.layout, m_state.program.plan.mesh),
                     pass.planned->name);
        m_waiting.put({ kept.tensor, pass.layer, pass.planned->segment },
                      takeOut(kept.tensor, kept.layout, kept.tensor == pass.segment->carryOut));
    }
}

/// What still waits there is the gradient of the micro-batches before.
void HandOver::leaveForOthers(const SegmentPass& pass)
{
    for (const TensorId tensor : m_leaving[static_cast<std::size_t>(pass.planned->segment)]) {
        if (m_state.current(tensor) == nullptr)
            failPlan("nothing writes what it leaves for other segments: '" + m_state.graph.tensor(tensor).name + "'",
                     pass.planned->name);
        Handed addend = takeOut(tensor, m_state.layouts.at(tensor));
        Handed* sum = m_waiting.find({ tensor, pass.layer });
        if (sum == nullptr) {
            m_waiting.put({ tensor, pass.layer }, std::move(addend));
            continue;
        }
        if (sum->value.layout() != addend.value.layout())
            failPlan("a gradient lies otherwise than that of the micro-batch before", m_state.graph.tensor(tensor).name);
        addSharded(m_state.context, addend.value, sum->value);
        if (addend.reference.valid())
            addSharded(m_state.context, addend.reference, sum->reference);
    }
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
