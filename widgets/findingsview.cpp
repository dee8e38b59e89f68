// SPDX-License-Identifier: Apache-2.0
#include "widgets/findingsview.h"

#include "widgets/format.h"
#include "widgets/theme.h"

#include <QHeaderView>
#include <QLabel>
#include <QTreeWidget>
#include <QVBoxLayout>

namespace shardboard {

bool selectWhere(const Document& document, const std::string& where)
{
    const auto evaluation = document.evaluation();
    if (!evaluation)
        return false;
    for (std::size_t i = 0; i < evaluation->weights.size(); ++i) {
        if (evaluation->weights[i].spec.name == where) {
            document.selection()->setWeight(static_cast<int>(i));
            return true;
        }
    }
    if (const int axis = document.design().mesh.find(where); axis >= 0) {
        document.selection()->setMeshAxis(axis);
        return true;
    }
    const auto& collectives = evaluation->plan.collectives;
    for (std::size_t i = 0; i < collectives.size(); ++i) {
        if (collectives[i].op >= 0 && evaluation->graph.op(collectives[i].op).name == where) {
            document.selection()->setCollective(static_cast<int>(i));
            return true;
        }
    }
    return false;
}

FindingsView::FindingsView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_list(new QTreeWidget(this))
    , m_empty(new QLabel(this))
{
    setObjectName(QStringLiteral("findingsView"));
    setAccessibleName(tr("Findings"));
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    m_list->setObjectName(QStringLiteral("findingsList"));
    m_list->setAccessibleName(tr("Findings"));
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->setTextElideMode(Qt::ElideRight);
    m_list->setColumnCount(4);
    m_list->setHeaderLabels({ tr("severity"), tr("where"), tr("what"), tr("repair") });
    m_list->header()->setSectionResizeMode(QHeaderView::Interactive);
    m_list->header()->setStretchLastSection(true);
    m_empty->setObjectName(QStringLiteral("findingsEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 4, 8, 0);
    column->addWidget(m_list, 1);
    column->addWidget(m_empty, 1);
    connect(m_list, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) { follow(item); });
    connect(m_list, &QTreeWidget::itemClicked, this, [this](QTreeWidgetItem* item) { follow(item); });
    const int digit = fontMetrics().horizontalAdvance(QLatin1Char('0'));
    m_list->setColumnWidth(0, 10 * digit + 16);
    m_list->setColumnWidth(1, 24 * digit);
    m_list->setColumnWidth(2, 48 * digit);
    start();
}

QSize FindingsView::sizeHint() const { return { 720, 240 }; }

void FindingsView::refresh()
{
    m_list->clear();
    const Theme& theme = Theme::of(this);
    const auto evaluation = document()->evaluation();
    for (std::size_t i = 0; evaluation && i < evaluation->findings.size(); ++i) {
        const Finding& finding = evaluation->findings[i];
        auto* item = new QTreeWidgetItem(m_list,
                                         { qstr(severityName(finding.severity)), shortName(finding.where),
                                           qstr(finding.message), qstr(finding.repair) });
        const QColor color = finding.severity == Severity::Error ? theme.error
            : finding.severity == Severity::Warning              ? theme.attention
                                                                 : theme.quiet;
        item->setForeground(0, color);
        QFont bold = m_list->font();
        bold.setBold(true);
        item->setFont(0, bold);
        item->setData(0, Qt::UserRole, static_cast<int>(i));
        QString tip = qstr(finding.where) + QLatin1Char('\n') + qstr(finding.message) + QLatin1Char('\n')
            + qstr(finding.repair);
        if (finding.costBytes > 0)
            tip += QLatin1Char('\n') + tr("costs %1 per device").arg(exactBytesText(finding.costBytes));
        for (int column = 0; column < 4; ++column) {
            item->setToolTip(column, tip);
            item->setTextAlignment(column, Qt::AlignVCenter | Qt::AlignLeft);
        }
        item->setForeground(3, theme.quiet);
        item->setSizeHint(0, QSize(0, kRowHeight));
    }
    const bool none = m_list->topLevelItemCount() == 0;
    m_empty->setText(document()->hasDesign() ? tr("No findings.") : tr("No design is open."));
    setTextColor(m_empty, theme.quiet);
    m_empty->setVisible(none);
    m_list->setVisible(!none);
}

void FindingsView::follow(QTreeWidgetItem* item)
{
    const auto evaluation = document()->evaluation();
    const auto index = static_cast<std::size_t>(item->data(0, Qt::UserRole).toInt());
    if (evaluation && index < evaluation->findings.size())
        selectWhere(*document(), evaluation->findings[index].where);
}

} // namespace shardboard
