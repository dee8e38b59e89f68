// SPDX-License-Identifier: Apache-2.0
#include "widgets/strategy/strategyform.h"

#include "widgets/controls/axispicker.h"
#include "widgets/controls/choicebox.h"
#include "widgets/controls/numberedit.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/strategy/segmenttable.h"

#include <QGridLayout>
#include <QLabel>
#include <QSignalBlocker>

#include <algorithm>

namespace shardboard {

namespace {

constexpr CutRule kRules[] = { CutRule::Strict, CutRule::CeilFlat, CutRule::CeilNested, CutRule::Balanced, CutRule::GrainBalanced };
constexpr int kDefaultRule = -1;
constexpr int kUnknownDims = 4; ///< offered where the shape is not known

QString ruleDetail(CutRule rule)
{
    switch (rule) {
    case CutRule::Strict:
        return QObject::tr("refused unless it divides");
    case CutRule::CeilFlat:
        return QObject::tr("parts of ⌈size / parts⌉, as GSPMD");
    case CutRule::CeilNested:
        return QObject::tr("the same axis by axis, as torch");
    case CutRule::Balanced:
        return QObject::tr("the first parts get one more, as MAX");
    default:
        return QObject::tr("balanced in whole heads or blocks");
    }
}

} // namespace

StrategyForm::StrategyForm(QWidget* parent)
    : QWidget(parent)
    , m_grid(new QGridLayout(this))
    , m_kind(new ChoiceBox(true, this))
    , m_axes(new AxisPicker(this))
    , m_dim(new ChoiceBox(true, this))
    , m_headsRow(new QWidget(this))
    , m_heads(new NumberEdit(m_headsRow))
    , m_headDim(new NumberEdit(m_headsRow))
    , m_segments(new SegmentTable(this))
    , m_spec(new QLineEdit(this))
    , m_readAs(new QLabel(this))
    , m_cut(new ChoiceBox(false, this))
{
    nameWidget(m_kind, "strategyKind", tr("Kind of strategy"));
    m_axes->setObjectName(QStringLiteral("strategyAxes"));
    nameWidget(m_dim, "strategyDim", tr("Tensor dim that is cut"));
    nameWidget(m_heads, "strategyHeads", tr("Number of heads"), m_heads->accessibleName());
    nameWidget(m_headDim, "strategyHeadDim", tr("Elements of a head"), m_headDim->accessibleName());
    m_segments->setObjectName(QStringLiteral("strategySegments"));
    nameWidget(m_spec, "strategySpec", tr("Spec, in any notation"));
    m_spec->setPlaceholderText(QStringLiteral("P(None, 'model')"));
    m_readAs->setObjectName(QStringLiteral("strategyReadAs"));
    m_readAs->setTextFormat(Qt::PlainText);
    m_readAs->setWordWrap(true);
    nameWidget(m_cut, "strategyCut", tr("What happens to a dim that does not divide"));
    buildRows();
    connect(m_kind, &QComboBox::activated, this, [this] {
        const auto kind = static_cast<StrategyKind>(m_kind->currentData().toInt());
        if (kind != m_draft.strategy.kind)
            Q_EMIT kindChosen(kind);
    });
    connect(m_axes, &AxisPicker::axesChanged, this, [this] { Q_EMIT changed(); });
    connect(m_dim, &QComboBox::activated, this, [this] { Q_EMIT changed(); });
    connect(m_cut, &QComboBox::activated, this, [this] { Q_EMIT changed(); });
    connect(m_segments, &SegmentTable::segmentsChanged, this, [this] { Q_EMIT changed(); });
    for (QLineEdit* edit : { static_cast<QLineEdit*>(m_heads), static_cast<QLineEdit*>(m_headDim), m_spec })
        connect(edit, &QLineEdit::textEdited, this, [this] { Q_EMIT changed(); });
    for (QLineEdit* edit : findChildren<QLineEdit*>())
        connect(edit, &QLineEdit::returnPressed, this, [this] { Q_EMIT submitted(); });
    updateLook();
}

void StrategyForm::buildRows()
{
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setHorizontalSpacing(8);
    m_grid->setVerticalSpacing(6);
    m_grid->setColumnStretch(1, 1);
    m_grid->addWidget(m_kind, 0, 0, 1, 2);
    auto* heads = boxLayout<QHBoxLayout>({ 0, 0, 0, 0 }, 4, m_headsRow);
    heads->addWidget(m_heads, 1);
    heads->addWidget(new QLabel(tr("heads ×"), m_headsRow));
    heads->addWidget(m_headDim, 1);
    addRow(tr("mesh axes"), m_axes)->setToolTip(tr("The first is the major one: block index = its index × size of the rest + …"));
    addRow(tr("tensor dim"), m_dim);
    addRow(tr("made of"), m_headsRow);
    addRow(tr("spec"), m_spec);
    m_grid->addWidget(m_readAs, m_grid->rowCount(), 1);
    m_grid->addWidget(m_segments, m_grid->rowCount(), 0, 1, 2);
    addRow(tr("cut rule"), m_cut);
}

QLabel* StrategyForm::addRow(const QString& name, QWidget* field)
{
    const int row = m_grid->rowCount();
    auto* label = new QLabel(name, this);
    label->setBuddy(field);
    m_grid->addWidget(label, row, 0);
    m_grid->addWidget(field, row, 1);
    m_rows.emplace_back(field, label);
    return label;
}

void StrategyForm::updateLook()
{
    const Theme& theme = Theme::of(this);
    for (const auto& [field, label] : m_rows) {
        label->setFont(uiFont(this, -0.5));
        setTextColor(label, theme.quiet);
    }
    for (QLabel* label : m_headsRow->findChildren<QLabel*>())
        setTextColor(label, theme.quiet);
    m_readAs->setFont(monoFont(this, -1));
    setTextColor(m_readAs, theme.quiet);
    const QFont mono = monoFont(this, -0.5);
    for (QLineEdit* edit : findChildren<QLineEdit*>())
        edit->setFont(mono);
}

void StrategyForm::showRow(QWidget* field, bool visible)
{
    field->setVisible(visible);
    for (const auto& [other, label] : m_rows)
        if (other == field)
            label->setVisible(visible);
}

void StrategyForm::showDraft(const StrategyDraft& draft, const WeightLayout& weight, const Mesh& mesh)
{
    m_draft = draft;
    const Strategy& strategy = draft.strategy;
    const StrategyParameters has = parametersOf(strategy.kind);
    showKinds(draft, weight);
    m_axes->setMesh(mesh);
    m_axes->setAxes(strategy.axes);
    showDims(draft, weight);
    m_heads->setValue(strategy.numHeads);
    m_headDim->setValue(strategy.headDim);
    const auto dim = static_cast<std::size_t>(std::max(strategy.dim, 0));
    m_segments->showSegments(strategy.segments, dim < weight.spec.shape.size() ? weight.spec.shape[dim] : -1);
    if (m_spec->text() != verbatim(strategy.spec)) {
        const QSignalBlocker blocker(m_spec);
        m_spec->setText(verbatim(strategy.spec));
        m_spec->setCursorPosition(0);
    }
    showCuts(draft);
    showRow(m_axes, has.axes);
    showRow(m_dim, has.dim);
    showRow(m_headsRow, has.heads);
    showRow(m_spec, has.spec);
    m_readAs->setVisible(has.spec && !m_readAs->text().isEmpty());
    m_segments->setVisible(has.segments);
    showRow(m_cut, strategy.kind != StrategyKind::Replicate);
}

void StrategyForm::showKinds(const StrategyDraft& draft, const WeightLayout& weight)
{
    const QSignalBlocker blocker(m_kind);
    m_kind->clear();
    for (const StrategyKind kind : weightKinds())
        m_kind->addChoice(kindTitle(kind, kind == draft.strategy.kind ? draft.strategy.dim : -1), kindDetail(kind, weight.spec),
                          static_cast<int>(kind));
    m_kind->choose(static_cast<int>(draft.strategy.kind));
}

void StrategyForm::showDims(const StrategyDraft& draft, const WeightLayout& weight)
{
    const QSignalBlocker blocker(m_dim);
    m_dim->clear();
    const int rank = weight.unknownShape ? kUnknownDims : static_cast<int>(weight.spec.shape.size());
    for (int dim = 0; dim < std::max(rank, draft.strategy.dim + 1); ++dim) {
        const auto index = static_cast<std::size_t>(dim);
        QString title = tr("dim %1").arg(dim);
        QString detail;
        if (index < weight.spec.shape.size())
            title += QStringLiteral(" · %1").arg(weight.spec.shape[index]);
        else if (!weight.unknownShape)
            detail = tr("the weight has no such dim");
        if (index < weight.spec.dimLabels.size())
            detail = qstr(weight.spec.dimLabels[index]);
        m_dim->addChoice(title, detail, dim);
    }
    m_dim->choose(draft.strategy.dim);
}

void StrategyForm::showCuts(const StrategyDraft& draft)
{
    const QSignalBlocker blocker(m_cut);
    m_cut->clear();
    const CutRule own = draft.strategy.defaultCut();
    m_cut->addChoice(tr("default: %1").arg(qstr(cutRuleName(own))), ruleDetail(own), kDefaultRule);
    for (const CutRule rule : kRules)
        m_cut->addChoice(qstr(cutRuleName(rule)), ruleDetail(rule), static_cast<int>(rule));
    m_cut->choose(draft.cut ? static_cast<int>(*draft.cut) : kDefaultRule);
}

StrategyDraft StrategyForm::draft() const
{
    StrategyDraft out = m_draft;
    out.strategy.axes = m_axes->axes();
    out.strategy.dim = m_dim->currentData().toInt();
    out.strategy.numHeads = m_heads->value();
    out.strategy.headDim = m_headDim->value();
    out.strategy.segments = m_segments->segments();
    out.strategy.spec = m_spec->text().toStdString();
    const int rule = m_cut->currentData().toInt();
    out.cut = rule == kDefaultRule ? std::optional<CutRule>() : static_cast<CutRule>(rule);
    return out;
}

void StrategyForm::focusKind() { m_kind->setFocus(Qt::OtherFocusReason); }

void StrategyForm::focusSpec()
{
    m_spec->setFocus(Qt::OtherFocusReason);
    m_spec->selectAll();
}

void StrategyForm::showSpecState(bool refused, const QString& readAs)
{
    setRefused(m_spec, refused);
    m_readAs->setText(readAs);
    m_readAs->setVisible(!readAs.isEmpty() && parametersOf(m_draft.strategy.kind).spec);
}

} // namespace shardboard
