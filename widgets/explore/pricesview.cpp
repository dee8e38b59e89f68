// SPDX-License-Identifier: Apache-2.0
#include "widgets/explore/pricesview.h"

#include "model/design/compare.h"
#include "model/design/evaluate/evaluate.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/elidingheader.h"
#include "widgets/tables/tablecopy.h"

#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTreeWidget>

#include <cmath>
#include <utility>

namespace shardboard {

namespace {

enum PriceColumn { WhatColumn, PriceStep, PriceStepChange, PriceMemory, PriceMemoryChange, PriceColumns };
constexpr double kPriceSeconds = 60; ///< that all of it may take

QString signedSeconds(double seconds)
{
    return seconds == 0 ? QObject::tr("same")
                        : (seconds < 0 ? QString(QChar(0x2212)) : QStringLiteral("+")) + secondsText(std::abs(seconds));
}

QString signedBytes(double bytes)
{
    return bytes == 0 ? QObject::tr("same")
                      : (bytes < 0 ? QString(QChar(0x2212)) : QStringLiteral("+")) + bytesText(std::llround(std::abs(bytes)));
}

} // namespace

QString whatText(const WhatIf& one)
{
    if (one.kind == WhatIf::Kind::Replicated)
        return QObject::tr("%1 on every device").arg(qstr(withoutLayer(one.tensor)));
    const QString bytes = bytesText(std::llround(std::abs(one.bytes)));
    return one.bytes < 0 ? QObject::tr("%1 less memory").arg(bytes) : QObject::tr("%1 more memory").arg(bytes);
}

PricesView::PricesView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_job(new LatestJob(this))
    , m_opening(new LatestJob(this))
    , m_start(new QPushButton(tr("Count"), this))
    , m_text(new ElidedLabel(this))
    , m_list(new QTreeWidget(this))
    , m_empty(new QLabel(this))
{
    nameView("pricesView", tr("What it takes"));
    nameWidget(m_start, "pricesStart", {},
               tr("Search for the best layouts, then again with other memory and with each weight on every device"));
    nameWidget(m_list, "pricesList", tr("What it takes"),
               tr("A double click or Enter makes it a variant, to be compared and taken"));
    m_text->setObjectName(QStringLiteral("pricesText"));
    m_empty->setObjectName(QStringLiteral("pricesEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->setColumnCount(PriceColumns);
    m_list->setHeader(new ElidingHeader(Qt::Horizontal, m_list));
    m_list->setHeaderLabels({ tr("what if"), tr("step"), tr("difference"), tr("memory"), tr("difference") });
    for (const int column : { PriceStep, PriceStepChange, PriceMemory, PriceMemoryChange })
        m_list->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    m_list->setTextElideMode(Qt::ElideMiddle);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setTabKeyNavigation(false);
    m_list->header()->setSectionsMovable(false);
    m_list->header()->setMinimumSectionSize(24);
    makeCopyable(m_list);
    auto* top = boxLayout<QHBoxLayout>({ kPanelMargin, 6, kPanelMargin, 6 }, 8);
    top->addWidget(m_start);
    top->addWidget(m_text, 1);
    auto* list = boxLayout<QHBoxLayout>({ 8, 0, 8, 0 }, 0);
    list->addWidget(m_list);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 6 }, 0, this);
    column->addLayout(top);
    column->addLayout(list, 1);
    column->addWidget(m_empty, 1);
    connect(m_start, &QPushButton::clicked, this, [this] { isBusy() ? m_job->stop() : count(); });
    connect(m_job, &LatestJob::answered, this, &PricesView::showAnswer);
    connect(m_list, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) { open(m_list->indexOfTopLevelItem(item)); });
    connect(document, &Document::opened, this, [this] {
        m_job->forget();
        m_opening->forget();
        m_answer.reset();
        m_of.reset();
        m_problem.clear();
        showAnswer();
    });
    start();
}

PricesView::~PricesView() = default;

bool PricesView::isBusy() const { return m_job->isBusy(); }

void PricesView::count()
{
    if (!document()->hasDesign() || !document()->design().model.hasGraph() || isBusy())
        return;
    m_answer.reset();
    m_problem.clear();
    m_progress.clear();
    m_of = document()->evaluation();
    m_job->askTelling(
        [this, design = document()->design(), limit = m_limit](const std::atomic<bool>& stop, const LatestJob::Tell& tell) {
            WhatIfOptions options;
            options.optimize.memoryBytes = limit;
            options.optimize.cancelled = &stop;
            options.optimize.deadline = std::chrono::steady_clock::now()
                + std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(kPriceSeconds));
            options.progress = [&](std::size_t done, std::size_t of) {
                tell([this, done, of] {
                    m_progress = tr("%1 of %2").arg(done).arg(of);
                    m_text->setText(m_progress);
                });
            };
            auto answer = whatIf(design, options);
            return LatestJob::Answer([this, answer = std::move(answer)]() mutable {
                if (answer.ok())
                    m_answer = std::move(answer).value();
                else
                    m_problem = errorText(answer.error());
            });
        });
    showAnswer();
}

