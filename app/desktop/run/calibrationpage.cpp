// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/run/calibrationpage.h"

#include "app/desktop/run/enginesession.h"
#include "model/io/design/hardwarefile.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/plots/calibrationplot.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/hues.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/plots/xyplot.h"
#include "widgets/tables/rowdelegate.h"
#include "widgets/tables/tablecopy.h"

#include <QCheckBox>
#include <QHeaderView>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QTreeWidget>

#include <algorithm>
#include <climits>

namespace shardboard {

CalibrationPage::CalibrationPage(Document* document, EngineSession* engine, QWidget* parent)
    : DocumentView(document, parent)
    , m_engine(engine)
    , m_what(new WrappedLabel({}, this))
    , m_measure(new QPushButton(tr("Measure This Machine"), this))
    , m_quick(new QCheckBox(tr("Quick"), this))
    , m_state(new QLabel(this))
    , m_progress(new QProgressBar(this))
    , m_found(new WrappedLabel({}, this))
    , m_laws(new QTreeWidget(this))
    , m_chart(new XyPlot(this))
    , m_use(new QPushButton(tr("Use for This Design"), this))
    , m_save(new QPushButton(tr("Save as Hardware …"), this))
    , m_price(new WrappedLabel({}, this))
{
    nameView("calibrationView", tr("Calibration"));
    build();
    connect(m_measure, &QPushButton::clicked, this, &CalibrationPage::measure);
    connect(m_use, &QPushButton::clicked, this, &CalibrationPage::useForDesign);
    connect(m_save, &QPushButton::clicked, this, &CalibrationPage::saveWanted);
    connect(m_engine, &EngineSession::stateChanged, this, &CalibrationPage::showState);
    connect(m_engine, &EngineSession::announced, this, [this](qint64 bytes, double seconds) {
        if (m_engine->isCalibrating())
            m_state->setText(tr("needs %1 and about %2, if nothing else runs").arg(bytesText(bytes), secondsText(seconds)));
    });
    connect(m_engine, &EngineSession::progressed, this, [this](qint64 step, qint64 of, const QString& what) {
        if (!m_engine->isCalibrating())
            return;
        m_progress->setRange(0, static_cast<int>(std::min<qint64>(of, INT_MAX)));
        m_progress->setValue(static_cast<int>(std::min(step, of)));
        m_progress->setFormat(QStringLiteral("%p %   ") + QString(what).replace(QLatin1Char('%'), QStringLiteral("%%")));
    });
    connect(m_engine, &EngineSession::cancelled, this, [this] {
        if (m_engine->lastCalibrated())
            m_state->setText(tr("cancelled"));
    });
    connect(m_engine, &EngineSession::refused, this, [this](const QString& text) {
        if (m_engine->lastCalibrated())
            m_state->setText(text);
    });
    connect(m_engine, &EngineSession::calibrated, this, &CalibrationPage::setCalibration);
    start();
}

void CalibrationPage::build()
{
    m_what->setObjectName(QStringLiteral("calibration.what"));
    nameWidget(m_measure, "calibration.measure", {}, tr("Takes the machine for about two minutes; other programs disturb it"));
    nameWidget(m_quick, "calibration.quick", {}, tr("Fewer and smaller sizes: some seconds, and a coarser fit"));
    m_state->setObjectName(QStringLiteral("calibration.state"));
    m_state->setWordWrap(true); // it does not make the panel wider
    nameWidget(m_progress, "calibration.progress", tr("Progress of the calibration"));
    m_found->setObjectName(QStringLiteral("calibration.found"));
    m_found->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_price->setObjectName(QStringLiteral("calibration.price"));
    nameWidget(m_laws, "calibration.laws", tr("How near the cost model comes to what was measured"));
    nameWidget(m_chart, "calibration.chart", tr("Error of the fit over measured seconds"));
    nameWidget(m_use, "calibration.use", {}, tr("The design is priced anew; undo takes it back"));
    nameWidget(m_save, "calibration.save", {}, tr("A hardware file for other designs"));
    m_laws->setRootIsDecorated(false);
    m_laws->setUniformRowHeights(true);
    m_laws->setFrameShape(QFrame::NoFrame);
    m_laws->setItemDelegate(new RowDelegate(m_laws));
    m_laws->setHeaderLabels({ tr("what the model says of"), tr("points"), tr("mean error"), tr("worst") });
    for (int column = 1; column < 4; ++column)
        m_laws->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    m_laws->header()->setStretchLastSection(false);
    m_laws->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_laws->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_laws->setTabKeyNavigation(false);
    makeCopyable(m_laws);
    auto* first = boxLayout<QHBoxLayout>({ 0, 0, 0, 0 }, 10);
    first->addWidget(m_measure);
    first->addWidget(m_quick);
    first->addWidget(m_state, 1);
    m_both = boxLayout<QHBoxLayout>({ 0, 0, 0, 0 }, 12);
    m_both->addWidget(m_laws, 5);
    m_both->addWidget(m_chart, 4);
    m_laws->setMinimumHeight(96); // a heading and two rows
    auto* last = boxLayout<QHBoxLayout>({ 0, 0, 0, 0 }, 10);
    last->addWidget(m_use);
    last->addWidget(m_save);
    last->addWidget(m_price, 1);
    auto* column = boxLayout<QVBoxLayout>({ kPanelMargin, 8, kPanelMargin, 8 }, 8, this);
    column->addWidget(m_what);
    column->addLayout(first);
    column->addWidget(m_progress);
    column->addWidget(m_found);
    column->addLayout(m_both, 1);
    column->addLayout(last);
    column->addStretch(0);
}

void CalibrationPage::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    const int em = fontMetrics().horizontalAdvance(QLatin1Char('m'));
    m_both->setDirection(width() < 54 * em ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

QSize CalibrationPage::sizeHint() const { return { 560, 320 }; }

void CalibrationPage::measure()
{
    CalibrationOptions options;
    options.quick = m_quick->isChecked();
    m_state->setText(tr("starting …"));
    m_progress->setRange(0, 0);
    m_engine->calibrate(options);
}

void CalibrationPage::setCalibration(const Calibration& calibration)
{
    auto fit = fitMachine(calibration);
    if (!fit.ok()) {
        m_state->setText({});
        Q_EMIT refused(
            tr("What was measured makes no hardware: %1. Measure again while nothing else runs.").arg(errorText(fit.error())));
        return;
    }
    m_calibration = calibration;
    m_fit = std::move(fit).value();
    m_priced.clear();
    m_state->setText(m_fit->unsettled == 0 ? QString()
                                           : tr("%1 did not settle: other programs ran, or they are small")
                                                 .arg(counted(m_fit->unsettled, tr("point"), tr("points"))));
    refresh();
}

std::string CalibrationPage::hardwareText() const
{
    if (!m_fit || !m_calibration)
        return {};
    nlohmann::json document = hardwareJson(m_fit->hardware);
    document["calibration"] = calibrationRecord(*m_calibration, *m_fit);
    return jsonText(document, 1) + "\n";
}

void CalibrationPage::useForDesign()
{
    if (!m_fit || !document()->hasDesign())
        return;
    Design design = document()->design();
    const double before = document()->evaluation()->plan.seconds();
    setHardware(design, m_fit->hardware);
    if (const Status status = document()->edit(design, tr("Calibrated Hardware")); !status.ok()) {
        Q_EMIT refused(errorText(status.error()));
        return;
    }
    m_priced =
        tr("a step: %1 before, %2 on this machine").arg(secondsText(before), secondsText(document()->evaluation()->plan.seconds()));
    showFit();
}

void CalibrationPage::refresh()
{
    const Theme& theme = Theme::of(this);
    m_what->setFullText(
        tr("1  Measure: products, one-row products as decoding has them, attention, kernels bound by memory, and collectives "
           "from a few KiB to what no cache holds; then what all of these take in small models of several layouts and workloads.   "
           "2  Look at the fit.   3  Use it for this design, or save it as hardware."));
    for (QWidget* label : std::initializer_list<QWidget*> { m_what, m_state, m_price })
        setTextColor(label, theme.quiet);
    showState();
    showFit();
}

void CalibrationPage::showState()
{
    const bool measures = m_engine->isCalibrating();
    m_measure->setEnabled(!m_engine->isBusy());
    m_quick->setEnabled(!m_engine->isBusy());
    m_progress->setVisible(measures);
    if (!measures)
        m_progress->reset();
    if (m_engine->state() == EngineSession::State::Failed && !m_fit)
        m_state->setText(m_engine->failure());
}

void CalibrationPage::showFit()
{
    const Theme& theme = Theme::of(this);
    const bool there = m_fit.has_value();
    m_what->setVisible(!there); // what is found wants its room
    for (QWidget* one : std::initializer_list<QWidget*> { m_found, m_laws, m_chart, m_save, m_price })
        one->setVisible(there);
    m_use->setVisible(there);
    m_use->setEnabled(there && document()->hasDesign()
                      && !(document()->design().ownHardware && *document()->design().ownHardware == m_fit->hardware));
    m_laws->clear();
    if (!there)
        return;
    const DeviceSpec& device = m_fit->hardware.device;
    const LinkSpec& link = m_fit->hardware.innerLink();
    const std::int64_t workers = m_calibration->workers;
    m_found->setFullText(tr("%1, %2, a device is one of them: products %3 GFLOP/s, of which %4; attention %5; memory %6, of which "
                            "%7; a kernel starts in %8; "
                            "collectives %9 of all devices together.")
                             .arg(qstr(m_calibration->machine), counted(workers, tr("thread"), tr("threads")),
                                  digitsText(device.peak.fp32.value_or(0) / 1e9), percentText(device.kernels.gemmEfficiency),
                                  percentText(device.kernels.attentionEfficiency), rateText(device.memoryBytesPerSecond),
                                  percentText(device.kernels.memoryEfficiency), secondsText(device.kernels.launchSeconds),
                                  rateText(link.bytesPerSecond)));
    for (const FitReport& report : m_fit->fits) {
        auto* item = new QTreeWidgetItem(
            m_laws,
            { qstr(report.name), countText(report.points), percentText(report.residual.mean), percentText(report.residual.worst) });
        for (int column = 1; column < 4; ++column) {
            item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
            item->setFont(column, monoFont(this, -0.5));
        }
        constexpr double kFar = 0.2;
        if (report.residual.mean > kFar)
            item->setForeground(2, theme.attention);
    }
    for (int column = 1; column < 4; ++column)
        m_laws->resizeColumnToContents(column);
    XyLook look { theme.panel, theme.text, theme.quiet, theme.line, theme.accent, {} };
    for (int hue = 0; hue < kHueCount; ++hue)
        look.hues.push_back(partColor(hue).fill);
    m_chart->setPlot(calibrationPlot(*m_calibration, *m_fit), look);
    m_price->setFullText(m_use->isEnabled() ? QString() : m_priced);
}

} // namespace shardboard
