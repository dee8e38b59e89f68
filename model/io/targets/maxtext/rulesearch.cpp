// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/maxtext/rulesearch.h"

#include "model/text/contains.h"

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

// Only rules that some tensor wants are of use: any other one would have to be skipped for every tensor. Of two rules of a name the
// upper one has to be skipped for the tensors that want the lower one, because another dim holds one of its axes by a rule that
// stands higher still. So whether a rule may stand next depends on those above it only, and more of them never forbid it: taking
// any rule that may stand next, again and again, ends with all rules or shows that there is no order.
class RuleOrder {
public:
    explicit RuleOrder(const std::vector<RuleTensor>& tensors)
        : m_tensors(tensors)
    {
        for (const RuleTensor& tensor : tensors)
            for (std::size_t dim = 0; dim < tensor.names.size(); ++dim) {
                LogicalRule rule { tensor.names[dim], tensor.wanted[dim], {} };
                if (!rule.name.empty() && !contains(m_waiting, rule))
                    m_waiting.push_back(std::move(rule));
            }
    }

    RuleSearch run()
    {
        RuleSearch out;
        while (true) {
            const auto next = std::ranges::find_if(m_waiting, [&](const LogicalRule& rule) { return mayStandNext(rule); });
            if (next == m_waiting.end())
                break;
            m_placed.push_back(*next);
            m_waiting.erase(next);
        }
        out.conflicts = conflicts();
        out.rules = std::move(m_placed);
        return out;
    }

private:
    LogicalRule ruleOf(const RuleTensor& tensor, std::size_t dim) const { return { tensor.names[dim], tensor.wanted[dim], {} }; }

    /// Whether the rule is skipped for the tensor because another dim already holds one of its axes.
    bool isSkipped(const RuleTensor& tensor, std::size_t dim, const LogicalRule& rule) const
    {
        for (std::size_t other = 0; other < tensor.names.size(); ++other) {
            if (other == dim || tensor.names[other].empty() || !contains(m_placed, ruleOf(tensor, other)))
                continue;
            for (const std::string& axis : rule.axes)
                if (contains(tensor.wanted[other], axis))
                    return true;
        }
        return false;
    }

    bool mayStandNext(const LogicalRule& rule) const
    {
        for (const RuleTensor& tensor : m_tensors)
            for (std::size_t dim = 0; dim < tensor.names.size(); ++dim)
                if (tensor.names[dim] == rule.name && tensor.wanted[dim] != rule.axes && !contains(m_placed, ruleOf(tensor, dim))
                    && !isSkipped(tensor, dim, rule))
                    return false;
        return true;
    }

    std::vector<RuleConflict> conflicts() const
    {
        std::vector<RuleConflict> out;
        for (std::size_t i = 0; i < m_tensors.size(); ++i)
            for (std::size_t dim = 0; dim < m_tensors[i].names.size(); ++dim) {
                if (m_tensors[i].names[dim].empty()) {
                    if (!m_tensors[i].wanted[dim].empty())
                        out.push_back({ i, dim, i });
                } else if (contains(m_waiting, ruleOf(m_tensors[i], dim))) {
                    out.push_back({ i, dim, otherOf(i, dim) });
                }
            }
        return out;
    }

    std::size_t otherOf(std::size_t tensor, std::size_t dim) const
    {
        const LogicalRule rule = ruleOf(m_tensors[tensor], dim);
        for (std::size_t i = 0; i < m_tensors.size(); ++i)
            for (std::size_t d = 0; d < m_tensors[i].names.size(); ++d)
                if (m_tensors[i].names[d] == rule.name && m_tensors[i].wanted[d] != rule.axes)
                    return i;
        return tensor;
    }

    const std::vector<RuleTensor>& m_tensors;
    std::vector<LogicalRule> m_waiting; ///< in the order of the tensors
    std::vector<LogicalRule> m_placed; ///< top to bottom
};

} // namespace

RuleSearch searchRules(const std::vector<RuleTensor>& tensors) { return RuleOrder(tensors).run(); }

} // namespace shardboard
