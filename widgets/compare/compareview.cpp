// SPDX-License-Identifier: Apache-2.0
#include "widgets/compare/compareview.h"

#include "model/design/evaluate/evaluate.h"
#include "model/io/design/designfile.h"
#include "widgets/controls/choicebox.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"
#include "widgets/tables/elidingheader.h"
#include "widgets/tables/tablecopy.h"
#include "widgets/tables/weighthover.h"
#include "widgets/tables/wrappedrows.h"

#include <QFile>
#include <QFileInfo>
#include <QHash>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QResizeEvent>
#include <QScrollArea>
#include <QSplitter>
#include <QTreeWidget>
#include <QUndoStack>

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardboard {

namespace {

enum CostColumn { CostName, CostBefore, CostAfter, CostDifference, CostChange, CostVerdict, CostColumns };
enum ChangeColumn { ChangeName, ChangeBefore, ChangeAfter, ChangeStep, ChangeMemory, ChangeColumns };

QString valueText(CostLine::Unit unit, double value)
{
    switch (unit) {
    case CostLine::Unit::Seconds:
        return secondsText(value);
    case CostLine::Unit::Bytes:
        return bytesText(std::llround(value));
    case CostLine::Unit::Count:
        return countText(std::llround(value));
    case CostLine::Unit::Rate:
    case CostLine::Unit::Share:
        return qstr(costText(unit, value));
    }
    return {};
}

QString exactText(CostLine::Unit unit, double value)
{
    switch (unit) {
    case CostLine::Unit::Seconds:
        return QStringLiteral("%1 s").arg(value, 0, 'g', 9);
    case CostLine::Unit::Bytes:
        return exactBytesText(std::llround(value));
    default:
        return shardboard::exactText(value);
    }
}

/// With a real minus sign, as elsewhere in the window.
QString signedText(const std::string& text)
{
    QString out = qstr(text);
    if (out.startsWith(QLatin1Char('-')))
        out.replace(0, 1, QChar(0x2212));
    return out;
}

constexpr int kPlainRole = Qt::UserRole + 1; ///< a difference without a mark, a value without the one after it
constexpr int kJoinedBelow = 420;
constexpr int kRow = 24;
constexpr int kLeastHeading = 60; ///< pixels of a design's name above its numbers
constexpr int kNarrow = 420; ///< the changes have no column for their memory below this width
constexpr std::size_t kMostCounted = 200; ///< steps; of more, which are planned one by one, no worth is told

QString differenceText(const CostLine& line)
{
    if (line.verdict() == CostLine::Verdict::Same)
        return QObject::tr("same");
    if (line.unit == CostLine::Unit::Share)
        return signedText(costDifferenceText(line.unit, line.difference()));
    return (line.difference() < 0 ? QChar(0x2212) : QLatin1Char('+')) + valueText(line.unit, std::abs(line.difference()));
}

QString verdictText(CostLine::Verdict verdict)
{
    return verdict == CostLine::Verdict::Better ? QObject::tr("✓ better")
        : verdict == CostLine::Verdict::Worse   ? QObject::tr("✗ worse")
                                                : QString();
}

QTreeWidget* table(const QString& name, const QString& accessible, int columns, QWidget* parent)
{
    auto* tree = new QTreeWidget(parent);
    tree->setObjectName(name);
    tree->setAccessibleName(accessible);
    tree->setColumnCount(columns);
    tree->setRootIsDecorated(false);
    tree->setUniformRowHeights(true);
    tree->setTabKeyNavigation(false);
    tree->setTextElideMode(Qt::ElideRight);
    tree->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    tree->setHeader(new ElidingHeader(Qt::Horizontal, tree));
    tree->header()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    tree->header()->setSectionsClickable(false);
    tree->header()->setMinimumSectionSize(24);
    tree->header()->setSectionsMovable(false);
    makeCopyable(tree);
    return tree;
}

} // namespace

CompareView::CompareView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_counting(new LatestJob(this))
    , m_choice(new ChoiceBox(false, this))
    , m_keep(new QPushButton(tr("Keep"), this))
    , m_open(new QPushButton(tr("File …"), this))
    , m_take(new QPushButton(tr("Go Back to It"), this))
    , m_forget(new QPushButton(tr("Forget"), this))
    , m_verdict(new QLabel(this))
    , m_empty(new QLabel(this))
    , m_same(new QLabel(this))
    , m_split(new QSplitter(Qt::Horizontal, this))
    , m_costs(table(QStringLiteral("compareCosts"), tr("What it costs"), CostColumns, this))
    , m_changes(table(QStringLiteral("compareChanges"), tr("What differs"), ChangeColumns, this))
    , m_acceptedText(new QLabel(this))
    , m_accept(new QPushButton(this))
{
    nameView("compareView", tr("Compare"));
    buildLayout();
    new WeightHover(m_changes, selection(), [this](const QModelIndex& index) {
        const auto row = static_cast<std::size_t>(index.row());
        return row < m_changed.size() ? m_changed[row] : std::vector<int>();
    });
    connect(m_changes, &QTreeWidget::itemChanged, this, &CompareView::checkStep);
    connect(m_accept, &QPushButton::clicked, this, &CompareView::acceptSteps);
    connect(m_keep, &QPushButton::clicked, this, &CompareView::keep);
    connect(m_open, &QPushButton::clicked, this, &CompareView::fileWanted);
    connect(m_take, &QPushButton::clicked, this, &CompareView::takeOther);
    connect(m_forget, &QPushButton::clicked, this, &CompareView::forgetOther);
    connect(m_choice, &QComboBox::activated, this, &CompareView::chooseOther);
    // Told when a document takes the place of another one (and when it is saved under a name).
    connect(document, &Document::filePathChanged, this, [this] { startAnew(); });
    start();
    startAnew();
}

void CompareView::buildLayout()
{
    nameWidget(m_choice, "compareOther", tr("Compare with"), tr("The design that the current one is compared with"));
    nameWidget(m_keep, "compareKeep", {}, tr("Keep the design as it is now, to compare what follows with it"));
    nameWidget(m_open, "compareOpen", {}, tr("Compare with a design in a file"));
    nameWidget(m_take, "compareTake", {}, tr("Makes the variant the current design; undo brings this one back"));
    nameWidget(m_forget, "compareForget", {}, tr("Removes the variant from the list"));
    m_verdict->setObjectName(QStringLiteral("compareVerdict"));
    m_verdict->setTextFormat(Qt::PlainText);
    m_verdict->setWordWrap(true);
    m_verdict->setContentsMargins(kPanelMargin, 0, kPanelMargin, 4);
    m_empty->setObjectName(QStringLiteral("compareEmpty"));
    m_same->setObjectName(QStringLiteral("compareSame"));
    for (QLabel* label : { m_empty, m_same }) {
        label->setAlignment(Qt::AlignCenter);
        label->setWordWrap(true);
        label->setContentsMargins(kPanelMargin, 8, kPanelMargin, 8);
    }
    auto* top = boxLayout<QHBoxLayout>({ kPanelMargin, 6, kPanelMargin, 6 }, 8);
    top->addWidget(m_choice);
    top->addStretch(1);
    top->addWidget(m_keep);
    top->addWidget(m_open);
    top->addWidget(m_take);
    top->addWidget(m_forget);
    auto* right = new QWidget(m_split);
    auto* rightColumn = new QVBoxLayout(right);
    rightColumn->setContentsMargins(8, 0, 0, 0);
    m_acceptedText->setObjectName(QStringLiteral("compareAccepted"));
    nameWidget(m_accept, "compareAccept", {},
               tr("Makes A with the checked differences the current design, as one step of the history"));
    auto* accepted = new QHBoxLayout;
    accepted->setSpacing(8);
    accepted->addStretch(1);
    accepted->addWidget(m_acceptedText);
    accepted->addWidget(m_accept);
    rightColumn->addWidget(m_changes, 1);
    rightColumn->addLayout(accepted);
    m_sameArea = new QScrollArea(this); // large text in a low panel
    m_sameArea->setWidgetResizable(true);
    m_sameArea->setFrameShape(QFrame::NoFrame);
    m_sameArea->setFocusPolicy(Qt::NoFocus);
    m_sameArea->setWidget(m_same);
    rightColumn->addWidget(m_sameArea, 1);
    m_split->addWidget(m_costs);
    m_split->addWidget(right);
    m_split->setStretchFactor(0, 9);
    m_split->setStretchFactor(1, 11);
    m_split->setSizes({ 450, 550 });
    m_split->setChildrenCollapsible(false);
    m_split->setHandleWidth(1);
    auto* tables = new QHBoxLayout;
    tables->setContentsMargins(8, 0, 8, 0);
    tables->addWidget(m_split);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 6 }, 0, this);
    column->addLayout(top);
    column->addWidget(m_verdict);
    column->addLayout(tables, 1);
    column->addWidget(m_empty, 1);
    connect(m_split, &QSplitter::splitterMoved, this, [this] { fitColumns(); });
}

