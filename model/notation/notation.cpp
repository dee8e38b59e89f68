// SPDX-License-Identifier: Apache-2.0
#include "model/notation/notation.h"

#include "model/notation/canonical.h"
#include "model/notation/notations.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

namespace shardboard {

namespace {

struct NotationRow {
    Notation notation;
    const char* name;
    const char* title;
    Result<std::string> (*write)(const Layout&, const Mesh&);
    Result<Layout> (*read)(std::string_view, const Mesh&, std::size_t, const std::string&);
};

constexpr std::array kRows {
    NotationRow { Notation::Jax, "jax", "JAX", writeJax, readJax },
    NotationRow { Notation::Shardy, "shardy", "Shardy", writeShardy, readShardy },
    NotationRow { Notation::HloV2, "hlo", "HloSharding V2", writeHlo, readHlo },
    NotationRow { Notation::HloV1, "hlo-v1", "HloSharding V1", writeHloV1, readHlo },
    NotationRow { Notation::DTensor, "dtensor", "DTensor", writeDTensor, readDTensor },
    NotationRow { Notation::Max, "max", "MAX", writeMax, readMax },
};
static_assert(kRows.size() == kNotations.size());

const NotationRow& row(Notation notation) { return kRows[static_cast<std::size_t>(notation)]; }

} // namespace

std::string notationName(Notation notation) { return row(notation).name; }
std::string notationTitle(Notation notation) { return row(notation).title; }

std::optional<Notation> notationFromName(std::string_view name)
{
    if (name == "torch")
        return Notation::DTensor;
    if (name == "hlo-v2")
        return Notation::HloV2;
    for (const NotationRow& candidate : kRows)
        if (name == candidate.name)
            return candidate.notation;
    return std::nullopt;
}

Result<std::string> writeLayout(Notation notation, const Layout& layout, const Mesh& mesh)
{
    Layout axes = canonicalLayout(layout, mesh);
    axes.cutting.clear();
    return row(notation).write(axes, mesh);
}

Result<Layout> readLayout(Notation notation, std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where)
{
    auto layout = row(notation).read(trimmed(text), mesh, rank, where);
    if (!layout.ok())
        return layout;
    return canonicalLayout(layout.value(), mesh);
}

Result<Layout> readAnyLayout(std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where)
{
    const auto notation = detectNotation(text);
    if (!notation)
        return inputError(
            where, "'" + shortened(text, 60) + "' is not a layout in JAX, Shardy, HloSharding, DTensor or MAX notation",
            "write it like P('data', None), [{\"data\"}, {}], {devices=[2,1]<=[2]}, S(0), R or Sharded(0), Replicated");
    return readLayout(*notation, text, mesh, rank, where);
}

} // namespace shardboard
