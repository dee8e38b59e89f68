// SPDX-License-Identifier: Apache-2.0
// Why a picker does not take a candidate, or what it is asked at all: data, for people and for those who look for a way out.
#pragma once

#include <cstdint>
#include <string>

namespace shardboard {

/// The exception that MAX would raise.
enum class UpstreamError : std::uint8_t { ShardingError, RuntimeError, ValueError, TypeError, NotImplementedError };
const char* upstreamErrorName(UpstreamError error);

struct Refusal {
    enum class Kind : std::uint8_t {
        Request, ///< the operation as a whole is refused
        Policy, ///< the row could run, but the picker, its budget, or a pin is against it
        TooSmall, ///< a dim has fewer elements than parts
        Units, ///< heads, say, do not divide by the parts
        NotPartial, ///< it takes a partial value, and the operand is none
        Together, ///< it cannot be combined with what the other mesh axes take
        Profile, ///< the profile cannot use it
    };

    UpstreamError error = UpstreamError::ValueError;
    std::string where {}; ///< what is to blame: key of a request (`attrs.axis`) or operation of a plan; may be empty
    std::string reason {};
    std::string fix {}; ///< what to do, may be empty
    Kind kind = Kind::Request;
    int operand = 0; ///< of a row that cannot run, as the rest
    int dim = 0;
    std::int64_t have = 0; ///< elements or units
    std::int64_t parts = 0;
    std::string units {}; ///< `8 KV heads`
};

} // namespace shardboard
