// SPDX-License-Identifier: Apache-2.0
#include "widgets/memoryview.h"

#include "widgets/devicecolors.h"
#include "widgets/format.h"
#include "widgets/plots/stackedbar.h"
#include "widgets/theme.h"

#include "model/hardware/hardware.h"

#include <QGridLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace shardboard {

namespace {

struct Cause {
    QString name;
    std::int64_t bytes = 0;
};

std::vector<Cause> causesOf(const MemoryByCause& memory)
{
    std::vector<Cause> out;
    for (const MemoryCause& cause : memoryCauses())
        if (memory.*cause.bytes > 0)
            out.push_back({ QObject::tr(cause.name), memory.*cause.bytes });
    return out;
}

} // namespace

MemoryView::MemoryView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_bar(new StackedBar(this))
    , m_summary(new QLabel(this))
    , m_legend(new QWidget(this))
    , m_rows(new QGridLayout(m_legend))
{
    setObjectName(QStringLiteral("memoryView"));
    setAccessibleName(tr("Memory per device"));
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    m_summary->setObjectName(QStringLiteral("memorySummary"));
    m_summary->setWordWrap(true);
    m_rows->setContentsMargins(0, 0, 0, 0);
    m_rows->setHorizontalSpacing(12);
    m_rows->setVerticalSpacing(2);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(kPanelMargin, 8, kPanelMargin, 8);
    column->setSpacing(4);
    column->addWidget(m_summary);
    column->addWidget(m_bar);
    column->addWidget(m_legend);
    column->addStretch(1);
    start();
}

QSize MemoryView::sizeHint() const { return { 600, 240 }; }

void MemoryView::refresh()
{
    while (QLayoutItem* item = m_rows->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    const auto evaluation = document()->evaluation();
    m_bar->setVisible(evaluation != nullptr);
    if (!evaluation) {
        m_summary->setText(tr("No design is open."));
        return;
    }
    const Theme& theme = Theme::of(this);
    const MemoryByCause& memory = evaluation->plan.memory;
    const auto hardware = hardwareOf(document()->design());
    const double limit = hardware.ok() ? hardware.value().memoryBytes() : 0;
    QString summary = tr("The fullest device needs %1 of %2")
                          .arg(bytesText(memory.peak), bytesText(static_cast<std::int64_t>(limit)));
    if (!memory.peakAt.empty())
        summary += tr(", at %1").arg(qstr(memory.peakAt));
    m_summary->setText(summary + QLatin1Char('.'));
    constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
    std::vector<StackPart> parts;
    int row = 0;
    for (const Cause& cause : causesOf(memory)) {
        const PartColor color = partColor(row);
        parts.push_back({ cause.name, static_cast<double>(cause.bytes) / kGib, color.fill });
        auto* swatch = new QLabel(m_legend);
        swatch->setFixedSize(12, 12);
        swatch->setAutoFillBackground(true);
        swatch->setBackgroundRole(QPalette::Window);
        QPalette palette = swatch->palette();
        palette.setColor(QPalette::Window, color.fill);
        swatch->setPalette(palette);
        auto* value = new QLabel(bytesText(cause.bytes), m_legend);
        value->setFont(monoFont(this, -0.5));
        value->setAlignment(Qt::AlignRight);
        value->setToolTip(exactBytesText(cause.bytes));
        // Two columns, so that six causes fit into a low dock.
        const int block = row % 2 * 4;
        m_rows->addWidget(swatch, row / 2, block);
        m_rows->addWidget(new QLabel(cause.name, m_legend), row / 2, block + 1);
        m_rows->addWidget(value, row / 2, block + 2);
        if (block == 0)
            m_rows->setColumnMinimumWidth(3, 24);
        ++row;
    }
    m_rows->setColumnStretch(7, 1);
    m_bar->setFont(uiFont(this, -1));
    m_bar->setParts(parts, limit / kGib, tr("GiB per device"), tr("memory of a device"),
                    { theme.panel, theme.quiet, theme.line, theme.error });
    m_bar->setAccessibleName(m_summary->text());
}

} // namespace shardboard
