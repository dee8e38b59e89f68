// SPDX-License-Identifier: Apache-2.0
// The line at the top of a view.
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>

class QLabel;

namespace shardboard {

/// A bold title, quiet text or a path beside it, and room for widgets at the right.
class ViewHeader : public QWidget {
    Q_OBJECT
public:
    explicit ViewHeader(const QString& title, QWidget* parent = nullptr);
    void setTitle(const QString& title);
    void setTitleMono(bool mono);
    void setDetail(const QString& detail);
    /// `16,384 devices › pod 0, data 5 › node 329`: where one is, and before it links to what it is in. Where there is little room
    /// the outermost ones are left out.
    void setPath(const QStringList& steps);
    void setDetailAtRight();
    QString title() const;
    QString detail() const;
    void addRight(QWidget* widget);

Q_SIGNALS:
    void stepChosen(int step); ///< of the path

protected:
    bool event(QEvent* event) override;
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void updateLook();
    void elide();
    void showDetail();
    QString pathIn(int room) const; ///< with links, as HTML

    QLabel* m_title;
    QLabel* m_detail;
    QString m_titleText;
    QString m_detailText;
    QStringList m_path;
    bool m_mono = false;
    bool m_lookPending = false;
};

} // namespace shardboard
