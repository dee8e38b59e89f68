// SPDX-License-Identifier: Apache-2.0
#include "widgets/look/hues.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

namespace shardboard {

namespace {

// Lightness (L*): 46, 70, 58, 72, 53, 89, 61.
constexpr std::array<unsigned, kHueCount> kHues { 0x0072B2, 0x56B4E9, 0x009E73, 0xE69F00, 0xD55E00, 0xF0E442, 0xCC79A7 };
constexpr std::array<Qt::BrushStyle, 4> kHatches { Qt::BDiagPattern, Qt::HorPattern, Qt::VerPattern, Qt::Dense6Pattern };

QColor hue(unsigned rgb) { return QColor(QRgb(rgb | 0xff000000u)); }

/// From a table: meshes ask for the label of every device's color at every edit.
double luminance(const QColor& color)
{
    static const auto linear = [] {
        std::array<double, 256> out {};
        for (std::size_t i = 0; i < out.size(); ++i) {
            const double c = static_cast<double>(i) / 255;
            out[i] = c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
        }
        return out;
    }();
    const QRgb rgb = color.rgb();
    const auto of = [](int channel) { return linear[static_cast<std::size_t>(channel)]; };
    return 0.2126 * of(qRed(rgb)) + 0.7152 * of(qGreen(rgb)) + 0.0722 * of(qBlue(rgb));
}

} // namespace

double contrastRatio(const QColor& a, const QColor& b)
{
    const double la = luminance(a);
    const double lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

namespace {

PartColor makePartColor(std::size_t index)
{
    PartColor out;
    out.fill = hue(kHues[index % kHueCount]);
    const QColor ink(QRgb(0xff0b0d10u));
    out.label = contrastRatio(out.fill, Qt::white) >= 4.5 ? QColor(Qt::white) : ink;
    const std::size_t round = index / kHueCount;
    if (round > 0) {
        out.hatch = kHatches[(round - 1) % kHatches.size()];
        // Away from the label, so that the lines add contrast under it instead of taking it.
        out.hatchColor = out.label == QColor(Qt::white) ? out.fill.darker(150) : out.fill.lighter(145);
    }
    return out;
}

} // namespace

namespace {

std::atomic<PartStyle> chosenStyle { PartStyle::Hues };

/// Greys in an order in which neighbours differ most, each with what is drawn over it; text is readable on both.
struct Grey {
    unsigned fill;
    unsigned hatch;
};
constexpr std::array<Grey, kHueCount> kGreys { { { 0x2B2B2B, 0x707070 },
                                                 { 0xF2F2F2, 0x8C8C8C },
                                                 { 0x5C5C5C, 0x1C1C1C },
                                                 { 0xC8C8C8, 0x828282 },
                                                 { 0x737373, 0x2A2A2A },
                                                 { 0xA6A6A6, 0xF4F4F4 },
                                                 { 0x8A8A8A, 0xDEDEDE } } };
constexpr std::array<Qt::BrushStyle, 8> kPatterns { Qt::NoBrush,    Qt::BDiagPattern,     Qt::HorPattern,    Qt::FDiagPattern,
                                                    Qt::VerPattern, Qt::DiagCrossPattern, Qt::Dense6Pattern, Qt::CrossPattern };

/// Seven greys and eight patterns have no common divisor, so that a pair comes again only after 56.
PartColor makePatternColor(std::size_t index)
{
    PartColor out;
    const Grey& grey = kGreys[index % kGreys.size()];
    out.fill = hue(grey.fill);
    out.label = contrastRatio(out.fill, Qt::white) >= 4.5 ? QColor(Qt::white) : QColor(QRgb(0xff0b0d10u));
    out.hatch = kPatterns[index % kPatterns.size()];
    out.hatchColor = hue(grey.hatch);
    return out;
}

} // namespace

PartStyle partStyle() { return chosenStyle.load(std::memory_order_relaxed); }
void setPartStyle(PartStyle style) { chosenStyle.store(style, std::memory_order_relaxed); }

PartColor partColor(std::int64_t index)
{
    // Asked for each of thousands of devices: without hatching, then every hatching, which come again and again.
    constexpr std::size_t kPlain = kHueCount;
    constexpr std::size_t kHatched = kHueCount * kHatches.size();
    constexpr std::size_t kPairs = kGreys.size() * kPatterns.size();
    static const auto table = [] {
        std::array<PartColor, kPlain + kHatched> out;
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = makePartColor(i);
        return out;
    }();
    static const auto patterns = [] {
        std::array<PartColor, kPairs> out;
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = makePatternColor(i);
        return out;
    }();
    const auto at = static_cast<std::size_t>(std::max<std::int64_t>(index, 0));
    if (partStyle() == PartStyle::Patterns)
        return patterns[at % kPairs];
    return table[at < kPlain ? at : kPlain + (at - kPlain) % kHatched];
}

int colorCount()
{
    return static_cast<int>(partStyle() == PartStyle::Patterns ? kGreys.size() * kPatterns.size()
                                                               : kHueCount * (kHatches.size() + 1));
}

} // namespace shardboard
