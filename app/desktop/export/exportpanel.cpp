// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/export/exportpanel.h"

#include "app/desktop/export/exportform.h"
#include "model/io/targets/targets.h"
#include "model/session/document.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"

#include <QLabel>
#include <QTimer>

#include <utility>

namespace shardboard {

ExportPanel::ExportPanel(Document* document, std::function<QString()> folder, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
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
}

bool ExportPanel::canExport() const { return m_form != nullptr && m_formOf == m_document->evaluation() && m_form->canExport(); }

QString ExportPanel::whyNot() const
{
    return !m_document->hasDesign() ? tr("no design is open") : tr("there is nothing to write yet, or no folder for it");
}

void ExportPanel::requestExport()
{
    if (canExport())
        Q_EMIT exportWanted(m_form->files(), m_form->folder());
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
    if (!m_document->hasDesign() || m_formOf == m_document->evaluation())
        return;
    if (m_form != nullptr) {
        m_form->forget();
        m_form->hide();
        m_form->deleteLater(); // it may be the one that says so
    }
    m_formOf = m_document->evaluation();
    const QString proposed = m_folder();
    m_form = new ExportForm(*m_document, *findExportTarget("jax"), m_typed.isEmpty() ? proposed : m_typed, this);
    m_empty->hide();
    layout()->addWidget(m_form);
    connect(m_form, &ExportForm::changed, this, [this, proposed] {
        m_typed = m_form->folder() == proposed ? QString() : m_form->folder();
        Q_EMIT changed();
    });
    connect(m_form, &ExportForm::weightWanted, this, &ExportPanel::weightWanted);
    m_form->show();
    Q_EMIT changed();
}

} // namespace shardboard
