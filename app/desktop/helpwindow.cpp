// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/helpwindow.h"

#include "app/desktop/actions.h"
#include "widgets/theme.h"

#include <QAction>
#include <QFile>
#include <QTextBrowser>
#include <QVBoxLayout>

namespace shardboard {

HelpWindow::HelpWindow(const Actions& actions, QWidget* parent)
    : QDialog(parent)
{
    setObjectName(QStringLiteral("help"));
    setWindowTitle(tr("Help"));
    QFile file(QStringLiteral(":/help/help.md"));
    QString text = file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
    text += tr("\n## Shortcuts\n\n");
    for (const QAction* action : actions.all()) {
        if (!action->shortcut().isEmpty())
            text += QStringLiteral("- **%1** %2\n").arg(action->shortcut().toString(QKeySequence::NativeText),
                                                      action->text().remove(QLatin1Char('&')));
    }
    auto* browser = new QTextBrowser(this);
    browser->setMarkdown(text);
    browser->setOpenExternalLinks(true);
    browser->document()->setDocumentMargin(kPanelMargin);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(browser);
    resize(640, 640);
}

} // namespace shardboard
