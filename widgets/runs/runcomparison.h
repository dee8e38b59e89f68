// SPDX-License-Identifier: Apache-2.0
// Two kept runs, operation by operation, those first that make the largest difference in a step. A row selects its operation or
// collective everywhere.
#pragma once

#include "model/io/runs/keptruns.h"
#include "widgets/document/documentview.h"

#include <optional>

class QLabel;
class QTreeWidget;

namespace shardboard {

class WrappedLabel;

class RunComparison : public DocumentView {
    Q_OBJECT
public:
    explicit RunComparison(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;

    /// `titles`: what they are called.
    void setRuns(const KeptRun& a, const KeptRun& b, const QString& titleA, const QString& titleB);
    /// One of them is not there any more.
    void forget(const std::string& name);
    /// The one of the two that is not this one; nothing where neither is.
    std::optional<KeptRun> other(const RunResult& than) const;
    QTreeWidget* table() const { return m_table; }

protected:
    void refresh() override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void fitColumns();

    struct Runs {
        KeptRun a;
        KeptRun b;
        QString titleA;
        QString titleB;
    };
    std::optional<Runs> m_runs;
    WrappedLabel* m_what;
    QTreeWidget* m_table;
    QLabel* m_empty;
};

} // namespace shardboard
