// SPDX-License-Identifier: Apache-2.0
#include "widgets/controls/contextmenu.h"

#include <QMenu>

namespace shardboard {

void showContextMenu(QWidget* owner, const QPoint& at, const std::function<void(QMenu*)>& fill)
{
    auto* menu = new QMenu(owner);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    fill(menu);
    if (menu->isEmpty())
        delete menu;
    else
        menu->popup(at);
}

} // namespace shardboard
