// SPDX-License-Identifier: Apache-2.0
#include "widgets/document/wakearound.h"

#include "widgets/document/documentview.h"

namespace shardboard {

void wakeAround(QWidget* widget)
{
    for (; widget != nullptr && !widget->isWindow(); widget = widget->parentWidget())
        if (auto* view = qobject_cast<DocumentView*>(widget); view != nullptr && view->isAsleep())
            view->setAsleep(false);
}

} // namespace shardboard
