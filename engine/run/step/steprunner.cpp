// SPDX-License-Identifier: Apache-2.0
#include "engine/run/step/steprunner.h"

#include "engine/devices/collective.h"
#include "engine/machine/failure.h"
#include "engine/run/step/showvalue.h"
#include "model/ops/opdefinition.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

/// Around a ring an operand goes while its operation runs, which leaves it where it was.
bool isRing(const Collective& collective)
{
    return collective.kind == CollectiveKind::SendRecv && collective.step.before == collective.step.after;
}

} // namespace

StepRunner::StepRunner(const RunRequest& request, Context& context, RunRecord& record, Profiler* profiler)
    : m_state(request, context)
    , m_times(request, context, m_state.stages, record, profiler)
    , m_verification(m_state, record)
    , m_handOver(m_state, m_verification, m_times)
    , m_steps(request.steps())
{
}

void StepRunner::runStep(const std::vector<SegmentPass>& passes, bool verify)
{
    m_verification.setOn(verify);
    std::int64_t inStep = 0;
    for (const SegmentPass& pass : passes)
        inStep += static_cast<std::int64_t>(pass.planned->ops.size());
    m_total = inStep * m_steps;
    const SegmentPass* before = nullptr;
    for (const SegmentPass& pass : passes) {
        if (before == nullptr || !pass.follows(*before))
            m_handOver.dropCarried();
        runPass(pass);
        before = &pass;
    }
    m_handOver.clear();
    m_times.gather();
}

void StepRunner::runPass(const SegmentPass& pass)
{
    const RunHooks& hooks = m_state.hooks;
    m_handOver.enter(pass);
    for (std::size_t i = 0; i < pass.planned->ops.size(); ++i) {
        if (hooks.cancel != nullptr && hooks.cancel->load())
            throw Stopped {};
        runOp(pass, i);
        ++m_done;
        if (hooks.progress && !m_state.context.planning()) {
            const std::string& name = m_state.op(pass.planned->ops[i]).name;
            hooks.progress(m_done, m_total, pass.segment->isLayer ? "layer " + std::to_string(pass.layer) + ": " + name : name);
        }
    }
    m_handOver.leave(pass);
}

bool StepRunner::takesBf16(const Op& op) const
{
    return std::all_of(op.operands.begin(), op.operands.end(),
                       [&](TensorId operand) { return m_state.maker.roundingOfTensor(operand) == Rounding::BF16; });
}

void StepRunner::runOp(const SegmentPass& pass, std::size_t index)
{
    const PlannedOp& planned = pass.planned->ops[index];
    const Op& op = m_state.op(planned);
    const std::string id = m_times.idOf(pass, op);

    std::vector<Operand> operands;
    for (std::size_t i = 0; i < planned.operands.size(); ++i)
        operands.push_back(fetch(pass, planned, i));
    OpCall call { op.kind, op.attributes, {}, id, m_state.program.plan.microBatches };
    call.bf16 = takesBf16(op);
    for (const Operand& operand : operands)
        call.operands.push_back(operand.own ? &*operand.own : operand.value);

    std::vector<RingTransfer> rings = ringsOf(planned);
    call.rings = &rings;

    Sharded result = m_state.fresh(pass, op.result, planned.result);
    const double start = now();
    const OpDefinition& definition = definitionOf(op.kind);
    const auto over = static_cast<std::size_t>(definition.taken);
    const bool mayTake = mayTakeOver(pass, index);
    const bool takes = mayTake && call.operands[over]->layout() == planned.result;
    if (takes) {
        result = operands[over].own ? std::move(*operands[over].own) : m_state.values.take(op.operands[over], planned.result);
        operands[over].own.reset();
        call.operands[over] = &result;
    }
    if (takes && definition.view) {
        m_times.add(pass, planned, {}, start);
    } else {
        if (definition.appends)
            result.source = m_state.maker.cacheOf(op.result, pass.layer);
        if (!takes)
            result.allocate(m_state.context.arena);
        const Timing timing = executeOp(m_state.context, call, result);
        roundSharded(m_state.context, m_state.maker.roundingOfTensor(op.result), result);
        recordRings(pass, planned, rings, start);
        m_times.add(pass, planned, timing, start);
    }
    if (m_verification.on())
        m_verification.chooseAlike(op, call);
    keepOperands(pass, index, operands);
    operands.clear();
    m_state.layouts[op.result] = planned.result;
    const Sharded& stored = m_state.values.put(op.result, std::move(result));
    if (m_verification.on())
        m_verification.runOp(pass, index, mayTake, id, stored);
    showValue(m_state, pass, op.result, m_verification.on() ? m_verification.find(op.result) : nullptr);
    dropDead(pass, index);
}

