// SPDX-License-Identifier: Apache-2.0
// A spec in monospace that is broken where the panel ends, so that a long HloSharding is never cut off. Its context
// menu copies it, in any notation.
#pragma once

#include "widgets/document/shownspec.h"

#include <QFont>
#include <QWidget>

namespace shardboard {

class SpecLabel : public QWidget {
    Q_OBJECT
public:
    explicit SpecLabel(QWidget* parent = nullptr);

    /// A spec and the layout that it says.
    void setSpec(const ShownSpec& spec, const Layout& layout, const Mesh& mesh);
    QString text() const { return m_text; } ///< with its mark
    void fillMenu(QMenu* menu) const;
    void setAlignment(Qt::Alignment alignment);
    void setTextFont(const QFont& font);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    QString m_text;
    Layout m_layout;
    Mesh m_mesh;
    QFont m_font;
    Qt::Alignment m_alignment = Qt::AlignLeft;
};

} // namespace shardboard
