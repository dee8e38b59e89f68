// SPDX-License-Identifier: Apache-2.0
// Rows and columns of widgets.
#pragma once

#include <QBoxLayout>
#include <QMargins>

namespace shardboard {

/// With so many pixels around it and between its widgets; of a `parent`, or to be added to another layout.
template <class Layout>
Layout* boxLayout(const QMargins& margins, int spacing, QWidget* parent = nullptr)
{
    auto* out = new Layout(parent);
    out->setContentsMargins(margins);
    out->setSpacing(spacing);
    return out;
}

} // namespace shardboard
