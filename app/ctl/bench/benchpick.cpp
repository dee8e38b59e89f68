// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/bench/benchmarks.h"
#include "app/ctl/table.h"
#include "model/picker/max/registry.h"
#include "model/picker/picktask.h"
#include "model/text/numbers.h"

namespace shardboard {

namespace {

struct Pickable {
    const char* op;
    std::vector<Shape> shapes;
};

/// The operations of a decoder layer, at the sizes of the largest dense Llama.
const std::vector<Pickable>& operations()
{
    static const std::vector<Pickable> list {
        { "rms_norm", { { 64, 8192, 16384 }, { 16384 } } },
        { "matmul", { { 64, 8192, 16384 }, { 16384, 53248 } } },
        { "mul", { { 64, 8192, 53248 }, { 64, 8192, 53248 } } },
        { "silu", { { 64, 8192, 53248 } } },
        { "matmul", { { 64, 8192, 53248 }, { 53248, 16384 } } },
        { "add", { { 64, 8192, 16384 }, { 64, 8192, 16384 } } },
        { "softmax", { { 64, 128, 8192, 8192 } } },
    };
    return list;
}

/// A menu with operands that must move on some mesh axes.
struct Prepared {
    Menu menu;
    std::vector<PickOperand> operands;
    std::vector<double> bytes;
};

Result<std::vector<Prepared>> prepare(PickerProfile profile, const Mesh& mesh)
{
    std::vector<Prepared> out;
    for (const Pickable& op : operations()) {
        Prepared prepared;
        for (std::size_t i = 0; i < op.shapes.size(); ++i) {
            std::vector<Placement> placements(static_cast<std::size_t>(mesh.axisCount()));
            placements[0] = shardedPlacement(0);
            placements.back() = i == 0 ? partialPlacement() : replicatedPlacement();
            prepared.operands.push_back({ op.shapes[i], DType::BF16, std::move(placements) });
            prepared.bytes.push_back(countedBytes(profile, prepared.operands.back(), mesh));
        }
        std::vector<AttributeValue> attributes;
        for (const AttributeSpec& spec : findFamily(op.op)->attributes)
            attributes.push_back({ .number = spec.kind == AttributeKind::Axis ? -1 : 0 });
        auto menu = expandMenu(*findFamily(op.op), prepared.operands, attributes, mesh, profile);
        if (!std::holds_alternative<Menu>(menu))
            return inputError("bench", "the benchmark's own operation was refused");
        prepared.menu = std::move(std::get<Menu>(menu));
        out.push_back(std::move(prepared));
    }
    return out;
}

} // namespace

Result<BenchmarkReport> benchPick()
{
    constexpr std::size_t kRounds = 31;
    constexpr int kRepeats = 200;
    const std::pair<PickerProfile, PickerKind> kinds[] = { { PickerProfile::G1, PickerKind::Greedy },
                                                           { PickerProfile::G3, PickerKind::AutoReshard },
                                                           { PickerProfile::Shardboard, PickerKind::Greedy } };
    BenchmarkReport report;
    Table table({ "pick an operation's row", "picker", "mesh", ">devices", ">a mesh axis", ">of 1 µs" });
    for (const auto& [profile, kind] : kinds)
        for (const char* text : { "data=2,model=4", "pod=4,data=8,fsdp=64,model=8" }) {
            const Mesh mesh = Mesh::parse(text).value();
            const auto prepared = prepare(profile, mesh);
            if (!prepared.ok())
                return prepared.error();
            std::size_t moved = 0;
            PickerOptions options;
            options.profile = profile;
            options.picker = kind;
            options.allowPartialToSharded = true;
            const double seconds = medianSeconds(kRounds, [&] {
                for (int i = 0; i < kRepeats; ++i)
                    for (const Prepared& each : prepared.value()) {
                        const auto picked = pickRows({ options, &each.menu, each.operands, each.bytes, &mesh });
                        moved += std::holds_alternative<PickAction>(picked) && std::get<PickAction>(picked).moved ? 1U : 0U;
                    }
            });
            if (moved == 0)
                return inputError("bench", "the benchmark's own operations move nothing");
            const double each =
                seconds / static_cast<double>(kRepeats) / static_cast<double>(prepared.value().size()) / mesh.axisCount();
            constexpr double kMicrosecond = 1e-6;
            table.add({ profileName(profile), kPickerNames[static_cast<std::size_t>(kind)], text, countText(mesh.deviceCount()),
                        secondsText(each), std::to_string(each / kMicrosecond).substr(0, 5) });
            report.rows.push_back({ { "name", "pick" },
                                    { "profile", profileName(profile) },
                                    { "picker", kPickerNames[static_cast<std::size_t>(kind)] },
                                    { "mesh", text },
                                    { "seconds_per_op_and_mesh_axis", each } });
        }
    report.text = table.text(0);
    return report;
}

} // namespace shardboard
