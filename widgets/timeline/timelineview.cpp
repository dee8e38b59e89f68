// SPDX-License-Identifier: Apache-2.0
#include "widgets/timeline/timelineview.h"

#include "model/io/trace/readtrace.h"
#include "widgets/controls/choicebox.h"
#include "widgets/controls/viewheader.h"
#include "widgets/jobs/longwork.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/legend.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/timeline/intervalinks.h"
#include "widgets/timeline/timelinecanvas.h"

#include <QCheckBox>
#include <QFileInfo>
#include <QLabel>
#include <QSignalBlocker>
#include <QToolButton>

#include <array>

namespace shardboard {

namespace {

constexpr double kZoom = 1.6;

QToolButton* button(const char* id, const QString& text, const QString& name, const QString& tip, QWidget* parent)
{
    auto* out = new QToolButton(parent);
    nameWidget(out, id, name, tip);
    out->setText(text);
    out->setAutoRaise(true);
    return out;
}

} // namespace

TimelineView::TimelineView(Document* document, TimelineSource* source, QWidget* parent)
    : DocumentView(document, parent)
    , m_source(source)
    , m_header(new ViewHeader({}, this)) // the tab has the title
    , m_shown(new ChoiceBox(false, this))
    , m_path(new QCheckBox(tr("Critical path"), this))
    , m_open(button(
          "timelineOpen", tr("Open Trace…"), {},
          tr("Show the trace of another program: Chrome's and Perfetto's JSON, as PyTorch's and JAX's profilers write it"), this))
    , m_canvas(new TimelineCanvas(this))
    , m_legend(new Legend(this))
    , m_work(new LongWork(this))
    , m_notes(new QLabel(this))
    , m_empty(new QLabel(this))
{
    nameView("timelineView", tr("Timeline"));
    nameWidget(m_shown, "timelineShown", tr("What is shown"), tr("The predicted step, the last run, or a trace"));
    nameWidget(m_legend, "timelineLegend", tr("Kinds of intervals"));
    m_notes->setObjectName(QStringLiteral("timelineNotes"));
    m_notes->setWordWrap(true);
    m_empty->setObjectName(QStringLiteral("timelineEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    auto* out = button("timelineOut", QStringLiteral("−"), tr("Zoom out"), tr("Zoom out (S)"), this);
    auto* in = button("timelineIn", QStringLiteral("+"), tr("Zoom in"), tr("Zoom in (W)"), this);
    auto* fit = button("timelineFit", tr("Fit"), {}, tr("Show the whole step (Shift+F)"), this);
    nameWidget(m_path, "timelinePath", {},
               tr("What decides how long the step takes: a line below the lanes; the full stop follows it"));
    m_path->setChecked(true);
    for (QWidget* one : std::initializer_list<QWidget*> { m_path, m_shown, m_open, out, in, fit })
        m_header->addRight(one);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    auto* work = boxLayout<QHBoxLayout>({ kPanelMargin, 0, kPanelMargin, 4 }, 0);
    work->addWidget(m_work);
    auto* low = boxLayout<QVBoxLayout>({ kPanelMargin - 6, 0, kPanelMargin, 2 }, 2);
    low->addWidget(m_legend);
    low->addWidget(m_notes);
    m_notes->setContentsMargins(6, 0, 0, 0);
    column->addWidget(m_header);
    column->addLayout(work);
    column->addWidget(m_canvas, 1);
    column->addWidget(m_empty, 1);
    column->addLayout(low);
    connect(out, &QToolButton::clicked, this, [this] { m_canvas->zoom(1 / kZoom); });
    connect(in, &QToolButton::clicked, this, [this] { m_canvas->zoom(kZoom); });
    connect(fit, &QToolButton::clicked, m_canvas, &TimelineCanvas::showAll);
    connect(m_path, &QCheckBox::toggled, m_canvas, &TimelineCanvas::setPathShown);
    connect(m_open, &QToolButton::clicked, this, &TimelineView::fileWanted);
    connect(m_shown, &QComboBox::activated, this,
            [this] { m_source->show(static_cast<TimelineSource::Shown>(m_shown->currentData().toInt())); });
    connect(m_source, &TimelineSource::changed, this, &TimelineView::follow);
    connect(m_source, &TimelineSource::itemWanted, this, [this](int item) {
        follow();
        m_canvas->showItem(item);
    });
    connect(m_canvas, &TimelineCanvas::itemChosen, this, [this](int item) {
        m_following = true;
        m_source->select(item);
        m_following = false;
    });
    connect(m_legend, &Legend::chosenChanged, this,
            [this](const QString& key) { m_canvas->setShownKind(key.isEmpty() ? -1 : key.toInt()); });
    start();
}

TimelineView::~TimelineView() = default;

QSize TimelineView::sizeHint() const { return { 900, 330 }; }

/// The other views of the source follow the document themselves.
void TimelineView::refresh()
{
    m_source->follow();
    follow();
}

void TimelineView::themeChanged()
{
    makeLegend();
    follow();
}

void TimelineView::showChoices()
{
    const QSignalBlocker blocker(m_shown);
    m_shown->clear();
    for (const auto shown : { TimelineSource::Shown::Prediction, TimelineSource::Shown::Run, TimelineSource::Shown::Trace })
        if (m_source->has(shown))
            m_shown->addChoice(m_source->nameOf(shown), {}, static_cast<int>(shown));
    m_shown->choose(static_cast<int>(m_source->shown()));
    m_shown->setVisible(m_shown->count() > 1);
}

void TimelineView::follow()
{
    const Theme& theme = Theme::of(this);
    showChoices();
    setTextColor(m_notes, theme.quiet);
    setTextColor(m_empty, theme.quiet);
    const auto timeline = m_source->timeline();
    if (timeline != m_timeline) {
        m_timeline = timeline;
        m_canvas->setTimeline(timeline, true); // of a step that is as long the same part
        makeLegend();
        selectionChanged();
    }
    const bool lanes = timeline && !timeline->lanes.empty();
    m_path->setVisible(lanes && !timeline->path.empty());
    m_header->setDetail(m_source->detail()); // has the room that is left
    m_canvas->setFaded(m_source->shown() == TimelineSource::Shown::Run && m_source->isStale());
    m_canvas->setVisible(lanes);
    m_legend->setVisible(lanes);
    m_empty->setVisible(!lanes);
    using Shown = TimelineSource::Shown;
    m_empty->setText(!document()->hasDesign() && m_source->shown() != Shown::Trace ? tr("No design is open.")
                         : m_source->isBusy()                                      ? tr("The step is laid out in time …")
                         : m_source->shown() == Shown::Run
                         ? tr("This run kept no whole step: there were too many executions. Run fewer layers or steps.")
                         : m_source->shown() == Shown::Trace ? tr("This trace has no slices.")
                                                             : tr("There is no plan to draw: this model is open as weights only."));
    QStringList notes;
    if (m_source->shown() == Shown::Prediction && lanes && !m_source->has(Shown::Run))
        notes << tr("Not measured yet: Run (F5) puts what was measured beside it.");
    if (timeline)
        for (const std::string& note : timeline->notes)
            notes << qstr(note);
    m_notes->setText(notes.join(QStringLiteral(" · ")));
    m_notes->setVisible(!notes.isEmpty());
}

void TimelineView::selectionChanged()
{
    if (!m_following && m_timeline)
        m_canvas->setSelectedItem(m_source->selected());
}

/// The kinds that there are.
void TimelineView::makeLegend()
{
    std::array<bool, kIntervalKinds> there {};
    bool predicted = false;
    bool measured = false;
    if (m_timeline)
        for (const Lane& lane : m_timeline->lanes) {
            predicted = predicted || lane.predicted;
            measured = measured || !lane.predicted;
            const auto seconds = lane.secondsByKind();
            for (std::size_t kind = 0; kind < kIntervalKinds; ++kind)
                there[kind] = there[kind] || seconds[kind] > 0;
        }
    const std::array<QString, kIntervalKinds> names { tr("forward"),    tr("recompute"), tr("backward"), tr("update"),
                                                      tr("collective"), tr("hidden"),    tr("idle"),     tr("other") };
    const std::array<QString, kIntervalKinds> tips {
        tr("The forward pass"),
        tr("What the backward pass computes again, as it was not kept"),
        tr("The backward pass"),
        tr("The optimizer's step"),
        tr("Collectives that the device waits for"),
        tr("Collectives that run beside computation"),
        tr("The device has nothing to do; the interval says what it waits for"),
        tr("Slices that tell neither a phase nor a collective"),
    };
    std::vector<LegendEntry> entries;
    for (std::size_t kind = 0; kind < kIntervalKinds; ++kind) {
        if (!there[kind])
            continue;
        const auto shown = static_cast<IntervalKind>(kind);
        const bool outlined = predicted && !measured;
        entries.push_back({ QString::number(kind), names[kind], tips[kind],
                            [shown, outlined](QPainter& painter, const QRectF& rect, const QWidget* widget) {
                                const Theme& theme = Theme::of(widget);
                                if (shown == IntervalKind::Idle)
                                    paintIdle(painter, rect, theme);
                                else if (outlined)
                                    paintPredicted(painter, rect, shown, theme);
                                else
                                    painter.fillRect(rect, intervalColor(shown, theme));
                            } });
    }
    m_legend->setEntries(std::move(entries));
}

void TimelineView::openTrace(const QString& path)
{
    const QString name = QFileInfo(path).fileName();
    const auto evaluation = document()->evaluation();
    Hardware hardware;
    if (document()->hasDesign())
        if (auto found = hardwareOf(document()->design()); found.ok())
            hardware = std::move(found).value();
    m_work->start(tr("Reading %1").arg(name),
                  [this, path, name, evaluation, hardware](LongWork::Control& control) -> LongWork::Answer {
                      const auto goOn = [&control](std::int64_t done, std::int64_t all) {
                          constexpr std::int64_t kParts = 1000;
                          control.tell(all > 0 ? static_cast<int>(done * kParts / all) : 0, all > 0 ? static_cast<int>(kParts) : 0);
                          return !control.stopped();
                      };
                      const auto trace = readTrace(path.toStdString(), goOn);
                      if (!trace.ok())
                          return [this, message = errorText(trace.error())] { Q_EMIT refused(message); };
                      if (control.stopped())
                          return {};
                      return [this, opened = openedTrace(name, trace.value(), evaluation, hardware)]() mutable {
                          m_source->setTrace(std::move(opened));
                      };
                  });
}

} // namespace shardboard
