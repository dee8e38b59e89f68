// SPDX-License-Identifier: Apache-2.0
#include "model/io/gguf/gguf.h"

#include "model/core/checked.h"
#include "model/io/file/openfile.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <set>
#include <utility>

namespace shardboard {

namespace {

constexpr std::uint32_t kMagic = 0x46554747; // GGUF
constexpr std::size_t kMostTensors = 400'000;
constexpr std::uint64_t kMostKeys = 100'000;
constexpr std::uint64_t kLongestText = 16 << 20; ///< of a value: chat templates are long
constexpr std::size_t kLongestKept = 400; ///< of a text
constexpr std::uint64_t kLongestName = 1024;
constexpr int kDeepest = 4; ///< lists in lists
const char* const kBroken = "the file is damaged or not complete; get it again";

constexpr std::array kTypes {
    GgmlType { 0, "f32", 1, 4, DType::F32 },
    GgmlType { 1, "f16", 1, 2, DType::F16 },
    GgmlType { 2, "q4_0", 32, 18 },
    GgmlType { 3, "q4_1", 32, 20 },
    GgmlType { 6, "q5_0", 32, 22 },
    GgmlType { 7, "q5_1", 32, 24 },
    GgmlType { 8, "q8_0", 32, 34 },
    GgmlType { 9, "q8_1", 32, 36 },
    GgmlType { 10, "q2_k", 256, 84 },
    GgmlType { 11, "q3_k", 256, 110 },
    GgmlType { 12, "q4_k", 256, 144 },
    GgmlType { 13, "q5_k", 256, 176 },
    GgmlType { 14, "q6_k", 256, 210 },
    GgmlType { 15, "q8_k", 256, 292 },
    GgmlType { 16, "iq2_xxs", 256, 66 },
    GgmlType { 17, "iq2_xs", 256, 74 },
    GgmlType { 18, "iq3_xxs", 256, 98 },
    GgmlType { 19, "iq1_s", 256, 50 },
    GgmlType { 20, "iq4_nl", 32, 18 },
    GgmlType { 21, "iq3_s", 256, 110 },
    GgmlType { 22, "iq2_s", 256, 82 },
    GgmlType { 23, "iq4_xs", 256, 136 },
    GgmlType { 24, "i8", 1, 1, DType::I8 },
    GgmlType { 25, "i16", 1, 2, DType::I16 },
    GgmlType { 26, "i32", 1, 4, DType::I32 },
    GgmlType { 27, "i64", 1, 8, DType::I64 },
    GgmlType { 28, "f64", 1, 8, DType::F64 },
    GgmlType { 29, "iq1_m", 256, 56 },
    GgmlType { 30, "bf16", 1, 2, DType::BF16 },
    GgmlType { 34, "tq1_0", 256, 54 },
    GgmlType { 35, "tq2_0", 256, 66 },
    GgmlType { 39, "mxfp4", 32, 17 },
    GgmlType { 40, "nvfp4", 64, 36 },
};

/// Types of values, as they are numbered in the file.
enum ValueType : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, Text, List, U64, I64, F64, kValueTypes };
constexpr std::array<std::uint64_t, kValueTypes> kSizes { 1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8 }; // at least, in the file

class GgufReader {
public:
    explicit GgufReader(const std::string& path)
        : m_path(path)
    {
    }

    Result<GgufFile> read()
    {
        const auto regular = OpenFile::open(m_path); // and nothing that waits
        if (!regular.ok())
            return regular.error();
        m_size = static_cast<std::uint64_t>(regular.value().size());
        m_file.open(m_path, std::ios::binary);
        if (!m_file)
            return inputError(m_path, "cannot be read", "check the path and its permissions");
        if (!header())
            return *m_error;
        for (std::uint64_t i = 0; i < m_keys; ++i)
            if (!pair())
                return *m_error;
        for (std::uint64_t i = 0; i < m_tensors; ++i)
            if (!tensor())
                return *m_error;
        if (!places())
            return *m_error;
        return std::move(m_out);
    }

private:
    bool fail(const std::string& what)
    {
        if (!m_error)
            m_error = inputError(m_path, what, kBroken);
        return false;
    }

