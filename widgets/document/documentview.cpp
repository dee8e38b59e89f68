// SPDX-License-Identifier: Apache-2.0
#include "widgets/document/documentview.h"

#include "widgets/look/naming.h"

#include <QEvent>

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

void DocumentView::nameView(const char* id, const QString& name)
{
    nameWidget(this, id, name);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
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

void wakeViewsAround(QWidget* widget)
{
    for (; widget != nullptr && !widget->isWindow(); widget = widget->parentWidget())
        if (auto* view = qobject_cast<DocumentView*>(widget); view != nullptr && view->isAsleep())
            view->setAsleep(false);
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
    const CollectiveId id = document.selection()->collective();
    if (!evaluation || id >= evaluation->plan.collectives.size())
        return nullptr;
    return &evaluation->plan.collective(id);
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
    if (op >= evaluation.graph.ops.size())
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
