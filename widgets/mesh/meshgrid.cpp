// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshgrid.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

using Levels = std::vector<MeshGrid::Level>;

constexpr double kGap = 0.35; ///< between the steps of an axis that has another one inside it
constexpr double kName = 12; ///< pixels of the name above a unit
constexpr std::int64_t kLongestLine = 16; ///< that is not wrapped where no devices divide it
constexpr std::int64_t kLong = 64; ///< an axis that may be wrapped although others go on around it

/// Pixels between blocks whose devices have `cell` pixels each.
double gapOf(double devices, double cell) { return std::clamp(std::sqrt(devices) * cell / 12, 1.5, 5.0); }

std::int64_t cells(const Levels& levels, std::size_t count)
{
    std::int64_t product = 1;
    for (std::size_t i = 0; i < count; ++i)
        product *= levels[i].size;
    return product;
}

double extentOf(const Levels& levels, std::size_t count, double cell)
{
    double extent = cell;
    for (std::size_t i = 0; i < count; ++i)
        extent += static_cast<double>(levels[i].size - 1) * levels[i].pitch;
    return extent;
}

/// Number among the cells of a direction -> where it begins.
double beginOf(const Levels& levels, std::int64_t index)
{
    double at = 0;
    for (const auto& level : levels) {
        at += static_cast<double>(index % level.size) * level.pitch;
        index /= level.size;
    }
    return at;
}

std::int64_t positionsOf(const Levels& levels, std::int64_t index)
{
    std::int64_t position = 0;
    for (const auto& level : levels) {
        position += index % level.size * level.stride;
        index /= level.size;
    }
    return position;
}

/// The other way round.
std::int64_t indexOf(const Levels& levels, std::int64_t position)
{
    std::int64_t index = 0;
    std::int64_t weight = 1;
    for (const auto& level : levels) {
        index += position % level.around / level.stride % level.size * weight;
        weight *= level.size;
    }
    return index;
}

/// The number of the cell at a place of a direction, or -1 between blocks and outside. `nearest`: the one before it, or at the end.
std::int64_t indexAt(const Levels& levels, double at, std::size_t inside, bool nearest, double cell)
{
    if (at < 0 && !nearest)
        return -1;
    at = std::max(at, 0.0);
    std::int64_t index = 0;
    for (std::size_t i = levels.size(); i-- > inside;) {
        auto step = static_cast<std::int64_t>(at / levels[i].pitch);
        if (step >= levels[i].size) {
            if (!nearest)
                return -1;
            step = levels[i].size - 1;
        }
        at -= static_cast<double>(step) * levels[i].pitch;
        index = index * levels[i].size + step;
    }
    return nearest || at < cell ? index * cells(levels, inside) : -1;
}

/// Each axis has its bar along its largest part.
void giveBars(Levels& across, Levels& down, bool numbered)
{
    const auto each = [&](const auto& act) {
        for (Levels* levels : { &across, &down })
            for (auto& level : *levels)
                act(level);
    };
    each([&](MeshGrid::Level& level) {
        level.hasBar = true;
        bool before = true;
        each([&](const MeshGrid::Level& other) {
            if (&other == &level)
                before = false;
            else if (other.axis == level.axis && (other.size > level.size || (other.size == level.size && before)))
                level.hasBar = false;
        });
        int parts = 0;
        each([&](const MeshGrid::Level& other) { parts += other.axis == level.axis ? 1 : 0; });
        level.whole = parts == 1 && numbered;
    });
}

} // namespace

std::vector<std::size_t> barsOf(const Levels& levels)
{
    constexpr std::size_t kMost = 2;
    std::vector<std::size_t> out;
    const auto add = [&](std::size_t i, bool fits) {
        if (fits && levels[i].hasBar && out.size() < kMost && std::find(out.begin(), out.end(), i) == out.end())
            out.push_back(i);
    };
    const auto isWhole = [&](std::size_t i) { return levels[i].whole && levels[i].size > 1; };
    // The innermost and the outermost whose steps can be numbered, then the others; an axis of one device comes last.
    for (std::size_t i = 0; i < levels.size() && out.empty(); ++i)
        add(i, isWhole(i));
    for (std::size_t i = levels.size(); i-- > 0;)
        add(i, isWhole(i));
    for (std::size_t i = 0; i < levels.size(); ++i)
        add(i, levels[i].size > 1);
    for (std::size_t i = 0; i < levels.size(); ++i)
        add(i, true);
    std::sort(out.begin(), out.end());
    return out;
}