QSize CompareView::sizeHint() const { return { 720, 240 }; }

void CompareView::refresh()
{
    const Theme& theme = Theme::of(this);
    for (QLabel* label : { m_empty, m_same, m_verdict, m_acceptedText })
        setTextColor(label, theme.quiet);
    m_empty->setText(tr("No design is open."));
    const auto evaluation = document()->evaluation();
    for (QWidget* widget : std::initializer_list<QWidget*> { m_choice, m_keep, m_open, m_take, m_forget, m_verdict, m_split })
        widget->setVisible(evaluation != nullptr);
    m_empty->setVisible(evaluation == nullptr);
    showComparison();
}

/// Of a document that was just opened, and has no edits: it is what the design is compared with at first.
void CompareView::startAnew()
{
    const auto evaluation = document()->evaluation();
    if (!evaluation || document()->undoStack()->count() > 0 || (!m_others.empty() && m_others.front().evaluation == evaluation))
        return;
    m_others.assign(1, { tr("As opened"), document()->design(), evaluation });
    m_chosen = 0;
    m_shown = -1;
    m_kept = 0;
    showOthers();
    showComparison();
}

void CompareView::keep()
{
    if (!document()->hasDesign())
        return;
    const QString what = document()->undoStack()->undoText();
    m_others.push_back({ what.isEmpty() ? tr("Kept %1").arg(++m_kept) : tr("Kept %1: %2").arg(++m_kept).arg(what),
                         document()->design(), document()->evaluation() });
    m_chosen = otherCount() - 1;
    showOthers();
    showComparison();
}

