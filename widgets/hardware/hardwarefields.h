// SPDX-License-Identifier: Apache-2.0
// The values of a hardware as fields that people edit: numbers with their unit, names, choices and yes-or-no for each dim of a
// torus; each with the key that errors and hardware files call it by.
#pragma once

#include "model/hardware/hardware.h"

#include <QString>

#include <functional>
#include <optional>
#include <vector>

namespace shardboard {

struct HardwareField {
    enum class Kind { Number, Text, Choice, Flags };
    struct Option {
        QString value;
        QString text;
        QString detail;
    };

    QString key; ///< `levels[1].link.bytes_per_second`
    QString label;
    QString unit; ///< GB/s, µs, …; empty for a plain number
    QString toolTip;
    double scale = 1; ///< of the unit in bytes, seconds, …
    bool optional = false; ///< may be empty
    bool whole = false; ///< counts
    std::function<std::optional<double>(const Hardware&)> get; ///< of numbers
    std::function<void(Hardware&, std::optional<double>)> set; ///< of numbers
    Kind kind = Kind::Number;
    std::vector<Option> options {}; ///< of a choice: what can be chosen; of flags: a name for each
    std::function<QString(const Hardware&)> read {}; ///< of all but numbers
    std::function<QString(Hardware&, const QString&)> write {}; ///< of all but numbers; what is wrong with a text, or nothing

    /// As it stands in its field: a number in its unit and without it to six digits, a name, the value of a choice, `101` for
    /// three flags. A field whose text is still this one was not edited; its value keeps all of its digits.
    QString text(const Hardware& hardware) const;
    /// A number with all its digits, where they are more than text() has; else empty.
    QString exactText(const Hardware& hardware) const;
    /// Takes over a text of that form. Returns what is wrong with it, or an empty text; whether hardware may be so is told by
    /// checkHardware.
    QString apply(Hardware& hardware, const QString& text) const;
    /// The number in bytes, seconds, …; nothing for a text that is none. An empty text of an optional field is a value: `empty`.
    std::optional<double> parse(const QString& text, bool& empty) const;
};

struct HardwareSection {
    QString title; ///< `Device`, `Level 1: switch of 8`
    QString detail; ///< name of the device or link
    QString source; ///< where its numbers come from
    std::vector<HardwareField> fields;
};

/// Its name and library, the device, then the levels from the inside out.
std::vector<HardwareSection> hardwareSections(const Hardware& hardware);

/// With one level more, outside of all others: a network of all the rest. What was the outermost level gets the size that
/// `devices` of it need.
Hardware withOuterLevel(Hardware hardware, std::int64_t devices);

} // namespace shardboard
