// SPDX-License-Identifier: Apache-2.0
// One line above the workbench for what went wrong or was done. Never blocks; stays until it is closed or replaced.
#pragma once

#include <QFrame>

class QLabel;

namespace shardboard {

class Banner : public QFrame {
    Q_OBJECT
public:
    explicit Banner(QWidget* parent = nullptr);

    void showError(const QString& text);
    void showInfo(const QString& text);
    QString text() const;
    bool isError() const { return m_error; }

protected:
    void changeEvent(QEvent* event) override;

private:
    void showText(const QString& text, bool error);
    void applyColors();

    QLabel* m_label = nullptr;
    bool m_error = false;
};

} // namespace shardboard
