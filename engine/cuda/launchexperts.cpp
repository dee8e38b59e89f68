// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts, apart from their matrix products.
#include "engine/cuda/launches.h"

namespace shardboard::engine::cuda {

void launchGates(Launches& launches, const OpCall& call, Sharded& result)
{
    if (!launches.planning())
        launches.launch(gateWork(call, result));
}

void launchRoute(Launches& launches, const OpCall& call, Sharded& result)
{
    if (!launches.planning())
        launches.launch(routeWork(call, result));
}

void launchCombineGradGates(Launches& launches, const OpCall& call, Sharded& result)
{
    if (!launches.planning())
        launches.launch(gateDotWork(call, result));
}

void launchExpertBias(Launches& launches, const OpCall& call, Sharded& result)
{
    if (!launches.planning())
        launches.launch(expertBiasWork(call, result));
}

void launchExpertBiasGrad(Launches& launches, const OpCall& call, Sharded& result)
{
    launches.launch(expertBiasGradWork(call, result, kAll, launches.room()));
}

} // namespace shardboard::engine::cuda
