// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/export/proofpanel.h"

#include "app/desktop/base/settings.h"
#include "app/desktop/export/prover.h"
#include "app/desktop/export/targetstates.h"
#include "model/io/exports/proofs.h"
#include "model/session/document.h"
#include "widgets/controls/card.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/document/documentview.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QClipboard>
#include <QEvent>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>

#include <algorithm>

namespace shardboard {

using Kind = TargetState::Kind;

ProofPanel::ProofPanel(Document* document, TargetStates* states, Prover* prover, Settings& settings, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_states(states)
    , m_prover(prover)
    , m_settings(settings)
    , m_title(new QLabel(this))
    , m_place(new QLabel(this))
    , m_summary(new WrappedLabel({}, this))
    , m_verdict(new QLabel(this))
    , m_detail(new WrappedLabel({}, this))
    , m_prove(new QPushButton(tr("Prove"), this))
    , m_cancel(new QPushButton(tr("Cancel"), this))
    , m_progress(new QProgressBar(this))
    , m_said(new WrappedLabel({}, this))
    , m_python(new QLineEdit(this))
    , m_elsewhere(new WrappedLabel({}, this))
    , m_project(new WrappedLabel({}, this))
    , m_use(new QWidget(this))
    , m_lines(new WrappedLabel({}, this))
    , m_copy(new QPushButton(tr("Copy"), this))
    , m_why(new Card(QStringLiteral("-"), {}, QStringLiteral("-"), Card::Look::Attention, this))
{
    setObjectName(QStringLiteral("proofView"));
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    build();
    connect(m_prove, &QPushButton::clicked, this, &ProofPanel::prove);
    connect(m_cancel, &QPushButton::clicked, prover, &Prover::cancel);
    connect(m_copy, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(m_lines->fullText()); });
    connect(m_python, &QLineEdit::editingFinished, this, [this] { m_settings.setPython(m_shown, m_python->text().trimmed()); });
    connect(states, &TargetStates::changed, this, &ProofPanel::showState);
    connect(states, &TargetStates::currentChanged, this, &ProofPanel::showTarget);
    connect(prover, &Prover::changed, this, &ProofPanel::showState);
    connect(document, &Document::evaluated, this, &ProofPanel::showTarget);
    connect(document->selection(), &Selection::changed, this, &ProofPanel::showRepair);
    showTarget();
}

QLabel* ProofPanel::heading(const QString& text, QVBoxLayout* column, QWidget* right)
{
    auto* label = new QLabel(text.toUpper(), this);
    label->setObjectName(QStringLiteral("proofHeading"));
    auto* row = boxLayout<QHBoxLayout>({ 0, 10, 0, 0 }, 8);
    row->addWidget(label, 1);
    if (right != nullptr)
        row->addWidget(right);
    column->addLayout(row);
    return label;
}

void ProofPanel::build()
{
    auto* scroll = new QScrollArea(this);
    scroll->setObjectName(QStringLiteral("proofScroll"));
    scroll->setAccessibleName(tr("Proof"));
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* content = new QWidget;
    auto* column = boxLayout<QVBoxLayout>({ kPanelMargin, 8, kPanelMargin, 12 }, 4, content);
    auto* top = boxLayout<QHBoxLayout>({ 0, 0, 0, 0 }, 8);
    top->addWidget(m_title, 1);
    top->addWidget(m_place);
    column->addLayout(top);
    column->addWidget(m_summary);
    heading(tr("Proof"), column);
    column->addWidget(m_verdict);
    column->addWidget(m_detail);
    auto* buttons = boxLayout<QHBoxLayout>({ 0, 4, 0, 4 }, 8);
    buttons->addWidget(m_prove);
    buttons->addWidget(m_cancel);
    buttons->addWidget(m_progress, 1);
    buttons->addStretch();
    column->addLayout(buttons);
    column->addWidget(m_said);
    auto* pythonRow = boxLayout<QHBoxLayout>({ 0, 0, 0, 0 }, 8);
    auto* pythonLabel = new QLabel(tr("P&ython"), this);
    pythonLabel->setBuddy(m_python);
    pythonRow->addWidget(pythonLabel);
    pythonRow->addWidget(m_python, 1);
    column->addLayout(pythonRow);
    column->addWidget(m_elsewhere);
    column->addWidget(m_project);
    auto* use = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 4, m_use);
    heading(tr("In your script"), use, m_copy);
    use->addWidget(m_lines);
    column->addWidget(m_use);
    m_whyTitle = heading(tr("Why"), column);
    column->addWidget(m_why);
    column->addStretch(1);
    scroll->setWidget(content);
    boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this)->addWidget(scroll);

    m_title->setObjectName(QStringLiteral("proof.title"));
    m_title->setTextFormat(Qt::PlainText);
    m_title->setIndent(3); // a bold J leans out of its width
    m_verdict->setObjectName(QStringLiteral("proof.verdict"));
    m_verdict->setTextFormat(Qt::PlainText);
    m_verdict->setWordWrap(true);
    m_verdict->setMinimumWidth(1);
    m_detail->setObjectName(QStringLiteral("proof.detail"));
    m_said->setObjectName(QStringLiteral("proof.said"));
    m_elsewhere->setObjectName(QStringLiteral("proof.elsewhere"));
    m_project->setObjectName(QStringLiteral("proof.project"));
    m_lines->setObjectName(QStringLiteral("proof.lines"));
    m_why->setObjectName(QStringLiteral("proof.why"));
    m_lines->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_elsewhere->setTextInteractionFlags(Qt::TextSelectableByMouse);
    nameWidget(m_prove, "proof.prove", tr("Prove"),
               tr("Have the framework itself make the shards of this design, and compare them"));
    nameWidget(m_cancel, "proof.cancel", tr("Cancel the proof"));
    nameWidget(m_copy, "proof.copy", tr("Copy the lines"));
    nameWidget(m_python, "proof.python", tr("Python that has the framework"),
               tr("A program of the path, or the Python of a virtual environment"));
    nameWidget(m_progress, "proof.progress", tr("Progress of the proof"));
    m_progress->setRange(0, 0);
    m_progress->setTextVisible(false);
}

