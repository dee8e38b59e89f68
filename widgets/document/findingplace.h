// SPDX-License-Identifier: Apache-2.0
// Where in the window the thing is that a finding speaks of.
#pragma once

#include "model/core/finding.h"
#include "model/plan/plan.h"

#include <QString>

#include <string>

namespace shardboard {

class Document;

struct FindingPlace {
    enum class Kind {
        None, ///< nowhere: it is about the model's file, or about what is not there
        Weight, ///< `index` into Evaluation::weights
        MeshAxis, ///< `index` into Mesh::axes
        Collective, ///< `collective`
        Operation, ///< `segment` and `op` in it
        Pin, ///< `index` into Design::pins
        Rules, ///< those for the logical name `name`
        Memory,
    };
    Kind kind = Kind::None;
    int index = -1;
    CollectiveId collective {};
    PlannedSegmentId segment {};
    PlannedOpId op {};
    QString name {};
};

FindingPlace placeOf(const Document& document, const Finding& finding);
/// The weight, mesh axis, collective or operation of that name, or None.
FindingPlace placeNamed(const Document& document, const std::string& where);
/// What a button that leads there says: `Show pin`; empty for None.
QString placeText(const FindingPlace& place);
/// Selects it; false for what is no part of a selection: pins, rules, memory.
bool selectPlace(const Document& document, const FindingPlace& place);
/// The same by name: a weight, a mesh axis, the collective of an operation, or an operation.
bool selectWhere(const Document& document, const std::string& where);

} // namespace shardboard
