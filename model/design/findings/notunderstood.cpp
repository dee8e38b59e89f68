// SPDX-License-Identifier: Apache-2.0
#include "model/design/findings/finders.h"

namespace shardboard {

void findNotUnderstood(const FinderInput& input, FindingList& out)
{
    const ModelSpec& model = input.design.model;
    if (!model.hasGraph())
        out.add({ "not-understood", Severity::Warning, model.source, 0, model.notUnderstood,
                  "weights can be laid out one by one; there is no plan and nothing to run" });
}

} // namespace shardboard