Status CompareView::open(const QString& path)
{
    if (!document()->hasDesign())
        return inputError({}, "no design is open to compare with", "open one first");
    const std::string file = QFile::encodeName(path).toStdString();
    auto design = readDesign(file);
    if (!design.ok())
        return design.error();
    const auto evaluation = evaluate(design.value(), Misfits::Replicate);
    if (!evaluation.ok()) {
        Error error = evaluation.error();
        error.where = error.where.empty() ? file : file + ":" + error.where;
        return error;
    }
    m_others.push_back({ shownText(QFileInfo(path).fileName()), std::move(design).value(), evaluation.value() });
    m_chosen = otherCount() - 1;
    showOthers();
    showComparison();
    return done();
}

void CompareView::chooseOther(int index)
{
    if (index < -1 || index >= otherCount())
        return;
    m_chosen = index;
    m_choice->setCurrentIndex(index);
    showComparison();
    Q_EMIT chosenChanged();
}

void CompareView::chooseShown(int index)
{
    if (index < -1 || index >= otherCount())
        return;
    m_shown = index;
    showComparison();
    Q_EMIT chosenChanged();
}

CompareView::Side CompareView::side(int index) const
{
    if (index < 0)
        return { document()->design(), *document()->evaluation(), tr("now") };
    const Other& other = m_others[static_cast<std::size_t>(index)];
    return { other.design, *other.evaluation,
             index == 0 ? tr("as opened") : other.name.section(QLatin1Char(':'), 0, 0).section(QLatin1Char(','), 0, 0) };
}

void CompareView::setHovered(int index)
{
    if (index == m_hovered || index >= otherCount())
        return;
    m_hovered = index;
    Q_EMIT hoveredChanged(index);
}

