// SPDX-License-Identifier: Apache-2.0
#include "model/io/layouts/exporter.h"

#include "model/io/jax/jaxexport.h"
#include "model/text/text.h"

namespace shardboard {

std::vector<std::string> exportTargets() { return { "jax" }; }

Result<std::vector<ExportedFile>> exportDesign(const std::string& target, const Design& design,
                                               std::shared_ptr<const Evaluation> evaluation, const std::function<bool()>& stopped)
{
    if (target == "jax")
        return exportJax(design, std::move(evaluation), stopped);
    return usageError("--to", "there is no export target '" + target + "'", "targets are " + joined(exportTargets()));
}

std::vector<ExportRefusal> exportRefusals(const std::string& target, const Design& design, const Evaluation& evaluation)
{
    return target == "jax" ? jaxRefusals(design, evaluation) : std::vector<ExportRefusal>();
}

std::vector<std::string> exportLeftOut(const std::string& target, const Design& design)
{
    return target == "jax" ? jaxLeftOut(design) : std::vector<std::string>();
}

} // namespace shardboard
