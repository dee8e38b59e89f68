// SPDX-License-Identifier: Apache-2.0
#include "widgets/history/historyview.h"

#include "model/session/document.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/tablecopy.h"

#include <QPushButton>
#include <QUndoStack>
#include <QUndoView>

namespace shardboard {

HistoryView::HistoryView(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_save(new QPushButton(tr("Save Edits …"), this))
    , m_replay(new QPushButton(tr("Replay …"), this))
    , m_list(new QUndoView(document->undoStack(), this))
{
    nameWidget(this, "historyView", tr("History"));
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    m_list->setObjectName(QStringLiteral("historyList"));
    m_list->setEmptyLabel(tr("As opened"));
    m_list->setAccessibleName(tr("Edits of this design; the selected one is the last in effect"));
    makeCopyable(m_list);
    nameWidget(m_save, "historySave", {},
               tr("Writes the edits up to the selected one to a file, to be replayed in this design or another one"));
    nameWidget(m_replay, "historyReplay", {}, tr("Replays the edits of a file, each as one step"));
    auto* buttons = boxLayout<QHBoxLayout>({ kPanelMargin, 6, kPanelMargin, 6 }, 8);
    buttons->addWidget(m_save);
    buttons->addWidget(m_replay);
    buttons->addStretch(1);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addLayout(buttons);
    column->addWidget(m_list, 1);
    connect(m_save, &QPushButton::clicked, this, &HistoryView::saveWanted);
    connect(m_replay, &QPushButton::clicked, this, &HistoryView::replayWanted);
    connect(document->undoStack(), &QUndoStack::indexChanged, this, &HistoryView::update);
    connect(document, &Document::opened, this, &HistoryView::update);
    update();
}

void HistoryView::setSeen(bool seen) { m_list->setStack(seen ? m_document->undoStack() : nullptr); }

void HistoryView::update()
{
    m_save->setEnabled(m_document->undoStack()->index() > 0);
    m_replay->setEnabled(m_document->hasDesign());
}

} // namespace shardboard
