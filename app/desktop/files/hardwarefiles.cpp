// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/files/hardwarefiles.h"

#include "app/desktop/base/banner.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/files/savename.h"
#include "widgets/hardware/hardwareview.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"

#include <QFileDialog>

namespace shardboard {

HardwareFiles::HardwareFiles(HardwareView* view, Settings& settings, Banner* banner, QWidget* window)
    : QObject(window)
    , m_view(view)
    , m_settings(settings)
    , m_banner(banner)
    , m_window(window)
{
    connect(view, &HardwareView::openWanted, this, &HardwareFiles::open);
    connect(view, &HardwareView::saveWanted, this, &HardwareFiles::save);
}

void HardwareFiles::open()
{
    const QString path =
        QFileDialog::getOpenFileName(m_window, tr("Hardware"), m_settings.lastFolder(), tr("Hardware (*.json);;All files (*)"));
    if (path.isEmpty())
        return;
    const Status status = m_view->open(path);
    if (!status.ok())
        m_banner->showError(errorText(status.error()));
}

void HardwareFiles::save()
{
    const QString path = saveName(
        m_window, QFileDialog::getSaveFileName(m_window, tr("Save Hardware"), m_settings.lastFolder(), tr("Hardware (*.json)")),
        { QStringLiteral(".json") });
    if (path.isEmpty())
        return;
    const Status status = m_view->save(path);
    if (!status.ok())
        m_banner->showError(errorText(status.error()));
}

} // namespace shardboard
