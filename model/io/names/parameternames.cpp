// SPDX-License-Identifier: Apache-2.0
#include "model/io/names/parameternames.h"

#include "model/families/buildgraph.h"
#include "model/io/names/nametables.h"
#include "model/text/glob.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace shardboard {

namespace {

/// What a factor of a name is called in every table has its size from the model.
std::int64_t sizeInModel(const ModelSpec& model, const std::string& label)
{
    if (label == "heads")
        return model.heads;
    if (label == "kv_heads")
        return model.kvHeads;
    return label == "experts" ? model.moe.experts : 0;
}

const ModelWeight* findWeight(const std::vector<ModelWeight>& weights, const ModelSpec& model, const std::string& source)
{
    const auto found = std::ranges::find_if(weights, [&](const ModelWeight& weight) {
        const std::string& name = weight.spec.name;
        return name == model.weightPrefix + source || (source == "lm_head.weight" && name.ends_with(source));
    });
    return found == weights.end() ? nullptr : &*found;
}

/// First layer and number of layers; none when there are no such.
std::pair<std::int64_t, std::int64_t> layersOf(const NamedLayers& layers, const ModelSpec& model, const ModelWeight& weight)
{
    std::int64_t first = 0;
    std::int64_t end = model.layers;
    const std::int64_t cycles = model.layers / layers.cycle * layers.cycle;
    switch (layers.kind) {
    case NamedLayers::Kind::All:
        break;
    case NamedLayers::Kind::Dense:
        end = model.denseLayers();
        break;
    case NamedLayers::Kind::Sparse:
        first = model.denseLayers();
        break;
    case NamedLayers::Kind::Cycles:
        end = cycles;
        break;
    case NamedLayers::Kind::Rest:
        first = cycles;
        break;
    }
    first = std::max(first, weight.firstLayer);
    end = std::min(end, weight.firstLayer + weight.layers);
    return { first, std::max<std::int64_t>(0, end - first) };
}

class ParameterMaker {
public:
    ParameterMaker(const ModelSpec& model, const NameEntry& entry, std::vector<const ModelWeight*> sources, const std::string& file)
        : m_model(model)
        , m_entry(entry)
        , m_sources(std::move(sources))
        , m_where(file + ":" + entry.name)
    {
    }

    /// Nothing when the model has no layer of the entry's.
    Result<std::optional<NamedParameter>> make()
    {
        const ModelWeight& first = *m_sources.front();
        for (const ModelWeight* source : m_sources) {
            if (source->firstLayer != first.firstLayer || source->layers != first.layers)
                return wrong("its sources are in different layers");
            m_out.sources.push_back(source->spec.name);
        }
        m_out.name = m_entry.name;
        if (const auto at = m_out.name.find("{prefix}"); at != std::string::npos)
            m_out.name.replace(at, 8, m_model.weightPrefix);
        m_out.firstLayer = first.firstLayer;
        m_out.layers = first.layers;
        if (first.firstLayer >= 0) {
            std::tie(m_out.firstLayer, m_out.layers) = layersOf(m_entry.layers, m_model, first);
            if (m_out.layers == 0)
                return std::optional<NamedParameter>();
            m_out.firstNumber = m_entry.layers.ownNumbers ? 0 : m_out.firstLayer;
        }
        m_out.view = m_entry.viewText;
        if (globMatch(m_entry.orderIn, m_model.name))
            m_out.order = m_entry.order;
        const bool numbered = m_entry.view
            && std::ranges::any_of(m_entry.view->factors, [](const ViewFactor& f) { return f.taken == NameFactor::kNumbered; });
        const auto stars = std::ranges::count(m_out.name, '*') - (numbered ? 1 : 0);
        m_out.stacked = first.firstLayer >= 0 && stars == 0;
        if (const auto status = m_entry.view ? factored() : asItIs(); !status.ok())
            return status.error();
        m_out.logicalNames = m_entry.logicalNames;
        if (!m_out.logicalNames.empty() && m_out.logicalNames.size() != m_out.dims.size())
            return wrong("it has as many logical names as dims");
        return std::optional<NamedParameter>(std::move(m_out));
    }

private:
    Error wrong(const std::string& what) const
    {
        return inputError(m_where, what + " in model " + m_model.name, "the table of names is wrong");
    }

    Status asItIs()
    {
        if (m_out.stacked)
            return wrong("a view has to say where the layers are");
        for (const std::int64_t size : m_sources.front()->spec.shape) {
            const auto factor = static_cast<int>(m_out.factors.size());
            const auto& labels = m_sources.front()->spec.dimLabels;
            m_out.factors.push_back({ m_out.factors.size() < labels.size() ? labels[m_out.factors.size()] : "", size });
            m_out.from.push_back({ factor });
            m_out.dims.push_back({ factor });
        }
        return done();
    }

