// SPDX-License-Identifier: Apache-2.0
// Names of parameters in frameworks: every element of every weight is in exactly one parameter, and a layout that is carried over
// gives every device the same elements. Both are counted out on small models; the names are those that frameworks print.
#include "model/io/checkpoint/openmodel.h"
#include "model/io/names/carriedlayout.h"
#include "model/io/names/nametables.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QTest>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace shardboard;

namespace {

std::vector<ModelSpec> builtins()
{
    std::vector<ModelSpec> out;
    for (const std::string& name : builtinModelNames())
        out.push_back(builtinModel(name).value());
    return out;
}

/// The same architecture with small sizes, of which no two that could be mistaken for each other are equal.
ModelSpec small(ModelSpec model)
{
    model.layers = std::min<std::int64_t>(model.layers, 8);
    model.vocabSize = 24;
    model.hiddenSize = 10;
    model.intermediateSize = model.intermediateSize > 0 ? 12 : 0;
    const bool alike = model.kvHeads == model.heads;
    model.heads = 4;
    model.kvHeads = alike ? 4 : 2;
    model.headDim = 6;
    if (model.mla.present()) {
        model.mla.latentRank = 8;
        model.mla.queryRank = model.mla.queryRank > 0 ? 14 : 0;
        model.mla.nopeHeadDim = 4;
        model.mla.ropeHeadDim = 2;
        model.mla.valueHeadDim = 3;
    }
    if (model.moe.present()) {
        model.moe.experts = 4;
        model.moe.chosen = 2;
        model.moe.groups = model.moe.chosenGroups = 1;
        model.moe.intermediateSize = 16;
    }
    return model;
}

/// One element of a weight of the design: its name, the layer and the index.
struct Element {
    std::string weight;
    std::int64_t layer;
    std::vector<std::int64_t> index;
    friend bool operator==(const Element&, const Element&) = default;
    friend bool operator<(const Element& a, const Element& b)
    {
        return std::tie(a.weight, a.layer, a.index) < std::tie(b.weight, b.layer, b.index);
    }
};

/// Calls `visit` with each index of a shape.
template <class Visit>
void forEachIndex(const Shape& shape, Visit visit)
{
    std::vector<std::int64_t> index(shape.size(), 0);
    if (std::ranges::find(shape, 0) != shape.end())
        return;
    while (true) {
        visit(index);
        std::size_t dim = shape.size();
        while (dim > 0 && ++index[dim - 1] == shape[dim - 1])
            index[--dim] = 0;
        if (dim == 0)
            return;
    }
}

/// Where the element of a parameter comes from; `number` is that in place of the last `*` where it is one of many.
Element elementOf(const NamedParameter& parameter, std::int64_t layer, std::int64_t number, const std::vector<std::int64_t>& index)
{
    std::vector<std::int64_t> of(parameter.factors.size());
    for (std::size_t f = 0; f < of.size(); ++f)
        of[f] =
            parameter.factors[f].taken == NameFactor::kNumbered ? number : std::max<std::int64_t>(0, parameter.factors[f].taken);
    // A joined factor that shares its dim with others lies inside them, so that its parts are told after all else.
    for (std::size_t dim = 0; dim < index.size(); ++dim) {
        std::int64_t rest = index[dim];
        for (auto f = parameter.dims[dim].rbegin(); f != parameter.dims[dim].rend(); ++f) {
            const std::int64_t size = parameter.factors[static_cast<std::size_t>(*f)].size;
            of[static_cast<std::size_t>(*f)] = rest % size;
            rest /= size;
        }
    }
    std::size_t source = 0;
    if (parameter.joined >= 0) {
        std::int64_t& at = of[static_cast<std::size_t>(parameter.joined)];
        while (at >= parameter.parts[source])
            at -= parameter.parts[source++];
    }
    std::vector<std::int64_t> from;
    for (const auto& dim : parameter.from) {
        from.push_back(0);
        for (const int f : dim) {
            const std::int64_t size =
                f == parameter.joined ? parameter.parts[source] : parameter.factors[static_cast<std::size_t>(f)].size;
            from.back() = from.back() * size + of[static_cast<std::size_t>(f)];
        }
    }
    if (parameter.stacked) {
        layer = parameter.firstLayer + from.front();
        from.erase(from.begin());
    }
    return { parameter.sources[source], layer, from };
}

/// Layers of a parameter that are parameters each, and the numbers that stand for what else is.
template <class Visit>
void forEachOf(const NamedParameter& parameter, Visit visit)
{
    std::int64_t numbers = 1;
    for (const NameFactor& factor : parameter.factors)
        if (factor.taken == NameFactor::kNumbered)
            numbers = factor.size;
    const bool layers = parameter.firstLayer >= 0 && !parameter.stacked;
    for (std::int64_t layer = 0; layer < (layers ? parameter.layers : 1); ++layer)
        for (std::int64_t number = 0; number < numbers; ++number)
            visit(parameter.firstLayer + layer, number);
}

const NamedParameter& parameterNamed(const ParameterNames& names, const std::string& name)
{
    for (const NamedParameter& parameter : names.parameters)
        if (parameter.name == name)
            return parameter;
    qFatal("no parameter %s", name.c_str());
}

/// JSON written with apostrophes.
std::string quoted(std::string text)
{
    std::ranges::replace(text, '\'', '"');
    return text;
}

Layout spec(const std::string& text, const Mesh& mesh, std::size_t rank) { return sure(parseSpec(text, mesh, rank)); }

} // namespace

