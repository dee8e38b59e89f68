// SPDX-License-Identifier: Apache-2.0
// The building blocks of the inspector: sections, rows of facts, sentences, and cards that can be chosen.
#pragma once

#include "widgets/shownspec.h"

#include <QFrame>
#include <QString>
#include <QWidget>

class QGridLayout;
class QLabel;
class QPushButton;
class QVBoxLayout;

namespace shardboard {

/// A rounded card of a title, a value at the right and a line of quiet text. With `setActionable` it is a button too; with
/// `addButton` it has one.
class Card : public QWidget {
    Q_OBJECT
public:
    enum class Look { Plain, Chosen, Attention, Error };
    Card(const QString& title, const QString& value, const QString& detail, Look look, QWidget* parent);
    void setActionable(const QString& toolTip);
    /// Other texts in the place of those that it was made with; what was empty stays away.
    void setTexts(const QString& title, const QString& value, const QString& detail);
    /// A button below the text, with a short quiet word beside it.
    QPushButton* addButton(const QString& text, const QString& beside);
    QString title() const { return m_title; }
    QString value() const { return m_value; }

Q_SIGNALS:
    void activated();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    QString m_title;
    QString m_value;
    QLabel* m_titleLabel = nullptr;
    QLabel* m_valueLabel = nullptr;
    QLabel* m_detailLabel = nullptr;
    Look m_look;
    bool m_actionable = false;
};

/// A column of sections that is built anew for every selection.
class InspectorPage : public QWidget {
    Q_OBJECT
public:
    explicit InspectorPage(QWidget* parent = nullptr);
    void section(const QString& title);
    void fact(const QString& name, const QString& value, const QString& toolTip = {});
    /// The same with a spec, which is broken where the panel ends.
    void fact(const QString& name, const ShownSpec& spec, const Layout& layout, const Mesh& mesh);
    void sentence(const QString& text);
    QPushButton* button(const QString& text, const QString& toolTip);
    Card* card(const QString& title, const QString& value, const QString& detail, Card::Look look);
    void finish();
    QSize minimumSizeHint() const override;

private:
    void factName(const QString& name);

    QVBoxLayout* m_column;
    QGridLayout* m_facts = nullptr;
    bool m_first = true;
};

} // namespace shardboard
