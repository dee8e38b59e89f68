// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/sweep.h"

#include "model/design/evaluation.h"
#include "model/design/presets/presetaxes.h"

#include "model/text/text.h"

#include <algorithm>
#include <charconv>
#include <thread>

namespace shardboard {

namespace {

/// The axis whose devices are copies, or hold parts of the weights; -1 without one.
int growingAxis(const Mesh& mesh)
{
    const AxisRoles roles = axisRoles(mesh);
    return !roles.data.empty() ? roles.data.front() : !roles.fsdp.empty() ? roles.fsdp.front() : -1;
}

Result<Design> designAt(const Design& design, const SweepPoint& point)
{
    Design out = design;
    out.workload.batch = point.batch;
    out.workload.sequence = point.sequence;
    out.workload.microBatches = point.microBatches;
    if (point.devices == design.mesh.deviceCount())
        return out;
    const int axis = growingAxis(design.mesh);
    std::vector<MeshAxis> axes = design.mesh.axes();
    MeshAxis& grown = axes[static_cast<std::size_t>(axis)];
    const std::int64_t others = design.mesh.deviceCount() / grown.size;
    if (point.devices % others != 0)
        return inputError("--devices", "the axes other than '" + grown.name + "' have " + std::to_string(others) + " devices",
                          "take a multiple of that");
    grown.size = point.devices / others;
    auto mesh = Mesh::make(std::move(axes));
    if (!mesh.ok())
        return mesh.error();
    out.mesh = std::move(mesh).value();
    return out;
}

void planPoint(const Design& design, double memory, SweepPoint& point)
{
    const auto at = designAt(design, point);
    if (!at.ok()) {
        point.refused = at.error().what;
        return;
    }
    const auto evaluation = planOnly(at.value());
    if (!evaluation.ok()) {
        point.refused = evaluation.error().where + ": " + evaluation.error().what;
        return;
    }
    const Plan& plan = evaluation.value()->plan;
    point.seconds = plan.seconds();
    point.tokensPerSecondPerDevice = plan.performance.tokensPerSecondPerDevice;
    point.mfu = plan.performance.mfu;
    point.peakBytes = plan.memory.peak;
    point.fit = fitOf(plan.memory, static_cast<std::int64_t>(memory));
}

} // namespace

Result<std::vector<std::int64_t>> sweepValuesFrom(std::string_view text, const std::string& where)
{
    const auto number = [](std::string_view word) -> std::optional<std::int64_t> {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        const bool good =
            error == std::errc() && end == word.data() + word.size() && value >= 1 && value <= std::int64_t { 1 } << 31;
        return good ? std::optional(value) : std::nullopt;
    };
    std::vector<std::int64_t> out;
    for (const std::string_view word : split(text, ',')) {
        const auto dots = word.find("..");
        const auto first = number(word.substr(0, dots));
        const auto last = dots == std::string_view::npos ? first : number(word.substr(dots + 2));
        if (!first || !last || *last < *first)
            return usageError(where, "'" + std::string(word) + "' is no number of 1 to 2147483648",
                              "write a list such as 1,2,4, or 1..64 for powers of two");
        for (std::int64_t value = *first; value <= *last; value *= 2)
            out.push_back(value);
    }
    return out;
}

Status readSweep(std::string_view text, const std::string& where, SweepRequest& request)
{
    const std::string wanted =
        "write a list such as batch=1..256,sequence=2048,8192; settings are batch, sequence, micro-batches and devices";
    std::vector<std::int64_t>* values = nullptr;
    for (std::string_view word : split(text, ',')) {
        if (const auto sign = word.find('='); sign != std::string_view::npos) {
            const std::string_view name = word.substr(0, sign);
            const auto setting = std::ranges::find(kSweepSettings, name, &SweepSetting::name);
            if (setting == kSweepSettings.end())
                return usageError(where, "'" + std::string(name) + "' is nothing that can be swept", wanted);
            values = &(request.*setting->values);
            if (!values->empty())
                return usageError(where, "'" + std::string(name) + "' stands there twice", "put all its values into one list");
            word.remove_prefix(sign + 1);
        }
        if (values == nullptr)
            return usageError(where, "'" + std::string(word) + "' does not say what takes it", wanted);
        auto read = sweepValuesFrom(word, where);
        if (!read.ok())
            return read.error();
        values->insert(values->end(), read.value().begin(), read.value().end());
    }
    return done();
}

Result<std::vector<SweepPoint>> sweep(const Design& design, const SweepRequest& request)
{
    const auto hardware = hardwareOf(design);
    if (!hardware.ok())
        return hardware.error();
    if (!request.devices.empty() && growingAxis(design.mesh) < 0)
        return inputError("--devices", "the mesh " + design.mesh.text() + " has no data or fsdp axis that could grow",
                          "sweep something else, or add an axis data=1");
    const auto or1 = [](const std::vector<std::int64_t>& values, std::int64_t usual) {
        return values.empty() ? std::vector { usual } : values;
    };
    const auto batches = or1(request.batches, design.workload.batch);
    const auto sequences = or1(request.sequences, design.workload.sequence);
    const auto microBatches = or1(request.microBatches, design.workload.microBatches);
    const auto devices = or1(request.devices, design.mesh.deviceCount());
    std::size_t count = 1;
    for (const std::size_t size : { batches.size(), sequences.size(), microBatches.size(), devices.size() })
        if (count *= std::min(size, kMostSweepPoints + 1); count > kMostSweepPoints)
            return inputError("sweep", "that are more than 1,000,000 points", "sweep fewer values");
    std::vector<SweepPoint> out;
    out.reserve(count);
    for (const std::int64_t batch : batches)
        for (const std::int64_t sequence : sequences)
            for (const std::int64_t parts : microBatches)
                for (const std::int64_t number : devices)
                    out.push_back({ batch, sequence, parts, number, {}, 0, 0, 0, 0, Fit::DoesNotFit });
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t i = next++; i < out.size(); i = next++) {
            if (request.cancelled != nullptr && *request.cancelled)
                out[i].refused = "cancelled";
            else
                planPoint(design, hardware.value().memoryBytes(), out[i]);
        }
    };
    std::vector<std::thread> helpers;
    for (int i = 1; i < std::min(request.threads, 16); ++i)
        helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers)
        helper.join();
    return out;
}

} // namespace shardboard
