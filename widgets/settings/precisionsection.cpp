// SPDX-License-Identifier: Apache-2.0
#include "widgets/settings/fields.h"
#include "widgets/settings/sections.h"

#include <QObject>

namespace shardboard {

namespace {

/// The type that a kind of data is held in.
Setting heldIn(const PrecisionMember& member)
{
    std::vector<Setting::Option> types = choices({ { "usual", "usual", "As the workload's type and the framework say" } });
    for (const DType type : member.types)
        types.push_back({ qstr(dtypeName(type)), qstr(dtypeName(type)), QObject::tr("%1 bits each").arg(bitsOf(type)) });
    QString label = qstr(member.name);
    label[0] = label[0].toUpper();
    Setting out = choiceField(
        { QStringLiteral("precision.") + QLatin1String(member.key), label,
          QObject::tr("The type in which %1 are held").arg(qstr(member.name)) },
        std::move(types),
        [at = member.type](const Design& design) {
            const auto& type = design.workload.precision.*at;
            return type ? qstr(dtypeName(*type)) : QStringLiteral("usual");
        },
        [at = member.type](Design& design, const QString& name) {
            design.workload.precision.*at = dtypeFromName(name.toStdString());
        });
    if (member.type == &Precision::cache)
        out.whyNot = [](const Design& design) { return isTraining(design) ? QObject::tr("Training has no KV cache.") : QString(); };
    return member.training ? onlyInTraining(std::move(out), QObject::tr("Only training has gradients and an optimizer.")) : out;
}

Setting fp8Recipe()
{
    std::vector<Setting::Option> recipes;
    for (const Fp8RecipeFacts& facts : fp8Recipes())
        recipes.push_back(
            { QLatin1String(facts.name), QLatin1String(facts.name),
              QObject::tr("%1 bytes an element with its scales, in %2")
                  .arg(digitsText(facts.bytes), facts.twoCopies ? QObject::tr("two copies") : QObject::tr("one copy")) });
    return namedField(
        fieldText("fp8.recipe", "fp8 recipe", "How values are scaled for products in 8 or 4 bits"), std::move(recipes),
        [](Design& design) -> Fp8Recipe& { return design.workload.fp8.recipe; }, fp8RecipeName, fp8RecipeFromName);
}

Setting fp8Gather()
{
    return switchField(
        fieldText("fp8.gather", "Weights gathered in", "The type in which weights of the layers' products are gathered"),
        { "bf16", "16 bits", "They are cast after they are gathered" },
        { "fp8", "fp8", "They are cast before: half the bytes move and stay" },
        [](const Design& design) { return design.workload.fp8.gather; },
        [](Design& design, bool on) { design.workload.fp8.gather = on; });
}

Setting onlyInFp8(Setting setting)
{
    setting.whyNot = [](const Design& design) {
        return isTraining(design) && design.workload.dtype == DType::F8E4M3 ? QString()
                                                                            : QObject::tr("Only training in f8e4m3 casts values.");
    };
    return setting;
}

} // namespace

SettingGroup precisionSection()
{
    SettingGroup out { QStringLiteral("precision"), QObject::tr("Precision") };
    for (const PrecisionMember& member : precisionMembers())
        out.settings.push_back(heldIn(member));
    out.settings.push_back(onlyInFp8(fp8Recipe()));
    out.settings.push_back(onlyInFp8(fp8Gather()));
    return out;
}

} // namespace shardboard
