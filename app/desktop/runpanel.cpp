// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/runpanel.h"

#include "app/desktop/runmodel.h"
#include "model/protocol/backends.h"
#include "model/session/document.h"
#include "widgets/choicebox.h"
#include "widgets/format.h"
#include "widgets/tablecopy.h"
#include "widgets/theme.h"

#include <QCheckBox>
#include <QDockWidget>
#include <QEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSpinBox>
#include <QTableView>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kOperationWidth = 200;
constexpr int kShowMs = 40; ///< between two steps that are shown: a run of many short ones tells of them faster than eyes can read

QSpinBox* countBox(const QString& name, int lowest, int value, QWidget* parent)
{
    auto* box = new QSpinBox(parent);
    box->setObjectName(name);
    box->setRange(lowest, 10000);
    box->setValue(value);
    return box;
}

QLabel* textLabel(const QString& name, QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setObjectName(name);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

void setColor(QLabel* label, const QColor& color)
{
    QPalette colors = label->palette();
    colors.setColor(QPalette::WindowText, color);
    label->setPalette(colors);
}

} // namespace

RunPanel::RunPanel(Document* document, EngineSession* session, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_session(session)
    , m_model(new RunModel(this))
    , m_shows(new QTimer(this))
{
    setObjectName(QStringLiteral("runPanel"));
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    build();
    connect(m_run, &QPushButton::clicked, this, &RunPanel::run);
    connect(m_cancel, &QPushButton::clicked, this, [this] {
        m_needs->setText(tr("cancelling …"));
        m_session->cancel();
    });
    connect(m_restart, &QPushButton::clicked, this, [this] {
        m_needs->clear();
        m_session->restart();
    });
    connect(m_useCpu, &QPushButton::clicked, this, [this] {
        chooseBackend(QStringLiteral("cpu"));
        run();
    });
    connect(m_backend, &QComboBox::activated, this, [this] { chooseBackend(m_backend->currentData().toString()); });
    connect(m_session, &EngineSession::stateChanged, this, &RunPanel::updateState);
    connect(m_session, &EngineSession::silenceChanged, this, &RunPanel::updateSilence);
    connect(m_session, &EngineSession::announced, this, [this](qint64 bytes, double seconds) {
        m_needs->setText(tr("needs %1 and about %2").arg(bytesText(bytes), secondsText(seconds)));
    });
    connect(m_session, &EngineSession::progressed, this, &RunPanel::onProgress);
    m_shows->setSingleShot(true);
    m_shows->setInterval(kShowMs);
    connect(m_shows, &QTimer::timeout, this, &RunPanel::showProgress);
    connect(m_session, &EngineSession::finished, this, &RunPanel::onFinished);
    connect(m_session, &EngineSession::refused, this, [this](const QString& text) { showProblem(text); });
    connect(m_session, &EngineSession::cancelled, this, [this] { m_needs->setText(tr("cancelled")); });
    connect(m_document, &Document::evaluated, this, [this] {
        updateState();
        updateVerdict();
    });
    fillBackends();
    updateState();
    updateVerdict();
}

/// Widgets are made in the order of reading, which is that of Tab.
void RunPanel::build()
{
    m_layers = countBox(QStringLiteral("run.layers"), 0, 2, this);
    m_layers->setSpecialValueText(tr("all"));
    m_layers->setToolTip(tr("How many layers of each repeated block to run; 0 is all of them"));
    m_steps = countBox(QStringLiteral("run.steps"), 1, 1, this);
    m_steps->setToolTip(tr("Timed repetitions; times are medians over them"));
    m_backend = new ChoiceBox(false, this);
    m_backend->setObjectName(QStringLiteral("run.backend"));
    m_backend->setAccessibleName(tr("Runs on"));
    m_verify = new QCheckBox(tr("&Verify"), this);
    m_verify->setObjectName(QStringLiteral("run.verify"));
    m_verify->setToolTip(tr("Compare every result with the unsharded computation on the same inputs"));
    m_verify->setChecked(true);
    m_ends = new QCheckBox(tr("&Embedding and head"), this);
    m_ends->setObjectName(QStringLiteral("run.ends"));
    m_run = new QPushButton(tr("▶ Run"), this);
    m_run->setObjectName(QStringLiteral("run.start"));
    m_run->setProperty("primary", true);
    m_cancel = new QPushButton(tr("Cancel"), this);
    m_cancel->setObjectName(QStringLiteral("run.cancel"));
    m_useCpu = new QPushButton(tr("Run on the cpu"), this);
    m_useCpu->setObjectName(QStringLiteral("run.useCpu"));
    m_useCpu->hide();
    m_restart = new QPushButton(tr("Restart engine"), this);
    m_restart->setObjectName(QStringLiteral("run.restart"));
    m_needs = textLabel(QStringLiteral("run.needs"), this);
    m_needs->setForegroundRole(QPalette::PlaceholderText);
    m_progress = new QProgressBar(this);
    m_progress->setObjectName(QStringLiteral("run.progress"));
    m_progress->setTextVisible(true);
    m_problem = textLabel(QStringLiteral("run.problem"), this);
    m_verdict = textLabel(QStringLiteral("run.verdict"), this);

    auto* form = new QGridLayout;
    form->setHorizontalSpacing(8);
    form->setVerticalSpacing(4);
    auto* layersLabel = new QLabel(tr("&Layers"), this);
    layersLabel->setBuddy(m_layers);
    auto* stepsLabel = new QLabel(tr("&Steps"), this);
    stepsLabel->setBuddy(m_steps);
    form->addWidget(layersLabel, 0, 0);
    form->addWidget(m_layers, 0, 1);
    form->addWidget(stepsLabel, 1, 0);
    form->addWidget(m_steps, 1, 1);
    auto* backendLabel = new QLabel(tr("&On"), this);
    backendLabel->setBuddy(m_backend);
    form->addWidget(backendLabel, 2, 0);
    form->addWidget(m_backend, 2, 1);
    auto* box = new QWidget(this);
    auto* options = new QVBoxLayout(box);
    options->setContentsMargins(0, 0, 4, 0);
    options->setSpacing(4);
    options->addLayout(form);
    options->addWidget(m_verify);
    options->addWidget(m_ends);
    options->addSpacing(4);
    options->addWidget(m_run);
    options->addWidget(m_cancel);
    options->addStretch(1);
    m_options = new QScrollArea(this); // a low panel scrolls it
    m_options->setWidgetResizable(true);
    m_options->setFocusPolicy(Qt::NoFocus);
    m_options->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_options->setWidget(box);
    m_options->setMinimumHeight(60);

    auto* trouble = new QHBoxLayout;
    trouble->setSpacing(12);
    trouble->addWidget(m_problem, 1);
    trouble->addWidget(m_useCpu, 0, Qt::AlignTop);
    trouble->addWidget(m_restart, 0, Qt::AlignTop);

    m_table = new QTableView(this);
    m_table->setObjectName(QStringLiteral("run.table"));
    m_table->setAccessibleName(tr("Measured times"));
    m_table->setModel(m_model);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setShowGrid(false);
    m_table->setFrameShape(QFrame::NoFrame);
    makeCopyable(m_table);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(kRowHeight);
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->horizontalHeader()->setResizeContentsPrecision(200);
    m_table->horizontalHeader()->setSectionResizeMode(RunModel::Operation, QHeaderView::Interactive);
    m_table->horizontalHeader()->resizeSection(RunModel::Operation, kOperationWidth);
    connect(m_table->horizontalHeader(), &QHeaderView::sectionResized, this, [this](int column) {
        if (column != RunModel::Operation)
            fitTable();
    });
    m_table->setTextElideMode(Qt::ElideMiddle);
    m_table->setWordWrap(false);
    m_table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);

    auto* results = new QVBoxLayout;
    results->setSpacing(4);
    results->addWidget(m_progress);
    results->addLayout(trouble);
    results->addWidget(m_verdict);
    results->addWidget(m_needs);
    results->addWidget(m_table, 1);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(kPanelMargin, 8, kPanelMargin, 8);
    layout->setSpacing(kPanelMargin);
    layout->addWidget(m_options);
    layout->addLayout(results, 1);
    m_table->setMinimumHeight(20);
    m_problem->hide();
    fitText();
}

