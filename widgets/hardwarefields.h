// SPDX-License-Identifier: Apache-2.0
// The values of a hardware as fields that people edit: name, unit, and the key that errors and hardware files call it by.
#pragma once

#include "model/hardware/hardware.h"

#include <QString>

#include <functional>
#include <optional>
#include <vector>

namespace shardboard {

struct HardwareField {
    QString key; ///< `levels[1].link.bytes_per_second`
    QString label;
    QString unit; ///< GB/s, µs, …; empty for a plain number
    QString toolTip;
    double scale = 1; ///< of the unit in bytes, seconds, …
    bool optional = false; ///< may be empty
    bool whole = false; ///< counts
    std::function<std::optional<double>(const Hardware&)> get;
    std::function<void(Hardware&, std::optional<double>)> set;

    QString text(const Hardware& hardware) const; ///< in its unit, without it
    /// The number in bytes, seconds, …; nothing for a text that is none. An empty text of an optional field is a value: `empty`.
    std::optional<double> parse(const QString& text, bool& empty) const;
};

struct HardwareSection {
    QString title; ///< `Device`, `Level 1: switch of 8`
    QString detail; ///< name of the device or link
    QString source; ///< where its numbers come from
    std::vector<HardwareField> fields;
};

/// The device, then the levels from the inside out.
std::vector<HardwareSection> hardwareSections(const Hardware& hardware);

} // namespace shardboard
