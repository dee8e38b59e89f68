// SPDX-License-Identifier: Apache-2.0
#include "model/io/names/viewpattern.h"

#include "model/io/names/parameternames.h"
#include "model/text/text.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace shardboard {

namespace {

class ViewParser {
public:
    ViewParser(const std::string& text, const std::string& where)
        : m_text(text)
        , m_where(where)
    {
    }

    Result<ViewPattern> parse()
    {
        const auto arrow = m_text.find("->");
        if (arrow == std::string::npos)
            return wrong("has no ->");
        for (const auto& words : side(std::string_view(m_text).substr(0, arrow))) {
            m_out.from.emplace_back();
            for (const std::string_view word : words)
                define(word);
        }
        for (const auto& words : side(std::string_view(m_text).substr(arrow + 2))) {
            m_out.dims.emplace_back();
            for (const std::string_view word : words)
                use(word);
        }
        check();
        if (!m_problem.empty())
            return wrong(m_problem);
        return m_out;
    }

private:
    Error wrong(const std::string& what) const
    {
        return inputError(m_where, "the view '" + m_text + "' " + what, "write it as `(heads head_dim) in -> in heads head_dim`");
    }

    void fail(const std::string& what)
    {
        if (m_problem.empty())
            m_problem = what;
    }

    /// Dims with the words in them.
    std::vector<std::vector<std::string_view>> side(std::string_view text)
    {
        std::vector<std::vector<std::string_view>> dims;
        bool inside = false;
        std::size_t at = 0;
        while (at < text.size()) {
            const char c = text[at];
            if (c == ' ') {
                ++at;
            } else if (c == '(' || c == ')') {
                if (inside == (c == '('))
                    fail("has brackets that do not match");
                inside = c == '(';
                if (inside)
                    dims.emplace_back();
                ++at;
            } else {
                const std::size_t end = std::min(text.find_first_of(" ()", at), text.size());
                if (!inside)
                    dims.emplace_back();
                dims.back().push_back(text.substr(at, end - at));
                at = end;
            }
        }
        if (inside)
            fail("has brackets that do not match");
        return dims;
    }

    void define(std::string_view word)
    {
        ViewFactor factor;
        factor.joined = word.starts_with('+');
        if (factor.joined)
            word.remove_prefix(1);
        if (const auto colon = word.find(':'); colon != std::string_view::npos) {
            const std::string_view index = word.substr(colon + 1);
            const auto number = parseInteger(index);
            if (index == "*")
                factor.taken = NameFactor::kNumbered;
            else if (number && *number >= 0)
                factor.taken = *number;
            else
                fail("takes no index of a factor");
            word = word.substr(0, colon);
        }
        if (const auto size = parseInteger(word)) {
            if (*size < 1 || factor.taken >= *size)
                fail("has a size that cannot be");
            factor.size = *size;
        }
        factor.label = word;
        if (word.empty() || (factor.size == 0 && find(word)))
            fail("names a factor twice, or not at all");
        m_out.from.back().push_back(static_cast<int>(m_out.factors.size()));
        m_out.factors.push_back(std::move(factor));
    }

    std::optional<int> find(std::string_view label) const
    {
        const auto found = std::ranges::find(m_out.factors, label, &ViewFactor::label);
        if (found == m_out.factors.end())
            return std::nullopt;
        return static_cast<int>(found - m_out.factors.begin());
    }

    void use(std::string_view word)
    {
        if (word.starts_with('+'))
            word.remove_prefix(1);
        const auto factor = find(word);
        if (!factor) {
            fail("has '" + std::string(word) + "' on the right only");
            return;
        }
        m_used.push_back(*factor);
        m_out.dims.back().push_back(*factor);
    }

    void check()
    {
        int joined = 0;
        for (std::size_t i = 0; i < m_out.factors.size(); ++i) {
            const auto uses = std::ranges::count(m_used, static_cast<int>(i));
            if (uses != (m_out.factors[i].taken == NameFactor::kAll ? 1 : 0))
                fail("has to have '" + m_out.factors[i].label + "' on the right once, unless an index of it is taken");
            joined += m_out.factors[i].joined ? 1 : 0;
        }
        if (joined > 1)
            fail("joins sources along two factors");
    }

    const std::string& m_text;
    const std::string& m_where;
    ViewPattern m_out;
    std::vector<int> m_used;
    std::string m_problem;
};

} // namespace

Result<ViewPattern> parseView(const std::string& text, const std::string& where) { return ViewParser(text, where).parse(); }

} // namespace shardboard
