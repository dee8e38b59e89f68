// SPDX-License-Identifier: Apache-2.0
// JAX's notation of a layout, written and read. Sub-axes are written as Shardy does inside the quotes, 'x:(2)4', because
// JAX itself cannot say them.
#include "model/core/layout.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace shardboard {

namespace {

constexpr std::array<const char*, 3> kOperators { "sum", "max", "min" }; // in the order of ReduceOp

std::string refText(const AxisRef& ref, const Mesh& mesh)
{
    std::string name = mesh.axis(ref.axis).name;
    if (!ref.whole())
        name += ":(" + std::to_string(ref.pre) + ")" + std::to_string(ref.size);
    return "'" + name + "'";
}

std::string entryText(const std::vector<AxisRef>& axes, const Mesh& mesh)
{
    if (axes.empty())
        return "None";
    if (axes.size() == 1)
        return refText(axes.front(), mesh);
    std::string out;
    for (const AxisRef& ref : axes)
        out += (out.empty() ? "" : ", ") + refText(ref, mesh);
    return "(" + out + ")";
}

class SpecParser {
public:
    SpecParser(std::string_view text, const Mesh& mesh, const std::string& where)
        : m_text(text)
        , m_mesh(mesh)
        , m_where(where)
    {
    }

    Result<Layout> parse(std::size_t rank)
    {
        if (!word("PartitionSpec") && !word("P"))
            return fail("the spec does not begin with P(");
        if (!token('('))
            return fail("the spec does not begin with P(");
        Layout layout;
        bool first = true;
        while (!token(')')) {
            if (!first && !token(','))
                return fail("a comma or ) is missing");
            if (!first && token(')')) // trailing comma
                break;
            first = false;
            if (auto status = argument(layout); !status.ok())
                return status.error();
        }
        if (m_kindGiven && layout.partial.empty())
            return fail("unreduced_kind is given, but nothing is unreduced");
        blanks();
        if (m_at != m_text.size())
            return fail("there is text after the spec");
        if (layout.dims.size() > rank)
            return inputError(m_where,
                              "the spec has " + std::to_string(layout.dims.size()) + " entries, but the tensor has "
                                  + std::to_string(rank) + " dims",
                              "leave out the entries that are too many");
        layout.dims.resize(rank);
        for (const auto& [dim, cutting] : m_cuttings) {
            if (dim >= rank)
                return fail("cut names dim " + std::to_string(dim) + ", which the tensor does not have");
            layout.setCutting(dim, cutting);
        }
        std::ranges::sort(layout.partial, [](const AxisRef& a, const AxisRef& b) {
            return a.axis < b.axis || (a.axis == b.axis && a.pre < b.pre);
        });
        // JAX's `reduced` says that a gradient is unreduced; the value itself is whole over these axes.
        Layout named = layout;
        named.partial.insert(named.partial.end(), m_reduced.begin(), m_reduced.end());
        if (auto status = verifyLayout(named, m_mesh, rank, m_where); !status.ok())
            return status.error();
        return layout;
    }

private:
    Error fail(const std::string& what) const
    {
        return inputError(m_where, what + " (at character " + std::to_string(m_at + 1) + " of " + std::string(m_text) + ")",
                          "write it like P(None, 'model') or P(('data', 'model'))");
    }

    void blanks()
    {
        while (m_at < m_text.size() && (m_text[m_at] == ' ' || m_text[m_at] == '\t'))
            ++m_at;
    }
    bool token(char c)
    {
        blanks();
        if (m_at >= m_text.size() || m_text[m_at] != c)
            return false;
        ++m_at;
        return true;
    }
    bool word(std::string_view expected)
    {
        blanks();
        if (!m_text.substr(m_at).starts_with(expected))
            return false;
        const std::size_t end = m_at + expected.size();
        if (end < m_text.size() && (std::isalnum(static_cast<unsigned char>(m_text[end])) || m_text[end] == '_'))
            return false;
        m_at = end;
        return true;
    }