    /// Sizes of the factors of one source.
    Result<std::vector<std::int64_t>> sizesIn(const Shape& shape) const
    {
        const ViewPattern& view = *m_entry.view;
        if (shape.size() != view.from.size())
            return wrong("the view has " + std::to_string(view.from.size()) + " dims and the weight "
                         + std::to_string(shape.size()));
        std::vector<std::int64_t> sizes(view.factors.size(), 1);
        for (std::size_t dim = 0; dim < shape.size(); ++dim) {
            std::int64_t known = 1;
            int open = -1;
            for (const int f : view.from[dim]) {
                const ViewFactor& factor = view.factors[static_cast<std::size_t>(f)];
                const std::int64_t size = factor.size > 0 ? factor.size
                    : view.from[dim].size() == 1          ? shape[dim]
                                                          : sizeInModel(m_model, factor.label);
                if (size > 0)
                    known *= sizes[static_cast<std::size_t>(f)] = size;
                else if (open >= 0)
                    return wrong("two factors of dim " + std::to_string(dim) + " have no size");
                else
                    open = f;
            }
            if (shape[dim] % known != 0 || (open < 0 && shape[dim] != known))
                return wrong("dim " + std::to_string(dim) + " of size " + std::to_string(shape[dim])
                             + " is no product of its "
                               "factors");
            if (open >= 0)
                sizes[static_cast<std::size_t>(open)] = shape[dim] / known;
        }
        return sizes;
    }

    Status factored()
    {
        const ViewPattern& view = *m_entry.view;
        m_out.from = view.from;
        m_out.dims = view.dims;
        for (std::size_t s = 0; s < m_sources.size(); ++s) {
            Shape shape = m_sources[s]->spec.shape;
            if (m_out.stacked)
                shape.insert(shape.begin(), m_out.layers);
            const auto sizes = sizesIn(shape);
            if (!sizes.ok())
                return sizes.error();
            for (std::size_t f = 0; f < view.factors.size(); ++f) {
                const ViewFactor& factor = view.factors[f];
                const std::int64_t size = sizes.value()[f];
                if (s == 0)
                    m_out.factors.push_back({ factor.label, factor.joined ? 0 : size, factor.taken });
                else if (!factor.joined && m_out.factors[f].size != size)
                    return wrong("its sources have different sizes of " + factor.label);
                if (!factor.joined)
                    continue;
                m_out.joined = static_cast<int>(f);
                m_out.factors[f].size += size;
                m_out.parts.push_back(size);
            }
        }
        return done();
    }

    const ModelSpec& m_model;
    const NameEntry& m_entry;
    std::vector<const ModelWeight*> m_sources;
    std::string m_where;
    NamedParameter m_out;
};

/// The parameters of one table for one model, each weight looked for once.
class NamesMaker {
public:
    NamesMaker(const ModelSpec& model, const FamilyNames& family, NameScheme scheme, std::vector<ModelWeight> weights)
        : m_model(model)
        , m_file(family.file + ":" + nameSchemeName(scheme))
        , m_table(family.schemes.at(scheme))
        , m_weights(std::move(weights))
        , m_named(m_weights.size(), false)
    {
        m_out.scheme = scheme;
    }

    Result<ParameterNames> make()
    {
        for (const NameEntry& entry : m_table.entries)
            if (const auto status = add(entry); !status.ok())
                return status.error();
        for (std::size_t i = 0; i < m_weights.size(); ++i)
            if (!m_named[i])
                if (const auto status = addUnnamed(m_weights[i]); !status.ok())
                    return status.error();
        sort();
        return std::move(m_out);
    }

private:
    Status add(const NameEntry& entry)
    {
        std::vector<const ModelWeight*> sources;
        for (const std::string& source : entry.sources)
            if (const ModelWeight* weight = findWeight(m_weights, m_model, source))
                sources.push_back(weight);
        if (sources.size() != entry.sources.size())
            return done(); // of another model of the family
        auto parameter = ParameterMaker(m_model, entry, sources, m_file).make();
        if (!parameter.ok())
            return parameter.error();
        for (const ModelWeight* source : sources)
            m_named[static_cast<std::size_t>(source - m_weights.data())] = true;
        if (parameter.value())
            m_out.parameters.push_back(*std::move(parameter).value());
        return done();
    }

    Status addUnnamed(const ModelWeight& weight)
    {
        for (const UnnamedWeight& missing : m_table.missing)
            if (globMatch(m_model.weightPrefix + missing.weight, weight.spec.name)) {
                m_out.missing.push_back({ weight.spec.name, missing.reason });
                return done();
            }
        if (!m_table.othersSame)
            return inputError(m_file, "no parameter has the weight " + weight.spec.name + " of model " + m_model.name,
                              "the table of names is wrong");
        NameEntry same;
        same.name = weight.spec.name;
        auto parameter = ParameterMaker(m_model, same, { &weight }, m_file).make();
        if (!parameter.ok())
            return parameter.error();
        m_out.parameters.push_back(*std::move(parameter).value());
        return done();
    }

    /// By their first source, in the order of the model.
    void sort()
    {
        const auto place = [&](const NamedParameter& parameter) {
            return std::ranges::find(m_weights, parameter.sources.front(), [](const ModelWeight& w) { return w.spec.name; })
                - m_weights.begin();
        };
        std::ranges::stable_sort(m_out.parameters, {}, place);
    }

