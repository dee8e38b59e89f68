// SPDX-License-Identifier: Apache-2.0
// The timeline of a step in its panel: the lanes, what of them is shown, and the trace files of other programs, which are read off
// the GUI thread with progress and cancel.
#pragma once

#include "widgets/document/documentview.h"
#include "widgets/timeline/timelinesource.h"

class QCheckBox;
class QLabel;
class QToolButton;

namespace shardboard {

class ChoiceBox;
class Legend;
class LongWork;
class TimelineCanvas;
class ViewHeader;

class TimelineView : public DocumentView {
    Q_OBJECT
public:
    TimelineView(Document* document, TimelineSource* source, QWidget* parent = nullptr);
    ~TimelineView() override;

    TimelineCanvas* canvas() const { return m_canvas; }
    Legend* legend() const { return m_legend; }
    LongWork* work() const { return m_work; }
    /// Reads it in the background; refused() says why it cannot be.
    void openTrace(const QString& path);
    QSize sizeHint() const override;

Q_SIGNALS:
    void refused(const QString& message);
    void fileWanted(); ///< which trace is to be opened is asked by who owns the window

protected:
    void refresh() override;
    void selectionChanged() override;
    void themeChanged() override;

private:
    void follow();
    void showChoices();
    void makeLegend();

    TimelineSource* m_source;
    ViewHeader* m_header;
    ChoiceBox* m_shown;
    QCheckBox* m_path;
    QToolButton* m_open;
    TimelineCanvas* m_canvas;
    Legend* m_legend;
    LongWork* m_work;
    QLabel* m_notes;
    QLabel* m_empty;
    std::shared_ptr<const Timeline> m_timeline; ///< that the canvas has
    bool m_following = false;
};

} // namespace shardboard
