// SPDX-License-Identifier: Apache-2.0
#include "widgets/strategy/segmenttable.h"

#include "widgets/controls/choicebox.h"
#include "widgets/controls/numberedit.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"

#include <QEvent>
#include <QLabel>
#include <QToolButton>

#include <algorithm>

namespace shardboard {

namespace {

QToolButton* button(QWidget* parent, const char* name, const QString& text, const QString& toolTip)
{
    auto* out = new QToolButton(parent);
    out->setObjectName(QString::fromLatin1(name));
    out->setText(text);
    out->setToolTip(toolTip);
    out->setAccessibleName(toolTip);
    return out;
}

/// Sum of the parts, saturated far above every size that can be used.
std::int64_t sumOf(const std::vector<StrategySegment>& segments)
{
    constexpr std::int64_t kMost = std::int64_t { 1 } << 60;
    std::int64_t sum = 0;
    for (const StrategySegment& segment : segments) {
        const bool huge = segment.numHeads > 0 && segment.headDim > kMost / segment.numHeads;
        sum = huge || segment.elements() > kMost - sum ? kMost : sum + segment.elements();
    }
    return sum;
}

} // namespace

QString segmentSumText(const std::vector<StrategySegment>& segments, std::int64_t dimSize)
{
    const std::int64_t sum = sumOf(segments);
    if (dimSize < 0)
        return QObject::tr("%1 in all").arg(countText(sum));
    QString text = QObject::tr("%1 of %2").arg(countText(sum), countText(dimSize));
    if (sum == dimSize * 2 && sum != dimSize)
        text += QObject::tr(", two packed in one");
    else if (sum < dimSize)
        text += QObject::tr(": %1 missing").arg(countText(dimSize - sum));
    else if (sum > dimSize)
        text += QObject::tr(": %1 too many").arg(countText(sum - dimSize));
    return text;
}

SegmentRow::SegmentRow(QWidget* parent)
    : QWidget(parent)
    , m_kind(new ChoiceBox(false, this))
    , m_size(new NumberEdit(this))
    , m_heads(new NumberEdit(this))
    , m_headDim(new NumberEdit(this))
    , m_times(new QLabel(QStringLiteral("×"), this))
    , m_up(button(this, "segmentUp", QStringLiteral("↑"), tr("Move this part up")))
    , m_down(button(this, "segmentDown", QStringLiteral("↓"), tr("Move this part down")))
    , m_remove(button(this, "segmentRemove", QStringLiteral("×"), tr("Remove this part")))
{
    nameWidget(m_kind, "segmentKind", tr("How this part is cut"));
    m_kind->addChoice(tr("even"), QString(), false);
    m_kind->addChoice(tr("heads"), QString(), true);
    nameWidget(m_size, "segmentSize", tr("Elements of this part"), m_size->accessibleName());
    nameWidget(m_heads, "segmentHeads", tr("Number of heads of this part"), m_heads->accessibleName());
    nameWidget(m_headDim, "segmentHeadDim", tr("Elements of a head"), m_headDim->accessibleName());
    auto* row = boxLayout<QHBoxLayout>({ 0, 0, 0, 0 }, 4, this);
    row->addWidget(m_kind);
    row->addWidget(m_size, 1);
    row->addWidget(m_heads, 1);
    row->addWidget(m_times);
    row->addWidget(m_headDim, 1);
    row->addWidget(m_up);
    row->addWidget(m_down);
    row->addWidget(m_remove);
    row->setSpacing(3);
    connect(m_kind, &QComboBox::activated, this, [this] {
        const bool heads = m_kind->currentData().toBool();
        // The same elements said the other way, where they can be.
        if (heads && m_heads->value() == 0) {
            m_heads->setValue(m_size->value());
            m_headDim->setValue(1);
        } else if (!heads) {
            m_size->setValue(m_heads->value() * m_headDim->value());
        }
        arrange();
        Q_EMIT changed();
    });
    for (NumberEdit* edit : { m_size, m_heads, m_headDim })
        connect(edit, &QLineEdit::textEdited, this, [this] { Q_EMIT changed(); });
    connect(m_up, &QToolButton::clicked, this, [this] { Q_EMIT moved(-1); });
    connect(m_down, &QToolButton::clicked, this, [this] { Q_EMIT moved(1); });
    connect(m_remove, &QToolButton::clicked, this, [this] { Q_EMIT removed(); });
    fitText();
}

void SegmentRow::fitText()
{
    m_kind->setFixedWidth(static_cast<int>(72 * textScale(this)));
    for (QToolButton* tool : { m_up, m_down, m_remove })
        tool->setFixedWidth(static_cast<int>(22 * textScale(this)));
}

void SegmentRow::showSegment(const StrategySegment& segment)
{
    // An even part says nothing about heads, so what was typed there stays for the way back.
    m_kind->choose(segment.numHeads > 0 || segment.headDim > 0);
    if (segment.numHeads > 0 || segment.headDim > 0) {
        m_heads->setValue(segment.numHeads);
        m_headDim->setValue(segment.headDim);
    } else {
        m_size->setValue(segment.size);
    }
    arrange();
}

StrategySegment SegmentRow::segment() const
{
    if (m_kind->currentData().toBool())
        return { 0, m_heads->value(), m_headDim->value() };
    return { m_size->value(), 0, 0 };
}

void SegmentRow::setPlace(int place, int count)
{
    m_up->setEnabled(place > 0);
    m_down->setEnabled(place + 1 < count);
    setAccessibleName(tr("Part %1").arg(place + 1));
}

void SegmentRow::arrange()
{
    const bool heads = m_kind->currentData().toBool();
    m_size->setVisible(!heads);
    for (QWidget* widget : { static_cast<QWidget*>(m_heads), static_cast<QWidget*>(m_times), static_cast<QWidget*>(m_headDim) })
        widget->setVisible(heads);
}

SegmentTable::SegmentTable(QWidget* parent)
    : QWidget(parent)
    , m_column(new QVBoxLayout(this))
    , m_add(new QToolButton(this))
    , m_sum(new QLabel(this))
{
    setAccessibleName(tr("Parts of the fused dim"));
    m_column->setContentsMargins(0, 0, 0, 0);
    m_column->setSpacing(4);
    m_add->setObjectName(QStringLiteral("segmentAdd"));
    m_add->setText(tr("+ part"));
    m_add->setToolTip(tr("Add a part of what is missing"));
    m_sum->setObjectName(QStringLiteral("segmentSum"));
    auto* line = new QHBoxLayout;
    line->setSpacing(8);
    line->addWidget(m_add);
    line->addWidget(m_sum, 1, Qt::AlignRight);
    m_column->addLayout(line);
    connect(m_add, &QToolButton::clicked, this, [this] {
        auto all = segments();
        const std::int64_t missing = m_dimSize - sumOf(all);
        all.push_back(missing > 0 ? StrategySegment { missing, 0, 0 } : StrategySegment {});
        change(all);
    });
}

void SegmentTable::addRow()
{
    auto* row = new SegmentRow(this);
    m_rows.push_back(row);
    m_column->insertWidget(static_cast<int>(m_rows.size()) - 1, row);
    const auto place = [this, row] { return std::find(m_rows.begin(), m_rows.end(), row) - m_rows.begin(); };
    connect(row, &SegmentRow::changed, this, [this] {
        showSum();
        Q_EMIT segmentsChanged();
    });
    connect(row, &SegmentRow::removed, this, [this, place] {
        auto all = segments();
        all.erase(all.begin() + place());
        change(all);
    });
    connect(row, &SegmentRow::moved, this, [this, place](int by) {
        auto all = segments();
        const auto from = place();
        if (from + by < 0 || from + by >= static_cast<std::ptrdiff_t>(all.size()))
            return;
        std::swap(all[static_cast<std::size_t>(from)], all[static_cast<std::size_t>(from + by)]);
        change(all);
    });
}

void SegmentTable::setRowCount(std::size_t count)
{
    while (m_rows.size() < count)
        addRow();
    while (m_rows.size() > count) {
        m_column->removeWidget(m_rows.back());
        m_rows.back()->hide();
        m_rows.back()->deleteLater(); // its button may be the sender
        m_rows.pop_back();
    }
}

void SegmentTable::showSegments(const std::vector<StrategySegment>& segments, std::int64_t dimSize)
{
    m_dimSize = dimSize;
    setRowCount(segments.size());
    for (std::size_t i = 0; i < segments.size(); ++i) {
        if (m_rows[i]->segment() != segments[i])
            m_rows[i]->showSegment(segments[i]);
        m_rows[i]->setPlace(static_cast<int>(i), static_cast<int>(segments.size()));
    }
    showSum();
}

std::vector<StrategySegment> SegmentTable::segments() const
{
    std::vector<StrategySegment> out;
    for (const SegmentRow* row : m_rows)
        out.push_back(row->segment());
    return out;
}

void SegmentTable::change(const std::vector<StrategySegment>& segments)
{
    showSegments(segments, m_dimSize);
    Q_EMIT segmentsChanged();
}

void SegmentTable::showSum()
{
    const Theme& theme = Theme::of(this);
    const auto all = segments();
    const std::int64_t sum = sumOf(all);
    m_sum->setFont(monoFont(this, -1));
    m_sum->setText(segmentSumText(all, m_dimSize));
    setTextColor(m_sum, m_dimSize < 0 || sum == m_dimSize || sum == m_dimSize * 2 ? theme.quiet : theme.error);
}

void SegmentTable::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if ((event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) && !m_rows.empty()) {
        for (SegmentRow* row : m_rows)
            row->fitText();
        showSum();
    }
}

} // namespace shardboard
