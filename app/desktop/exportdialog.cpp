// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/exportdialog.h"

#include "app/desktop/linediff.h"
#include "model/session/document.h"
#include "widgets/format.h"
#include "widgets/tablecopy.h"
#include "widgets/theme.h"
#include "widgets/windowplace.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTextCharFormat>
#include <QVBoxLayout>

#include <algorithm>

namespace shardboard {

namespace {

constexpr std::size_t kMostLines = 2000; ///< of a preview
constexpr std::size_t kMostProblems = 200;
constexpr std::size_t kMostCompared = std::size_t { 4 } << 20; ///< bytes; of more lines nobody reads the changes: the file is the same or another
constexpr std::size_t kBeginning = std::size_t { 64 } << 10; ///< of such a file is shown

QString textOf(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

bool sameContent(const QString& path, const std::string& content)
{
    QFile file(path);
    return file.size() == static_cast<qint64>(content.size()) && file.open(QIODevice::ReadOnly)
        && file.readAll() == QByteArray::fromRawData(content.data(), static_cast<qsizetype>(content.size()));
}

} // namespace

ExportDialog::ExportDialog(const Document& document, const QString& target, const QString& folder, QWidget* parent)
    : QDialog(parent)
    , m_document(document)
    , m_refusals(exportRefusals(target.toStdString(), document.design(), *document.evaluation()))
    , m_folder(new QLineEdit(QDir::toNativeSeparators(folder), this))
    , m_note(new QLabel(this))
    , m_problemTitle(new QLabel(this))
    , m_problems(new QListWidget(this))
    , m_list(new QListWidget(this))
    , m_preview(new QPlainTextEdit(this))
{
    setObjectName(QStringLiteral("exportDialog"));
    setWindowTitle(tr("Export to %1").arg(target == QLatin1String("jax") ? QStringLiteral("JAX") : target));
    auto files = m_refusals.empty() ? exportDesign(target.toStdString(), document.design(), *document.evaluation())
                                    : Result<std::vector<ExportedFile>>(m_refusals.front());
    if (files.ok())
        m_files = std::move(files).value();
    else if (m_refusals.empty())
        m_refusals.push_back(files.error());
    build();
    connect(m_folder, &QLineEdit::textChanged, this, &ExportDialog::compare);
    connect(m_list, &QListWidget::currentRowChanged, this, &ExportDialog::showFile);
    connect(m_problems, &QListWidget::itemActivated, this, [this](QListWidgetItem* item) {
        m_wantedWeight = item->data(Qt::UserRole).toString();
        reject();
    });
    showProblems();
    compare();
    m_list->setCurrentRow(0);
}

void ExportDialog::build()
{
    m_folder->setObjectName(QStringLiteral("export.folder"));
    m_folder->setAccessibleName(tr("Folder"));
    m_note->setObjectName(QStringLiteral("export.note"));
    m_note->setWordWrap(true);
    m_problemTitle->setObjectName(QStringLiteral("export.problemTitle"));
    m_problemTitle->setWordWrap(true);
    m_problems->setObjectName(QStringLiteral("export.problems"));
    m_problems->setAccessibleName(tr("What stands in the way"));
    m_problems->setWordWrap(true);
    m_list->setObjectName(QStringLiteral("export.files"));
    m_list->setAccessibleName(tr("Files that are written"));
    m_list->setMaximumWidth(240);
    for (QListWidget* list : { m_problems, m_list })
        makeCopyable(list);
    m_preview->setObjectName(QStringLiteral("export.preview"));
    m_preview->setAccessibleName(tr("Changes of the file"));
    m_preview->setReadOnly(true);
    m_preview->setLineWrapMode(QPlainTextEdit::NoWrap);
    m_preview->setTabChangesFocus(true);
    m_preview->setFont(monoFont(this, -0.5));
    auto* browseButton = new QPushButton(tr("Browse …"), this);
    browseButton->setObjectName(QStringLiteral("export.browse"));
    browseButton->setAutoDefault(false);
    connect(browseButton, &QPushButton::clicked, this, &ExportDialog::browse);
    auto* folderLabel = new QLabel(tr("&Folder"), this);
    folderLabel->setBuddy(m_folder);
    auto* top = new QHBoxLayout;
    top->addWidget(folderLabel);
    top->addWidget(m_folder, 1);
    top->addWidget(browseButton);
    auto* middle = new QHBoxLayout;
    middle->addWidget(m_list, 2);
    middle->addWidget(m_preview, 7);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Cancel, this);
    m_export = buttons->button(QDialogButtonBox::Save);
    m_export->setText(tr("Export"));
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->addLayout(top);
    column->addWidget(m_problemTitle);
    column->addWidget(m_problems, 1);
    column->addLayout(middle, 1);
    column->addWidget(m_note);
    column->addWidget(buttons);
    const bool blocked = !m_refusals.empty();
    m_problemTitle->setVisible(blocked);
    m_problems->setVisible(blocked);
    m_list->setVisible(!blocked);
    m_preview->setVisible(!blocked);
    resize(900, 520);
    fitToScreen(this);
}

/// One line a weight; Return or a double click goes to it.
void ExportDialog::showProblems()
{
    for (std::size_t i = 0; i < m_refusals.size() && i < kMostProblems; ++i) {
        const Error& error = m_refusals[i];
        auto* item = new QListWidgetItem(tr("%1: %2; %3").arg(qstr(error.where), qstr(error.what), qstr(error.fix)), m_problems);
        item->setData(Qt::UserRole, qstr(error.where));
    }
    m_problemTitle->setText(tr("%1 cannot be exported as the design is. Choose one to go to it (Return or a double click).")
                                .arg(counted(static_cast<std::int64_t>(m_refusals.size()), tr("weight"), tr("weights"))));
    setTextColor(m_problemTitle, Theme::of(this).error);
    m_problems->setCurrentRow(0);
}

QString ExportDialog::folder() const { return QDir::fromNativeSeparators(m_folder->text().trimmed()); }

/// Against what is in the folder now: the last export, as a rule.
void ExportDialog::compare()
{
    const int row = m_list->currentRow();
    m_list->clear();
    const bool named = !folder().isEmpty();
    bool anyThere = false;
    bool anyDifferent = false;
    for (const ExportedFile& file : m_files) {
        const QString path = QDir(folder()).filePath(qstr(file.name));
        const bool there = named && QFileInfo::exists(path);
        const bool large = file.content.size() > kMostCompared;
        const LineDiff diff = there && !large ? lineDiff(textOf(path), qstr(file.content)) : LineDiff {};
        const bool same = there && (large ? sameContent(path, file.content) : diff.same());
        const QString state = !there ? tr("new")
            : same                   ? tr("unchanged")
            : large                  ? tr("replaced, %1").arg(bytesText(static_cast<std::int64_t>(file.content.size())))
                                     : tr("+%1 −%2 lines").arg(diff.added).arg(diff.removed);
        new QListWidgetItem(QStringLiteral("%1\n%2").arg(qstr(file.name), state), m_list);
        anyThere = anyThere || there;
        anyDifferent = anyDifferent || !same;
    }
    const bool isFile = QFileInfo(folder()).isFile();
    m_export->setEnabled(!m_files.empty() && named && !isFile);
    m_note->setText(!m_refusals.empty() ? tr("Nothing is written.")
                        : !named     ? tr("Name a folder.")
                        : isFile     ? tr("%1 is a file, not a folder.").arg(m_folder->text())
                        : !anyThere  ? tr("The folder has no export yet.")
                        : anyDifferent ? tr("Files that are there are replaced.")
                                       : tr("The folder has exactly this export already."));
    setTextColor(m_note, isFile ? Theme::of(this).error : Theme::of(this).quiet);
    m_list->setCurrentRow(std::clamp(row, 0, std::max(0, m_list->count() - 1)));
}

void ExportDialog::showFile(int row)
{
    m_preview->clear();
    if (row < 0 || row >= static_cast<int>(m_files.size()))
        return;
    const ExportedFile& file = m_files[static_cast<std::size_t>(row)];
    const QString path = QDir(folder()).filePath(qstr(file.name));
    const bool there = !folder().isEmpty() && QFileInfo::exists(path);
    const bool large = file.content.size() > kMostCompared;
    const LineDiff diff = large ? lineDiff(QString(), qstr(file.content.substr(0, kBeginning))) : lineDiff(there ? textOf(path) : QString(), qstr(file.content));
    if (large ? there && sameContent(path, file.content) : diff.same()) {
        m_preview->setPlainText(tr("Nothing changes in this file."));
        return;
    }
    const Theme& theme = Theme::of(this);
    QTextCursor cursor(m_preview->document());
    cursor.beginEditBlock();
    for (std::size_t i = 0; i < diff.lines.size() && i < kMostLines; ++i) {
        using Kind = DiffLine::Kind;
        const DiffLine& line = diff.lines[i];
        const bool added = line.kind == Kind::Added;
        const bool removed = line.kind == Kind::Removed;
        QTextCharFormat format;
        format.setForeground(line.kind == Kind::Gap ? theme.quiet : theme.text);
        if (there && !large && (added || removed)) // beside the mark, never without it
            format.setBackground(blended(theme.panel, added ? theme.accent : theme.attention, 0.18));
        const QString mark = !there || large || line.kind == Kind::Gap ? QString() : added ? QStringLiteral("+ ") : removed ? QStringLiteral("− ") : QStringLiteral("  ");
        cursor.insertText(mark + line.text + QLatin1Char('\n'), format);
    }
    if (diff.lines.size() > kMostLines)
        cursor.insertText(tr("… and %1 lines more").arg(diff.lines.size() - kMostLines));
    else if (large)
        cursor.insertText(tr("… of %1").arg(bytesText(static_cast<std::int64_t>(file.content.size()))));
    cursor.endEditBlock();
    m_preview->moveCursor(QTextCursor::Start);
}

void ExportDialog::browse()
{
    const QString chosen = QFileDialog::getExistingDirectory(this, windowTitle(), folder());
    if (!chosen.isEmpty())
        m_folder->setText(QDir::toNativeSeparators(chosen));
}

} // namespace shardboard
