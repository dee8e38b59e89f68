// SPDX-License-Identifier: Apache-2.0
#include "widgets/workbench/summarybar.h"

#include "widgets/look/devicecolors.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"
#include "widgets/workbench/findingsbadge.h"
#include "widgets/workbench/meshchips.h"
#include "widgets/workbench/modebar.h"

#include "model/hardware/hardware.h"
#include "model/plan/hostcopies.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/naming.h"

#include <QAction>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QResizeEvent>
#include <QScopedValueRollback>
#include <QStyle>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace shardboard {

namespace {

constexpr int kLeastHeight = 48;
constexpr int kSpacing = 12;
constexpr int kTight = 6;
constexpr int kFindWidth = 110;
constexpr int kWide = 1400; ///< from here there is room for the field that finds things
constexpr int kNameWidth = 280; ///< of name and workload, as wide as the column below them where there is room
constexpr int kLeastWorkload = 150; ///< less of it says nothing

/// `43.1 / 79.6 GiB`, `5.91 TiB / 79.6 GiB`. A model that is open as weights of unknown shape has nothing to add up.
QString usedOfText(std::int64_t used, std::int64_t limit)
{
    const QString of = bytesText(limit);
    QString text = used > 0 ? bytesText(used) : QStringLiteral("–");
    if (const QString unit = of.mid(of.indexOf(QLatin1Char(' '))); text.endsWith(unit))
        text.chop(unit.size());
    return text + QStringLiteral(" / ") + of;
}

/// A magnifying glass.
QIcon findIcon(const QWidget* widget)
{
    constexpr int kSize = 16;
    const double scale = widget->devicePixelRatioF();
    QPixmap picture(QSize(kSize, kSize) * scale);
    picture.setDevicePixelRatio(scale);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(Theme::of(widget).text, 1.6));
    painter.drawEllipse(QPointF(6.5, 6.5), 4.5, 4.5);
    painter.drawLine(QPointF(10, 10), QPointF(14, 14));
    return picture;
}

} // namespace

MemoryBar::MemoryBar(QWidget* parent)
    : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

QSize MemoryBar::sizeHint() const { return { 110, 8 }; }

void MemoryBar::setShares(double weights, double others)
{
    m_weights = weights;
    m_others = others;
    update();
}

void MemoryBar::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.track);
    painter.drawRoundedRect(rect(), 4, 4);
    const double total = m_weights + m_others;
    const double fit = total > 1 ? 1 / total : 1;
    const double split = m_weights * fit * width();
    painter.setBrush(total > 1 ? theme.error : partColor(3).fill);
    painter.drawRoundedRect(QRectF(0, 0, std::min(1.0, total) * width(), height()), 4, 4);
    painter.setBrush(total > 1 ? theme.error.darker(130) : partColor(0).fill);
    painter.drawRoundedRect(QRectF(0, 0, split, height()), 4, 4);
}

