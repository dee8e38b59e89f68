// SPDX-License-Identifier: Apache-2.0
#include "model/io/json/meshjson.h"

#include <utility>

namespace shardboard {

using nlohmann::json;

json meshJson(const Mesh& mesh)
{
    json out { { "axes", json::array() }, { "sizes", json::array() } };
    for (const MeshAxis& axis : mesh.axes()) {
        out["axes"].push_back(axis.name);
        out["sizes"].push_back(axis.size);
    }
    if (!mesh.deviceIds().empty())
        out["device_ids"] = mesh.deviceIds();
    return out;
}

void readMesh(JsonFields& from, Mesh& mesh)
{
    const auto names = from.texts("axes");
    const auto sizes = from.integers("sizes", 1, kMaxDevices);
    auto ids = from.integers("device_ids", 0, std::int64_t { 1 } << 62);
    if (names.size() != sizes.size())
        from.fail("sizes", "has " + std::to_string(sizes.size()) + " sizes for " + std::to_string(names.size()) + " axes",
                  "give each mesh axis one size");
    if (from.error())
        return;
    std::vector<MeshAxis> axes;
    for (std::size_t i = 0; i < names.size(); ++i)
        axes.push_back({ names[i], sizes[i] });
    auto made = Mesh::make(std::move(axes), std::move(ids), from.place());
    if (made.ok())
        mesh = std::move(made).value();
    else
        from.adopt(made.error());
}

} // namespace shardboard
