// SPDX-License-Identifier: Apache-2.0
#include "model/design/verifynames.h"

#include "model/text/visibletext.h"

namespace shardboard {

namespace {

/// Asks for one name after the other, and keeps what was wrong first.
class Names {
public:
    void at(const std::string& place) { m_place = place; }
    Names& operator()(const std::string& key, const std::string& name)
    {
        if (const auto problem = nameProblem(name); problem && m_status.ok())
            m_status = inputError(m_place + key, "'" + shortened(visibleText(name), 80) + "' " + *problem, "write it without");
        return *this;
    }
    Names& operator()(const std::string& key, const std::vector<std::string>& names)
    {
        for (const std::string& name : names)
            (*this)(key, name);
        return *this;
    }
    Status status() const { return m_status; }

private:
    std::string m_place;
    Status m_status = done();
};

std::string indexed(const char* list, std::size_t i) { return std::string(list) + "[" + std::to_string(i) + "]"; }

} // namespace

Status verifyNames(const Design& design)
{
    Names names;
    for (std::size_t i = 0; i < design.strategies.size(); ++i) {
        const StrategyEntry& entry = design.strategies[i];
        names.at(indexed("strategies", i));
        names(".match", entry.match)(".axes", entry.strategy.axes)(".spec", entry.strategy.spec);
    }
    for (std::size_t i = 0; i < design.rules.rules.size(); ++i) {
        names.at(indexed("rules.entries", i));
        names("", design.rules.rules[i].name)("", design.rules.rules[i].axes);
    }
    for (std::size_t i = 0; i < design.pins.size(); ++i) {
        const Pin& pin = design.pins[i];
        names.at(indexed("pins", i));
        names(".match", pin.match)(".source", pin.source)(".axis", pin.axis)(".row", pin.row)(".whole", pin.whole);
        for (const Pin::Dim& dim : pin.dims)
            names(".dims", dim.label)(".dims", dim.axes);
    }
    names.at("pipeline");
    names(".axis", design.pipeline.axis);
    names.at("workload.optimizer_sharding");
    names(".axes", design.workload.optimizer.axes);
    return names.status();
}

} // namespace shardboard
