// SPDX-License-Identifier: Apache-2.0
#include "model/hardware/devicetables.h"

#include <cmath>

namespace shardboard {

namespace devicetable {

DeviceSpec deviceOf(const Row& row, DeviceKind kind)
{
    const double reserved = mebi(std::round(row.memory.reserved / mebi(1))); // known to a hundredth of a GiB
    return { row.id,   row.name,           kind,        row.peak,   row.memory.bytes,
             reserved, row.bytesPerSecond, row.kernels, row.source, row.multiprocessors };
}

} // namespace devicetable

const std::vector<DeviceSpec>& devicePresets()
{
    static const std::vector<DeviceSpec> presets = [] {
        std::vector<DeviceSpec> all;
        for (const auto table : { nvidiaDevices, amdDevices, tpuDevices, otherDevices })
            for (DeviceSpec& it : table())
                all.push_back(std::move(it));
        for (DeviceSpec& it : all)
            it.host = knownHostLink(it.id);
        return all;
    }();
    return presets;
}

} // namespace shardboard
