// SPDX-License-Identifier: Apache-2.0
#include "model/io/lanes/errortable.h"

#include "model/io/lanes/runlanes.h"
#include "model/timeline/boundby.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace shardboard {

std::optional<double> ErrorRow::error() const
{
    if (predicted <= 0)
        return std::nullopt;
    return measured / predicted - 1;
}

ErrorTable errorTable(const RunResult& result, const RunProfile* profile, std::int64_t step, const std::vector<TimelineItem>& items,
                      const Plan* plan, const Hardware& hardware)
{
    ErrorTable out;
    std::map<std::string, std::int32_t> byId;
    for (std::size_t i = 0; i < items.size(); ++i)
        byId.emplace(items[i].id, static_cast<std::int32_t>(i));
    const auto row = [&](const std::string& id, const std::string& kind) {
        ErrorRow one;
        one.id = id;
        one.kind = kind;
        one.collective = collectiveFromName(kind).has_value();
        const auto known = byId.find(id);
        if (known == byId.end())
            return one;
        one.item = known->second;
        if (plan == nullptr)
            return one;
        const TimelineItem& item = items[static_cast<std::size_t>(one.item)];
        const BoundBy bound = item.collective.valid() ? boundBy(plan->collective(item.collective), plan->mesh, hardware)
                                                      : boundBy(plan->segment(item.segment).ops[item.operation], hardware);
        one.boundBy = bound.what;
        one.constant = bound.constant;
        return one;
    };
    if (profile != nullptr && step >= 0) {
        out.step = step;
        std::map<std::int64_t, std::size_t> places;
        for (const ProfileEvent& event : profile->events) {
            if (event.step != step)
                continue;
            const ProfileOperation& operation = profile->operations[static_cast<std::size_t>(event.operation)];
            const auto [place, isNew] = places.emplace(event.operation, out.rows.size());
            if (isNew)
                out.rows.push_back(row(operation.id, operation.kind));
            ErrorRow& one = out.rows[place->second];
            ++one.count;
            one.predicted += operation.predictedSeconds;
            one.measured += executionSeconds(*profile, event);
        }
        for (const ErrorRow& one : out.rows) {
            out.predicted += one.predicted;
            out.measured += one.measured;
        }
    } else {
        double predicted = 0;
        double measured = 0;
        for (const RunOperation& operation : result.operations) {
            ErrorRow one = row(operation.id, operation.kind);
            one.count = operation.count;
            one.predicted = static_cast<double>(operation.count) * operation.predictedSeconds;
            one.measured = static_cast<double>(operation.count) * operation.medianSeconds;
            predicted += one.predicted;
            measured += one.measured;
            out.rows.push_back(std::move(one));
        }
        out.predicted = result.predictedStepSeconds;
        out.measured = result.stepMedian;
        const double restPredicted = out.predicted - predicted;
        const double restMeasured = out.measured - measured;
        if (std::abs(restPredicted) > 1e-9 * out.predicted || std::abs(restMeasured) > 1e-9 * out.measured) {
            ErrorRow rest;
            rest.id = "medians that do not add up to the median step";
            rest.predicted = restPredicted;
            rest.measured = restMeasured;
            out.rows.push_back(std::move(rest));
        }
    }
    std::ranges::stable_sort(out.rows,
                             [](const ErrorRow& a, const ErrorRow& b) { return std::abs(a.lost()) > std::abs(b.lost()); });
    return out;
}

} // namespace shardboard
