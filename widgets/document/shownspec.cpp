// SPDX-License-Identifier: Apache-2.0
#include "widgets/document/shownspec.h"

#include "model/session/document.h"

#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>

namespace shardboard {

ShownSpec specIn(Notation notation, const Layout& layout, const Mesh& mesh, bool full)
{
    const auto written = writeLayout(notation, layout, mesh);
    ShownSpec out;
    if (written.ok()) {
        out.text = verbatim(notation == Notation::Jax ? specText(layout, mesh, full) : written.value());
        out.toolTip = qstr(notationTitle(notation));
        return out;
    }
    out.text = verbatim(specText(layout, mesh, full));
    out.mark = writeLayout(Notation::Jax, layout, mesh).ok() ? QObject::tr(" (JAX)") : QObject::tr(" (no notation)");
    out.reason = written.cancelled() ? QString() : errorText(written.error());
    out.toolTip = QObject::tr("%1 cannot express this layout. %2").arg(qstr(notationTitle(notation)), out.reason);
    return out;
}

ShownSpec shownSpec(const Document& document, const Layout& layout, bool full)
{
    return specIn(document.notation(), layout, document.evaluation()->plan.mesh, full);
}

void addCopyMenu(QMenu* menu, const Layout& layout, const Mesh& mesh)
{
    QMenu* copies = menu->addMenu(QObject::tr("Copy layout as"));
    copies->setObjectName(QStringLiteral("copyLayout"));
    copies->setToolTipsVisible(true);
    for (const Notation notation : kNotations) {
        const auto written = writeLayout(notation, layout, mesh);
        QAction* action = copies->addAction(qstr(notationTitle(notation)));
        action->setEnabled(written.ok());
        if (!written.ok()) {
            action->setToolTip(written.cancelled() ? QString() : errorText(written.error()));
            continue;
        }
        const QString text = verbatim(written.value());
        action->setToolTip(shownText(text));
        QObject::connect(action, &QAction::triggered, action, [text] { QGuiApplication::clipboard()->setText(text); });
    }
}

} // namespace shardboard
