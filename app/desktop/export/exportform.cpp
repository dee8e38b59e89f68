// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/export/exportform.h"

#include "app/desktop/base/difftext.h"
#include "app/desktop/export/codeview.h"
#include "model/io/exports/exportrefusals.h"
#include "model/io/targets/targets.h"
#include "model/session/document.h"
#include "widgets/controls/viewheader.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"
#include "widgets/tables/notedelegate.h"
#include "widgets/tables/tablecopy.h"

#include <QClipboard>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QPointer>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalBlocker>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace shardboard {

namespace {

constexpr std::size_t kMostProblems = 200;
constexpr int kTypedMs = 200; ///< without another key, before the folder is looked into
constexpr int kProgressMs = 1000; ///< of preparing, after which it shows that it goes on
constexpr std::int64_t kMostCopied = std::int64_t { 16 } << 20; ///< bytes of a file

} // namespace

/// What is lost stands on the ground of attention, with a sign.
class LossBox : public QWidget {
public:
    using QWidget::QWidget;

protected:
    void paintEvent(QPaintEvent*) override
    {
        const Theme& theme = Theme::of(this);
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(theme.attention, 1));
        painter.setBrush(theme.attentionFill);
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kCornerRadius, kCornerRadius);
        painter.setPen(QPen(theme.attention, 1.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter.setBrush(Qt::NoBrush);
        painter.translate(16, 11);
        painter.drawPolygon(QPolygonF({ { 8, 1 }, { 15.5, 14.5 }, { 0.5, 14.5 } }));
        painter.drawLine(QPointF(8, 6), QPointF(8, 9.5));
        painter.drawPoint(QPointF(8, 12));
    }
};

ExportForm::ExportForm(const Document& document, const ExportTarget& target, const QString& folder, QWidget* parent)
    : QWidget(parent)
    , m_job(new LatestJob(this))
    , m_title(qstr(target.title))
    , m_weights(weightCount(*document.evaluation()))
    , m_folder(new QLineEdit(QDir::toNativeSeparators(folder), this))
    , m_note(new QLabel(this))
    , m_loss(new LossBox(this))
    , m_leftOut(new QLabel(m_loss))
    , m_tick(new QLabel(this))
    , m_progress(new QProgressBar(this))
    , m_problemTitle(new QLabel(m_loss))
    , m_problems(new QListWidget(m_loss))
    , m_list(new QListWidget(this))
    , m_shown(new QWidget(this))
    , m_header(new ViewHeader(QString(), m_shown))
    , m_against(new QToolButton(m_shown))
    , m_copy(new QPushButton(tr("Copy"), m_shown))
    , m_preview(new CodeView(m_shown))
{
    setObjectName(QStringLiteral("exportForm"));
    build();
    m_typed.setSingleShot(true);
    m_typed.setInterval(kTypedMs);
    connect(&m_typed, &QTimer::timeout, this, &ExportForm::compare);
    connect(m_folder, &QLineEdit::textChanged, this, &ExportForm::folderChanged);
    connect(m_list, &QListWidget::currentRowChanged, this, &ExportForm::showFile);
    connect(m_against, &QToolButton::toggled, this, [this] { showFile(m_list->currentRow()); });
    connect(m_copy, &QPushButton::clicked, this, &ExportForm::copyFile);
    QStringList leftOut;
    for (const std::string& line : target.leftOut(document.design(), *document.evaluation()))
        leftOut << qstr(line);
    m_leftOut->setText(leftOut.size() == 1 ? tr("Not in the export: %1.").arg(leftOut.first())
                           : leftOut.isEmpty()
                           ? QString()
                           : tr("Not in the export:") + QStringLiteral("\n• ") + leftOut.join(QStringLiteral("\n• ")));
    const auto follow = [this](const QListWidgetItem* item) {
        const QString wanted = item->data(Qt::UserRole).toString();
        if (!wanted.isEmpty()) // of the whole design there is nowhere to go
            Q_EMIT weightWanted(wanted);
    };
    connect(m_problems, &QListWidget::itemActivated, this, follow);
    connect(m_problems, &QListWidget::itemClicked, this, follow);
    showBlocked();
    folderChanged();
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
        const auto stopped = [&stop] { return stop.load(); };
        auto refused = target.refusals(*design, *evaluation, stopped);
        if (refused.ok() && !refused.value().empty())
            return [this, refusals = std::move(refused).value()] { setRefusals(refusals); };
        auto made = exportDesign(target, *design, evaluation, stopped);
        if (made.cancelled())
            return {};
        if (!made.ok())
            return [this, error = made.error()] { setRefusals({ { error } }); };
        return [this, files = std::make_shared<const std::vector<ExportedFile>>(std::move(made).value())] {
            m_progress->hide();
            m_files = files;
            showBlocked();
            folderChanged();
            compare();
        };
    });
}

