// SPDX-License-Identifier: Apache-2.0
// What the inspector's page shows, for tests.
#pragma once

#include "widgets/controls/card.h"

#include <QGridLayout>
#include <QLabel>
#include <QString>

#include <map>
#include <vector>

namespace shardboard {

/// Without the places where a line may break.
inline QString unbroken(QString text) { return text.remove(QChar(0x200B)).remove(QChar(0x2060)); }

/// The facts by their names.
inline std::map<QString, QString> shownFacts(const QWidget& panel)
{
    std::map<QString, QString> out;
    for (const QGridLayout* grid : panel.findChildren<QGridLayout*>())
        for (int row = 0; row < grid->rowCount(); ++row) {
            const QLayoutItem* name = grid->itemAtPosition(row, 0);
            const QLayoutItem* value = grid->itemAtPosition(row, 1);
            if (!name || !value)
                continue;
            const auto* label = qobject_cast<QLabel*>(name->widget());
            const auto* text = qobject_cast<QLabel*>(value->widget());
            if (label && text)
                out[label->toolTip().isEmpty() ? label->text() : label->toolTip()] = unbroken(text->text());
        }
    return out;
}

inline std::vector<Card*> shownCards(const QWidget& panel)
{
    std::vector<Card*> out;
    for (Card* card : panel.findChildren<Card*>())
        if (card->isVisibleTo(&panel))
            out.push_back(card);
    return out;
}

} // namespace shardboard
