// SPDX-License-Identifier: Apache-2.0
// What a mode brings: its panels in the middle, maybe one above Weights and one over the middle and the right column, the sizes
// that they have at first, and the one act that the mode is for.
#pragma once

#include "widgets/workbench/modebar.h"

#include <QObject>
#include <QString>

#include <utility>
#include <vector>

class QSplitter;

namespace shardboard {

class Panel;
class PanelGroup;

class ModePage : public QObject {
    Q_OBJECT
public:
    explicit ModePage(WorkMode mode, QObject* parent = nullptr);

    WorkMode mode() const { return m_mode; }
    /// Splitters of groups, or a group.
    QWidget* centre() const { return m_centre; }
    /// Over the middle and the right column, which begins below it; null: none.
    PanelGroup* top() const { return m_top; }
    int topHeight() const { return m_topHeight; }

    /// The sizes that its parts have before a person changes them, in a middle of this size.
    virtual void arrange(const QSize& room) = 0;
    /// Where there is little room, a group's panels become tabs of another one: at its end in a narrow window, before its own in a
    /// low one.
    struct Fold {
        enum When { Narrow, Low };
        PanelGroup* from;
        PanelGroup* into;
        When when;
    };
    const std::vector<Fold>& folds() const { return m_folds; }

    /// The act of the mode: F5, and the filled button of the bar.
    struct Act {
        QString text {};
        QString sign {}; ///< before it on the button
        QString tip {};
        bool can = false;
        QString whyNot {};
        bool running = false; ///< then the button stops it
    };
    virtual Act act() const = 0;
    virtual void perform() = 0;
    virtual void stop() { }

Q_SIGNALS:
    void actChanged();

protected:
    void setCentre(QWidget* centre) { m_centre = centre; }
    void setTop(PanelGroup* top, int height)
    {
        m_top = top;
        m_topHeight = height;
    }
    void fold(PanelGroup* from, PanelGroup* into, Fold::When when = Fold::Narrow) { m_folds.push_back({ from, into, when }); }
    /// A splitter whose sizes the mode remembers under this name.
    static QSplitter* splitter(Qt::Orientation orientation, const char* name);

private:
    WorkMode m_mode;
    QWidget* m_centre = nullptr;
    PanelGroup* m_top = nullptr;
    int m_topHeight = 0;
    std::vector<Fold> m_folds;
};

} // namespace shardboard
