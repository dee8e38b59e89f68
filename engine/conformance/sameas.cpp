// SPDX-License-Identifier: Apache-2.0
#include "engine/conformance/sameas.h"

#include "engine/devices/sharded.h"

#include <cstring>
#include <vector>

namespace shardboard::conformance {

namespace {

using engine::Failure;
using engine::RunHooks;
using engine::RunOutcome;
using engine::SeenValue;

/// What an operation left on a device.
struct Trace {
    std::string what;
    std::uint64_t bits = 0; ///< FNV-1a over the bits of the values
};

std::uint64_t bitsOf(const float* values, std::int64_t count)
{
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::int64_t i = 0; i < count; ++i) {
        std::uint32_t word = 0;
        std::memcpy(&word, values + i, sizeof word);
        hash = (hash ^ word) * 0x100000001b3u;
    }
    return hash;
}

void add(std::vector<Trace>& traces, const SeenValue& seen)
{
    const std::string name = seen.tensor + (seen.microBatch > 0 ? ", micro-batch " + std::to_string(seen.microBatch) : "");
    for (std::int64_t device = 0; device < seen.value.deviceCount(); ++device)
        traces.push_back({ name + " on device " + std::to_string(seen.value.mesh().deviceId(device)),
                           bitsOf(seen.value.data(device), seen.value.elements(device)) });
}

/// What differs first; empty: nothing.
std::string difference(const std::vector<Trace>& ours, const std::vector<Trace>& theirs)
{
    for (std::size_t i = 0; i < ours.size() && i < theirs.size(); ++i) {
        if (ours[i].what != theirs[i].what)
            return "'" + ours[i].what + "' comes where the other backend has '" + theirs[i].what + "'";
        if (ours[i].bits != theirs[i].bits)
            return "'" + ours[i].what + "' is not the same bit for bit";
    }
    return ours.size() == theirs.size() && !ours.empty() ? "" : "the backends make different numbers of values, or none";
}

} // namespace

engine::Backend sameAs(const engine::Backend& backend, const engine::Backend& other)
{
    engine::Backend out = backend;
    out.run = [&backend, &other](const engine::RunRequest& request) {
        std::vector<Trace> ours;
        std::vector<Trace> theirs;
        engine::RunRequest watched = request;
        watched.hooks.value = [&](const SeenValue& seen) {
            add(ours, seen);
            if (request.hooks.value)
                request.hooks.value(seen);
        };
        RunOutcome outcome = backend.run(watched);
        if (std::holds_alternative<Failure>(outcome))
            return outcome;
        RunOptions elsewhere = request.options;
        elsewhere.backend = other.name;
        RunHooks quiet;
        quiet.value = [&](const SeenValue& seen) { add(theirs, seen); };
        const RunOutcome expected = other.run({ request.program, elsewhere, quiet, request.limits });
        if (const auto* failure = std::get_if<Failure>(&expected))
            return RunOutcome(*failure);
        if (const std::string what = difference(ours, theirs); !what.empty())
            return RunOutcome(Failure { "different", what + " as on " + other.name, "" });
        return outcome;
    };
    return out;
}

} // namespace shardboard::conformance
