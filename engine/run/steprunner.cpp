// SPDX-License-Identifier: Apache-2.0
// Through the operations of a passage: their operands, collectives and results.
#include "engine/run/passagerunner.h"

#include "engine/devices/collective.h"
#include "engine/run/executor.h"
#include "engine/devices/failure.h"
#include "engine/run/passageparts.h"
#include "engine/devices/team.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

/// Around a ring an operand goes while its operation runs, which leaves it where it was.
bool isRing(const Collective& collective)
{
    return collective.kind == CollectiveKind::SendRecv && collective.step.before == collective.step.after;
}

} // namespace

PassageRunner::PassageRunner(const Program& program, const RunOptions& options, const RunHooks& hooks, Context& context,
                             RunRecord& record)
    : m_program(program)
    , m_graph(program.graph)
    , m_options(options)
    , m_hooks(hooks)
    , m_context(context)
    , m_record(record)
    , m_maker(program, options)
    , m_stages(program)
    , m_leaving(leavingTensors(program.graph))
    , m_showsValues(static_cast<bool>(hooks.value))
    , m_begin(now())
{
    if (DeviceMemory* memory = context.arena.deviceMemory())
        for (const Mesh& mesh : m_stages.meshes())
            memory->watch(mesh);
    std::map<std::string, Phase> phases;
    for (const PlannedSegment& planned : program.plan.segments)
        for (const PlannedOp& op : planned.ops)
            if (const std::string id = planned.name + "/" + opOf(m_graph, op).name;
                phases.emplace(id, planned.phase).first->second != planned.phase)
                m_ambiguous.insert(id);
}

void PassageRunner::runStep(const std::vector<Passage>& passages, bool verify)
{
    m_verify = verify;
    std::int64_t inStep = 0;
    for (const Passage& passage : passages)
        inStep += static_cast<std::int64_t>(passage.planned->ops.size());
    m_total = inStep * m_steps;
    const Passage* before = nullptr;
    for (const Passage& passage : passages) {
        if (before == nullptr || !passage.follows(*before)) {
            m_carry = {};
            m_referenceCarry = {};
        }
        runPassage(passage);
        before = &passage;
    }
    m_carry = {};
    m_referenceCarry = {};
    m_waiting.clear();
    m_referenceWaiting.clear();
    if (m_context.team != nullptr && !m_context.planning())
        gatherTimes();
}

void PassageRunner::runPassage(const Passage& passage)
{
    beginPassage(passage);
    for (std::size_t i = 0; i < passage.planned->ops.size(); ++i) {
        if (m_hooks.cancel != nullptr && m_hooks.cancel->load())
            throw Stopped {};
        runOp(passage, i);
        ++m_done;
        if (m_hooks.progress && !m_context.planning()) {
            const std::string& name = opOf(m_graph, passage.planned->ops[i]).name;
            m_hooks.progress(m_done, m_total,
                             passage.segment->isLayer ? "layer " + std::to_string(passage.layer) + ": " + name : name);
        }
    }
    endPassage(passage);
}

void PassageRunner::beginPassage(const Passage& passage)
{
    m_passage = &passage;
    m_mesh = &m_stages.mesh(passage.run);
    enterCarried(passage);
    if (passage.segment->phase != Phase::Forward)
        enterWaiting(passage);
}

bool PassageRunner::takesBf16(const Op& op) const
{
    return std::all_of(op.operands.begin(), op.operands.end(),
                       [&](TensorId operand) { return m_maker.roundingOfTensor(operand) == Rounding::BF16; });
}

void PassageRunner::runOp(const Passage& passage, std::size_t index)
{
    const PlannedOp& planned = passage.planned->ops[index];
    const Op& op = opOf(m_graph, planned);
    RunOperation what;
    what.id = idOf(passage, op);
    what.kind = opKindName(op.kind);
    what.predictedSeconds = planned.seconds;

    std::vector<Operand> operands;
    for (std::size_t i = 0; i < planned.operands.size(); ++i)
        operands.push_back(fetch(passage, planned, i));
    OpCall call { op.kind, op.attributes, {}, what.id, m_program.plan.microBatches };
    call.bf16 = takesBf16(op);
    for (const Operand& operand : operands)
        call.operands.push_back(operand.own ? &*operand.own : operand.value);

    std::vector<RingTransfer> rings = ringsOf(planned);
    call.rings = &rings;

    Sharded result = fresh(op.result, planned.result);
    const double start = now();
    const std::size_t over = takenOperand(op.kind);
    const bool takes = mayTakeOver(passage, index) && call.operands[over]->layout() == planned.result;
    if (takes) {
        result = operands[over].own ? std::move(*operands[over].own) : m_values.take(op.operands[over], planned.result);
        operands[over].own.reset();
        call.operands[over] = &result;
    }
    if (takes && op.kind != OpKind::AdamStep) {
        recordOp(what, planned, {}, start);
    } else {
        if (op.kind == OpKind::KvAppend)
            result.source = m_maker.cacheOf(op.result, passage.layer);
        if (!takes)
            result.allocate(m_context.arena);
        const Timing timing = executeOp(m_context, call, result);
        roundSharded(m_context, m_maker.roundingOfTensor(op.result), result);
        recordRings(planned, rings, start);
        recordOp(what, planned, timing, start);
    }
    if (m_verify)
        chooseAlike(op, call);
    keepOperands(passage, index, operands);
    operands.clear();
    m_current[op.result] = planned.result;
    const Sharded& stored = m_values.put(op.result, std::move(result));
    if (m_verify)
        runReference(passage, index, what.id, stored);
    show(passage, op.result);
    dropDead(passage, index);
}