class TestNames : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void tablesAreGood()
    {
        const auto& tables = builtinNameTables();
        QVERIFY2(tables.ok(), tables.ok() ? "" : tables.error().text().c_str());
        std::set<std::string> families;
        for (const FamilyNames& table : tables.value())
            for (const std::string& family : table.families)
                QVERIFY2(families.insert(family).second, family.c_str());
    }

    /// Every element of every weight of every built-in family is in one parameter, once.
    void everyElementOnce_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<int>("scheme");
        for (const ModelSpec& model : builtins())
            for (const NameScheme scheme : kNameSchemes)
                QTest::addRow("%s %s", model.name.c_str(), nameSchemeName(scheme).c_str())
                    << QString::fromStdString(model.name) << static_cast<int>(scheme);
    }
    void everyElementOnce()
    {
        QFETCH(QString, model);
        QFETCH(int, scheme);
        const ModelSpec whole = builtinModel(model.toStdString()).value();
        const ModelSpec spec = small(whole);
        const auto named = namesOf(spec, static_cast<NameScheme>(scheme));
        QCOMPARE(named.ok(), namesOf(whole, static_cast<NameScheme>(scheme)).ok());
        if (!named.ok()) {
            QVERIFY2(!named.error().fix.empty() && named.error().where == spec.name, named.error().text().c_str());
            QVERIFY2(!QByteArray::fromStdString(named.error().text()).contains("is wrong"), named.error().text().c_str());
            return;
        }
        std::map<Element, int> seen;
        std::set<std::string> names;
        for (const NamedParameter& parameter : named.value().parameters) {
            forEachOf(parameter, [&](std::int64_t layer, std::int64_t number) {
                std::string name = nameInLayer(parameter, layer);
                if (const auto star = name.find('*'); star != std::string::npos && number >= 0)
                    name.replace(star, 1, std::to_string(number));
                QVERIFY2(names.insert(name).second, name.c_str());
                forEachIndex(parameter.shape(), [&](const auto& index) { ++seen[elementOf(parameter, layer, number, index)]; });
            });
        }
        std::size_t elements = 0;
        const std::vector<ModelWeight> weights = sure(weightsOf(spec));
        for (const ModelWeight& weight : weights) {
            const auto isThis = [&](const UnnamedWeight& missing) { return missing.weight == weight.spec.name; };
            if (std::ranges::any_of(named.value().missing, isThis))
                continue;
            for (std::int64_t layer = 0; layer < weight.layers; ++layer)
                forEachIndex(weight.spec.shape, [&](const auto& index) {
                    const auto found =
                        seen.find({ weight.spec.name, weight.firstLayer < 0 ? -1 : weight.firstLayer + layer, index });
                    if (found == seen.end() || found->second != 1)
                        QFAIL(weight.spec.name.c_str());
                    ++elements;
                });
        }
        QCOMPARE(elements, seen.size());
    }

    /// As MaxText 0.2.5 has them: `decoder/layers/…  [shape]  (names)`.
    void maxtextByHand()
    {
        const ParameterNames gemma = sure(namesOf(builtinModel("gemma3-4b").value(), NameScheme::MaxText)); // 34 layers
        const NamedParameter& wide = parameterNamed(gemma, "params/params/decoder/layers/layers_5/mlp/wo/kernel");
        QCOMPARE(wide.shape(), (Shape { 10240, 5, 2560 }));
        QVERIFY(wide.logicalNames == (std::vector<std::string> { "mlp", "layers", "embed" }));
        QVERIFY(elementOf(wide, -1, 0, { 0, 4, 0 }) == (Element { "model.layers.*.mlp.down_proj.weight", 29, { 0, 0 } }));
        const NamedParameter& rest = parameterNamed(gemma, "params/params/decoder/layers_remainder/layers_*/mlp/wo/kernel");
        QCOMPARE(nameInLayer(rest, 33), std::string("params/params/decoder/layers_remainder/layers_3/mlp/wo/kernel"));
        const ParameterNames oss = sure(namesOf(builtinModel("gpt-oss-20b").value(), NameScheme::MaxText));
        const NamedParameter& up = parameterNamed(oss, "params/params/decoder/layers/layers_1/GptOssMlp/wi_1");
        QCOMPARE(up.shape(), (Shape { 32, 12, 2880, 2880 }));
        QVERIFY(elementOf(up, -1, 0, { 3, 2, 5, 7 }) == (Element { "model.layers.*.mlp.experts.gate_up_proj", 5, { 3, 5, 15 } }));
        const ParameterNames deepseek = sure(namesOf(builtinModel("deepseek2-16b").value(), NameScheme::MaxTextUnscanned));
        const NamedParameter& gate =
            parameterNamed(deepseek, "params/params/decoder/moe_layers_*/DeepSeekMoeBlock_0/MoeBlock_0/wi_0");
        QCOMPARE(nameInLayer(gate, 1), std::string("params/params/decoder/moe_layers_0/DeepSeekMoeBlock_0/MoeBlock_0/wi_0"));
        const ParameterNames megatron = sure(namesOf(builtinModel("deepseek2-16b").value(), NameScheme::Megatron));
        QCOMPARE(nameInLayer(parameterNamed(megatron, "decoder.layers.*.pre_mlp_layernorm.weight"), 1),
                 std::string("decoder.layers.1.pre_mlp_layernorm.weight"));
    }

    /// Fused projections by hand: two KV groups of two query heads, a key and a value of 2 rows each.
    void fusedByHand()
    {
        ModelSpec model = denseModel(24, 12, 8, 2, 4, 2, 2);
        const ParameterNames megatron = sure(namesOf(model, NameScheme::Megatron));
        const NamedParameter& qkv = parameterNamed(megatron, "decoder.layers.*.self_attention.linear_qkv.weight");
        QCOMPARE(qkv.shape(), (Shape { 16, 12 }));
        std::string rows;
        for (std::int64_t row = 0; row < 16; ++row) {
            const Element element = elementOf(qkv, 1, 0, { row, 7 });
            QCOMPARE(element.layer, 1);
            QCOMPARE(element.index[1], 7);
            rows += element.weight[element.weight.find("attn.") + 5] + std::to_string(element.index[0]) + " ";
        }
        QCOMPARE(QByteArray::fromStdString(rows), QByteArray("q0 q1 q2 q3 k0 k1 v0 v1 q4 q5 q6 q7 k2 k3 v2 v3 "));
        const ParameterNames vllm = sure(namesOf(model, NameScheme::Vllm));
        const NamedParameter& both = parameterNamed(vllm, "model.layers.*.mlp.gate_up_proj.weight");
        QCOMPARE(both.shape(), (Shape { 16, 12 }));
        QVERIFY(elementOf(both, 0, 0, { 7, 1 }) == (Element { "model.layers.*.mlp.gate_proj.weight", 0, { 7, 1 } }));
        QVERIFY(elementOf(both, 0, 0, { 8, 1 }) == (Element { "model.layers.*.mlp.up_proj.weight", 0, { 0, 1 } }));
        const ParameterNames maxtext = sure(namesOf(model, NameScheme::MaxText));
        const NamedParameter& out = parameterNamed(maxtext, "params/params/decoder/layers/self_attention/out/kernel");
        QCOMPARE(out.shape(), (Shape { 4, 2, 2, 12 }));
        QVERIFY(elementOf(out, -1, 0, { 2, 1, 1, 5 }) == (Element { "model.layers.*.self_attn.o_proj.weight", 1, { 5, 5 } }));
    }

    /// Query and key of Llama 3.1 alone are put in another order by MaxText's converter.
    void orderOfElements()
    {
        for (const NameScheme scheme : kNameSchemes)
            for (const char* name : { "llama3.1-405b", "llama3-8b" }) {
                std::string turned;
                const auto names = namesOf(builtinModel(name).value(), scheme);
                for (const NamedParameter& parameter : names.ok() ? names.value().parameters : std::vector<NamedParameter>())
                    if (!parameter.order.empty())
                        turned += parameter.sources.front() + " ";
                const bool maxtext = scheme == NameScheme::MaxText || scheme == NameScheme::MaxTextUnscanned;
                QCOMPARE(QByteArray::fromStdString(turned),
                         QByteArray(maxtext && std::string_view(name) == "llama3.1-405b"
                                        ? "model.layers.*.self_attn.q_proj.weight model.layers.*.self_attn.k_proj.weight "
                                        : ""));
            }
    }

    void layoutsAreCarried()
    {
        const Mesh mesh = sure(Mesh::parse("data=2,model=4"));
        const ModelSpec model = denseModel(24, 16, 8, 2, 8, 4, 4);
        const ParameterNames maxtext = sure(namesOf(model, NameScheme::MaxText));
        const auto text = [&](const NamedParameter& parameter, const std::vector<std::string>& specs, std::size_t rank = 2) {
            std::vector<Layout> layouts;
            for (const std::string& source : specs)
                layouts.push_back(spec(source, mesh, rank));
            const auto carried = carriedLayout(parameter, layouts, mesh);
            return QByteArray::fromStdString(carried.ok() ? specText(carried.value().layout, mesh, true) : carried.error().text());
        };
        const NamedParameter& q = parameterNamed(maxtext, "params/params/decoder/layers/self_attention/query/kernel");
        QCOMPARE(text(q, { "P('model','data')" }), QByteArray("P('data', None, 'model', None)"));
        QCOMPARE(text(q, { "P(('model','data'))" }), QByteArray("P(None, None, ('model', 'data'), None)")); // 8 heads
        const NamedParameter& k = parameterNamed(maxtext, "params/params/decoder/layers/self_attention/key/kernel");
        QCOMPARE(text(k, { "P(('model','data'))" }), QByteArray("P(None, None, 'model', 'data')")); // 4 KV heads
        const Mesh wide = sure(Mesh::parse("x=2,y=8"));
        QVERIFY(QByteArray::fromStdString(carriedLayout(k, { spec("P('y')", wide, 2) }, wide).error().text())
                    .contains("does not divide its 4 kv_heads"));
        const NamedParameter& up = parameterNamed(maxtext, "params/params/decoder/layers/mlp/wi_1/kernel");
        QCOMPARE(text(up, { "P('model','data')" }), QByteArray("P('data', None, 'model')"));

        const ParameterNames megatron = sure(namesOf(model, NameScheme::Megatron));
        const NamedParameter& qkv = parameterNamed(megatron, "decoder.layers.*.self_attention.linear_qkv.weight");
        QCOMPARE(text(qkv, { "P('model')", "P('model')", "P('model')" }), QByteArray("P('model', None)"));
        QVERIFY(text(qkv, { "P('model')", "P('model')", "P()" }).contains("cut over model and nothing"));
        QVERIFY(text(qkv, { "P(('model','data'))", "P(('model','data'))", "P(('model','data'))" }).contains("in turn"));
        const NamedParameter& fc1 = parameterNamed(megatron, "decoder.layers.*.mlp.linear_fc1.weight");
        const auto both = sure(carriedLayout(fc1, { spec("P('model')", mesh, 2), spec("P('model')", mesh, 2) }, mesh));
        QCOMPARE(both.segmentedDim, 0);
        QCOMPARE(both.segments, (std::vector<std::int64_t> { 8, 8 }));
        const auto inner = sure(carriedLayout(fc1, { spec("P(None,'model')", mesh, 2), spec("P(None,'model')", mesh, 2) }, mesh));
        QCOMPARE(inner.segmentedDim, -1);
    }

    void badTables_data()
    {
        QTest::addColumn<QByteArray>("entry");
        QTest::addColumn<QByteArray>("why");
        const auto row = [](const char* name, const char* entry, const char* why) {
            QTest::newRow(name) << QByteArray(entry) << QByteArray(why);
        };
        row("no arrow", "{'name':'a','from':'b','view':'x y'}", "has no ->");
        row("unknown", "{'name':'a','from':'b','view':'x -> y'}", "on the right only");
        row("lost", "{'name':'a','from':'b','view':'x y -> x'}", "on the right once");
        row("twice", "{'name':'a','from':'b','view':'x x -> x'}", "twice");
        row("bracket", "{'name':'a','from':'b','view':'(x y -> x y'}", "brackets");
        row("taken beyond", "{'name':'a','from':'b','view':'2:2 y -> y'}", "size that cannot be");
        row("join of one", "{'name':'a','from':'b','view':'+x -> +x'}", "several sources");
        row("no join", "{'name':'a','from':['b','c'],'view':'x -> x'}", "several sources");
        row("layers", "{'name':'a','from':'b','layers':'odd'}", "says no layers");
        row("key", "{'name':'a','from':'b','shape':'x'}", "shape");
        row("no source", "{'name':'a'}", "from");
    }
    void badTables()
    {
        QFETCH(QByteArray, entry);
        QFETCH(QByteArray, why);
        const auto read = readNameTables(
            quoted("{'families':['f'],'schemes':{'vllm':{'parameters':[" + entry.toStdString() + "]}}}"), "names/x.json");
        QVERIFY(!read.ok());
        QVERIFY2(read.error().text().find(why.toStdString()) != std::string::npos, read.error().text().c_str());
        QVERIFY(read.error().where.starts_with("names/x.json"));
    }
};

SHARDBOARD_TEST(TestNames)
#include "tst_names.moc"
