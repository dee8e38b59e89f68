// SPDX-License-Identifier: Apache-2.0
#include "widgets/strategy/strategypreview.h"

#include "model/design/deviceweights.h"
#include "widgets/controls/card.h"
#include "widgets/document/speclabel.h"
#include "widgets/edits/strategydraft.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/shards/tilestrip.h"

#include <QGridLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

/// Sizes of the parts of a dim.
std::vector<SizeRun> runsOf(const DimCut& cut)
{
    std::vector<SizeRun> out;
    for (std::int64_t part = 0; part < cut.count(); ++part) {
        const std::int64_t size = cut.partSize(part);
        if (out.empty() || out.back().size != size)
            out.push_back({ size, 0 });
        ++out.back().count;
    }
    return out;
}

/// What the cuts of a weight leave on its devices.
struct Sizes {
    QString text; ///< of the parts of each dim that is cut: `1024 × 4`, or `dim 0: 512 × 4` where two dims are
    QString full;
    std::int64_t fewest = 1; ///< elements on the device that holds the least; that with the most is known
};

Sizes sizesOf(const WeightLayout& weight)
{
    const auto& cuts = weight.shards.cuts();
    const auto cutDims = std::count_if(cuts.begin(), cuts.end(), [](const DimCut& cut) { return cut.count() > 1; });
    QStringList shortened;
    QStringList full;
    Sizes out;
    for (std::size_t dim = 0; dim < cuts.size(); ++dim) {
        const auto runs = runsOf(cuts[dim]);
        out.fewest *=
            std::min_element(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.size < b.size; })->size;
        if (cuts[dim].count() <= 1)
            continue;
        const QString before = cutDims > 1 ? QObject::tr("dim %1: ").arg(dim) : QString();
        shortened << before + sizesText(runs, 6);
        full << before + sizesText(runs, 64);
    }
    out.text = shortened.join(QLatin1Char('\n'));
    out.full = full.join(QLatin1Char('\n'));
    return out;
}

} // namespace

StrategyPreview::StrategyPreview(QWidget* parent)
    : QWidget(parent)
    , m_column(new QVBoxLayout(this))
    , m_spec(new SpecLabel(this))
    , m_words(new QLabel(this))
    , m_strip(new TileStrip(this))
    , m_facts(new QGridLayout)
{
    m_spec->setObjectName(QStringLiteral("previewSpec"));
    m_words->setObjectName(QStringLiteral("previewWords"));
    m_words->setTextFormat(Qt::PlainText);
    m_words->setWordWrap(true);
    m_column->setContentsMargins(0, 0, 0, 0);
    m_column->setSpacing(4);
    m_column->addWidget(m_spec);
    m_column->addWidget(m_words);
    m_column->addSpacing(2);
    m_column->addWidget(m_strip);
    m_column->addSpacing(4);
    m_column->addLayout(m_facts);
    m_facts->setContentsMargins(0, 0, 0, 0);
    m_facts->setHorizontalSpacing(12);
    m_facts->setVerticalSpacing(5);
    m_facts->setColumnStretch(1, 1);
    static const char* const names[] = { "previewSizes", "previewDevice", "previewCopies", "previewStep", "previewMemory" };
    for (int fact = 0; fact < FactCount; ++fact) {
        auto* name = new QLabel(this);
        auto* value = new QLabel(this);
        value->setObjectName(QString::fromLatin1(names[fact]));
        value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
        value->setWordWrap(true);
        value->setTextInteractionFlags(Qt::TextSelectableByMouse);
        m_names.push_back(name);
        m_values.push_back(value);
        m_facts->addWidget(name, fact, 0, Qt::AlignTop);
        m_facts->addWidget(value, fact, 1);
    }
    updateLook();
}

void StrategyPreview::updateLook()
{
    const Theme& theme = Theme::of(this);
    m_spec->setTextFont(monoFont(this, 0.5));
    m_words->setFont(uiFont(this, -0.5));
    setTextColor(m_words, theme.quiet);
    for (std::size_t i = 0; i < m_names.size(); ++i) {
        m_names[i]->setFont(uiFont(this, -0.5));
        setTextColor(m_names[i], theme.quiet);
        m_values[i]->setFont(monoFont(this, -1));
        setTextColor(m_values[i], theme.text);
    }
    delete std::exchange(m_refusal, nullptr); // its fonts are those that it was made with
    showRefusal(std::exchange(m_refusalText, QString()));
}