PassageRunner::Operand PassageRunner::fetch(const Passage& passage, const PlannedOp& planned, std::size_t index)
{
    const OperandUse& use = planned.operands[index];
    const Op& op = opOf(m_graph, planned);
    Operand operand;
    operand.value = m_values.find(use.tensor, use.before); // of weights what an operation before gathered
    if (operand.value == nullptr && isMade(use.tensor)) {
        if (m_graph.tensor(use.tensor).role == TensorRole::Weight
            && use.before != m_program.plan.layouts[static_cast<std::size_t>(use.tensor)])
            failPlan("'" + m_graph.tensor(use.tensor).name + "' is not stored in the layout "
                         + specText(use.before, m_program.plan.mesh),
                     idOf(passage, op));
        operand.own = fresh(use.tensor, use.before);
        operand.own->source = m_maker.sourceOf(use.tensor, passage.layer, passage.microBatch);
        if (!isStreamed(op.kind, index) || !use.collectives.empty() || !use.before.partial.empty())
            materialize(m_context, *operand.own);
    } else if (operand.value == nullptr) {
        failPlan("'" + m_graph.tensor(use.tensor).name + "' does not exist in the layout "
                     + specText(use.before, m_program.plan.mesh),
                 idOf(passage, op));
    } else if (&operand.value->mesh() != m_mesh) {
        failPlan("'" + m_graph.tensor(use.tensor).name + "' lies on the devices of another stage", idOf(passage, op));
    }
    for (const int number : use.collectives) {
        const Collective& collective = m_program.plan.collectives[static_cast<std::size_t>(number)];
        if (collective.tensor != use.tensor)
            failPlan("it is of another tensor than the operand that it is for", collective.id);
        if (!isRing(collective)) // a send between stages has brought it here before the first operation
            runCollective(passage, collective, operand);
    }
    const Sharded& value = operand.own ? *operand.own : *operand.value;
    if (value.layout() != use.layout)
        failPlan("the collectives of '" + m_graph.tensor(use.tensor).name + "' do not lead to the layout it is taken in",
                 passage.planned->name + "/" + op.name);
    return operand;
}

/// One for every operand that goes around a ring, over all mesh axes of its rings.
std::vector<RingTransfer> PassageRunner::ringsOf(const PlannedOp& planned)
{
    std::vector<RingTransfer> rings;
    for (std::size_t i = 0; i < planned.operands.size(); ++i)
        for (const int number : planned.operands[i].collectives) {
            const Collective& collective = m_program.plan.collectives[static_cast<std::size_t>(number)];
            if (!isRing(collective) || m_stages.isSend(collective))
                continue;
            if (rings.empty() || rings.back().operand != i)
                rings.push_back({ i, {}, false, false, {} });
            rings.back().shared = collective.op != planned.op;
            rings.back().axes.insert(rings.back().axes.end(), collective.axes.begin(), collective.axes.end());
            rings.back().broken = !rings.back().shared && (breaks(collective) || rings.back().broken);
        }
    return rings;
}

/// What the hops of an operand took is that of its collectives, by their bytes.
void PassageRunner::recordRings(const PlannedOp& planned, const std::vector<RingTransfer>& rings, double start)
{
    for (const RingTransfer& ring : rings) {
        std::vector<const Collective*> collectives;
        double bytes = 0;
        for (const int number : planned.operands[ring.operand].collectives) {
            const Collective& collective = m_program.plan.collectives[static_cast<std::size_t>(number)];
            if (!isRing(collective) || ring.shared || m_stages.isSend(collective))
                continue;
            collectives.push_back(&collective);
            bytes += static_cast<double>(collective.bytes);
        }
        for (const Collective* collective : collectives)
            recordCollective(*collective, ring.timing.share(bytes > 0 ? static_cast<double>(collective->bytes) / bytes : 1), start);
    }
}