void ExportForm::setRefusals(std::vector<ExportRefusal> refusals)
{
    m_progress->hide();
    m_refusals = std::move(refusals);
    showBlocked();
    folderChanged();
}

void ExportForm::build()
{
    nameWidget(m_folder, "export.folder", tr("Folder"));
    m_note->setObjectName(QStringLiteral("export.note"));
    m_leftOut->setObjectName(QStringLiteral("export.leftOut"));
    m_leftOut->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_tick->setObjectName(QStringLiteral("export.tick"));
    nameWidget(m_progress, "export.progress", tr("Progress"));
    m_progress->setRange(0, 0);
    m_progress->setFixedWidth(140);
    m_progress->hide();
    m_problemTitle->setObjectName(QStringLiteral("export.problemTitle"));
    m_problemTitle->setFont(uiFont(this, 0, true));
    for (QLabel* label : { m_note, m_leftOut, m_tick, m_problemTitle }) {
        label->setTextFormat(Qt::PlainText); // they name files and pins
        label->setWordWrap(true);
        label->setMinimumWidth(1); // not as wide as the longest name in it
    }
    nameWidget(m_problems, "export.problems", tr("What stands in the way"));
    m_problems->setItemDelegate(new NoteDelegate(m_problems));
    m_problems->setResizeMode(QListView::Adjust); // texts wrap anew in another width
    m_problems->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_problems->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    nameWidget(m_list, "export.files", tr("Files to be written"));
    m_list->setMaximumWidth(static_cast<int>(180 * textScale(this)));
    m_list->setItemDelegate(new NoteDelegate(m_list));
    for (QListWidget* list : { m_problems, m_list })
        makeCopyable(list);
    nameWidget(m_preview, "export.preview", tr("File of the export"));
    nameWidget(m_against, "export.againstLast", tr("Against Last"),
               tr("What changes in the file that the folder has, instead of all of the new one"));
    m_against->setText(tr("Against Last"));
    m_against->setCheckable(true);
    m_against->setChecked(true);
    m_against->setProperty("outlined", true);
    nameWidget(m_copy, "export.copy", tr("Copy the file"), tr("Copy all of the file"));
    m_copy->setAutoDefault(false);
    m_header->setTitleMono(true);
    m_header->addRight(m_against);
    m_header->addRight(m_copy);
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
    for (QLabel* label : { m_problemTitle, m_leftOut })
        label->setContentsMargins(32, 0, 0, 0); // beside the sign
    auto* loss = boxLayout<QVBoxLayout>({ 12, 10, 12, 10 }, 6, m_loss);
    loss->addWidget(m_problemTitle);
    loss->addWidget(m_problems, 1);
    loss->addWidget(m_leftOut);
    auto* code = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0);
    m_header->layout()->setContentsMargins(4, 0, 0, 6);
    code->addWidget(m_header);
    code->addWidget(m_preview, 1);
    auto* middle = boxLayout<QHBoxLayout>({ 0, 0, 0, 0 }, 8, m_shown);
    middle->addWidget(m_list, 2);
    middle->addLayout(code, 7);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 8, this);
    column->addLayout(top);
    column->addWidget(m_tick);
    column->addWidget(m_loss);
    column->addWidget(m_shown, 1);
    auto* bottom = new QHBoxLayout;
    bottom->addWidget(m_note, 1);
    bottom->addWidget(m_progress);
    column->addLayout(bottom);
}

