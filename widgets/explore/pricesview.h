// SPDX-License-Identifier: Apache-2.0
// What would it take: by how much the best layouts change with a GiB more or less for a device, and with a weight kept whole on
// every device. Each row is a design of its own, which can be compared and taken.
#pragma once

#include "model/design/optimize/whatif.h"
#include "widgets/document/documentview.h"

class QLabel;
class QPushButton;
class QTreeWidget;

namespace shardboard {

class ElidedLabel;
class LatestJob;

class PricesView : public DocumentView {
    Q_OBJECT
public:
    explicit PricesView(Document* document, QWidget* parent = nullptr);
    ~PricesView() override;
    QSize sizeHint() const override { return { 720, 240 }; }
    /// Of a device, at most; as the form of the search has it.
    void setMemory(std::optional<double> bytes) { m_limit = bytes; }
    bool isBusy() const;
    void count();
    const std::optional<WhatIfAnswer>& answer() const { return m_answer; }

Q_SIGNALS:
    /// A design that is to be compared.
    void found(const QString& name, const shardboard::Design& design, std::shared_ptr<const shardboard::Evaluation> evaluation);

protected:
    void refresh() override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void addRow(const QString& what, double objective, double change, double peak, double peakChange, bool feasible);
    void open(int row);
    void showAnswer();
    void fitColumns();

    LatestJob* m_job;
    LatestJob* m_opening;
    QPushButton* m_start;
    ElidedLabel* m_text;
    QTreeWidget* m_list;
    QLabel* m_empty;
    std::optional<double> m_limit;
    std::optional<WhatIfAnswer> m_answer;
    std::shared_ptr<const Evaluation> m_of; ///< the design that it is about
    QString m_progress;
    QString m_problem;
};

/// `1 GiB more memory`, `o_proj on every device`.
QString whatText(const WhatIf& one);

} // namespace shardboard
