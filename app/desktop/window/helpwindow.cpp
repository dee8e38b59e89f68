// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/helpwindow.h"

#include "app/desktop/base/actions.h"
#include "app/desktop/panels/panel.h"
#include "widgets/controls/windowplace.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"

#include <QAction>
#include <QDesktopServices>
#include <QFile>
#include <QListWidget>
#include <QSplitter>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextCursor>
#include <QVBoxLayout>

namespace shardboard {

namespace {

const QString kIndex = QStringLiteral("index");
const QString kShortcuts = QStringLiteral("shortcuts"); // not a file: made of the actions

QString markdownOf(const QString& page)
{
    QFile file(QStringLiteral(":/help/%1.md").arg(page));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

/// Undo names the edit that it takes back, and an edit names weights: none of it is Markdown or HTML.
QString markdownText(const QString& text)
{
    QString out;
    for (const QChar c : text) {
        if (c.unicode() < 0x80 && c.isPrint() && !c.isLetterOrNumber() && !c.isSpace())
            out += QLatin1Char('\\');
        out += c;
    }
    return out;
}

/// Markdown says nothing of distances between lines.
void loosen(QTextDocument* document)
{
    for (QTextBlock block = document->begin(); block.isValid(); block = block.next()) {
        QTextBlockFormat format = block.blockFormat();
        format.setLineHeight(130, QTextBlockFormat::ProportionalHeight);
        QTextCursor(block).setBlockFormat(format);
    }
}

} // namespace

const QStringList& HelpWindow::pages()
{
    static const QStringList list =
        QStringLiteral("index first-steps modes weights mesh tiles flow inspector strategy workload history collectives cost "
                       "explain decisions cuts findings rules memory timeline errors plots search variants compare run calibration "
                       "report hardware "
                       "window notation module files export presets families published optimize sweep solve glossary")
            .split(QLatin1Char(' '));
    return list;
}

QString HelpWindow::titleOf(const QString& page) { return markdownOf(page).section(QLatin1Char('\n'), 0, 0).mid(2); }

QString HelpWindow::pageOf(const QWidget* widget)
{
    for (const QWidget* at = widget; at != nullptr; at = at->parentWidget()) {
        QString name = at->objectName();
        if (qobject_cast<const Panel*>(at) == nullptr) {
            if (!name.endsWith(QLatin1String("View")))
                continue;
            name.chop(4); // meshView, tileView, flowView
            if (name == QLatin1String("tile"))
                name = QStringLiteral("tiles");
        } else if (name == QLatin1String("runForm") || name == QLatin1String("twoRuns")) {
            name = QStringLiteral("run");
        } else if (name == QLatin1String("roofline") || name == QLatin1String("accuracy") || name == QLatin1String("scaling")
                   || name == QLatin1String("bandwidth") || name == QLatin1String("memoryPlot")) {
            name = QStringLiteral("plots");
        } else if (name == QLatin1String("searchForm") || name == QLatin1String("designs") || name == QLatin1String("prices")) {
            name = QStringLiteral("search");
        } else if (name == QLatin1String("targets") || name == QLatin1String("names") || name == QLatin1String("proof")) {
            name = QStringLiteral("export");
        }
        if (pages().contains(name))
            return name;
    }
    return kIndex;
}

HelpWindow::HelpWindow(const Actions& actions, QWidget* parent)
    : QDialog(parent)
    , m_actions(actions)
    , m_list(new QListWidget(this))
    , m_text(new QTextBrowser(this))
{
    setObjectName(QStringLiteral("help"));
    setWindowTitle(tr("Help"));
    nameWidget(m_list, "help.pages", tr("Pages"));
    for (const QString& page : pages())
        addPage(page, titleOf(page));
    addPage(kShortcuts, tr("Shortcuts"));
    nameWidget(m_text, "help.text", tr("Page"));
    m_text->setOpenLinks(false);
    connect(m_text, &QTextBrowser::anchorClicked, this, [this](const QUrl& link) {
        if (link.scheme().isEmpty())
            showPage(link.path().section(QLatin1Char('.'), 0, 0));
        else
            QDesktopServices::openUrl(link);
    });
    connect(m_list, &QListWidget::currentItemChanged, this, [this](const QListWidgetItem* item) {
        if (item != nullptr)
            follow(item->data(Qt::UserRole).toString());
    });
    auto* splitter = new QSplitter(this);
    splitter->addWidget(m_list);
    splitter->addWidget(m_text);
    splitter->setStretchFactor(1, 1);
    splitter->setChildrenCollapsible(false);
    splitter->setSizes({ 210, 690 });
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(splitter);
    resize(900, 680);
    fitToScreen(this);
    showPage(kIndex);
}

void HelpWindow::addPage(const QString& page, const QString& title)
{
    auto* item = new QListWidgetItem(title, m_list);
    item->setData(Qt::UserRole, page);
}

void HelpWindow::showPage(const QString& page)
{
    for (int row = 0; row < m_list->count(); ++row) {
        if (m_list->item(row)->data(Qt::UserRole).toString() == page)
            m_list->setCurrentRow(row);
    }
}

void HelpWindow::follow(const QString& page)
{
    m_page = page;
    m_text->setMarkdown(page == kShortcuts ? shortcuts() : markdownOf(page));
    m_text->document()->setDocumentMargin(kPanelMargin);
    loosen(m_text->document());
    m_text->moveCursor(QTextCursor::Start);
}

QString HelpWindow::shortcuts() const
{
    QString text = tr("# Shortcuts\n\n*Help ▸ Keyboard Shortcuts …* changes them.\n\n| keys | what |\n| --- | --- |\n");
    for (const QAction* action : m_actions.all()) {
        if (!action->shortcut().isEmpty())
            text += QStringLiteral("| **%1** | %2 |\n")
                        .arg(markdownText(action->shortcut().toString(QKeySequence::NativeText)), markdownText(plainText(action)));
    }
    return text;
}

} // namespace shardboard