void PricesView::addRow(const QString& what, double objective, double change, double peak, double peakChange, bool feasible)
{
    auto* item = new QTreeWidgetItem(m_list);
    item->setText(WhatColumn, what);
    item->setToolTip(WhatColumn, what);
    item->setText(PriceStep, feasible ? secondsText(objective) : tr("does not fit"));
    if (feasible) {
        item->setText(PriceStepChange, signedSeconds(change));
        item->setText(PriceMemory, bytesText(std::llround(peak)));
        item->setText(PriceMemoryChange, signedBytes(peakChange));
    }
    const Theme& theme = Theme::of(this);
    for (const int column : { PriceStep, PriceStepChange, PriceMemory, PriceMemoryChange }) {
        item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
        item->setFont(column, monoFont(this, -0.5));
    }
    if (feasible && change != 0)
        item->setForeground(PriceStepChange, change < 0 ? theme.accent : theme.attention);
    item->setSizeHint(WhatColumn, { 20, rowHeight(this) });
}

void PricesView::showAnswer()
{
    m_list->clear();
    const bool graph = document()->hasDesign() && document()->design().model.hasGraph();
    if (m_answer) {
        const OptimizedDesign& best = m_answer->best;
        addRow(tr("the best layouts"), best.certificate.objective, 0, static_cast<double>(best.evaluation->plan.memory.peak), 0,
               best.feasible);
        for (const WhatIf& one : m_answer->cases)
            addRow(whatText(one), one.objective, one.change, one.peakBytes, one.peakChange, one.feasible);
    }
    m_list->setVisible(m_answer.has_value());
    m_empty->setVisible(!m_answer);
    m_start->setText(isBusy() ? tr("Stop") : tr("Count"));
    m_start->setEnabled(graph);
    m_empty->setText(!document()->hasDesign() ? tr("No design is open.")
                         : !graph             ? tr("This design has no plan to optimize.")
                         : isBusy()           ? tr("Searching …")
                         : !m_problem.isEmpty()
                         ? m_problem
                         : tr("What a GiB more, a GiB less, and each weight on every device would change of the best layouts."));
    if (!isBusy())
        m_text->setText(!m_answer                              ? QString()
                            : document()->evaluation() != m_of ? tr("of the design before the last edit")
                            : !m_answer->complete              ? tr("stopped before all were looked at")
                                                               : tr("double click: keep as a variant"));
    fitColumns();
}

/// As a variant, evaluated off the GUI thread.
void PricesView::open(int row)
{
    if (!m_answer || row < 0 || row > static_cast<int>(m_answer->cases.size()))
        return;
    const bool best = row == 0;
    const auto at = static_cast<std::size_t>(row - 1);
    if (best ? !m_answer->best.feasible : !m_answer->cases[at].feasible)
        return;
    const QString name = best ? tr("the best layouts") : whatText(m_answer->cases[at]);
    m_opening->ask([this, name, design = best ? m_answer->best.design : m_answer->cases[at].design](const std::atomic<bool>&) {
        const auto evaluation = evaluate(design, Misfits::Replicate);
        return LatestJob::Answer([this, name, design, evaluation] {
            if (evaluation.ok())
                Q_EMIT found(name, design, evaluation.value());
            else
                m_text->setText(errorText(evaluation.error()));
        });
    });
}

/// Numbers as wide as they are, the rest for what they are of.
void PricesView::fitColumns()
{
    if (m_list->topLevelItemCount() == 0)
        return;
    m_list->header()->setStretchLastSection(false);
    int left = m_list->viewport()->width();
    for (int column = PriceStep; column < PriceColumns; ++column) {
        m_list->resizeColumnToContents(column);
        m_list->setColumnWidth(column, m_list->columnWidth(column) + 8);
        left -= m_list->columnWidth(column);
    }
    m_list->setColumnWidth(WhatColumn, std::max(80, left));
}

void PricesView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    layout()->activate(); // the table has its new width only then
    fitColumns();
}

void PricesView::refresh()
{
    setTextColor(m_empty, Theme::of(this).quiet);
    showAnswer();
}

} // namespace shardboard
