// SPDX-License-Identifier: Apache-2.0
#include "model/cost/hardware.h"

namespace shardboard {

namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;

// Effective rates of links as NCCL's tuner assumes them and nccl-tests measures them; alpha with the low-latency
// protocol.
constexpr Link kNvlink3 { 0.6 * kMicro, 240 * kGiga };
constexpr Link kNvlink4 { 0.6 * kMicro, 370 * kGiga };
constexpr Link kNvlink5 { 0.6 * kMicro, 721 * kGiga };
constexpr Link kInfinibandHdr { 2.7 * kMicro, 24 * kGiga };
constexpr Link kInfinibandNdr { 2.7 * kMicro, 48 * kGiga };

const char* const kNvlinkSource = "; links: NVIDIA/nccl v2.28.9-1 topo.h and tuning.cc, NVIDIA/nccl-tests#212";

Hardware dgx(const std::string& id, const std::string& name, const std::string& source)
{
    Hardware out;
    out.id = id;
    out.name = name;
    out.source = source + kNvlinkSource;
    out.devicesPerNode = 8;
    out.inter = kInfinibandNdr;
    return out;
}

Hardware dgxH100()
{
    Hardware out
        = dgx("dgx-h100", "8 x NVIDIA H100 SXM5 80 GB, NVLink 4, InfiniBand NDR", "NVIDIA H100 datasheet, dense rates");
    out.flopsBf16 = 989.4 * kTera;
    out.flopsF32 = 66.9 * kTera;
    out.memoryBytes = 80 * kGiga;
    out.memoryBytesPerSecond = 3.35 * kTera;
    out.intra = kNvlink4;
    return out;
}

Hardware dgxH200()
{
    Hardware out = dgx("dgx-h200", "8 x NVIDIA H200 SXM5 141 GB, NVLink 4, InfiniBand NDR",
                       "the die of the H100; memory as in the MLPerf v4.1 system description H200-SXM-141GBx8");
    out.flopsBf16 = 989.4 * kTera;
    out.flopsF32 = 66.9 * kTera;
    out.memoryBytes = 141 * kGiga;
    out.memoryBytesPerSecond = 4.8 * kTera;
    out.intra = kNvlink4;
    return out;
}

Hardware dgxA100()
{
    Hardware out
        = dgx("dgx-a100", "8 x NVIDIA A100 SXM4 80 GB, NVLink 3, InfiniBand HDR", "NVIDIA A100 datasheet, dense rates");
    out.flopsBf16 = 312 * kTera;
    out.flopsF32 = 19.5 * kTera;
    out.memoryBytes = 80 * kGiga;
    out.memoryBytesPerSecond = 2.039 * kTera;
    out.intra = kNvlink3;
    out.inter = kInfinibandHdr;
    return out;
}

Hardware dgxB200()
{
    Hardware out = dgx("dgx-b200", "8 x NVIDIA B200 180 GB, NVLink 5, InfiniBand NDR",
                       "published dense rates of Blackwell; the float32 rate is nominal");
    out.flopsBf16 = 2250 * kTera;
    out.flopsF32 = 75 * kTera;
    out.memoryBytes = 180 * kGiga;
    out.memoryBytesPerSecond = 8 * kTera;
    out.intra = kNvlink5;
    return out;
}

Hardware tpuV5p()
{
    Hardware out;
    out.id = "tpu-v5p";
    out.name = "Google TPU v5p, slice of 4 x 4 x 4 chips on ICI";
    out.source = "Google Cloud TPU v5p and TPU7x pages, scaling-book tpus.md; a ring uses one ICI link per direction; "
                 "no float32 "
                 "rate is published, taken as six bf16 passes; network latency assumed";
    out.flopsBf16 = 459 * kTera;
    out.flopsF32 = 459 * kTera / 6;
    out.memoryBytes = 102005473280.0;
    out.memoryBytesPerSecond = 2.765 * kTera;
    out.devicesPerNode = 64;
    out.intra = { 1.0 * kMicro, 90 * kGiga };
    out.inter = { 10.0 * kMicro, 6.25 * kGiga };
    return out;
}

Hardware cpu()
{
    Hardware out;
    out.id = "cpu";
    out.name = "Two CPU cores with AVX-512 that play all devices, shared memory";
    out.source = "measured with oneDNN on a 2-core AMD EPYC; all devices share these rates, so runs take longer with "
                 "more devices";
    out.flopsBf16 = 1000 * kGiga;
    out.flopsF32 = 490 * kGiga;
    out.memoryBytes = 24696061952.0;
    out.memoryBytesPerSecond = 39 * kGiga;
    out.devicesPerNode = std::int64_t { 1 } << 20;
    out.intra = { 10.0 * kMicro, 48 * kGiga };
    out.inter = out.intra;
    return out;
}

} // namespace

const std::vector<Hardware>& hardwarePresets()
{
    static const std::vector<Hardware> presets { dgxH100(), dgxH200(), dgxA100(), dgxB200(), tpuV5p(), cpu() };
    return presets;
}

Result<Hardware> findHardware(const std::string& id, const std::string& where)
{
    std::string known;
    for (const Hardware& preset : hardwarePresets()) {
        if (preset.id == id)
            return preset;
        known += (known.empty() ? "" : ", ") + preset.id;
    }
    // An option of a command is wrong usage; the same word in a file is input that cannot be used.
    const std::string what = "there is no hardware preset '" + id + "'";
    return where.starts_with("--") ? usageError(where, what, "known are " + known)
                                   : inputError(where, what, "known are " + known);
}

} // namespace shardboard
