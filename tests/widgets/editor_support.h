// SPDX-License-Identifier: Apache-2.0
// What tests of views with fields share: a view on screen, choices made by keys, and a design of single weights, fused and
// packed ones among them, that no plan stands in the way of.
#pragma once

#include "tests/widgets/widgets_support.h"

#include "widgets/controls/choicebox.h"

#include <QAbstractButton>
#include <QLabel>
#include <QPushButton>
#include <QTest>

#include <memory>

namespace shardboard {

inline ModelSpec::LooseWeight looseWeight(const char* name, Shape shape)
{
    ModelSpec::LooseWeight out;
    out.tensor.name = name;
    out.tensor.shape = std::move(shape);
    return out;
}

/// 32 query heads, 8 KV heads of 128 elements.
inline Design looseDesign(const char* mesh)
{
    Design design;
    design.mesh = Mesh::parse(mesh).value();
    design.model.name = "loose";
    design.model.notUnderstood = "only its weights are of interest";
    design.model.heads = 32;
    design.model.kvHeads = 8;
    design.model.headDim = 128;
    design.model.looseWeights = { looseWeight("plain", { 16, 10 }),           looseWeight("o", { 4096, 4096 }),
                                  looseWeight("o_fp4", { 4096, 2048 }),       looseWeight("qkv", { 6144, 4096 }),
                                  looseWeight("stacked", { 12288, 4096 }),    looseWeight("gate_up", { 28672, 4096 }),
                                  looseWeight("experts", { 8, 4096, 28672 }), looseWeight("five", { 5, 4 }) };
    return design;
}

template <class View>
std::unique_ptr<View> shownView(Document& document, const QSize& size)
{
    auto view = std::make_unique<View>(&document);
    view->resize(size);
    view->show();
    return QTest::qWaitForWindowExposed(view.get()) ? std::move(view) : nullptr;
}

/// A document with one view of it on screen; what a test needs besides is added by deriving from it.
template <class View>
struct ShownView {
    ShownView(const Design& design, const QSize& size)
    {
        if (document.setDesign(design).ok())
            view = shownView<View>(document, size);
        ready = view != nullptr;
    }
    template <class Child>
    Child* child(const char* name) const
    {
        return view->template findChild<Child*>(QString::fromLatin1(name));
    }
    /// So that it has the focus: ready only then.
    void activate()
    {
        if (!ready)
            return;
        view->activateWindow();
        ready = QTest::qWaitForWindowActive(view.get());
    }
    QPushButton* button(const char* name) const { return child<QPushButton>(name); }
    void click(const char* name) const { QTest::mouseClick(button(name), Qt::LeftButton); }

    Document document;
    std::unique_ptr<View> view;
    bool ready = false;
};

/// The first widget that takes the focus and has no name for those who cannot see it; empty when there is none.
inline QString namelessIn(const QWidget& view)
{
    for (const QWidget* child : view.findChildren<QWidget*>())
        if (child->focusPolicy() != Qt::NoFocus && child->isVisible() && child->accessibleName().isEmpty()
            && !qobject_cast<const QLabel*>(child) && !qobject_cast<const QAbstractButton*>(child)
            && !child->objectName().startsWith(QStringLiteral("qt_")))
            return QString::fromLatin1(child->metaObject()->className()) + QLatin1Char(' ') + child->objectName();
    return {};
}

/// Chooses an entry of a box by keys, as a person does without a mouse.
inline void chooseByKeys(ChoiceBox* box, const QVariant& value)
{
    box->setFocus();
    QTest::keyClick(box, Qt::Key_Home);
    for (int i = 0; i < box->count() && box->currentData() != value; ++i)
        QTest::keyClick(box, Qt::Key_Down);
}

} // namespace shardboard
