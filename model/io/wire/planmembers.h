// SPDX-License-Identifier: Apache-2.0
// The keys of a plan that the engine reads back, for both directions. What they mean depends on what was read before: layouts are
// texts over the plan's mesh axes, ids point into the lists of the program.
#pragma once

#include "model/io/json/corewords.h"
#include "model/io/json/jsonmembers.h"
#include "model/io/wire/planjson.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

inline constexpr std::int64_t kMostInPlan = std::int64_t { 1 } << 40;
inline constexpr int kMostIds = 1 << 20;

std::string roleName(TensorRole role); ///< weight, input, activation, kv_cache
std::optional<TensorRole> roleFromName(std::string_view name);

inline auto jsonWords(TensorRole) { return JsonWords { roleName, roleFromName, "weight, input, activation or kv_cache" }; }
inline auto jsonWords(Phase) { return JsonWords { phaseName, phaseFromName, "forward, backward or update" }; }
inline auto jsonWords(PipelineSchedule)
{
    return JsonWords { scheduleName, scheduleFromName, "1f1b, interleaved, zero-bubble, dualpipe or gpipe" };
}
inline auto jsonWords(CollectiveKind)
{
    return JsonWords { collectiveName, collectiveFromName, "the name of a collective such as all-reduce" };
}
inline auto jsonWords(OpKind) { return JsonWords { opKindName, opKindFromName, "the name of an operation" }; }
inline auto jsonWords(KernelClass) { return JsonWords { kernelClassName, kernelClassFromName, "the name of a class of kernels" }; }

/// A mesh axis by its name.
struct AxisText {
    const Mesh& mesh;

    std::string text(int axis) const { return mesh.axis(axis).name; }
    Result<int> parse(const std::string& name, const std::string& place) const
    {
        const int axis = mesh.find(name);
        if (axis < 0)
            return inputError(place, "the mesh has no axis '" + name + "'", "name an axis of the plan's mesh");
        return axis;
    }
};

/// A layout as a spec, of a tensor of this rank.
struct LayoutText {
    const Mesh& mesh;
    std::size_t rank;

    std::string text(const Layout& layout) const { return specText(layout, mesh); }
    Result<Layout> parse(const std::string& spec, const std::string& place) const { return parseSpec(spec, mesh, rank, place); }
};

/// Index into a list of that size.
inline JsonBounds<int> indexInto(std::size_t size, int least = 0) { return { least, static_cast<int>(size) - 1 }; }

/// The members of the parts of one program; `Graph` and `Plan` are const where they are written.
template <class Each, class GraphOf, class PlanOf>
class PlanMembers {
public:
    PlanMembers(GraphOf& graph, PlanOf& plan)
        : m_graph(graph)
        , m_plan(plan)
    {
    }

    template <class Pipeline>
    void pipeline(Each& each, Pipeline& pipeline) const
    {
        each.text("axis", pipeline.axis, AxisText { m_plan.mesh });
        each.value("chunks", pipeline.chunks, { 1, 1 << 16 });
        each.unless("schedule", pipeline.schedule, PipelineSchedule::OneForwardOneBackward);
        each.value("layers", pipeline.layers, { 1, kMostInPlan });
        each.unless("run_ends", pipeline.runEnds, {}, { 0, kMostInPlan });
        each.unless("busiest_stage", pipeline.busiestStage, 0, { 0, kMostInPlan });
        each.value("bubble", pipeline.bubble);
        // totals.seconds = stage_seconds + bubble_seconds + update_seconds; bubble_seconds = bubble x (stage_seconds -
        // end_seconds)
        each.value("stage_seconds", pipeline.stageSeconds);
        each.usual("end_seconds", pipeline.endSeconds);
        each.value("update_seconds", pipeline.updateSeconds);
    }

    template <class Tensor>
    void tensor(Each& each, Tensor& tensor) const
    {
        each.value("name", tensor.spec.name);
        each.value("shape", tensor.spec.shape, { 0, kMostInPlan });
        each.check([&](JsonFields& from) {
            const auto elements = elementCount(tensor.spec.shape);
            if (!elements || *elements > (std::int64_t { 1 } << 56))
                from.fail("shape", "the tensor has too many elements", "use at most 2^56");
        });
        each.value("dtype", tensor.spec.dtype);
        each.value("role", tensor.spec.role);
        each.derived("dims", [&] { return tensor.spec.dimLabels; });
        each.value("segment", tensor.segment, { 0, kMostIds });
        each.value("copies", tensor.copies, { 1 });
        each.usual("pieces", tensor.pieces, { 1 });
        each.usual("density", tensor.density, { 0, 1 });
        each.check([&](JsonFields& from) {
            if (!(tensor.density > 0))
                from.fail("density", "a share of rows is more than 0", "use a number above 0, up to 1");
        });
        each.value("gradient_of", tensor.gradientOf, { -1, kMostIds });
        each.value("again", tensor.again, { -1, kMostIds });
        each.group("fill", [&](auto& inner) {
            inner.value("mean", tensor.fill.mean);
            inner.value("deviation", tensor.fill.deviation);
        });
    }