    Result<std::string_view> quoted(const char* what)
    {
        blanks();
        const char quote = m_at < m_text.size() ? m_text[m_at] : '\0';
        if (quote != '\'' && quote != '"')
            return fail(std::string("a quoted ") + what + " is missing");
        const auto end = m_text.find(quote, m_at + 1);
        if (end == std::string_view::npos)
            return fail("a quote is not closed");
        const std::string_view name = m_text.substr(m_at + 1, end - m_at - 1);
        m_at = end + 1;
        return name;
    }

    Result<AxisRef> axis()
    {
        const auto found = quoted("mesh axis name");
        if (!found.ok())
            return found.error();
        std::string_view name = found.value();
        AxisRef ref;
        if (const auto colon = name.find(":("); colon != std::string_view::npos) {
            const std::string_view rest = name.substr(colon + 2);
            const auto close = rest.find(')');
            const auto pre = parseInteger(rest.substr(0, close));
            const auto size = close == std::string_view::npos ? std::nullopt : parseInteger(rest.substr(close + 1));
            if (!pre || !size || *size < 1)
                return fail("sub-axis '" + std::string(name) + "' is not of the form axis:(pre)size");
            ref.pre = *pre;
            ref.size = *size;
            name = name.substr(0, colon);
        }
        ref.axis = m_mesh.find(name);
        if (ref.axis < 0)
            return inputError(m_where, "the mesh has no axis '" + std::string(name) + "'",
                              "its axes are " + (m_mesh.axes().empty() ? std::string("none") : m_mesh.text()));
        return ref;
    }

    /// Axes between `open` (already read) and `close`.
    Status axes(char close, std::vector<AxisRef>& out)
    {
        bool first = true;
        while (!token(close)) {
            if (!first && !token(','))
                return fail(std::string("a comma or ") + close + " is missing");
            if (!first && token(close))
                break;
            first = false;
            auto ref = axis();
            if (!ref.ok())
                return ref.error();
            out.push_back(ref.value());
        }
        return done();
    }

    Status argument(Layout& layout)
    {
        if (word("unreduced_kind"))
            return unreducedKind(layout);
        if (word("unreduced"))
            return set("unreduced", m_unreducedGiven, layout.partial);
        if (word("reduced"))
            return set("reduced", m_reducedGiven, m_reduced);
        if (word("cut"))
            return cuttings();
        return entry(layout);
    }

    Status entry(Layout& layout)
    {
        if (m_unreducedGiven || m_reducedGiven || m_kindGiven)
            return fail("an entry follows unreduced");
        if (const auto before = m_at; word("UNCONSTRAINED") || (word("P") && token('.')) || (word("PartitionSpec") && token('.'))) {
            m_at = before;
            return fail("dim " + std::to_string(layout.dims.size())
                        + " is unconstrained: its layout is known only after propagation");
        }
        auto& dim = layout.dims.emplace_back();
        if (word("None"))
            return done();
        if (token('('))
            return axes(')', dim);
        auto ref = axis();
        if (!ref.ok())
            return ref.error();
        dim.push_back(ref.value());
        return done();
    }

    Status set(const std::string& name, bool& given, std::vector<AxisRef>& out)
    {
        if (given)
            return fail(name + " appears twice");
        given = true;
        if (!token('=') || !token('{'))
            return fail(name + " wants a set, " + name + "={'axis'}");
        return axes('}', out);
    }

    /// JAX prints the bare word; code says UnreducedKind.max, perhaps with the module before it.
    Status unreducedKind(Layout& layout)
    {
        if (m_kindGiven || !token('='))
            return fail("unreduced_kind wants one of sum, max and min, once");
        m_kindGiven = true;
        for (const std::string_view module : { "jax", "sharding", "UnreducedKind" })
            if (word(module) && !token('.'))
                return fail("a . is missing after " + std::string(module));
        for (std::size_t i = 0; i < kOperators.size(); ++i)
            if (word(kOperators[i])) {
                layout.op = static_cast<ReduceOp>(i);
                return done();
            }
        return fail("unreduced_kind is none of sum, max and min");
    }

