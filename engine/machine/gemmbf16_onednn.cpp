// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 values by oneDNN.
#include "engine/machine/failure.h"
#include "engine/machine/gemm.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <array>
#include <bit>
#include <map>
#include <new>
#include <vector>

namespace shardboard::engine {

namespace {

/// Below this the library's float32 is as fast, narrowing counted.
constexpr std::int64_t kLeastWork = std::int64_t { 1 } << 19;
constexpr std::int64_t kLeastSide = 8;

/// Sizes, which side is transposed, the distance between rows of C, and whether it is added to.
using Key = std::array<std::int64_t, 7>;

struct Product {
    dnnl::matmul::primitive_desc described;
    dnnl::matmul run;
};

dnnl::memory::desc narrow(std::int64_t rows, std::int64_t columns, bool transposed)
{
    using Tag = dnnl::memory::format_tag;
    return { { rows, columns }, dnnl::memory::data_type::bf16, transposed ? Tag::ba : Tag::ab };
}

/// What a thread has: the library's objects are made once for each size.
class Products {
public:
    /// Of what the rooms for both sides hold.
    void multiply(const Key& key, float* c)
    {
        const Product& product = of(key);
        dnnl::memory left(product.described.src_desc(), m_engine, a.data());
        dnnl::memory right(product.described.weights_desc(), m_engine, b.data());
        dnnl::memory result(product.described.dst_desc(), m_engine, c);
        product.run.execute(m_stream, { { DNNL_ARG_SRC, left }, { DNNL_ARG_WEIGHTS, right }, { DNNL_ARG_DST, result } });
        m_stream.wait();
    }
    std::vector<std::uint16_t> a;
    std::vector<std::uint16_t> b;

private:
    const Product& of(const Key& key)
    {
        constexpr std::size_t kMost = 256;
        if (const auto known = m_known.find(key); known != m_known.end())
            return known->second;
        if (m_known.size() >= kMost)
            m_known.clear();
        const auto [m, n, k, transposeA, transposeB, ldc, adds] = key;
        const dnnl::memory::desc result({ m, n }, dnnl::memory::data_type::f32, dnnl::memory::dims { ldc, 1 });
        dnnl::primitive_attr attributes;
        if (adds != 0) {
            dnnl::post_ops after;
            after.append_sum(1.0f);
            attributes.set_post_ops(after);
        }
        const dnnl::matmul::desc wanted(narrow(m, k, transposeA != 0), narrow(k, n, transposeB != 0), result);
        const dnnl::matmul::primitive_desc described(wanted, attributes, m_engine);
        return m_known.emplace(key, Product { described, dnnl::matmul(described) }).first->second;
    }

    dnnl::engine m_engine { dnnl::engine::kind::cpu, 0 };
    dnnl::stream m_stream { m_engine };
    std::map<Key, Product> m_known;
};

/// The stored rows, one after the other.
void narrowRows(const float* from, std::int64_t rows, std::int64_t columns, std::int64_t distance, std::vector<std::uint16_t>& out)
{
    out.resize(static_cast<std::size_t>(rows * columns));
    std::uint16_t* to = out.data();
    for (std::int64_t row = 0; row < rows; ++row, to += columns)
        for (std::int64_t i = 0; i < columns; ++i)
            to[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(from[row * distance + i]) >> 16);
}

} // namespace

bool hasBf16Products()
{
    static const bool has = [] {
        const auto isa = dnnl::get_effective_cpu_isa();
        return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
    }();
    return has;
}

void bf16gemm(bool transposeA, bool transposeB, std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda,
              const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc)
{
    if (!hasBf16Products() || m < kLeastSide || n < kLeastSide || k < kLeastSide || m * n * k < kLeastWork)
        return sgemm(transposeA, transposeB, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
    try {
        static thread_local Products products;
        narrowRows(a, transposeA ? k : m, transposeA ? m : k, lda, products.a);
        narrowRows(b, transposeB ? n : k, transposeB ? k : n, ldb, products.b);
        products.multiply({ m, n, k, transposeA, transposeB, ldc, beta != 0 }, c);
    } catch (const dnnl::error& error) {
        if (error.status == dnnl_out_of_memory)
            throw std::bad_alloc();
        throw Failure { "internal", std::string("oneDNN refused a matrix product: ") + error.what(), "" };
    }
}

} // namespace shardboard::engine
