// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/sharded.h"

#include "engine/machine/index.h"
#include "engine/simd/vectors.h"

#include <algorithm>
#include <cstring>

namespace shardboard::engine {

namespace {

/// Row-major distances between neighbours along each dim of a box.
std::vector<std::int64_t> stridesOf(const Box& box)
{
    std::vector<std::int64_t> strides(box.size(), 1);
    for (std::size_t d = box.size(); d-- > 1;)
        strides[d - 1] = strides[d] * box[d].size();
    return strides;
}

/// Number of leading dims that have to be counted through, because what follows them is contiguous in both buffers.
std::size_t outerDims(const Box& region, const Box& first, const Box& second)
{
    std::size_t outer = region.size();
    while (outer > 0) {
        --outer; // dim `outer` itself may be a part: it only ends the run
        if (region[outer] != first[outer] || region[outer] != second[outer])
            break;
    }
    return outer;
}

/// Visits each contiguous run of `region` with its offsets in the two buffers.
template <class Visit>
void forEachPair(const Box& region, const Box& first, const Box& second, Visit visit)
{
    if (volumeOf(region) == 0)
        return;
    const std::size_t outer = outerDims(region, first, second);
    const auto firstStrides = stridesOf(first);
    const auto secondStrides = stridesOf(second);
    std::int64_t run = 1;
    std::int64_t firstOffset = 0;
    std::int64_t secondOffset = 0;
    for (std::size_t d = 0; d < region.size(); ++d) {
        if (d >= outer)
            run *= region[d].size();
        firstOffset += (region[d].lo - first[d].lo) * firstStrides[d];
        secondOffset += (region[d].lo - second[d].lo) * secondStrides[d];
    }
    std::vector<std::int64_t> index(outer, 0);
    while (true) {
        visit(firstOffset, secondOffset, run);
        std::size_t d = outer;
        while (d > 0) {
            --d;
            firstOffset += firstStrides[d];
            secondOffset += secondStrides[d];
            if (++index[d] < region[d].size())
                break;
            firstOffset -= index[d] * firstStrides[d];
            secondOffset -= index[d] * secondStrides[d];
            index[d] = 0;
            if (d == 0)
                return;
        }
        if (outer == 0)
            return;
    }
}

} // namespace

Box boxAt(const Shape& shape, const Layout& layout, const Mesh& mesh, std::int64_t position)
{
    Box box(shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const auto& axes = layout.dims[d];
        box[d] = partRange(shape[d], axes, mesh, layout.cuttingOf(d), partIndexOf(axes, mesh, position));
    }
    return box;
}

std::int64_t rowsOf(const Box& box)
{
    std::int64_t rows = 1;
    for (std::size_t d = 0; d + 1 < box.size(); ++d)
        rows *= box[d].size();
    return rows;
}

std::int64_t volumeOf(const Box& box)
{
    std::int64_t volume = 1;
    for (const Range& range : box)
        volume *= range.size();
    return volume;
}

Box intersection(const Box& a, const Box& b)
{
    Box out(a.size());
    for (std::size_t d = 0; d < a.size(); ++d) {
        out[d].lo = std::max(a[d].lo, b[d].lo);
        out[d].hi = std::max(out[d].lo, std::min(a[d].hi, b[d].hi));
    }
    return out;
}

void forEachRun(const Box& whole, const Box& part, const std::function<void(std::int64_t, std::int64_t)>& visit)
{
    forEachPair(part, whole, part, [&](std::int64_t offset, std::int64_t, std::int64_t run) { visit(offset, run); });
}

void copyRegion(const Box& region, const Box& sourceBox, const float* source, const Box& targetBox, float* target, Combine combine)
{
    forEachPair(region, sourceBox, targetBox, [&](std::int64_t from, std::int64_t to, std::int64_t run) {
        if (combine == Combine::Add)
            addInto(source + from, run, target + to);
        else if (combine == Combine::Max)
            maxInto(source + from, run, target + to);
        else
            std::memcpy(target + to, source + from, at(run) * sizeof(float));
    });
}

namespace {

/// How a box of more than `elements` elements is cut: along its first dim that has several indices.
struct Cut {
    std::size_t dim = 0;
    std::int64_t step = 1; ///< indices of a piece
    bool again = false; ///< the pieces are cut again
};

Cut cutOf(const Box& box, std::int64_t elements)
{
    Cut cut;
    while (box[cut.dim].size() == 1)
        ++cut.dim;
    const std::int64_t perIndex = volumeOf(box) / box[cut.dim].size();
    cut.step = std::max<std::int64_t>(1, elements / perIndex);
    cut.again = cut.step == 1 && perIndex > 2 * elements;
    return cut;
}

} // namespace

PieceCount countPieces(const Box& box, std::int64_t elements)
{
    if (volumeOf(box) <= elements)
        return { 1, volumeOf(box) };
    const Cut cut = cutOf(box, elements);
    const std::int64_t size = box[cut.dim].size();
    Box first = box;
    first[cut.dim].hi = std::min(first[cut.dim].lo + cut.step, box[cut.dim].hi);
    if (!cut.again)
        return { (size + cut.step - 1) / cut.step, volumeOf(first) };
    const PieceCount each = countPieces(first, elements);
    return { size * each.pieces, each.largest };
}

std::vector<Box> piecesOf(const Box& box, std::int64_t elements)
{
    if (volumeOf(box) <= elements)
        return { box };
    const auto [dim, step, again] = cutOf(box, elements);
    std::vector<Box> out;
    for (std::int64_t lo = box[dim].lo; lo < box[dim].hi; lo += step) {
        Box piece = box;
        piece[dim] = { lo, std::min(lo + step, box[dim].hi) };
        if (again) {
            const auto smaller = piecesOf(piece, elements);
            out.insert(out.end(), smaller.begin(), smaller.end());
        } else {
            out.push_back(std::move(piece));
        }
    }
    return out;
}

void fillBox(const Source& source, const Shape& shape, const Box& box, float* out)
{
    Box whole(shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d)
        whole[d] = { 0, shape[d] };
    std::int64_t done = 0;
    forEachRun(whole, box, [&](std::int64_t offset, std::int64_t run) {
        source.generator.fill(offset, run, out + done);
        done += run;
    });
    if (source.share != 1.0f)
        scaleRow(out, source.share, done, out);
    roundValues(source.rounding, done, out);
}

Sharded::Sharded(Shape shape, Layout layout, const Mesh& mesh)
    : m_shape(std::move(shape))
    , m_layout(std::move(layout))
    , m_mesh(&mesh)
{
    for (std::int64_t p = 0; p < mesh.deviceCount(); ++p)
        m_boxes.push_back(boxAt(m_shape, m_layout, mesh, p));
}

void Sharded::allocate(Arena& arena)
{
    std::vector<std::int64_t> counts;
    for (const Box& box : m_boxes)
        counts.push_back(volumeOf(box));
    if (m_only)
        m_parts.allocateAt(arena, arena.deviceRanks().of(*m_mesh, *m_only), counts, bytesOf(m_element));
    else
        m_parts.allocate(arena, *m_mesh, counts, bytesOf(m_element));
    m_allocated = true;
    if (m_only) // what it takes beside the tensor that it is a part of is scratch memory
        return;
    if (DeviceMemory* memory = arena.deviceMemory(); memory != nullptr && memory->watches(*m_mesh)) {
        for (std::int64_t& count : counts)
            count *= bytesOf(m_element);
        m_hold = memory->hold(*m_mesh, counts);
    }
}

void Sharded::allocateAt(Arena& arena, int rank)
{
    std::vector<std::int64_t> counts;
    for (const Box& box : m_boxes)
        counts.push_back(volumeOf(box));
    m_parts.allocateAt(arena, rank, counts, bytesOf(m_element));
    m_allocated = true;
}

Sharded Sharded::like() const
{
    Sharded out;
    out.m_shape = m_shape;
    out.m_layout = m_layout;
    out.m_mesh = m_mesh;
    out.m_only = m_only;
    out.m_boxes = m_boxes;
    out.m_element = m_element;
    return out;
}

Sharded Sharded::shardOf(std::int64_t device) const
{
    Sharded out = like();
    out.m_only = device;
    out.m_boxes = { box(device) };
    out.m_parts = m_parts.partOf(device);
    out.m_allocated = m_allocated;
    out.source = source;
    return out;
}

std::int64_t Sharded::bytes() const
{
    std::int64_t elements = 0;
    for (const Box& box : m_boxes)
        elements += DeviceParts::roundedUp(volumeOf(box));
    return elements * bytesOf(m_element);
}

Sharded Sharded::withMemoryOf(Sharded&& other) &&
{
    m_parts = std::move(other.m_parts);
    m_hold = std::move(other.m_hold);
    m_allocated = other.m_allocated;
    m_element = other.m_element;
    return std::move(*this);
}

std::int64_t Sharded::totalElements() const
{
    std::int64_t total = 0;
    for (const Box& box : m_boxes)
        total += volumeOf(box);
    return total;
}

} // namespace shardboard::engine