MeshGrid::MeshGrid()
    : MeshGrid(Mesh())
{
}

MeshGrid::MeshGrid(const Mesh& mesh, const Hardware& hardware, const MeshRoom& room)
    : m_count(mesh.deviceCount())
    , m_tiers(foldedMesh(mesh, hardware))
{
    // Names above units take room; they are worth some of the devices' size.
    constexpr double kWorth = 0.7;
    const double plain = arrange(mesh, room, false);
    if (const MeshGrid unnamed = *this; !m_tiers.tiers.empty() && arrange(mesh, room, true) < kWorth * plain)
        *this = unnamed;
    stretch(mesh, room);
    m_cell = 1; // gaps are made
    m_columns = cells(m_across, m_across.size());
    m_rows = cells(m_down, m_down.size());
    m_top = m_gapsAbove.empty() ? 0 : m_gapsAbove.back();
}

/// The best way and its scale. Gaps are pixels, so that they follow from the scale, which follows from them.
double MeshGrid::arrange(const Mesh& mesh, const MeshRoom& room, bool named)
{
    const double area = std::max(1.0, room.size.width()) * std::max(1.0, room.size.height());
    double cell = std::clamp(std::sqrt(area / static_cast<double>(m_count)) * 0.7, 0.2, room.largestCell);
    const bool blocks = !m_tiers.tiers.empty()
        || std::any_of(m_tiers.factors.begin(), m_tiers.factors.end(), [](const MeshFactor& it) { return it.size >= kLong; });
    for (int round = 0; round < (blocks ? 3 : 1); ++round) {
        setGaps(room, cell, named);
        take(mesh, bestColumns(mesh, room));
        cell = scaleIn(room);
    }
    return cell;
}

/// By how much a way is worse than a plain one of the same size. What is not plain has to be worth it.
double MeshGrid::plainness(const std::vector<std::int64_t>& columns) const
{
    double out = 1;
    const auto& factors = m_tiers.factors;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        const std::int64_t size = factors[i].size;
        if (size < 2)
            continue;
        const bool wrapped = columns[i] > 1 && columns[i] < size;
        if (wrapped)
            out *= size % columns[i] != 0 ? 0.8 : 0.93;
        if (i == 0) {
            out *= columns[i] == size ? 1 : wrapped ? 0.95 : 0.8;
        } else if (!wrapped && (columns[i] > 1) == (columns[i - 1] > 1) && factors[i - 1].size > 1) {
            const bool newUnit =
                std::any_of(m_tiers.tiers.begin(), m_tiers.tiers.end(), [&](const MeshTier& tier) { return tier.factors == i; });
            out *= newUnit ? 0.95 : columns[i] > 1 ? 0.8 : 0.9;
        }
    }
    return out;
}

std::vector<std::int64_t> MeshGrid::bestColumns(const Mesh& mesh, const MeshRoom& room)
{
    const std::size_t factors = m_tiers.factors.size();
    std::vector<std::vector<std::int64_t>> ways;
    for (std::size_t i = 0; i < factors; ++i)
        ways.push_back(candidates(mesh, i));
    // Of very many axes not everything is tried: the inner ones go to the right and down in turn.
    constexpr std::size_t kMostWays = 2048;
    std::size_t all = 1;
    for (const auto& way : ways)
        all *= std::min(way.size(), kMostWays);
    for (std::size_t i = 0; i < factors && all > kMostWays; ++i)
        if (ways[i].size() > 1) {
            all /= ways[i].size();
            ways[i] = { ways[i][i % 2] };
        }
    std::vector<std::size_t> choice(factors, 0);
    std::vector<std::int64_t> columns(factors, 1);
    std::vector<std::int64_t> best = columns;
    double bestScore = -1;
    for (bool more = true; more;) {
        for (std::size_t i = 0; i < factors; ++i)
            columns[i] = ways[i][choice[i]];
        take(mesh, columns);
        if (const double score = scaleIn(room) * compactnessIn(room) * plainness(columns); score > bestScore * (1 + 1e-9)) {
            bestScore = score;
            best = columns;
        }
        more = false;
        for (std::size_t i = 0; i < factors && !more; ++i) {
            more = ++choice[i] < ways[i].size();
            if (!more)
                choice[i] = 0;
        }
    }
    return best;
}

