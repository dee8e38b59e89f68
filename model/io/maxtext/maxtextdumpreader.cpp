// SPDX-License-Identifier: Apache-2.0
#include "model/io/maxtext/maxtextdumpreader.h"

#include "model/text/contains.h"
#include "model/text/visibletext.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace shardboard {

namespace {

using nlohmann::json;

constexpr std::size_t kMostValues = 16'000'000; // of one file; a dump of 126 layers apart has 200,000
constexpr std::size_t kMostDims = 64;

/// A walk over one document. Each open object or array is a place with a meaning; a scalar means what its place says.
class DumpEvents : public JsonEvents {
public:
    explicit DumpEvents(DumpCheck check)
        : m_check(check)
    {
    }
    AnyDump take()
    {
        if (m_kind == Kind::Named)
            return NamedDump { m_mesh.value_or(Mesh()), std::move(m_named) };
        if (m_kind == Kind::Activations)
            return ActivationDump { std::move(m_activations) };
        return LogicalDump { std::move(m_logical) };
    }
    bool found() const { return m_kind != Kind::None; }

    bool null() override { return scalar("null", Scalar::Null, {}, 0); }
    bool boolean(bool value) override { return scalar(value ? "true" : "false", Scalar::Other, {}, 0); }
    bool number_integer(json::number_integer_t value) override { return scalar("a number", Scalar::Whole, {}, value); }
    bool number_unsigned(json::number_unsigned_t value) override
    {
        constexpr auto kLargest = static_cast<json::number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
        return scalar("a number", value > kLargest ? Scalar::Other : Scalar::Whole, {},
                      static_cast<std::int64_t>(value & kLargest));
    }
    bool number_float(json::number_float_t, const std::string&) override
    {
        return scalar("a number with a fraction", Scalar::Other, {}, 0);
    }
    bool string(std::string& value) override
    {
        const bool shown = !m_open.empty() && m_open.back() != Place::Skipped;
        return (!shown || isName(value)) && scalar("a text", Scalar::Text, std::move(value), 0);
    }
    bool binary(json::binary_t&) override { return false; }

    bool start_object(std::size_t) override
    {
        if (m_open.empty())
            return open(Place::Root);
        switch (m_open.back()) {
        case Place::Root:
            return m_key == kActivationKey ? wrong("a list of activations", "an object") : openEntry();
        case Place::Entry:
            if (m_key == "mesh")
                return openMesh();
            return m_key == "partition_spec" || m_key == "shape" ? wrong("a list", "an object") : open(Place::Skipped);
        case Place::Mesh:
            if (m_key == "axis_names")
                return wrong("a list", "an object");
            return open(m_key == "shape" ? Place::AxisSizes : Place::Skipped);
        case Place::List:
            m_inItem = 0;
            return open(Place::Item);
        case Place::Item:
            return openActivation();
        case Place::Activation:
        case Place::Skipped:
            return open(Place::Skipped);
        default:
            return wrong(expectedIn(m_open.back()), "an object");
        }
    }

    bool start_array(std::size_t) override
    {
        if (m_open.empty())
            return refuse("an object of entries is expected, this is a list", "check that this is the right file");
        switch (m_open.back()) {
        case Place::Root:
            if (m_key != kActivationKey)
                return wrong("an object with partition_spec", "a list");
            m_kind = Kind::Activations;
            return open(Place::List);
        case Place::Entry:
            if (m_key == "mesh")
                return wrong("an object with axis_names and shape", "a list");
            if (m_key == "partition_spec") {
                m_hasSpec = true;
                m_spec.clear();
            }
            if (m_key == "shape")
                m_shape.emplace();
            return open(m_key == "partition_spec" ? Place::Spec : m_key == "shape" ? Place::Shape : Place::Skipped);
        case Place::Mesh:
            if (m_key == "shape")
                return wrong("an object of axis sizes", "a list");
            return open(m_key == "axis_names" ? Place::AxisNames : Place::Skipped);
        case Place::Spec:
            if (m_spec.size() >= kMostDims)
                return refuse("more than " + std::to_string(kMostDims) + " dims" + entryText());
            m_spec.emplace_back();
            m_hasLists = true;
            return open(Place::SpecAxes);
        case Place::Activation:
        case Place::Skipped:
            return open(Place::Skipped);
        default:
            return wrong(expectedIn(m_open.back()), "a list");
        }
    }

