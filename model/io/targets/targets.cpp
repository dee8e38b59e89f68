// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/targets.h"

#include "model/io/exports/exportrefusals.h"
#include "model/io/shards/shardsjson.h"
#include "model/io/targets/deepspeed/deepspeedtarget.h"
#include "model/io/targets/hf/hftarget.h"
#include "model/io/targets/hlo/hlotarget.h"
#include "model/io/targets/jax/jaxtarget.h"
#include "model/io/targets/max/maxtarget.h"
#include "model/io/targets/maxtext/maxtexttarget.h"
#include "model/io/targets/megatron/megatrontarget.h"
#include "model/io/targets/sglang/sglangtarget.h"
#include "model/io/targets/shardy/shardytarget.h"
#include "model/io/targets/torch/torchtarget.h"
#include "model/io/targets/trtllm/trtllmtarget.h"
#include "model/io/targets/vllm/vllmtarget.h"
#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

namespace {

/// What it refuses itself, and packed weights.
ExportTarget withPacked(ExportTarget target)
{
    target.refusals = [own = std::move(target.refusals), title = target.title,
                       loads = target.id == "vllm" || target.id == "sglang"](const Design& design, const Evaluation& evaluation,
                                                                             const std::function<bool()>& stopped) {
        auto out = own(design, evaluation, stopped);
        if (out.ok())
            for (ExportRefusal& refusal : packedRefusals(evaluation, title, loads))
                out.value().push_back(std::move(refusal));
        return out;
    };
    return target;
}

} // namespace

const std::vector<ExportTarget>& exportTargets()
{
    static const std::vector<ExportTarget> kTargets = [] {
        std::vector<ExportTarget> out;
        for (ExportTarget (*target)() : { jaxTarget, maxtextTarget, torchTarget, hfTarget, maxTarget, shardyTarget, hloTarget,
                                          deepspeedTarget, vllmTarget, sglangTarget, trtllmTarget, megatronTarget })
            out.push_back(withPacked(target()));
        return out;
    }();
    return kTargets;
}

const ExportTarget* findExportTarget(std::string_view id)
{
    const auto found = std::ranges::find(exportTargets(), id, &ExportTarget::id);
    return found == exportTargets().end() ? nullptr : &*found;
}

Result<const ExportTarget*> exportTargetNamed(const std::string& id)
{
    if (const ExportTarget* target = findExportTarget(id))
        return target;
    std::vector<std::string> ids;
    for (const ExportTarget& target : exportTargets())
        ids.push_back(target.id);
    return usageError("--to", "there is no export target '" + id + "'", "targets are " + joined(ids));
}

Result<std::vector<ExportedFile>> exportDesign(const ExportTarget& target, const Design& design,
                                               std::shared_ptr<const Evaluation> evaluation, const std::function<bool()>& stopped)
{
    const auto refusals = target.refusals(design, *evaluation, stopped);
    if (refusals.cancelled())
        return Cancelled {};
    if (!refusals.ok())
        return refusals.error();
    if (!refusals.value().empty())
        return refusalError(refusals.value(), target.title);
    auto files = target.files(design, *evaluation);
    if (!files.ok())
        return files.error();
    auto shards = shardsJson(design.mesh, std::move(evaluation));
    if (!shards.ok())
        return shards.error();
    files.value().push_back({ "shards.json", std::move(shards).value() });
    return files;
}

} // namespace shardboard
