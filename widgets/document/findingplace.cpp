// SPDX-License-Identifier: Apache-2.0
#include "widgets/document/findingplace.h"

#include "model/design/explain/explain.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "widgets/look/format.h"

#include <QObject>

#include <algorithm>

namespace shardboard {

namespace {

using Kind = FindingPlace::Kind;

bool isNamed(const Evaluation& evaluation, PlannedSegmentId segment, PlannedOpId op, const std::string& where)
{
    const PlannedSegment& planned = evaluation.plan.segment(segment);
    const std::string& name = evaluation.graph.op(planned.ops[op].op).name;
    if (name == where || planned.name + "/" + name == where)
        return true;
    // Refusals are told of the graph's segment, which the plan may have in several variants.
    return evaluation.graph.segment(planned.segment).name + "/" + name == where;
}

} // namespace

FindingPlace placeNamed(const Document& document, const std::string& where)
{
    const auto evaluation = document.evaluation();
    if (!evaluation)
        return {};
    for (std::size_t i = 0; i < evaluation->weights.size(); ++i)
        if (evaluation->weights[i].spec.name == where)
            return { Kind::Weight, static_cast<int>(i) };
    if (const int axis = document.design().mesh.find(where); axis >= 0)
        return { Kind::MeshAxis, axis };
    const auto& collectives = evaluation->plan.collectives;
    for (CollectiveId i { 0 }; i < collectives.size(); ++i)
        if (collectives[i].op.valid() && evaluation->graph.op(collectives[i].op).name == where)
            return { .kind = Kind::Collective, .collective = i };
    const auto& segments = evaluation->plan.segments;
    for (PlannedSegmentId s { 0 }; s < segments.size(); ++s)
        for (PlannedOpId o { 0 }; o < segments[s].ops.size(); ++o)
            if (isNamed(*evaluation, s, o, where))
                return { .kind = Kind::Operation, .segment = s, .op = o };
    return {};
}

FindingPlace placeOf(const Document& document, const Finding& finding)
{
    if (!document.hasDesign())
        return {};
    const Design& design = document.design();
    if (finding.kind == "dead-pin" || finding.kind == "pin-unmet") {
        for (std::size_t i = 0; i < design.pins.size(); ++i)
            if (pinText(design.pins[i]) == finding.where)
                return { Kind::Pin, static_cast<int>(i) };
        return {};
    }
    if (finding.kind == "unknown-pins")
        return { Kind::Pin, 0 };
    if (finding.kind == "over-memory" || finding.kind == "tight-memory")
        return { Kind::Memory };
    if (const FindingPlace place = placeNamed(document, finding.where); place.kind != Kind::None)
        return place;
    const auto& rules = design.rules.rules;
    if (std::any_of(rules.begin(), rules.end(), [&](const LogicalRule& rule) { return rule.name == finding.where; }))
        return { .kind = Kind::Rules, .name = qstr(finding.where) };
    return {};
}

QString placeText(const FindingPlace& place)
{
    switch (place.kind) {
    case Kind::None:
        break;
    case Kind::Weight:
        return QObject::tr("Show weight");
    case Kind::MeshAxis:
        return QObject::tr("Show mesh axis");
    case Kind::Collective:
        return QObject::tr("Show collective");
    case Kind::Operation:
        return QObject::tr("Show operation");
    case Kind::Pin:
        return QObject::tr("Show pin");
    case Kind::Rules:
        return QObject::tr("Show rules");
    case Kind::Memory:
        return QObject::tr("Show memory");
    }
    return {};
}

bool selectPlace(const Document& document, const FindingPlace& place)
{
    Selection* selection = document.selection();
    switch (place.kind) {
    case Kind::Weight:
        selection->setWeight(place.index);
        return true;
    case Kind::MeshAxis:
        selection->setMeshAxis(place.index);
        return true;
    case Kind::Collective:
        selection->setCollective(place.collective);
        return true;
    case Kind::Operation:
        selection->setOperation(place.segment, place.op);
        return true;
    default:
        return false;
    }
}

bool selectWhere(const Document& document, const std::string& where) { return selectPlace(document, placeNamed(document, where)); }

} // namespace shardboard
