// SPDX-License-Identifier: Apache-2.0
#include "model/design/findings/finders.h"

namespace shardboard {

void findNotUnderstood(const FinderInput& input, FindingList& out)
{
    const ModelSpec& model = input.design.model;
    if (!model.hasGraph())
        out.add({ "not-understood", Severity::Warning, model.source, 0, model.notUnderstood,
                  "weights can be laid out, by presets too, and exported; for a plan a family file beside the config, "
                  "shardboard-family.json, can say what its blocks are where they are known ones" });
}

} // namespace shardboard
