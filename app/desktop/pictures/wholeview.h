// SPDX-License-Identifier: Apache-2.0
// A view as large as all that it has to show, for as long as this lives: lists and scrolled areas to their end, zoomed canvases
// fitted. For pictures of the whole; the event loop must not run meanwhile.
#pragma once

#include <QList>
#include <QSize>
#include <QWidget>

class QAbstractScrollArea;

namespace shardboard {

class CanvasWidget;

class WholeView {
public:
    explicit WholeView(QWidget* view);
    /// As it was, also what was scrolled to.
    ~WholeView();
    WholeView(const WholeView&) = delete;
    WholeView& operator=(const WholeView&) = delete;

private:
    void grow();

    struct Scrolled {
        QAbstractScrollArea* area = nullptr;
        int horizontal = 0;
        int vertical = 0;
        bool byItem = false; ///< its steps were rows
    };
    QWidget* m_view;
    QSize m_size;
    QList<CanvasWidget*> m_canvases;
    QList<Scrolled> m_areas;
};

} // namespace shardboard
