// SPDX-License-Identifier: Apache-2.0
#include "widgets/controls/numberedit.h"

#include "model/text/text.h"

#include "widgets/look/theme.h"

#include <QSignalBlocker>
#include <QStyle>

namespace shardboard {

NumberEdit::NumberEdit(QWidget* parent)
    : QLineEdit(parent)
{
    setMinimumWidth(44);
    setMaxLength(20);
    connect(this, &QLineEdit::textChanged, this, [this] { showValidity(); });
}

std::int64_t NumberEdit::value() const
{
    const auto number = parseInteger(text().trimmed().toStdString());
    return number && *number > 0 ? *number : 0;
}

void NumberEdit::setValue(std::int64_t number)
{
    const QSignalBlocker blocker(this);
    if (value() != number || text().isEmpty())
        setText(number > 0 ? QString::number(number) : QString());
    showValidity();
}

QSize NumberEdit::sizeHint() const { return { 72, QLineEdit::sizeHint().height() }; }

void NumberEdit::setOptional(bool optional)
{
    m_optional = optional;
    showValidity();
}

void NumberEdit::showValidity() { setRefused(this, value() <= 0 && !(m_optional && text().trimmed().isEmpty())); }

void setRefused(QLineEdit* edit, bool refused)
{
    if (edit->property("refused").toBool() == refused)
        return;
    edit->setProperty("refused", refused);
    edit->style()->unpolish(edit);
    edit->style()->polish(edit);
}

} // namespace shardboard
