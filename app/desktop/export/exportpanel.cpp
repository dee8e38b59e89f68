// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/export/exportpanel.h"

#include "app/desktop/export/exportform.h"
#include "app/desktop/export/targetstates.h"
#include "model/session/document.h"
#include "widgets/cuts/cutsview.h"
#include "widgets/document/documentview.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"

#include <QLabel>
#include <QTimer>

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

/// A dim of it does not divide by the parts that it is cut into: frameworks differ there.
bool hasUnevenDim(const WeightLayout& weight)
{
    if (weight.unknownShape)
        return false;
    for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim)
        if (weight.spec.shape[dim] % weight.shards.cuts()[dim].count() != 0)
            return true;
    return false;
}

/// How files name a weight, the likeliest first.
QStringList textsOf(const WeightLayout& weight)
{
    const QString name = verbatim(weight.spec.name);
    QStringList out { name };
    QString first = name;
    first.replace(QStringLiteral("*"), QString::number(std::max<std::int64_t>(0, weight.firstLayer)));
    out << first;
    for (QString shorter : { name, first }) {
        if (!shorter.endsWith(QLatin1String(".weight")))
            continue;
        shorter.chop(7);
        out << shorter << shorter.section(QLatin1Char('.'), -2) << shorter.section(QLatin1Char('.'), -1);
    }
    out.removeDuplicates();
    return out;
}

} // namespace

ExportPanel::ExportPanel(Document* document, TargetStates* states, std::function<QString(const QString&)> folder, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_states(states)
    , m_folder(std::move(folder))
    , m_empty(new QLabel(tr("No design is open."), this))
    , m_timer(new QTimer(this))
{
    nameWidget(this, "exportView", tr("Export"));
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    m_empty->setAlignment(Qt::AlignCenter);
    auto* column = boxLayout<QVBoxLayout>({ kPanelMargin, 8, kPanelMargin, 8 }, 0, this);
    column->addWidget(m_empty, 1);
    m_timer->setSingleShot(true);
    m_timer->setInterval(0);
    connect(m_timer, &QTimer::timeout, this, &ExportPanel::follow);
    connect(document, &Document::evaluated, this, [this] {
        if (isVisible())
            m_timer->start();
        Q_EMIT changed();
    });
    connect(document, &Document::opened, this, [this] { m_typed.clear(); });
    connect(document->selection(), &Selection::changed, this, &ExportPanel::followSelection);
    connect(states, &TargetStates::currentChanged, this, [this] {
        if (isVisible())
            follow();
        Q_EMIT changed();
    });
}

bool ExportPanel::canExport() const
{
    return m_form != nullptr && m_formOf == m_document->evaluation() && m_formTarget == qstr(m_states->currentTarget().id)
        && m_form->canExport();
}

QString ExportPanel::whyNot() const
{
    return !m_document->hasDesign() ? tr("no design is open") : tr("there is nothing to write yet, or no folder for it");
}

void ExportPanel::requestExport()
{
    if (canExport())
        Q_EMIT exportWanted(m_formTarget, m_form->files(), m_form->folder());
}

void ExportPanel::renew()
{
    if (m_form != nullptr && m_formOf == m_document->evaluation())
        m_form->compare(); // else it is made anew when it is seen
}

void ExportPanel::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    follow();
}

void ExportPanel::follow()
{
    const ExportTarget& target = m_states->currentTarget();
    const QString id = qstr(target.id);
    if (!m_document->hasDesign() || (m_formOf == m_document->evaluation() && m_formTarget == id))
        return;
    if (m_form != nullptr) {
        m_againstLast = m_form->againstLast();
        m_form->forget();
        m_form->hide();
        m_form->deleteLater(); // it may be the one that says so
    }
    m_formOf = m_document->evaluation();
    m_formTarget = id;
    const QString proposed = m_folder(id);
    const QString typed = m_typed.value(id);
    m_form = new ExportForm(*m_document, target, typed.isEmpty() ? proposed : typed, this);
    m_form->setAgainstLast(m_againstLast);
    m_empty->hide();
    static_cast<QVBoxLayout*>(layout())->insertWidget(0, m_form, 1);
    connect(m_form, &ExportForm::changed, this, [this, id, proposed] {
        m_typed[id] = m_form->folder() == proposed ? QString() : m_form->folder();
        followSelection();
        Q_EMIT changed();
    });
    connect(m_form, &ExportForm::weightWanted, this, &ExportPanel::weightWanted);
    m_form->show();
    followSelection();
    Q_EMIT changed();
}

/// To its line, or to what stands in its way and how others would cut it.
void ExportPanel::followSelection()
{
    const WeightLayout* weight = selectedWeight(*m_document);
    bool uneven = false;
    if (m_form != nullptr && m_formOf == m_document->evaluation() && weight != nullptr) {
        m_form->showWeight(verbatim(weight->spec.name), textsOf(*weight));
        uneven = hasUnevenDim(*weight) && std::ranges::any_of(m_form->refusals(), [&](const ExportRefusal& refusal) {
                     return refusal.error.where == weight->spec.name;
                 });
    }
    if (uneven && m_cuts == nullptr) {
        m_cuts = new CutsView(m_document, this);
        m_cuts->setObjectName(QStringLiteral("exportCutsView"));
        m_cuts->setFixedHeight(static_cast<int>(210 * textScale(this)));
        layout()->addWidget(m_cuts);
    }
    if (m_cuts != nullptr) {
        m_cuts->setVisible(uneven);
        m_cuts->setAsleep(!uneven);
    }
}

} // namespace shardboard
