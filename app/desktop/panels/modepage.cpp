// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/panels/modepage.h"

#include <QSplitter>

namespace shardboard {

ModePage::ModePage(WorkMode mode, QObject* parent)
    : QObject(parent)
    , m_mode(mode)
{
}

QSplitter* ModePage::splitter(Qt::Orientation orientation, const char* name)
{
    auto* out = new QSplitter(orientation);
    out->setObjectName(QLatin1String(name));
    out->setChildrenCollapsible(false);
    out->setHandleWidth(1);
    return out;
}

} // namespace shardboard
