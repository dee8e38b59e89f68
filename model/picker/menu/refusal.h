// SPDX-License-Identifier: Apache-2.0
// A question that MAX would answer with an exception: which one, and our words for it.
#pragma once

#include <cstdint>
#include <string>

namespace shardboard {

enum class UpstreamError : std::uint8_t { ShardingError, RuntimeError, ValueError, TypeError, NotImplementedError };

inline const char* upstreamErrorName(UpstreamError error)
{
    switch (error) {
    case UpstreamError::ShardingError:
        return "ShardingError";
    case UpstreamError::RuntimeError:
        return "RuntimeError";
    case UpstreamError::ValueError:
        return "ValueError";
    case UpstreamError::TypeError:
        return "TypeError";
    case UpstreamError::NotImplementedError:
        return "NotImplementedError";
    }
    return "";
}

struct Refusal {
    UpstreamError error = UpstreamError::ValueError;
    std::string key; ///< key of the request that is to blame (`attrs.axis`), may be empty
    std::string reason;
    std::string fix; ///< what to do, may be empty
};

} // namespace shardboard