int CompareView::toTake() const { return m_shown >= 0 ? m_shown : m_chosen; }

void CompareView::take(int index)
{
    if (!document()->hasDesign() || index < 0 || index >= otherCount())
        return;
    const Other other = m_others[static_cast<std::size_t>(index)]; // the list may change while views follow the edit
    const int shown = std::exchange(m_shown, -1);
    const Status status = document()->edit(other.design, tr("Go back to “%1”").arg(other.name), Misfits::Replicate);
    if (!status.ok()) {
        m_shown = shown;
        Q_EMIT refused(errorText(status.error()));
    }
    Q_EMIT chosenChanged();
}

void CompareView::takeOther() { take(toTake()); }
void CompareView::forgetOther() { forget(toTake()); }

void CompareView::forget(int index)
{
    if (index <= 0 || index >= otherCount())
        return;
    m_others.erase(m_others.begin() + index);
    setHovered(kNoVariant);
    if (m_chosen >= index)
        --m_chosen;
    if (m_shown >= index)
        m_shown = m_shown == index ? -1 : m_shown - 1;
    showOthers();
    showComparison();
}

void CompareView::rename(int index, const QString& name)
{
    if (index < 0 || index >= otherCount() || name.trimmed().isEmpty())
        return;
    Other& other = m_others[static_cast<std::size_t>(index)];
    if (other.name == name.trimmed())
        return;
    other.name = name.trimmed();
    other.found = false; // what a person names is theirs
    showOthers();
    showComparison();
}

void CompareView::addVariant(const QString& name, const Design& design, std::shared_ptr<const Evaluation> evaluation)
{
    const auto known = std::find_if(m_others.begin(), m_others.end(), [&](const Other& other) {
        return other.found && other.name == name && other.design.mesh == design.mesh;
    });
    const bool compared = known != m_others.end() && (known - m_others.begin() == m_chosen || known - m_others.begin() == m_shown);
    if (known != m_others.end())
        *known = { name, design, std::move(evaluation), true };
    else
        m_others.push_back({ name, design, std::move(evaluation), true });
    showOthers();
    if (compared)
        showComparison();
}

void CompareView::showOthers()
{
    m_choice->clear();
    m_choice->setPlaceholderText(tr("now"));
    for (const Other& other : m_others)
        m_choice->addItem(other.name);
    m_choice->setCurrentIndex(m_chosen);
    m_choice->setFixedWidth(std::clamp(m_choice->widestEntry(), 110, 240));
    Q_EMIT othersChanged();
}

void CompareView::showComparison()
{
    m_changes->clear();
    m_changed.clear();
    m_comparison = {};
    m_counting->forget();
    m_steps.clear();
    m_accepted.clear();
    m_worth.clear();
    if (!document()->hasDesign() || std::max(m_chosen, m_shown) >= otherCount()) {
        m_costs->clear();
        return;
    }
    const Side before = side(m_chosen);
    const Side after = side(m_shown);
    m_comparison = compareDesigns(before.design, before.evaluation, after.design, after.evaluation);
    m_take->setText(m_shown >= 0 ? tr("Take It") : tr("Go Back to It"));
    m_take->setEnabled(toTake() >= 0 && (m_shown >= 0 || !m_comparison.same()));
    m_forget->setEnabled(toTake() > 0);
    showCosts(before.name, after.name);
    showChanges(before.name, after.name);
    const CostLine* step = m_comparison.cost("step_seconds");
    const CostLine* memory = m_comparison.cost("memory_peak_bytes");
    QStringList parts;
    if (m_comparison.same())
        parts << tr("no difference");
    else {
        if (step && step->after > 0 && step->before > 0)
            parts << stepDeltaText(step->before, step->after);
        if (memory)
            parts << tr("%1 a device").arg(bytesDeltaText(std::llround(memory->before), std::llround(memory->after)));
        parts << (m_comparison.changes.size() == 1 ? tr("1 difference") : tr("%1 differences").arg(m_comparison.changes.size()));
    }
    for (const std::string& note : m_comparison.notes)
        parts << qstr(note);
    m_verdict->setText(parts.join(QStringLiteral(" · ")));
    m_verdict->setToolTip(m_verdict->text());
    fitColumns();
}