void StrategyPreview::setFact(Fact fact, const QString& name, const QString& value, const QString& toolTip)
{
    const auto index = static_cast<std::size_t>(fact);
    m_names[index]->setText(name);
    m_values[index]->setText(value);
    m_values[index]->setToolTip(toolTip);
    m_names[index]->setVisible(!value.isEmpty());
    m_values[index]->setVisible(!value.isEmpty());
}

void StrategyPreview::showWeight(const WeightLayout& now, const WeightLayout& then, const ShownSpec& spec,
                                 const Evaluation& evaluation)
{
    m_spec->setSpec(spec, then.layout, then.shards.mesh());
    QStringList words { parallelText(then) };
    if (const QString max = maxText(then); !max.isEmpty())
        words << QStringLiteral("MAX %1").arg(max);
    m_words->setText(words.join(QStringLiteral(" · ")));
    m_strip->showWeight(then, evaluation);
    m_spec->show();
    m_words->show();
    m_strip->show();
    const Sizes sizes = sizesOf(then);
    setFact(SizesFact, tr("sizes"), sizes.text.isEmpty() ? tr("whole") : sizes.text, sizes.full);
    const std::int64_t fewest = bytesOf(sizes.fewest, then.spec.dtype);
    QString device = bytesText(then.bytesPerDevice);
    if (fewest != then.bytesPerDevice)
        device = tr("%1 to %2").arg(bytesText(fewest), device);
    if (now.bytesPerDevice != then.bytesPerDevice)
        device = bytesText(now.bytesPerDevice) + QStringLiteral(" → ") + device;
    setFact(DeviceFact, tr("on a device"), device,
            fewest == then.bytesPerDevice ? exactBytesText(fewest)
                                          : tr("%1 to %2").arg(exactBytesText(fewest), exactBytesText(then.bytesPerDevice)));
    setFact(CopiesFact, tr("copies of each"), countText(replicationOf(evaluation, then)));
}

void StrategyPreview::clearWeight()
{
    m_spec->hide();
    m_words->hide();
    m_strip->hide();
    for (const Fact fact : { SizesFact, DeviceFact, CopiesFact })
        setFact(fact, QString(), QString());
}

void StrategyPreview::showDesign(const Evaluation& now, const Evaluation* then, bool planned)
{
    const QString unknown = QStringLiteral("…");
    if (planned) {
        const double before = now.plan.seconds();
        QString text = unknown;
        if (then && then->plan.seconds() == before)
            text = tr("%1, as it is").arg(secondsText(before));
        else if (then)
            text = QStringLiteral("%1 → %2\n%3")
                       .arg(secondsText(before), secondsText(then->plan.seconds()), stepDeltaText(before, then->plan.seconds()));
        setFact(StepFact, tr("step"), text);
    } else {
        setFact(StepFact, QString(), QString());
    }
    const std::int64_t before = now.plan.memory.peak;
    QString text = unknown;
    if (then && then->plan.memory.peak == before)
        text = tr("%1, as it is").arg(bytesText(before));
    else if (then)
        text = QStringLiteral("%1 → %2\n%3")
                   .arg(bytesText(before), bytesText(then->plan.memory.peak), bytesDeltaText(before, then->plan.memory.peak));
    setFact(MemoryFact, tr("memory"), text, then ? exactBytesText(then->plan.memory.peak) : QString());
}

void StrategyPreview::showRefusal(const QString& refusal)
{
    if (refusal == m_refusalText)
        return;
    m_refusalText = refusal;
    // The card stays when there is nothing to refuse: this may be called while Qt walks all widgets to tell them of another style.
    if (m_refusal != nullptr)
        m_refusal->setVisible(!refusal.isEmpty());
    if (refusal.isEmpty())
        return;
    if (m_refusal == nullptr) {
        m_refusal = new Card(tr("Refused"), QString(), refusal, Card::Look::Error, this);
        m_refusal->setObjectName(QStringLiteral("strategyRefusal"));
        m_column->insertWidget(0, m_refusal);
        m_refusal->show();
    } else {
        m_refusal->setTexts(tr("Refused"), QString(), refusal);
    }
    setFact(StepFact, QString(), QString());
    setFact(MemoryFact, QString(), QString());
}

} // namespace shardboard