/// Numbers of columns that a factor may have: all steps to the right, all downwards, or wrapped, of the last one in a unit and of a
/// long one.
std::vector<std::int64_t> MeshGrid::candidates(const Mesh& mesh, std::size_t factor) const
{
    const std::int64_t size = m_tiers.factors[factor].size;
    if (size < 2)
        return { 1 };
    std::vector<std::int64_t> out { size, 1 };
    const auto endsAt = [&](std::size_t end) { // nothing that has steps follows before
        const auto first = m_tiers.factors.begin();
        return factor < end
            && std::all_of(first + static_cast<std::ptrdiff_t>(factor) + 1, first + static_cast<std::ptrdiff_t>(end),
                           [](const MeshFactor& it) { return it.size < 2; });
    };
    const bool last = endsAt(m_tiers.factors.size())
        || std::any_of(m_tiers.tiers.begin(), m_tiers.tiers.end(), [&](const MeshTier& tier) { return endsAt(tier.factors); });
    if (size <= 2 || (!last && size < kLong) || (mesh.axisCount() == 1 && size <= kLongestLine && m_tiers.tiers.empty()))
        return out;
    for (std::int64_t part = 2; last && part < size; ++part)
        if (size % part == 0)
            out.push_back(part);
    constexpr std::size_t kFew = 4; // divisors
    if (last && (out.size() >= 2 + kFew || size <= kLongestLine))
        return out;
    for (const double shape : { 0.5, 1.0, 1.5, 2.0, 3.0, 5.0 }) {
        auto wide = std::clamp<std::int64_t>(std::llround(std::ceil(std::sqrt(static_cast<double>(size) * shape))), 2, size - 1);
        for (std::int64_t near = wide; !last && near * 4 < wide * 5 && near < size; ++near)
            if (size % near == 0) { // then every line is full
                wide = near;
                break;
            }
        out.push_back(wide);
    }
    return out;
}

/// Gaps grow with what they part, so that they are seen from afar: some pixels where a device has `cell`.
void MeshGrid::setGaps(const MeshRoom& room, double cell, bool named)
{
    m_cell = cell;
    m_gaps.clear();
    m_gapsAbove.clear();
    double side = 0;
    double above = 0;
    for (std::size_t i = 0; i < m_tiers.tiers.size(); ++i) {
        const bool inner = i == 0 && m_tiers.tiers[i].kind != MeshTier::Kind::Group;
        const auto devices = static_cast<double>(m_tiers.tiers[i].devices);
        const double unit = std::sqrt(devices) * cell; // pixels
        side = std::max(kGap, side + (inner ? std::min(1.0, unit / 8) : gapOf(devices, cell)) / cell);
        const bool hasName = named && unit >= 2.5 * kName * room.text;
        above = std::max(kGap, hasName ? above + kName * room.text / cell : std::max(side, above));
        m_gaps.push_back(side);
        m_gapsAbove.push_back(above);
    }
}

/// Whole numbers of devices rarely have the shape of the room. Below the size of ids, where devices are no pictures of their own,
/// they take what is left below them.
void MeshGrid::stretch(const Mesh& mesh, const MeshRoom& room)
{
    constexpr double kSmall = 14; // pixels
    constexpr double kHighest = 1.75;
    const double scale = scaleIn(room);
    if (m_tiers.tiers.empty() || scale >= kSmall)
        return;
    const double above = kBarAbove + kBar * (std::max(1.0, static_cast<double>(barsOf(m_across).size())) - 1);
    const double top = m_gapsAbove.empty() ? 0 : m_gapsAbove.back();
    const double left = (room.size.height() - above * room.text) / scale - extentOf(m_down, m_down.size(), 1) - top;
    constexpr double kExact = 64; // sums of such parts are exact
    m_high = std::floor(std::clamp(1 + left / static_cast<double>(cells(m_down, m_down.size())), 1.0, kHighest) * kExact) / kExact;
    take(mesh, std::vector<std::int64_t>(m_wide));
}