void CompareView::showCosts(const QString& before, const QString& after)
{
    const Theme& theme = Theme::of(this);
    m_costs->setHeaderLabels({ tr("what it costs"), before, after, tr("difference"), QString(), QString() });
    for (const int column : { CostBefore, CostAfter, CostDifference, CostChange })
        m_costs->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    while (m_costs->topLevelItemCount() > static_cast<int>(m_comparison.costs.size()))
        delete m_costs->topLevelItem(m_costs->topLevelItemCount() - 1);
    for (std::size_t row = 0; row < m_comparison.costs.size(); ++row) { // rows stay: after an edit few of their texts are others
        const CostLine& line = m_comparison.costs[row];
        QTreeWidgetItem* item = m_costs->topLevelItem(static_cast<int>(row));
        if (item == nullptr)
            item = new QTreeWidgetItem(m_costs);
        const CostLine::Verdict verdict = line.verdict();
        item->setText(CostName, (line.part ? QStringLiteral("    ") : QString()) + qstr(line.name));
        item->setText(CostBefore, valueText(line.unit, line.before));
        item->setText(CostAfter, valueText(line.unit, line.after));
        item->setData(CostDifference, kPlainRole, differenceText(line)); // which fitCosts() shows
        item->setText(CostChange,
                      verdict == CostLine::Verdict::Same || line.unit == CostLine::Unit::Share
                          ? QString()
                          : signedText(changeText(line.change())));
        item->setText(CostVerdict, verdictText(verdict));
        item->setData(CostName, Qt::UserRole, qstr(line.key));
        item->setToolTip(CostBefore, exactText(line.unit, line.before));
        item->setToolTip(CostAfter, exactText(line.unit, line.after));
        item->setToolTip(CostDifference, exactText(line.unit, line.difference()));
        item->setToolTip(CostName, qstr(line.name));
        for (const int column : { CostBefore, CostAfter, CostDifference, CostChange }) {
            item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
            item->setFont(column, monoFont(this, -0.5));
        }
        item->setFont(CostName, uiFont(this, 0, !line.part));
        const QVariant marked = verdict == CostLine::Verdict::Worse ? QVariant(QBrush(theme.attention))
            : verdict == CostLine::Verdict::Better                  ? QVariant(QBrush(theme.accent))
                                                                    : QVariant();
        for (const int column : { CostDifference, CostChange, CostVerdict })
            item->setData(column, Qt::ForegroundRole, marked);
        if (verdict == CostLine::Verdict::Same)
            item->setForeground(CostDifference, theme.quiet);
        item->setData(CostName, Qt::ForegroundRole, line.part ? QVariant(QBrush(theme.quiet)) : QVariant());
    }
}