QString ProofPanel::whyNot() const
{
    return !m_document->hasDesign()                                    ? tr("no design is open")
        : m_prover->isBusy()                                           ? tr("a proof is being made")
        : m_states->state(m_states->current()).kind() == Kind::Refused ? tr("this target cannot say the design")
                                                                       : QString();
}

void ProofPanel::prove()
{
    if (!canProve())
        return;
    const QString python = m_python->text().trimmed();
    m_settings.setPython(m_shown, python);
    m_prover->start(python.isEmpty() ? QStringLiteral("python3") : python);
}

void ProofPanel::showTarget()
{
    const ExportTarget& target = m_states->currentTarget();
    const QString id = qstr(target.id);
    if (std::exchange(m_shown, id) != id)
        m_python->setText(m_settings.python(id));
    m_title->setText(qstr(target.title));
    m_place->setText(tr("target %1 of %2").arg(m_states->current() + 1).arg(m_states->targets().size()));
    m_summary->setFullText(qstr(target.summary));
    m_elsewhere->setFullText(tr("Elsewhere, in the folder of the export: python3 %1").arg(qstr(target.check)));
    QStringList proofs;
    for (const ProjectProof& proof : projectProofsOf(target.id))
        proofs << qstr(projectProofText(proof));
    m_project->setFullText(proofs.join(QLatin1Char('\n')));
    m_project->setVisible(!proofs.isEmpty());
    showState();
}

void ProofPanel::showState()
{
    const Theme& theme = Theme::of(this);
    m_title->setFont(uiFont(this, 0.5, true));
    for (QLabel* label : findChildren<QLabel*>(QStringLiteral("proofHeading"))) {
        label->setFont(uiFont(this, -1, true));
        setTextColor(label, theme.quiet);
    }
    for (QLabel* label : { m_place, static_cast<QLabel*>(m_summary), static_cast<QLabel*>(m_detail), static_cast<QLabel*>(m_said),
                           static_cast<QLabel*>(m_elsewhere), static_cast<QLabel*>(m_project) }) {
        label->setFont(uiFont(this, -0.5));
        setTextColor(label, theme.quiet);
    }
    m_lines->setFont(monoFont(this, -1));
    const bool here = m_prover->isBusy() && m_prover->target() == m_states->current();
    m_prove->setVisible(!here);
    m_prove->setEnabled(canProve());
    m_prove->setToolTip(canProve() ? tr("Have the framework itself make the shards of this design, and compare them") : whyNot());
    m_cancel->setVisible(here);
    m_progress->setVisible(here);
    m_said->setVisible(here && !m_prover->progress().isEmpty());
    m_said->setFullText(m_prover->progress());
    const TargetState state = m_states->state(m_states->current());
    const bool usable = m_document->hasDesign() && state.refusals && state.refusals->empty();
    m_use->setVisible(usable);
    m_elsewhere->setVisible(usable);
    if (usable)
        m_lines->setFullText(shownLines(
            QString::fromStdString(m_states->currentTarget().usage(m_document->design(), *m_document->evaluation())).trimmed()));
    showProof();
    showRepair();
}

