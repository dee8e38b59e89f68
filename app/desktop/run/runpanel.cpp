// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/run/runpanel.h"

#include "app/desktop/run/runmodel.h"
#include "model/io/wire/backends.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "widgets/controls/choicebox.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/document/findingplace.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/elidingheader.h"
#include "widgets/tables/tablecopy.h"

#include <QCheckBox>
#include <QEvent>
#include <QFileInfo>
#include <QGridLayout>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSpinBox>
#include <QTableView>
#include <QTimer>

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

constexpr int kShowMs = 40; ///< between two steps that are shown: a run of many short ones tells of them faster than eyes can read

QSpinBox* countBox(const QString& name, int lowest, int value, QWidget* parent)
{
    auto* box = new QSpinBox(parent);
    box->setObjectName(name);
    box->setRange(lowest, 10000);
    box->setValue(value);
    return box;
}

WrappedLabel* textLabel(const QString& name, QWidget* parent)
{
    auto* label = new WrappedLabel({}, parent);
    label->setObjectName(name);
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
    , m_form(new QScrollArea(this))
    , m_shows(new QTimer(this))
{
    setObjectName(QStringLiteral("runPanel"));
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    build();
    connect(m_restart, &QPushButton::clicked, this, [this] {
        m_needs->setFullText({});
        m_session->restart();
    });
    connect(m_useCpu, &QPushButton::clicked, this, [this] {
        chooseBackend(QStringLiteral("cpu"));
        run();
    });
    connect(m_backend, &QComboBox::activated, this, [this] { chooseBackend(m_backend->currentData().toString()); });
    connect(m_session, &EngineSession::stateChanged, this, &RunPanel::updateState);
    connect(m_session, &EngineSession::silenceChanged, this, &RunPanel::updateSilence);
    connect(m_session, &EngineSession::queued, this, [this](const QString& what) { m_needs->setFullText(what); });
    connect(m_session, &EngineSession::announced, this, [this](qint64 bytes, double seconds) {
        if (!m_session->isCalibrating())
            m_needs->setFullText(tr("needs %1 and about %2").arg(bytesText(bytes), secondsText(seconds)));
    });
    connect(m_session, &EngineSession::progressed, this, &RunPanel::onProgress);
    m_shows->setSingleShot(true);
    m_shows->setInterval(kShowMs);
    connect(m_shows, &QTimer::timeout, this, &RunPanel::showProgress);
    connect(m_session, &EngineSession::finished, this, [this](const RunResult& result) {
        showResult(result, m_session->evaluation(), qstr(m_asked.design.hardware));
        startNext();
    });
    connect(m_session, &EngineSession::refused, this, [this](const QString& text) {
        if (!m_session->lastCalibrated())
            showProblem(text);
        startNext();
    });
    connect(m_session, &EngineSession::calibrated, this, &RunPanel::startNext);
    connect(m_session, &EngineSession::cancelled, this, [this] {
        if (!m_session->lastCalibrated())
            m_needs->setFullText(tr("cancelled"));
    });
    connect(m_later, &QPushButton::clicked, this, &RunPanel::runLater);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& at) { selectRow(at.row()); });
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
    m_layers = countBox(QStringLiteral("run.layers"), 0, 2, nullptr);
    m_layers->setSpecialValueText(tr("all"));
    m_layers->setToolTip(tr("How many layers of each repeated block to run; 0 is all of them"));
    m_steps = countBox(QStringLiteral("run.steps"), 1, 1, nullptr);
    m_steps->setToolTip(tr("Timed repetitions; times are medians over them"));
    m_backend = new ChoiceBox(false, nullptr);
    nameWidget(m_backend, "run.backend", tr("Runs on"));
    m_verify = new QCheckBox(tr("&Verify"));
    nameWidget(m_verify, "run.verify", {}, tr("Compare every result with the unsharded computation on the same inputs"));
    m_verify->setChecked(true);
    m_ends = new QCheckBox(tr("&Embedding and head"));
    m_ends->setObjectName(QStringLiteral("run.ends"));
    m_later = new QPushButton(tr("Run After This One"));
    nameWidget(m_later, "run.later", {}, tr("The design as it is now, with these options, when what runs now is over"));
    m_later->hide();
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
    auto* layersLabel = new QLabel(tr("&Layers"));
    layersLabel->setBuddy(m_layers);
    auto* stepsLabel = new QLabel(tr("&Steps"));
    stepsLabel->setBuddy(m_steps);
    form->addWidget(layersLabel, 0, 0);
    form->addWidget(m_layers, 0, 1);
    form->addWidget(stepsLabel, 1, 0);
    form->addWidget(m_steps, 1, 1);
    auto* backendLabel = new QLabel(tr("&On"));
    backendLabel->setBuddy(m_backend);
    form->addWidget(backendLabel, 2, 0);
    form->addWidget(m_backend, 2, 1);
    auto* box = new QWidget;
    box->setAutoFillBackground(true);
    box->setBackgroundRole(QPalette::Base);
    form->setColumnStretch(1, 1);
    auto* options = boxLayout<QVBoxLayout>({ kPanelMargin, 8, kPanelMargin, 8 }, 4, box);
    options->addLayout(form);
    options->addWidget(m_verify);
    options->addWidget(m_ends);
    options->addWidget(m_later);
    options->addStretch(1);
    nameWidget(m_form, "runForm", tr("What to run"));
    m_form->setWidgetResizable(true); // a low panel scrolls it
    m_form->setFocusPolicy(Qt::NoFocus);
    m_form->setFrameShape(QFrame::NoFrame);
    m_form->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_form->setWidget(box);
    m_form->setMinimumHeight(60);
    box->installEventFilter(this);
    m_form->hide(); // until it has its place

    auto* words = new QWidget(this);
    auto* lines = boxLayout<QVBoxLayout>({ 1, 1, 1, 1 }, 4, words);
    for (WrappedLabel* label : { m_problem, m_verdict, m_needs })
        lines->addWidget(label);
    lines->addStretch(1);
    m_words = new QScrollArea(this); // an error with its log may be longer than the panel is high
    nameWidget(m_words, "run.words", tr("What the run says"));
    m_words->setWidgetResizable(true);
    m_words->setFrameShape(QFrame::NoFrame);
    m_words->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_words->setWidget(words);
    words->installEventFilter(this);
    auto* ways = new QVBoxLayout;
    ways->setSpacing(4);
    ways->addWidget(m_useCpu);
    ways->addWidget(m_restart);
    ways->addStretch(1);
    auto* told = new QHBoxLayout;
    told->setSpacing(12);
    told->addWidget(m_words, 1);
    told->addLayout(ways);

    m_table = new QTableView(this);
    nameWidget(m_table, "run.table", tr("Measured times"));
    m_table->setModel(m_model);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setShowGrid(false);
    m_table->setFrameShape(QFrame::NoFrame);
    makeCopyable(m_table);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(kRowHeight);
    m_table->setHorizontalHeader(new ElidingHeader(Qt::Horizontal, m_table));
    m_table->horizontalHeader()->setResizeContentsPrecision(200);
    m_table->horizontalHeader()->setMinimumSectionSize(8);
    m_table->viewport()->installEventFilter(this);
    m_table->setTextElideMode(Qt::ElideMiddle);
    m_table->setWordWrap(false);
    m_table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);

    auto* results = new QVBoxLayout;
    results->setSpacing(4);
    results->addWidget(m_progress);
    results->addLayout(told);
    results->addWidget(m_table, 1);
    auto* layout = boxLayout<QHBoxLayout>({ kPanelMargin, 8, kPanelMargin, 8 }, kPanelMargin, this);
    layout->addLayout(results, 1);
    m_table->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored); // the words come first
    m_problem->hide();
    fitText();
}