void CompareView::showChanges(const QString& before, const QString& after)
{
    const bool filling = std::exchange(m_filling, true);
    const Side a = side(m_chosen);
    const Side b = side(m_shown);
    m_steps = stepsBetween(a.design, a.evaluation, b.design, b.evaluation);
    m_accepted.assign(m_steps.size(), true);
    m_changes->setHeaderLabels({ tr("tensor or choice"), before, after, tr("step"), tr("memory") });
    m_changes->headerItem()->setData(ChangeBefore, kPlainRole, before);
    m_changes->headerItem()->setToolTip(ChangeStep, tr("What it adds to those above it that are checked, from top to bottom"));
    for (const int column : { ChangeStep, ChangeMemory })
        m_changes->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    QHash<QString, std::vector<int>> weights;
    const auto evaluation = document()->evaluation();
    for (std::size_t i = 0; i < evaluation->weights.size(); ++i)
        weights[qstr(evaluation->weights[i].spec.name)].push_back(static_cast<int>(i));
    for (std::size_t i = 0; i < m_steps.size(); ++i) {
        const DesignStep& step = m_steps[i];
        auto* item = new QTreeWidgetItem(m_changes);
        m_accepted[i] = !step.byHand;
        m_changed.push_back(step.tensor.empty() ? std::vector<int>() : weights.value(qstr(step.tensor)));
        item->setFlags(item->flags() | Qt::ItemIsUserCheckable);
        item->setCheckState(ChangeName, m_accepted[i] ? Qt::Checked : Qt::Unchecked);
        item->setText(ChangeName, (step.needs >= 0 ? QStringLiteral("    ") : QString()) + breakable(qstr(step.name)));
        item->setText(ChangeBefore, step.before.empty() ? QStringLiteral("–") : breakable(qstr(step.before)));
        item->setData(ChangeBefore, kPlainRole, item->text(ChangeBefore));
        item->setText(ChangeAfter, step.after.empty() ? QStringLiteral("–") : breakable(qstr(step.after)));
        QString tip = qstr(step.tensor.empty() ? step.name : step.tensor);
        if (step.needs >= 0)
            tip += QLatin1Char('\n') + tr("needs %1").arg(qstr(m_steps[static_cast<std::size_t>(step.needs)].name));
        if (step.byHand)
            tip += QLatin1Char('\n') + tr("decided by hand");
        item->setToolTip(ChangeName, tip);
        for (const int column : { ChangeName, ChangeBefore, ChangeAfter })
            item->setData(column, Qt::AccessibleTextRole, unbroken(item->text(column)).trimmed());
        for (const int column : { ChangeBefore, ChangeAfter, ChangeStep, ChangeMemory })
            item->setFont(column, monoFont(this, -0.5));
        for (const int column : { ChangeBefore, ChangeAfter })
            item->setToolTip(column, unbroken(item->text(column)));
        for (const int column : { ChangeStep, ChangeMemory })
            item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    }
    m_filling = filling;
    m_changes->setVisible(!m_steps.empty());
    m_accept->setVisible(!m_steps.empty());
    m_acceptedText->setVisible(!m_steps.empty());
    m_sameArea->setVisible(m_steps.empty());
    m_same->setText(m_shown < 0 ? tr("Both designs are the same. Edit this one to see the difference here.")
                                : tr("Both designs are the same."));
    showWorth();
    countWorth();
}

/// Off the GUI thread: each step is planned.
void CompareView::countWorth()
{
    if (m_steps.empty() || m_steps.size() > kMostCounted)
        return;
    const Side a = side(m_chosen);
    const Side b = side(m_shown);
    // Of the evaluation only the layouts of the weights are asked for, but who holds it keeps it alive.
    const auto held = m_shown < 0 ? document()->evaluation() : m_others[static_cast<std::size_t>(m_shown)].evaluation;
    m_counting->ask(
        [this, before = a.design, after = b.design, held, steps = m_steps, accepted = m_accepted](const std::atomic<bool>& stop) {
            auto worth = worthOfSteps(before, after, *held, steps, accepted, &stop);
            return LatestJob::Answer([this, worth = std::move(worth)]() mutable {
                m_worth = std::move(worth);
                showWorth();
                fitChanges();
            });
        });
}