void MeshGrid::take(const Mesh& mesh, const std::vector<std::int64_t>& columns)
{
    m_wide = columns;
    m_across.clear();
    m_down.clear();
    m_acrossIn.clear();
    m_downIn.clear();
    m_ragged.clear();
    double blockGap = 0; // around an axis that is wrapped
    std::int64_t devices = 1;
    const auto push = [&](Levels& levels, const Level& level, const std::vector<std::size_t>& inside,
                          const std::vector<double>& gaps) {
        const double extent = extentOf(levels, levels.size(), &levels == &m_down ? m_high : 1);
        double gap = levels.empty() || levels.back().axis == level.axis ? 0 : std::max(kGap, blockGap);
        if (!inside.empty()) // of the outermost unit that has ended; an axis around another one has a little more
            gap = std::max(
                gap, gaps[inside.size() - 1] * (inside.back() == levels.size() || levels.back().axis == level.axis ? 1 : 1.4));
        levels.push_back(level);
        levels.back().pitch = extent + gap;
    };
    const auto& factors = m_tiers.factors;
    std::size_t tier = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        for (; tier < m_tiers.tiers.size() && m_tiers.tiers[tier].factors == i; ++tier) {
            m_acrossIn.push_back(m_across.size());
            m_downIn.push_back(m_down.size());
            blockGap = 0; // its own gap parts it
        }
        const MeshFactor& factor = factors[i];
        if (factor.size < 2) { // it moves nothing, but has a bar
            const Level level { factor.axis, 1, factor.stride, factor.stride, 1, true, true };
            push(i == 0 && mesh.axisCount() == 1 ? m_across : m_down, level, {}, {});
            continue;
        }
        const std::int64_t wide = columns[i];
        const std::int64_t high = (factor.size + wide - 1) / wide;
        const std::int64_t around = factor.stride * factor.size;
        if (wide * high > factor.size)
            m_ragged.push_back({ factor.size, wide, high, cells(m_across, m_across.size()), cells(m_down, m_down.size()) });
        if (wide > 1)
            push(m_across, { factor.axis, wide, factor.stride, around, 1, true, true }, m_acrossIn, m_gaps);
        if (high > 1)
            push(m_down, { factor.axis, high, factor.stride * wide, around, 1, true, true }, m_downIn, m_gapsAbove);
        devices *= factor.size;
        if (wide > 1 && high > 1)
            blockGap = gapOf(static_cast<double>(devices), m_cell) / m_cell;
    }
    giveBars(m_across, m_down, m_tiers.followsAxes);
}

double MeshGrid::scaleIn(const MeshRoom& room) const
{
    const auto bars = [](const Levels& levels) { return static_cast<double>(barsOf(levels).size()); };
    const double above = kBarAbove + kBar * (std::max(1.0, bars(m_across)) - 1);
    const double wide = room.size.width() - kBar * room.text * bars(m_down);
    const double high = room.size.height() - above * room.text;
    const double top = m_gapsAbove.empty() ? 0 : m_gapsAbove.back();
    return std::max(1e-6,
                    std::min({ wide / extentOf(m_across, m_across.size(), 1),
                               high / (extentOf(m_down, m_down.size(), m_high) + top), room.largestCell }));
}

/// Units are gone into: they fill the room best in its own shape.
double MeshGrid::compactnessIn(const MeshRoom& room) const
{
    double out = 1;
    for (int tier = 0; tier < tierCount(); ++tier) {
        const QSizeF unit = unitSize(tier);
        const double wide = std::max(1.0, room.size.width()) / unit.width();
        const double high = std::max(1.0, room.size.height() - kBarAbove * room.text) / unit.height();
        out *= std::pow(std::min(wide, high) / std::max(wide, high), 0.25);
    }
    return out;
}

