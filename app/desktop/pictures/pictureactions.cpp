// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/pictures/pictureactions.h"

#include "app/desktop/base/actions.h"
#include "app/desktop/base/banner.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/pictures/picturedialog.h"
#include "model/session/document.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"

#include <QAction>
#include <QDir>
#include <QFileInfo>
#include <QMenu>
#include <QWidget>

namespace shardboard {

PictureActions::PictureActions(Document* document, Settings& settings, Banner* banner, QWidget* window,
                               std::function<QWidget*(const QString&)> show)
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
        m_commands << actions->add(QStringLiteral("picture.") + view.name, view.title + tr(" …"), {}, [this, view] { save(view); });
}

void PictureActions::attach(QMenu* menu) const { menu->addActions(m_commands); }

void PictureActions::setEnabled(bool enabled)
{
    for (QAction* command : m_commands) {
        command->setEnabled(enabled);
        command->setProperty("whyNot", tr("no design is open"));
    }
}

/// Beside the design's file, and as the last picture was.
void PictureActions::save(const View& view)
{
    const QString file = m_document->filePath();
    const QString design = file.isEmpty() ? qstr(m_document->design().model.name) : QFileInfo(file).completeBaseName();
    const QString folder = file.isEmpty() ? m_settings.lastFolder() : QFileInfo(file).absolutePath();
    QWidget* widget = m_show(view.name);
    if (widget == nullptr)
        return;
    PictureDialog dialog(view.title,
                         { folder + QLatin1Char('/') + pictureName(design, view.name) + QLatin1Char('.') + m_suffix, m_options },
                         !widget->isWindow(), m_window);
    if (dialog.exec() != QDialog::Accepted)
        return;
    const PictureDialog::Choice choice = dialog.choice();
    const Status status = writePicture(widget, choice.path, choice.options);
    if (!status.ok()) {
        m_banner->showError(errorText(status.error()));
        return;
    }
    m_options = choice.options;
    m_suffix = QFileInfo(choice.path).suffix();
    m_banner->showInfo(tr("The picture is in %1").arg(QDir::toNativeSeparators(choice.path)));
}

} // namespace shardboard
