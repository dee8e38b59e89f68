// SPDX-License-Identifier: Apache-2.0
// A layout as views write it: in the notation that the document's reader prefers, or, where that notation cannot say
// it, in JAX's with a mark and the reason. The one place that decides this.
#pragma once

#include "model/core/layout.h"
#include "model/notation/notation.h"

#include <QString>

class QMenu;

namespace shardboard {

class Document;

struct ShownSpec {
    QString text; ///< without the mark, as one would copy it
    QString mark; ///< ` (JAX)` where the preferred notation cannot say the layout, else empty
    QString reason; ///< why it cannot
    QString toolTip; ///< the notation's name, or the reason of the mark

    QString marked() const { return text + mark; }
};

/// `full` keeps the Nones at the end of JAX's notation, so that a reader sees the rank.
ShownSpec specIn(Notation notation, const Layout& layout, const Mesh& mesh, bool full = false);
/// In the preferred notation of a document.
ShownSpec shownSpec(const Document& document, const Layout& layout, bool full = false);

/// A menu `Copy layout as` with all notations; those that cannot say the layout are disabled and say why.
void addCopyMenu(QMenu* menu, const Layout& layout, const Mesh& mesh);

} // namespace shardboard
