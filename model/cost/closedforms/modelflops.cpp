// SPDX-License-Identifier: Apache-2.0
#include "model/cost/closedforms/modelflops.h"

namespace shardboard {

double linearFlopsPerToken(double matmulParameters) { return 2 * matmulParameters; }

double attentionFlopsPerToken(double sequence, double attentionWidth, double layers, bool causal)
{
    return (causal ? 2 : 4) * sequence * attentionWidth * layers;
}

double trainingFlopsPerToken(double parameters, double layers, double attentionWidth, double sequence)
{
    return 6 * parameters + 12 * layers * attentionWidth * sequence;
}

double modelFlopsUtilization(double tokensPerSecondPerDevice, double flopsPerToken, double peakFlops)
{
    return peakFlops > 0 ? tokensPerSecondPerDevice * flopsPerToken / peakFlops : 0;
}

} // namespace shardboard