    std::uint64_t left() const { return m_size - m_at; }

    bool bytes(void* to, std::uint64_t count)
    {
        if (count > left())
            return fail("ends in the middle of its header");
        m_file.read(static_cast<char*>(to), static_cast<std::streamsize>(count));
        m_at += count;
        return m_file ? true : fail("cannot be read to the end of its header");
    }

    bool skip(std::uint64_t count)
    {
        if (count > left())
            return fail("ends in the middle of its header");
        m_file.seekg(static_cast<std::streamoff>(count), std::ios::cur);
        m_at += count;
        return m_file ? true : fail("cannot be read to the end of its header");
    }

    /// Little-endian, as the machines are that this program is made for.
    template <class T>
    bool value(T& to)
    {
        static_assert(std::endian::native == std::endian::little);
        return bytes(&to, sizeof(T));
    }

    bool text(std::string& to, std::uint64_t longest, std::size_t kept, const std::string& what)
    {
        std::uint64_t size = 0;
        if (!value(size))
            return false;
        if (size > longest || size > left())
            return fail(what + " has a text of " + std::to_string(size) + " bytes");
        to.resize(std::min<std::uint64_t>(size, kept));
        return bytes(to.data(), to.size()) && skip(size - to.size());
    }

    bool header()
    {
        std::uint32_t magic = 0;
        if (m_size < 24 || !value(magic) || magic != kMagic) {
            m_error = inputError(m_path, "is no GGUF file", "give a .gguf file, or the folder of a model");
            return false;
        }
        if (!value(m_out.version))
            return false;
        if (m_out.version != 2 && m_out.version != 3) {
            const bool turned = m_out.version > 0 && m_out.version % 0x1000000 == 0;
            m_error = inputError(m_path,
                                 turned ? "is a GGUF file of a big-endian machine"
                                        : "is a GGUF file of version " + std::to_string(m_out.version),
                                 "versions 2 and 3 of little-endian machines can be read; convert it with llama.cpp");
            return false;
        }
        if (!value(m_tensors) || !value(m_keys))
            return false;
        // A key takes 13 bytes at least, and a tensor 32.
        if (m_tensors > kMostTensors || m_tensors > left() / 32)
            return fail("claims " + std::to_string(m_tensors) + " tensors");
        if (m_keys > kMostKeys || m_keys > left() / 13)
            return fail("claims " + std::to_string(m_keys) + " keys");
        return true;
    }

    bool pair()
    {
        std::string key;
        std::uint32_t type = 0;
        if (!text(key, kLongestName, kLongestName, "a key") || !value(type))
            return false;
        if (key.empty() || nameProblem(key))
            return fail("has a key that is no name");
        const std::string shown = shortened(visibleText(key), 120);
        GgufValue out = std::int64_t { 0 };
        if (!item(type, out, shown, 0))
            return false;
        if (!m_out.values.emplace(key, std::move(out)).second)
            return fail("has the key '" + shown + "' twice");
        return true;
    }

    template <class T, class As>
    bool plain(GgufValue& out)
    {
        T read {};
        if (!value(read))
            return false;
        out = static_cast<As>(read);
        return true;
    }

