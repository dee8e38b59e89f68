// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/columnsettings.h"

#include "app/desktop/base/settings.h"
#include "widgets/tables/columnkeeper.h"

#include <QAbstractItemView>

namespace shardboard {

void keepColumns(QWidget* window, Settings& settings)
{
    for (QAbstractItemView* view : window->findChildren<QAbstractItemView*>()) {
        const QString name = view->objectName();
        if (name.isEmpty() || name.startsWith(QLatin1String("qt_")))
            continue;
        ColumnKeeper* keeper = ColumnKeeper::watch(view);
        if (keeper == nullptr)
            continue;
        keeper->restore(settings.columns(name));
        QObject::connect(keeper, &ColumnKeeper::changed, keeper,
                         [keeper, name, &settings] { settings.setColumns(name, keeper->state()); });
    }
}

} // namespace shardboard
