// SPDX-License-Identifier: Apache-2.0
#include "app/engine/calibrationprograms.h"

#include "app/engine/modelprograms.h"

namespace shardboard {

namespace {

struct Size {
    std::int64_t hidden, intermediate, heads, kvHeads, vocabulary;
};
constexpr Size kSmall { 512, 1408, 8, 2, 4096 };
constexpr Size kMiddle { 768, 2048, 12, 4, 6144 };
constexpr Size kLarge { 1536, 4096, 24, 8, 12288 };
constexpr Size kLargest { 2048, 5632, 32, 8, 16384 };

struct Case {
    const Size& size;
    const char* mesh;
    const char* preset;
    WorkloadKind workload;
    std::int64_t batch, sequence;
    bool quick = false;
    std::int64_t microBatches = 1;
};

constexpr WorkloadKind kTrain = WorkloadKind::Train;
constexpr WorkloadKind kPrefill = WorkloadKind::Prefill;
constexpr WorkloadKind kDecode = WorkloadKind::Decode;

/// Each size under each kind of layout, and short and long sequences: what lies between is interpolated. Steps of decoding are
/// short, and depend the most on which kernel a library takes; so there are more of them.
const Case kCases[] {
    { kSmall, "fsdp=4", "fsdp", kTrain, 4, 256, true },
    { kLarge, "fsdp=4", "fsdp", kTrain, 4, 64 },
    { kMiddle, "fsdp=2,model=2", "tp+fsdp", kTrain, 4, 256, true },
    { kLargest, "fsdp=2,model=2", "tp+fsdp", kTrain, 4, 64 },
    { kSmall, "fsdp=2,model=2", "tp+fsdp", kTrain, 8, 256 },
    { kMiddle, "model=4", "megatron-tp", kTrain, 2, 256 },
    { kSmall, "pipe=2,model=2", "pp-1f1b", kTrain, 4, 128, false, 2 },
    { kSmall, "model=4", "megatron-tp", kPrefill, 4, 512, true },
    { kLarge, "model=4", "megatron-tp", kPrefill, 1, 512 },
    { kLargest, "model=4", "megatron-tp", kPrefill, 1, 128 },
    { kMiddle, "data=2,model=2", "tp-sp", kPrefill, 4, 512, true },
    { kLarge, "data=2,model=2", "tp-sp", kPrefill, 4, 128 },
    { kSmall, "cp=2", "cp-ulysses", kPrefill, 2, 512 },
    { kSmall, "model=4", "megatron-tp", kDecode, 32, 512, true },
    { kSmall, "model=4", "megatron-tp", kDecode, 4, 2048 },
    { kMiddle, "model=4", "megatron-tp", kDecode, 4, 1024 },
    { kMiddle, "model=4", "megatron-tp", kDecode, 16, 1024 },
    { kLarge, "model=4", "megatron-tp", kDecode, 8, 2048 },
    { kLarge, "model=4", "megatron-tp", kDecode, 16, 512 },
    { kLargest, "model=4", "megatron-tp", kDecode, 16, 512 },
    { kSmall, "data=2,model=2", "megatron-tp", kDecode, 16, 1024 },
    { kMiddle, "data=2,model=2", "megatron-tp", kDecode, 32, 256 },
    { kMiddle, "data=2,model=2", "megatron-tp", kDecode, 8, 512, true },
    { kLarge, "data=2,model=2", "megatron-tp", kDecode, 4, 1024 },
    { kLarge, "data=2,model=2", "megatron-tp", kDecode, 8, 512 },
    { kLargest, "data=2,model=2", "megatron-tp", kDecode, 8, 256 },
};

ModelSpec modelOf(const Size& size)
{
    ModelSpec model;
    model.name = "calibration";
    model.family = "llama";
    model.source = "builtin:calibration";
    model.vocabSize = size.vocabulary;
    model.hiddenSize = size.hidden;
    model.intermediateSize = size.intermediate;
    model.layers = 2;
    model.heads = size.heads;
    model.kvHeads = size.kvHeads;
    model.headDim = 64;
    model.dtype = DType::F32;
    return model;
}

} // namespace

Result<std::vector<Program>> calibrationPrograms(bool quick)
{
    std::vector<Program> out;
    for (const Case& one : kCases)
        if (one.quick || !quick) {
            auto program =
                conformance::programOf(modelOf(one.size), one.mesh, one.preset,
                                       { one.workload, one.batch, one.sequence, DType::F32, one.microBatches, Recompute::None });
            if (!program.ok())
                return program.error();
            out.push_back(std::move(program).value());
        }
    return out;
}

} // namespace shardboard
