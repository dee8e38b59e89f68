// SPDX-License-Identifier: Apache-2.0
#include "widgets/workload/effect.h"

#include "model/hardware/hardware.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"

#include <QObject>
#include <QStringList>

namespace shardboard {

DesignCost costOf(const Design& design, const Evaluation& evaluation)
{
    const auto hardware = hardwareOf(design);
    return { design.model.hasGraph() ? evaluation.plan.seconds() : 0, evaluation.plan.memory.peak,
             hardware.ok() ? static_cast<std::int64_t>(hardware.value().memoryBytes()) : 0, evaluation.plan.memory.least,
             evaluation.plan.memory.most };
}

SettingEffect effectOf(const Design& edited, const DesignCost& now, const Evaluation& before)
{
    SettingEffect out { now, {}, {} };
    const auto evaluation = planOnly(edited, Misfits::Replicate);
    if (!evaluation.ok())
        out.refusal = evaluation.cancelled() ? QObject::tr("cancelled") : errorText(evaluation.error());
    else if (const Misfit* misfit = newMisfit(*evaluation.value(), before))
        out.refusal = errorText(misfit->error);
    else
        out.then = costOf(edited, *evaluation.value());
    return out;
}

QString fitText(const DesignCost& cost)
{
    if (cost.limitBytes <= 0 || cost.peakBytes <= 0)
        return {};
    if (cost.fits())
        return cost.fit() == Fit::Tight ? QObject::tr("tight") : QObject::tr("fits");
    return QObject::tr("does not fit: needs %1× the %2 of a device")
        .arg(digitsText(static_cast<double>(cost.peakBytes) / static_cast<double>(cost.limitBytes)), bytesText(cost.limitBytes));
}

QString stepEffectText(const SettingEffect& effect)
{
    if (effect.now.seconds <= 0 || effect.then.seconds <= 0)
        return {};
    const QString delta = stepDeltaText(effect.now.seconds, effect.then.seconds);
    if (secondsText(effect.now.seconds) == secondsText(effect.then.seconds))
        return QObject::tr("step %1, %2").arg(secondsText(effect.then.seconds), delta);
    return QObject::tr("step %1 → %2, %3").arg(secondsText(effect.now.seconds), secondsText(effect.then.seconds), delta);
}

QString memoryEffectText(const SettingEffect& effect)
{
    if (effect.then.peakBytes <= 0)
        return {};
    const QString delta = bytesDeltaText(effect.now.peakBytes, effect.then.peakBytes);
    QStringList parts {
        bytesText(effect.now.peakBytes) == bytesText(effect.then.peakBytes)
            ? QObject::tr("memory %1").arg(bytesText(effect.then.peakBytes))
            : QObject::tr("memory %1 → %2").arg(bytesText(effect.now.peakBytes), bytesText(effect.then.peakBytes))
    };
    parts << delta << fitText(effect.then);
    parts.removeAll(QString());
    return parts.join(QStringLiteral(", "));
}

QString shortEffectText(const SettingEffect& effect)
{
    if (!effect.refusal.isEmpty())
        return QObject::tr("refused: %1").arg(effect.refusal);
    QStringList parts { stepDeltaText(effect.now.seconds, effect.then.seconds),
                        bytesDeltaText(effect.now.peakBytes, effect.then.peakBytes) };
    if (!effect.then.fits())
        parts << QObject::tr("does not fit");
    else if (effect.then.fit() == Fit::Tight)
        parts << QObject::tr("tight");
    parts.removeAll(QString());
    return parts.join(QStringLiteral(" · "));
}

} // namespace shardboard
