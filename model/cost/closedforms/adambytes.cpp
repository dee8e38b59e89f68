// SPDX-License-Identifier: Apache-2.0
#include "model/cost/closedforms/adambytes.h"

namespace shardboard {

int adamStateBytes(DType weight) { return weight == DType::F32 ? 8 : 12; }

double zeroBytesPerParameter(ZeroStage stage, double ranks)
{
    constexpr double kWeight = 2;
    constexpr double kGradient = 2;
    constexpr double kStates = 12;
    switch (stage) {
    case ZeroStage::None:
        break;
    case ZeroStage::Optimizer:
        return kWeight + kGradient + kStates / ranks;
    case ZeroStage::Gradients:
        return kWeight + (kGradient + kStates) / ranks;
    case ZeroStage::Weights:
        return (kWeight + kGradient + kStates) / ranks;
    }
    return kWeight + kGradient + kStates;
}

double megatronParameterBytes(double hidden, double layers, double tensorParallel, double stages)
{
    return 18 * 12 * hidden * hidden * layers / (tensorParallel * stages);
}

} // namespace shardboard