void CompareView::showWorth()
{
    const bool filling = std::exchange(m_filling, true);
    const Theme& theme = Theme::of(this);
    const std::vector<bool> taken = takenSteps(m_steps, m_accepted);
    double seconds = 0;
    double bytes = 0;
    std::size_t count = 0;
    bool known = m_worth.size() == m_steps.size();
    for (std::size_t i = 0; i < m_steps.size(); ++i) {
        QTreeWidgetItem* item = m_changes->topLevelItem(static_cast<int>(i));
        const bool counted = i < m_worth.size();
        const bool refused = counted && !m_worth[i].refused.empty();
        count += taken[i] ? 1U : 0U;
        if (taken[i] && counted) {
            known = known && !refused;
            seconds += m_worth[i].seconds;
            bytes += m_worth[i].bytes;
        }
        const auto text = [&](double value, CostLine::Unit unit) {
            return !counted && m_steps.size() <= kMostCounted ? QStringLiteral("…")
                : !counted || refused                         ? QStringLiteral("–")
                                      : differenceText({ {}, {}, unit, CostLine::Better::Lower, 0, value, false });
        };
        item->setText(ChangeStep, text(counted ? m_worth[i].seconds : 0, CostLine::Unit::Seconds));
        item->setText(ChangeMemory, text(counted ? m_worth[i].bytes : 0, CostLine::Unit::Bytes));
        item->setToolTip(ChangeStep,
                         refused       ? toldText(m_worth[i].refused)
                             : counted ? tr("%1, %2 a device").arg(item->text(ChangeStep), item->text(ChangeMemory))
                                       : QString());
        for (int column = 0; column < ChangeColumns; ++column)
            item->setForeground(column, taken[i] ? theme.text : theme.quiet);
    }
    QString sum = tr("%1 of %2").arg(count).arg(m_steps.size());
    if (known)
        sum += tr(": %1, %2")
                   .arg(differenceText({ {}, {}, CostLine::Unit::Seconds, CostLine::Better::Lower, 0, seconds, false }),
                        differenceText({ {}, {}, CostLine::Unit::Bytes, CostLine::Better::Lower, 0, bytes, false }));
    m_acceptedText->setText(sum);
    m_accept->setText(count == 1 ? tr("Accept 1 Change") : tr("Accept %1 Changes").arg(count));
    // With all of them it is B, which may be the design that is there.
    m_accept->setEnabled(count > 0 && !(m_shown < 0 && count == m_steps.size()));
    m_filling = filling;
}

void CompareView::checkStep(QTreeWidgetItem* item, int column)
{
    const int row = m_changes->indexOfTopLevelItem(item);
    if (m_filling || column != ChangeName || row < 0 || row >= static_cast<int>(m_accepted.size()))
        return;
    m_accepted[static_cast<std::size_t>(row)] = item->checkState(ChangeName) == Qt::Checked;
    m_worth.clear();
    showWorth();
    countWorth();
}

void CompareView::acceptSteps()
{
    if (!document()->hasDesign() || m_steps.empty())
        return;
    const Side a = side(m_chosen);
    const Side b = side(m_shown);
    const std::vector<bool> taken = takenSteps(m_steps, m_accepted);
    const auto count = std::count(taken.begin(), taken.end(), true);
    const Design edited = withSteps(a.design, b.design, b.evaluation, m_steps, m_accepted);
    const QString what =
        count == 1 ? tr("Accept 1 change of “%1”").arg(b.name) : tr("Accept %1 changes of “%2”").arg(count).arg(b.name);
    const Status status = document()->edit(edited, what, Misfits::Replicate);
    if (!status.ok())
        Q_EMIT refused(errorText(status.error()));
}

void CompareView::fitColumns()
{
    if (m_costs->topLevelItemCount() == 0)
        return;
    fitCosts();
    fitChanges();
}

/// Numbers as wide as they are, the rest for names.
void CompareView::fitCosts()
{
    const int leastName = std::max(static_cast<int>(130 * textScale(this)), m_costs->header()->sectionSizeHint(CostName));
    m_costs->header()->setStretchLastSection(false);
    for (int row = 0; row < m_costs->topLevelItemCount(); ++row) {
        QTreeWidgetItem* item = m_costs->topLevelItem(row);
        item->setText(CostDifference, item->data(CostDifference, kPlainRole).toString());
    }
    int left = m_costs->viewport()->width();
    for (int column = CostBefore; column < CostColumns; ++column) {
        m_costs->setColumnHidden(column, false);
        m_costs->resizeColumnToContents(column);
        left -= m_costs->columnWidth(column);
    }
    // A long name of a design is no reason to cut those of what it costs.
    const QAbstractItemView* cells = m_costs;
    for (const int column : { CostAfter, CostBefore }) {
        const int values = std::max(cells->sizeHintForColumn(column), static_cast<int>(kLeastHeading * textScale(this)));
        if (left < leastName && values < m_costs->columnWidth(column)) {
            left += m_costs->columnWidth(column) - values;
            m_costs->setColumnWidth(column, values);
        }
    }
    // Where there is no room for all, the share of the change goes first, then the word for it, of which a mark stays; names wrap
    // before a number goes.
    const int wholeNames = cells->sizeHintForColumn(CostName) + 8;
    for (const auto& [column, needed] :
         { std::pair(CostChange, wholeNames), std::pair(CostVerdict, leastName), std::pair(CostBefore, leastName) }) {
        bool empty = true;
        for (int row = 0; row < m_costs->topLevelItemCount(); ++row)
            empty = empty && m_costs->topLevelItem(row)->text(column).isEmpty();
        if (empty || left < needed) {
            left += m_costs->columnWidth(column);
            m_costs->setColumnHidden(column, true);
            if (column != CostVerdict)
                continue;
            for (int row = 0; row < m_costs->topLevelItemCount(); ++row) {
                QTreeWidgetItem* item = m_costs->topLevelItem(row);
                const QString mark = item->text(CostVerdict).section(QLatin1Char(' '), 0, 0);
                item->setText(CostDifference,
                              (mark.isEmpty() ? QString() : mark + QLatin1Char(' '))
                                  + item->data(CostDifference, kPlainRole).toString());
            }
            left += m_costs->columnWidth(CostDifference);
            m_costs->resizeColumnToContents(CostDifference);
            left -= m_costs->columnWidth(CostDifference);
        }
    }
    m_costs->setColumnWidth(CostName, std::max(60, left));
    wrapRows(m_costs, kRow);
}