    template <class OneSegment>
    void segment(Each& each, OneSegment& segment) const
    {
        const auto tensors = indexInto(m_graph.tensors.size(), -1);
        each.value("name", segment.name);
        each.value("first_layer", segment.firstLayer, { 0, kMostInPlan });
        each.value("count", segment.count, { 1, kMostInPlan });
        each.value("is_layer", segment.isLayer);
        each.value("carry_in", segment.carryIn, tensors);
        each.value("carry_out", segment.carryOut, tensors);
        each.value("phase", segment.phase);
        each.value("of", segment.of, indexInto(m_graph.segments.size() - 1, -1)); // one before this one
    }

    template <class Planned>
    void plannedSegment(Each& each, Planned& segment) const
    {
        each.value("name", segment.name);
        each.value("count", segment.count, { 1, kMostInPlan });
        each.value("first_layer", segment.firstLayer, { 0, kMostInPlan });
        each.value("segment", segment.segment, indexInto(m_graph.segments.size()));
        each.value("phase", segment.phase);
        each.value("kept_statistics", segment.statistics, { 0 });
        each.list("kept", segment.kept, [&](Each& inner, auto& kept) {
            tensorId(inner, kept.tensor);
            layout(inner, "spec", kept.layout, kept.tensor);
            inner.unless("share", kept.share, 1, { 0, 2 });
        });
    }

    /// Without the axes, which decide about the sizes of its groups.
    template <class One>
    void collective(Each& each, One& collective) const
    {
        each.value("id", collective.id);
        each.value("kind", collective.kind);
        tensorId(each, collective.tensor);
        layout(each, "from", collective.step.before, collective.tensor);
        layout(each, "to", collective.step.after, collective.tensor);
        each.value("bytes", collective.bytes, { 0 });
        each.value("count", collective.count, { 0 });
        each.unless("group_bytes", collective.groupBytes, 0, { 0 });
        each.unless("joins", collective.joins, false);
        each.value("seconds", collective.seconds);
        each.usual("algorithm", collective.algorithm);
        each.usual("link", collective.link);
        each.value("planned_segment", collective.plannedSegment, indexInto(m_plan.segments.size()));
        each.group("cause", [&](auto& inner) {
            inner.value("brief", collective.cause);
            inner.value("reason", collective.reason);
            inner.derived("op_id", [&] { return collective.op; });
            inner.derived("operand", [&] { return collective.operand; });
            inner.derived("op", [&] { return segmentName(collective) + "/" + m_graph.op(collective.op).name; });
        });
    }

    template <class OneOp, class Planned>
    void operation(Each& each, OneOp& op, Planned& planned) const
    {
        each.value("name", op.name);
        each.value("op", op.kind);
        each.group("attributes", [&](auto& inner) {
            visitAttributes(op.attributes, [&](const char* key, auto& value, const auto& usual) {
                if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::int64_t>)
                    inner.unless(key, value, usual, { 0, kMostInPlan });
                else
                    inner.unless(key, value, usual);
            });
        });
        each.list("operands", planned.operands, [&](Each& inner, auto& use) { operand(inner, use); });
        each.group("result", [&](auto& inner) {
            tensorId(inner, op.result);
            layout(inner, "spec", planned.result, op.result);
            inner.derived("tensor", [&] { return m_graph.tensor(op.result).name; });
        });
        each.value("count", planned.count, { 1 });
        each.value("seconds", planned.seconds);
        each.value("flops", planned.work.flops);
        work(each, planned.work);
    }

private:
    std::string segmentName(const Collective& collective) const { return m_plan.segment(collective.plannedSegment).name; }

    template <class Id>
    void tensorId(Each& each, Id& id) const
    {
        each.value("tensor_id", id, indexInto(m_graph.tensors.size()));
    }

    template <class OneLayout>
    void layout(Each& each, const char* key, OneLayout& layout, TensorId tensor) const
    {
        if constexpr (Each::kReads)
            if (each.from().error())
                return; // the tensor may be none
        each.text(key, layout, LayoutText { m_plan.mesh, m_graph.tensor(tensor).shape.size() });
    }

    template <class Use>
    void operand(Each& each, Use& use) const
    {
        tensorId(each, use.tensor);
        layout(each, "before", use.before, use.tensor);
        layout(each, "spec", use.layout, use.tensor);
        each.value("replaces", use.replaces);
        each.value("collectives", use.collectives, indexInto(m_plan.collectives.size()));
        each.derived("tensor", [&] { return m_graph.tensor(use.tensor).name; });
    }

    /// Running a plan needs none of it, so a plan may lack it.
    template <class Work>
    void work(Each& each, Work& work) const
    {
        each.groupIfAny("work", [&](auto& inner) {
            inner.value("kernel", work.kernel);
            inner.value("dtype", work.dtype);
            inner.usual("bytes", work.bytes);
            inner.groupIfAny(
                "gemm",
                [&](auto& gemm) {
                    gemm.value("b", work.gemm.b);
                    gemm.value("m", work.gemm.m);
                    gemm.value("n", work.gemm.n);
                    gemm.value("k", work.gemm.k);
                },
                work.kernel == KernelClass::Gemm);
        });
    }

    GraphOf& m_graph;
    PlanOf& m_plan;
};

} // namespace shardboard
