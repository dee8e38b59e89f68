// SPDX-License-Identifier: Apache-2.0
// The four modes of the window, and the control that shows and changes them: Tab comes to the present one, the arrow keys go on.
#pragma once

#include <QString>
#include <QWidget>

#include <array>

class QAction;
class QToolButton;

namespace shardboard {

enum class WorkMode { Design, Explore, Profile, Deliver };

inline constexpr std::array kWorkModes { WorkMode::Design, WorkMode::Explore, WorkMode::Profile, WorkMode::Deliver };
/// For settings, commands and pictures: `design`.
QString modeId(WorkMode mode);
/// What people read: `Design`.
QString modeTitle(WorkMode mode);
/// In a sentence, for tool tips.
QString modeWhat(WorkMode mode);

class ModeBar : public QWidget {
    Q_OBJECT
public:
    explicit ModeBar(QWidget* parent = nullptr);

    void setMode(WorkMode mode);
    WorkMode mode() const { return m_mode; }
    /// The tool tips are those of the window's commands, with their keys.
    void followTip(WorkMode mode, QAction* command);

Q_SIGNALS:
    void chosen(WorkMode mode); ///< by a person

protected:
    void changeEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void fit();

    std::array<QToolButton*, kWorkModes.size()> m_buttons {};
    WorkMode m_mode = WorkMode::Design;
};

} // namespace shardboard