QWidget* RunPanel::form() const { return m_form; }

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
    fitForm();
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
                             !why.isEmpty()                      ? why
                                 : told && told->usable()        ? told->description
                                 : told                          ? tr("several processes, started by mpirun")
                                 : m_session->backends().empty() ? tr("not asked yet")
                                                                 : QString(),
                             name);
    }
    m_backend->choose(m_wanted);
    fitForm();
}

/// What is missing where the chosen backend cannot be used, and what can be.
void RunPanel::explainBackend()
{
    const QString why = m_session->whyNot(m_wanted);
    if (why.isEmpty() || m_session->state() == EngineSession::State::Failed)
        return;
    showProblem(tr("%1 cannot be used here: %2.\nThe cpu backend simulates the same devices, runs the same plan and checks the "
                   "same numbers, only slower.")
                    .arg(m_wanted, why));
    m_useCpu->setVisible(m_wanted != QLatin1String("cpu") && m_session->whyNot(QStringLiteral("cpu")).isEmpty());
}

/// Asks the engine what there is as soon as somebody looks.
void RunPanel::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    QMetaObject::invokeMethod(this, &RunPanel::fitText, Qt::QueuedConnection); // all have their fonts only now
    look(true);
}

void RunPanel::hideEvent(QHideEvent* event)
{
    QWidget::hideEvent(event);
    look(false);
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

RunPanel::Asked RunPanel::askedNow() const
{
    Asked out { m_document->evaluation(), m_document->design(), QFileInfo(m_document->filePath()).fileName(), options() };
    out.options.profile = ProfileMode::Batched; // what the timeline shows
    return out;
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
    start(askedNow());
}

void RunPanel::start(Asked asked)
{
    m_needs->setFullText(tr("starting …"));
    m_progress->setRange(0, 0);
    m_asked = std::move(asked);
    m_session->run(m_asked.evaluation, m_asked.options);
}

void RunPanel::runLater()
{
    if (!m_session->isBusy()) {
        run();
        return;
    }
    if (m_document->hasDesign() && !m_document->evaluation()->plan.segments.empty())
        m_queue.push_back(askedNow());
    updateState();
}

/// After the others have heard of the end of the one before.
void RunPanel::startNext()
{
    QMetaObject::invokeMethod(
        this,
        [this] {
            if (m_queue.empty() || m_session->isBusy())
                return;
            Asked next = std::move(m_queue.front());
            m_queue.pop_front();
            start(std::move(next));
        },
        Qt::QueuedConnection);
}

void RunPanel::cancel()
{
    if (m_session->isBusy())
        m_needs->setFullText(tr("cancelling …"));
    m_queue.clear();
    m_session->cancel();
}

bool RunPanel::isStale() const { return m_resultOf != nullptr && m_resultOf != m_document->evaluation(); }

/// The operation or collective of a row in all views. Of an earlier layout it may be gone.
void RunPanel::selectRow(int row)
{
    const auto& operations = m_model->result().operations;
    if (row < 0 || static_cast<std::size_t>(row) >= operations.size() || !m_document->hasDesign())
        return;
    const std::string& id = operations[static_cast<std::size_t>(row)].id;
    const auto& collectives = m_document->evaluation()->plan.collectives;
    for (CollectiveId i { 0 }; i < collectives.size(); ++i)
        if (collectives[i].id == id) {
            m_document->selection()->setCollective(i);
            return;
        }
    selectWhere(*m_document, id);
}

void RunPanel::updateState()
{
    using State = EngineSession::State;
    const State state = m_session->state();
    const bool busy = m_session->isBusy();
    m_restart->setVisible(state == State::Failed);
    m_progress->setVisible(busy);
    if (!busy) {
        m_shows->stop();
        m_progress->reset();
    }
    m_backend->setEnabled(!busy || m_session->state() == State::Running);
    m_later->setVisible(busy);
    m_later->setText(m_queue.empty() ? tr("Run After This One")
                                     : tr("Run After This One (%1)").arg(counted(waiting(), tr("waits"), tr("wait"))));
    if (state == State::Failed) {
        m_queue.clear();
        m_needs->setFullText({});
        m_useCpu->hide();
        showProblem(m_session->failure(), m_session->failureLog());
    } else if (state == State::Starting) {
        m_problem->hide();
        if (!busy)
            m_needs->setFullText(tr("asking the engine which backends it has …"));
    } else if (state == State::Ready) {
        if (m_fresh && !busy)
            m_needs->setFullText({});
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
        showProblem(tr("The engine has not answered for %1 s: it hangs, or its machine is overloaded. “Restart engine” ends this "
                       "run; the design is untouched.")
                        .arg(m_session->silenceLimit() / 1000.0),
                    m_session->log());
    else if (m_session->state() == EngineSession::State::Running)
        m_problem->hide();
}

void RunPanel::showProblem(const QString& text, const QString& log)
{
    m_needs->setFullText({});
    m_problem->setFullText(log.isEmpty() ? text : text + QLatin1Char('\n') + log);
    setColor(m_problem, Theme::of(this).error);
    m_problem->show();
    m_words->verticalScrollBar()->setValue(0);
    fitWords();
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
    m_progress->setFormat(what.isEmpty()
                              ? QStringLiteral("%p %")
                              : QStringLiteral("%p %   ") + QString(what).replace(QLatin1Char('%'), QStringLiteral("%%")));
}

void RunPanel::showResult(const RunResult& result, std::shared_ptr<const Evaluation> evaluation, const QString& hardware)
{
    m_resultOf = std::move(evaluation);
    m_fresh = false;
    m_model->setResult(result, hardware);
    measureTable();
    m_needs->setFullText(tr("step %1 on %2, held %3 · predicted on %4: %5")
                             .arg(secondsText(result.stepMedian), qstr(result.backend), bytesText(result.peakBytes), hardware,
                                  secondsText(result.predictedStepSeconds)));
    updateVerdict();
}

void RunPanel::updateVerdict()
{
    const Theme& theme = Theme::of(this);
    if (m_fresh) {
        m_verdict->setFullText(tr("A run executes the plan with generated data on logical devices of the engine, measures every "
                                  "operation and collective, and checks the numbers."));
        setColor(m_verdict, theme.quiet);
        return;
    }
    m_model->setStale(isStale() ? theme.quiet : QColor());
    const RunResult& result = m_model->result();
    const QString verdict = verdictText(result);
    if (isStale()) {
        m_verdict->setFullText(tr("Stale: measured on an earlier layout. Run again for this one. (%1)").arg(verdict));
        setColor(m_verdict, theme.attention);
        return;
    }
    m_verdict->setFullText(verdict);
    setColor(m_verdict, !result.compared ? theme.quiet : result.verified ? theme.text : theme.error);
}

/// What the columns would like; measured where the contents or the font change, not at every resize.
void RunPanel::measureTable()
{
    using Column = RunModel;
    const QAbstractItemView* cells = m_table; // protected in the class itself
    auto* header = static_cast<ElidingHeader*>(m_table->horizontalHeader());
    const int em = QFontMetrics(m_table->font()).horizontalAdvance(QLatin1Char('m'));
    m_wishes.assign(Column::ColumnCount, {});
    for (int column = 0; column < Column::ColumnCount; ++column) {
        header->setSectionHidden(column, false); // a hidden one has no size
        const int contents = cells->sizeHintForColumn(column);
        ColumnWish& wish = m_wishes[static_cast<std::size_t>(column)];
        wish.natural = std::max(contents, header->sectionSizeHint(column));
        const int brief = header->shortWidth(column);
        wish.least = std::max(
            contents, brief < wish.natural ? brief : std::min(wish.natural, 7 * em)); // numbers are never cut, long headings may be
    }
    ColumnWish& names = m_wishes[Column::Operation];
    names.natural = std::min(names.natural, 24 * em);
    names.least = std::min(names.natural, 9 * em);
    names.narrowest = std::min(names.natural, 4 * em);
    int rank = 0;
    for (const int column : { Column::Operation, Column::Measured, Column::Predicted, Column::RelativeError, Column::Bytes,
                              Column::Kind, Column::Count }) {
        m_wishes[static_cast<std::size_t>(column)].rank = rank;
        m_wishes[static_cast<std::size_t>(column)].mayHide = rank > 1;
        ++rank;
    }
    fitTable();
}

/// All columns in sight without scrolling sideways. Of an operation the tool tip says what there is no room for.
void RunPanel::fitTable()
{
    QHeaderView* header = m_table->horizontalHeader();
    const std::vector<int> widths = fitColumns(m_wishes, m_table->viewport()->width());
    for (std::size_t i = 0; i < widths.size(); ++i) {
        const int column = static_cast<int>(i);
        header->setSectionHidden(column, widths[i] == 0);
        if (widths[i] > 0)
            header->resizeSection(column, widths[i]);
    }
}

/// The words are as high as they are, in a low panel as high as leaves the table its first rows; then they scroll.
void RunPanel::fitWords()
{
    const QWidget* words = m_words->widget();
    const int width = m_words->width() - m_words->verticalScrollBar()->sizeHint().width() - 2 * m_words->frameWidth();
    const int wanted =
        (words->layout()->hasHeightForWidth() ? words->layout()->totalHeightForWidth(width) : words->sizeHint().height())
        + 2 * m_words->frameWidth();
    const int row = m_table->verticalHeader()->defaultSectionSize();
    const int rows = m_table->model()->rowCount() > 0 ? 2 : 0;
    m_table->setMinimumHeight(std::max(20, rows * row));
    const int room = height() - layout()->contentsMargins().top() - layout()->contentsMargins().bottom() - m_table->minimumHeight()
        - 4 - (m_progress->isVisibleTo(this) ? m_progress->sizeHint().height() + 4 : 0);
    const int given = std::clamp(room, std::min(wanted, leastWords()), std::max(wanted, 1));
    m_words->setFixedHeight(given);
    const bool scrolls = given < wanted;
    m_words->setFocusPolicy(scrolls ? Qt::StrongFocus : Qt::NoFocus); // by the keys, too
    for (WrappedLabel* label : { m_problem, m_verdict, m_needs })
        label->setToolTip(scrolls ? label->fullText() : QString());
}

QSize RunPanel::minimumSizeHint() const
{
    const QSize out = QWidget::minimumSizeHint();
    int ways = 0; // the buttons beside the words
    for (const QPushButton* way : { m_useCpu, m_restart })
        if (!way->isHidden())
            ways += way->sizeHint().height() + 4;
    const int now = m_words->minimumHeight();
    const int less = std::max(now, ways) - std::max(std::min(now, leastWords()), ways);
    return { out.width(), std::max(out.height() - less, std::min(out.height(), leastWords() + 16)) };
}

int RunPanel::leastWords() const { return 2 * QFontMetrics(font()).lineSpacing() + 4; }

bool RunPanel::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::LayoutRequest && m_words != nullptr && watched == m_words->widget())
        QMetaObject::invokeMethod(this, &RunPanel::fitWords, Qt::QueuedConnection);
    if ((event->type() == QEvent::LayoutRequest || event->type() == QEvent::Show) && m_form != nullptr
        && watched == m_form->widget())
        QMetaObject::invokeMethod(this, &RunPanel::fitForm, Qt::QueuedConnection); // seen or not is not this panel's question
    if (event->type() == QEvent::Resize && m_table != nullptr && watched == m_table->viewport())
        fitTable(); // also when its other scroll bar comes or goes
    return QWidget::eventFilter(watched, event);
}

void RunPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    fitWords();
    layout()->activate();
    fitTable();
}

void RunPanel::fitText()
{
    m_table->verticalHeader()->setDefaultSectionSize(rowHeight(m_table));
    m_model->setMono(monoFont(m_table, -0.5));
    fitForm();
    measureTable();
    fitWords();
}

/// No field is wider than the form: of a long list the chosen entry is seen whole, and the others when it opens.
void RunPanel::fitForm()
{
    m_backend->setMinimumWidth(m_backend->widthOf(m_backend->currentText()));
    QWidget* box = m_form == nullptr ? nullptr : m_form->widget();
    if (box == nullptr)
        return; // not built yet
    box->setMinimumHeight(box->sizeHint().height()); // fields keep their height, and scroll
    m_form->setMinimumWidth(box->minimumSizeHint().width() + 2 * m_form->frameWidth()); // a scroll bar takes of the margin
}

void RunPanel::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::FontChange && m_words != nullptr)
        QMetaObject::invokeMethod(this, &RunPanel::fitText, Qt::QueuedConnection); // when all have the new font
    if (event->type() == QEvent::StyleChange && m_verdict != nullptr) {
        updateVerdict();
        setColor(m_problem, Theme::of(this).error);
    }
    QWidget::changeEvent(event);
}

} // namespace shardboard
