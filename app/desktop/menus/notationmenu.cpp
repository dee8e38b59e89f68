// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/menus/notationmenu.h"

#include "app/desktop/base/settings.h"
#include "model/session/document.h"

#include <QActionGroup>
#include <QMenu>

namespace shardboard {

NotationMenu::NotationMenu(Document* document, Settings& settings, QMenu* menu)
    : QObject(menu)
{
    document->setNotation(settings.notation());
    menu->setObjectName(QStringLiteral("view.notation"));
    menu->setToolTipsVisible(true);
    auto* group = new QActionGroup(menu);
    for (const Notation notation : kNotations) {
        QAction* action = group->addAction(menu->addAction(QString::fromStdString(notationTitle(notation))));
        action->setObjectName(QStringLiteral("notation.") + QString::fromStdString(notationName(notation)));
        action->setToolTip(tr("Where it cannot express a layout, JAX's notation is shown with a mark"));
        action->setCheckable(true);
        action->setChecked(document->notation() == notation);
        connect(action, &QAction::triggered, this, [document, &settings, notation] {
            settings.setNotation(notation);
            document->setNotation(notation);
        });
    }
}

} // namespace shardboard
