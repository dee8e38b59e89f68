// SPDX-License-Identifier: Apache-2.0
#include "model/cost/closedforms/activationbytes.h"

namespace shardboard {

double megatronLayerBytes(const MegatronLayer& layer, MegatronKept kept)
{
    const double tokens = layer.sequence * layer.batch * layer.hidden;
    const double t = layer.tensorParallel;
    const double scores = 5 * layer.heads * layer.sequence / layer.hidden;
    switch (kept) {
    case MegatronKept::All:
        return tokens * (10 + 24 / t + scores / t);
    case MegatronKept::Sequence:
        return tokens / t * (34 + scores);
    case MegatronKept::Selective:
        return tokens * (10 + 24 / t);
    case MegatronKept::SequenceSelective:
        return 34 * tokens / t;
    case MegatronKept::Full:
        return 2 * tokens;
    case MegatronKept::FullSequence:
        break;
    }
    return 2 * tokens / t;
}

double megatronLayersKept(double layers, double stages, double chunks)
{
    return chunks > 1 ? layers * (1 + (stages - 1) / (stages * chunks)) : layers;
}

double llamaKeptBytesPerToken(const LlamaBlock& block)
{
    return 8 * block.hidden + 2 * block.queries + 4 * block.keys + 2 * block.queries + 4 * block.heads + 6 * block.inner;
}

double llamaFullRecomputeBytesPerToken(const LlamaBlock& block) { return 2 * block.hidden; }

double kvCacheBytesPerToken(double layers, double kvHeads, double headDim, double bytesPerElement)
{
    return 2 * layers * kvHeads * headDim * bytesPerElement;
}

double logitBytes(double vocabulary, double sequence, double batch) { return 4 * vocabulary * sequence * batch; }

} // namespace shardboard