/// The files, or what stands in their way; what is lost is said first.
void ExportForm::showBlocked()
{
    const bool blocked = !m_refusals.empty();
    const bool leftOut = !blocked && !m_leftOut->text().isEmpty();
    m_problemTitle->setVisible(blocked);
    m_problems->setVisible(blocked);
    m_shown->setVisible(!blocked);
    m_leftOut->setVisible(leftOut);
    m_loss->setVisible(blocked || leftOut);
    m_loss->setSizePolicy(QSizePolicy::Preferred, blocked ? QSizePolicy::Expanding : QSizePolicy::Maximum);
    m_tick->setVisible(m_files != nullptr && !leftOut);
    m_tick->setText(
        tr("✓ Nothing is lost: %1 has all %2 as the design does.").arg(m_title, counted(m_weights, tr("weight"), tr("weights"))));
    setTextColor(m_tick, Theme::of(this).good);
    if (blocked)
        showProblems();
}

/// One line a weight; Return or a double click goes to it.
void ExportForm::showProblems()
{
    m_problems->clear();
    for (std::size_t i = 0; i < m_refusals.size() && i < kMostProblems; ++i) {
        const Error& error = m_refusals[i].error;
        auto* item = new QListWidgetItem(errorText(error), m_problems);
        if (m_refusals[i].tensors > 0) {
            item->setData(Qt::UserRole, verbatim(error.where));
            item->setData(NoteDelegate::TitleRole, qstr(error.where));
        }
        item->setData(NoteDelegate::TextRole, m_refusals[i].tensors > 0 ? problemText(error) : errorText(error));
    }
    const std::int64_t tensors = refusedTensors(m_refusals);
    m_problemTitle->setText(m_refusals.front().tensors == 0
                                ? tr("The design cannot be exported as it is.")
                                : tr("%1 cannot be exported to %2 as the design is. Choose one to go to it.")
                                      .arg(counted(tensors, tr("weight"), tr("weights")), m_title));
    setTextColor(m_problemTitle, Theme::of(this).attention);
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
        auto* item = new QListWidgetItem(QStringLiteral("%1\n%2").arg(qstr(file.name), state), m_list);
        item->setData(NoteDelegate::TitleRole, qstr(file.name));
        item->setData(NoteDelegate::TextRole, state);
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
    const bool known = row >= 0 && row < static_cast<int>(m_changes.size());
    const FileChange* change = known ? &m_changes[static_cast<std::size_t>(row)] : nullptr;
    const bool other = known && change->there && !change->same && !change->large && !change->link;
    m_header->setTitle(known ? qstr((*m_files)[static_cast<std::size_t>(row)].name) : QString());
    m_header->setDetail(!known ? QString() : tr("%1 · %2").arg(m_title, bytesText(change->bytes)));
    m_against->setVisible(other);
    m_against->setEnabled(other);
    m_copy->setEnabled(known && change->bytes <= kMostCopied);
    m_preview->setPlain();
    if (!known)
        return;
    const QString more = change->large ? tr("… of %1").arg(bytesText(change->bytes)) : QString();
    if (other && m_against->isChecked())
        showDiff(m_preview, change->diff.lines, true, more);
    else
        m_preview->showCode(shownLines(change->text), more);
    if (!m_wanted.isEmpty())
        m_preview->markLineWith(m_wanted);
}

bool ExportForm::againstLast() const { return m_against->isChecked(); }

void ExportForm::setAgainstLast(bool on) { m_against->setChecked(on); }

void ExportForm::copyFile() const
{
    const int row = m_list->currentRow();
    if (m_files != nullptr && row >= 0 && row < static_cast<int>(m_files->size()))
        QGuiApplication::clipboard()->setText(QString::fromStdString(textOf((*m_files)[static_cast<std::size_t>(row)].text)));
}

/// In the file that is shown, or else in another one that has it.
bool ExportForm::showLine(const QStringList& texts)
{
    if (m_preview->markLineWith(texts))
        return true;
    for (const QString& text : texts)
        for (std::size_t i = 0; i < m_changes.size(); ++i)
            if (!text.isEmpty() && m_changes[i].text.contains(text) && (*m_files)[i].name != "shards.json") {
                m_list->setCurrentRow(static_cast<int>(i));
                return true;
            }
    return false;
}

void ExportForm::showWeight(const QString& name, const QStringList& texts)
{
    m_wanted = texts;
    if (m_files != nullptr && !m_changes.empty())
        showLine(texts);
    const QSignalBlocker quiet(m_problems);
    for (int row = 0; row < m_problems->count(); ++row)
        if (m_problems->item(row)->data(Qt::UserRole).toString() == name)
            m_problems->setCurrentRow(row);
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