StepRunner::Operand StepRunner::fetch(const SegmentPass& pass, const PlannedOp& planned, std::size_t index)
{
    const OperandUse& use = planned.operands[index];
    const Op& op = m_state.op(planned);
    Operand operand;
    operand.value = m_state.values.find(use.tensor, use.before); // of weights what an operation before gathered
    if (operand.value == nullptr && m_state.isMade(use.tensor)) {
        if (m_state.graph.tensor(use.tensor).role == TensorRole::Weight
            && use.before != m_state.program.plan.layouts[static_cast<std::size_t>(use.tensor)])
            failPlan("'" + m_state.graph.tensor(use.tensor).name + "' is not stored in the layout "
                         + specText(use.before, m_state.program.plan.mesh),
                     m_times.idOf(pass, op));
        operand.own = m_state.fresh(pass, use.tensor, use.before);
        operand.own->source = m_state.maker.sourceOf(use.tensor, pass.layer, pass.microBatch);
        const bool inParts = definitionOf(op.kind).streamed == static_cast<int>(index); // without memory of its own
        if (!inParts || !use.collectives.empty() || !use.before.partial.empty())
            materialize(m_state.context, *operand.own);
    } else if (operand.value == nullptr) {
        failPlan("'" + m_state.graph.tensor(use.tensor).name + "' does not exist in the layout "
                     + specText(use.before, m_state.program.plan.mesh),
                 m_times.idOf(pass, op));
    } else if (&operand.value->mesh() != &m_state.mesh(pass)) {
        failPlan("'" + m_state.graph.tensor(use.tensor).name + "' lies on the devices of another stage", m_times.idOf(pass, op));
    }
    for (const CollectiveId number : use.collectives) {
        const Collective& collective = m_state.program.plan.collective(number);
        if (collective.tensor != use.tensor)
            failPlan("it is of another tensor than the operand that it is for", collective.id);
        if (!isRing(collective)) // a send between stages has brought it here before the first operation
            runCollective(pass, collective, operand);
    }
    const Sharded& value = operand.own ? *operand.own : *operand.value;
    if (value.layout() != use.layout)
        failPlan("the collectives of '" + m_state.graph.tensor(use.tensor).name + "' do not lead to the layout it is taken in",
                 pass.planned->name + "/" + op.name);
    return operand;
}

/// One for every operand that goes around a ring, over all mesh axes of its rings.
std::vector<RingTransfer> StepRunner::ringsOf(const PlannedOp& planned)
{
    std::vector<RingTransfer> rings;
    for (std::size_t i = 0; i < planned.operands.size(); ++i)
        for (const CollectiveId number : planned.operands[i].collectives) {
            const Collective& collective = m_state.program.plan.collective(number);
            if (!isRing(collective) || m_state.stages.isSend(collective))
                continue;
            if (rings.empty() || rings.back().operand != i)
                rings.push_back({ i, {}, false, false, {} });
            rings.back().shared = collective.op != planned.op;
            rings.back().axes.insert(rings.back().axes.end(), collective.axes.begin(), collective.axes.end());
            rings.back().broken = !rings.back().shared && (m_state.breaks(collective) || rings.back().broken);
        }
    return rings;
}

