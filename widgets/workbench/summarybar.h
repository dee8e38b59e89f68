// SPDX-License-Identifier: Apache-2.0
// The bar at the top: what is open, the modes, on which mesh, how fast, does it fit, what is wrong, and the act of the mode.
#pragma once

#include "widgets/document/documentview.h"

#include <QFont>
#include <QIcon>
#include <QStringList>

#include <vector>

class QAction;
class QLabel;
class QPushButton;

namespace shardboard {

class FindingsBadge;
class MeshChips;
class ModeBar;

/// A thin bar that shows how much of the device's memory is used.
class MemoryBar : public QWidget {
    Q_OBJECT
public:
    explicit MemoryBar(QWidget* parent = nullptr);
    /// Shares of the limit: weights, and everything else.
    void setShares(double weights, double others);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    double m_weights = 0;
    double m_others = 0;
};

class SummaryBar : public DocumentView {
    Q_OBJECT
public:
    explicit SummaryBar(Document* document, QWidget* parent = nullptr);
    /// A field between mesh and times that opens what `action` opens; where there is little room, its icon.
    void setFinder(QAction* action);
    /// The button at the right: the act of the mode. It is filled unless it stops what runs.
    void setAct(QAction* act, QAction* stop);
    void showStop(bool stop);
    /// What the button says in one mode or another: it has room for each, so that nothing beside it moves from mode to mode.
    void setActs(const QStringList& texts);
    MeshChips* chips() const { return m_chips; }
    ModeBar* modes() const { return m_modes; }
    FindingsBadge* badge() const { return m_badge; }

    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void settingsRequested(); ///< name or workload was clicked on

protected:
    void refresh() override;
    void themeChanged() override;
    bool eventFilter(QObject* watched, QEvent* event) override;
    bool event(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void showRate(const Performance& performance);
    void writeMemory(bool brief);
    void style();
    void elide();
    void giveWay();
    void showFinder(bool field);
    int workloadWidth() const;
    void followAct();
    void fitAct();

    QLabel* m_name;
    ModeBar* m_modes;
    QLabel* m_workload;
    MeshChips* m_chips;
    QPushButton* m_find;
    QAction* m_finder = nullptr;
    QLabel* m_stepTitle;
    QLabel* m_step;
    QLabel* m_memoryBelow; ///< what is needed of it, under the step, where nothing else of it has room
    QLabel* m_rateTitle;
    QLabel* m_rate;
    QLabel* m_memoryTitle;
    MemoryBar* m_memoryBar;
    QLabel* m_memory;
    FindingsBadge* m_badge;
    QPushButton* m_actButton;
    QAction* m_act = nullptr;
    QAction* m_stop = nullptr;
    QStringList m_acts;
    QFont m_actFont; ///< for which the button has room
    bool m_showsStop = false;
    QString m_workloadText;
    QString m_memoryText; ///< `43.1 / 79.6 GiB`
    QString m_memoryBrief; ///< `43.1 GiB`
    bool m_writesBrief = false;
    QIcon m_findIcon;
    std::vector<int> m_hints; ///< widths for which it was decided what gives way
    bool m_tooNarrow = false; ///< everything has given way, and there is still no room
    bool m_fitting = false;
};

} // namespace shardboard