    /// Our extension for uneven cuts: `={0: 'grain-balanced:128', 2: 'ceil-flat'}`.
    Status cuttings()
    {
        if (!token('=') || !token('{'))
            return fail("cut wants a dictionary, cut={0: 'ceil-flat'}");
        bool first = true;
        while (!token('}')) {
            if (!first && !token(','))
                return fail("a comma or } is missing");
            first = false;
            blanks();
            const std::size_t end = std::min(m_text.size(), m_text.find_first_not_of("0123456789", m_at));
            const auto dim = parseInteger(m_text.substr(m_at, end - m_at));
            m_at = end;
            if (!dim || *dim > 15 || !token(':'))
                return fail("the number of a tensor dim is missing");
            const auto name = quoted("cut rule");
            if (!name.ok())
                return name.error();
            const auto colon = name.value().find(':');
            const auto rule = cutRuleFromName(name.value().substr(0, colon));
            const auto unit = colon == std::string_view::npos ? 1 : parseInteger(name.value().substr(colon + 1)).value_or(0);
            if (!rule || unit < 1)
                return fail("'" + std::string(name.value()) + "' is not a cut rule");
            m_cuttings.emplace_back(static_cast<std::size_t>(*dim), Cutting { *rule, unit });
        }
        return done();
    }

    std::string_view m_text;
    std::vector<std::pair<std::size_t, Cutting>> m_cuttings;
    const Mesh& m_mesh;
    const std::string& m_where;
    std::size_t m_at = 0;
    bool m_unreducedGiven = false;
    bool m_reducedGiven = false;
    bool m_kindGiven = false;
    std::vector<AxisRef> m_reduced;
};

} // namespace

std::string specText(const Layout& layout, const Mesh& mesh, bool full)
{
    std::size_t count = layout.dims.size();
    while (!full && count > 0 && layout.dims[count - 1].empty())
        --count;
    std::string out;
    for (std::size_t i = 0; i < count; ++i)
        out += (out.empty() ? "" : ", ") + entryText(layout.dims[i], mesh);
    if (!layout.partial.empty()) {
        std::string set;
        for (const AxisRef& ref : layout.partial)
            set += (set.empty() ? "" : ", ") + refText(ref, mesh);
        out += (out.empty() ? "" : ", ") + ("unreduced={" + set + "}");
        if (layout.op != ReduceOp::Sum)
            out += std::string(", unreduced_kind=") + kOperators[static_cast<std::size_t>(layout.op)];
    }
    std::string cuts;
    for (std::size_t dim = 0; dim < layout.cutting.size(); ++dim) {
        const Cutting& cutting = layout.cutting[dim];
        if (cutting == Cutting {})
            continue;
        cuts += (cuts.empty() ? "" : ", ") + std::to_string(dim) + ": '" + cutRuleName(cutting.rule)
            + (cutting.unit > 1 ? ":" + std::to_string(cutting.unit) : "") + "'";
    }
    if (!cuts.empty())
        out += (out.empty() ? "cut={" : ", cut={") + cuts + "}";
    return "P(" + out + ")";
}

Result<Layout> parseSpec(std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where)
{
    return SpecParser(trimmed(text), mesh, where).parse(rank);
}

std::string placementsText(const Layout& layout, const Mesh& mesh)
{
    std::vector<std::string> placements(static_cast<std::size_t>(mesh.axisCount()), "R");
    bool reordered = false;
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim) {
        int last = -1;
        for (const AxisRef& ref : layout.dims[dim]) {
            placements[static_cast<std::size_t>(ref.axis)] = "S(" + std::to_string(dim) + ")";
            reordered = reordered || ref.axis < last || !ref.whole();
            last = ref.axis;
        }
    }
    for (const AxisRef& ref : layout.partial)
        placements[static_cast<std::size_t>(ref.axis)] = std::string("P(") + kOperators[static_cast<std::size_t>(layout.op)] + ")";
    return joined(placements) + (reordered ? " *" : "");
}

} // namespace shardboard
