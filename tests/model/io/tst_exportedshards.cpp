// SPDX-License-Identifier: Apache-2.0
// Every built-in model under every preset on three meshes: the export gives each device the shards that the plan gives
// it, or is refused for exactly the weights where it cannot. Read back from the text of export.py and from shards.json
// by a reader of its own, with JAX's rule written out here: a dim is cut into equal parts over the listed mesh axes,
// the first one major.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/io/targets/targets.h"
#include "model/text/text.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <map>
#include <optional>
#include <set>

using namespace shardboard;
using nlohmann::json;

namespace {

using Axes = std::vector<std::string>; ///< major first
using Spec = std::vector<Axes>; ///< by dim
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>; ///< by dim

/// What a module says, taken from its text.
class Module {
public:
    explicit Module(std::string_view text)
        : m_text(text)
    {
        axes();
        order();
        layout("\nLAYOUT = {", specs);
        layout("\nINPUTS = {", inputs);
    }

    std::vector<std::pair<std::string, std::int64_t>> mesh;
    std::vector<std::int64_t> ids;
    std::map<std::string, Spec> specs;
    std::map<std::string, Spec> inputs;

    /// As spec_of() finds it: the name, or the one with `*` for a number.
    const Spec* specOf(const std::string& name) const
    {
        if (const auto it = specs.find(name); it != specs.end())
            return &it->second;
        const auto parts = split(name, '.');
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (parts[i].empty() || parts[i].find_first_not_of("0123456789") != std::string_view::npos)
                continue;
            std::string pattern;
            for (std::size_t k = 0; k < parts.size(); ++k)
                pattern += (k > 0 ? "." : "") + (k == i ? "*" : std::string(parts[k]));
            if (const auto it = specs.find(pattern); it != specs.end())
                return &it->second;
        }
        return nullptr;
    }

private:
    [[noreturn]] void fail(const char* what) const
    {
        qFatal("export.py: %s at '%s'", what, std::string(m_text.substr(0, 60)).c_str());
    }

    void skipTo(std::string_view mark)
    {
        const auto at = m_text.find(mark);
        if (at == std::string_view::npos)
            fail("something is missing");
        m_text.remove_prefix(at + mark.size());
    }
    bool take(std::string_view token)
    {
        m_text.remove_prefix(std::min(m_text.find_first_not_of(" \n"), m_text.size()));
        const bool found = m_text.starts_with(token);
        m_text.remove_prefix(found ? token.size() : 0);
        return found;
    }
    void need(std::string_view token)
    {
        if (!take(token))
            fail("another sign is expected");
    }
    /// A literal without escapes: the names of these models need none.
    std::string literal()
    {
        need("\"");
        const auto end = m_text.find_first_of("\"\\");
        if (end == std::string_view::npos || m_text[end] == '\\')
            fail("a plain literal is expected");
        std::string out(m_text.substr(0, end));
        m_text.remove_prefix(end + 1);
        return out;
    }
    std::int64_t number()
    {
        take("");
        const auto end = std::min(m_text.find_first_not_of("0123456789"), m_text.size());
        const auto value = parseInteger(m_text.substr(0, end));
        if (!value)
            fail("a number is expected");
        m_text.remove_prefix(end);
        return *value;
    }

    void axes()
    {
        skipTo("\nAXES = (");
        while (!take(")")) {
            need("(");
            const std::string name = literal();
            need(",");
            mesh.emplace_back(name, number());
            need(")");
            take(",");
        }
    }
    void order()
    {
        skipTo("\nORDER = ");
        if (take("list(range(")) {
            for (std::int64_t i = 0, count = number(); i < count; ++i)
                ids.push_back(i);
            return;
        }
        need("[");
        while (!take("]")) {
            ids.push_back(number());
            take(",");
        }
    }
    void layout(std::string_view mark, std::map<std::string, Spec>& into)
    {
        skipTo(mark);
        while (!take("}")) {
            const std::string name = literal();
            need(": P(");
            Spec spec;
            while (!take(")")) {
                Axes& axes = spec.emplace_back();
                if (take("("))
                    while (!take(")")) {
                        axes.push_back(literal());
                        take(",");
                    }
                else if (!take("None"))
                    axes.push_back(literal());
                take(",");
            }
            need(",");
            if (!into.emplace(name, std::move(spec)).second)
                fail("a name appears twice");
        }
    }

    std::string_view m_text;
};

/// Where each mesh axis stands at a position, row-major: the first axis is the slowest.
std::map<std::string, std::int64_t> coordinatesAt(const std::vector<std::pair<std::string, std::int64_t>>& mesh,
                                                  std::int64_t position)
{
    std::map<std::string, std::int64_t> out;
    for (auto axis = mesh.rbegin(); axis != mesh.rend(); ++axis) {
        out[axis->first] = position % axis->second;
        position /= axis->second;
    }
    return out;
}

