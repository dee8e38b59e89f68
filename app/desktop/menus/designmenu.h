// SPDX-License-Identifier: Apache-2.0
// The Design menu: preset, picker, hardware, workload, optimizer states and memory of the open design. Each choice is one undo
// step; a refused one shows its reason in the banner and changes nothing. Numbers are edited in the panel of the settings, where
// their entries lead.
#pragma once

#include "model/design/design.h"

#include <QObject>

class QAction;
class QActionGroup;
class QMenu;

namespace shardboard {

class Banner;
class Document;

class DesignMenu : public QObject {
    Q_OBJECT
public:
    DesignMenu(Document* document, Banner* banner, QMenu* menu);

Q_SIGNALS:
    void settingRequested(const QString& id); ///< a number of the design, to be edited in the panel

private:
    void addPresets(QMenu* menu);
    void addPicker(QMenu* menu);
    void addHardware(QMenu* menu);
    void addWorkload(QMenu* menu);
    QActionGroup* addChoices(QMenu* menu, const char* setting);
    QAction* addNumber(QMenu* menu, const char* setting);
    void applyPreset(const QString& name);
    void combineParts();
    void edit(const Design& edited, const QString& text);
    void showState();

    Document* m_document;
    Banner* m_banner;
    QActionGroup* m_hardware = nullptr;
    QActionGroup* m_workloads = nullptr;
    QActionGroup* m_recompute = nullptr;
    QActionGroup* m_attention = nullptr;
    QActionGroup* m_overlap = nullptr;
    QAction* m_microBatches = nullptr;
};

} // namespace shardboard
