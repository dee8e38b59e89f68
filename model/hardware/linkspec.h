// SPDX-License-Identifier: Apache-2.0
// A link between devices as collectives see it: what a step on it costs and how fast it carries.
#pragma once

#include "model/hardware/cacherate.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// What a kind of collective takes on a memory that all devices share, where it was measured in programs that ran:
/// pieces pieceSeconds + min(bytes, C) / Rc + max(0, bytes - C) / R, of bytes that are read and written by all devices.
struct CollectiveRate {
    std::string kind; ///< `all-gather`
    double pieceSeconds = 0;
    double bytesPerSecond = 0;
    std::optional<CacheRate> cache {};
    double seconds(double pieces, double bytes) const
    {
        return pieces * pieceSeconds + (cache ? cache->seconds(bytes, bytesPerSecond) : bytes / bytesPerSecond);
    }
    friend bool operator==(const CollectiveRate&, const CollectiveRate&) = default;
};

struct LinkSpec {
    std::string id; ///< `nvlink4`
    std::string name; ///< `NVLink 4 through NVSwitch, 18 links`
    double alphaSeconds = 0; ///< one step of an algorithm, with the protocol of least latency (NCCL's LL)
    double bytesPerSecond = 0; ///< effective, per direction and device; of a shared link: read and written, of all devices
    double peakBytesPerSecond = 0; ///< for display
    std::optional<double> alphaLl128 {}; ///< one step with NCCL's LL128
    std::optional<double> alphaSimple {}; ///< one step with NCCL's Simple, the protocol of full rate
    double startSeconds = 0; ///< what a collective costs before its first step
    /// One message of an all-to-all; a step where nothing else is known. Of a shared link: one piece of a collective, of which an
    /// all-to-all over n devices has n n and every other n; nothing: 0.
    std::optional<double> messageSeconds {};
    /// NCCL copies a device's own block, too, on the way; seconds of it by the seconds of sending as much.
    double ownBlock = 0;
    int linksPerDevice = 1; ///< that `bytesPerSecond` is the sum of; of a torus: ports, each of which has that rate
    bool shared = false; ///< one memory that all devices share
    std::string source; ///< where the numbers come from
    std::optional<CacheRate> cache {}; ///< of a shared link; nothing: all at bytesPerSecond
    std::vector<CollectiveRate> rates {}; ///< of a shared link, each kind once; other kinds as the link says

    /// A step of an algorithm that only moves data, at full rate.
    double step() const { return alphaSimple.value_or(alphaSeconds); }
    /// A step of an all-reduce: measured, its two laps take about as long as the single one of an all-gather.
    double reducingStep() const { return alphaLl128.value_or(step()); }
    double message() const { return messageSeconds.value_or(step()); }
    friend bool operator==(const LinkSpec&, const LinkSpec&) = default;
};

/// All built-in links.
const std::vector<LinkSpec>& linkPresets();
const LinkSpec* findLink(std::string_view id); ///< null when unknown

} // namespace shardboard
