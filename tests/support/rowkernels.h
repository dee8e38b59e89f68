// SPDX-License-Identifier: Apache-2.0
// What the operations of MAX's rule families compute, on small arrays: as one device runs them on the part that it has.
// Where a rule family stands for many operations, one that shows the difference is taken (a square for the non-linear ones).
#pragma once

#include "tests/support/smallarray.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>

namespace shardboard::test {

using Kernel = std::function<std::vector<Array>(const std::vector<Array>&, const nlohmann::json&)>;

namespace kernels {

using nlohmann::json;

inline std::int64_t axisOf(const json& attributes, const char* key, std::int64_t fallback, std::int64_t extent)
{
    const std::int64_t axis = attributes.value(key, fallback);
    return axis < 0 ? axis + extent : axis;
}

inline Array without(const Array& a, std::int64_t dim, const std::function<double(const std::vector<double>&)>& f)
{
    Shape shape = a.shape;
    shape[static_cast<std::size_t>(dim)] = 1;
    return make(shape, [&](const Index& at) {
        std::vector<double> line;
        for (std::int64_t i = 0; i < a.size(dim); ++i) {
            Index own = at;
            own[static_cast<std::size_t>(dim)] = i;
            line.push_back(a.at(own));
        }
        return f(line);
    });
}

/// Replaces each line along a dim.
inline Array lines(const Array& a, std::int64_t dim, std::int64_t size,
                   const std::function<std::vector<double>(const std::vector<double>&)>& f)
{
    Shape shape = a.shape;
    shape[static_cast<std::size_t>(dim)] = size;
    return make(shape, [&](const Index& at) {
        std::vector<double> line;
        for (std::int64_t i = 0; i < a.size(dim); ++i) {
            Index own = at;
            own[static_cast<std::size_t>(dim)] = i;
            line.push_back(a.at(own));
        }
        return f(line).at(static_cast<std::size_t>(at[static_cast<std::size_t>(dim)]));
    });
}

inline Array matmul(const Array& a, const Array& b)
{
    Array x = a;
    Array y = b;
    if (a.rank() == 1)
        x.shape.insert(x.shape.begin(), 1);
    if (b.rank() == 1)
        y.shape.push_back(1);
    const std::size_t rank = std::max(x.shape.size(), y.shape.size());
    const std::int64_t depth = x.shape.back();
    if (depth != y.shape[y.shape.size() - 2])
        throw std::runtime_error("contraction");
    const auto batch = [](const Array& m) { return Array { { m.shape.begin(), m.shape.end() - 2 }, {} }; };
    Array bx = batch(x);
    Array by = batch(y);
    bx.values.resize(static_cast<std::size_t>(elementCount(bx.shape).value()));
    by.values.resize(static_cast<std::size_t>(elementCount(by.shape).value()));
    Shape shape = zip({ bx, by }, [](const auto&) { return 0.0; }).shape;
    shape.push_back(x.shape[x.shape.size() - 2]);
    shape.push_back(y.shape.back());
    const auto own = [rank](const Array& m, const Index& at, std::int64_t row, std::int64_t column) {
        Index out;
        for (std::size_t d = 0; d + 2 < m.shape.size(); ++d)
            out.push_back(m.shape[d] == 1 ? 0 : at[d + rank - m.shape.size()]);
        out.push_back(row);
        out.push_back(column);
        return m.at(out);
    };
    Array out = make(shape, [&](const Index& at) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k)
            sum += own(x, at, at[rank - 2], k) * own(y, at, k, at[rank - 1]);
        return sum;
    });
    if (a.rank() == 1)
        out.shape.erase(out.shape.end() - 2);
    if (b.rank() == 1)
        out.shape.pop_back();
    return out;
}

inline constexpr std::int64_t kScaleBlock = 2;

inline Array blockScaled(const std::vector<Array>& in)
{
    const std::int64_t m = in[0].size(0);
    const std::int64_t n = in[1].size(0);
    const std::int64_t depth = in[0].size(1);
    const auto blocks = [](std::int64_t size) { return (size + kScaleBlock - 1) / kScaleBlock; };
    if (in[1].size(1) != depth || in[2].shape != Shape { blocks(depth), m } || in[3].shape != Shape { blocks(n), blocks(depth) })
        throw std::runtime_error("scales");
    return make({ m, n }, [&](const Index& at) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k)
            sum += in[0].at({ at[0], k }) * in[2].at({ k / kScaleBlock, at[0] }) * in[1].at({ at[1], k })
                * in[3].at({ at[1] / kScaleBlock, k / kScaleBlock });
        return sum;
    });
}