void CompareView::fitChanges()
{
    const bool filling = std::exchange(m_filling, true);
    m_changes->header()->setStretchLastSection(false);
    m_changes->resizeColumnToContents(ChangeName);
    int room = m_changes->viewport()->width();
    // In the least room names and values go before the memory, which the tool tip of the step has, too.
    const bool narrow = room < static_cast<int>(kNarrow * textScale(this));
    m_changes->setColumnHidden(ChangeMemory, narrow);
    for (const int column : { ChangeStep, ChangeMemory }) {
        if (m_changes->isColumnHidden(column))
            continue;
        m_changes->resizeColumnToContents(column);
        m_changes->setColumnWidth(column, m_changes->columnWidth(column) + 4);
        room -= m_changes->columnWidth(column);
    }
    // In little room what was and what is stand in one column, so that neither is cut short.
    const bool joined = room < kJoinedBelow;
    const int named = m_changes->columnWidth(ChangeName) + 8;
    m_changes->setColumnHidden(ChangeAfter, joined);
    const auto show = [joined](QTreeWidgetItem* item) {
        const QString before = item->data(ChangeBefore, kPlainRole).toString();
        item->setText(ChangeBefore, joined ? before + QStringLiteral(" → ") + item->text(ChangeAfter) : before);
    };
    show(m_changes->headerItem());
    for (int row = 0; row < m_changes->topLevelItemCount(); ++row)
        show(m_changes->topLevelItem(row));
    // What values do not need names have.
    int needed = 0;
    for (const int column : { ChangeBefore, ChangeAfter })
        if (!m_changes->isColumnHidden(column)) {
            m_changes->resizeColumnToContents(column);
            needed = std::max(needed, m_changes->columnWidth(column) * (joined ? 1 : 2));
        }
    m_changes->setColumnWidth(ChangeName, std::min(named, std::max(room * (joined ? 45 : 36) / 100, room - needed)));
    const int values = room - m_changes->columnWidth(ChangeName);
    m_changes->setColumnWidth(ChangeBefore, joined ? values : values / 2);
    m_changes->setColumnWidth(ChangeAfter, values - values / 2);
    m_filling = filling;
    wrapRows(m_changes, kRow);
    // A row at least, whatever else wants the room of a low panel.
    const int row = std::max(kRow, fontMetrics().lineSpacing() + 8);
    m_changes->setMinimumHeight(m_changes->header()->sizeHint().height() + row + 2 * m_changes->frameWidth());
}

void CompareView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    // Side by side, or one below the other.
    const bool beside = event->size().width() >= static_cast<int>(560 * textScale(this));
    if (const auto wanted = beside ? Qt::Horizontal : Qt::Vertical; wanted != m_split->orientation()) {
        m_split->setOrientation(wanted);
        m_split->setSizes({ 450, 550 });
    }
    layout()->activate(); // the tables have their new width only then
    fitColumns();
}

} // namespace shardboard