    const ModelSpec& m_model;
    std::string m_file;
    const NameTable& m_table;
    std::vector<ModelWeight> m_weights;
    std::vector<bool> m_named;
    ParameterNames m_out;
};

/// Of a model whose graph has parts of weights: the weights that they are parts of, and the others as they are.
ParameterNames joinedAgain(const std::vector<ModelWeight>& weights)
{
    ParameterNames out;
    for (const ModelWeight& weight : weights) {
        const std::string& name = weight.part.present() ? weight.part.whole : weight.spec.name;
        const auto known = std::ranges::find(out.parameters, name, &NamedParameter::name);
        if (known != out.parameters.end()) { // its parts follow each other
            known->sources.push_back(weight.spec.name);
            known->parts.push_back(weight.spec.shape[weight.part.dim]);
            known->factors[weight.part.dim].size += known->parts.back();
            continue;
        }
        NamedParameter& whole = out.parameters.emplace_back();
        whole.name = name;
        whole.sources = { weight.spec.name };
        whole.firstLayer = weight.firstLayer;
        whole.firstNumber = std::max<std::int64_t>(0, weight.firstLayer);
        whole.layers = weight.layers;
        std::string view;
        for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim) {
            whole.factors.push_back(
                { dim < weight.spec.dimLabels.size() ? weight.spec.dimLabels[dim] : "", weight.spec.shape[dim] });
            whole.from.push_back({ static_cast<int>(dim) });
            whole.dims.push_back({ static_cast<int>(dim) });
            const bool joined = weight.part.present() && dim == weight.part.dim;
            view += (dim > 0 ? " " : "") + std::string(joined ? "+parts" : "dim" + std::to_string(dim));
        }
        if (!weight.part.present())
            continue;
        whole.joined = static_cast<int>(weight.part.dim);
        whole.factors[weight.part.dim].label = "parts";
        whole.parts = { weight.spec.shape[weight.part.dim] };
        whole.view = view + " -> " + view;
    }
    return out;
}

} // namespace

Shape NamedParameter::shape() const
{
    Shape out;
    for (const auto& dim : dims) {
        out.push_back(1);
        for (const int factor : dim)
            out.back() *= factors[static_cast<std::size_t>(factor)].size;
    }
    return out;
}

Result<std::vector<ModelWeight>> weightsOf(const ModelSpec& model)
{
    const auto graph = buildGraph(model, {});
    if (!graph.ok())
        return graph.error();
    std::vector<ModelWeight> out;
    for (const GraphTensor& tensor : graph.value().tensors) {
        if (tensor.spec.role != TensorRole::Weight)
            continue;
        const Segment& segment = graph.value().segments[static_cast<std::size_t>(tensor.segment.number())];
        const auto known = std::ranges::find(out, tensor.spec.name, [](const ModelWeight& weight) { return weight.spec.name; });
        if (known != out.end())
            known->layers += segment.count; // layers follow each other
        else
            out.push_back(
                { tensor.spec, segment.isLayer ? segment.firstLayer : -1, segment.isLayer ? segment.count : 1, tensor.part });
    }
    return out;
}

Result<ParameterNames> namesOf(const ModelSpec& model, NameScheme scheme)
{
    if (!model.hasGraph() || model.kind != ModelKind::Decoder)
        return inputError(model.name, "only models whose architecture is known have names in other frameworks",
                          "use the names of the checkpoint");
    const auto& tables = builtinNameTables();
    if (!tables.ok())
        return tables.error();
    const auto family = std::ranges::find_if(tables.value(), [&](const FamilyNames& names) {
        return std::ranges::find(names.families, model.family) != names.families.end();
    });
    const std::string fix = "use another scheme, or the names of the checkpoint";
    if (scheme == NameScheme::HuggingFace && model.block.partsApart) {
        const auto weights = weightsOf(model);
        return weights.ok() ? joinedAgain(weights.value()) : Result<ParameterNames>(weights.error());
    }
    if (family == tables.value().end() || !family->schemes.contains(scheme))
        return inputError(model.name, "there is no table of the names of '" + model.family + "' in " + nameSchemeTitle(scheme),
                          fix);
    const NameTable& table = family->schemes.at(scheme);
    if (!table.reason.empty() && std::ranges::find(table.only, model.family) == table.only.end())
        return inputError(model.name, table.reason, fix);
    auto weights = weightsOf(model);
    if (!weights.ok())
        return weights.error();
    return NamesMaker(model, *family, scheme, std::move(weights).value()).make();
}

std::vector<std::string> namedFamilies()
{
    std::vector<std::string> out;
    if (const auto& tables = builtinNameTables(); tables.ok())
        for (const FamilyNames& family : tables.value())
            out.insert(out.end(), family.families.begin(), family.families.end());
    std::ranges::sort(out);
    return out;
}

std::string nameInLayer(const NamedParameter& parameter, std::int64_t layer)
{
    if (parameter.stacked || parameter.firstLayer < 0)
        return parameter.name;
    std::string name = parameter.name;
    if (const auto star = name.find('*'); star != std::string::npos)
        name.replace(star, 1, std::to_string(layer - parameter.firstLayer + parameter.firstNumber));
    return name;
}

} // namespace shardboard