RunOptions RunPanel::options() const
{
    RunOptions options;
    options.layers = m_layers->value();
    options.steps = m_steps->value();
    options.verify = m_verify->isChecked();
    options.ends = m_ends->isChecked();
    options.backend = m_wanted.toStdString();
    return options;
}

void RunPanel::setOptions(const RunOptions& options)
{
    m_layers->setValue(static_cast<int>(options.layers));
    m_steps->setValue(static_cast<int>(options.steps));
    m_verify->setChecked(options.verify);
    m_ends->setChecked(options.ends);
    chooseBackend(qstr(options.backend));
}

QString RunPanel::backend() const { return m_wanted; }

void RunPanel::chooseBackend(const QString& name)
{
    m_wanted = name;
    m_backend->choose(name);
    m_problem->hide();
    m_useCpu->hide();
    updateState();
    explainBackend();
}

/// All that there can be, with what it has or why it cannot be used here, as far as the engine has said.
void RunPanel::fillBackends()
{
    m_backend->clear();
    for (const std::string_view known : kBackendNames) {
        const QString name = QString::fromLatin1(known.data(), static_cast<qsizetype>(known.size()));
        const EngineBackend* told = m_session->backend(name);
        const QString why = m_session->whyNot(name);
        m_backend->addChoice(why.isEmpty() ? name : tr("%1 – not here").arg(name),
                             !why.isEmpty()                  ? why
                                 : told && told->usable()      ? told->description
                                 : told                        ? tr("several processes, started by mpirun")
                                 : m_session->backends().empty() ? tr("not asked yet")
                                                                 : QString(),
                             name);
    }
    m_backend->choose(m_wanted);
    m_backend->setMinimumWidth(m_backend->widestEntry());
}

