// SPDX-License-Identifier: Apache-2.0
#include "model/design/presets/presetaxes.h"

#include "model/text/contains.h"

#include <array>
#include <initializer_list>

namespace shardboard {

namespace {

struct Names {
    AxisRole role;
    std::initializer_list<const char*> names;
    const char* shown;
};

const std::array kNames {
    Names { AxisRole::Data, { "data", "dp", "batch", "replica", "dcn", "pod", "data_parallel", "dp_replicate" }, "data or dp" },
    Names { AxisRole::Fsdp, { "fsdp", "zero", "dp_shard", "fully_sharded" }, "fsdp" },
    Names { AxisRole::Tensor, { "model", "tp", "tensor", "mp", "tensor_parallel", "model_parallel" }, "model, tp or tensor" },
    Names { AxisRole::Expert, { "expert", "ep", "experts", "expert_parallel" }, "expert or ep" },
    Names { AxisRole::Context, { "context", "cp", "sequence", "seq", "sp", "context_parallel" }, "context or cp" },
    Names { AxisRole::Stage, { "stage", "pp", "pipe", "pipeline", "stages" }, "stage or pp" },
};

} // namespace

AxisRole axisRole(std::string_view name)
{
    for (const Names& names : kNames)
        if (contains(names.names, name))
            return names.role;
    return AxisRole::Unknown;
}

std::string roleNames(AxisRole role)
{
    for (const Names& names : kNames)
        if (names.role == role)
            return names.shown;
    return {};
}

AxisRoles axisRoles(const Mesh& mesh)
{
    AxisRoles roles;
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        std::vector<int>* list = &roles.unknown;
        switch (axisRole(mesh.axis(axis).name)) {
        case AxisRole::Data:
            list = &roles.data;
            break;
        case AxisRole::Fsdp:
            list = &roles.fsdp;
            break;
        case AxisRole::Tensor:
            list = &roles.tensor;
            break;
        case AxisRole::Expert:
            list = &roles.expert;
            break;
        case AxisRole::Context:
            list = &roles.context;
            break;
        case AxisRole::Stage:
            list = &roles.stage;
            break;
        case AxisRole::Unknown:
            break;
        }
        list->push_back(axis);
    }
    return roles;
}

} // namespace shardboard
