// SPDX-License-Identifier: Apache-2.0
// Collects times and errors of a run and makes its result.
#pragma once

#include "model/io/wire/messages.h"

#include <map>
#include <string>
#include <vector>

namespace shardboard::engine {

class RunRecord {
public:
    /// One execution of an operation or collective. `what` holds id, kind, predicted seconds and bytes.
    void addTime(const RunOperation& what, double seconds);
    /// One whose time comes later: it has its rank in the order now, and can have errors.
    void expect(const RunOperation& what) { entry(what); }
    void addError(const std::string& id, double error, double tolerance);
    /// Closes a step.
    void endStep();
    /// Forgets all times, but no error: what ran so far was the warm-up.
    void forgetTimes();

    /// Fills times, errors and operations of the result.
    void finish(RunResult& result) const;

private:
    struct Entry {
        RunOperation operation;
        std::vector<double> seconds;
    };
    Entry& entry(const RunOperation& what);

    std::vector<Entry> m_entries; ///< in order of first execution
    std::map<std::string, std::size_t> m_index;
    std::vector<double> m_steps;
    double m_step = 0;
    double m_predicted = 0; ///< of all steps so far
    bool m_compared = false;
    std::string m_firstDeviation;
};

} // namespace shardboard::engine
