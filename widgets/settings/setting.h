// SPDX-License-Identifier: Apache-2.0
// One setting of a design as a field that people edit, and the sections that fields stand in. Pure: a field reads a design and
// changes a copy of it, and nothing of it but what it is the field of.
#pragma once

#include "model/design/design.h"

#include <QString>

#include <functional>
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
    /// Whether the heading of its folded section tells it. Nothing: where it differs from what designs have by themselves.
    std::function<bool(const Design&)> told {};
    /// What the edit is called: `Batch 16`.
    QString editText(const Design& edited) const;
    /// As it is told elsewhere: `16 sequences`, `DGX H100`.
    QString shownText(const Design& design) const;
    bool isNumber() const { return options.empty(); }
    /// What it is waits in the design until it applies.
    bool applies(const Design& design) const { return !whyNot || whyNot(design).isEmpty(); }
    /// It applies, and designs do not have it by themselves.
    bool differs(const Design& design) const;
};

struct SettingGroup {
    QString id; ///< `memory`
    QString title;
    bool common = false; ///< unfolded at first
    std::vector<Setting> settings {};

    /// What its heading tells where it is folded: `Type f32 · Logits fused loss`. Empty where all is as usual.
    QString summary(const Design& design) const;
};

} // namespace shardboard
