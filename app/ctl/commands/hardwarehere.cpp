// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/commands/hardwarehere.h"

#include "app/worker/askworker.h"
#include "app/worker/workerclient.h"
#include "model/hardware/machine.h"

#include <algorithm>

namespace shardboard {

using nlohmann::json;

namespace {

std::vector<MachineDevice> devicesOf(const json& hello, const char* name)
{
    std::vector<MachineDevice> out;
    for (const json& backend : hello.value("backends", json::array())) {
        if (backend.value("name", "") != name || !backend.value("usable", false))
            continue;
        for (const json& device : backend.value("devices", json::array()))
            out.push_back({ device.value("name", ""), device.value("memory_bytes", 0.0) });
    }
    return out;
}

} // namespace

Result<Hardware> hardwareFromHello(const json& hello)
{
    std::vector<MachineDevice> gpus = devicesOf(hello, "nccl");
    if (gpus.empty())
        gpus = devicesOf(hello, "cuda");
    if (!gpus.empty()) {
        if (auto found = hardwareOfMachine(gpus))
            return std::move(*found);
        std::string names;
        for (const MachineDevice& gpu : gpus)
            names += (names.empty() ? "" : ", ") + gpu.name;
        return engineError("the GPUs of this machine are different ones, or not known: " + names, "engine",
                           "write a hardware file with a built-in device as its base; shardctl hardware lists them");
    }
    Hardware out = findHardware("cpu-virtual").value();
    out.id = "this-machine";
    if (const auto cpus = devicesOf(hello, "cpu"); !cpus.empty()) {
        if (!cpus.front().name.empty())
            out.name = cpus.front().name + ", which plays all devices";
        if (cpus.front().memoryBytes > 0)
            out.device.memoryBytes = cpus.front().memoryBytes;
    }
    out.source = "memory as the worker reads it; rates of two usual cores, not read: shardctl calibrate measures them";
    return out;
}

Result<Hardware> hardwareHere(const std::string& engine)
{
    constexpr double kLook = 0.1;
    WorkerClient client(engine);
    while (true) {
        auto event = client.next();
        if (!event) {
            client.wait(kLook);
            continue;
        }
        if (event->kind == WorkerEvent::Kind::Hello)
            return hardwareFromHello(event->message);
        if (event->kind == WorkerEvent::Kind::Failed)
            return event->error;
    }
}

} // namespace shardboard
