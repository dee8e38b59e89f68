// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/export/exportform.h"

#include "app/desktop/base/difftext.h"
#include "model/io/targets/targets.h"
#include "model/session/document.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"
#include "widgets/tables/tablecopy.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPointer>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

namespace shardboard {

namespace {

constexpr std::size_t kMostProblems = 200;
constexpr int kTypedMs = 200; ///< without another key, before the folder is looked into
constexpr int kProgressMs = 1000; ///< of preparing, after which it shows that it goes on

} // namespace

ExportForm::ExportForm(const Document& document, const ExportTarget& target, const QString& folder, QWidget* parent)
    : QWidget(parent)
    , m_job(new LatestJob(this))
    , m_refusals(target.refusals(document.design(), *document.evaluation(), {}).value())
    , m_folder(new QLineEdit(QDir::toNativeSeparators(folder), this))
    , m_note(new QLabel(this))
    , m_leftOut(new QLabel(this))
    , m_progress(new QProgressBar(this))
    , m_problemTitle(new QLabel(this))
    , m_problems(new QListWidget(this))
    , m_list(new QListWidget(this))
    , m_preview(new QPlainTextEdit(this))
{
    setObjectName(QStringLiteral("exportForm"));
    build();
    m_typed.setSingleShot(true);
    m_typed.setInterval(kTypedMs);
    connect(&m_typed, &QTimer::timeout, this, &ExportForm::compare);
    connect(m_folder, &QLineEdit::textChanged, this, &ExportForm::folderChanged);
    connect(m_list, &QListWidget::currentRowChanged, this, &ExportForm::showFile);
    QStringList leftOut;
    for (const std::string& line : target.leftOut(document.design(), *document.evaluation()))
        leftOut << tr("Not in the export: %1.").arg(qstr(line));
    m_leftOut->setText(leftOut.join(QLatin1Char('\n')));
    connect(m_problems, &QListWidget::itemActivated, this, [this](QListWidgetItem* item) {
        const QString wanted = item->data(Qt::UserRole).toString();
        if (!wanted.isEmpty()) // of the whole design there is nowhere to go
            Q_EMIT weightWanted(wanted);
    });
    showBlocked();
    folderChanged();
    if (m_refusals.empty())
        prepare(document, target);
}

bool ExportForm::isBusy() const { return m_job->isBusy() || m_typed.isActive(); }

void ExportForm::forget()
{
    m_typed.stop();
    m_job->forget();
}

void ExportForm::setCanExport(bool can)
{
    m_canExport = can;
    Q_EMIT changed();
}

void ExportForm::prepare(const Document& document, const ExportTarget& target)
{
    QTimer::singleShot(kProgressMs, this, [this] { m_progress->setVisible(m_files == nullptr && m_refusals.empty()); });
    const auto design = std::make_shared<const Design>(document.design());
    m_job->ask([this, target, design, evaluation = document.evaluation()](const std::atomic<bool>& stop) -> LatestJob::Answer {
        auto made = exportDesign(target, *design, evaluation, [&stop] { return stop.load(); });
        if (made.cancelled())
            return {};
        const auto files = made.ok() ? std::make_shared<const std::vector<ExportedFile>>(std::move(made).value()) : nullptr;
        return [this, files, error = files != nullptr ? Error {} : made.error()] {
            m_progress->hide();
            m_files = files;
            if (files == nullptr)
                m_refusals.push_back({ error });
            showBlocked();
            folderChanged();
            compare();
        };
    });
}

void ExportForm::build()
{
    nameWidget(m_folder, "export.folder", tr("Folder"));
    m_note->setObjectName(QStringLiteral("export.note"));
    m_note->setWordWrap(true);
    m_note->setTextFormat(Qt::PlainText); // it names files
    m_leftOut->setObjectName(QStringLiteral("export.leftOut"));
    m_leftOut->setWordWrap(true);
    m_leftOut->setTextFormat(Qt::PlainText); // it names pins
    m_leftOut->setTextInteractionFlags(Qt::TextSelectableByMouse);
    nameWidget(m_progress, "export.progress", tr("Progress"));
    m_progress->setRange(0, 0);
    m_progress->setFixedWidth(140);
    m_progress->hide();
    m_problemTitle->setObjectName(QStringLiteral("export.problemTitle"));
    m_problemTitle->setWordWrap(true);
    for (QLabel* label : { m_note, m_leftOut, m_problemTitle })
        label->setMinimumWidth(1); // not as wide as the longest name in it
    nameWidget(m_problems, "export.problems", tr("What stands in the way"));
    m_problems->setWordWrap(true);
    nameWidget(m_list, "export.files", tr("Files to be written"));
    m_list->setMaximumWidth(240);
    for (QListWidget* list : { m_problems, m_list })
        makeCopyable(list);
    nameWidget(m_preview, "export.preview", tr("Changes of the file"));
    m_preview->setReadOnly(true);
    m_preview->setLineWrapMode(QPlainTextEdit::NoWrap);
    m_preview->setTabChangesFocus(true);
    m_preview->setFont(monoFont(this, -0.5));
    auto* browseButton = new QPushButton(tr("Browse …"), this);
    browseButton->setObjectName(QStringLiteral("export.browse"));
    browseButton->setAutoDefault(false);
    connect(browseButton, &QPushButton::clicked, this, &ExportForm::browse);
    auto* folderLabel = new QLabel(tr("&Folder"), this);
    folderLabel->setBuddy(m_folder);
    auto* top = new QHBoxLayout;
    top->addWidget(folderLabel);
    top->addWidget(m_folder, 1);
    top->addWidget(browseButton);
    auto* middle = new QHBoxLayout;
    middle->addWidget(m_list, 2);
    middle->addWidget(m_preview, 7);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addLayout(top);
    column->addWidget(m_problemTitle);
    column->addWidget(m_problems, 1);
    column->addLayout(middle, 1);
    column->addWidget(m_leftOut);
    auto* bottom = new QHBoxLayout;
    bottom->addWidget(m_note, 1);
    bottom->addWidget(m_progress);
    column->addLayout(bottom);
}

/// The files, or what stands in their way.
void ExportForm::showBlocked()
{
    const bool blocked = !m_refusals.empty();
    m_problemTitle->setVisible(blocked);
    m_problems->setVisible(blocked);
    m_list->setVisible(!blocked);
    m_preview->setVisible(!blocked);
    m_leftOut->setVisible(!blocked && !m_leftOut->text().isEmpty());
    if (blocked)
        showProblems();
}

/// One line a weight; Return or a double click goes to it.
void ExportForm::showProblems()
{
    for (std::size_t i = 0; i < m_refusals.size() && i < kMostProblems; ++i) {
        const Error& error = m_refusals[i].error;
        auto* item = new QListWidgetItem(errorText(error), m_problems);
        if (m_refusals[i].tensors > 0)
            item->setData(Qt::UserRole, verbatim(error.where));
    }
    std::int64_t tensors = 0;
    for (const ExportRefusal& refusal : m_refusals)
        tensors += refusal.tensors;
    m_problemTitle->setText(m_refusals.front().tensors == 0
                                ? tr("The design cannot be exported as it is.")
                                : tr("%1 cannot be exported as the design is. Choose one to go to it (Return or double-click).")
                                      .arg(counted(tensors, tr("weight"), tr("weights"))));
    setTextColor(m_problemTitle, Theme::of(this).error);
    m_problems->setCurrentRow(0);
}

QString ExportForm::folder() const { return QDir::fromNativeSeparators(m_folder->text().trimmed()); }

/// The first file that is a link in the folder, as far as that was looked into.
QString ExportForm::linkInTheWay() const
{
    for (std::size_t i = 0; m_files != nullptr && i < m_changes.size(); ++i)
        if (m_changes[i].link)
            return qstr((*m_files)[i].name);
    return {};
}

bool ExportForm::folderIsFile() const { return QFileInfo(folder()).isFile(); }

void ExportForm::showNote(const QString& text)
{
    m_note->setText(text);
    setTextColor(m_note,
                 (folderIsFile() || !linkInTheWay().isEmpty()) && m_files != nullptr ? Theme::of(this).error
                                                                                     : Theme::of(this).quiet);
}

/// What can be said at once; the folder is looked into when nobody types any more.
void ExportForm::folderChanged()
{
    const bool named = !folder().isEmpty();
    for (FileChange& change : m_changes)
        change.link = false; // of the folder before
    setCanExport(m_files != nullptr && named && !folderIsFile());
    showNote(!m_refusals.empty()      ? tr("Nothing is written.")
                 : m_files == nullptr ? tr("Preparing the files …")
                                      : tr("Comparing with what is in the folder …"));
    if (m_files == nullptr)
        return; // it goes on, whatever the folder
    m_job->forget();
    m_typed.start();
}

void ExportForm::compare()
{
    m_typed.stop();
    if (m_files == nullptr)
        return;
    m_job->ask([this, files = m_files, folder = folder()](const std::atomic<bool>& stop) -> LatestJob::Answer {
        return [this, changes = changesOf(*files, folder, stop)] {
            m_changes = changes;
            showChanges();
        };
    });
}

void ExportForm::showChanges()
{
    const int row = m_list->currentRow();
    m_list->clear();
    const bool named = !folder().isEmpty();
    bool anyThere = false;
    bool anyDifferent = false;
    for (std::size_t i = 0; i < m_changes.size(); ++i) {
        const FileChange& change = m_changes[i];
        const ExportedFile& file = (*m_files)[i];
        const QString state = change.link ? tr("a link")
            : !change.there               ? tr("new")
            : change.same                 ? tr("unchanged")
            : change.large                ? tr("replaced, %1").arg(bytesText(change.bytes))
                                          : tr("+%1 −%2 lines").arg(change.diff.added).arg(change.diff.removed);
        new QListWidgetItem(QStringLiteral("%1\n%2").arg(qstr(file.name), state), m_list);
        anyThere = anyThere || change.there;
        anyDifferent = anyDifferent || !change.same;
    }
    const QString link = linkInTheWay();
    setCanExport(named && !folderIsFile() && link.isEmpty());
    showNote(!named ? tr("Name a folder.")
                 : !link.isEmpty()
                 ? tr("%1 is a link that leads out of this folder: remove it, or choose another folder.").arg(link)
                 : folderIsFile() ? tr("%1 is a file, not a folder.").arg(shownText(m_folder->text()))
                 : !anyThere      ? tr("The folder has no export yet.")
                 : anyDifferent   ? tr("Existing files are replaced.")
                                  : tr("The folder has exactly this export already."));
    m_list->setCurrentRow(std::clamp(row, 0, std::max(0, m_list->count() - 1)));
}

void ExportForm::showFile(int row)
{
    m_preview->clear();
    if (row < 0 || row >= static_cast<int>(m_changes.size()))
        return;
    const auto& [there, link, same, large, bytes, diff] = m_changes[static_cast<std::size_t>(row)];
    if (same) {
        m_preview->setPlainText(tr("Nothing changes in this file."));
        return;
    }
    showDiff(m_preview, diff.lines, there && !large, large ? tr("… of %1").arg(bytesText(bytes)) : QString());
}

void ExportForm::browse()
{
    // The chooser has an event loop of its own, in which another form may take the place of this one.
    const QPointer<ExportForm> here = this;
    const QString chosen = QFileDialog::getExistingDirectory(window(), tr("Folder of the Export"), folder());
    if (here && !chosen.isEmpty())
        m_folder->setText(QDir::toNativeSeparators(chosen));
}

} // namespace shardboard
