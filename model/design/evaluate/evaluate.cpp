// SPDX-License-Identifier: Apache-2.0
#include "model/design/evaluate/evaluate.h"

#include "model/design/findings/findings.h"

namespace shardboard {

Result<std::shared_ptr<const Evaluation>> evaluate(const Design& design, Misfits misfits)
{
    auto planned = planOnly(design, misfits);
    if (!planned.ok())
        return planned.error();
    const auto hardware = hardwareOf(design);
    if (!hardware.ok())
        return hardware.error();
    const std::shared_ptr<Evaluation> evaluation = std::move(planned).value();
    evaluation->findings = designFindings(design, *evaluation, hardware.value());
    return std::shared_ptr<const Evaluation>(evaluation);
}

} // namespace shardboard
