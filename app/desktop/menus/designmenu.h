// SPDX-License-Identifier: Apache-2.0
// The Design menu: preset, picker, hardware, workload, optimizer states and memory of the open design. Each choice is one undo
// step; a refused one shows its reason in the banner and changes nothing.
#pragma once

#include "model/design/design.h"

#include <QObject>

#include <functional>

class QAction;
class QActionGroup;
class QMenu;
class QSpinBox;

namespace shardboard {

class Banner;
class Document;

class DesignMenu : public QObject {
    Q_OBJECT
public:
    DesignMenu(Document* document, Banner* banner, QMenu* menu);

private:
    void addPresets(QMenu* menu);
    void addPicker(QMenu* menu);
    void addHardware(QMenu* menu);
    void addWorkload(QMenu* menu);
    QActionGroup* addChoices(QMenu* menu, const QList<QPair<QString, QString>>& choices,
                             const std::function<void(Design&, const QString&)>& change, const QString& editText);
    QSpinBox* addNumber(QMenu* menu, const QString& label, const QString& name, const std::function<void(Design&, qint64)>& change);
    void applyPreset(const QString& name);
    void edit(const Design& edited, const QString& text);
    void showState();

    Document* m_document;
    Banner* m_banner;
    QActionGroup* m_hardware = nullptr;
    QActionGroup* m_workloads = nullptr;
    QActionGroup* m_recompute = nullptr;
    QActionGroup* m_attention = nullptr;
    QActionGroup* m_overlap = nullptr;
    QSpinBox* m_batch = nullptr;
    QSpinBox* m_sequence = nullptr;
    QSpinBox* m_microBatches = nullptr;
};

} // namespace shardboard
