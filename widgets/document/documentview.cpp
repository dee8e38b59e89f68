// SPDX-License-Identifier: Apache-2.0
#include "widgets/document/documentview.h"

#include "widgets/controls/headerfield.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QResizeEvent>

#include <utility>

namespace shardboard {

DocumentView::DocumentView(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
{
    connect(document, &Document::evaluated, this, [this] { follow(true); });
    connect(document, &Document::notationChanged, this, [this] { follow(true); });
    connect(document->selection(), &Selection::changed, this, [this] { follow(false); });
    connect(document->selection(), &Selection::hoverChanged, this, [this] {
        if (!m_asleep)
            hoverChanged();
    });
    connect(document->selection(), &Selection::weightHoverChanged, this, [this] {
        if (!m_asleep)
            weightHoverChanged();
    });
}

void DocumentView::follow(bool replaced)
{
    if (m_asleep)
        (replaced ? m_missedDesign : m_missedSelection) = true;
    else if (replaced)
        refresh();
    else
        selectionChanged();
}

void DocumentView::setAsleep(bool asleep)
{
    m_asleep = asleep && !isFollowed();
    if (m_asleep)
        return;
    const bool theme = std::exchange(m_missedTheme, false);
    const bool design = std::exchange(m_missedDesign, false);
    const bool moved = std::exchange(m_missedSelection, false);
    if (theme)
        themeChanged();
    if (design)
        refresh();
    if (moved)
        selectionChanged();
}

void DocumentView::start()
{
    m_started = true;
    refresh();
}

void DocumentView::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    // Later: views make and drop widgets in themeChanged(), and Qt walks all widgets while it applies a style sheet.
    if ((event->type() != QEvent::PaletteChange && event->type() != QEvent::FontChange) || !m_started || m_themePending)
        return;
    m_themePending = true;
    const auto follow = [this] {
        m_themePending = false;
        if (m_asleep)
            m_missedTheme = true;
        else
            themeChanged();
    };
    QMetaObject::invokeMethod(this, follow, Qt::QueuedConnection);
}

ViewHeader::ViewHeader(const QString& title, QWidget* parent)
    : QWidget(parent)
    , m_title(new QLabel(this))
    , m_detail(new QLabel(this))
    , m_titleText(title)
{
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(kPanelMargin, 8, kPanelMargin, 4);
    row->setSpacing(8);
    row->addWidget(m_title);
    row->addWidget(m_detail, 1);
    m_title->setObjectName(QStringLiteral("headerTitle"));
    m_detail->setObjectName(QStringLiteral("headerDetail"));
    m_title->setTextFormat(Qt::PlainText);
    m_detail->setTextFormat(Qt::PlainText);
    m_detail->setMinimumWidth(0);
    m_title->setMinimumWidth(1); // it is elided before it makes the view wider
    m_detail->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    updateLook();
}

void ViewHeader::setTitle(const QString& title)
{
    m_titleText = title;
    elide();
}

void ViewHeader::setTitleMono(bool mono)
{
    m_mono = mono;
    updateLook();
}

void ViewHeader::setDetailAtRight() { m_detail->setAlignment(Qt::AlignRight | Qt::AlignVCenter); }

void ViewHeader::setDetail(const QString& detail)
{
    m_detailText = detail;
    elide();
}

QString ViewHeader::title() const { return m_titleText; }
QString ViewHeader::detail() const { return m_detailText; }

void ViewHeader::addRight(QWidget* widget) { layout()->addWidget(widget); }

void ViewHeader::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if ((event->type() != QEvent::PaletteChange && event->type() != QEvent::FontChange) || m_lookPending)
        return;
    m_lookPending = true; // later: a style sheet that is being applied puts the colours back that it found
    const auto follow = [this] {
        m_lookPending = false;
        updateLook();
    };
    QMetaObject::invokeMethod(this, follow, Qt::QueuedConnection);
}

void ViewHeader::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    elide();
}

void ViewHeader::updateLook()
{
    QFont bold = m_mono ? monoFont(this) : uiFont(this);
    bold.setBold(true);
    m_title->setFont(bold);
    m_detail->setFont(uiFont(this, -1));
    setTextColor(m_detail, Theme::of(this).quiet);
    elide();
}

void ViewHeader::elide()
{
    const QFontMetrics titleMetrics(m_title->font());
    int room = width() - 2 * kPanelMargin - 8;
    for (int i = 2; i < layout()->count(); ++i) // after title and detail
        if (const QWidget* right = layout()->itemAt(i)->widget(); right && !right->isHidden())
            room -= widthOf(right) + layout()->spacing();
    room = std::max(0, room);
    // A tensor's name is long for what all of its neighbours share; where there is no room that goes first.
    const bool fits = !m_mono || titleMetrics.horizontalAdvance(m_titleText) <= room;
    const QString wanted = fits ? m_titleText : shortName(m_titleText.toStdString());
    const QString shown = titleMetrics.elidedText(wanted, Qt::ElideMiddle, room);
    constexpr qsizetype kReadable = 5; // `A…s` says nothing
    m_title->setText(shown == wanted || shown.size() >= kReadable ? shown : QString());
    m_title->setToolTip(m_title->text() == m_titleText ? QString() : m_titleText);
    layout()->activate(); // the title has just got another width
    m_detail->setText(QFontMetrics(m_detail->font()).elidedText(m_detailText, Qt::ElideRight, m_detail->width()));
    m_detail->setToolTip(m_detail->text() == m_detailText ? QString() : m_detailText);
}

const WeightLayout* selectedWeight(const Document& document)
{
    const auto evaluation = document.evaluation();
    const int index = document.selection()->weight();
    if (!evaluation || index < 0 || index >= static_cast<int>(evaluation->weights.size()))
        return nullptr;
    return &evaluation->weights[static_cast<std::size_t>(index)]; // owned by the document, which holds the evaluation
}

const Collective* selectedCollective(const Document& document)
{
    const auto evaluation = document.evaluation();
    const int index = document.selection()->collective();
    if (!evaluation || index < 0 || index >= static_cast<int>(evaluation->plan.collectives.size()))
        return nullptr;
    return &evaluation->plan.collectives[static_cast<std::size_t>(index)];
}

int weightOfTensor(const Evaluation& evaluation, TensorId tensor)
{
    if (tensor == kNoTensor)
        return -1;
    for (std::size_t i = 0; i < evaluation.weights.size(); ++i)
        if (evaluation.weights[i].tensor == tensor)
            return static_cast<int>(i);
    return -1;
}

int weightOfOp(const Evaluation& evaluation, OpId op)
{
    if (op < 0 || op >= static_cast<OpId>(evaluation.graph.ops.size()))
        return -1;
    for (const TensorId tensor : evaluation.graph.op(op).operands)
        if (evaluation.graph.tensor(tensor).role == TensorRole::Weight)
            return weightOfTensor(evaluation, tensor);
    return -1;
}

int weightOfCollective(const Evaluation& evaluation, const Collective& collective)
{
    const int weight = weightOfTensor(evaluation, collective.tensor);
    return weight >= 0 ? weight : weightOfOp(evaluation, collective.op);
}

std::int64_t shownDevice(const Document& document)
{
    if (!document.hasDesign())
        return -1;
    const std::int64_t count = document.design().mesh.deviceCount();
    for (const std::int64_t position : { document.selection()->hoveredDevice(), document.selection()->device() })
        if (position >= 0 && position < count)
            return position;
    return -1;
}

} // namespace shardboard
