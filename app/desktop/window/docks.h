// SPDX-License-Identifier: Apache-2.0
// The dock panels of the window: creates them in the default places, saves, restores and resets their layout. Panels are
// without title bars until `setMovable(true)`, since each has its own heading.
#pragma once

#include <QByteArray>
#include <QObject>
#include <QString>

#include <map>
#include <vector>

class QDockWidget;
class QMainWindow;
class QTimer;
class QWidget;

namespace shardboard {

class Docks : public QObject {
    Q_OBJECT
public:
    enum class Place { Left, Right, Bottom };

    explicit Docks(QMainWindow* window);

    /// `name` is the object name that a saved layout refers to; panels of one place become tabs in the order of adding.
    /// One that is not `shownAtFirst` is hidden in the default layout until it is raised.
    QDockWidget* add(const QString& name, const QString& title, QWidget* content, Place place, bool shownAtFirst = true);
    const std::vector<QDockWidget*>& all() const { return m_docks; }
    QDockWidget* find(const QString& name) const;
    /// Brings a panel to the front, and back if it was hidden.
    void raise(const QString& name);

    void setVisible(bool visible);
    void setMovable(bool movable);
    bool isMovable() const { return m_movable; }

    /// Every panel in its default place: weights left, inspector and strategy right, everything else as tabs below.
    void reset();
    QByteArray save() const;
    /// False, and the default layout, for a state that another version wrote or that cannot be read.
    bool restore(const QByteArray& state);
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void giveTextRoom();
    void settle();
    std::map<int, int> sideWidths() const;
    void arrange();
    void wake(QDockWidget* dock, bool seen) const;

    QMainWindow* m_window;
    std::vector<QDockWidget*> m_docks;
    std::vector<Place> m_places;
    std::vector<QDockWidget*> m_hiddenAtFirst;
    std::vector<QDockWidget*> m_seen; ///< those that are not hidden, nor behind another tab
    bool m_movable = false;
    std::map<int, int> m_widths; ///< of the sides with panels, as they were left to be: Qt::DockWidgetArea to pixels
    QTimer* m_settle; ///< when the layout has come to rest
    bool m_cameOrWent = false; ///< a panel was shown or hidden since it last did
    bool m_settling = false;
    bool m_arranging = false; ///< panels come and go until all have their places: nobody wakes for that
};

} // namespace shardboard
