// SPDX-License-Identifier: Apache-2.0
// The device mesh with its header.
#pragma once

#include "widgets/documentview.h"

class QToolButton;

namespace shardboard {

class MeshCanvas;

class MeshView : public DocumentView {
    Q_OBJECT
public:
    explicit MeshView(Document* document, QWidget* parent = nullptr);
    MeshCanvas* canvas() const { return m_canvas; }

protected:
    void refresh() override;
    void selectionChanged() override;
    void hoverChanged() override;

private:
    ViewHeader* m_header;
    QToolButton* m_coloring; ///< by memory instead of by shards
    MeshCanvas* m_canvas;
    int m_shownWeight = -1;
};

} // namespace shardboard
