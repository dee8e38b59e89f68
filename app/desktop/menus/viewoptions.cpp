// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/menus/viewoptions.h"

#include "app/desktop/base/actions.h"
#include "app/desktop/menus/themecontrol.h"

#include <QActionGroup>
#include <QCoreApplication>
#include <QMenu>

namespace shardboard {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("shardboard::ViewOptions", text); }

QAction* addChoice(Actions& actions, const QString& id, const QString& text, const QString& tip, std::function<void()> run)
{
    QAction* action = actions.add(id, text, {}, std::move(run));
    action->setCheckable(true);
    if (!tip.isEmpty())
        actions.setTip(id, tip);
    return action;
}

} // namespace

void addViewOptions(Actions& actions, ThemeControl& theme, QMenu* view)
{
    QMenu* colors = view->addMenu(tr("&Theme"));
    colors->setToolTipsVisible(true);
    auto* group = new QActionGroup(colors);
    const std::tuple<ThemeChoice, const char*, QString> choices[] = { { ThemeChoice::System, "system", tr("&System") },
                                                                      { ThemeChoice::Light, "light", tr("&Light") },
                                                                      { ThemeChoice::Dark, "dark", tr("&Dark") } };
    for (const auto& [choice, name, text] : choices) {
        const ThemeChoice wanted = choice;
        QAction* action = addChoice(actions, QStringLiteral("view.theme.") + QLatin1String(name), text, {},
                                    [&theme, wanted] { theme.setChoice(wanted); });
        colors->addAction(group->addAction(action));
        action->setChecked(theme.choice() == wanted);
    }
    colors->addSeparator();
    QAction* contrast = addChoice(actions, QStringLiteral("view.contrast"), tr("High &Contrast"),
                                  tr("Stronger text, lines and focus, light or dark"),
                                  [&theme] { theme.setHighContrast(!theme.isHighContrast()); });
    QAction* patterns = addChoice(actions, QStringLiteral("view.patterns"), tr("&Patterns Instead of Colors"),
                                  tr("Devices, tiles and mesh axes in grays, told apart by their hatching"),
                                  [&theme] { theme.setPatternsOnly(!theme.isPatternsOnly()); });
    colors->addAction(contrast);
    colors->addAction(patterns);

    QMenu* text = view->addMenu(tr("Te&xt Size"));
    const auto step = [&theme](double points) { theme.setTextSize(std::round(theme.textSize()) + points); };
    text->addAction(actions.add(QStringLiteral("view.textLarger"), tr("&Larger Text"), {}, [step] { step(1); }));
    text->addAction(actions.add(QStringLiteral("view.textSmaller"), tr("&Smaller Text"), {}, [step] { step(-1); }));
    text->addAction(actions.add(QStringLiteral("view.textUsual"), tr("&Default Text Size"), {},
                                [&theme] { theme.setTextSize(theme.usualTextSize()); }));
    // With Shift held a keyboard sends another character than the one on the key.
    const auto keys = [](const char* first, const char* second) {
        return QList<QKeySequence> { QKeySequence(QLatin1String(first)), QKeySequence(QLatin1String(second)) };
    };
    actions.setDefaultShortcuts(QStringLiteral("view.textLarger"), keys("Ctrl+Shift++", "Ctrl+Shift+="));
    actions.setDefaultShortcuts(QStringLiteral("view.textSmaller"), keys("Ctrl+Shift+-", "Ctrl+Shift+_"));
    actions.setDefaultShortcuts(QStringLiteral("view.textUsual"), keys("Ctrl+Shift+0", "Ctrl+Shift+)"));

    const auto follow = [&actions, &theme, contrast, patterns] {
        contrast->setChecked(theme.isHighContrast());
        patterns->setChecked(theme.isPatternsOnly());
        const double size = theme.textSize();
        actions.setEnabled(QStringLiteral("view.textLarger"), size < ThemeControl::kMostText,
                           tr("the text is at its largest size"));
        actions.setEnabled(QStringLiteral("view.textSmaller"), size > ThemeControl::kLeastText,
                           tr("the text is at its smallest size"));
        actions.setEnabled(QStringLiteral("view.textUsual"), !qFuzzyCompare(size, theme.usualTextSize()),
                           tr("the text is at its default size"));
    };
    QObject::connect(&theme, &ThemeControl::changed, view, follow);
    follow();
}

} // namespace shardboard