/// The big line, and below it by whom, when, and what it is about.
void ProofPanel::showProof()
{
    using Outcome = ProofAnswer::Outcome;
    const Theme& theme = Theme::of(this);
    const TargetState state = m_states->state(m_states->current());
    const ProofAnswer* answer = state.proof ? &state.proof->answer : nullptr;
    QStringList detail;
    QColor color = theme.text;
    if (m_prover->isBusy() && m_prover->target() == m_states->current()) {
        m_verdict->setText(tr("proving …"));
    } else if (answer == nullptr) {
        m_verdict->setText(state.kind() == Kind::Unknown       ? tr("looking …")
                               : state.kind() == Kind::Refused ? state.text()
                                                               : tr("exact, not checked here"));
    } else if (answer->outcome == Outcome::Equal || answer->outcome == Outcome::Differ) {
        color = answer->outcome == Outcome::Differ ? theme.error : state.proofIsOfNow ? theme.good : theme.quiet;
        m_verdict->setText(tr("%1 of %2 tensors equal").arg(countText(answer->equal), countText(answer->of)));
        detail << tr("by %1, in %2").arg(qstr(answer->peer), secondsText(answer->seconds));
        if (!state.proofIsOfNow)
            detail << tr("before the last edit: prove it again");
    } else {
        m_verdict->setText(answer->outcome == Outcome::Skipped        ? tr("not checked: no framework here")
                               : answer->outcome == Outcome::TimedOut ? tr("not checked: it took too long")
                                                                      : tr("not checked: the check failed"));
        color = answer->outcome == Outcome::Skipped ? theme.text : theme.error;
        detail << qstr(answer->text);
        if (answer->outcome == Outcome::Skipped)
            detail << tr("Name a Python that has it, or run the line below where it is.");
    }
    if (answer != nullptr && !m_prover->isBusy())
        detail << QLocale::c().toString(state.proof->when, QStringLiteral("d MMM yyyy, HH:mm"));
    const bool number = answer != nullptr && answer->of > 0 && !m_prover->isBusy();
    m_verdict->setFont(uiFont(this, number ? 2 : 0.5, number));
    setTextColor(m_verdict, color);
    m_detail->setFullText(detail.join(QLatin1Char('\n')));
    m_detail->setVisible(!detail.isEmpty());
}

/// What stands in the way of the selected weight, or else of the design.
void ProofPanel::showRepair()
{
    const TargetState state = m_states->state(m_states->current());
    const ExportRefusal* shown = nullptr;
    const WeightLayout* weight = m_document->hasDesign() ? selectedWeight(*m_document) : nullptr;
    if (state.refusals)
        for (const ExportRefusal& refusal : *state.refusals)
            if (refusal.tensors == 0 || (weight != nullptr && refusal.error.where == weight->spec.name))
                shown = &refusal;
    m_whyTitle->setVisible(shown != nullptr);
    m_why->setVisible(shown != nullptr);
    if (shown != nullptr)
        m_why->setTexts(shown->tensors == 0 ? tr("The whole design") : shortName(shown->error.where), {},
                        problemText(shown->error));
}

void ProofPanel::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    m_states->watch(this, true);
}

void ProofPanel::hideEvent(QHideEvent* event)
{
    QWidget::hideEvent(event);
    m_states->watch(this, false);
}

void ProofPanel::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        QMetaObject::invokeMethod(this, &ProofPanel::showState, Qt::QueuedConnection);
}

} // namespace shardboard