/// What is missing where the chosen backend cannot be used, and what can be.
void RunPanel::explainBackend()
{
    const QString why = m_session->whyNot(m_wanted);
    if (why.isEmpty() || m_session->state() == EngineSession::State::Failed)
        return;
    showProblem(tr("%1 cannot be used here: %2.\nThe cpu plays the same devices, runs the same plan and checks the same numbers, only slower.").arg(m_wanted, why));
    m_useCpu->setVisible(m_wanted != QLatin1String("cpu") && m_session->whyNot(QStringLiteral("cpu")).isEmpty());
}

/// Asks the engine what there is as soon as somebody looks: behind another tab Qt counts a panel as shown, its dock knows better.
void RunPanel::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    if (const auto* dock = qobject_cast<QDockWidget*>(parentWidget()))
        connect(dock, &QDockWidget::visibilityChanged, this, &RunPanel::look, Qt::UniqueConnection);
    else
        askBackends();
}

void RunPanel::look(bool seen)
{
    m_seen = seen;
    const auto ask = [this] {
        if (m_seen)
            askBackends();
    };
    if (seen)
        QMetaObject::invokeMethod(this, ask, Qt::QueuedConnection); // panels come and go while they are arranged
}

void RunPanel::askBackends()
{
    if (m_session->state() == EngineSession::State::Off && m_session->backends().empty() && m_document->hasDesign())
        m_session->start();
}

bool RunPanel::canRun() const
{
    return !m_session->isBusy() && m_document->hasDesign() && !m_document->evaluation()->plan.segments.empty();
}

void RunPanel::run()
{
    if (!canRun())
        return;
    m_problem->hide();
    m_useCpu->hide();
    if (!m_session->whyNot(m_wanted).isEmpty()) {
        explainBackend();
        return;
    }
    m_needs->setText(tr("starting …"));
    m_progress->setRange(0, 0);
    m_session->run(m_document->evaluation(), options());
}

bool RunPanel::isStale() const { return m_resultOf != nullptr && m_resultOf != m_document->evaluation(); }

void RunPanel::updateState()
{
    using State = EngineSession::State;
    const State state = m_session->state();
    const bool busy = m_session->isBusy();
    m_run->setEnabled(canRun());
    m_run->setVisible(!busy);
    m_cancel->setVisible(busy);
    m_restart->setVisible(state == State::Failed);
    m_progress->setVisible(busy);
    if (!busy) {
        m_shows->stop();
        m_progress->reset();
    }
    m_backend->setEnabled(!busy);
    if (state == State::Failed) {
        m_needs->clear();
        m_useCpu->hide();
        showProblem(m_session->failure(), m_session->failureLog());
    } else if (state == State::Starting) {
        m_problem->hide();
        if (!busy)
            m_needs->setText(tr("asking the engine what there is …"));
    } else if (state == State::Ready) {
        if (m_fresh && !busy)
            m_needs->clear();
        fillBackends();
        explainBackend();
    }
    fitText();
}

