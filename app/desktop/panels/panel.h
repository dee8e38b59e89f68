// SPDX-License-Identifier: Apache-2.0
// One panel of the workbench: a view under a name that layouts and commands refer to, with a title. What nobody sees (behind
// another tab, in another mode) sleeps.
#pragma once

#include "app/desktop/panels/stillframe.h"

namespace shardboard {

class PanelGroup;

class Panel : public StillFrame {
    Q_OBJECT
public:
    /// `name` is its object name, `title` its window title, which may change.
    Panel(const QString& name, const QString& title, QWidget* content, QWidget* parent);

    QWidget* widget() const { return m_content; }
    /// Whether the view has a heading of its own, so that it needs none above it.
    bool hasHeading() const;

    /// The place that it has by itself, and the one where it is now: another one where there is little room. None: its own window.
    PanelGroup* home() const { return m_home; }
    PanelGroup* group() const { return m_group; }
    void setHome(PanelGroup* home) { m_home = home; }
    void setGroup(PanelGroup* group) { m_group = group; }

    /// Not there until it is asked for, and may be closed again.
    bool isOptional() const { return m_optional; }
    void setOptional(bool optional) { m_optional = optional; }

Q_SIGNALS:
    void visibilityChanged(bool seen);
    void headingDoubleClicked();

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void wake(bool seen);

    QWidget* m_content;
    PanelGroup* m_home = nullptr;
    PanelGroup* m_group = nullptr;
    bool m_optional = false;
};

} // namespace shardboard
