// SPDX-License-Identifier: Apache-2.0
#include "widgets/settings/fields.h"
#include "widgets/settings/sections.h"

#include <QObject>

namespace shardboard {

SettingGroup kernelSection()
{
    SettingGroup out { QStringLiteral("kernels"), QObject::tr("Kernels") };
    out.settings = { namedField(
                         fieldText("workload.software", "Kernels", "Whose kernels compute what is no matrix product"),
                         choices({ { "fused", "fused", "One kernel for each operation, as Megatron-LM and XLA have them" },
                                   { "compiled", "compiled", "What torch.compile fuses, with FlashAttention-2" },
                                   { "eager", "eager", "PyTorch alone: a kernel for each step of a formula" } }),
                         [](Design& design) -> Software& { return design.workload.software; }, softwareName, softwareFromName),
                     namedField(
                         fieldText("workload.attention", "Attention", "How attention is computed"),
                         choices({ { "flash", "flash", "One kernel: the scores never reach memory" },
                                   { "unfused", "unfused",
                                     "Two matrix products with softmax in between: the scores are written, read and kept" } }),
                         [](Design& design) -> AttentionKernel& { return design.workload.attention; }, attentionKernelName,
                         attentionKernelFromName),
                     switchField(
                         fieldText("workload.graphs", "Launches", "How the kernels of a step are launched"),
                         { "single", "one by one", "The host launches every kernel" },
                         { "graph", "CUDA graphs", "Recorded once; the device goes on by itself" },
                         [](const Design& design) { return design.workload.graphs; },
                         [](Design& design, bool on) { design.workload.graphs = on; }) };
    return out;
}

} // namespace shardboard