    bool key(std::string& name) override
    {
        m_key = std::move(name);
        if (m_open.back() != Place::Skipped && !isName(m_key))
            return false;
        if (m_open.back() == Place::Root && !m_names.insert(m_key).second)
            return refuse("the entry " + shortened(m_key, 200) + " appears twice", "keep one of them");
        if (m_open.back() == Place::AxisSizes)
            m_axisSizes.emplace_back(m_key, 0);
        return true;
    }

    bool end_object() override
    {
        const Place place = m_open.back();
        m_open.pop_back();
        if (place == Place::Mesh)
            return closeMesh();
        if (place == Place::Entry)
            return closeEntry();
        if (place == Place::Item && m_inItem != 1)
            return refuse("an activation is an object with one key, this one has " + std::to_string(m_inItem));
        return place != Place::Activation || closeActivation();
    }
    bool end_array() override
    {
        m_open.pop_back();
        return true;
    }

private:
    enum class Kind { None, Logical, Named, Activations };
    enum class Place { Root, Entry, Mesh, AxisNames, AxisSizes, Spec, SpecAxes, Shape, List, Item, Activation, Skipped };
    enum class Scalar { Null, Text, Whole, Other };

    bool isName(const std::string& name)
    {
        const auto problem = nameProblem(name);
        return !problem || refuse("'" + shortened(visibleText(name), 80) + "' " + *problem, "write the name without");
    }

    bool open(Place place)
    {
        m_open.push_back(place);
        return true;
    }

    static std::string expectedIn(Place place)
    {
        switch (place) {
        case Place::AxisNames:
        case Place::SpecAxes:
            return "the name of a mesh axis";
        case Place::AxisSizes:
        case Place::Shape:
            return "a whole number";
        case Place::Spec:
            return "a name, a list of names or null";
        case Place::List:
        case Place::Item:
            return "an object";
        default:
            return "something else";
        }
    }

    std::string entryText() const { return m_entry.empty() ? std::string() : " of " + m_entry; }

    bool wrong(const std::string& expected, const std::string& found)
    {
        return refuse(found + " stands where " + expected + " is expected" + entryText(), "check that this is the right file");
    }

    bool openEntry()
    {
        if (m_kind == Kind::Activations)
            return refuse("an entry besides the dump of activations", "check that this is the right file");
        m_entry = m_key;
        m_hasMesh = m_hasSpec = m_hasLists = false;
        m_spec.clear();
        m_shape.reset();
        m_cut.clear();
        m_stages.reset();
        return open(Place::Entry);
    }

    bool openMesh()
    {
        m_hasMesh = true;
        m_axisNames.clear();
        m_axisSizes.clear();
        return open(Place::Mesh);
    }

    bool openActivation()
    {
        ++m_inItem;
        m_entry = m_key;
        m_logicAxes.reset();
        m_specText.reset();
        return open(Place::Activation);
    }

