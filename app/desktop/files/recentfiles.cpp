// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/files/recentfiles.h"

#include "app/desktop/base/settings.h"
#include "widgets/look/plaintext.h"

#include <QFileInfo>
#include <QMenu>

namespace shardboard {

RecentFiles::RecentFiles(Settings& settings, QObject* parent)
    : QObject(parent)
    , m_settings(settings)
    , m_files(settings.recentFiles().mid(0, kLimit))
{
}

void RecentFiles::add(const QString& path)
{
    const QString file = QFileInfo(path).absoluteFilePath();
    m_files.removeAll(file);
    m_files.prepend(file);
    m_files = m_files.mid(0, kLimit);
    store();
}

void RecentFiles::clear()
{
    m_files.clear();
    store();
}

void RecentFiles::store()
{
    m_settings.setRecentFiles(m_files);
    Q_EMIT changed();
}

void RecentFiles::attach(QMenu* menu)
{
    menu->setToolTipsVisible(true);
    connect(menu, &QMenu::aboutToShow, this, [this, menu] { fill(menu); });
    fill(menu);
}

void RecentFiles::fill(QMenu* menu)
{
    menu->clear();
    for (qsizetype i = 0; i < m_files.size(); ++i) {
        const QFileInfo info(m_files[i]);
        const QString name = menuText(shownText(info.fileName()));
        const QString text = i < 9 ? tr("&%1  %2").arg(i + 1).arg(name) : name;
        QAction* action = menu->addAction(text, this, [this, path = m_files[i]] { Q_EMIT chosen(path); });
        action->setEnabled(info.isFile());
        action->setProperty("whyNot", tr("it no longer exists"));
        action->setToolTip(info.isFile() ? shownText(m_files[i]) : tr("%1 no longer exists").arg(shownText(m_files[i])));
    }
    if (m_files.isEmpty()) {
        QAction* none = menu->addAction(tr("No file has been opened yet"));
        none->setEnabled(false);
        none->setProperty("whyNot", tr("it only says that the list is empty"));
    }
    menu->addSeparator();
    QAction* clearAction = menu->addAction(tr("&Clear List"), this, &RecentFiles::clear);
    clearAction->setEnabled(!m_files.isEmpty());
    clearAction->setProperty("whyNot", tr("the list is empty"));
}

} // namespace shardboard
