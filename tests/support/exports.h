// SPDX-License-Identifier: Apache-2.0
// Exports in tests: of one tensor without a model, of a small model, and of names that would like to be code.
#pragma once

#include "model/io/targets/targets.h"
#include "model/notation/canonical.h"
#include "model/notation/notation.h"
#include "tests/support/designs.h"

#include <QTest>

#include <string>
#include <utility>
#include <vector>

namespace shardboard {

/// One weight `w` under a written spec.
inline Design looseDesign(const Shape& shape, const std::string& mesh, const std::string& spec, CutRule cut = CutRule::Strict)
{
    Design design;
    design.mesh = sure(Mesh::parse(mesh));
    design.model.name = "one tensor";
    design.model.notUnderstood = "made for a test";
    TensorSpec weight;
    weight.name = "w";
    weight.shape = shape;
    design.model.looseWeights.push_back({ weight, false });
    design.strategies = { { "*", { StrategyKind::Spec, {}, 0, spec }, cut } };
    return design;
}

/// A dense model that is laid out in no time.
inline Design smallDesign(const std::string& mesh, const std::string& preset, std::int64_t layers = 2)
{
    return designOn(mesh, denseModel(256, 64, 128, layers, 4, 4, 16), {}, preset);
}

/// Columns of a table of layouts: where `w` lies under a spec, and what the export writes of it.
inline void layoutColumns()
{
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QString>("text");
}

/// Whether our own reader takes `written` back, in the same shards as `w` of the design has.
inline bool readsBack(Notation notation, const std::string& written, const Design& design)
{
    const auto evaluation = evaluated(design);
    const Layout& layout = evaluation->weights.front().layout;
    const Layout read = sure(readLayout(notation, written, design.mesh, layout.dims.size(), "w"));
    return sameLayout(read, layout, design.mesh);
}

inline Result<std::vector<ExportedFile>> exported(const char* target, const Design& design)
{
    return exportDesign(*findExportTarget(target), design, tolerant(design));
}

/// The text of a file of an export that is not refused.
inline std::string exportedFile(const char* target, const Design& design, const std::string& name)
{
    for (const ExportedFile& file : sure(exported(target, design)))
        if (file.name == name)
            return textOf(file.text);
    qFatal("no file %s", name.c_str());
}

/// The line that refuses an export.
inline std::string refusalOf(const char* target, const Design& design)
{
    const auto files = exported(target, design);
    return files.ok() ? std::string("not refused") : files.error().text();
}

/// Names that end a literal, a line or a comment somewhere.
inline std::vector<std::string> hostileNames()
{
    return { "a\" + __import__('os').getcwd() + \"",
             "a' + x + '",
             "\"\"\"\nimport os\n'''",
             "a\\",
             "a\nimport os\n#",
             "a\r\nb",
             "a\xe2\x80\xa8"
             "b\xe2\x80\xae",
             std::string("a\0b", 3),
             "\x1b]0;title\x07",
             "a\xff\xfe\xc0\xaf",
             "\") loc(\"x\")} { return } //",
             "{x} %s $(id) `id` \\N{BULLET}",
             "\xf0\x9f\x98\x80" };
}

/// The small design once under each of those names.
inline std::vector<Design> hostileDesigns()
{
    std::vector<Design> out;
    for (const std::string& name : hostileNames()) {
        out.push_back(smallDesign("data=2,model=2", "megatron-tp"));
        out.back().model.name = name;
        out.back().model.weightPrefix = name + ".";
    }
    return out;
}

/// Printable ASCII and line breaks.
inline bool isPlainText(const std::string& text)
{
    for (const char c : text)
        if (c != '\n' && (c < 0x20 || c >= 0x7f))
            return false;
    return true;
}

} // namespace shardboard
