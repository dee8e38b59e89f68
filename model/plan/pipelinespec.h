// SPDX-License-Identifier: Apache-2.0
// Pipeline parallelism: the layers lie on the devices of a mesh axis one run after the other.
#pragma once

#include <cstdint>
#include <string>

namespace shardboard {

struct PipelineSpec {
    std::string axis; ///< mesh axis of the stages; empty: no pipeline
    std::int64_t chunks = 1; ///< runs of layers on every stage: 1 is the schedule 1F1B, more are interleaved

    bool present() const { return !axis.empty(); }
    friend bool operator==(const PipelineSpec&, const PipelineSpec&) = default;
};

} // namespace shardboard
