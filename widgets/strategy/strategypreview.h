// SPDX-License-Identifier: Apache-2.0
// What a strategy would lead to: the spec, the tiles, the sizes and bytes on each device, and step time and memory of
// the whole design; or why it is refused.
#pragma once

#include "model/design/evaluation.h"

#include "widgets/document/shownspec.h"

#include <QWidget>

#include <cstdint>
#include <vector>

class QGridLayout;
class QLabel;
class QVBoxLayout;

namespace shardboard {

class Card;
class SpecLabel;
class TileStrip;

class StrategyPreview : public QWidget {
    Q_OBJECT
public:
    explicit StrategyPreview(QWidget* parent = nullptr);

    /// The weight as it is and as it would be, on the stages that it has in this evaluation.
    void showWeight(const WeightLayout& now, const WeightLayout& then, const ShownSpec& spec, const Evaluation& evaluation);
    /// Nothing to show of the weight: the draft is refused, or its shape is not known.
    void clearWeight();
    /// Step and memory of the design as it is and as it would be; null while that is not known yet.
    void showDesign(const Evaluation& now, const Evaluation* then, bool planned);
    /// Why it cannot be; empty when it can.
    void showRefusal(const QString& refusal);
    QString refusal() const { return m_refusalText; }
    void updateLook();

private:
    enum Fact { SizesFact, DeviceFact, CopiesFact, StepFact, MemoryFact, FactCount };
    void setFact(Fact fact, const QString& name, const QString& value, const QString& toolTip = {});

    QVBoxLayout* m_column;
    SpecLabel* m_spec;
    QLabel* m_words;
    TileStrip* m_strip;
    QGridLayout* m_facts;
    std::vector<QLabel*> m_names;
    std::vector<QLabel*> m_values;
    Card* m_refusal = nullptr;
    QString m_refusalText;
};

} // namespace shardboard
