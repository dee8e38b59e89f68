// SPDX-License-Identifier: Apache-2.0
// Two parts of the Design menu: which mesh axes cut the optimizer states and gradients, and what of a device's memory follows
// from no layout. Each choice is one undo step; a refused one shows its reason in the banner and changes nothing.
#pragma once

#include "model/design/design.h"

#include <QObject>

#include <functional>

class QAction;
class QDoubleSpinBox;
class QMenu;

namespace shardboard {

class Banner;
class Document;

class MemoryMenu : public QObject {
    Q_OBJECT
public:
    /// Fills both menus and keeps them as the design is.
    MemoryMenu(Document* document, Banner* banner, QMenu* optimizer, QMenu* memory);

private:
    void addGradients();
    void addMemory();
    QDoubleSpinBox* addNumber(const QString& label, const QString& name, const QString& toolTip, double most, int decimals,
                              const QString& unit, const std::function<void(MemorySettings&, double)>& change);
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
    QDoubleSpinBox* m_prefetch = nullptr;
    QDoubleSpinBox* m_reserve = nullptr;
    QDoubleSpinBox* m_context = nullptr;
    QDoubleSpinBox* m_communicators = nullptr;
};

} // namespace shardboard
