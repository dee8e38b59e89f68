// SPDX-License-Identifier: Apache-2.0
// From a tile assignment back to mesh axes. Device ids become mesh positions; along each dim the positions must step
// like digits of a mixed radix number; every digit is then a part of a mesh axis, or several axes that follow each
// other.
#include "model/notation/canonical.h"
#include "model/notation/hlotiles.h"

#include <algorithm>
#include <numeric>

namespace shardboard {

namespace {

class TileReader {
public:
    TileReader(const HloTiles& tiles, const Mesh& mesh, std::size_t rank, const std::string& where)
        : m_tiles(tiles)
        , m_mesh(mesh)
        , m_rank(rank)
        , m_where(where)
    {
    }

    Result<Layout> read()
    {
        if (auto status = checkDims(); !status.ok())
            return status.error();
        if (auto status = findPositions(); !status.ok())
            return status.error();
        orderGroups();
        if (m_positions.front() != 0)
            return noAxes();
        Layout layout = Layout::replicated(m_rank);
        std::vector<Digit> all;
        std::int64_t step = m_mesh.deviceCount();
        for (std::size_t dim = 0; dim < m_rank + 2; ++dim) {
            const std::int64_t count = dim < m_rank ? m_tiles.dims[dim] : dim == m_rank ? m_copies : m_terms;
            step /= count;
            const auto digits = digitsAlong(count, step);
            if (!digits)
                return noAxes();
            all.insert(all.end(), digits->begin(), digits->end());
            if (dim == m_rank)
                continue; // copies need no axes
            auto refs = axesOf(*digits);
            if (!refs)
                return noAxes();
            (dim < m_rank ? layout.dims[dim] : layout.partial) = std::move(*refs);
        }
        if (expandDigits(all) != m_positions)
            return noAxes();
        layout = canonicalLayout(layout, m_mesh);
        if (auto status = verifyLayout(layout, m_mesh, m_rank, m_where); !status.ok())
            return status.error();
        return layout;
    }

private:
    Error noAxes() const
    {
        return inputError(m_where,
                          "no mesh axes of " + (m_mesh.axes().empty() ? std::string("one device") : m_mesh.text())
                              + " make this tile assignment",
                          m_mesh.deviceIds().empty() ? "give the mesh, and its device order, that it was written for"
                                                     : "give the device order that it was written for");
    }

    Status checkDims()
    {
        const std::size_t groups = m_tiles.groups.size();
        if (m_tiles.dims.size() != m_rank + groups)
            return inputError(m_where,
                              "the tile assignment has " + std::to_string(m_tiles.dims.size()) + " dims"
                                  + (groups > 0 ? " (" + std::to_string(groups) + " of device groups)" : std::string())
                                  + ", but the tensor has " + std::to_string(m_rank),
                              "give one size per tensor dim, then the device groups");
        for (std::size_t i = 0; i < groups; ++i) {
            const std::int64_t size = m_tiles.dims[m_rank + i];
            switch (m_tiles.groups[i]) {
            case HloGroup::Replicated:
                m_copies = size;
                break;
            case HloGroup::Unreduced:
                m_terms = size;
                break;
            case HloGroup::Manual:
                return inputError(m_where,
                                  "a manual device group has no layout: inside it the program itself says what each device holds",
                                  "take the sharding from outside the manual computation");
            case HloGroup::Unknown:
            case HloGroup::Maximal:
                return inputError(m_where, "what the devices of an unknown or maximal group hold is not said",
                                  "give the sharding after propagation");
            }
        }
        return done();
    }

