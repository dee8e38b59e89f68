// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/torch/torchtitan.h"

#include "model/io/exports/pythontext.h"
#include "model/plan/pipeline.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <optional>

namespace shardboard {

namespace {

/// In the order in which TorchTitan lays them over the ranks, slowest first.
enum class Role { Pipeline, Copies, Parts, Context, Tensor };

struct Degrees {
    std::array<std::int64_t, 5> of { 1, 1, 1, 1, 1 };
    std::int64_t& operator[](Role role) { return of[static_cast<std::size_t>(role)]; }
};

std::optional<Role> roleOf(int axis, const TorchProgram& program, int stageAxis)
{
    if (axis == stageAxis)
        return Role::Pipeline;
    if (axis == program.tensorAxis)
        return Role::Tensor;
    if (axis == program.contextAxis)
        return Role::Context;
    if (std::ranges::count(program.gatheredAxes, axis) > 0)
        return Role::Parts;
    if (std::ranges::count(program.summedAxes, axis) > 0)
        return Role::Copies;
    return std::nullopt;
}

Degrees degreesOf(const Mesh& mesh, const TorchProgram& program, int stageAxis, std::vector<std::string>& reasons)
{
    Degrees degrees;
    Role last = Role::Pipeline;
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        if (mesh.axis(axis).size == 1)
            continue;
        const auto role = roleOf(axis, program, stageAxis);
        if (!role) {
            reasons.push_back("mesh axis '" + mesh.axis(axis).name + "' is for none of its kinds of parallelism");
            continue;
        }
        if (*role < last)
            reasons.push_back("it lays pipeline, copies, parts of weights, context and tensor parallel over the ranks in this "
                              "order, and mesh axis '"
                              + mesh.axis(axis).name + "' stands elsewhere");
        last = *role;
        degrees[*role] *= mesh.axis(axis).size;
    }
    if (!mesh.deviceIds().empty())
        reasons.push_back("it counts ranks in the order of its mesh, and the design has another order of devices");
    return degrees;
}

/// Dim that TorchTitan's tensor parallel cuts of a weight; -1: none.
int titanDim(const std::string& name)
{
    const auto ends = [&](const char* part) { return name.ends_with(std::string(part) + ".weight"); };
    if (ends("o_proj") || ends("down_proj"))
        return 1;
    return ends("norm") ? -1 : 0;
}

/// Why its weights would lie elsewhere.
void addWeights(const Evaluation& evaluation, const TorchProgram& program, std::vector<std::string>& reasons)
{
    for (const WeightLayout& weight : evaluation.weights) {
        if (weight.spec.role != TensorRole::Weight)
            continue;
        for (std::size_t dim = 0; dim < weight.layout.dims.size(); ++dim) {
            const auto& axes = weight.layout.dims[dim];
            for (std::size_t place = 0; place < axes.size(); ++place) {
                const bool tensor = axes[place].axis == program.tensorAxis;
                if (tensor && (static_cast<int>(dim) != titanDim(weight.spec.name) || place != 0))
                    reasons.push_back("its tensor parallel cuts " + weight.spec.name + " in another way");
                else if (!tensor && dim != 0)
                    reasons.push_back("its FSDP cuts dim 0 of every weight, and the design cuts dim " + std::to_string(dim) + " of "
                                      + weight.spec.name);
                if (reasons.size() > 3)
                    return;
            }
        }
    }
}

/// The function of its config registry that has a model of these sizes.
std::string configOf(const ModelSpec& model)
{
    struct Known {
        std::int64_t hidden, layers, heads, kvHeads, intermediate;
        const char* name;
    };
    constexpr std::array kLlama { Known { 4096, 32, 32, 8, 14336, "llama3_8b" }, Known { 8192, 80, 64, 8, 28672, "llama3_70b" },
                                  Known { 16384, 126, 128, 8, 53248, "llama3_405b" } };
    for (const Known& known : kLlama)
        if (model.family == "llama" && model.hiddenSize == known.hidden && model.layers == known.layers
            && model.heads == known.heads && model.kvHeads == known.kvHeads && model.intermediateSize == known.intermediate
            && model.vocabSize == 128256)
            return known.name;
    return {};
}

} // namespace

std::string titanCode(const Design& design, const Evaluation& evaluation, const TorchProgram& program, int stageAxis)
{
    std::vector<std::string> reasons = program.notRun;
    const Workload& workload = design.workload;
    if (workload.kind != WorkloadKind::Train)
        reasons.push_back("it trains models, and the workload of the design is " + workloadName(workload.kind));
    const std::string config = configOf(design.model);
    if (config.empty())
        reasons.push_back("none of its configs for Llama has a model of these sizes (8B, 70B, 405B)");
    Degrees degrees = degreesOf(design.mesh, program, stageAxis, reasons);
    if (program.contextAxis >= 0 && std::ranges::count(program.summedAxes, program.contextAxis) > 0)
        reasons.push_back("it cuts weights over the context axis, too, where the design has copies");
    addWeights(evaluation, program, reasons);
    const std::int64_t parts = degrees[Role::Copies] * degrees[Role::Parts];
    const bool staged = degrees[Role::Pipeline] > 1;
    if (staged && design.pipeline.schedule != PipelineSchedule::OneForwardOneBackward)
        reasons.push_back("it has no schedule with one run of layers on each stage that is "
                          + scheduleTitle(design.pipeline.schedule, 1));
    if (staged && !design.pipeline.even())
        reasons.push_back("it cuts layers into stages by rules of its own");
    if (parts * workload.microBatches > 0 && workload.batch % (parts * workload.microBatches) != 0)
        reasons.push_back("it takes micro-batches of one size");
    std::string text = "# What TorchTitan's config of this design gets, or why there is none.\nTITAN = ";
    if (reasons.empty()) {
        const auto number = [](const char* key, std::int64_t value) {
            return "\n        \"" + std::string(key) + "\": " + std::to_string(value) + ",";
        };
        const std::int64_t local = workload.batch / parts / (staged ? 1 : workload.microBatches);
        text += "{\n    \"config\": \"" + config + "\",\n    \"parallelism\": {"
            + number("pipeline_parallel_degree", degrees[Role::Pipeline])
            + number("data_parallel_replicate_degree", degrees[Role::Copies])
            + number("data_parallel_shard_degree", degrees[Role::Parts]) + number("context_parallel_degree", degrees[Role::Context])
            + number("tensor_parallel_degree", degrees[Role::Tensor]);
        if (staged)
            text += number("pipeline_parallel_microbatch_size", local / workload.microBatches)
                + "\n        \"pipeline_parallel_schedule\": "
                + (design.pipeline.chunks > 1 ? "\"Interleaved1F1B\"," : "\"1F1B\",");
        text += "\n    },\n    \"training\": {" + number("local_batch_size", local) + number("global_batch_size", workload.batch)
            + number("seq_len", workload.sequence) + "\n    },\n}\n";
    } else {
        text += "{}\n";
    }
    text += "NOT_TITAN = (";
    for (const std::string& reason : reasons)
        text += "\n    " + pythonLiteral(reason) + ",";
    return text + (reasons.empty() ? ")\n\n" : "\n)\n\n");
}

} // namespace shardboard