/// JAX's rule. Nothing where a dim does not divide.
std::optional<Ranges> shardInJax(const Spec& spec, const Shape& shape,
                                 const std::vector<std::pair<std::string, std::int64_t>>& mesh,
                                 const std::map<std::string, std::int64_t>& at)
{
    Ranges out;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        std::int64_t parts = 1;
        std::int64_t part = 0;
        for (const std::string& name : dim < spec.size() ? spec[dim] : Axes())
            for (const auto& [axis, size] : mesh)
                if (axis == name) {
                    parts *= size;
                    part = part * size + at.at(name);
                }
        if (shape[dim] % parts != 0)
            return std::nullopt;
        out.emplace_back(shape[dim] / parts * part, shape[dim] / parts * (part + 1));
    }
    return out;
}

/// Of a layout in terms of the design: by names of axes.
Spec specOf(const Layout& layout, const Mesh& mesh)
{
    Spec spec;
    for (const auto& dim : layout.dims) {
        Axes& axes = spec.emplace_back();
        for (const AxisRef& ref : dim)
            axes.push_back(mesh.axis(ref.axis).name);
    }
    return spec;
}

/// What the plan gives to a device, by the layout that the engine runs.
Ranges shardOfPlan(const Layout& layout, const Shape& shape, const Mesh& mesh, std::int64_t position)
{
    Ranges out;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        const Range range =
            partRange(shape[dim], layout.dims[dim], mesh, layout.cuttingOf(dim), partIndexOf(layout.dims[dim], mesh, position));
        out.emplace_back(range.lo, range.hi);
    }
    return out;
}

const std::vector<std::pair<const char*, Mesh>>& meshes()
{
    static const std::vector<std::pair<const char*, Mesh>> kMeshes {
        { "even", Mesh::parse("data=2,model=8").value() },
        { "odd",
          Mesh::make({ { "fsdp", 3 }, { "expert", 2 }, { "tensor", 3 } },
                     { 9, 1, 2, 3, 4, 5, 6, 7, 8, 0, 17, 16, 15, 14, 13, 12, 11, 10 })
              .value() },
        { "many axes", Mesh::parse("tensor=2,stage=2,context=2,fsdp=2,expert=2").value() },
    };
    return kMeshes;
}

struct Tally {
    int exported = 0;
    int refused = 0;
    int noPreset = 0;
};

} // namespace

class TestExportedShards : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void exportsEqualThePlan_data()
    {
        QTest::addColumn<QString>("model");
        for (const std::string& name : builtinModelNames())
            QTest::newRow(name.c_str()) << QString::fromStdString(name);
    }
    void exportsEqualThePlan();
    void bothWereSeen()
    {
        QVERIFY2(m_tally.exported > 400 && m_tally.refused > 100,
                 qPrintable(QStringLiteral("%1 %2 %3").arg(m_tally.exported).arg(m_tally.refused).arg(m_tally.noPreset)));
        QVERIFY(m_devices > 1000000);
    }

private:
    void holdTogether(const Design& design);
    void exported(const Design& design, const Evaluation& evaluation, const std::vector<ExportedFile>& files);
    std::set<std::string> differing(const Design& design, const Evaluation& evaluation) const;

    Tally m_tally;
    std::int64_t m_devices = 0; ///< shards of devices that were compared
};

/// Weights and inputs of which JAX would hold something else on some device, or nothing at all.
std::set<std::string> TestExportedShards::differing(const Design& design, const Evaluation& evaluation) const
{
    std::set<std::string> out;
    std::vector<std::pair<std::string, std::int64_t>> mesh;
    for (const MeshAxis& axis : design.mesh.axes())
        mesh.emplace_back(axis.name, axis.size);
    for (const WeightLayout& weight : evaluation.weights)
        for (std::int64_t position = 0; position < design.mesh.deviceCount(); ++position) {
            const auto inJax =
                shardInJax(specOf(weight.layout, design.mesh), weight.spec.shape, mesh, coordinatesAt(mesh, position));
            if (!inJax
                || *inJax
                    != shardOfPlan(evaluation.plan.layouts[static_cast<std::size_t>(weight.tensor)], weight.spec.shape, design.mesh,
                                   position)) {
                out.insert(weight.spec.name);
                break;
            }
        }
    return out;
}