/// What the hops of an operand took is that of its collectives, by their bytes.
void StepRunner::recordRings(const SegmentPass& pass, const PlannedOp& planned, const std::vector<RingTransfer>& rings,
                             double start)
{
    for (const RingTransfer& ring : rings) {
        std::vector<const Collective*> collectives;
        double bytes = 0;
        for (const CollectiveId number : planned.operands[ring.operand].collectives) {
            const Collective& collective = m_state.program.plan.collective(number);
            if (!isRing(collective) || ring.shared || m_state.stages.isSend(collective))
                continue;
            collectives.push_back(&collective);
            bytes += static_cast<double>(collective.bytes);
        }
        for (const Collective* collective : collectives)
            m_times.add(pass, *collective, ring.timing.share(bytes > 0 ? static_cast<double>(collective->bytes) / bytes : 1),
                        start);
    }
}

void StepRunner::runCollective(const SegmentPass& pass, const Collective& collective, Operand& operand)
{
    const Sharded& value = operand.own ? *operand.own : *operand.value;
    if (collective.step.before != value.layout())
        failPlan("it starts from another layout than the one before it ends with", collective.id);
    const double start = now();
    const std::optional<Source> source = value.source;
    Resharded moved = executeStep(m_state.context, collective.step, value, m_state.breaks(collective), collective.id);
    m_times.add(pass, collective, moved.timing, start);
    roundSharded(m_state.context, m_state.maker.roundingOfTensor(collective.tensor), moved.tensor);
    operand.own = std::move(moved.tensor);
    operand.value = nullptr;
    operand.own->source = source;
    if (m_verification.on())
        m_verification.compare(pass, collective, *operand.own);
}

/// Where nobody else wants an operand whose memory the result may take, it becomes the result.
bool StepRunner::mayTakeOver(const SegmentPass& pass, std::size_t index) const
{
    const Op& op = m_state.op(pass.planned->ops[index]);
    const int taken = definitionOf(op.kind).taken;
    const bool can = taken >= 0;
    const TensorId tensor = can ? op.operands[static_cast<std::size_t>(taken)] : kNoTensor;
    // Where it is the other operand as well, that one must stay.
    return can && std::ranges::count(op.operands, tensor) == 1 && !m_state.isMade(tensor)
        && !m_handOver.stays(pass, tensor, nullptr) && !usedLater(pass, index, tensor, nullptr);
}

void StepRunner::keepOperands(const SegmentPass& pass, std::size_t index, std::vector<Operand>& operands)
{
    const PlannedOp& planned = pass.planned->ops[index];
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const OperandUse& use = planned.operands[i];
        if (!operands[i].own)
            continue;
        if (m_state.isMade(use.tensor)) {
            if (use.replaces && usedLater(pass, index, use.tensor, &use.layout))
                m_state.values.put(use.tensor, std::move(*operands[i].own));
            continue;
        }
        if (use.replaces)
            m_state.layouts[use.tensor] = use.layout;
        if (m_handOver.stays(pass, use.tensor, &use.layout) || usedLater(pass, index, use.tensor, &use.layout))
            m_state.values.put(use.tensor, std::move(*operands[i].own));
    }
}

void StepRunner::dropDead(const SegmentPass& pass, std::size_t index)
{
    const Op& op = m_state.op(pass.planned->ops[index]);
    std::vector<TensorId> touched = op.operands;
    touched.push_back(op.result);
    for (const TensorId tensor : touched) {
        for (const Layout& layout : m_state.values.layouts(tensor))
            if (!usedLater(pass, index, tensor, &layout) && !m_handOver.stays(pass, tensor, &layout))
                m_state.values.drop(tensor, layout);
        if (!m_handOver.stays(pass, tensor, nullptr) && !usedLater(pass, index, tensor, nullptr))
            m_verification.drop(tensor);
    }
}

bool StepRunner::usedLater(const SegmentPass& pass, std::size_t index, TensorId tensor, const Layout* layout)
{
    const auto& ops = pass.planned->ops;
    return std::any_of(ops.begin() + static_cast<std::ptrdiff_t>(index) + 1, ops.end(), [&](const PlannedOp& later) {
        return std::any_of(later.operands.begin(), later.operands.end(), [&](const OperandUse& use) {
            return use.tensor == tensor && (layout == nullptr || use.before == *layout);
        });
    });
}

} // namespace shardboard::engine