/// NHWC, RSCF, no padding.
inline Array conv2d(const std::vector<Array>& in, const json& attributes)
{
    const Array& x = in[0];
    const Array& f = in[1];
    const std::int64_t groups = attributes.value("groups", std::int64_t { 1 });
    if (x.size(3) % groups != 0 || f.size(3) % groups != 0 || f.size(2) != x.size(3) / groups)
        throw std::runtime_error("channels");
    if (in.size() > 2 && in[2].shape != Shape { f.size(3) })
        throw std::runtime_error("bias");
    return make({ x.size(0), x.size(1) - f.size(0) + 1, x.size(2) - f.size(1) + 1, f.size(3) }, [&](const Index& at) {
        const std::int64_t group = at[3] / (f.size(3) / groups);
        double sum = in.size() > 2 ? in[2].at({ at[3] }) : 0;
        for (std::int64_t r = 0; r < f.size(0); ++r)
            for (std::int64_t s = 0; s < f.size(1); ++s)
                for (std::int64_t c = 0; c < f.size(2); ++c)
                    sum += x.at({ at[0], at[1] + r, at[2] + s, group * f.size(2) + c }) * f.at({ r, s, c, at[3] });
        return sum;
    });
}

inline Array conv2dTranspose(const std::vector<Array>& in)
{
    const Array& x = in[0];
    const Array& f = in[1]; // R S out in
    if (f.size(3) != x.size(3) || (in.size() > 2 && in[2].shape != Shape { f.size(2) }))
        throw std::runtime_error("channels");
    return make({ x.size(0), x.size(1) + f.size(0) - 1, x.size(2) + f.size(1) - 1, f.size(2) }, [&](const Index& at) {
        double sum = in.size() > 2 ? in[2].at({ at[3] }) : 0;
        for (std::int64_t r = 0; r < f.size(0); ++r)
            for (std::int64_t s = 0; s < f.size(1); ++s) {
                const std::int64_t h = at[1] - r;
                const std::int64_t w = at[2] - s;
                if (h < 0 || w < 0 || h >= x.size(1) || w >= x.size(2))
                    continue;
                for (std::int64_t c = 0; c < f.size(3); ++c)
                    sum += x.at({ at[0], h, w, c }) * f.at({ r, s, at[3], c });
            }
        return sum;
    });
}

inline Array norm(const std::vector<Array>& in, bool centred)
{
    const Array& x = in[0];
    const std::size_t lead = x.shape.size() - in[1].shape.size();
    for (std::size_t d = 0; d < in[1].shape.size(); ++d)
        if (in[1].shape[d] != x.shape[lead + d])
            throw std::runtime_error("weight");
    return make(x.shape, [&](const Index& at) {
        const Index head(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(lead));
        const Index tail(at.begin() + static_cast<std::ptrdiff_t>(lead), at.end());
        double sum = 0;
        double squares = 0;
        double count = 0;
        forEach(in[1].shape, [&](const Index& inner) {
            Index own = head;
            own.insert(own.end(), inner.begin(), inner.end());
            sum += x.at(own);
            squares += x.at(own) * x.at(own);
            ++count;
        });
        const double mean = centred ? sum / count : 0;
        const double spread = std::sqrt(squares / count - mean * mean + 1e-3);
        return (x.at(at) - mean) / spread * in[1].at(tail) + (in.size() > 2 ? in[2].at(tail) : 0);
    });
}

/// x[..., indices, ...]: indices of other devices' rows give zeros when `ownRows` says which rows are here.
inline Array gather(const Array& x, const Array& indices, std::int64_t axis, std::int64_t firstRow)
{
    Shape shape(x.shape.begin(), x.shape.begin() + axis);
    shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
    shape.insert(shape.end(), x.shape.begin() + axis + 1, x.shape.end());
    return make(shape, [&](const Index& at) {
        const Index where(at.begin() + axis, at.begin() + axis + indices.rank());
        const auto row = static_cast<std::int64_t>(indices.at(where)) - std::max<std::int64_t>(firstRow, 0);
        if (firstRow >= 0 && (row < 0 || row >= x.size(axis)))
            return 0.0;
        Index own(at.begin(), at.begin() + axis);
        own.push_back(row);
        own.insert(own.end(), at.begin() + axis + indices.rank(), at.end());
        return x.at(own);
    });
}