double MeshGrid::columnLeft(std::int64_t column) const { return beginOf(m_across, column); }
double MeshGrid::rowTop(std::int64_t row) const { return beginOf(m_down, row); }

QRectF MeshGrid::world() const
{
    return { 0, -m_top, extentOf(m_across, m_across.size(), 1), extentOf(m_down, m_down.size(), m_high) + m_top };
}

/// A wrapped axis counts on in the next line, so that its steps to the right are what its steps downwards leave.
std::int64_t MeshGrid::columnOf(std::int64_t position) const { return indexOf(m_across, m_tiers.slotOf(position)); }
std::int64_t MeshGrid::rowOf(std::int64_t position) const { return indexOf(m_down, m_tiers.slotOf(position)); }

std::int64_t MeshGrid::positionOf(std::int64_t column, std::int64_t row) const
{
    for (const Ragged& it : m_ragged)
        if (column / it.columns % it.wide + row / it.rows % it.high * it.wide >= it.size)
            return -1;
    return m_tiers.positionIn(positionsOf(m_across, column) + positionsOf(m_down, row));
}

QRectF MeshGrid::cell(std::int64_t position) const
{
    return QRectF(columnLeft(columnOf(position)), rowTop(rowOf(position)), 1, m_high);
}

std::int64_t MeshGrid::positionAt(const QPointF& world) const
{
    const std::int64_t column = indexAt(m_across, world.x(), 0, false, 1);
    const std::int64_t row = indexAt(m_down, world.y(), 0, false, m_high);
    return column < 0 || row < 0 ? -1 : positionOf(column, row);
}

std::int64_t MeshGrid::unitColumns(int tier) const
{
    return tier < 0 ? 1 : cells(m_across, m_acrossIn[static_cast<std::size_t>(tier)]);
}
std::int64_t MeshGrid::unitRows(int tier) const { return tier < 0 ? 1 : cells(m_down, m_downIn[static_cast<std::size_t>(tier)]); }

QSizeF MeshGrid::unitSize(int tier) const
{
    if (tier < 0)
        return { 1, m_high };
    const auto at = static_cast<std::size_t>(tier);
    return { extentOf(m_across, m_acrossIn[at], 1), extentOf(m_down, m_downIn[at], m_high) };
}

QSizeF MeshGrid::gapAfter(int tier) const
{
    const auto at = static_cast<std::size_t>(tier);
    return tier < 0 ? QSizeF() : QSizeF(m_gaps[at], m_gapsAbove[at]);
}

QRectF MeshGrid::unit(int tier, std::int64_t position) const
{
    const std::int64_t column = columnOf(position) / unitColumns(tier) * unitColumns(tier);
    const std::int64_t row = rowOf(position) / unitRows(tier) * unitRows(tier);
    return { QPointF(columnLeft(column), rowTop(row)), unitSize(tier) };
}

std::int64_t MeshGrid::unitNear(int tier, const QPointF& world) const
{
    const auto at = static_cast<std::size_t>(std::max(tier, 0));
    const std::int64_t column = indexAt(m_across, world.x(), tier < 0 ? 0 : m_acrossIn[at], true, 1);
    std::int64_t row = indexAt(m_down, world.y(), tier < 0 ? 0 : m_downIn[at], true, m_high);
    std::int64_t out = positionOf(column, row);
    while (out < 0 && row > 0) // below the last line
        out = positionOf(column, --row);
    return std::max<std::int64_t>(out, 0);
}

std::int64_t MeshGrid::moved(std::int64_t position, int dx, int dy, int tier) const
{
    std::int64_t column = columnOf(position);
    std::int64_t row = rowOf(position);
    std::int64_t to = -1;
    while (to < 0) { // over places without a device
        column += dx * unitColumns(tier);
        row += dy * unitRows(tier);
        if ((dx == 0 && dy == 0) || column < 0 || row < 0 || column >= m_columns || row >= m_rows)
            return position;
        to = positionOf(column, row);
    }
    return to;
}

} // namespace shardboard
