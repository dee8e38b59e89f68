// SPDX-License-Identifier: Apache-2.0
// Who a control is: to tests and settings, to screen readers, and to a pointer that rests on it.
#pragma once

#include <QString>
#include <QWidget>

namespace shardboard {

/// `id` is its object name; an empty `name` or `toolTip` leaves what Qt makes of its text.
inline void nameWidget(QWidget* widget, const char* id, const QString& name, const QString& toolTip = {})
{
    widget->setObjectName(QLatin1String(id));
    if (!name.isEmpty())
        widget->setAccessibleName(name);
    if (!toolTip.isEmpty())
        widget->setToolTip(toolTip);
}

} // namespace shardboard
