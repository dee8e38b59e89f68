// SPDX-License-Identifier: Apache-2.0
#include "engine/passagerunner.h"

#include "engine/collective.h"
#include "engine/compare.h"
#include "engine/executor.h"
#include "engine/failure.h"
#include "engine/team.h"

#include <algorithm>
#include <numeric>

namespace shardboard::engine {

namespace {

const Op& opOf(const Graph& graph, const PlannedOp& planned) { return graph.op(planned.op); }

/// Large weights that the operation reads in row chunks need no memory of their own.
bool isStreamed(OpKind kind, std::size_t operand)
{
    return (operand == 1
            && (kind == OpKind::Linear || kind == OpKind::LinearGradX || kind == OpKind::Embedding || kind == OpKind::ExpertLinear
                || kind == OpKind::ExpertLinearT))
        || (operand == 0 && kind == OpKind::AdamStep);
}

/// The operand whose memory the result may take.
std::size_t takenOperand(OpKind kind) { return kind == OpKind::AdamStep ? 1 : 0; }

/// Around a ring an operand goes while its operation runs, which leaves it where it was.
bool isRing(const Collective& collective)
{
    return collective.kind == CollectiveKind::SendRecv && collective.step.before == collective.step.after;
}

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

Layout withoutNewPartials(Layout wanted, const Layout& have)
{
    std::erase_if(wanted.partial, [&](const AxisRef& ref) {
        return std::find(have.partial.begin(), have.partial.end(), ref) == have.partial.end();
    });
    return wanted;
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
            failPlan("'" + m_graph.tensor(tensor).name + "' lies on another stage, and nothing sends it here", passage.planned->name);
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
        if (const Collective& collective = m_program.plan.collectives[static_cast<std::size_t>(number)]; m_stages.isSend(collective))
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
            failPlan("nothing writes what it leaves for other segments: '" + m_graph.tensor(tensor).name + "'", passage.planned->name);
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
    if (std::any_of(kept.begin(), kept.end(), [&](const Kept& k) {
            return k.tensor == tensor && (layout == nullptr || k.layout == *layout);
        }))
        return true;
    const auto& leaving = m_leaving[static_cast<std::size_t>(passage.planned->segment)];
    if (tensor != passage.segment->carryOut && std::find(leaving.begin(), leaving.end(), tensor) == leaving.end())
        return false;
    const auto current = m_current.find(tensor);
    return layout == nullptr || (current != m_current.end() && current->second == *layout);
}

std::string PassageRunner::idOf(const Passage& passage, const Op& op) const
{
    const std::string id = passage.planned->name + "/" + op.name;
    return m_ambiguous.contains(id) ? phaseName(passage.segment->phase) + " " + id : id;
}

double PassageRunner::tolerance(const Passage& passage) const
{
    return toleranceOf(passage.segment->phase, m_options.designDtype);
}

void PassageRunner::show(const Passage& passage, TensorId tensor)
{
    if (!m_showsValues || (m_context.planning() && m_context.team == nullptr))
        return;
    const Sharded* value = m_values.find(tensor, m_current[tensor]);
    const Sharded* unsharded = m_verify ? m_reference.find(tensor, wholeLayout(tensor)) : nullptr;
    const std::string name = concreteName(m_graph.tensor(tensor).name, passage.layer);
    if (m_context.executor != nullptr) {
        Brought here(*m_context.executor, value);
        Brought wholeHere(*m_context.executor, unsharded);
        return m_hooks.value({ name, passage.microBatch, *here.get(), wholeHere.get() });
    }
    beginReading(m_context, allToFirst(m_context, *value));
    if (m_context.planning())
        return;
    if (leads() && m_hooks.value)
        m_hooks.value({ name, passage.microBatch, *value, unsharded });
    endReading(m_context);
}

Layout PassageRunner::wholeLayout(TensorId tensor) const { return Layout::replicated(m_graph.tensor(tensor).shape.size()); }

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
        failPlan("'" + m_graph.tensor(use.tensor).name + "' does not exist in the layout " + specText(use.before, m_program.plan.mesh),
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
        compare(passage, collective.id, collective.tensor, *operand.own, *m_reference.find(collective.tensor, wholeLayout(collective.tensor)));
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
    const bool can = op.kind == OpKind::Output || op.kind == OpKind::GatherLast || op.kind == OpKind::ReduceGrad
        || op.kind == OpKind::AdamStep;
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
    if (m_context.executor != nullptr && !m_context.planning())
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

void PassageRunner::compare(const Passage& passage, const std::string& id, TensorId tensor, const Sharded& value, const Sharded& reference)
{
    const auto among = m_among.find(tensor);
    const double error = relativeError(m_context, value, reference, among == m_among.end() ? 0 : among->second);
    if (!m_context.planning())
        m_record.addError(id, error, tolerance(passage));
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

bool PassageRunner::isMade(TensorId tensor) const { return m_graph.tensor(tensor).role != TensorRole::Activation; }

void PassageRunner::recordTime(const RunOperation& what, double seconds, const Mesh& mesh, const Timing& timing, double start)
{
    m_record.addTime(what, seconds);
    if (m_hooks.sample)
        m_hooks.sample({ what.id, what.kind, mesh.deviceId(timing.slowestDevice()), start - m_begin, seconds, what.bytes });
}

void PassageRunner::recordOp(const RunOperation& what, const PlannedOp& planned, const Timing& timing, double start)
{
    if (!m_context.planning())
        record({ what, &planned, nullptr, place(), m_mesh, timing, start });
}

void PassageRunner::recordCollective(const Collective& collective, const Timing& timing, double start)
{
    if (m_context.planning())
        return;
    RunOperation what;
    what.id = collective.id;
    what.kind = collectiveName(collective.kind);
    what.predictedSeconds = collective.seconds;
    what.bytes = collective.bytes;
    record({ what, nullptr, &collective, place(), m_mesh, timing, start });
}

void PassageRunner::record(Execution execution)
{
    if (m_context.team == nullptr)
        return write(execution);
    m_record.expect(execution.what);
    m_executions.push_back(std::move(execution));
}

/// A collective ends for all devices at once, so its time is that of the work of all.
void PassageRunner::write(const Execution& execution)
{
    const Timing& timing = execution.timing;
    recordTime(execution.what, execution.op != nullptr ? timing.slowest() : timing.together, *execution.mesh, timing, execution.start);
    if (m_profiler == nullptr)
        return;
    if (execution.op != nullptr)
        m_profiler->add(execution.what, *execution.op, execution.place, *execution.mesh, timing);
    else
        m_profiler->add(execution.what, *execution.collective, execution.place, *execution.mesh, timing);
}

/// All have gone through the same executions, each of them with its own devices.
void PassageRunner::gatherTimes()
{
    std::vector<double> said;
    for (const Execution& execution : m_executions) {
        said.insert(said.end(), { execution.timing.together, execution.timing.wall });
        for (std::int64_t device = 0; device < execution.mesh->deviceCount(); ++device) {
            const auto i = static_cast<std::size_t>(device);
            const bool has = i < execution.timing.seconds.size();
            const Timing::Span span = has ? execution.timing.spans[i] : Timing::Span {};
            said.insert(said.end(), { has ? execution.timing.seconds[i] : 0.0, span.start, span.end });
        }
    }
    const auto all = m_context.team->gather(said);
    std::size_t next = 0;
    for (Execution& execution : m_executions) {
        const auto devices = static_cast<std::size_t>(execution.mesh->deviceCount());
        Timing sum;
        sum.seconds.assign(devices, 0.0);
        sum.spans.assign(devices, {});
        for (const std::vector<double>& one : all) {
            const double* values = one.data() + next;
            Timing timing;
            for (std::size_t i = 0; i < devices; ++i) {
                timing.seconds.push_back(values[2 + 3 * i]);
                timing.spans.push_back({ values[3 + 3 * i], values[4 + 3 * i] });
            }
            const double together = std::max(sum.together, values[0]); // it is over when the last one is
            const double wall = std::max(sum.wall, values[1]);
            sum += timing;
            sum.together = together;
            sum.wall = wall;
        }
        next += 2 + 3 * devices;
        execution.timing = std::move(sum);
        if (leads())
            write(execution);
    }
    m_executions.clear();
}

} // namespace shardboard::engine
