// SPDX-License-Identifier: Apache-2.0
// One setting as a line of the panel: its name, its field with its unit, and below it what an edit would do, or why it cannot be.
#pragma once

#include "widgets/settings/setting.h"

#include <QWidget>

#include <memory>
#include <optional>

class QLabel;
class QLineEdit;

namespace shardboard {

class ChoiceBox;
class WrappedLabel;

class SettingRow : public QWidget {
    Q_OBJECT
public:
    explicit SettingRow(const Setting& setting, QWidget* parent = nullptr);

    const Setting& setting() const { return m_setting; }
    /// The value of the design. What is being edited stays.
    void showDesign(const std::shared_ptr<const Design>& design);
    /// Text that was typed or stepped to and is not in the design yet.
    std::optional<QString> pending() const;
    /// Lets go of it.
    void revert();
    /// After it was taken over: the field has nothing that waits.
    void settled();
    /// It was not: the text waits again.
    void unsettled(const std::shared_ptr<const Design>& design, const QString& text);
    /// Below the field; empty: nothing.
    void showEffect(const QString& text, bool warning);
    void showProblem(const QString& text);
    /// In the list of a choice: what this option would do.
    void showOptionEffect(const QString& value, const QString& effect);
    QWidget* field() const;
    void updateLook();

Q_SIGNALS:
    void edited(); ///< another text is in the field; see pending()
    void applied(const QString& text); ///< Enter, another field, or an option was chosen
    void listed(); ///< the options are about to be seen

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void buildNumber();
    void buildChoice();
    void step(bool up);

    Setting m_setting;
    QLabel* m_name;
    QLineEdit* m_number = nullptr;
    QLabel* m_unit = nullptr;
    ChoiceBox* m_choice = nullptr;
    WrappedLabel* m_told;
    std::shared_ptr<const Design> m_design; ///< that it shows
    QString m_shown; ///< text of the design
    bool m_warning = false;
    bool m_problem = false;
};

} // namespace shardboard
