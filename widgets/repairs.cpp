// SPDX-License-Identifier: Apache-2.0
#include "widgets/repairs.h"

#include "widgets/format.h"

#include <QElapsedTimer>
#include <QObject>

#include <cmath>
#include <set>

namespace shardboard {

namespace {

constexpr double kQuick = 0.1; ///< seconds; what an evaluation may take for the effect to be told unasked

} // namespace

Status applyRepair(Document& document, const Repair& repair)
{
    return document.edit(repaired(document.design(), repair), qstr(repair.text));
}

RepairedAll repairedAll(const Design& design, const Evaluation& evaluation, double seconds)
{
    RepairedAll out { design, 0 };
    std::shared_ptr<const Evaluation> latest;
    std::set<std::string> tried; // each repair once, so that two that undo each other come to an end
    QElapsedTimer timer;
    timer.start();
    while (static_cast<double>(timer.elapsed()) < seconds * 1e3) {
        const Repair* next = nullptr;
        for (const DesignFinding& finding : (latest ? *latest : evaluation).findings) {
            if (finding.fix && tried.insert(finding.kind + "\n" + finding.where + "\n" + finding.fix->text).second) {
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

QString repairEffect(const Document& document, const Repair& repair)
{
    const auto now = document.evaluation();
    if (!now || !document.design().model.hasGraph() || document.evaluationSeconds() > kQuick || now->plan.seconds() <= 0)
        return {};
    const auto then = evaluate(repaired(document.design(), repair), Misfits::Replicate);
    if (!then.ok())
        return {};
    const double percent = (then.value()->plan.seconds() / now->plan.seconds() - 1) * 100;
    if (std::abs(percent) < 0.05) {
        const std::int64_t saved = now->plan.memory.peak - then.value()->plan.memory.peak;
        return saved <= 0 ? QString() : QObject::tr("−%1 per device").arg(bytesText(saved));
    }
    return QObject::tr("%1%2 % step time")
        .arg(percent < 0 ? QStringLiteral("−") : QStringLiteral("+"), digitsText(std::abs(percent)));
}

} // namespace shardboard
