// SPDX-License-Identifier: Apache-2.0
// One line above the workbench for what went wrong, was done or is to be decided. Never blocks; stays until it is closed or
// replaced.
#pragma once

#include <QFrame>

#include <functional>
#include <vector>

class QHBoxLayout;
class QPushButton;

namespace shardboard {

class WrappedLabel;

class Banner : public QFrame {
    Q_OBJECT
public:
    explicit Banner(QWidget* parent = nullptr);

    void showError(const QString& text);
    void showInfo(const QString& text);
    struct Choice {
        QString text; ///< on its button
        std::function<void()> run; ///< after the banner was hidden
    };
    /// Something that can be decided now, later, or not at all.
    void ask(const QString& text, const std::vector<Choice>& choices);
    const std::vector<QPushButton*>& choices() const { return m_choices; }
    QString text() const;
    bool isError() const { return m_error; }

protected:
    void changeEvent(QEvent* event) override;

private:
    void showText(const QString& text, bool error);
    void applyColors();

    WrappedLabel* m_label = nullptr;
    QHBoxLayout* m_layout = nullptr;
    std::vector<QPushButton*> m_choices;
    bool m_error = false;
};

} // namespace shardboard
