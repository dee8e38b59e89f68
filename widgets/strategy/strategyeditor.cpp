// SPDX-License-Identifier: Apache-2.0
#include "widgets/strategy/strategyeditor.h"
#include "widgets/controls/viewheader.h"
#include "widgets/look/errortext.h"

#include "model/design/deviceweights.h"
#include "model/design/evaluate/evaluate.h"
#include "widgets/controls/choicebox.h"
#include "widgets/document/shownspec.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/strategy/strategyform.h"
#include "widgets/strategy/strategypreview.h"

#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSpinBox>

#include <algorithm>

namespace shardboard {

namespace {

QWidget* separator(QWidget* parent)
{
    auto* line = new QFrame(parent);
    line->setFrameShape(QFrame::NoFrame);
    line->setFixedHeight(1);
    line->setAutoFillBackground(true);
    line->setBackgroundRole(QPalette::Midlight); // the theme's line
    return line;
}

/// How many layers have a weight of this name, and how many rows it takes to tell them.
std::pair<std::int64_t, int> layersOf(const Evaluation& evaluation, const std::string& name)
{
    std::pair<std::int64_t, int> out { 0, 0 };
    for (const WeightLayout& weight : evaluation.weights)
        if (weight.spec.name == name) {
            out.first += weight.copies;
            ++out.second;
        }
    return out;
}

} // namespace

StrategyEditor::StrategyEditor(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_header(new ViewHeader(tr("Strategy"), this))
    , m_empty(new QLabel(this))
    , m_scroll(new QScrollArea(this))
    , m_form(new StrategyForm)
    , m_preview(new StrategyPreview)
    , m_foot(new QWidget(this))
    , m_scopeName(new QLabel(tr("for"), m_foot))
    , m_scope(new ChoiceBox(false, m_foot))
    , m_layer(new QSpinBox(m_foot))
    , m_apply(new QPushButton(tr("Apply"), m_foot))
    , m_revert(new QPushButton(tr("Revert"), m_foot))
    , m_evaluating(new LatestJob(this))
{
    nameView("strategyEditor", tr("Strategy"));
    buildLayout();
    connect(m_form, &StrategyForm::kindChosen, this, &StrategyEditor::chooseKind);
    connect(m_form, &StrategyForm::changed, this, [this] { changeDraft(m_form->draft()); });
    connect(m_form, &StrategyForm::submitted, this, [this] { apply(); });
    connect(m_scope, &QComboBox::activated, this, [this] {
        m_layer->setVisible(scope() == DraftScope::OneLayer);
        evaluateDraft();
    });
    connect(m_layer, &QSpinBox::valueChanged, this, [this] { evaluateDraft(); });
    connect(m_apply, &QPushButton::clicked, this, [this] { apply(); });
    connect(m_revert, &QPushButton::clicked, this, [this] { revert(); });
    start();
}

void StrategyEditor::buildLayout()
{
    m_header->setDetailAtRight();
    m_empty->setObjectName(QStringLiteral("strategyEmpty"));
    m_empty->setWordWrap(true);
    m_empty->setContentsMargins(kPanelMargin, 8, kPanelMargin, 8);
    nameWidget(m_scroll, "strategyScroll", tr("Parameters and preview of the strategy"));
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->setFocusPolicy(Qt::NoFocus);
    auto* page = new QWidget(m_scroll);
    page->setAutoFillBackground(true);
    page->setBackgroundRole(QPalette::Base);
    auto* column = boxLayout<QVBoxLayout>({ kPanelMargin, 8, kPanelMargin, kPanelMargin }, 12, page);
    column->addWidget(m_form);
    column->addWidget(separator(page));
    column->addWidget(m_preview);
    column->addStretch(1);
    m_scroll->setWidget(page);
    nameWidget(m_scope, "strategyScope", tr("Layers that it is for"));
    nameWidget(m_layer, "strategyLayer", tr("Number of the layer"));
    m_layer->setPrefix(tr("layer "));
    m_apply->setObjectName(QStringLiteral("strategyApply"));
    nameWidget(m_revert, "strategyRevert", {}, tr("Back to what the design says"));
    auto* foot = boxLayout<QVBoxLayout>({ kPanelMargin, 8, kPanelMargin, 12 }, 8, m_foot);
    auto* scope = new QHBoxLayout;
    scope->setSpacing(8);
    scope->addWidget(m_scopeName);
    scope->addWidget(m_scope, 1);
    scope->addWidget(m_layer);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(m_apply, 1);
    buttons->addWidget(m_revert);
    foot->addLayout(scope);
    foot->addLayout(buttons);
    m_foot->setParent(nullptr); // Tab comes to it after the form, which was made later
    m_foot->setParent(this);
    auto* all = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    all->addWidget(m_header);
    all->addWidget(m_empty);
    all->addWidget(m_scroll, 1);
    all->addWidget(separator(this));
    all->addWidget(m_foot);
}

QSize StrategyEditor::sizeHint() const { return { 340, 560 }; }

std::vector<int> StrategyEditor::weights() const { return document()->hasDesign() ? selection()->weights() : std::vector<int>(); }

bool StrategyEditor::canEdit() const { return !m_weights.empty() && m_weights == weights(); }

void StrategyEditor::refresh()
{
    // An edit elsewhere leaves a draft alone; an edit of this weight's strategy replaces it.
    const auto now = weights();
    const bool same = !now.empty() && now == m_weights && draftOf(*document(), now.front()) == m_base;
    if (!same || m_draft == m_base)
        load();
    else
        changeDraft(m_draft);
}

void StrategyEditor::selectionChanged()
{
    if (weights() != m_weights)
        load();
}

void StrategyEditor::themeChanged()
{
    m_form->updateLook();
    m_preview->updateLook();
    refresh();
}

void StrategyEditor::showEvent(QShowEvent* event)
{
    DocumentView::showEvent(event);
    if (!m_current)
        evaluateDraft();
}

void StrategyEditor::load()
{
    m_weights = weights();
    const bool some = !m_weights.empty();
    m_empty->setVisible(!some);
    m_empty->setText(document()->hasDesign() ? tr("Select a weight to write its strategy.") : tr("No design is open."));
    setTextColor(m_empty, Theme::of(this).quiet);
    m_scroll->widget()->setVisible(some);
    m_foot->setVisible(some);
    showHeader();
    if (!some) {
        m_evaluating->forget();
        return;
    }
    showScopes();
    m_base = draftOf(*document(), m_weights.front());
    changeDraft(m_base);
}

void StrategyEditor::showHeader()
{
    if (m_weights.empty()) {
        m_header->setTitle(tr("Strategy"));
        m_header->setDetail(QString());
        return;
    }
    const WeightLayout& weight = document()->evaluation()->weights[static_cast<std::size_t>(m_weights.front())];
    const QString name = shortName(weight.spec.name);
    m_header->setTitle(m_weights.size() == 1 ? name : weightsText(*document(), m_weights));
    m_header->setDetail(m_weights.size() > 1      ? tr("shown: %1").arg(name)
                            : weight.unknownShape ? tr("shape unknown")
                                                  : shapeLabel(weight.spec.shape));
}

void StrategyEditor::showScopes()
{
    const WeightLayout& weight = document()->evaluation()->weights[static_cast<std::size_t>(m_weights.front())];
    const auto [layers, rows] = layersOf(*document()->evaluation(), weight.spec.name);
    const QVariant before = m_scope->currentData();
    const QSignalBlocker blocker(m_scope);
    m_scope->clear();
    const auto add = [this](const QString& text, DraftScope wanted) {
        m_scope->addChoice(text, QString(), static_cast<int>(wanted));
    };
    const bool single = m_weights.size() == 1;
    if (rows <= 1 || !single)
        add(single ? tr("all %1 layers").arg(layers) : tr("the layers of these rows"), DraftScope::Row);
    else if (weight.copies == 1)
        add(tr("layer %1").arg(weight.firstLayer), DraftScope::Row);
    else
        add(tr("these %1 layers").arg(weight.copies), DraftScope::Row);
    if (rows > 1 || !single)
        add(single ? tr("all %1 layers").arg(layers) : tr("all layers"), DraftScope::AllLayers);
    if (single && weight.copies > 1)
        add(tr("one layer"), DraftScope::OneLayer);
    m_scope->choose(m_scope->findData(before) < 0 ? QVariant(static_cast<int>(DraftScope::Row)) : before);
    {
        const QSignalBlocker layerBlocker(m_layer);
        m_layer->setRange(static_cast<int>(weight.firstLayer), static_cast<int>(weight.firstLayer + weight.copies - 1));
    }
    const bool layered = std::any_of(m_weights.begin(), m_weights.end(), [this](int index) {
        return document()->evaluation()->weights[static_cast<std::size_t>(index)].firstLayer >= 0;
    });
    m_scopeName->setVisible(layered);
    m_scope->setVisible(layered);
    m_layer->setVisible(layered && scope() == DraftScope::OneLayer);
    setTextColor(m_scopeName, Theme::of(this).quiet);
}

DraftScope StrategyEditor::scope() const
{
    const QVariant chosen = m_scope->currentData();
    return chosen.isValid() ? static_cast<DraftScope>(chosen.toInt()) : DraftScope::Row;
}

void StrategyEditor::changeDraft(const StrategyDraft& draft)
{
    if (!canEdit())
        return;
    m_draft = draft;
    const auto evaluation = document()->evaluation();
    m_form->showDraft(m_draft, evaluation->weights[static_cast<std::size_t>(m_weights.front())], document()->design().mesh);
    evaluateDraft();
}

/// What the draft means for the shown weight at once, what it means for the design as soon as that is known.
void StrategyEditor::evaluateDraft()
{
    m_current = false;
    if (!canEdit() || !isVisible())
        return;
    m_current = true;
    const auto evaluation = document()->evaluation();
    const WeightLayout& now = evaluation->weights[static_cast<std::size_t>(m_weights.front())];
    const Mesh& mesh = document()->design().mesh;
    QString refusal;
    QString readAs;
    if (now.unknownShape) {
        m_preview->clearWeight();
    } else if (const auto then = drafted(m_draft, now, mesh); then.ok()) {
        m_preview->showWeight(now, then.value(), shownSpec(*document(), then.value().layout), *evaluation);
        if (m_draft.strategy.kind == StrategyKind::Spec && m_draft.strategy.spec != then.value().strategy.spec)
            readAs = tr("read as %1").arg(qstr(then.value().strategy.spec));
    } else {
        m_preview->clearWeight();
        refusal = errorText(then.error());
    }
    m_form->showSpecState(!refusal.isEmpty(), readAs);
    const bool changed = m_draft.stored() != m_base.stored() || m_draft.cut != m_base.cut || scope() != DraftScope::Row;
    m_revert->setEnabled(m_draft != m_base);
    m_apply->setEnabled(refusal.isEmpty() && changed);
    m_preview->showRefusal(refusal);
    m_evaluating->forget();
    if (!refusal.isEmpty())
        return;
    const auto edit = draftEdit(*document(), m_weights, m_draft, scope(), m_layer->value());
    if (!edit.ok()) {
        m_apply->setEnabled(false);
        m_preview->showRefusal(errorText(edit.error()));
        return;
    }
    const bool planned = document()->design().model.hasGraph();
    m_apply->setToolTip(tr("%1 (can be undone)").arg(edit.value().text));
    if (edit.value().design == document()->design()) {
        m_apply->setEnabled(false);
        m_preview->showDesign(*evaluation, evaluation.get(), planned);
        return;
    }
    m_preview->showDesign(*evaluation, nullptr, planned);
    m_evaluating->ask([this, design = std::make_shared<const Design>(edit.value().design)](const std::atomic<bool>&) {
        return LatestJob::Answer([this, answer = evaluate(*design)] { showAnswer(answer); });
    });
}

void StrategyEditor::showAnswer(const Result<std::shared_ptr<const Evaluation>>& answer)
{
    if (!canEdit())
        return;
    if (!answer.ok()) {
        m_preview->showRefusal(answer.cancelled() ? tr("cancelled") : errorText(answer.error()));
        m_apply->setEnabled(false);
        return;
    }
    m_preview->showDesign(*document()->evaluation(), answer.value().get(), document()->design().model.hasGraph());
}

void StrategyEditor::chooseKind(StrategyKind kind)
{
    if (canEdit())
        changeDraft(asKind(m_form->draft(), kind, *document(), m_weights.front()));
}

void StrategyEditor::beginEdit(bool asSpec)
{
    if (!canEdit())
        return;
    if (asSpec && m_draft.strategy.kind != StrategyKind::Spec) {
        const WeightLayout& now = document()->evaluation()->weights[static_cast<std::size_t>(m_weights.front())];
        StrategyDraft draft = m_draft;
        draft.strategy.spec = shownSpec(*document(), now.layout).text.toStdString();
        changeDraft(asKind(draft, StrategyKind::Spec, *document(), m_weights.front()));
    }
    if (asSpec)
        m_form->focusSpec();
    else
        m_form->focusKind();
}

void StrategyEditor::apply()
{
    if (!canEdit() || !m_apply->isEnabled())
        return;
    const bool byButton = m_apply->hasFocus();
    const auto edit = draftEdit(*document(), m_weights, m_draft, scope(), m_layer->value());
    const Status status = edit.ok() ? document()->edit(edit.value().design, edit.value().text) : Status(edit.error());
    if (status.ok()) {
        load();
        if (byButton) // it has nothing to apply any more, and what is disabled loses the focus
            m_form->focusKind();
        return;
    }
    m_preview->showRefusal(errorText(status.error()));
    m_apply->setEnabled(false);
}

void StrategyEditor::revert()
{
    if (canEdit())
        changeDraft(draftOf(*document(), m_weights.front()));
}

} // namespace shardboard