    bool item(std::uint32_t type, GgufValue& out, const std::string& key, int depth)
    {
        switch (type) {
        case U8:
            return plain<std::uint8_t, std::int64_t>(out);
        case I8:
            return plain<std::int8_t, std::int64_t>(out);
        case U16:
            return plain<std::uint16_t, std::int64_t>(out);
        case I16:
            return plain<std::int16_t, std::int64_t>(out);
        case U32:
            return plain<std::uint32_t, std::int64_t>(out);
        case I32:
            return plain<std::int32_t, std::int64_t>(out);
        case F32:
            return plain<float, double>(out);
        case F64:
            return plain<double, double>(out);
        case I64:
            return plain<std::int64_t, std::int64_t>(out);
        case U64: {
            std::uint64_t read = 0;
            if (!value(read))
                return false;
            out = static_cast<std::int64_t>(std::min<std::uint64_t>(read, std::uint64_t { 1 } << 62));
            return true;
        }
        case Bool: {
            std::uint8_t read = 0;
            if (!value(read))
                return false;
            if (read > 1)
                return fail("'" + key + "' is a truth value of " + std::to_string(read));
            out = read == 1;
            return true;
        }
        case Text: {
            std::string read;
            if (!text(read, kLongestText, kLongestKept, "'" + key + "'"))
                return false;
            out = nameProblem(read) ? visibleText(read) : read;
            return true;
        }
        case List:
            return list(out, key, depth);
        default:
            return fail("'" + key + "' is of the unknown type " + std::to_string(type));
        }
    }

    bool list(GgufValue& out, const std::string& key, int depth)
    {
        std::uint32_t type = 0;
        std::uint64_t size = 0;
        if (!value(type) || !value(size))
            return false;
        if (type >= kValueTypes)
            return fail("'" + key + "' is a list of the unknown type " + std::to_string(type));
        if (depth >= kDeepest)
            return fail("'" + key + "' has lists in lists, more than " + std::to_string(kDeepest) + " deep");
        if (size > left() / kSizes[type])
            return fail("'" + key + "' claims " + std::to_string(size) + " items");
        GgufList all;
        all.size = static_cast<std::int64_t>(size);
        const bool varies = type == Text || type == List;
        for (std::uint64_t i = 0; i < size && (varies || i < kMostListed); ++i) {
            GgufValue each = std::int64_t { 0 };
            if (type == Text) { // read over: vocabularies are long
                std::uint64_t length = 0;
                if (!value(length))
                    return false;
                if (length > kLongestText || !skip(length))
                    return fail("'" + key + "' has a text of " + std::to_string(length) + " bytes");
                continue;
            }
            if (!item(type, each, key, depth + 1))
                return false;
            if (const auto* whole = std::get_if<std::int64_t>(&each))
                all.numbers.push_back(static_cast<double>(*whole));
            else if (const auto* real = std::get_if<double>(&each))
                all.numbers.push_back(*real);
            else if (const auto* truth = std::get_if<bool>(&each))
                all.numbers.push_back(*truth ? 1 : 0);
        }
        if (!varies && size > kMostListed && !skip((size - kMostListed) * kSizes[type]))
            return false;
        out = std::move(all);
        return true;
    }

    bool tensor()
    {
        GgufTensor out;
        std::uint32_t dims = 0, type = 0;
        std::uint64_t offset = 0;
        if (!text(out.name, kLongestName, kLongestName, "a tensor") || !value(dims))
            return false;
        if (out.name.empty() || nameProblem(out.name))
            return fail("has a tensor without a name");
        const std::string shown = "tensor '" + shortened(visibleText(out.name), 120) + "' ";
        if (dims > 4)
            return fail(shown + "has " + std::to_string(dims) + " dims");
        for (std::uint32_t i = 0; i < dims; ++i) {
            std::uint64_t size = 0;
            if (!value(size))
                return false;
            if (size > (std::uint64_t { 1 } << 48))
                return fail(shown + "has a dim of " + std::to_string(size));
            out.shape.insert(out.shape.begin(), static_cast<std::int64_t>(size));
        }
        if (!value(type) || !value(offset))
            return false;
        out.type = ggmlType(type);
        if (out.type == nullptr)
            return fail(shown + "is of the unknown type " + std::to_string(type));
        const auto elements = elementCount(out.shape);
        const std::int64_t row = out.shape.empty() ? 1 : out.shape.back();
        if (row % out.type->block != 0)
            return fail(shown + "has rows of " + std::to_string(row) + ", and a block of " + out.type->name + " has "
                        + std::to_string(out.type->block) + " elements");
        const auto bytes = elements ? checkedMultiply(*elements / out.type->block, out.type->bytes) : std::nullopt;
        if (!bytes || offset > m_size)
            return fail(shown + "is larger than the file");
        out.begin = static_cast<std::int64_t>(offset);
        out.bytes = *bytes;
        if (!m_names.insert(out.name).second)
            return fail(shown + "is there twice");
        m_out.tensors.push_back(std::move(out));
        return true;
    }

