// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/torch/torchtitan.h"

#include "model/io/exports/pythontext.h"
#include "model/plan/pipeline.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <iterator>
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

/// Mesh axes of more than one device that cut a dim, in order.
std::vector<int> axesOf(const WeightLayout& weight, std::size_t dim, const Mesh& mesh)
{
    std::vector<int> out;
    for (const AxisRef& ref : weight.layout.dims[dim])
        if (mesh.axis(ref.axis).size > 1)
            out.push_back(ref.axis);
    return out;
}

/// Why its weights would lie elsewhere: tensor parallel cuts one dim of each projection, and FSDP dim 0 of everything.
void addWeights(const Evaluation& evaluation, const Mesh& mesh, const TorchProgram& program, std::vector<std::string>& reasons)
{
    for (const WeightLayout& weight : evaluation.weights) {
        if (weight.spec.role != TensorRole::Weight)
            continue;
        const int cut = titanDim(weight.spec.name);
        for (std::size_t dim = 0; dim < weight.layout.dims.size() && reasons.size() < 4; ++dim) {
            std::vector<int> tensor;
            if (static_cast<int>(dim) == cut && program.tensorAxis >= 0 && mesh.axis(program.tensorAxis).size > 1)
                tensor.push_back(program.tensorAxis);
            std::vector<int> parts;
            if (dim == 0)
                std::ranges::copy_if(program.gatheredAxes, std::back_inserter(parts),
                                     [&](int axis) { return mesh.axis(axis).size > 1; });
            const std::vector<int> has = axesOf(weight, dim, mesh);
            std::vector<int> wanted = tensor;
            wanted.insert(wanted.end(), parts.begin(), parts.end());
            if (has == wanted)
                continue;
            const bool tensorDiffers = (std::ranges::count(has, program.tensorAxis) > 0) != !tensor.empty();
            if (tensorDiffers)
                reasons.push_back("its tensor parallel cuts " + weight.spec.name + " in another way");
            else if (dim != 0)
                reasons.push_back("its FSDP cuts dim 0 of every weight, and the design cuts dim " + std::to_string(dim) + " of "
                                  + weight.spec.name);
            else
                reasons.push_back(
                    "its FSDP cuts dim 0 of every weight over all of its ranks, after tensor parallel, and the design "
                    "does not do so with "
                    + weight.spec.name);
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

/// What its config would get, and why it would do something else.
struct Titan {
    std::string config;
    Degrees degrees;
    std::vector<std::string> reasons;
};

Titan titanOf(const Design& design, const Evaluation& evaluation, const TorchProgram& program, int stageAxis)
{
    Titan titan { configOf(design.model), {}, program.notRun };
    std::vector<std::string>& reasons = titan.reasons;
    const Workload& workload = design.workload;
    if (workload.kind != WorkloadKind::Train)
        reasons.push_back("it trains models, and the workload of the design is " + workloadName(workload.kind));
    if (titan.config.empty())
        reasons.push_back("none of its configs for Llama has a model of these sizes (8B, 70B, 405B)");
    titan.degrees = degreesOf(design.mesh, program, stageAxis, reasons);
    if (program.contextAxis >= 0 && std::ranges::count(program.summedAxes, program.contextAxis) > 0)
        reasons.push_back("it cuts weights over the context axis, too, where the design has copies");
    addWeights(evaluation, design.mesh, program, reasons);
    const std::int64_t parts = titan.degrees[Role::Copies] * titan.degrees[Role::Parts];
    const bool staged = titan.degrees[Role::Pipeline] > 1;
    if (staged && putsOffWeights(design.pipeline.schedule))
        reasons.push_back("it has no schedule with one run of layers on each stage that is "
                          + scheduleTitle(design.pipeline.schedule, 1));
    if (staged && !design.pipeline.even())
        reasons.push_back("it cuts layers into stages by rules of its own");
    if (parts * workload.microBatches > 0 && workload.batch % (parts * workload.microBatches) != 0)
        reasons.push_back("it takes micro-batches of one size");
    return titan;
}

} // namespace

bool isForTitan(const Design& design, const Evaluation& evaluation, const TorchProgram& program, int stageAxis)
{
    return titanOf(design, evaluation, program, stageAxis).reasons.empty();
}

std::string titanCode(const Design& design, const Evaluation& evaluation, const TorchProgram& program, int stageAxis)
{
    auto [config, degrees, reasons] = titanOf(design, evaluation, program, stageAxis);
    const Workload& workload = design.workload;
    const std::int64_t parts = degrees[Role::Copies] * degrees[Role::Parts];
    const bool staged = degrees[Role::Pipeline] > 1;
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
        if (degrees[Role::Parts] > 1 && evaluation.plan.keepsGathered != staged) // which is what TorchTitan does by itself
            text += std::string("\n        \"fsdp_reshard_after_forward\": \"")
                + (evaluation.plan.keepsGathered ? "never" : "always") + "\",";
        if (staged)
            text += number("pipeline_parallel_microbatch_size", local / workload.microBatches)
                + "\n        \"pipeline_parallel_schedule\": "
                + (design.pipeline.schedule == PipelineSchedule::GPipe ? "\"GPipe\","
                       : design.pipeline.chunks > 1                    ? "\"Interleaved1F1B\","
                                                                       : "\"1F1B\",");
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
