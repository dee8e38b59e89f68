// SPDX-License-Identifier: Apache-2.0
// All commands with their keys, made of the action registry, and the place where keys are changed: choose a command, press the new
// keys, set them. Keys that another command has are taken from it only when that is asked for. Does not block the window.
#pragma once

#include <QDialog>
#include <QKeySequence>

class QLabel;
class QLineEdit;
class QPushButton;
class QTreeWidget;

namespace shardboard {

class Actions;
class KeyField;

class ShortcutSheet : public QDialog {
    Q_OBJECT
public:
    /// `actions` outlives the sheet.
    explicit ShortcutSheet(Actions& actions, QWidget* parent = nullptr);

    /// What a key does inside views, which handle it themselves; empty for one that they leave alone. Such keys work in lists and
    /// canvases only, so that a command may have them, but the sheet says so.
    static QString viewKey(const QKeySequence& keys);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void buildLayout();
    void fill();
    void filter();
    void choose();
    void showConflict();
    void setKeys(bool takeThem);
    QString currentId() const;
    void say(const QString& text, bool refused);

    Actions& m_actions;
    QLineEdit* m_filter;
    QTreeWidget* m_list;
    QLabel* m_name;
    KeyField* m_keys;
    QPushButton* m_set;
    QPushButton* m_take;
    QPushButton* m_none;
    QPushButton* m_reset;
    QPushButton* m_resetAll;
    QLabel* m_message;
};

} // namespace shardboard