SummaryBar::SummaryBar(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_name(new QLabel(this))
    , m_modes(new ModeBar(this))
    , m_workload(new QLabel(this))
    , m_chips(new MeshChips(document, this))
    , m_find(new QPushButton(this))
    , m_stepTitle(new QLabel(tr("step"), this))
    , m_step(new QLabel(this))
    , m_memoryBelow(new QLabel(this))
    , m_rateTitle(new QLabel(this))
    , m_rate(new QLabel(this))
    , m_memoryTitle(new QLabel(tr("memory"), this))
    , m_memoryBar(new MemoryBar(this))
    , m_memory(new QLabel(this))
    , m_badge(new FindingsBadge(document, this))
    , m_actButton(new QPushButton(this))
{
    nameWidget(this, "summaryBar", tr("Summary"));
    m_name->setObjectName(QStringLiteral("summaryName"));
    m_workload->setObjectName(QStringLiteral("summaryWorkload"));
    m_stepTitle->setObjectName(QStringLiteral("summaryStepTitle"));
    m_step->setObjectName(QStringLiteral("summaryStep"));
    m_memory->setObjectName(QStringLiteral("summaryMemory"));
    m_memoryBelow->setObjectName(QStringLiteral("summaryMemoryBelow"));
    m_memoryBelow->hide();
    m_rate->setObjectName(QStringLiteral("summaryRate"));
    m_rateTitle->setObjectName(QStringLiteral("summaryRateTitle"));
    m_memoryBar->setObjectName(QStringLiteral("summaryMemoryBar"));
    for (QLabel* label : { m_name, m_workload }) {
        label->setTextFormat(Qt::PlainText);
        label->setCursor(Qt::PointingHandCursor);
        label->installEventFilter(this);
    }
    m_workload->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* row = boxLayout<QHBoxLayout>({ kPanelMargin, 4, kPanelMargin, 4 }, kSpacing, this);
    auto* what = new QVBoxLayout;
    what->setSpacing(0);
    what->addWidget(m_name);
    what->addWidget(m_workload);
    row->addLayout(what, 1);
    row->addWidget(m_modes);
    row->addWidget(m_chips);
    row->addStretch(1);
    m_find->setObjectName(QStringLiteral("summaryFind"));
    m_find->setProperty("field", true);
    m_find->setFocusPolicy(Qt::TabFocus);
    m_find->hide();
    row->addWidget(m_find);
    auto* step = new QVBoxLayout;
    step->setSpacing(0);
    step->addStretch(1); // headings and numbers of all stand on two lines, whatever is beside them
    step->addWidget(m_stepTitle);
    step->addWidget(m_step);
    step->addWidget(m_memoryBelow);
    step->addStretch(1);
    row->addLayout(step);
    row->addSpacing(8);
    auto* rate = new QVBoxLayout;
    rate->setSpacing(0);
    rate->addStretch(1);
    rate->addWidget(m_rateTitle);
    rate->addWidget(m_rate);
    rate->addStretch(1);
    row->addLayout(rate);
    row->addSpacing(8);
    auto* memory = new QVBoxLayout;
    memory->setSpacing(0);
    auto* line = new QHBoxLayout;
    line->setSpacing(8);
    line->addWidget(m_memoryTitle);
    line->addWidget(m_memoryBar, 1);
    memory->addStretch(1);
    memory->addLayout(line);
    memory->addWidget(m_memory);
    memory->addStretch(1);
    row->addLayout(memory);
    row->addSpacing(4);
    row->addWidget(m_badge);
    m_actButton->setObjectName(QStringLiteral("summaryAct"));
    m_actButton->setProperty("primary", true);
    m_actButton->hide();
    row->addWidget(m_actButton);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    style();
    start();
}

void SummaryBar::setAct(QAction* act, QAction* stop)
{
    m_act = act;
    m_stop = stop;
    for (QAction* action : { act, stop })
        connect(action, &QAction::changed, this, &SummaryBar::followAct);
    connect(m_actButton, &QPushButton::clicked, this, [this] { (m_showsStop ? m_stop : m_act)->trigger(); });
    m_actButton->show();
    followAct();
}

void SummaryBar::showStop(bool stop)
{
    if (stop == m_showsStop)
        return;
    m_showsStop = stop;
    m_actButton->setProperty("primary", !stop);
    m_actButton->style()->unpolish(m_actButton);
    m_actButton->style()->polish(m_actButton);
    followAct();
}

void SummaryBar::setActs(const QStringList& texts)
{
    m_acts = texts;
    m_acts << m_stop->iconText();
    fitAct();
}

/// The button has its font, which is bold where it is filled, when the style sheet has reached it.
void SummaryBar::fitAct()
{
    m_actFont = m_actButton->font();
    int widest = m_actButton->minimumWidth();
    for (const QString& text : std::as_const(m_acts)) {
        m_actButton->setText(text);
        widest = std::max(widest, m_actButton->sizeHint().width());
    }
    m_actButton->setMinimumWidth(widest);
    if (m_act != nullptr)
        followAct();
}

void SummaryBar::followAct()
{
    const QAction* action = m_showsStop ? m_stop : m_act;
    m_actButton->setText(action->iconText());
    m_actButton->setAccessibleName(action->iconText());
    m_actButton->setEnabled(action->isEnabled());
    m_actButton->setToolTip(action->toolTip());
}

/// Looks like the field that it opens.
void SummaryBar::setFinder(QAction* action)
{
    m_finder = action;
    m_find->setAccessibleName(action->iconText());
    const auto follow = [this, action] { m_find->setToolTip(action->toolTip()); };
    connect(action, &QAction::changed, m_find, follow);
    follow();
    connect(m_find, &QPushButton::clicked, action, &QAction::trigger);
    giveWay();
}

void SummaryBar::style()
{
    const Theme& theme = Theme::of(this);
    for (QLabel* label : { m_workload, m_stepTitle, m_rateTitle, m_memoryTitle }) {
        label->setFont(uiFont(this, -1));
        setTextColor(label, theme.quiet);
    }
    m_name->setFont(uiFont(this, 1, true));
    m_step->setFont(monoFont(this));
    m_rate->setFont(monoFont(this));
    m_memory->setFont(monoFont(this));
    m_memoryBelow->setFont(monoFont(this));
    const int upper = std::max(m_name->sizeHint().height(), m_step->sizeHint().height());
    const int lower = std::max(m_workload->sizeHint().height(), m_memoryBelow->sizeHint().height());
    setMinimumHeight(std::max(kLeastHeight, upper + lower + 8)); // whatever gives way
    m_findIcon = findIcon(this);
    m_actButton->setMinimumWidth(0);
    fitAct();
    m_hints.clear();
}

void SummaryBar::themeChanged()
{
    style();
    refresh();
}

void SummaryBar::refresh()
{
    const Theme& theme = Theme::of(this);
    const auto evaluation = document()->evaluation();
    m_modes->setVisible(evaluation != nullptr);
    m_badge->setVisible(evaluation != nullptr);
    if (!evaluation) {
        m_name->setText(tr("No design"));
        m_workloadText.clear();
        giveWay();
        elide();
        return;
    }
    const Design& design = document()->design();
    constexpr qsizetype kMostName = 40; // it is never hidden, and all of the window would have to be as wide
    const QString name = qstr(design.model.name);
    m_name->setText(shortened(name, kMostName));
    m_workloadText = tr("%1 · batch %2 · sequence %3 · %4")
                         .arg(qstr(workloadName(design.workload.kind)))
                         .arg(design.workload.batch)
                         .arg(design.workload.sequence)
                         .arg(qstr(dtypeName(design.workload.dtype)));
    const Workload workload = effective(design.workload);
    if (workload.microBatches > 1)
        m_workloadText += tr(" · %1 micro-batches").arg(workload.microBatches);
    if (workload.recompute != Recompute::None)
        m_workloadText += tr(" · recompute %1").arg(qstr(recomputeName(workload.recompute)));
    m_name->setToolTip(name + QLatin1Char('\n') + m_workloadText);
    const Plan& plan = evaluation->plan;
    m_step->setText(design.model.hasGraph() ? secondsText(plan.seconds()) : QStringLiteral("–"));
    const double host = hostCopySeconds(evaluation->graph, plan);
    QString tip = tr("predicted: %1 computing, %2 in collectives, ")
                      .arg(secondsText(plan.device.compute), secondsText(collectiveSecondsAlone(evaluation->graph, plan)));
    tip += host > 0 ? tr("%1 to and from the host, %2 of both exposed").arg(secondsText(host), secondsText(plan.device.exposed))
                    : tr("%1 of them exposed").arg(secondsText(plan.device.exposed));
    if (plan.pipeline)
        tip += tr(", %1 waiting for other stages").arg(secondsText(plan.device.bubble));
    m_step->setToolTip(tip);
    showRate(plan.performance);
    if (!m_rate->toolTip().isEmpty() && plan.performance.tokensPerSecondPerDevice > 0) // where there is no room for it
        m_step->setToolTip(m_step->toolTip() + QLatin1Char('\n') + m_rate->toolTip());
    const auto hardware = hardwareOf(design);
    const double limit = hardware.ok() ? hardware.value().memoryBytes() : 0;
    const double used = static_cast<double>(plan.memory.peak);
    m_memoryText = usedOfText(plan.memory.peak, static_cast<std::int64_t>(limit));
    m_memoryBrief = used > 0 ? bytesText(plan.memory.peak) : m_memoryText;
    writeMemory(m_writesBrief);
    const Fit fit = limit > 0 ? fitOf(plan.memory, static_cast<std::int64_t>(limit)) : Fit::Fits;
    tip = tr("%1 on the fullest device, of %2")
              .arg(exactBytesText(plan.memory.peak), exactBytesText(static_cast<std::int64_t>(limit)));
    if (fit == Fit::Tight)
        tip += tr("\ntight: %1 to %2, depending on the allocator").arg(bytesText(plan.memory.least), bytesText(plan.memory.most));
    else if (fit == Fit::DoesNotFit)
        tip += tr("\ndoes not fit");
    for (QLabel* label : { m_memory, m_memoryBelow }) {
        label->setToolTip(tip);
        setTextColor(label, fit == Fit::DoesNotFit ? theme.error : fit == Fit::Tight ? theme.attention : theme.text);
    }
    const double weights = static_cast<double>(std::min(plan.memory.weights, plan.memory.peak));
    if (limit > 0)
        m_memoryBar->setShares(weights / limit, (used - weights) / limit);
    giveWay();
    elide();
}

/// Where there is no room for what a device has, only what it needs of it: the color says whether that is too much.
void SummaryBar::writeMemory(bool brief)
{
    m_writesBrief = brief;
    m_memory->setText(brief ? m_memoryBrief : m_memoryText);
    m_memoryBelow->setText(m_memoryBrief);
}

void SummaryBar::showRate(const Performance& performance)
{
    const double rate = performance.tokensPerSecondPerDevice;
    const QString utilization = percentText(performance.mfu);
    m_rateTitle->setText(performance.mfu > 0 ? tr("MFU %1").arg(utilization) : tr("Tokens"));
    m_rate->setText(tr("%1 tok/s/device").arg(digitsText(rate)));
    QString tip = tr("%1 tokens a second on each device, %2 together")
                      .arg(digitsText(rate), digitsText(rate * static_cast<double>(document()->design().mesh.deviceCount())));
    if (performance.mfu > 0)
        tip += tr("\nModel FLOPs utilization: %1 of the devices' peak does work of the model").arg(utilization);
    if (performance.hfu > performance.mfu)
        tip += tr("\nWith recomputation (HFU): %1").arg(percentText(performance.hfu));
    m_rate->setToolTip(tip);
    m_rateTitle->setToolTip(tip);
}

QSize SummaryBar::minimumSizeHint() const
{
    constexpr int kLeast = 640; // name, modes, badge, button
    const QSize all = DocumentView::minimumSizeHint();
    return { std::min(all.width(), kLeast), all.height() };
}

/// Where there is no room for all: the field that finds things becomes its icon, the axes one chip, the workload goes to the tip of
/// the name, the rate to that of the step; then the bar beside the memory's numbers and the headings go, and in the end what is
/// said elsewhere too. Showing and hiding makes Qt lay the whole window out, which comes back here with the sizes of what is tried:
/// only the last one counts.
void SummaryBar::giveWay()
{
    if (m_fitting)
        return;
    const QScopedValueRollback fitting(m_fitting, true);
    if (m_actFont != m_actButton->font())
        fitAct();
    const bool open = document()->hasDesign();
    const bool rate = open && document()->evaluation()->plan.performance.tokensPerSecondPerDevice > 0;
    const bool find = m_finder != nullptr;
    std::vector<int> hints { width(), open ? 1 : 0, rate ? 1 : 0, find ? 1 : 0, m_chips->wholeWidth(), workloadWidth() };
    for (const QWidget* one :
         std::initializer_list<QWidget*> { m_name, m_modes, m_stepTitle, m_step, m_rateTitle, m_rate, m_badge })
        hints.push_back(one->sizeHint().width());
    hints.push_back(QFontMetrics(m_memory->font()).horizontalAdvance(m_memoryText));
    hints.push_back(m_actButton->isHidden() ? 0 : m_actButton->minimumWidth());
    if (hints == m_hints && (m_tooNarrow || layout()->minimumSize().width() <= width()))
        return; // nothing is wider or narrower than it was
    m_hints = hints;
    const auto hide = [](std::vector<QWidget*> widgets) {
        return [widgets](bool gone) {
            for (QWidget* widget : widgets)
                widget->setVisible(!gone);
        };
    };
    struct Part {
        std::function<void(bool)> give;
        bool has;
    };
    const Part parts[] = { { [this](bool gone) { showFinder(!gone); }, find && width() >= kWide },
                           { [this](bool gone) { m_chips->setJoined(gone); }, true },
                           { hide({ m_workload }), open },
                           { hide({ m_rateTitle, m_rate }), rate },
                           { hide({ m_memoryBar }), open },
                           { [this](bool gone) {
                                m_stepTitle->setVisible(!gone && m_memoryBelow->isHidden());
                                m_memoryTitle->setVisible(!gone);
                            },
                             open },
                           { [this](bool gone) { m_chips->setBrief(gone); }, open },
                           { hide({ m_find }), find },
                           { hide({ m_chips }), open },
                           { [this](bool gone) { writeMemory(gone); }, open },
                           { [this](bool gone) { layout()->setSpacing(gone ? kTight : kSpacing); }, true },
                           { [this](bool gone) {
                                m_memory->setVisible(!gone);
                                m_memoryBelow->setVisible(gone); // under the step, in place of its heading
                            },
                             open },
                           { [this](bool gone) { m_memoryBelow->setVisible(!gone && m_memory->isHidden()); }, open },
                           { hide({ m_step }), open } };
    const auto arrange = [this] {
        m_chips->updateGeometry(); // which chips are shown reaches this layout later, and then nobody asks again
        layout()->activate();
    };
    m_workload->setMinimumWidth(workloadWidth());
    m_memoryBelow->hide();
    for (const Part& part : parts)
        part.give(!part.has);
    arrange();
    const auto fits = [this] { return layout()->minimumSize().width() <= width(); };
    std::size_t given = 0;
    for (; given < std::size(parts) && !fits(); ++given) {
        parts[given].give(true);
        arrange();
    }
    m_tooNarrow = !fits();
    // What is wide went last, and left room for what went before it and is not.
    constexpr std::size_t kHeadings = 5;
    for (std::size_t i = given; i-- > kHeadings;) {
        if (!parts[i].has || i + 1 == given)
            continue;
        parts[i].give(false);
        arrange();
        if (!fits()) {
            parts[i].give(true);
            arrange();
        }
    }
}

/// As a field or as its icon.
void SummaryBar::showFinder(bool field)
{
    m_find->setText(field ? tr("Find …") : QString());
    m_find->setIcon(field ? QIcon() : m_findIcon);
    m_find->setProperty("field", field);
    m_find->style()->unpolish(m_find);
    m_find->style()->polish(m_find);
    m_find->setFixedWidth(field ? std::max(static_cast<int>(kFindWidth * textScale(this)), m_find->sizeHint().width())
                                : m_find->sizeHint().width());
}

/// What the workload needs to say something.
int SummaryBar::workloadWidth() const
{
    const double scale = std::min(1.5, textScale(this));
    if (width() >= kWide)
        return static_cast<int>(kNameWidth * scale);
    return std::min(QFontMetrics(m_workload->font()).horizontalAdvance(m_workloadText), static_cast<int>(kLeastWorkload * scale));
}

void SummaryBar::elide()
{
    m_workload->setText(
        QFontMetrics(m_workload->font()).elidedText(m_workloadText, Qt::ElideRight, std::max(0, m_workload->width())));
    m_workload->setToolTip(m_workloadText.isEmpty() ? QString() : m_workloadText + tr("\nClick to edit"));
}

/// The texts lead to the settings that they tell.
bool SummaryBar::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::MouseButtonRelease && (watched == m_name || watched == m_workload)
        && static_cast<QMouseEvent*>(event)->button() == Qt::LeftButton && document()->hasDesign())
        Q_EMIT settingsRequested();
    return DocumentView::eventFilter(watched, event);
}

bool SummaryBar::event(QEvent* event)
{
    const bool out = DocumentView::event(event);
    if (event->type() == QEvent::LayoutRequest && !m_fitting) { // something has got another width, the chips of the mesh for one
        giveWay();
        elide();
    }
    return out;
}

void SummaryBar::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    giveWay();
    if (!m_fitting)
        elide();
}

void SummaryBar::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Theme& theme = Theme::of(this);
    painter.fillRect(rect(), theme.panel);
    painter.fillRect(QRect(0, height() - 1, width(), 1), theme.line);
}

} // namespace shardboard