/// A worker that does not answer may come back; to end it is for the user to decide.
void RunPanel::updateSilence()
{
    const bool silent = m_session->isSilent();
    m_restart->setVisible(silent || m_session->state() == EngineSession::State::Failed);
    if (silent)
        showProblem(tr("The engine has not answered for %1 s: it hangs, or its machine is overloaded. “Restart engine” ends this run; the design is untouched.")
                        .arg(m_session->silenceLimit() / 1000.0),
                    m_session->log());
    else if (m_session->state() == EngineSession::State::Running)
        m_problem->hide();
}

void RunPanel::showProblem(const QString& text, const QString& log)
{
    m_needs->clear();
    m_problem->setText(log.isEmpty() ? text : text + QLatin1Char('\n') + log);
    setColor(m_problem, Theme::of(this).error);
    m_problem->show();
}

void RunPanel::onProgress(qint64 step, qint64 of, const QString& what)
{
    m_told = { step, of, what };
    if (m_shows->isActive())
        return; // the last one that is told until then
    m_shows->start();
    showProgress();
}

void RunPanel::showProgress()
{
    const auto& [step, of, what] = m_told;
    m_progress->setRange(0, static_cast<int>(qMin<qint64>(of, INT_MAX)));
    m_progress->setValue(static_cast<int>(qMin(step, of)));
    m_progress->setFormat(what.isEmpty() ? QStringLiteral("%p %") : QStringLiteral("%p %   ") + QString(what).replace(QLatin1Char('%'), QStringLiteral("%%")));
}

void RunPanel::onFinished(const RunResult& result)
{
    m_resultOf = m_session->evaluation();
    m_fresh = false;
    const QString hardware = qstr(m_document->design().hardware);
    m_model->setResult(result, hardware);
    fitTable();
    m_needs->setText(tr("step %1 on %2, held %3 · predicted on %4: %5")
                         .arg(secondsText(result.stepMedian), qstr(result.backend), bytesText(result.peakBytes), hardware,
                              secondsText(result.predictedStepSeconds)));
    updateVerdict();
}

void RunPanel::updateVerdict()
{
    const Theme& theme = Theme::of(this);
    if (m_fresh) {
        m_verdict->setText(tr("A run executes the plan with made-up data on logical devices of the engine, measures every "
                              "operation and collective, and checks the numbers."));
        setColor(m_verdict, theme.quiet);
        return;
    }
    m_model->setStale(isStale() ? theme.quiet : QColor());
    const RunResult& result = m_model->result();
    const QString verdict = verdictText(result);
    if (isStale()) {
        m_verdict->setText(tr("Stale: measured on an earlier layout. Run again for this one. (%1)").arg(verdict));
        setColor(m_verdict, theme.attention);
        return;
    }
    m_verdict->setText(verdict);
    setColor(m_verdict, !result.compared ? theme.quiet : result.verified ? theme.text : theme.error);
}

/// Names as wide as is left beside the times, so that what matters is in sight without scrolling.
void RunPanel::fitTable()
{
    QHeaderView* header = m_table->horizontalHeader();
    const int times = header->sectionSize(RunModel::Measured) + header->sectionSize(RunModel::Predicted);
    header->resizeSection(RunModel::Operation, std::clamp(m_table->viewport()->width() - times, kOperationWidth * 4 / 5, 2 * kOperationWidth));
}

void RunPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    layout()->activate();
    fitTable();
}

void RunPanel::fitText()
{
    m_table->verticalHeader()->setDefaultSectionSize(rowHeight(m_table));
    QWidget* box = m_options->widget();
    box->setMinimumHeight(box->sizeHint().height()); // fields keep their height, and scroll
    m_options->setFixedWidth(box->minimumSizeHint().width() + m_options->verticalScrollBar()->sizeHint().width());
}

void RunPanel::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::FontChange && m_options != nullptr)
        QMetaObject::invokeMethod(this, &RunPanel::fitText, Qt::QueuedConnection); // when all have the new font
    if (event->type() == QEvent::StyleChange && m_verdict != nullptr) {
        updateVerdict();
        setColor(m_problem, Theme::of(this).error);
    }
    QWidget::changeEvent(event);
}

} // namespace shardboard
