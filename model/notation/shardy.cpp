// SPDX-License-Identifier: Apache-2.0
// Shardy (sdy.sharding). Written is what stands after the mesh: `[{"data"}, {}], unreduced={"model"}`; read is that, or
// all of it, `#sdy.sharding<@mesh, [{"data"}, {}]>`, also with the mesh written out, `mesh<["data"=2]>`. A priority
// says which dim propagation looks at first and `replicated={…}` which axes it must leave alone; both are checked, and
// the layout of a closed sharding is the same with and without them.
#include "model/notation/axislist.h"
#include "model/notation/notations.h"
#include "model/text/visibletext.h"

#include <array>

namespace shardboard {

namespace {

constexpr std::array<const char*, 3> kReduceWords { "", "max", "min" }; // in the order of ReduceOp

class ShardyReader {
public:
    ShardyReader(std::string_view text, const Mesh& mesh, const std::string& where)
        : m_scanner(text, where, "write it like [{\"data\"}, {\"model\", \"pod\"}], unreduced={\"x\"}")
        , m_mesh(mesh)
    {
    }

    Result<Layout> read(std::size_t rank)
    {
        const bool attribute = m_scanner.take("#sdy.sharding");
        const bool wrapped = m_scanner.take("<");
        if (attribute && !wrapped)
            return m_scanner.fail("a < is missing after #sdy.sharding");
        if (wrapped)
            if (auto status = mesh(); !status.ok())
                return status.error();
        if (auto status = dims(); !status.ok())
            return status.error();
        if (auto status = sets(); !status.ok())
            return status.error();
        if (wrapped && !m_scanner.take(">"))
            return m_scanner.fail("the closing > is missing");
        if (!m_scanner.atEnd())
            return m_scanner.fail("there is text after the sharding");
        if (m_layout.dims.size() != rank)
            return inputError(m_scanner.where(),
                              "the sharding has " + std::to_string(m_layout.dims.size()) + " dims, but the tensor has "
                                  + std::to_string(rank),
                              "give one {…} per tensor dim, {} for a whole one");
        if (auto status = verifyNamedAxes(m_layout, m_replicated, m_mesh, m_scanner.where()); !status.ok())
            return status.error();
        return m_layout;
    }

private:
    Status mesh()
    {
        if (m_scanner.take("@")) {
            if (!m_scanner.quoted() && m_scanner.word().empty())
                return m_scanner.fail("the name of the mesh is missing after @");
        } else if (m_scanner.takeWord("mesh")) {
            if (auto status = inlineMesh(); !status.ok())
                return status;
        } else {
            return m_scanner.fail("the mesh is missing, @name or mesh<…>");
        }
        if (!m_scanner.take(","))
            return m_scanner.fail("a comma is missing after the mesh");
        return done();
    }

    Status inlineMesh()
    {
        if (!m_scanner.take("<") || !m_scanner.take("["))
            return m_scanner.fail("the mesh is not of the form mesh<[\"data\"=2]>");
        if (auto status = readMeshAxes(m_scanner, m_mesh, AxisQuotes::Needed); !status.ok())
            return status;
        std::vector<std::int64_t> ids;
        const bool given = m_scanner.take(",");
        if (given) {
            if (!m_scanner.takeWord("device_ids") || !m_scanner.take("=") || !m_scanner.take("["))
                return m_scanner.fail("device_ids=[…] is missing");
            do {
                const auto id = m_scanner.integer();
                if (!id)
                    return m_scanner.fail("a device id is missing");
                ids.push_back(*id);
            } while (m_scanner.take(","));
            if (!m_scanner.take("]"))
                return m_scanner.fail("a comma or ] is missing in device_ids");
        }
        if (!m_scanner.take(">"))
            return m_scanner.fail("the closing > of the mesh is missing");
        // Without device_ids the ids are 0, 1, 2, …; the mesh must then have no other order.
        if (given || !m_mesh.deviceIds().empty()) {
            for (std::int64_t i = 0; !given && i < m_mesh.deviceCount(); ++i)
                ids.push_back(i);
            return checkDeviceOrder(m_scanner, m_mesh, ids);
        }
        return done();
    }

    Status dims()
    {
        if (!m_scanner.take("["))
            return m_scanner.fail("the [ before the dims is missing");
        while (!m_scanner.take("]")) {
            if (!m_layout.dims.empty() && !m_scanner.take(","))
                return m_scanner.fail("a comma or ] is missing");
            auto list = readAxisList(m_scanner, m_mesh, AxisQuotes::Needed);
            if (!list.ok())
                return list.error();
            if (auto status = priority(list.value()); !status.ok())
                return status;
            if (list.value().open)
                return m_scanner.fail("dim " + std::to_string(m_layout.dims.size())
                                      + " is open (?): its layout is known only after propagation");
            m_layout.dims.push_back(std::move(list).value().axes);
        }
        return done();
    }

    Status priority(const AxisList& list)
    {
        if (m_scanner.peek() != 'p')
            return done();
        const std::string_view word = m_scanner.word();
        const std::string_view digits = word.substr(1);
        if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
            return m_scanner.fail("a priority is not of the form p1");
        if (digits.size() > 1 && digits.front() == '0')
            return m_scanner.fail("the priority " + shortened(word, 20) + " has a leading zero");
        if (list.axes.empty() && !list.open)
            return m_scanner.fail("an empty closed dim cannot have a priority");
        return done();
    }

    Status sets()
    {
        bool replicated = false;
        bool unreduced = false;
        while (m_scanner.take(",")) {
            if (!replicated && m_scanner.takeWord("replicated")) {
                replicated = true;
                if (auto status = set("replicated", m_replicated); !status.ok())
                    return status;
            } else if (!unreduced && m_scanner.takeWord("unreduced")) {
                unreduced = true;
                if (auto status = set("unreduced", m_layout.partial); !status.ok())
                    return status;
            } else {
                return m_scanner.fail("replicated={…} or unreduced={…} is missing after the comma, or appears twice");
            }
        }
        return done();
    }

    Status set(const std::string& name, std::vector<AxisRef>& out)
    {
        if (!m_scanner.take("="))
            return m_scanner.fail("the = after " + name + " is missing");
        if (name == "unreduced") {
            if (m_scanner.takeWord("max"))
                m_layout.op = ReduceOp::Max;
            else if (m_scanner.takeWord("min"))
                m_layout.op = ReduceOp::Min;
        }
        auto axes = readAxisSet(m_scanner, m_mesh, AxisQuotes::Needed, name);
        if (!axes.ok())
            return axes.error();
        if (axes.value().empty())
            return m_scanner.fail(name + " is empty and must be left out");
        out = std::move(axes).value();
        return done();
    }

    Scanner m_scanner;
    const Mesh& m_mesh;
    Layout m_layout;
    std::vector<AxisRef> m_replicated;
};

} // namespace

Result<std::string> writeShardy(const Layout& layout, const Mesh& mesh)
{
    std::string out;
    for (const auto& dim : layout.dims)
        out += (out.empty() ? "" : ", ") + axisListText(dim, mesh);
    out = "[" + out + "]";
    if (!layout.partial.empty())
        out += std::string(", unreduced=") + kReduceWords[static_cast<std::size_t>(layout.op)] + axisListText(layout.partial, mesh);
    return out;
}

Result<Layout> readShardy(std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where)
{
    return ShardyReader(text, mesh, where).read(rank);
}

} // namespace shardboard