    /// Tensors lie behind the header, aligned, within the file, and none in another one.
    bool places()
    {
        const std::int64_t alignment = m_out.integer("general.alignment").value_or(32);
        if (alignment < 1 || alignment > (1 << 20) || alignment % 8 != 0)
            return fail("aligns its tensors to " + std::to_string(alignment) + " bytes");
        const std::uint64_t step = static_cast<std::uint64_t>(alignment);
        const std::uint64_t data = (m_at + step - 1) / step * step;
        if (data > m_size && !m_out.tensors.empty())
            return fail("ends before its tensors");
        std::vector<const GgufTensor*> order;
        for (const GgufTensor& each : m_out.tensors)
            order.push_back(&each);
        std::ranges::sort(order, [](const GgufTensor* a, const GgufTensor* b) { return a->begin < b->begin; });
        std::int64_t end = 0;
        for (const GgufTensor* each : order) {
            const std::string shown = "tensor '" + shortened(visibleText(each->name), 120) + "' ";
            if (each->begin % alignment != 0)
                return fail(shown + "does not lie at a multiple of " + std::to_string(alignment) + " bytes");
            if (each->begin < end)
                return fail(shown + "lies in another one");
            const auto last = checkedAdd(each->begin, each->bytes);
            if (!last || static_cast<std::uint64_t>(*last) > m_size - data)
                return fail(shown + "goes beyond the end of the file");
            end = *last;
        }
        return true;
    }

    std::string m_path;
    std::ifstream m_file;
    std::uint64_t m_size = 0;
    std::uint64_t m_at = 0;
    std::uint64_t m_tensors = 0;
    std::uint64_t m_keys = 0;
    std::set<std::string> m_names;
    GgufFile m_out;
    std::optional<Error> m_error;
};

} // namespace

WeightPacking GgmlType::packing() const
{
    return plain ? WeightPacking {} : WeightPacking { 0, 1, block, 8.0 * static_cast<double>(bytes) };
}

const GgmlType* ggmlType(std::uint32_t number)
{
    const auto found = std::ranges::find_if(kTypes, [&](const GgmlType& type) { return type.number == number; });
    return found == kTypes.end() ? nullptr : &*found;
}

std::optional<double> GgufFile::number(const std::string& key) const
{
    const auto found = values.find(key);
    if (found == values.end())
        return std::nullopt;
    if (const auto* whole = std::get_if<std::int64_t>(&found->second))
        return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&found->second))
        return std::isfinite(*real) ? std::optional(*real) : std::nullopt;
    if (const auto* list = std::get_if<GgufList>(&found->second); list != nullptr && !list->numbers.empty())
        return std::isfinite(list->numbers.front()) ? std::optional(list->numbers.front()) : std::nullopt;
    return std::nullopt;
}

std::optional<std::int64_t> GgufFile::integer(const std::string& key) const
{
    const auto real = number(key);
    return real && std::abs(*real) < 4e18 ? std::optional(static_cast<std::int64_t>(*real)) : std::nullopt;
}

std::string GgufFile::text(const std::string& key) const
{
    const auto found = values.find(key);
    const auto* out = found == values.end() ? nullptr : std::get_if<std::string>(&found->second);
    return out == nullptr ? std::string() : *out;
}

Result<GgufFile> readGguf(const std::string& path) { return GgufReader(path).read(); }

} // namespace shardboard
