// SPDX-License-Identifier: Apache-2.0
// The settings of a design that follow from no layout, as fields that people edit: what runs, in which precision, in which order,
// with whose kernels, what else memory holds, on which hardware. Pure: a field reads a design and changes a copy of it, and nothing
// of it but what it is the field of.
#pragma once

#include "model/design/design.h"

#include <QString>

#include <functional>
#include <optional>
#include <vector>

namespace shardboard {

struct Setting {
    struct Option {
        QString value;
        QString text;
        QString detail; ///< what it means
    };

    QString id; ///< `workload.batch`
    QString label; ///< `Batch`
    QString unit {}; ///< beside a number: `sequences`, `%`, `MiB`
    QString toolTip {};
    std::vector<Option> options {}; ///< of a choice; none: a number

    /// As it stands in its field: a number without its unit, or the value of an option. A field whose text is still this one was
    /// not edited.
    std::function<QString(const Design&)> text;
    /// Takes over such a text. Returns what is wrong with it in a sentence, or an empty text; whether a design may be so is told by
    /// evaluating it.
    std::function<QString(Design&, const QString&)> set;
    /// Why it cannot be edited now; empty where it can.
    std::function<QString(const Design&)> whyNot {};
    /// The next number up or down from a text, as the arrow keys take it.
    std::function<QString(const Design&, const QString&, bool up)> step {};
    /// What the edit is called: `Batch 16`.
    QString editText(const Design& edited) const;
    /// As it is told elsewhere: `16 sequences`, `DGX H100`.
    QString shownText(const Design& design) const;
    bool isNumber() const { return options.empty(); }
};

struct SettingGroup {
    QString title;
    std::vector<Setting> settings;
};

/// All of them, for a design: its mesh axes and its own hardware are among them.
std::vector<SettingGroup> settingGroups(const Design& design);

/// A number as people write it: digits with or without separators of thousands (space, comma, apostrophe), one point. Nothing for
/// anything else.
std::optional<double> numberFrom(const QString& text);

} // namespace shardboard
