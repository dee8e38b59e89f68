// SPDX-License-Identifier: Apache-2.0
// A choice of one of several, as a field of the theme: each entry has a line of text and maybe a quiet line under it.
#pragma once

#include <QComboBox>

namespace shardboard {

class ChoiceBox : public QComboBox {
    Q_OBJECT
public:
    /// With `twoLines` the closed box has room for the quiet line too.
    explicit ChoiceBox(bool twoLines, QWidget* parent = nullptr);

    void addChoice(const QString& text, const QString& detail, const QVariant& value);
    QString detail(int index) const;
    void setDetail(int index, const QString& detail);
    /// Chooses the entry with this value; nothing is chosen where none has it. Sends no signal.
    void choose(const QVariant& value);

    /// The width in which such an entry is not elided, and that in which none is.
    int widthOf(const QString& text) const;
    int widestEntry() const;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void aboutToShow(); ///< the list of choices

protected:
    void paintEvent(QPaintEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void showPopup() override;

private:
    bool m_twoLines;
};

} // namespace shardboard
