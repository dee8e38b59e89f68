// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/menus/partsdialog.h"

#include "model/design/presets/presets.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace shardboard {

namespace {

QLabel* sentence(const char* name, QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setObjectName(QLatin1String(name));
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    return label;
}

/// `Pipeline`, from the name of a group.
QString titleOf(const QString& group) { return group.left(1).toUpper() + group.mid(1); }

} // namespace

PartsDialog::PartsDialog(const Design& design, QWidget* parent)
    : QDialog(parent)
    , m_what(sentence("parts.what", this))
    , m_error(sentence("parts.error", this))
{
    setObjectName(QStringLiteral("partsDialog"));
    setWindowTitle(tr("Combine Parts"));
    setTextColor(m_what, Theme::of(this).quiet);
    setTextColor(m_error, Theme::of(this).error);
    const QStringList there = qstr(originOfEntries(design).preset).split(QLatin1Char('+'));
    auto* form = new QFormLayout;
    QComboBox* box = nullptr;
    QString group;
    for (const PresetPart& part : presetParts()) {
        const QString name = QLatin1String(part.name);
        if (group != QLatin1String(part.group)) {
            group = QLatin1String(part.group);
            box = new QComboBox(this);
            nameWidget(box, qPrintable(QStringLiteral("parts.") + name), titleOf(group));
            box->addItem(tr("none"), QString());
            form->addRow(titleOf(group), box);
            m_forms << box;
        }
        box->addItem(name, name);
        box->setItemData(box->count() - 1, qstr(part.what), Qt::ToolTipRole);
        if (there.contains(name) || (name == QLatin1String("tp") && there.contains(QStringLiteral("megatron-tp"))))
            box->setCurrentIndex(box->count() - 1);
    }
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
    m_apply = buttons->button(QDialogButtonBox::Ok);
    m_apply->setText(tr("Apply"));
    m_apply->setProperty("primary", true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kPanelMargin, kPanelMargin, kPanelMargin, kPanelMargin);
    layout->addLayout(form);
    layout->addWidget(m_what);
    layout->addWidget(m_error);
    layout->addStretch();
    layout->addWidget(buttons);
    constexpr int kWidth = 460;
    setMinimumWidth(kWidth);
    for (QComboBox* each : m_forms)
        connect(each, &QComboBox::currentIndexChanged, this, [this, design] { show(design); });
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    show(design);
}

QString PartsDialog::preset() const
{
    QStringList parts;
    for (const QComboBox* box : m_forms)
        if (const QString part = box->currentData().toString(); !part.isEmpty())
            parts << part;
    return parts.join(QLatin1Char('+'));
}

/// What the parts say, or why they cannot be: of each other, of the mesh or of the model.
void PartsDialog::show(const Design& design)
{
    const std::string name = preset().toStdString();
    const auto made = makePreset(name, design.mesh, design.model, design.workload);
    m_what->setText(name.empty()    ? tr("Choose at least one part.")
                        : made.ok() ? qstr(presetFactsOf(name).value().name + ": " + presetWhat(name))
                                    : QString());
    m_error->setText(name.empty() || made.ok() ? QString() : errorText(made.error()));
    m_apply->setEnabled(!name.empty() && made.ok());
}

} // namespace shardboard
