// SPDX-License-Identifier: Apache-2.0
#include "widgets/explore/searchview.h"

#include "widgets/controls/elidedlabel.h"
#include "widgets/controls/viewheader.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/explore/exploresearch.h"
#include "widgets/explore/plotcolors.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/plots/boundchart.h"

#include <QGridLayout>
#include <QLabel>
#include <QScrollArea>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace shardboard {

namespace {

constexpr int kTickMs = 250;
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

double orNothing(double value) { return std::isfinite(value) ? value : kNothing; }

/// As it is plotted: tokens a second are a value that is to be large.
double plotted(double value, SearchObjective objective, double unit)
{
    return objective == SearchObjective::TokensPerDevice ? -value : value / unit;
}

} // namespace

SearchView::SearchView(Document* document, ExploreSearch* search, QWidget* parent)
    : DocumentView(document, parent)
    , m_search(search)
    , m_header(new ViewHeader(tr("Search"), this))
    , m_chart(new BoundChart(this))
    , m_empty(new QLabel(this))
    , m_body(new QWidget(this))
    , m_lines(new QWidget(m_body))
    , m_scroll(new QScrollArea(m_body))
    , m_certificate(new WrappedLabel({}, m_scroll))
{
    nameView("searchView", tr("Search"));
    nameWidget(m_chart, "searchChart", tr("The best and the lower bound over time"));
    m_empty->setObjectName(QStringLiteral("searchEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_empty->setContentsMargins(kPanelMargin, 0, kPanelMargin, 0);
    m_certificate->setObjectName(QStringLiteral("searchCertificate"));
    m_certificate->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_certificate->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    nameWidget(m_scroll, "searchCertificateScroll", tr("What is certain of the answer"));
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->setWidget(m_certificate);
    auto* grid = new QGridLayout(m_lines);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(12);
    grid->setVerticalSpacing(1);
    grid->setColumnStretch(1, 1);
    m_now = addLine(grid, 0, "searchNow", tr("now"));
    m_left = addLine(grid, 1, "searchLeft", tr("left"));
    m_stops = addLine(grid, 2, "searchStops", tr("stops"));
    auto* body = boxLayout<QVBoxLayout>({ kPanelMargin, 0, kPanelMargin, 6 }, 4, m_body);
    body->addWidget(m_chart, 3);
    body->addWidget(m_lines);
    body->addWidget(m_scroll, 2);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addWidget(m_header);
    column->addWidget(m_body, 1);
    column->addWidget(m_empty, 1);
    m_clock.setInterval(kTickMs);
    connect(&m_clock, &QTimer::timeout, this, &SearchView::draw);
    connect(search, &ExploreSearch::changed, this, &SearchView::draw);
    start();
}

SearchView::Line SearchView::addLine(QGridLayout* grid, int row, const char* id, const QString& name)
{
    const Line line { new QLabel(name, m_lines), new ElidedLabel(m_lines) };
    line.value->setObjectName(QLatin1String(id));
    line.value->setElideMode(Qt::ElideMiddle);
    grid->addWidget(line.name, row, 0);
    grid->addWidget(line.value, row, 1);
    return line;
}

QString SearchView::valueText(double value) const
{
    switch (m_search->request().objective) {
    case SearchObjective::StepTime:
        return secondsText(value);
    case SearchObjective::TokensPerDevice:
        return tr("%1 tok/s").arg(digitsText(-value));
    case SearchObjective::Memory:
    case SearchObjective::SlowestLink:
        return bytesText(static_cast<std::int64_t>(value));
    }
    return {};
}

void SearchView::draw()
{
    const bool busy = m_search->isBusy();
    if (busy && isVisible())
        m_clock.start();
    else
        m_clock.stop();
    if (!isVisible())
        return; // showEvent() comes
    const bool any = busy || m_search->result();
    m_body->setVisible(any);
    m_empty->setVisible(!any);
    m_empty->setText(document()->hasDesign() ? tr("The best and the lower bound are plotted here while a search runs.")
                                             : tr("No design is open."));
    if (!any) {
        m_header->setDetail({});
        return;
    }
    drawChart();
    showState();
    m_lines->setVisible(busy);
    m_scroll->setVisible(!busy);
    if (!busy)
        showCertificate();
}

void SearchView::drawChart()
{
    const SearchObjective objective = m_search->request().objective;
    const bool bytes = objective == SearchObjective::Memory || objective == SearchObjective::SlowestLink;
    const SearchProgress& latest = m_search->latest();
    const bool small = objective == SearchObjective::StepTime && latest.best < 1;
    const double unit = bytes ? kGib : small ? 1e-3 : 1;
    BoundContent content;
    for (const SearchProgress& now : m_search->history())
        content.moments.push_back(
            { now.seconds, plotted(orNothing(now.best), objective, unit), plotted(orNothing(now.bound), objective, unit) });
    content.now = m_search->seconds();
    content.running = m_search->isBusy();
    content.until = content.running ? std::min(m_search->request().seconds, std::max(2.0, content.now * 1.6)) : content.now;
    content.timeName = tr("time, s");
    switch (objective) {
    case SearchObjective::StepTime:
        content.valueName = small ? tr("step, ms") : tr("step, s");
        break;
    case SearchObjective::TokensPerDevice:
        content.valueName = tr("tokens/s");
        break;
    case SearchObjective::Memory:
        content.valueName = tr("memory, GiB");
        break;
    case SearchObjective::SlowestLink:
        content.valueName = tr("moved, GiB");
        break;
    }
    if (std::isfinite(latest.best)) {
        content.bestText = tr("best %1").arg(valueText(latest.best));
        if (std::isfinite(latest.bound)) {
            const double gap = latest.best == 0 ? 0 : std::max(0.0, (latest.best - latest.bound) / std::abs(latest.best));
            const bool met = gap < 5e-7;
            content.boundText = met                             ? QString()
                : objective == SearchObjective::TokensPerDevice ? tr("none above %1").arg(valueText(latest.bound))
                                                                : tr("none below %1").arg(valueText(latest.bound));
            content.gapText = met ? tr("no gap") : tr("gap %1").arg(percentText(gap));
        } else {
            content.gapText = tr("no bound");
        }
        content.gapDetail = tr("after %1").arg(secondsText(content.now));
    } else if (!content.running) {
        content.gapText = tr("nothing fits");
    }
    m_chart->setContent(std::move(content), plotLook(this));
}

void SearchView::showState()
{
    const SearchProgress& latest = m_search->latest();
    const ExploreRequest& request = m_search->request();
    if (!m_search->isBusy()) {
        const bool complete = m_search->result()->complete;
        m_header->setDetail(complete ? tr("done in %1").arg(secondsText(m_search->seconds()))
                                     : tr("stopped after %1").arg(secondsText(m_search->seconds())));
        return;
    }
    m_header->setDetail(
        m_search->isStopping()
            ? tr("stopping")
            : tr("running · %1 of %2").arg(secondsText(std::floor(m_search->seconds())), secondsText(request.seconds)));
    m_now.value->setText(latest.now.empty() ? tr("the design itself") : qstr(latest.now));
    m_left.value->setText(latest.meshes > 0 ? tr("%1 of %2 meshes, %3 designs ruled out")
                                                  .arg(countText(static_cast<std::int64_t>(latest.left)),
                                                       countText(static_cast<std::int64_t>(latest.meshes)),
                                                       countText(static_cast<std::int64_t>(latest.ruledOut)))
                                            : tr("layouts"));
    m_stops.value->setText(tr("when all is looked at, or after %1").arg(secondsText(request.seconds)));
}

void SearchView::showCertificate()
{
    const SearchResult& result = *m_search->result();
    const ExploreRequest& request = m_search->request();
    QStringList lines;
    if (result.best) {
        const double value = result.front[*result.best].value(request.objective);
        QString first = tr("Objective %1").arg(valueText(value));
        if (const auto gap = result.gap(request.objective))
            first += (request.objective == SearchObjective::TokensPerDevice ? tr(", upper bound %1, gap %2")
                                                                            : tr(", lower bound %1, gap %2"))
                         .arg(valueText(result.lowerBound), *gap < 5e-7 ? tr("none") : percentText(*gap));
        else
            first += tr(", no lower bound");
        lines << first + QLatin1Char('.');
    } else if (result.nearest) {
        const SearchedDesign& nearest = *result.nearest;
        QString lacks;
        if (request.memoryBytes && nearest.leastBytes > *request.memoryBytes)
            lacks = tr(", %1 too much").arg(bytesText(static_cast<std::int64_t>(nearest.leastBytes - *request.memoryBytes)));
        if (request.mostSeconds && nearest.seconds > *request.mostSeconds)
            lacks += tr(", %1 too long").arg(secondsText(nearest.seconds - *request.mostSeconds));
        lines << tr("Nothing fits. The nearest, %1 with %2, takes %3 and %4%5.")
                     .arg(qstr(nearest.design.mesh.text()), qstr(nearest.preset + ", " + searchedSettings(nearest.design)),
                          secondsText(nearest.seconds), bytesText(static_cast<std::int64_t>(nearest.leastBytes)), lacks);
    } else {
        lines << tr("No design could be planned.");
    }
    lines << tr("%1 planned, %2 ruled out, %3 refused, in %4.")
                 .arg(counted(static_cast<std::int64_t>(result.planned), tr("design"), tr("designs")),
                      countText(static_cast<std::int64_t>(result.ruledOut)), countText(static_cast<std::int64_t>(result.refused)),
                      secondsText(result.seconds));
    for (const std::string& sentence : result.exact)
        lines << tr("Exact: %1.").arg(toldText(sentence));
    for (const std::string& sentence : result.notExact)
        lines << tr("Not exact: %1.").arg(toldText(sentence));
    m_certificate->setFullText(lines.join(QLatin1Char('\n')));
}

void SearchView::showEvent(QShowEvent* event)
{
    DocumentView::showEvent(event);
    draw();
}

void SearchView::refresh()
{
    const Theme& theme = Theme::of(this);
    setTextColor(m_empty, theme.quiet);
    for (const Line& line : { m_now, m_left, m_stops })
        setTextColor(line.name, theme.quiet);
    draw();
}

} // namespace shardboard
