// SPDX-License-Identifier: Apache-2.0
// How the hardware editor is laid out: the choice of a preset above, below it a section for the device and each level, with a field
// for each value and room under it for what is wrong with it.
#include "widgets/hardware/hardwareview.h"

#include "widgets/controls/choicebox.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"

#include <QCheckBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>

namespace shardboard {

void HardwareView::buildLayout()
{
    nameWidget(m_preset, "hardwarePreset", tr("Hardware preset"));
    nameWidget(m_open, "hardwareOpen", {}, tr("Hardware from a file"));
    nameWidget(m_save, "hardwareSave", {}, tr("Writes the hardware to a file, to be used by other designs and by shardctl"));
    nameWidget(m_back, "hardwareBack", {}, tr("Discards all edited values"));
    m_source->setObjectName(QStringLiteral("hardwareSource"));
    m_empty->setObjectName(QStringLiteral("hardwareEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setText(tr("No design is open."));
    for (const Hardware& hardware : hardwarePresets())
        m_preset->addChoice(qstr(hardware.name), qstr(hardware.source), qstr(hardware.id));
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(m_open);
    buttons->addWidget(m_save);
    buttons->addStretch(1);
    auto* back = new QHBoxLayout; // a line of its own: three buttons are wider than the panel
    back->addWidget(m_back);
    back->addStretch(1);
    auto* top = boxLayout<QVBoxLayout>({ kPanelMargin, 8, kPanelMargin, 8 }, 8);
    top->addWidget(m_preset);
    top->addLayout(buttons);
    top->addLayout(back);
    top->addWidget(m_source);
    m_column->setContentsMargins(kPanelMargin, 0, kPanelMargin, 8);
    m_column->setSpacing(2);
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(m_body);
    scroll->setWidgetResizable(true);
    scroll->setFocusPolicy(Qt::NoFocus);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addLayout(top);
    column->addWidget(scroll, 1);
    column->addWidget(m_empty, 1);
}

void HardwareView::makeRows(const Hardware& hardware)
{
    const QWidget* focused = m_body->isAncestorOf(focusWidget()) ? focusWidget() : nullptr;
    const QString name = focused ? focused->objectName() : QString();
    for (const Row& row : m_rows) { // they live until the event is over, but say no more
        for (QObject* field : std::initializer_list<QObject*> { row.edit, row.choice })
            if (field)
                field->disconnect(this);
        for (QCheckBox* flag : row.flags)
            flag->disconnect(this);
    }
    m_rows.clear();
    m_quiet.clear();
    while (QLayoutItem* item = m_column->takeAt(0)) {
        if (item->widget()) {
            item->widget()->setObjectName({});
            for (QWidget* child : item->widget()->findChildren<QWidget*>())
                child->setObjectName({}); // the new ones have these names
            item->widget()->deleteLater(); // one of them may be what the edit came from
        }
        delete item;
    }
    int level = -2; // before the levels stand the hardware itself and the device
    for (const HardwareSection& section : hardwareSections(hardware))
        addSection(section, level++, hardware.levels.size() > 1);
    addAdder();
    m_column->addStretch(1);
    if (QWidget* same = name.isEmpty() ? nullptr : m_body->findChild<QWidget*>(name))
        same->setFocus();
}

void HardwareView::addSection(const HardwareSection& section, int level, bool removable)
{
    auto* top = new QWidget(m_body);
    auto* line = new QHBoxLayout(top);
    line->setContentsMargins(0, 8, 0, 0);
    auto* title = new QLabel(section.title, top);
    title->setFont(uiFont(this, 0, true));
    title->setWordWrap(true);
    title->setObjectName(QStringLiteral("hardwareTitle"));
    line->addWidget(title, 1);
    if (level >= 0 && removable) {
        auto* remove = new QPushButton(tr("Remove"), top);
        remove->setObjectName(QStringLiteral("hardwareRemove.%1").arg(level));
        remove->setAccessibleName(tr("Remove level %1").arg(level + 1));
        remove->setToolTip(tr("Takes this level of links out"));
        connect(remove, &QPushButton::clicked, this, [this, level] { removeLevel(static_cast<std::size_t>(level)); });
        line->addWidget(remove);
    }
    m_column->addWidget(top);
    if (!section.source.isEmpty()) {
        auto* source = new WrappedLabel(section.source, m_body);
        source->setFont(uiFont(this, -1));
        m_quiet.push_back(source);
        m_column->addWidget(source);
    }
    auto* box = new QWidget(m_body);
    auto* grid = new QGridLayout(box);
    grid->setContentsMargins(0, 2, 0, 4);
    grid->setHorizontalSpacing(8);
    grid->setVerticalSpacing(2);
    grid->setColumnStretch(0, 1);
    grid->setColumnMinimumWidth(2, 46); // fields of all sections stand under each other
    for (const HardwareField& field : section.fields)
        addRow(grid, section, field);
    m_column->addWidget(box);
}

QLabel* HardwareView::newError(QWidget* parent)
{
    auto* error = new QLabel(parent);
    error->setWordWrap(true);
    error->setTextFormat(Qt::PlainText);
    error->setFont(uiFont(this, -1));
    error->hide();
    return error;
}

void HardwareView::addRow(QGridLayout* grid, const HardwareSection& section, const HardwareField& field)
{
    const int at = grid->rowCount();
    QWidget* box = grid->parentWidget();
    // It is wrapped before a field or its unit is cut off.
    QLabel* label = field.kind == HardwareField::Kind::Text ? new QLabel(field.label, box) : new WrappedLabel(field.label, box);
    Row row { field, nullptr, nullptr, {}, newError(box) };
    if (field.kind != HardwareField::Kind::Text)
        grid->addWidget(label, at, 0);
    if (field.kind == HardwareField::Kind::Choice)
        addChoice(grid, at, row);
    else if (field.kind == HardwareField::Kind::Flags)
        addFlags(grid, at, row);
    else
        addEdit(grid, at, row);
    if (field.kind == HardwareField::Kind::Text) { // names are long, and get the room that their label leaves
        auto* line = new QHBoxLayout;
        line->setSpacing(12);
        line->addWidget(label);
        line->addWidget(row.edit, 1);
        grid->addLayout(line, at, 0, 1, 3);
    }
    const QString name = section.title + QStringLiteral(", ") + field.label.trimmed();
    std::vector<QWidget*> inputs(row.flags.begin(), row.flags.end());
    for (QWidget* input : std::initializer_list<QWidget*> { row.edit, row.choice })
        if (input)
            inputs.push_back(input);
    for (QWidget* input : inputs) {
        input->setToolTip(field.toolTip);
        input->installEventFilter(this);
    }
    if (row.flags.empty()) {
        inputs.front()->setObjectName(QStringLiteral("hardware.") + field.key);
        inputs.front()->setAccessibleName(field.unit.isEmpty() ? name : tr("%1 in %2").arg(name, field.unit));
        label->setBuddy(inputs.front());
    }
    for (std::size_t i = 0; i < row.flags.size(); ++i) {
        row.flags[i]->setObjectName(QStringLiteral("hardware.%1[%2]").arg(field.key).arg(i));
        row.flags[i]->setAccessibleName(name + QStringLiteral(", ") + field.options[i].text);
    }
    grid->addWidget(row.error, grid->rowCount(), 0, 1, 3);
    m_rows.push_back(std::move(row));
}

void HardwareView::addEdit(QGridLayout* grid, int at, Row& row)
{
    const std::size_t index = m_rows.size();
    row.edit = new QLineEdit(grid->parentWidget());
    if (row.field.kind == HardwareField::Kind::Number) {
        row.edit->setAlignment(Qt::AlignRight);
        row.edit->setMaximumWidth(fontMetrics().horizontalAdvance(QStringLiteral("000000000000")) + 20);
        if (row.field.optional)
            row.edit->setPlaceholderText(QStringLiteral("–"));
        auto* unit = new QLabel(row.field.unit, grid->parentWidget());
        unit->setFont(uiFont(this, -1));
        m_quiet.push_back(unit);
        grid->addWidget(row.edit, at, 1);
        grid->addWidget(unit, at, 2);
    }
    connect(row.edit, &QLineEdit::textEdited, this, [this, index] {
        if (auto hardware = hardwareOf(document()->design()); hardware.ok())
            (void)check(m_rows[index], hardware.value());
    });
    connect(row.edit, &QLineEdit::editingFinished, this, [this, index] { commit(index); });
}

void HardwareView::addChoice(QGridLayout* grid, int at, Row& row)
{
    const std::size_t index = m_rows.size();
    row.choice = new ChoiceBox(false, grid->parentWidget());
    for (const HardwareField::Option& option : row.field.options)
        row.choice->addChoice(option.text, option.detail, option.value);
    grid->addWidget(row.choice, at, 1, 1, 2);
    connect(row.choice, &QComboBox::activated, this, [this, index] { commit(index); });
}

void HardwareView::addFlags(QGridLayout* grid, int at, Row& row)
{
    const std::size_t index = m_rows.size();
    auto* box = new QWidget(grid->parentWidget());
    auto* lines = new QGridLayout(box);
    lines->setContentsMargins(0, 0, 0, 0);
    lines->setHorizontalSpacing(8);
    lines->setVerticalSpacing(2);
    lines->setColumnStretch(0, 1);
    constexpr int kInALine = 2; // three are wider than the panel
    for (const HardwareField::Option& option : row.field.options) {
        const int place = static_cast<int>(row.flags.size());
        row.flags.push_back(new QCheckBox(option.text, box));
        lines->addWidget(row.flags.back(), place / kInALine, 1 + place % kInALine);
        connect(row.flags.back(), &QCheckBox::toggled, this, [this, index] { commit(index); });
    }
    grid->addWidget(box, at + 1, 0, 1, 3); // beneath its label
}

void HardwareView::addAdder()
{
    auto* line = new QWidget(m_body);
    auto* row = new QHBoxLayout(line);
    row->setContentsMargins(0, 8, 0, 0);
    auto* add = new QPushButton(tr("Add Level"), line);
    nameWidget(add, "hardwareAddLevel", {}, tr("A network that joins everything so far"));
    connect(add, &QPushButton::clicked, this, [this] { addLevel(); });
    row->addWidget(add);
    row->addStretch(1);
    m_column->addWidget(line);
    m_levelError = newError(m_body);
    m_levelError->setObjectName(QStringLiteral("hardwareLevelError"));
    m_column->addWidget(m_levelError);
}

} // namespace shardboard
