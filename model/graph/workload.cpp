// SPDX-License-Identifier: Apache-2.0
#include "model/graph/workload.h"

namespace shardboard {

std::string workloadName(WorkloadKind kind) { return kind == WorkloadKind::Prefill ? "prefill" : "decode"; }

std::optional<WorkloadKind> workloadFromName(std::string_view name)
{
    if (name == "prefill")
        return WorkloadKind::Prefill;
    if (name == "decode")
        return WorkloadKind::Decode;
    return std::nullopt;
}

Status verifyWorkload(const Workload& workload, const std::string& where)
{
    constexpr std::int64_t kLargest = std::int64_t { 1 } << 31;
    if (workload.batch < 1 || workload.batch > kLargest)
        return inputError(where, "batch " + std::to_string(workload.batch) + " cannot be used", "use 1 to 2^31");
    if (workload.sequence < 1 || workload.sequence > kLargest)
        return inputError(where, "sequence " + std::to_string(workload.sequence) + " cannot be used", "use 1 to 2^31");
    switch (workload.dtype) {
    case DType::BF16:
    case DType::F16:
    case DType::F32:
        return done();
    default:
        return inputError(where, "dtype " + dtypeName(workload.dtype) + " is not one a model is computed in",
                          "use bf16, f16 or f32");
    }
}

} // namespace shardboard
