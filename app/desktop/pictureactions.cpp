// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/pictureactions.h"

#include "app/desktop/actions.h"
#include "app/desktop/banner.h"
#include "app/desktop/pictures.h"
#include "app/desktop/settings.h"
#include "model/session/document.h"
#include "widgets/format.h"

#include <QAction>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>

namespace shardboard {

PictureActions::PictureActions(Document* document, Settings& settings, Banner* banner, QWidget* window, std::function<QWidget*(const QString&)> show)
    : QObject(window)
    , m_document(document)
    , m_settings(settings)
    , m_banner(banner)
    , m_window(window)
    , m_show(std::move(show))
{
}

void PictureActions::add(Actions* actions, const std::vector<View>& views)
{
    for (const View& view : views)
        m_commands << actions->add(QStringLiteral("picture.") + view.name, view.title + tr(" …"), {}, [this, name = view.name] { save(name); });
}

void PictureActions::attach(QMenu* menu) const { menu->addActions(m_commands); }

void PictureActions::setEnabled(bool enabled)
{
    for (QAction* command : m_commands)
        command->setEnabled(enabled);
}

void PictureActions::save(const QString& view)
{
    const QString design = m_document->filePath().isEmpty() ? qstr(m_document->design().model.name)
                                                            : QFileInfo(m_document->filePath()).completeBaseName();
    QString filter;
    const QString name = QFileDialog::getSaveFileName(m_window, tr("Save Picture"), m_settings.lastFolder() + QStringLiteral("/%1-%2.svg").arg(design, view),
                                                      pictureFilter(), &filter);
    if (name.isEmpty())
        return;
    const QString path = withPictureSuffix(name, filter);
    const Status status = writePicture(m_show(view), path);
    if (status.ok())
        m_banner->showInfo(tr("The picture is in %1").arg(path));
    else
        m_banner->showError(qstr(status.error().text()));
}

} // namespace shardboard
