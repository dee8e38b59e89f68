// SPDX-License-Identifier: Apache-2.0
#include "widgets/workbench/findingsbadge.h"

#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"

#include <QPushButton>
#include <QStyle>

#include <algorithm>

namespace shardboard {

FindingsBadge::FindingsBadge(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_button(new QPushButton(this))
{

    nameWidget(m_button, "findingsBadge", tr("Findings"));
    m_button->setFocusPolicy(Qt::TabFocus);
    boxLayout<QHBoxLayout>({ 0, 0, 0, 0 }, 0, this)->addWidget(m_button);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    connect(m_button, &QPushButton::clicked, this, &FindingsBadge::clicked);
    start();
}

void FindingsBadge::refresh()
{
    const auto evaluation = document()->evaluation();
    m_button->setVisible(evaluation != nullptr);
    if (!evaluation)
        return;
    int errors = 0;
    int warnings = 0;
    for (const DesignFinding& finding : evaluation->findings) {
        errors += finding.severity == Severity::Error ? 1 : 0;
        warnings += finding.severity == Severity::Warning ? 1 : 0;
    }
    const auto count = static_cast<std::int64_t>(evaluation->findings.size());
    const QString level = errors > 0 ? QStringLiteral("error")
        : warnings > 0               ? QStringLiteral("warning")
        : count > 0                  ? QStringLiteral("note")
                                     : QStringLiteral("none");
    const QString sign = errors + warnings > 0 ? QStringLiteral("⚠") : count > 0 ? QStringLiteral("ℹ") : QStringLiteral("✓");
    m_button->setText(QStringLiteral("%1 %2 ▾").arg(sign).arg(count));
    const QString said = count == 0 ? tr("No findings") : counted(count, tr("finding"), tr("findings"));
    m_button->setAccessibleName(said);
    m_button->setToolTip(tr("%1: the list, with repairs (F8 goes from one to the next)").arg(said));
    if (m_button->property("badge").toString() == level)
        return;
    m_button->setProperty("badge", level);
    m_button->style()->unpolish(m_button);
    m_button->style()->polish(m_button);
}

} // namespace shardboard
