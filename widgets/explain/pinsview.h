// SPDX-License-Identifier: Apache-2.0
// The design's pins: who set them, what they speak of, what they say, and whether they can be met. Pins are removed here and
// written; the explanation of an operation offers those that take another row.
#pragma once

#include "widgets/document/documentview.h"

class QLabel;
class QLineEdit;
class QPushButton;
class QTreeWidget;

namespace shardboard {

class NarrowRows;

class PinsView : public DocumentView {
    Q_OBJECT
public:
    explicit PinsView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    void showPin(int pin); ///< index into Design::pins
    /// Removes the selected pins as one step.
    void removeSelected();

protected:
    void refresh() override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void add();
    void showState();
    void fitColumns();

    QTreeWidget* m_list;
    NarrowRows* m_rows;
    QLineEdit* m_new;
    QPushButton* m_add;
    QPushButton* m_remove;
    QLabel* m_message;
    QLabel* m_empty;
};

} // namespace shardboard