inline Array gatherNd(const Array& x, const Array& indices, std::int64_t batch)
{
    const std::int64_t depth = indices.shape.back();
    for (std::int64_t d = 0; d < batch; ++d)
        if (x.size(d) != indices.size(d))
            throw std::runtime_error("batch");
    Shape shape(indices.shape.begin(), indices.shape.end() - 1);
    shape.insert(shape.end(), x.shape.begin() + batch + depth, x.shape.end());
    const std::int64_t lead = indices.rank() - 1;
    return make(shape, [&](const Index& at) {
        Index own(at.begin(), at.begin() + batch);
        for (std::int64_t i = 0; i < depth; ++i) {
            Index where(at.begin(), at.begin() + lead);
            where.push_back(i);
            own.push_back(static_cast<std::int64_t>(indices.at(where)));
        }
        own.insert(own.end(), at.begin() + lead, at.end());
        return x.at(own);
    });
}

inline Array scatter(const Array& x, const Array& updates, const Array& indices, std::int64_t axis)
{
    if (updates.shape != indices.shape)
        throw std::runtime_error("indices");
    Array out = x;
    forEach(indices.shape, [&](const Index& at) {
        Index own = at;
        own[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(indices.at(at));
        out.values[out.offset(own)] = updates.at(at);
    });
    return out;
}

inline Array pool(const Array& x, bool largest)
{
    constexpr std::int64_t kWindow = 2;
    return make({ x.size(0), x.size(1) - 1, x.size(2) - 1, x.size(3) }, [&](const Index& at) {
        double sum = 0;
        double most = -1e300;
        for (std::int64_t r = 0; r < kWindow; ++r)
            for (std::int64_t s = 0; s < kWindow; ++s) {
                const double value = x.at({ at[0], at[1] + r, at[2] + s, at[3] });
                sum += value;
                most = std::max(most, value);
            }
        return largest ? most : sum / (kWindow * kWindow);
    });
}

inline Array permuted(const Array& x, const std::vector<std::int64_t>& dims)
{
    Shape shape;
    for (const std::int64_t d : dims)
        shape.push_back(x.size(d));
    return make(shape, [&](const Index& at) {
        Index own(at.size());
        for (std::size_t i = 0; i < dims.size(); ++i)
            own[static_cast<std::size_t>(dims[i])] = at[i];
        return x.at(own);
    });
}

/// Drops the first element of touched dims, takes the first of removed ones, adds dims of size 1.
inline Array sliced(const Array& x, const json& attributes)
{
    const auto list = [&](const char* key) { return attributes.value(key, std::vector<std::int64_t> {}); };
    const auto has = [](const std::vector<std::int64_t>& v, std::int64_t k) { return std::ranges::find(v, k) != v.end(); };
    Array out = x;
    for (std::int64_t k = 0; k < x.rank(); ++k)
        if (has(list("removed"), k))
            out = slice(out, k, 0, 1);
        else if (has(list("touched"), k))
            out = slice(out, k, 1, out.size(k));
    Shape shape;
    for (std::int64_t k = 0; k <= out.rank(); ++k) {
        while (has(list("inserted"), static_cast<std::int64_t>(shape.size())))
            shape.push_back(1);
        if (k < out.rank() && !has(list("removed"), k))
            shape.push_back(out.size(k));
    }
    return reshaped(out, shape);
}

inline Array padded(const Array& x, const std::vector<std::int64_t>& paddings, double value)
{
    Shape shape = x.shape;
    for (std::size_t d = 0; d < shape.size(); ++d)
        shape[d] += paddings[2 * d] + paddings[2 * d + 1];
    return make(shape, [&](const Index& at) {
        Index own = at;
        for (std::size_t d = 0; d < own.size(); ++d) {
            own[d] -= paddings[2 * d];
            if (own[d] < 0 || own[d] >= x.shape[d])
                return value;
        }
        return x.at(own);
    });
}

inline std::vector<double> softmaxOf(const std::vector<double>& line)
{
    double sum = 0;
    for (const double v : line)
        sum += std::exp(v);
    std::vector<double> out;
    for (const double v : line)
        out.push_back(std::exp(v) / sum);
    return out;
}

inline std::vector<Array> splitInto(const Array& x, std::int64_t axis, const std::vector<std::int64_t>& sizes)
{
    std::vector<Array> out;
    std::int64_t from = 0;
    for (const std::int64_t size : sizes) {
        out.push_back(slice(x, axis, from, from + size));
        from += size;
    }
    if (from != x.size(axis))
        throw std::runtime_error("split sizes");
    return out;
}

} // namespace kernels

