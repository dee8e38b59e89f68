// SPDX-License-Identifier: Apache-2.0
// One event of a trace file as it is written, before it becomes a part of a Trace.
#pragma once

#include "model/io/json/jsoncursor.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace shardboard {

struct TraceEvent {
    char phase = 0; ///< X, B, E, M, C, …; 0: none
    std::string name;
    std::string category;
    std::string process; ///< pid, a number or a text
    std::string thread; ///< tid
    bool hasTime = false;
    std::int64_t time = 0; ///< nanoseconds
    std::int64_t duration = 0;
    // Of the arguments what somebody asks for.
    std::string argName;
    std::string collective; ///< Collective name
    std::string dtype;
    std::string ranks; ///< Process Group Ranks
    std::int64_t in = 0; ///< In msg nelems
    std::int64_t out = 0;
    std::int64_t groupSize = 0;
    double sortIndex = std::numeric_limits<double>::quiet_NaN();
    std::vector<std::int64_t> inputElements; ///< Input Dims: of every argument of a PyTorch operation, its tensors together
    std::string inputType; ///< the first of Input type that names one
    std::vector<std::pair<std::string, double>> numbers; ///< arguments that are numbers, of counters and instants alone

    void clear();
};

/// The next value, which has to be an object. Errors stay in the cursor.
void readTraceEvent(JsonCursor& cursor, TraceEvent& event);

/// Microseconds as they are written, in nanoseconds, without the loss that 64-bit floating point has for times since 1970.
/// False where that leaves 64 bits.
bool nanosecondsOf(std::string_view microseconds, std::int64_t& out);

} // namespace shardboard
