// SPDX-License-Identifier: Apache-2.0
// The line at the top of a view.
#pragma once

#include <QString>
#include <QWidget>

class QLabel;

namespace shardboard {

/// A bold title, quiet text beside it, and room for one widget at the right.
class ViewHeader : public QWidget {
    Q_OBJECT
public:
    explicit ViewHeader(const QString& title, QWidget* parent = nullptr);
    void setTitle(const QString& title);
    void setTitleMono(bool mono);
    void setDetail(const QString& detail);
    void setDetailAtRight();
    QString title() const;
    QString detail() const;
    void addRight(QWidget* widget);

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void updateLook();
    void elide();

    QLabel* m_title;
    QLabel* m_detail;
    QString m_titleText;
    QString m_detailText;
    bool m_mono = false;
    bool m_lookPending = false;
};

} // namespace shardboard
