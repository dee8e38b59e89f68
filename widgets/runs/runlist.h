// SPDX-License-Identifier: Apache-2.0
// A list of rows of two lines, with a sign before them; the title is edited in place.
#pragma once

#include <QListWidget>

namespace shardboard {

class RunList : public QListWidget {
    Q_OBJECT
public:
    explicit RunList(QWidget* parent = nullptr);

    bool isNaming() const { return state() == EditingState; }

    enum class Sign { Verified, Unverified, Wrong, Damaged };
    /// What the delegate paints of an item; its text is what is edited.
    static constexpr int kNameRole = Qt::UserRole; ///< of the run
    static constexpr int kTitleRole = Qt::UserRole + 1;
    static constexpr int kValueRole = Qt::UserRole + 2; ///< at the right of the title
    static constexpr int kWhatRole = Qt::UserRole + 3; ///< below the title
    static constexpr int kStateRole = Qt::UserRole + 4; ///< at the right of that
    static constexpr int kSignRole = Qt::UserRole + 5;
    static constexpr int kShownRole = Qt::UserRole + 6;
};

} // namespace shardboard