    bool scalar(const char* shown, Scalar kind, std::string text, std::int64_t number)
    {
        if (++m_values > kMostValues)
            return refuse("more than " + std::to_string(kMostValues) + " values", "check that this is the right file");
        if (m_open.empty())
            return refuse(std::string("an object of entries is expected, this is ") + shown, "check that this is the right file");
        const Place place = m_open.back();
        switch (place) {
        case Place::AxisNames:
            m_axisNames.push_back(text);
            return kind == Scalar::Text || wrong(expectedIn(place), shown);
        case Place::AxisSizes:
            m_axisSizes.back().second = number;
            return (kind == Scalar::Whole && number > 0)
                || wrong("the size of mesh axis '" + m_key + "', at least 1,",
                         kind == Scalar::Whole ? std::to_string(number) : shown);
        case Place::Shape:
            m_shape->push_back(number);
            return (kind == Scalar::Whole && number >= 0)
                || wrong("a size of the shape", kind == Scalar::Whole ? std::to_string(number) : shown);
        case Place::Spec:
        case Place::SpecAxes:
            return specScalar(shown, kind, std::move(text));
        case Place::Activation:
            if (m_key != "logic_axes" && m_key != "PartitionSpec")
                return true;
            (m_key == "logic_axes" ? m_logicAxes : m_specText) = std::move(text);
            return kind == Scalar::Text || wrong("a text for " + m_key, shown);
        case Place::Entry:
            if (m_key == "cut" && kind == Scalar::Text)
                m_cut = std::move(text);
            else if (m_key == "stages" && kind == Scalar::Text)
                m_stages = std::move(text);
            return (m_key != "mesh" && m_key != "partition_spec" && m_key != "shape") || wrong("the value of " + m_key, shown);
        case Place::Mesh:
            return (m_key != "axis_names" && m_key != "shape") || wrong("the " + m_key + " of a mesh", shown);
        case Place::Skipped:
            return true;
        default:
            return wrong("an object", shown);
        }
    }

    bool specScalar(const char* shown, Scalar kind, std::string text)
    {
        const bool inside = m_open.back() == Place::SpecAxes;
        if ((kind != Scalar::Text && (inside || kind != Scalar::Null)) || (kind == Scalar::Text && text.empty()))
            return wrong(expectedIn(m_open.back()), kind == Scalar::Text ? "an empty text" : shown);
        if (!inside && m_spec.size() >= kMostDims)
            return refuse("more than " + std::to_string(kMostDims) + " dims" + entryText());
        if (kind == Scalar::Text && m_hasMesh && m_mesh && m_mesh->find(text) < 0)
            return refuse("the spec" + entryText() + " names '" + text + "', which the mesh lacks",
                          "its axes are " + m_mesh->text());
        if (!inside)
            m_spec.emplace_back();
        if (kind == Scalar::Text)
            m_spec.back().push_back(std::move(text));
        return true;
    }

    bool closeMesh()
    {
        if (m_mesh && sameMesh())
            return true;
        std::vector<MeshAxis> axes;
        for (const std::string& name : m_axisNames) {
            const auto size = std::ranges::find_if(m_axisSizes, [&](const auto& entry) { return entry.first == name; });
            if (size == m_axisSizes.end())
                return refuse("mesh axis '" + name + "'" + entryText() + " has no size", "give it one in mesh.shape");
            axes.push_back({ name, size->second });
        }
        for (const auto& [name, size] : m_axisSizes)
            if (!contains(m_axisNames, name))
                return refuse("mesh.shape" + entryText() + " has a size for '" + name + "', which axis_names lacks",
                              "name each mesh axis in both");
        auto mesh = Mesh::make(std::move(axes));
        if (!mesh.ok())
            return refuse(mesh.error().what, mesh.error().fix);
        if (m_mesh && !(*m_mesh == mesh.value()))
            return refuse("the mesh" + entryText() + ", " + mesh.value().text() + ", differs from that of the entries before, "
                              + m_mesh->text(),
                          "a dump has one mesh");
        m_mesh = std::move(mesh).value();
        return true;
    }

    bool sameMesh() const
    {
        const auto& axes = m_mesh->axes();
        if (axes.size() != m_axisNames.size() || axes.size() != m_axisSizes.size())
            return false;
        for (std::size_t i = 0; i < axes.size(); ++i)
            if (axes[i].name != m_axisNames[i] || axes[i].name != m_axisSizes[i].first || axes[i].size != m_axisSizes[i].second)
                return false;
        return true;
    }

    bool closeEntry()
    {
        if (!m_hasSpec)
            return refuse("the partition_spec" + entryText() + " is missing", "check that this is the right file");
        const Kind kind = m_hasMesh ? Kind::Named : Kind::Logical;
        if (m_kind != Kind::None && m_kind != kind)
            return refuse(std::string("the entry ") + m_entry + (m_hasMesh ? " has a mesh" : " has no mesh")
                              + ", unlike those before",
                          "a dump is of one kind");
        m_kind = kind;
        if (m_shape && m_spec.size() > m_shape->size())
            return refuse("the spec" + entryText() + " has " + std::to_string(m_spec.size()) + " entries for a shape of "
                              + std::to_string(m_shape->size()) + " dims",
                          "give one entry for each dim");
        return m_hasMesh ? closeNamed() : closeLogical();
    }

