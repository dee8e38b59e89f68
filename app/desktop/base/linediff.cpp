// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/base/linediff.h"

#include <QCoreApplication>

#include <algorithm>

namespace shardboard {

namespace {

constexpr qsizetype kMostCells = 4'000'000; ///< of the table of common lines

QStringList linesOf(const QString& text)
{
    QStringList lines = text.split(QLatin1Char('\n'));
    if (!lines.isEmpty() && lines.last().isEmpty())
        lines.removeLast();
    return lines;
}

/// The middle, between equal beginnings and ends, by the longest common row of lines.
void compareMiddle(const QStringList& before, const QStringList& after, std::vector<DiffLine>& out)
{
    using Kind = DiffLine::Kind;
    const qsizetype n = before.size();
    const qsizetype m = after.size();
    if (n * m > kMostCells) {
        for (const QString& line : before)
            out.push_back({ Kind::Removed, line });
        for (const QString& line : after)
            out.push_back({ Kind::Added, line });
        return;
    }
    // common[i][j]: how many lines the rests from i and j have in common.
    std::vector<int> common(static_cast<std::size_t>((n + 1) * (m + 1)), 0);
    const auto at = [&](qsizetype i, qsizetype j) -> int& { return common[static_cast<std::size_t>(i * (m + 1) + j)]; };
    for (qsizetype i = n - 1; i >= 0; --i)
        for (qsizetype j = m - 1; j >= 0; --j)
            at(i, j) = before[i] == after[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
    qsizetype i = 0;
    qsizetype j = 0;
    while (i < n || j < m) {
        if (i < n && j < m && before[i] == after[j]) {
            out.push_back({ Kind::Same, before[i] });
            ++i;
            ++j;
        } else if (i < n && (j == m || at(i + 1, j) >= at(i, j + 1))) {
            out.push_back({ Kind::Removed, before[i++] });
        } else {
            out.push_back({ Kind::Added, after[j++] });
        }
    }
}

} // namespace

LineDiff lineDiff(const QString& before, const QString& after, int around)
{
    using Kind = DiffLine::Kind;
    QStringList left = linesOf(before);
    QStringList right = linesOf(after);
    qsizetype begin = 0;
    while (begin < left.size() && begin < right.size() && left[begin] == right[begin])
        ++begin;
    qsizetype end = 0;
    while (end < left.size() - begin && end < right.size() - begin && left[left.size() - 1 - end] == right[right.size() - 1 - end])
        ++end;
    std::vector<DiffLine> all;
    for (qsizetype i = 0; i < begin; ++i)
        all.push_back({ Kind::Same, left[i] });
    compareMiddle(left.mid(begin, left.size() - begin - end), right.mid(begin, right.size() - begin - end), all);
    for (qsizetype i = right.size() - end; i < right.size(); ++i)
        all.push_back({ Kind::Same, right[i] });

    LineDiff out;
    std::vector<bool> kept(all.size(), false);
    for (std::size_t i = 0; i < all.size(); ++i) {
        out.added += all[i].kind == Kind::Added;
        out.removed += all[i].kind == Kind::Removed;
        if (all[i].kind == Kind::Same)
            continue;
        const std::size_t from = i - std::min(i, static_cast<std::size_t>(around));
        const std::size_t to = std::min(all.size() - 1, i + static_cast<std::size_t>(around));
        std::fill(kept.begin() + static_cast<std::ptrdiff_t>(from), kept.begin() + static_cast<std::ptrdiff_t>(to) + 1, true);
    }
    if (out.same())
        return out;
    int skipped = 0;
    const auto gap = [&] {
        if (skipped > 0)
            out.lines.push_back(
                { Kind::Gap, QCoreApplication::translate("shardboard::LineDiff", "… %1 equal lines").arg(skipped) });
        skipped = 0;
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!kept[i]) {
            ++skipped;
            continue;
        }
        gap();
        out.lines.push_back(all[i]);
    }
    gap();
    return out;
}

} // namespace shardboard
