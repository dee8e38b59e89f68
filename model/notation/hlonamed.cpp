// SPDX-License-Identifier: Apache-2.0
#include "model/notation/hlonamed.h"

#include "model/notation/axislist.h"
#include "model/notation/hlotiles.h"

#include <array>

namespace shardboard {

namespace {

Status readDeviceOrder(Scanner& scanner, const Mesh& mesh)
{
    if (!scanner.take("=") || !scanner.take("("))
        return scanner.fail("device_ids wants =(…)");
    const bool listed = scanner.peek() != '[';
    auto ids = listed ? parseIntegers(scanner, ")") : parseIota(scanner, mesh.deviceCount());
    if (!ids.ok())
        return ids.error();
    if (!listed && !scanner.take(")"))
        return scanner.fail("a ) is missing after device_ids");
    return checkDeviceOrder(scanner, mesh, ids.value());
}

Result<std::vector<std::vector<AxisRef>>> readDims(Scanner& scanner, const Mesh& mesh)
{
    std::vector<std::vector<AxisRef>> dims;
    while (!scanner.take("]")) {
        if (!dims.empty() && !scanner.take(","))
            return scanner.fail("a comma or ] is missing");
        auto list = readAxisList(scanner, mesh, AxisQuotes::Optional);
        if (!list.ok())
            return list.error();
        if (list.value().open)
            return scanner.fail("dim " + std::to_string(dims.size()) + " is open (?): its layout is known only after propagation");
        dims.push_back(std::move(list).value().axes);
    }
    return dims;
}

/// What follows the mesh: dims and sets in brackets, or one word for the whole value.
class NamedReader {
public:
    NamedReader(Scanner& scanner, const Mesh& mesh, std::size_t rank)
        : m_scanner(scanner)
        , m_mesh(mesh)
        , m_layout(Layout::replicated(rank))
    {
    }

    Result<Layout> read()
    {
        bool dimsRead = false;
        bool ordered = false;
        while (m_scanner.take(",")) {
            if (!ordered && !dimsRead && m_scanner.takeWord("device_ids")) {
                ordered = true;
                if (auto status = readDeviceOrder(m_scanner, m_mesh); !status.ok())
                    return status.error();
            } else if (!dimsRead && m_scanner.take("[")) {
                dimsRead = true;
                if (auto status = dims(); !status.ok())
                    return status.error();
            } else if (auto status = word(dimsRead); !status.ok()) {
                return status.error();
            } else {
                dimsRead = true;
            }
        }
        if (!dimsRead)
            return m_scanner.fail("the dims are missing after the mesh");
        if (!ordered && !m_mesh.deviceIds().empty())
            return checkDeviceOrder(m_scanner, m_mesh, {}).error();
        if (!m_scanner.take("}"))
            return m_scanner.fail("the closing } is missing");
        if (!m_scanner.atEnd())
            return m_scanner.fail("there is text after the sharding");
        if (auto status = verifyNamedAxes(m_layout, m_replicated, m_mesh, m_scanner.where()); !status.ok())
            return status.error();
        return m_layout;
    }

private:
    /// XLA leaves all dims out where none is cut.
    Status dims()
    {
        auto read = readDims(m_scanner, m_mesh);
        if (!read.ok())
            return read.error();
        if (!read.value().empty() && read.value().size() != m_layout.dims.size())
            return inputError(m_scanner.where(),
                              "the sharding has " + std::to_string(read.value().size()) + " dims, but the tensor has "
                                  + std::to_string(m_layout.dims.size()),
                              "give one {…} per tensor dim, {} for a whole one");
        if (!read.value().empty())
            m_layout.dims = std::move(read).value();
        return done();
    }

    /// `unreduced={…}` after dims; `unreduced` alone in their place.
    Status word(bool dimsRead)
    {
        const std::string name(m_scanner.word());
        if (name == "manual")
            return m_scanner.fail("manual axes have no layout: inside them the program itself says what each device holds");
        if (name != "replicated" && name != "unreduced")
            return m_scanner.fail("replicated, unreduced or the dims are missing");
        if (!dimsRead) {
            for (int axis = 0; name == "unreduced" && axis < m_mesh.axisCount(); ++axis)
                m_layout.partial.push_back(AxisRef { axis });
            return done();
        }
        auto& set = name == "replicated" ? m_replicated : m_layout.partial;
        if (!set.empty() || !m_scanner.take("="))
            return m_scanner.fail(name + " wants a set, " + name + "={'axis'}, once");
        auto axes = readAxisSet(m_scanner, m_mesh, AxisQuotes::Optional, name);
        if (!axes.ok())
            return axes.error();
        set = std::move(axes).value();
        return done();
    }

    Scanner& m_scanner;
    const Mesh& m_mesh;
    Layout m_layout;
    std::vector<AxisRef> m_replicated;
};

} // namespace

bool isNamedHlo(Scanner& scanner) { return scanner.peek() == '@' || scanner.peek() == 'm'; }

Result<Layout> readNamedHlo(Scanner& scanner, const Mesh& mesh, std::size_t rank)
{
    const bool at = scanner.take("@");
    if (!scanner.takeWord("mesh") || !scanner.take(at ? "<" : "["))
        return scanner.fail("the mesh is not of the form mesh['data'=2,'model'=4]");
    if (auto status = readMeshAxes(scanner, mesh, AxisQuotes::Optional); !status.ok())
        return status.error();
    return NamedReader(scanner, mesh, rank).read();
}

Status readMaximal(Scanner& scanner, const Mesh& mesh)
{
    const bool bracket = scanner.take("[");
    if (!scanner.takeWord(bracket ? "device_id" : "device") || !scanner.take("="))
        return scanner.fail("a maximal sharding wants device=N");
    const auto device = scanner.integer();
    if (!device || (bracket && !scanner.take("]")))
        return scanner.fail("the number of the device is missing");
    if (mesh.deviceCount() != 1)
        return inputError(scanner.where(),
                          "a maximal sharding puts the whole tensor on device " + std::to_string(*device)
                              + " alone, but the mesh has " + std::to_string(mesh.deviceCount())
                              + " devices, which would hold nothing",
                          "use {replicated}, or a mesh of one device");
    if (*device != mesh.deviceId(0))
        return inputError(scanner.where(), "the mesh has no device " + std::to_string(*device),
                          "its device is " + std::to_string(mesh.deviceId(0)));
    return done();
}

} // namespace shardboard
