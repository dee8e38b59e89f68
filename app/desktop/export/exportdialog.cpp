// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/export/exportdialog.h"

#include "widgets/controls/windowplace.h"

#include <QDialogButtonBox>
#include <QPushButton>
#include <QVBoxLayout>

namespace shardboard {

ExportDialog::ExportDialog(const Document& document, const QString& target, const QString& folder, QWidget* parent)
    : QDialog(parent)
    , m_form(new ExportForm(document, target, folder, this))
{
    setObjectName(QStringLiteral("exportDialog"));
    setWindowTitle(tr("Export to %1").arg(target == QLatin1String("jax") ? QStringLiteral("JAX") : target));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Cancel, this);
    m_export = buttons->button(QDialogButtonBox::Save);
    m_export->setText(tr("Export"));
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->addWidget(m_form, 1);
    column->addWidget(buttons);
    m_export->setEnabled(m_form->canExport());
    connect(m_form, &ExportForm::changed, this, [this] { m_export->setEnabled(m_form->canExport()); });
    connect(m_form, &ExportForm::weightWanted, this, [this](const QString& name) {
        m_wantedWeight = name;
        reject();
    });
    resize(900, 520);
    fitToScreen(this);
}

void ExportDialog::done(int result)
{
    if (result == QDialog::Accepted && !m_export->isEnabled())
        return;
    m_form->forget();
    QDialog::done(result);
}

} // namespace shardboard