    /// Ids must be the mesh's, each once.
    Status findPositions()
    {
        const auto count = static_cast<std::size_t>(m_mesh.deviceCount());
        std::vector<std::int64_t> byId(count);
        std::iota(byId.begin(), byId.end(), 0);
        const auto idLess = [&](std::int64_t position, std::int64_t id) { return m_mesh.deviceId(position) < id; };
        if (!m_mesh.deviceIds().empty())
            std::ranges::sort(byId, [&](std::int64_t a, std::int64_t b) { return m_mesh.deviceId(a) < m_mesh.deviceId(b); });
        std::vector<bool> seen(count);
        for (const std::int64_t id : m_tiles.ids) {
            const auto found = std::ranges::lower_bound(byId, id, idLess);
            if (found == byId.end() || m_mesh.deviceId(*found) != id)
                return inputError(m_where, "the mesh has no device " + std::to_string(id), "use the device ids of the mesh");
            if (seen[static_cast<std::size_t>(*found)])
                return inputError(m_where, "device " + std::to_string(id) + " appears twice", "list each device once");
            seen[static_cast<std::size_t>(*found)] = true;
            m_positions.push_back(*found);
        }
        return done();
    }

    /// Devices of a group are interchangeable: copies among each other, and the terms of one sum. Puts the groups in
    /// the order copies, terms, each ascending, which is the order that mesh axes give.
    void orderGroups()
    {
        const bool termsFirst = !m_tiles.groups.empty() && m_tiles.groups.front() == HloGroup::Unreduced;
        const auto group = static_cast<std::size_t>(m_copies * m_terms);
        const auto terms = static_cast<std::size_t>(m_terms);
        const auto copies = static_cast<std::size_t>(m_copies);
        if (group == 1)
            return;
        std::vector<std::vector<std::int64_t>> sums(copies, std::vector<std::int64_t>(terms));
        for (auto block = m_positions.begin(); block != m_positions.end(); block += static_cast<std::ptrdiff_t>(group)) {
            for (std::size_t copy = 0; copy < copies; ++copy)
                for (std::size_t term = 0; term < terms; ++term)
                    sums[copy][term] = block[static_cast<std::ptrdiff_t>(termsFirst ? term * copies + copy : copy * terms + term)];
            for (auto& sum : sums)
                std::ranges::sort(sum);
            std::ranges::sort(sums);
            auto out = block;
            for (const auto& sum : sums)
                out = std::ranges::copy(sum, out).out;
        }
    }

    std::optional<std::vector<Digit>> digitsAlong(std::int64_t count, std::int64_t step) const
    {
        std::vector<std::int64_t> values;
        for (std::int64_t i = 0; i < count; ++i)
            values.push_back(m_positions[static_cast<std::size_t>(i * step)]);
        return digitsOf(values);
    }

    /// Splits each digit at the borders of mesh axes, major first.
    std::optional<std::vector<AxisRef>> axesOf(const std::vector<Digit>& digits) const
    {
        std::vector<AxisRef> refs;
        for (const Digit& digit : digits) {
            std::vector<AxisRef> minorFirst;
            std::int64_t stride = digit.stride;
            std::int64_t left = digit.size;
            for (int axis = m_mesh.axisCount(); axis-- > 0 && left > 1;) {
                const std::int64_t end = m_mesh.stride(axis) * m_mesh.axis(axis).size;
                if (stride >= end)
                    continue;
                if (stride % m_mesh.stride(axis) != 0 || end % stride != 0)
                    return std::nullopt;
                const std::int64_t room = end / stride;
                const std::int64_t size = std::min(left, room);
                if (room % size != 0 || left % size != 0)
                    return std::nullopt;
                const std::int64_t pre = room / size; // parts of the axis that are more major
                minorFirst.push_back(refOf(axis, { pre, room }, m_mesh));
                stride *= size;
                left /= size;
            }
            if (left > 1)
                return std::nullopt;
            refs.insert(refs.end(), minorFirst.rbegin(), minorFirst.rend());
        }
        return refs;
    }

    const HloTiles& m_tiles;
    const Mesh& m_mesh;
    const std::size_t m_rank;
    const std::string& m_where;
    std::int64_t m_copies = 1; ///< devices that hold the same
    std::int64_t m_terms = 1; ///< devices whose values must be added
    std::vector<std::int64_t> m_positions; ///< in tile order
};

} // namespace

Result<Layout> layoutOfTiles(const HloTiles& tiles, const Mesh& mesh, std::size_t rank, const std::string& where)
{
    return TileReader(tiles, mesh, rank, where).read();
}

} // namespace shardboard
