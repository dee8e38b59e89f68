// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/opbody.h"

#include "engine/machine/failure.h"
#include "engine/ops/bodies/elementwise.h"

#include <string>

namespace shardboard::engine {

OpBody bodyOf(OpKind kind)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch" // a kind that is not listed
    switch (kind) {
#define SHARDBOARD_EACH(Kind, attribute) case OpKind::Kind:
        SHARDBOARD_ELEMENTWISE(SHARDBOARD_EACH)
#undef SHARDBOARD_EACH
        return OpBody::Elementwise;
    case OpKind::Output:
    case OpKind::GatherLast:
    case OpKind::ReduceGrad:
        return OpBody::Output;
    case OpKind::SplitHeads:
    case OpKind::MergeHeads:
        return OpBody::Heads;
    case OpKind::SplitGroups:
    case OpKind::MergeGroups:
        return OpBody::Groups;
    case OpKind::RmsNorm:
    case OpKind::LayerNorm:
    case OpKind::UnitNorm:
        return OpBody::Norm;
    case OpKind::RmsNormGradX:
    case OpKind::LayerNormGradX:
    case OpKind::UnitNormGrad:
        return OpBody::NormGradient;
    case OpKind::RmsNormGradW:
    case OpKind::LayerNormGradW:
    case OpKind::SumLeading:
        return OpBody::RowSum;
    case OpKind::SliceLast:
    case OpKind::EveryOther:
    case OpKind::LastToken:
        return OpBody::Slice;
    case OpKind::JoinLast:
    case OpKind::JoinKeys:
        return OpBody::Join;
    case OpKind::PadLast:
    case OpKind::SpreadOther:
        return OpBody::Pad;
    case OpKind::SumHeads:
        return OpBody::SumHeads;
    case OpKind::Embedding:
        return OpBody::Embedding;
    case OpKind::EmbeddingGrad:
        return OpBody::EmbeddingGrad;
    case OpKind::Linear:
        return OpBody::Linear;
    case OpKind::LinearGradX:
    case OpKind::LinearT:
        return OpBody::LinearGradX;
    case OpKind::LinearGradW:
        return OpBody::LinearGradW;
    case OpKind::AbsorbKeys:
    case OpKind::AbsorbValues:
        return OpBody::Absorb;
    case OpKind::Rope:
    case OpKind::RopeGrad:
        return OpBody::Rope;
    case OpKind::KvAppend:
        return OpBody::KvAppend;
    case OpKind::Attention:
    case OpKind::SinkAttention:
        return OpBody::Attention;
    case OpKind::AttentionGradQ:
    case OpKind::AttentionGradK:
    case OpKind::AttentionGradV:
    case OpKind::SinkAttentionGradQ:
    case OpKind::SinkAttentionGradK:
    case OpKind::SinkAttentionGradV:
    case OpKind::SinkAttentionGradS:
        return OpBody::AttentionGradient;
    case OpKind::TopKGates:
    case OpKind::BiasedTopKGates:
        return OpBody::Gates;
    case OpKind::TopKGatesGrad:
    case OpKind::BiasedTopKGatesGrad:
        return OpBody::GatesGrad;
    case OpKind::Dispatch:
        return OpBody::Dispatch;
    case OpKind::DispatchGrad:
        return OpBody::DispatchGrad;
    case OpKind::Combine:
        return OpBody::Combine;
    case OpKind::CombineGradY:
        return OpBody::CombineGradY;
    case OpKind::CombineGradGates:
        return OpBody::CombineGradGates;
    case OpKind::ExpertLinear:
    case OpKind::ExpertLinearT:
        return OpBody::ExpertLinear;
    case OpKind::ExpertLinearGradW:
        return OpBody::ExpertLinearGradW;
    case OpKind::ExpertBias:
        return OpBody::ExpertBias;
    case OpKind::ExpertBiasGrad:
        return OpBody::ExpertBiasGrad;
    case OpKind::LogitMax:
    case OpKind::SumExp:
    case OpKind::TargetLogit:
    case OpKind::TokenLoss:
    case OpKind::LogitGrad:
        return OpBody::Loss;
    case OpKind::AdamStep:
    case OpKind::SgdStep:
        return OpBody::AdamStep;
    case OpKind::HeadScale:
        return OpBody::HeadScale;
    case OpKind::HeadGate:
    case OpKind::HeadGateGrad:
    case OpKind::HeadOuter:
    case OpKind::HeadOuterGradX:
    case OpKind::HeadOuterGradW:
        return OpBody::HeadRows;
    case OpKind::HeadScaleGradW:
        return OpBody::HeadScaleGradW;
    case OpKind::AddPositions:
        return OpBody::AddPositions;
    case OpKind::AddPositionsGrad:
        return OpBody::AddPositionsGrad;
    case OpKind::CausalConv:
    case OpKind::CausalConvGradX:
        return OpBody::CausalConv;
    case OpKind::CausalConvGradW:
        return OpBody::CausalConvGradW;
    case OpKind::StateScan:
        return OpBody::StateScan;
    case OpKind::StateScanGradQ:
    case OpKind::StateScanGradK:
    case OpKind::StateScanGradV:
    case OpKind::StateScanGradDecay:
    case OpKind::StateScanGradRate:
        return OpBody::StateScanGradient;
    case OpKind::StateAppend:
        return OpBody::StateAppend;
    case OpKind::StateRead:
        return OpBody::StateRead;
    case OpKind::SelectKeys:
    case OpKind::SelectedAttention:
    case OpKind::MuonStep:
        break;
    }
#pragma GCC diagnostic pop
    throw Failure { "internal", "operation kind " + std::to_string(static_cast<int>(kind)) + " has no body", "" };
}

} // namespace shardboard::engine
