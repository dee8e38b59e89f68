// SPDX-License-Identifier: Apache-2.0
// A tensor as it lies on the logical devices of a mesh: one buffer for each mesh position.
// The unsharded tensors of the reference are the same thing on a mesh of one device.
#pragma once

#include "engine/devices/arena.h"
#include "engine/devices/devicememory.h"
#include "engine/devices/deviceparts.h"
#include "engine/values/generator.h"
#include "engine/values/rounding.h"
#include "model/core/layout.h"
#include "model/core/shards.h"
#include "model/core/tensor.h"

#include <functional>
#include <optional>
#include <vector>

namespace shardboard::engine {

/// A half-open range per tensor dim.
using Box = std::vector<Range>;

/// What the device at a mesh position holds, over the axes of each dim in the layout's order.
Box boxAt(const Shape& shape, const Layout& layout, const Mesh& mesh, std::int64_t position);
std::int64_t volumeOf(const Box& box);
/// The product of all dims but the last.
std::int64_t rowsOf(const Box& box);
/// Common part; a dim without common elements has size 0.
Box intersection(const Box& a, const Box& b);

/// Calls `visit(offset, length)` for every contiguous run of elements of `part` in a row-major buffer that holds `whole`,
/// in order. `part` lies inside `whole`; equal buffers give one run.
void forEachRun(const Box& whole, const Box& part, const std::function<void(std::int64_t, std::int64_t)>& visit);
/// What happens to values that are there already.
enum class Combine { Copy, Add, Max };
/// Copies (or adds, or takes the maximum of) the region from one row-major buffer to another.
void copyRegion(const Box& region, const Box& sourceBox, const float* source, const Box& targetBox, float* target,
                Combine combine = Combine::Copy);
/// Cuts a box along its first dims into boxes of about `elements` elements at most, in order.
std::vector<Box> piecesOf(const Box& box, std::int64_t elements);
/// How many they are, and the elements of the largest, without making them: a plan may have too many for that.
struct PieceCount {
    std::int64_t pieces = 0;
    std::int64_t largest = 0;
};
PieceCount countPieces(const Box& box, std::int64_t elements);

/// Where made-up values come from.
struct Source {
    Generator generator;
    Rounding rounding = Rounding::None;
    float share = 1; ///< factor on every value: the addend of one of n devices where a value is partial is 1/n of it
};
/// Fills a row-major buffer of `box` with the values of a tensor of that shape.
void fillBox(const Source& source, const Shape& shape, const Box& box, float* out);

/// How values lie in memory. The threads of this process work on F32 alone.
enum class Element { F32, BF16 };
constexpr std::int64_t bytesOf(Element element) { return element == Element::F32 ? 4 : 2; }

class Sharded {
public:
    Sharded() = default;
    /// Boxes only, no memory. `mesh` must outlive the tensor.
    Sharded(Shape shape, Layout layout, const Mesh& mesh);

    /// Before it has memory.
    void setElement(Element element) { m_element = element; }
    Element element() const { return m_element; }

    /// Takes memory for all shards.
    void allocate(Arena& arena);
    /// Takes it at one rank, whatever devices the shards are of.
    void allocateAt(Arena& arena, int rank);
    bool allocated() const { return m_allocated; }
    /// This tensor with the memory of another one whose shards are the same.
    Sharded withMemoryOf(Sharded&& other) &&;
    /// The shard of one device as a tensor that has no other, so that its device is number 0. The memory stays this tensor's.
    Sharded shardOf(std::int64_t device) const;
    /// One that lies as this one does, without memory and source.
    Sharded like() const;

    bool valid() const { return !m_boxes.empty(); } ///< false for a default-made or moved-from tensor
    const Shape& shape() const { return m_shape; }
    const Layout& layout() const { return m_layout; }
    const Mesh& mesh() const { return *m_mesh; }
    std::int64_t deviceCount() const { return static_cast<std::int64_t>(m_boxes.size()); }
    const Box& box(std::int64_t device) const { return m_boxes[static_cast<std::size_t>(device)]; }
    std::int64_t elements(std::int64_t device) const { return volumeOf(box(device)); }
    /// Of all devices together, replicas included.
    std::int64_t totalElements() const;
    /// The shard of a device, row-major over its box. Only when allocated and not planning.
    float* data(std::int64_t device) { return m_parts.floats(device); }
    const float* data(std::int64_t device) const { return m_parts.floats(device); }

    /// The same, in the executor's memory and of any kind of element.
    std::byte* address(std::int64_t device) const { return m_parts.address(device); }
    /// Of all shards with what lies between them.
    std::int64_t bytes() const;

    /// Set for weights and inputs. A tensor that has a source and no memory is made piece by piece where it is used.
    std::optional<Source> source;

private:
    Shape m_shape;
    Layout m_layout;
    const Mesh* m_mesh = nullptr;
    std::optional<std::int64_t> m_only; ///< the mesh position of the one device that it has a shard of
    std::vector<Box> m_boxes;
    Element m_element = Element::F32;
    DeviceParts m_parts;
    DeviceMemory::Hold m_hold;
    bool m_allocated = false;
};

} // namespace shardboard::engine