    bool closeLogical()
    {
        if (m_hasLists)
            return refuse("the partition_spec" + entryText() + " holds a list where a logical name is expected",
                          "a dump of an NNX run has no logical names; make it from a Linen run");
        std::vector<std::string> names;
        for (auto& axes : m_spec)
            names.push_back(axes.empty() ? std::string() : std::move(axes.front()));
        m_logical.push_back({ m_entry, std::move(names), std::move(m_shape) });
        return true;
    }

    bool closeNamed()
    {
        std::vector<std::string> used;
        for (std::size_t dim = 0; dim < m_spec.size(); ++dim) {
            std::int64_t parts = 1;
            for (const std::string& name : m_spec[dim]) {
                const int axis = m_mesh->find(name);
                if (axis < 0)
                    return refuse("the spec" + entryText() + " names '" + name + "', which the mesh lacks",
                                  "its axes are " + m_mesh->text());
                if (contains(used, name))
                    return refuse("the spec" + entryText() + " uses mesh axis '" + name + "' twice", "use each axis once");
                used.push_back(name);
                parts *= m_mesh->axis(axis).size;
            }
            if (m_shape && m_check == DumpCheck::Strict && m_cut.empty() && (*m_shape)[dim] % parts != 0)
                return refuse("dim " + std::to_string(dim) + entryText() + " has size " + std::to_string((*m_shape)[dim])
                                  + ", which its " + std::to_string(parts) + " parts do not divide",
                              "check the mesh " + m_mesh->text());
        }
        m_named.push_back({ m_entry, std::move(m_spec), std::move(m_shape), std::move(m_cut), std::move(m_stages) });
        m_spec.clear();
        return true;
    }

    bool closeActivation()
    {
        if (!m_specText || !m_logicAxes)
            return refuse(std::string(m_specText ? "logic_axes" : "PartitionSpec") + entryText() + " is missing");
        const auto spec = specFromPython(*m_specText, {});
        if (!spec.ok())
            return refuse(spec.error().what, spec.error().fix);
        ActivationEntry entry { m_entry, std::nullopt, spec.value() };
        if (*m_logicAxes != "Unknown") {
            auto names = namesFromPython(*m_logicAxes, {});
            if (!names.ok())
                return refuse(names.error().what, names.error().fix);
            entry.names = std::move(names).value();
        }
        m_activations.push_back(std::move(entry));
        return true;
    }

    DumpCheck m_check;
    Kind m_kind = Kind::None;
    std::vector<Place> m_open;
    std::string m_key; ///< the last one; of the open object while nothing inside it was open
    std::string m_entry;
    std::unordered_set<std::string> m_names;
    std::size_t m_values = 0;
    std::size_t m_inItem = 0;

    bool m_hasMesh = false;
    bool m_hasSpec = false;
    bool m_hasLists = false;
    DumpSpec m_spec;
    std::optional<std::vector<std::int64_t>> m_shape;
    std::string m_cut;
    std::optional<std::string> m_stages;
    std::vector<std::string> m_axisNames;
    std::vector<std::pair<std::string, std::int64_t>> m_axisSizes;
    std::optional<std::string> m_logicAxes;
    std::optional<std::string> m_specText;

    std::optional<Mesh> m_mesh;
    std::vector<LogicalEntry> m_logical;
    std::vector<NamedEntry> m_named;
    std::vector<ActivationEntry> m_activations;
};

} // namespace

Result<AnyDump> readDumpEvents(const JsonSource& source, const std::string& where, DumpCheck check)
{
    DumpEvents events(check);
    if (const auto status = readJsonEvents(source, events, where, JsonLimits {}); !status.ok())
        return status.error();
    if (!events.found())
        return inputError(where, "the dump has no entry", "check that this is the right file");
    return events.take();
}

} // namespace shardboard