void PassageRunner::runCollective(const Passage& passage, const Collective& collective, Operand& operand)
{
    const Sharded& value = operand.own ? *operand.own : *operand.value;
    if (collective.step.before != value.layout())
        failPlan("it starts from another layout than the one before it ends with", collective.id);
    const double start = now();
    const std::optional<Source> source = value.source;
    Resharded moved = executeStep(m_context, collective.step, value, breaks(collective), collective.id);
    recordCollective(collective, moved.timing, start);
    roundSharded(m_context, m_maker.roundingOfTensor(collective.tensor), moved.tensor);
    operand.own = std::move(moved.tensor);
    operand.value = nullptr;
    operand.own->source = source;
    if (!m_verify)
        return;
    if (isMade(collective.tensor))
        compare(passage, collective.id, collective.tensor, *operand.own,
                referenceSource(collective.tensor, m_maker.sourceOf(collective.tensor, passage.layer, passage.microBatch)));
    else
        compare(passage, collective.id, collective.tensor, *operand.own,
                *m_reference.find(collective.tensor, wholeLayout(collective.tensor)));
}

bool PassageRunner::breaks(const Collective& collective)
{
    if (m_options.breakCollective.empty() || m_context.planning())
        return false;
    if (m_brokenId.empty() && m_options.breakCollective == "any" && collective.kind != CollectiveKind::LocalSlice
        && m_program.plan.mesh.groupSize(collective.axes) > 1)
        m_brokenId = collective.id;
    const bool broken = collective.id == m_brokenId || collective.id == m_options.breakCollective;
    m_broke = m_broke || broken;
    return broken;
}

/// An Output, GatherLast or ReduceGrad is its operand under another name, and an optimizer's step can be made where the gradient
/// lies: where nobody else wants the operand, it becomes the result.
bool PassageRunner::mayTakeOver(const Passage& passage, std::size_t index) const
{
    const Op& op = opOf(m_graph, passage.planned->ops[index]);
    const bool can =
        op.kind == OpKind::Output || op.kind == OpKind::GatherLast || op.kind == OpKind::ReduceGrad || op.kind == OpKind::AdamStep;
    const TensorId tensor = can ? op.operands[takenOperand(op.kind)] : kNoTensor;
    return can && !isMade(tensor) && !stays(passage, tensor, nullptr) && !usedLater(passage, index, tensor, nullptr);
}

void PassageRunner::keepOperands(const Passage& passage, std::size_t index, std::vector<Operand>& operands)
{
    const PlannedOp& planned = passage.planned->ops[index];
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const OperandUse& use = planned.operands[i];
        if (!operands[i].own)
            continue;
        if (isMade(use.tensor)) {
            if (use.replaces && usedLater(passage, index, use.tensor, &use.layout))
                m_values.put(use.tensor, std::move(*operands[i].own));
            continue;
        }
        if (use.replaces)
            m_current[use.tensor] = use.layout;
        if (stays(passage, use.tensor, &use.layout) || usedLater(passage, index, use.tensor, &use.layout))
            m_values.put(use.tensor, std::move(*operands[i].own));
    }
}

Sharded PassageRunner::fresh(TensorId tensor, const Layout& layout) const
{
    Sharded out(m_graph.tensor(tensor).shape, layout, *m_mesh);
    if (m_context.executor != nullptr)
        out.setElement(m_context.executor->elementOf(m_maker.roundingOfTensor(tensor)));
    return out;
}

void PassageRunner::dropDead(const Passage& passage, std::size_t index)
{
    const Op& op = opOf(m_graph, passage.planned->ops[index]);
    std::vector<TensorId> touched = op.operands;
    touched.push_back(op.result);
    for (const TensorId tensor : touched) {
        for (const Layout& layout : m_values.layouts(tensor))
            if (!usedLater(passage, index, tensor, &layout) && !stays(passage, tensor, &layout))
                m_values.drop(tensor, layout);
        if (!stays(passage, tensor, nullptr) && !usedLater(passage, index, tensor, nullptr))
            m_reference.drop(tensor, wholeLayout(tensor));
    }
}

bool PassageRunner::usedLater(const Passage& passage, std::size_t index, TensorId tensor, const Layout* layout)
{
    const auto& ops = passage.planned->ops;
    return std::any_of(ops.begin() + static_cast<std::ptrdiff_t>(index) + 1, ops.end(), [&](const PlannedOp& later) {
        return std::any_of(later.operands.begin(), later.operands.end(), [&](const OperandUse& use) {
            return use.tensor == tensor && (layout == nullptr || use.before == *layout);
        });
    });
}

bool PassageRunner::leads() const { return m_context.team == nullptr || m_context.team->place() == 0; }

bool PassageRunner::isMade(TensorId tensor) const { return m_graph.tensor(tensor).role != TensorRole::Activation; }

} // namespace shardboard::engine
