// SPDX-License-Identifier: Apache-2.0
// The values of a run, to be held against those of another one.
#pragma once

#include "engine/devices/sharded.h"
#include "engine/run/runner.h"

#include <cmath>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace shardboard::engine::test {

/// What every operation left, put by its name and device.
using Values = std::map<std::string, std::vector<float>>;

inline RunHooks keeping(Values& values)
{
    RunHooks hooks;
    hooks.value = [&values](const SeenValue& seen) {
        for (std::int64_t device = 0; device < seen.value.deviceCount(); ++device) {
            const std::string name =
                seen.tensor + "/" + std::to_string(seen.microBatch) + "/" + std::to_string(seen.value.mesh().deviceId(device));
            values[name].assign(seen.value.data(device), seen.value.data(device) + seen.value.elements(device));
        }
    };
    return hooks;
}

/// |a - b| / |b|.
inline double distance(const std::vector<float>& a, const std::vector<float>& b)
{
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference += std::pow(double { a[i] } - double { b[i] }, 2);
        size += std::pow(double { b[i] }, 2);
    }
    return difference == 0 ? 0 : std::sqrt(difference / size);
}

inline const Failure* failureOf(const RunOutcome& outcome) { return std::get_if<Failure>(&outcome); }

inline std::string told(const RunOutcome& outcome)
{
    const Failure* failure = failureOf(outcome);
    return failure == nullptr ? std::string() : failure->code + ": " + failure->where + ": " + failure->message;
}

} // namespace shardboard::engine::test
