// SPDX-License-Identifier: Apache-2.0
// Small arrays of numbers for tests: made element by element, cut and put together. Slow and obvious on purpose.
#pragma once

#include "model/core/tensor.h"

#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace shardboard::test {

using Index = std::vector<std::int64_t>;

struct Array {
    Shape shape;
    std::vector<double> values;

    std::size_t offset(const Index& at) const
    {
        std::size_t out = 0;
        for (std::size_t d = 0; d < shape.size(); ++d) {
            if (at[d] < 0 || at[d] >= shape[d])
                throw std::out_of_range("index");
            out = out * static_cast<std::size_t>(shape[d]) + static_cast<std::size_t>(at[d]);
        }
        return out;
    }
    double at(const Index& index) const { return values[offset(index)]; }
    std::int64_t rank() const { return static_cast<std::int64_t>(shape.size()); }
    std::int64_t size(std::int64_t dim) const { return shape.at(static_cast<std::size_t>(dim)); }
};

/// Calls `each` with every index in row-major order.
template <class Each>
void forEach(const Shape& shape, Each each)
{
    for (const std::int64_t size : shape)
        if (size <= 0)
            return;
    Index at(shape.size(), 0);
    for (;;) {
        each(at);
        std::size_t d = shape.size();
        while (d > 0 && ++at[d - 1] == shape[d - 1])
            at[--d] = 0;
        if (d == 0)
            return;
    }
}

inline Array make(Shape shape, const std::function<double(const Index&)>& value)
{
    Array out { std::move(shape), {} };
    forEach(out.shape, [&](const Index& at) { out.values.push_back(value(at)); });
    return out;
}

inline Array map(const Array& a, const std::function<double(double)>& f)
{
    return make(a.shape, [&](const Index& at) { return f(a.at(at)); });
}

/// Element by element with broadcasting, aligned at the right.
inline Array zip(const std::vector<Array>& in, const std::function<double(const std::vector<double>&)>& f)
{
    std::size_t rank = 0;
    for (const Array& a : in)
        rank = std::max(rank, a.shape.size());
    Shape shape(rank, 1);
    for (const Array& a : in)
        for (std::size_t d = 0; d < a.shape.size(); ++d) {
            std::int64_t& size = shape[rank - a.shape.size() + d];
            if (a.shape[d] != 1 && size != 1 && size != a.shape[d])
                throw std::runtime_error("shapes do not broadcast");
            size = std::max(size, a.shape[d]);
            if (a.shape[d] == 0)
                size = 0;
        }
    return make(shape, [&](const Index& at) {
        std::vector<double> values;
        for (const Array& a : in) {
            Index own(at.end() - static_cast<std::ptrdiff_t>(a.shape.size()), at.end());
            for (std::size_t d = 0; d < own.size(); ++d)
                own[d] = a.shape[d] == 1 ? 0 : own[d];
            values.push_back(a.at(own));
        }
        return f(values);
    });
}

/// Elements [from, to) of a dim.
inline Array slice(const Array& a, std::int64_t dim, std::int64_t from, std::int64_t to)
{
    Shape shape = a.shape;
    shape.at(static_cast<std::size_t>(dim)) = to - from;
    return make(shape, [&](const Index& at) {
        Index own = at;
        own[static_cast<std::size_t>(dim)] += from;
        return a.at(own);
    });
}

/// Part i of n: larger parts first.
inline Array part(const Array& a, std::int64_t dim, std::int64_t i, std::int64_t n)
{
    const std::int64_t q = a.size(dim) / n;
    const std::int64_t rest = a.size(dim) % n;
    const std::int64_t from = i * q + std::min(i, rest);
    return slice(a, dim, from, from + q + (i < rest ? 1 : 0));
}

inline Array joinAlong(const std::vector<Array>& parts, std::int64_t dim)
{
    Shape shape = parts.front().shape;
    const auto d = static_cast<std::size_t>(dim);
    shape.at(d) = 0;
    for (const Array& p : parts) {
        for (std::size_t k = 0; k < shape.size(); ++k)
            if (p.shape.size() != shape.size() || (k != d && p.shape[k] != shape[k]))
                throw std::runtime_error("shapes do not join");
        shape[d] += p.shape[d];
    }
    return make(shape, [&](const Index& at) {
        Index own = at;
        for (const Array& p : parts) {
            if (own[d] < p.shape[d])
                return p.at(own);
            own[d] -= p.shape[d];
        }
        return 0.0;
    });
}

inline Array reshaped(const Array& a, const Shape& shape)
{
    if (elementCount(shape).value_or(-1) != static_cast<std::int64_t>(a.values.size()))
        throw std::runtime_error("other number of elements");
    return { shape, a.values };
}

inline Array added(const std::vector<Array>& parts)
{
    Array out = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) {
        if (parts[i].shape != out.shape)
            throw std::runtime_error("shapes do not add");
        for (std::size_t k = 0; k < out.values.size(); ++k)
            out.values[k] += parts[i].values[k];
    }
    return out;
}

inline bool close(const Array& a, const Array& b)
{
    if (a.shape != b.shape)
        return false;
    for (std::size_t i = 0; i < a.values.size(); ++i)
        if (!(std::abs(a.values[i] - b.values[i]) <= 1e-9 * (1 + std::abs(b.values[i]))))
            return false;
    return true;
}

} // namespace shardboard::test
