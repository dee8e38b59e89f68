// SPDX-License-Identifier: Apache-2.0
// The line below the workbench: how the engine is, how long the plan took and whether it is saved, and the selected weight's spec.
#pragma once

#include <QObject>

class QLabel;
class QStatusBar;

namespace shardboard {

class Document;
class ElidedLabel;
class EngineSession;

class StatusLine : public QObject {
    Q_OBJECT
public:
    StatusLine(Document* document, EngineSession* engine, QStatusBar* bar);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void update();

    Document* m_document;
    EngineSession* m_engine;
    QStatusBar* m_bar;
    ElidedLabel* m_engineLabel = nullptr;
    ElidedLabel* m_planLabel = nullptr;
    QLabel* m_specLabel = nullptr;
};

} // namespace shardboard
