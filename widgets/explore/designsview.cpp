// SPDX-License-Identifier: Apache-2.0
#include "widgets/explore/designsview.h"

#include "widgets/controls/elidedlabel.h"
#include "widgets/controls/viewheader.h"
#include "widgets/explore/exploresearch.h"
#include "widgets/explore/plotcolors.h"
#include "widgets/look/axishues.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/hues.h"
#include "widgets/look/legend.h"
#include "widgets/look/naming.h"
#include "widgets/plots/scatterchart.h"

#include <QLabel>
#include <QPainter>
#include <QPushButton>

#include <algorithm>
#include <set>
#include <utility>

namespace shardboard {

namespace {

constexpr int kDrawMs = 300; ///< while it searches
constexpr std::size_t kMostGroups = 6;

std::int64_t degreeOf(const Mesh& mesh, const char* axis)
{
    const int at = mesh.find(axis);
    return at < 0 ? 1 : mesh.axis(at).size;
}

void paintMark(QPainter& painter, const QRectF& rect, const QColor& color, int mark)
{
    const QPointF middle = rect.center();
    constexpr double kHalf = 4;
    painter.setPen(QPen(color, 1.6));
    painter.setBrush(color);
    const auto at = [&](double x, double y) { return middle + QPointF(x * kHalf, y * kHalf); };
    switch (mark % kScatterMarks) {
    case 0:
        painter.drawEllipse(middle, kHalf, kHalf);
        break;
    case 1:
        painter.drawPolygon(QPolygonF({ at(-1, 0.9), at(1, 0.9), at(0, -1) }));
        break;
    case 2:
        painter.drawRect(QRectF(at(-0.9, -0.9), at(0.9, 0.9)));
        break;
    case 3:
        painter.drawPolygon(QPolygonF({ at(-1.1, 0), at(0, -1.1), at(1.1, 0), at(0, 1.1) }));
        break;
    default:
        painter.drawLine(at(-1, -1), at(1, 1));
        painter.drawLine(at(-1, 1), at(1, -1));
    }
}

} // namespace

DesignsView::DesignsView(Document* document, ExploreSearch* search, QWidget* parent)
    : DocumentView(document, parent)
    , m_search(search)
    , m_header(new ViewHeader(tr("Designs Tried"), this))
    , m_chart(new ScatterChart(this))
    , m_legend(new Legend(this))
    , m_point(new ElidedLabel(this))
    , m_body(new QWidget(this))
    , m_empty(new QWidget(this))
    , m_emptyText(new QLabel(m_empty))
    , m_start(new QPushButton(tr("Optimize"), m_empty))
{
    nameView("designsView", tr("Designs tried"));
    nameWidget(m_chart, "designsChart", tr("Step time and memory of the designs that were tried"),
               tr("Left and Right go along the front, Space compares, Enter takes; the dashed limit can be dragged"));
    m_chart->setToolTip({}); // what a point is stands below; a tip would hide others
    m_emptyText->setObjectName(QStringLiteral("designsEmpty"));
    nameWidget(m_start, "designsStart", {}, tr("Search as the form asks"));
    m_point->setObjectName(QStringLiteral("designsPoint"));
    m_emptyText->setAlignment(Qt::AlignCenter);
    m_emptyText->setWordWrap(true);
    auto* middle = boxLayout<QVBoxLayout>({ kPanelMargin, 0, kPanelMargin, 0 }, 12, m_empty);
    middle->addStretch(1);
    middle->addWidget(m_emptyText);
    middle->addWidget(m_start, 0, Qt::AlignHCenter);
    middle->addStretch(1);
    auto* body = boxLayout<QVBoxLayout>({ 8, 0, 8, 6 }, 2, m_body);
    body->addWidget(m_chart, 1);
    auto* below = boxLayout<QHBoxLayout>({ 8, 0, 8, 0 }, 12);
    below->addWidget(m_legend);
    below->addWidget(m_point, 1);
    body->addLayout(below);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addWidget(m_header);
    column->addWidget(m_body, 1);
    column->addWidget(m_empty, 1);
    m_later.setSingleShot(true);
    m_later.setInterval(kDrawMs);
    connect(&m_later, &QTimer::timeout, this, &DesignsView::draw);
    connect(m_start, &QPushButton::clicked, this, &DesignsView::searchWanted);
    connect(search, &ExploreSearch::progressed, this, [this] {
        if (!m_search->isBusy())
            draw();
        else if (!m_later.isActive())
            m_later.start();
    });
    connect(search, &ExploreSearch::changed, this, &DesignsView::draw);
    connect(m_legend, &Legend::chosenChanged, this, &DesignsView::draw);
    connect(m_chart, &ScatterChart::plotted, this, &DesignsView::showCurrent);
    const auto tried = [this](int point) {
        return point >= 0 && point < static_cast<int>(m_shown.size()) ? m_shown[static_cast<std::size_t>(point)] : -1;
    };
    connect(m_chart, &ScatterChart::currentChanged, this, [this, tried](int point) {
        showPoint(tried(point));
        Q_EMIT hovered(tried(point));
    });
    connect(m_chart, &ScatterChart::chosen, this, [this, tried](int point, Qt::KeyboardModifiers modifiers) {
        Q_EMIT chosen(tried(point), modifiers.testFlag(Qt::ControlModifier));
    });
    connect(m_chart, &ScatterChart::activated, this, [this, tried](int point) { Q_EMIT activated(tried(point)); });
    connect(m_chart, &ScatterChart::limitDragged, this, [this](double gib) { Q_EMIT limitDragged(gib * kGib); });
    start();
}

void DesignsView::setCompared(std::vector<ComparedDesign> compared)
{
    m_compared = std::move(compared);
    draw();
}

void DesignsView::setAsked(const QString& sentence, bool can)
{
    m_sentence = sentence;
    m_start->setEnabled(can);
    draw();
}

void DesignsView::setHovered(int point)
{
    const auto at = std::find(m_shown.begin(), m_shown.end(), point);
    const QSignalBlocker blocker(m_chart); // it came from elsewhere
    m_chart->setCurrent(point < 0 || at == m_shown.end() ? -1 : static_cast<int>(at - m_shown.begin()));
    showPoint(m_chart->current() >= 0 ? point : -1);
}

int DesignsView::groupOf(int tried) const
{
    const TriedDesign& one = m_search->tried()[static_cast<std::size_t>(tried)];
    const std::int64_t degree = degreeOf(one.mesh, m_byStages ? "stage" : "model");
    const auto at = std::lower_bound(m_degrees.begin(), m_degrees.end(), degree);
    return static_cast<int>(std::min<std::ptrdiff_t>(at - m_degrees.begin(), static_cast<std::ptrdiff_t>(m_degrees.size()) - 1));
}

void DesignsView::draw()
{
    m_later.stop();
    if (!isVisible())
        return; // showEvent() comes
    const auto& tried = m_search->tried();
    const bool any = !tried.empty() || m_search->isBusy();
    m_body->setVisible(any);
    m_empty->setVisible(!any);
    m_start->setVisible(document()->hasDesign());
    const QString problem = m_search->problem();
    m_emptyText->setText(!document()->hasDesign() ? tr("No design is open.")
                             : !problem.isEmpty() ? problem
                                                  : tr("Nothing tried yet.\n%1.").arg(m_sentence));
    m_header->setDetail(tried.empty() ? QString()
                                      : tr("%1 · %2 fit")
                                            .arg(countText(static_cast<std::int64_t>(tried.size())),
                                                 countText(static_cast<std::int64_t>(m_search->fitting()))));
    std::set<std::int64_t> stages;
    std::set<std::int64_t> models;
    for (const TriedDesign& one : tried) {
        stages.insert(degreeOf(one.mesh, "stage"));
        models.insert(degreeOf(one.mesh, "model"));
    }
    m_byStages = stages.size() > 1;
    const std::set<std::int64_t>& degrees = m_byStages ? stages : models;
    m_degrees.assign(degrees.begin(), degrees.end());
    if (m_degrees.size() > kMostGroups)
        m_degrees.resize(kMostGroups); // the last one stands for all above it, too
    const QString only = m_legend->chosen();
    ScatterContent content;
    m_shown.clear();
    const bool trains = document()->hasDesign() && document()->design().workload.kind == WorkloadKind::Train;
    const bool small = std::all_of(tried.begin(), tried.end(), [](const TriedDesign& one) { return one.seconds < 1; });
    const double unit = small ? 1e-3 : 1; // milliseconds
    for (std::size_t i = 0; i < tried.size(); ++i) {
        const TriedDesign& one = tried[i];
        const int group = groupOf(static_cast<int>(i));
        if (!only.isEmpty() && only != QString::number(m_degrees[static_cast<std::size_t>(group)]))
            continue;
        content.points.push_back({ one.seconds / unit, one.leastBytes / kGib, group, !one.fits, one.front });
        m_shown.push_back(static_cast<int>(i));
    }
    for (std::size_t group = 0; group < m_degrees.size(); ++group)
        content.kinds.push_back({ plainHue(static_cast<int>(group)), static_cast<int>(group) });
    if (!tried.empty())
        for (const ComparedDesign& one : m_compared)
            content.flags.push_back({ one.seconds / unit, one.leastBytes / kGib, one.letter, one.name });
    content.limit = m_search->request().memoryBytes.value_or(0) / kGib;
    content.limitText = tr("limit %1").arg(bytesText(static_cast<std::int64_t>(m_search->request().memoryBytes.value_or(0))));
    content.xName = (trains ? tr("step time, %1") : tr("time, %1")).arg(small ? QStringLiteral("ms") : QStringLiteral("s"));
    content.yName = tr("memory of a device, GiB");
    m_chart->setContent(std::move(content), plotLook(this));
    showLegend();
    showCurrent();
}

/// What is said of the point under the mouse, or of all.
void DesignsView::showCurrent()
{
    const int at = m_chart->current();
    showPoint(at < 0 || at >= static_cast<int>(m_shown.size()) ? -1 : m_shown[static_cast<std::size_t>(at)]);
}

void DesignsView::showLegend()
{
    std::vector<LegendEntry> entries;
    for (std::size_t group = 0; group < m_degrees.size(); ++group) {
        const bool rest = group + 1 == kMostGroups && m_degrees.size() == kMostGroups;
        const QString text = m_byStages && m_degrees[group] == 1
            ? tr("no pipeline")
            : QStringLiteral("%1 = %2%3")
                  .arg(m_byStages ? QStringLiteral("stage") : QStringLiteral("model"))
                  .arg(m_degrees[group])
                  .arg(rest ? QStringLiteral(" …") : QString());
        const QColor color = plainHue(static_cast<int>(group));
        const int mark = static_cast<int>(group);
        entries.push_back(
            { QString::number(m_degrees[group]), text, {}, [color, mark](QPainter& painter, const QRectF& rect, const QWidget*) {
                 paintMark(painter, rect, color, mark);
             } });
    }
    m_legend->setVisible(entries.size() > 1);
    m_legend->setEntries(std::move(entries));
}

/// Below the plot: what is under the pointer, or else what one can do.
void DesignsView::showPoint(int point)
{
    if (point < 0) {
        m_point->setText(m_chart->beyond() > 0
                             ? tr("%1 beyond the edge · click: compare · double click: take").arg(countText(m_chart->beyond()))
                             : tr("click: compare · double click: take"));
        return;
    }
    const TriedDesign& one = m_search->tried()[static_cast<std::size_t>(point)];
    m_point->setText(QStringLiteral("%1 · %2 · %3 · %4%5")
                         .arg(secondsText(one.seconds), bytesText(static_cast<std::int64_t>(one.leastBytes)), qstr(one.mesh.text()),
                              one.name(), one.fits ? QString() : tr(" · does not fit")));
}

void DesignsView::showEvent(QShowEvent* event)
{
    DocumentView::showEvent(event);
    draw();
}

void DesignsView::refresh() { draw(); }

} // namespace shardboard