/// By family. Attributes are those of a request, except that `shape` and `split_sizes` are those of the device, and that
/// `first_row` says where the rows of a table that is cut begin.
inline const std::map<std::string, Kernel>& rowKernels()
{
    using namespace kernels;
    using In = const std::vector<Array>&;
    using At = const json&;
    const auto one = [](auto f) { return Kernel([f](In in, At attributes) { return std::vector<Array> { f(in, attributes) }; }); };
    const auto last = [](At attributes, const Array& x) { return axisOf(attributes, "axis", -1, x.rank()); };
    static const std::map<std::string, Kernel> all {
        { "matmul", one([](In in, At) { return matmul(in[0], in[1]); }) },
        { "outer", one([](In in, At) {
              return make({ in[0].size(0), in[1].size(0) },
                          [&](const Index& at) { return in[0].at({ at[0] }) * in[1].at({ at[1] }); });
          }) },
        { "qmatmul", one([](In in, At) { return matmul(in[0], in[1]); }) },
        { "block_scaled_matmul", one([](In in, At) { return blockScaled(in); }) },
        { "conv2d", one([](In in, At attributes) { return conv2d(in, attributes); }) },
        { "conv2d_transpose", one([](In in, At) { return conv2dTranspose(in); }) },
        { "unary", one([](In in, At) { return map(in[0], [](double v) { return v * v + 1; }); }) },
        { "linear_unary", one([](In in, At) { return map(in[0], [](double v) { return -3 * v; }); }) },
        { "cast",
          one([](In in, At a) { return map(in[0], [&](double v) { return a.value("same_dtype", false) ? v : std::floor(v); }); }) },
        { "binary", one([](In in, At) { return zip(in, [](const auto& v) { return v[0] * v[0] + v[1] * v[1]; }); }) },
        { "linear_binary", one([](In in, At) { return zip(in, [](const auto& v) { return v[0] - v[1]; }); }) },
        { "mul", one([](In in, At) { return zip(in, [](const auto& v) { return v[0] * v[1]; }); }) },
        { "div", one([](In in, At) { return zip(in, [](const auto& v) { return v[0] / v[1]; }); }) },
        { "ternary", one([](In in, At) { return zip(in, [](const auto& v) { return v[0] > 0 ? v[1] : v[2]; }); }) },
        { "layer_norm", one([](In in, At) { return norm(in, true); }) },
        { "rms_norm", one([](In in, At) { return norm(in, false); }) },
        { "reduce", one([last](In in, At a) {
              return without(in[0], last(a, in[0]), [](const auto& line) { return *std::ranges::max_element(line); });
          }) },
        { "softmax", one([last](In in, At a) { return lines(in[0], last(a, in[0]), in[0].size(last(a, in[0])), softmaxOf); }) },
        { "linear_reduce", one([last](In in, At a) {
              return without(in[0], last(a, in[0]),
                             [](const auto& line) { return std::accumulate(line.begin(), line.end(), 0.0); });
          }) },
        { "mean", one([last](In in, At a) {
              return without(in[0], last(a, in[0]), [](const auto& line) {
                  return std::accumulate(line.begin(), line.end(), 0.0) / static_cast<double>(line.size());
              });
          }) },
        { "cumsum", one([last](In in, At a) {
              return lines(in[0], last(a, in[0]), in[0].size(last(a, in[0])), [](std::vector<double> line) {
                  std::partial_sum(line.begin(), line.end(), line.begin());
                  return line;
              });
          }) },
        { "top_k", one([last](In in, At a) {
              const auto k = a.value("k", std::int64_t { 1 });
              return lines(in[0], last(a, in[0]), k, [](std::vector<double> line) {
                  std::ranges::sort(line, std::greater<>());
                  return line;
              });
          }) },
        { "argsort", one([last](In in, At a) {
              return lines(in[0], last(a, in[0]), in[0].size(last(a, in[0])), [](const std::vector<double>& line) {
                  std::vector<double> order(line.size());
                  std::iota(order.begin(), order.end(), 0.0);
                  std::ranges::stable_sort(order, [&](double x, double y) {
                      return line[static_cast<std::size_t>(x)] < line[static_cast<std::size_t>(y)];
                  });
                  return order;
              });
          }) },
        { "permute", one([](In in, At a) { return permuted(in[0], a["dims"].get<std::vector<std::int64_t>>()); }) },
        { "transpose", one([](In in, At a) {
              std::vector<std::int64_t> dims(in[0].shape.size());
              std::iota(dims.begin(), dims.end(), 0);
              std::swap(dims[static_cast<std::size_t>(axisOf(a, "axis_1", -2, in[0].rank()))],
                        dims[static_cast<std::size_t>(axisOf(a, "axis_2", -1, in[0].rank()))]);
              return permuted(in[0], dims);
          }) },
        { "unsqueeze", one([](In in, At a) {
              Shape shape = in[0].shape;
              shape.insert(shape.begin() + axisOf(a, "axis", 0, in[0].rank() + 1), 1);
              return reshaped(in[0], shape);
          }) },
        { "squeeze", one([](In in, At a) {
              Shape shape = in[0].shape;
              shape.erase(shape.begin() + axisOf(a, "axis", 0, in[0].rank()));
              return reshaped(in[0], shape);
          }) },
        { "flatten", one([](In in, At a) {
              const std::int64_t from = axisOf(a, "start_dim", 0, in[0].rank());
              const std::int64_t to = axisOf(a, "end_dim", -1, in[0].rank());
              Shape shape(in[0].shape.begin(), in[0].shape.begin() + from);
              shape.push_back(std::accumulate(in[0].shape.begin() + from, in[0].shape.begin() + to + 1, std::int64_t { 1 },
                                              std::multiplies<>()));
              shape.insert(shape.end(), in[0].shape.begin() + to + 1, in[0].shape.end());
              return reshaped(in[0], shape);
          }) },
        { "reshape", one([](In in, At a) { return reshaped(in[0], a["shape"].get<Shape>()); }) },
        { "broadcast_to", one([](In in, At a) {
              const auto target = a["shape"].get<Shape>();
              Array out = zip({ in[0], make(target, [](const Index&) { return 0.0; }) }, [](const auto& v) { return v[0] + v[1]; });
              if (out.shape != target)
                  throw std::runtime_error("target");
              return out;
          }) },
        { "rebind", one([](In in, At) { return in[0]; }) },
        { "concat", one([](In in, At a) { return joinAlong(in, axisOf(a, "axis", 0, in[0].rank())); }) },
        { "stack", one([](In in, At a) {
              const std::int64_t axis = axisOf(a, "axis", 0, in[0].rank() + 1);
              std::vector<Array> parts;
              for (const Array& x : in) {
                  Shape shape = x.shape;
                  shape.insert(shape.begin() + axis, 1);
                  parts.push_back(reshaped(x, shape));
              }
              return joinAlong(parts, axis);
          }) },
        { "chunk",
          [](In in, At a) {
              const std::int64_t axis = axisOf(a, "axis", 0, in[0].rank());
              const std::int64_t size = (in[0].size(axis) + a["chunks"].get<std::int64_t>() - 1) / a["chunks"].get<std::int64_t>();
              std::vector<std::int64_t> sizes;
              for (std::int64_t left = in[0].size(axis); left > 0; left -= size)
                  sizes.push_back(std::min(left, size));
              return splitInto(in[0], axis, sizes);
          } },
        { "split",
          [](In in, At a) {
              return splitInto(in[0], axisOf(a, "axis", 0, in[0].rank()), a["split_sizes"].get<std::vector<std::int64_t>>());
          } },
        { "slice", one([](In in, At a) { return sliced(in[0], a); }) },
        { "pad", one([](In in, At a) {
              return padded(in[0], a["paddings"].get<std::vector<std::int64_t>>(),
                            in.size() > 1 ? in[1].at({}) : a.value("value", 0.0));
          }) },
        { "tile", one([](In in, At a) {
              const auto repeats = a["repeats"].get<std::vector<std::int64_t>>();
              Shape shape = in[0].shape;
              for (std::size_t d = 0; d < shape.size(); ++d)
                  shape[d] *= repeats[d];
              return make(shape, [&](Index at) {
                  for (std::size_t d = 0; d < at.size(); ++d)
                      at[d] %= in[0].shape[d];
                  return in[0].at(at);
              });
          }) },
        { "repeat_interleave", one([](In in, At a) {
              const bool flat = !a.contains("axis") || a["axis"].is_null();
              const Array x = flat ? reshaped(in[0], { static_cast<std::int64_t>(in[0].values.size()) }) : in[0];
              const auto axis = static_cast<std::size_t>(flat ? 0 : axisOf(a, "axis", 0, x.rank()));
              const auto times = a["repeats"].get<std::int64_t>();
              Shape shape = x.shape;
              shape[axis] *= times;
              return make(shape, [&](Index at) {
                  at[axis] /= times;
                  return x.at(at);
              });
          }) },
        { "gather", one([](In in, At a) {
              return gather(in[0], in[1], axisOf(a, "axis", 0, in[0].rank()), a.value("first_row", std::int64_t { -1 }));
          }) },
        { "gather_nd", one([](In in, At a) { return gatherNd(in[0], in[1], a["batch_dims"].get<std::int64_t>()); }) },
        { "scatter", one([](In in, At a) { return scatter(in[0], in[1], in[2], axisOf(a, "axis", 0, in[0].rank())); }) },
        { "buffer_store", one([](In in, At) {
              Array out = in[0];
              forEach(in[1].shape, [&](const Index& at) { out.values[out.offset(at)] = in[1].at(at); });
              return out;
          }) },
        { "pool", one([](In in, At) { return pool(in[0], true); }) },
        { "linear_pool", one([](In in, At) { return pool(in[0], false); }) },
        { "band_part", one([](In in, At) {
              return make(in[0].shape, [&](const Index& at) { return at[at.size() - 1] > at[at.size() - 2] ? 0.0 : in[0].at(at); });
          }) },
        { "fold", one([](In in, At) { // sums that take from all of dims 1 and 2
              return make({ in[0].size(0), 2, 2 }, [&](const Index& at) {
                  double sum = 0;
                  for (std::int64_t i = 0; i < in[0].size(1); ++i)
                      for (std::int64_t j = 0; j < in[0].size(2); ++j)
                          sum += in[0].at({ at[0], i, j }) * static_cast<double>((i + 2 * j + at[1] + 3 * at[2]) % 5);
                  return sum;
              });
          }) },
        { "as_interleaved_complex", one([](In in, At) { // pairs, turned by a quarter
              return make(in[0].shape, [&](Index at) {
                  const bool real = at.back() % 2 == 0;
                  at.back() += real ? 1 : -1;
                  return real ? -in[0].at(at) : in[0].at(at);
              });
          }) },
        { "irfft", one([last](In in, At a) {
              const std::int64_t axis = last(a, in[0]);
              return lines(in[0], axis, in[0].size(axis), [](const std::vector<double>& line) {
                  std::vector<double> out;
                  for (std::size_t i = 0; i < line.size(); ++i) {
                      out.push_back(0);
                      for (std::size_t j = 0; j < line.size(); ++j)
                          out.back() += line[j] * std::cos(static_cast<double>(i * j));
                  }
                  return out;
              });
          }) },
        { "resize", one([](In in, At) { // twice as large in every dim but the first
              Shape shape = in[0].shape;
              for (std::size_t d = 1; d < shape.size(); ++d)
                  shape[d] *= 2;
              return make(shape, [&](Index at) {
                  for (std::size_t d = 1; d < at.size(); ++d)
                      at[d] /= 2;
                  return in[0].at(at);
              });
          }) },
    };
    return all;
}

} // namespace shardboard::test
