// SPDX-License-Identifier: Apache-2.0
// What all views share: they hold a document, read its evaluation when it is replaced, and follow the selection.
#pragma once

#include "model/session/document.h"
#include "model/session/selection.h"

#include <QWidget>

namespace shardboard {

class DocumentView : public QWidget {
    Q_OBJECT
public:
    explicit DocumentView(Document* document, QWidget* parent = nullptr);

    /// A view that nobody sees (behind another tab) sleeps: it follows nothing until it wakes, and then once. Views begin awake.
    void setAsleep(bool asleep);
    bool isAsleep() const { return m_asleep; }

protected:
    /// A derived class calls this when it is built; nothing reaches it before.
    void start();
    /// `id` is the view's object name, `name` what screen readers say; its background is that of lists and fields.
    void nameView(const char* id, const QString& name);
    /// The evaluation was replaced, or its layouts are to be written otherwise; prepare everything that painting reads.
    virtual void refresh() = 0;
    /// Weight, device, collective or mesh axis was selected.
    virtual void selectionChanged() { }
    /// Another device is under the mouse.
    virtual void hoverChanged() { }
    /// Another weight is under the mouse, here or in another view.
    virtual void weightHoverChanged() { }
    /// Whether others follow what this view prepares, so that it has to stay awake.
    virtual bool isFollowed() const { return false; }
    /// Light and dark were switched, or the size of text.
    virtual void themeChanged() { refresh(); }
    void changeEvent(QEvent* event) override;
    /// Refreshes (or follows the selection): at once, or when it wakes.
    void follow(bool replaced);

    Document* document() const { return m_document; }
    Selection* selection() const { return m_document->selection(); }

private:
    Document* m_document;
    bool m_asleep = false;
    bool m_missedDesign = false; ///< while asleep: another evaluation, or other notation
    bool m_missedSelection = false;
    bool m_missedTheme = false;
    bool m_started = false;
    bool m_themePending = false;
};

/// Wakes the views that a widget is in. Input wakes them by itself; what is triggered without any, an action for one, calls this
/// before it reads what they show.
void wakeViewsAround(QWidget* widget);

/// The selected weight or collective, or null; safe while an evaluation is being replaced.
const WeightLayout* selectedWeight(const Document& document);
const Collective* selectedCollective(const Document& document);
/// Index into Evaluation::weights of a tensor, or -1.
int weightOfTensor(const Evaluation& evaluation, TensorId tensor);
/// Index of the weight that a collective moves, else of the one that the operation takes which wanted it, or -1.
int weightOfCollective(const Evaluation& evaluation, const Collective& collective);
/// Index of the weight that an operation takes, or -1.
int weightOfOp(const Evaluation& evaluation, OpId op);
/// The device that a view should show details of: the hovered one, else the selected one, else -1.
std::int64_t shownDevice(const Document& document);

} // namespace shardboard
