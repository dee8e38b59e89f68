// SPDX-License-Identifier: Apache-2.0
// A page of the inspector: sections, rows of facts, sentences, and cards that can be chosen.
#pragma once

#include "widgets/controls/card.h"
#include "widgets/document/shownspec.h"

#include <QString>
#include <QWidget>

#include <cstddef>
#include <vector>

class QGridLayout;
class QLabel;
class QPushButton;
class QToolButton;
class QVBoxLayout;

namespace shardboard {

class SpecLabel;
class WrappedLabel;

/// A column of sections. After `restart` it is described from its top once more: what stands at the same place of the same section
/// gets other texts, and widgets are made only for what is more. A whole page of labels costs more than the edit that it tells of.
class InspectorPage : public QWidget {
    Q_OBJECT
public:
    explicit InspectorPage(QWidget* parent = nullptr);
    void section(const QString& title);
    /// A section that folds: its heading is a button, which the caller follows; what is folded in is not described.
    QToolButton* foldingSection(const QString& title, bool open);
    void fact(const QString& name, const QString& value, const QString& toolTip = {});
    /// The same with a spec, which is broken where the panel ends.
    void fact(const QString& name, const ShownSpec& spec, const Layout& layout, const Mesh& mesh);
    void sentence(const QString& text);
    QPushButton* button(const QString& text, const QString& toolTip);
    Card* card(const QString& title, const QString& value, const QString& detail, Card::Look look);
    /// The page is complete.
    void finish();
    /// The page is described again, up to `finish`.
    void restart();
    /// The keyboard goes through what can be chosen from top to bottom, also where a part was put between others.
    void orderTabs();
    QSize minimumSizeHint() const override;
    QSize sizeHint() const override;

private:
    /// A row of facts: its name, and a text or a spec.
    struct Row {
        QString name;
        QLabel* label = nullptr;
        WrappedLabel* text = nullptr;
        SpecLabel* spec = nullptr;
    };
    struct Part {
        enum class Kind { Section, Facts, Sentence, Button, Card };
        Kind kind = Kind::Section;
        QString title; ///< of a section
        int items = 1; ///< of the column
        QWidget* widget = nullptr;
        QWidget* line = nullptr; ///< above a section
        QGridLayout* grid = nullptr;
        std::vector<Row> rows;
        std::size_t used = 0; ///< rows that are said again
    };

    Part* old(Part::Kind kind, const QString& title = {});
    Part& put(Part part);
    QWidget* addSection(const QString& title, bool folds);
    void removePart(std::size_t index);
    void leaveFacts();
    void trimRows(Part& part, std::size_t count);
    Row& factRow(const QString& name, bool spec);

    QVBoxLayout* m_column;
    std::vector<Part> m_parts;
    std::vector<Card*> m_spareCards; ///< hidden, outside the column: what one edit takes away the next one may bring back
    std::size_t m_at = 0; ///< the part that is described next
    int m_item = 0; ///< where it stands in the column
    bool m_inFacts = false; ///< the part before is a grid of facts that takes more
    bool m_finished = false;
    bool m_disordered = false; ///< widgets were made later than those below them
};

} // namespace shardboard
