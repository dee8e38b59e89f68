// SPDX-License-Identifier: Apache-2.0
// TPUs, Trainium, and the CPU that plays all devices.
//
// Products on a TPU: jnp.matmul of 4096^3 and 8192^3 in bf16 takes 0.827 and 6.047 ms on a v5e (JAX documentation,
// pallas/tpu/matmul); of 1024^3 0.119 ms, of which 0.011 are the product, so that about 0.105 ms of each are the call. Without it
// 0.966 and 0.939 of the peak. The others have the same arrays, 128 wide up to v5p and 256 from v6e on (scaling-book, tpus.md).
#include "model/hardware/devicetables.h"

namespace shardboard {

using namespace devicetable;

namespace {

KernelConstants array(std::int64_t side)
{
    KernelConstants out;
    out.gemmEfficiency = 0.95;
    out.gemmArray = side;
    return out;
}

} // namespace

std::vector<DeviceSpec> tpuDevices()
{
    const Row rows[] {
        { "tpu-v4",
          "Google TPU v4",
          { kNone, kNone, tera(275), kNone, kNone, kNone, tera(275) },
          tpuMemory(32, 30.75),
          tera(1.2288),
          array(128),
          0,
          "docs.cloud.google.com/tpu/docs/v4: 275 TFLOP/s, 32 GiB at 1,228 GB/s; memory by XLA's out-of-memory messages in public "
          "logs (of 30.75G hbm)" },
        { "tpu-v5e",
          "Google TPU v5e",
          { kNone, kNone, tera(197), kNone, kNone, kNone, tera(393) },
          tpuMemory(16, 15.75),
          giga(819),
          array(128),
          0,
          "docs.cloud.google.com/tpu/docs/v6e (a later version says 800 GB/s); scaling-book tpus.md; memory by XLA's "
          "out-of-memory messages in public logs (of 15.75G hbm)" },
        { "tpu-v5p",
          "Google TPU v5p",
          { kNone, kNone, tera(459), kNone, tera(459), kNone, tera(918) },
          tpuMemory(96, 95.74),
          tera(2.765),
          array(128),
          0,
          "docs.cloud.google.com/tpu/docs/tpu7x, which says 95 GiB; scaling-book tpus.md; memory by XLA's out-of-memory "
          "messages in public logs (of 95.74G hbm), so that the chip has 96 GiB" },
        { "tpu-v6e",
          "Google TPU v6e (Trillium)",
          { kNone, kNone, tera(918), kNone, tera(918), kNone, tera(1836) },
          tpuMemory(32, 31.25),
          tera(1.638),
          array(256),
          0,
          "docs.cloud.google.com/tpu/docs/v6e and tpu7x, which say 1600 to 1640 GB/s; memory by XLA's out-of-memory messages "
          "in public logs (of 31.25G hbm)" },
        { "tpu7x",
          "Google TPU7x (Ironwood)",
          { kNone, kNone, tera(2307), kNone, tera(4614), kNone, kNone },
          tpuMemory(192, 189.5),
          tera(7.38),
          array(256),
          0,
          "docs.cloud.google.com/tpu/docs/tpu7x; memory by XLA's out-of-memory messages in public logs (of 94.75G hbm for each of "
          "the two halves of a chip)" },
    };
    std::vector<DeviceSpec> out;
    for (const Row& row : rows)
        out.push_back(deviceOf(row, DeviceKind::Tpu));
    return out;
}

std::vector<DeviceSpec> otherDevices()
{
    return {
        deviceOf(
            { "trainium2",
              "AWS Trainium2",
              { tera(181), kNone, tera(667), tera(667), tera(1299), kNone, kNone },
              { gibi(96), 0 },
              tera(2.9),
              {},
              0,
              "AWS Neuron documentation, Trainium2 architecture: 667 TFLOP/s in bf16, 1,299 in fp8, 96 GiB at 2.9 TB/s for a chip; "
              "constants of kernels not measured" },
            DeviceKind::Accelerator),
        deviceOf({ "cpu-dev-2core",
                   "Two CPU cores with AVX-512",
                   { tera(0.49), kNone, tera(1.0), kNone, kNone, kNone, kNone },
                   { 24696061952.0, 0 },
                   giga(39),
                   {},
                   0,
                   "measured with oneDNN 2.6.3 on two cores of an AMD EPYC; memory by reading with AVX-512" },
                 DeviceKind::Cpu),
    };
}

} // namespace shardboard
