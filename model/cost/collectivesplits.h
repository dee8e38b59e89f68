// SPDX-License-Identifier: Apache-2.0
// A collective over a device group of two parts, as collectives over one part after the other. The parts are levels of the
// hardware, or mesh axes.
#pragma once

#include "model/cost/collectivekind.h"

#include <initializer_list>

namespace shardboard {

/// A collective over one of the parts.
struct SplitStage {
    CollectiveKind kind = CollectiveKind::AllReduce;
    int part = 0; ///< 0 or 1
    bool whole = true; ///< on all of S; else on S by the members of the other part
};

/// Calls `each(stages)` for every way. The parts are the inner levels (0) and the outer ones (1).
template <class Each>
void visitLevelSplits(CollectiveKind kind, Each each)
{
    using enum CollectiveKind;
    using Stages = std::initializer_list<SplitStage>;
    switch (kind) {
    case AllReduce:
        each(Stages { { ReduceScatter, 0, true }, { AllReduce, 1, false }, { AllGather, 0, true } });
        break;
    case AllGather:
        each(Stages { { AllGather, 1, false }, { AllGather, 0, true } });
        each(Stages { { AllGather, 0, false }, { AllGather, 1, true } });
        break;
    case ReduceScatter:
        each(Stages { { ReduceScatter, 0, true }, { ReduceScatter, 1, false } });
        each(Stages { { ReduceScatter, 1, true }, { ReduceScatter, 0, false } });
        break;
    case AllToAll:
    case Broadcast:
        each(Stages { { kind, 1, true }, { kind, 0, true } });
        break;
    case SendRecv:
    case LocalSlice:
        break;
    }
}

/// The same over the mesh axes of part 0, then over those of part 1. Each pair of parts has to be visited both ways.
template <class Each>
void visitAxisSplits(CollectiveKind kind, Each each)
{
    using enum CollectiveKind;
    using Stages = std::initializer_list<SplitStage>;
    switch (kind) {
    case AllReduce:
        each(Stages { { AllReduce, 0, true }, { AllReduce, 1, true } });
        each(Stages { { ReduceScatter, 0, true }, { AllReduce, 1, false }, { AllGather, 0, true } });
        break;
    case AllGather:
        each(Stages { { AllGather, 0, false }, { AllGather, 1, true } });
        break;
    case ReduceScatter:
        each(Stages { { ReduceScatter, 0, true }, { ReduceScatter, 1, false } });
        break;
    case AllToAll:
    case Broadcast:
    case SendRecv:
        each(Stages { { kind, 0, true }, { kind, 1, true } });
        break;
    case LocalSlice:
        break;
    }
}

} // namespace shardboard
