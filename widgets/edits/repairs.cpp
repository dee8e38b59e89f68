// SPDX-License-Identifier: Apache-2.0
#include "widgets/edits/repairs.h"

#include "model/design/evaluate/evaluate.h"
#include "model/design/findings/findings.h"
#include "widgets/look/format.h"

#include <QObject>

#include <cmath>
#include <set>

namespace shardboard {

Status applyRepair(Document& document, const Repair& repair)
{
    return document.edit(repaired(document.design(), repair), qstr(repair.text));
}

RepairedAll repairedAll(const Design& design, const Evaluation& evaluation, const std::function<bool(int)>& enough)
{
    RepairedAll out { design, 0 };
    std::shared_ptr<const Evaluation> latest;
    std::set<std::string> tried; // each repair once, so that two that undo each other come to an end
    while (!enough(static_cast<int>(tried.size()))) {
        const Repair* next = nullptr;
        for (const DesignFinding& finding : (latest ? *latest : evaluation).findings) {
            if (isRepairedWithAll(finding) && tried.insert(finding.kind + "\n" + finding.where + "\n" + finding.fix->text).second) {
                next = &*finding.fix;
                break;
            }
        }
        if (!next)
            break;
        Design candidate = repaired(out.design, *next);
        auto evaluated = evaluate(candidate, Misfits::Replicate); // step by step
        if (!evaluated.ok() || candidate == out.design)
            continue;
        out.design = std::move(candidate);
        latest = std::move(evaluated).value();
        ++out.made;
    }
    return out;
}

QString repairEffect(const Design& design, const Evaluation& evaluation, const Repair& repair)
{
    if (!design.model.hasGraph() || evaluation.plan.seconds() <= 0)
        return {};
    const auto then = evaluate(repaired(design, repair), Misfits::Replicate);
    if (!then.ok())
        return {};
    const double percent = (then.value()->plan.seconds() / evaluation.plan.seconds() - 1) * 100;
    if (std::abs(percent) < 0.05) {
        const std::int64_t saved = evaluation.plan.memory.peak - then.value()->plan.memory.peak;
        return saved <= 0 ? QString() : QObject::tr("−%1 per device").arg(bytesText(saved));
    }
    return QObject::tr("%1%2 % step time")
        .arg(percent < 0 ? QStringLiteral("−") : QStringLiteral("+"), digitsText(std::abs(percent)));
}

} // namespace shardboard
