// SPDX-License-Identifier: Apache-2.0
// How the plan's collectives are chosen: picker, profile, what happens when something moves, and the policies of some
// profiles. Each choice is one step of the history. As a menu, and as a button that says what is chosen and opens the menu.
#pragma once

#include "model/design/design.h"

#include <QObject>
#include <QToolButton>

#include <functional>

class QAction;
class QActionGroup;
class QDoubleSpinBox;
class QMenu;

namespace shardboard {

class Document;

/// `greedy · shardboard`, `partials-only · G1 · raise`: the picker, the profile, and what is not as usual.
QString pickerText(const PickerOptions& options);

class PickerMenu : public QObject {
    Q_OBJECT
public:
    /// Fills the menu and keeps it in step with the design.
    PickerMenu(Document* document, QMenu* menu);

Q_SIGNALS:
    void refused(const QString& why); ///< a choice that cannot be made; the design is as before

private:
    QActionGroup* addChoices(const QString& title, const QList<QPair<QString, QString>>& choices,
                             const std::function<void(PickerOptions&, const QString&)>& change, const QString& editText);
    QAction* addSwitch(const QString& text, const QString& name, const QString& toolTip,
                       const std::function<void(PickerOptions&, bool)>& change, const QString& on, const QString& off);
    void addBudget();
    void edit(const PickerOptions& options, const QString& text);
    void showState();

    Document* m_document;
    QMenu* m_menu;
    QActionGroup* m_pickers = nullptr;
    QActionGroup* m_profiles = nullptr;
    QActionGroup* m_modes = nullptr;
    QAction* m_reduceScatter = nullptr;
    QAction* m_allTransitions = nullptr;
    QDoubleSpinBox* m_budget = nullptr; ///< MiB
};

class PickerButton : public QToolButton {
    Q_OBJECT
public:
    explicit PickerButton(Document* document, QWidget* parent = nullptr);
    /// Of all that it says; in less room it is elided.
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void refused(const QString& why);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void showState();
    void fitText();
    int widthBesideText() const;

    Document* m_document;
    QString m_full;
};

} // namespace shardboard
