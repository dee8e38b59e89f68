// SPDX-License-Identifier: Apache-2.0
// Findings about a checkpoint; many alike become one with a count and examples.
#pragma once

#include "model/core/finding.h"
#include "model/text/visibletext.h"

#include <string>
#include <vector>

namespace shardboard {

inline Finding checkpointFinding(const std::string& kind, Severity severity, const std::string& where, const std::string& message,
                                 const std::string& repair = {})
{
    return Finding { kind, severity, visibleText(where), 0, visibleText(message), visibleText(repair) };
}

/// Counts things of one kind and keeps the first few as examples.
class Examples {
public:
    void add(const std::string& example)
    {
        ++m_count;
        if (m_examples.size() < 3)
            m_examples.push_back(example);
    }
    std::size_t count() const { return m_count; }
    /// `a, b, c, …` or `a, b`
    std::string text() const
    {
        std::string out;
        for (const std::string& example : m_examples)
            out += (out.empty() ? "" : ", ") + example;
        return m_count > m_examples.size() ? out + ", ..." : out;
    }
    /// `1 tensor` or `5 tensors`
    std::string counted(const std::string& noun) const { return std::to_string(m_count) + " " + noun + (m_count == 1 ? "" : "s"); }

private:
    std::size_t m_count = 0;
    std::vector<std::string> m_examples;
};

} // namespace shardboard