void TestExportedShards::exported(const Design& design, const Evaluation& evaluation, const std::vector<ExportedFile>& files)
{
    const std::string text = textOf(files.front().text);
    const Module module(text);
    const json proof = json::parse(textOf(files.back().text));
    std::map<std::int64_t, std::int64_t> positionOf; // by device id
    for (std::int64_t position = 0; position < design.mesh.deviceCount(); ++position)
        positionOf[design.mesh.deviceId(position)] = position;
    QCOMPARE(module.ids.size(), positionOf.size());
    QVERIFY(proof["mesh"]["device_ids"] == json(module.ids));
    std::map<std::string, const WeightLayout*> weights; // by concrete name
    for (const WeightLayout& weight : evaluation.weights)
        for (std::int64_t i = 0; weight.spec.role == TensorRole::Weight && i < weight.copies; ++i)
            weights[weight.firstLayer < 0 ? weight.spec.name : concreteName(weight.spec.name, weight.firstLayer + i)] = &weight;
    QCOMPARE(proof["tensors"].size(), weights.size());
    std::size_t inputs = 0; // which the proof does not list
    for (const WeightLayout& input : evaluation.weights) {
        if (input.spec.role == TensorRole::Weight)
            continue;
        ++inputs;
        QVERIFY2(module.inputs.contains(input.spec.name), input.spec.name.c_str());
        for (std::size_t position = 0; position < module.ids.size(); ++position)
            QVERIFY2(shardInJax(module.inputs.at(input.spec.name), input.spec.shape, module.mesh,
                                coordinatesAt(module.mesh, static_cast<std::int64_t>(position)))
                         == shardOfPlan(evaluation.plan.layouts[static_cast<std::size_t>(input.tensor)], input.spec.shape,
                                        design.mesh, positionOf.at(module.ids[position])),
                     input.spec.name.c_str());
    }
    QCOMPARE(module.inputs.size(), inputs);
    std::map<std::pair<const WeightLayout*, const Spec*>, json> equal; // layers with the same proof
    for (const json& tensor : proof["tensors"]) {
        const std::string name = tensor["name"].get<std::string>();
        const Spec* spec = module.specOf(name);
        QVERIFY2(weights.contains(name) && spec != nullptr, name.c_str());
        const WeightLayout& weight = *weights.at(name);
        const Shape shape = tensor["shape"].get<Shape>();
        QCOMPARE(shape, weight.spec.shape);
        if (const auto known = equal.find({ &weight, spec }); known != equal.end() && known->second == tensor["shards"])
            continue;
        const Layout& planned = evaluation.plan.layouts[static_cast<std::size_t>(weight.tensor)];
        std::set<std::int64_t> seen;
        for (const json& shard : tensor["shards"]) {
            QVERIFY2(shard["pieces"].size() == 1, name.c_str());
            const Ranges ranges = shard["pieces"][0].get<Ranges>();
            for (const json& device : shard["devices"]) {
                const auto id = device.get<std::int64_t>();
                QVERIFY2(positionOf.contains(id) && seen.insert(id).second, name.c_str());
                // export.py has its own order: the position of the device there.
                const auto inModule = std::ranges::find(module.ids, id) - module.ids.begin();
                QVERIFY2(shardInJax(*spec, shape, module.mesh, coordinatesAt(module.mesh, inModule)) == ranges, name.c_str());
                QVERIFY2(shardOfPlan(planned, shape, design.mesh, positionOf.at(id)) == ranges, name.c_str());
                ++m_devices;
            }
        }
        QCOMPARE(seen.size(), positionOf.size());
        equal[{ &weight, spec }] = tensor["shards"];
    }
}

void TestExportedShards::holdTogether(const Design& design)
{
    const auto evaluation = sure(evaluate(design));
    const auto files = exportDesign(*findExportTarget("jax"), design, evaluation);
    const auto refusals = findExportTarget("jax")->refusals(design, *evaluation, {}).value();
    if (design.pipeline.present()) {
        QVERIFY(!files.ok());
        QCOMPARE(files.error().where, std::string("pipeline"));
        ++m_tally.refused;
        return;
    }
    std::set<std::string> refused;
    for (const ExportRefusal& refusal : refusals)
        refused.insert(refusal.error.where);
    QCOMPARE(refused, differing(design, *evaluation));
    QCOMPARE(files.ok(), refused.empty());
    if (!files.ok()) {
        ++m_tally.refused;
        return;
    }
    ++m_tally.exported;
    exported(design, *evaluation, files.value());
}

void TestExportedShards::exportsEqualThePlan()
{
    QFETCH(QString, model);
    Design design;
    design.model = builtinModel(model.toStdString()).value();
    design.workload.sequence = 64;
    for (const std::string& preset : presetNames())
        for (const auto& [name, mesh] : meshes()) {
            design.mesh = mesh;
            design.workload.batch = mesh.deviceCount();
            const auto notes = applyPreset(design, preset);
            if (!notes.ok()) {
                ++m_tally.noPreset; // makes no sense for this model or mesh
                continue;
            }
            holdTogether(design);
            // Every weight over two axes, the later one major: shards of the same shapes as the other way round, with
            // other elements.
            if (preset == "replicate") {
                design.strategies = {
                    { "*.weight",
                      { StrategyKind::Spec, {}, 0, "P(('" + mesh.axes().back().name + "', '" + mesh.axes().front().name + "'))" },
                      CutRule::Balanced }
                };
                holdTogether(design);
            }
            if (QTest::currentTestFailed()) {
                qWarning("%s of %s on the mesh %s", preset.c_str(), qPrintable(model), name);
                return;
            }
        }
}

SHARDBOARD_TEST(TestExportedShards)
#include "tst_exportedshards.moc"
