// SPDX-License-Identifier: Apache-2.0
#include "widgets/look/plaintext.h"

#include "model/text/visibletext.h"

#include <QApplication>
#include <QHelpEvent>
#include <QLabel>
#include <QRegularExpression>
#include <QScreen>
#include <QStringList>
#include <QToolTip>

#include <algorithm>

namespace shardboard {

namespace {

/// Nothing in it has to be escaped: most names.
bool isPlainAscii(const std::string& text)
{
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

bool isPlainAscii(const QString& text)
{
    return std::all_of(text.begin(), text.end(), [](QChar c) { return c.unicode() >= 0x20 && c.unicode() < 0x7f; });
}

/// Both ends of a text that is far too long to be shown, as bytes; each still has more characters than are shown of it.
std::string endsOf(const std::string& text)
{
    constexpr auto kEnd = static_cast<std::size_t>(kLongestText) * 4; // of UTF-8
    return text.size() <= 2 * kEnd ? text : text.substr(0, kEnd) + text.substr(text.size() - kEnd);
}

/// Qt makes the label of a tool tip when it needs one and gives it its style before its first text.
class PlainLabels : public QObject {
public:
    using QObject::QObject;
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() != QEvent::Polish)
            return false;
        auto* label = qobject_cast<QLabel*>(watched);
        if (label == nullptr || label->textFormat() != Qt::AutoText)
            return false;
        label->setTextFormat(Qt::PlainText);
        if (label->windowType() == Qt::ToolTip)
            label->setMaximumSize(label->screen()->availableSize());
        return false;
    }
};

} // namespace

QString shortened(const QString& text, qsizetype characters)
{
    if (text.size() <= characters)
        return text;
    qsizetype head = characters / 2;
    qsizetype tail = text.size() - (characters - head - 1);
    if (head > 0 && text[head - 1].isHighSurrogate())
        --head;
    if (tail < text.size() && text[tail].isLowSurrogate())
        ++tail;
    return text.left(head) + QChar(0x2026) + text.mid(tail);
}

QString shownText(const std::string& text)
{
    const std::string ends = endsOf(text);
    return shortened(QString::fromStdString(isPlainAscii(ends) ? ends : visibleText(ends)), kLongestText);
}

QString shownText(const QString& text)
{
    return isPlainAscii(text) ? shortened(text, kLongestText) : shownText(text.toStdString());
}

QString shownLines(const QString& text)
{
    QStringList lines = text.split(QLatin1Char('\n'));
    for (QString& line : lines)
        line = shownText(line);
    return lines.join(QLatin1Char('\n'));
}

QString menuText(const QString& text) { return QString(text).replace(QLatin1Char('&'), QLatin1String("&&")); }

QString titleText(const QString& text) { return QString(text).replace(QLatin1String("[*]"), QLatin1String("[*][*]")); }

QString fileNamePart(const QString& text)
{
    static const QRegularExpression strange(QStringLiteral("[^\\w.+-]+"), QRegularExpression::UseUnicodePropertiesOption);
    const QString name = shortened(text, kLongestName).replace(strange, QStringLiteral("-"));
    return name.startsWith(QLatin1Char('.')) ? QLatin1Char('-') + name : name; // neither hidden nor another folder
}

void showToolTip(const QPoint& globalPos, const QString& text, QWidget* widget, const QRect& area, int milliseconds)
{
    QToolTip::showText(globalPos, shortened(text, 2 * kLongestText), widget, area, milliseconds);
}

bool answersToolTip(QEvent* event, QWidget* widget, const std::function<QString(const QPoint&)>& textAt)
{
    if (event->type() != QEvent::ToolTip)
        return false;
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const QString text = textAt(help->pos()); text.isEmpty())
        QToolTip::hideText();
    else
        showToolTip(help->globalPos(), text, widget);
    return true;
}

void showPlainText()
{
    const QString name = QStringLiteral("plainLabels");
    if (qApp->findChild<QObject*>(name, Qt::FindDirectChildrenOnly) != nullptr)
        return;
    auto* filter = new PlainLabels(qApp);
    filter->setObjectName(name);
    qApp->installEventFilter(filter);
}

} // namespace shardboard
