// SPDX-License-Identifier: Apache-2.0
#include "widgets/workload/settingrow.h"

#include "widgets/controls/choicebox.h"
#include "widgets/controls/numberedit.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/theme.h"

#include <QKeyEvent>
#include <QLineEdit>

namespace shardboard {

SettingRow::SettingRow(const Setting& setting, QWidget* parent)
    : QWidget(parent)
    , m_setting(setting)
    , m_name(new QLabel(setting.label, this))
    , m_told(new WrappedLabel({}, this))
{
    setObjectName(QStringLiteral("row.") + setting.id);
    setToolTip(setting.toolTip);
    m_name->setTextFormat(Qt::PlainText);
    m_name->setWordWrap(true); // before the field or its unit is cut off
    m_told->setObjectName(QStringLiteral("effect.") + setting.id);
    m_told->hide();
    if (setting.isNumber())
        buildNumber();
    else
        buildChoice();
    field()->setObjectName(setting.id);
    field()->setAccessibleName(setting.unit.isEmpty() ? setting.label : tr("%1 in %2").arg(setting.label, setting.unit));
    field()->setToolTip(setting.toolTip);
    m_name->setBuddy(field());
    auto* line = boxLayout<QHBoxLayout>({ 0, 0, 0, 0 }, 8);
    line->addWidget(m_name, 3);
    line->addWidget(field(), setting.isNumber() ? 2 : 4);
    if (m_unit)
        line->addWidget(m_unit);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 2, this);
    column->addLayout(line);
    column->addWidget(m_told);
    updateLook();
}

QWidget* SettingRow::field() const { return m_number ? static_cast<QWidget*>(m_number) : m_choice; }

void SettingRow::buildNumber()
{
    constexpr int kMostCharacters = 64;
    m_number = new QLineEdit(this);
    m_number->setMaxLength(kMostCharacters);
    m_number->setMinimumWidth(60);
    m_number->setAlignment(Qt::AlignRight);
    m_number->installEventFilter(this);
    if (!m_setting.unit.isEmpty()) {
        m_unit = new QLabel(m_setting.unit, this);
        m_unit->setTextFormat(Qt::PlainText);
    }
    connect(m_number, &QLineEdit::textEdited, this, [this] { Q_EMIT edited(); });
}

void SettingRow::buildChoice()
{
    m_choice = new ChoiceBox(false, this);
    for (const Setting::Option& option : m_setting.options)
        m_choice->addChoice(option.text, option.detail, option.value);
    connect(m_choice, &ChoiceBox::aboutToShow, this, &SettingRow::listed);
    connect(m_choice, &QComboBox::activated, this, [this] {
        if (const QString value = m_choice->currentData().toString(); value != m_shown)
            Q_EMIT applied(value);
    });
}

std::optional<QString> SettingRow::pending() const
{
    return m_number && m_number->text() != m_shown ? std::optional(m_number->text()) : std::nullopt;
}

void SettingRow::showDesign(const std::shared_ptr<const Design>& design)
{
    const bool waits = m_design && pending();
    m_design = design;
    m_shown = m_setting.text(*design);
    if (m_choice) {
        m_choice->choose(m_shown);
        for (int i = 0; i < m_choice->count(); ++i) // what was found for the design before is not true any more
            m_choice->setDetail(i, m_setting.options[static_cast<std::size_t>(i)].detail);
    } else if (!waits && m_number->text() != m_shown) {
        m_number->setText(m_shown);
    }
    const QString whyNot = m_setting.whyNot ? m_setting.whyNot(*design) : QString();
    field()->setEnabled(whyNot.isEmpty());
    field()->setToolTip(whyNot.isEmpty() ? m_setting.toolTip : m_setting.toolTip + QLatin1Char('\n') + whyNot);
    m_name->setEnabled(whyNot.isEmpty());
    if (!waits || !pending()) // the design may be what it waited for
        showEffect({}, false);
}

void SettingRow::revert()
{
    if (m_number)
        m_number->setText(m_shown);
    if (m_choice)
        m_choice->choose(m_shown);
    showEffect({}, false);
}

void SettingRow::settled()
{
    if (m_number) {
        m_shown = m_number->text(); // the design's own text follows with showDesign()
        m_number->selectAll();
    }
    showEffect({}, false);
}

void SettingRow::unsettled(const std::shared_ptr<const Design>& design, const QString& text)
{
    m_shown = m_setting.text(*design);
    if (m_number)
        m_number->setText(text);
}

void SettingRow::showEffect(const QString& text, bool warning)
{
    m_problem = false;
    m_warning = warning;
    m_told->setFullText(text);
    m_told->setVisible(!text.isEmpty());
    field()->setAccessibleDescription(text);
    if (m_number)
        setRefused(m_number, false);
    updateLook();
}

void SettingRow::showProblem(const QString& text)
{
    showEffect(text, true);
    m_problem = true;
    if (m_number)
        setRefused(m_number, true);
    field()->setAccessibleDescription(text);
    updateLook();
}

void SettingRow::showOptionEffect(const QString& value, const QString& effect)
{
    if (!m_choice)
        return;
    const int index = m_choice->findData(value);
    if (index >= 0)
        m_choice->setDetail(index,
                            effect.isEmpty()
                                ? m_setting.options[static_cast<std::size_t>(index)].detail
                                : effect + QStringLiteral(" · ") + m_setting.options[static_cast<std::size_t>(index)].detail);
}

void SettingRow::updateLook()
{
    const Theme& theme = Theme::of(this);
    m_told->setFont(uiFont(this, -1));
    setTextColor(m_told, m_problem ? theme.error : m_warning ? theme.attention : theme.quiet);
    if (m_number)
        m_number->setFont(monoFont(this, -0.5));
    if (m_unit) {
        m_unit->setFont(uiFont(this, -1));
        setTextColor(m_unit, theme.quiet);
    }
}

void SettingRow::step(bool up)
{
    if (!m_setting.step || !m_design)
        return;
    m_number->setText(m_setting.step(*m_design, m_number->text(), up));
    m_number->selectAll();
    Q_EMIT edited();
}

/// Enter takes the number over and leaves the focus where it is; so does going elsewhere. Escape lets go of it.
bool SettingRow::eventFilter(QObject* watched, QEvent* event)
{
    if (watched != m_number)
        return QWidget::eventFilter(watched, event);
    if (event->type() == QEvent::FocusOut && pending() && static_cast<QFocusEvent*>(event)->reason() != Qt::PopupFocusReason
        && static_cast<QFocusEvent*>(event)->reason() != Qt::ActiveWindowFocusReason)
        Q_EMIT applied(m_number->text());
    if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape && pending()) {
        event->accept(); // not for others who use it
        return true;
    }
    if (event->type() != QEvent::KeyPress)
        return QWidget::eventFilter(watched, event);
    switch (static_cast<QKeyEvent*>(event)->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
        Q_EMIT applied(m_number->text());
        return true;
    case Qt::Key_Escape:
        if (!pending())
            return false;
        revert();
        Q_EMIT edited();
        return true;
    case Qt::Key_Up:
    case Qt::Key_Down:
        step(static_cast<QKeyEvent*>(event)->key() == Qt::Key_Up);
        return true;
    default:
        return false;
    }
}

} // namespace shardboard
