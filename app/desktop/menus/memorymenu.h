// SPDX-License-Identifier: Apache-2.0
// Two parts of the Design menu: which mesh axes cut the optimizer states and gradients, and what of a device's memory follows
// from no layout. Each choice is one undo step; a refused one shows its reason in the banner and changes nothing. Numbers are
// edited in the panel of the settings.
#pragma once

#include "model/design/design.h"

#include <QObject>

class QAction;
class QMenu;

namespace shardboard {

class Banner;
class Document;

class MemoryMenu : public QObject {
    Q_OBJECT
public:
    /// Fills both menus and keeps them as the design is.
    MemoryMenu(Document* document, Banner* banner, QMenu* optimizer, QMenu* memory);

Q_SIGNALS:
    void settingRequested(const QString& id); ///< a number, to be edited in the panel

private:
    void addGradients();
    void addMemory();
    void addNumber(const QString& label, const QString& id, const QString& toolTip);
    void chooseAxis(const std::string& axis, bool on);
    void edit(const Design& edited, const QString& text);
    void showState();
    void showAxes();

    Document* m_document;
    Banner* m_banner;
    QMenu* m_optimizer;
    QMenu* m_memory;
    QAction* m_gradients = nullptr;
    QAction* m_logits = nullptr;
    QAction* m_usual = nullptr;
    QList<QAction*> m_axes;
    QList<QAction*> m_numbers;
};

} // namespace shardboard
