// SPDX-License-Identifier: Apache-2.0
// A legend in one line or some: a sample of each colour or pattern that is in view, with its name. A click on an entry, or Space,
// shows what is drawn so and quiets the rest; again, or Esc, shows everything. Where there is little room names are cut short, then
// left to the tool tip; no entry goes.
#pragma once

#include <QString>
#include <QWidget>

#include <functional>
#include <vector>

class QPainter;

namespace shardboard {

struct LegendEntry {
    QString key; ///< stays the same from one evaluation to the next: `cut/model`
    QString text;
    QString toolTip;
    /// Draws the sample; in the theme of `widget`.
    std::function<void(QPainter& painter, const QRectF& rect, const QWidget* widget)> paint;
    QString name {}; ///< for screen readers and the tool tip, where `text` is short; empty: `text`
};

class LegendButton;

class Legend : public QWidget {
    Q_OBJECT
public:
    explicit Legend(QWidget* parent = nullptr);
    /// What was chosen stays so if it is still there. Entries that are there already are kept, with the focus on them.
    void setEntries(std::vector<LegendEntry> entries);
    const std::vector<LegendEntry>& entries() const { return m_entries; }
    QString chosen() const { return m_chosen; } ///< key of the entry that is shown alone; empty: everything is
    void choose(const QString& key);
    /// The button of an entry, for tests; null when there is none.
    QWidget* button(const QString& key) const;
    /// As many lines as whole names need, up to this number (1).
    void setMostLines(int lines);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return m_mostLines > 1; }
    int heightForWidth(int width) const override;

Q_SIGNALS:
    void chosenChanged(const QString& key);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    friend class LegendButton;
    /// Places of the buttons with texts of at most that many pixels.
    std::vector<QRect> placesIn(int width, int text) const;
    std::vector<QRect> placesIn(int width) const;
    int lineHeight() const;
    void place();
    void moveFocus(const LegendButton* from, int by);

    std::vector<LegendEntry> m_entries;
    std::vector<LegendButton*> m_buttons;
    QString m_chosen;
    int m_mostLines = 1;
};

/// Of an entry that stands for many colours: strips of the first of them, painted one after the other by their number.
void paintStrips(QPainter& painter, const QRectF& rect, const std::function<void(QPainter&, const QRect&, int)>& strip);

} // namespace shardboard
