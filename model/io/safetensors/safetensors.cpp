// SPDX-License-Identifier: Apache-2.0
#include "model/io/safetensors/safetensors.h"

#include "model/core/checked.h"
#include "model/io/file/openfile.h"
#include "model/io/json/jsontext.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace shardboard {

namespace {

using nlohmann::json;

constexpr std::int64_t kLongestHeader = 100'000'000; // the format's own limit
constexpr std::size_t kMostTensorsOfFile = 200'000; // the largest checkpoints known have 100,000 in all their files together
constexpr std::size_t kLongestName = 1024;
constexpr std::size_t kMostNameBytes = std::size_t { 32 } << 20;
constexpr std::size_t kMostDims = 16;
const char* const kBroken = "the file is damaged; get it again";

/// Follows the header's structure: an object of tensors, each an object of three known keys.
class HeaderEvents : public JsonEvents {
public:
    std::vector<StoredTensor> tensors;

    bool null() override
    {
        if (m_inMetadata && m_depth == 1) { // as good as absent
            m_inMetadata = false;
            return true;
        }
        return scalar("null");
    }
    bool boolean(bool) override { return scalar("a truth value"); }
    bool number_integer(json::number_integer_t value) override { return integer(value); }
    bool number_unsigned(json::number_unsigned_t value) override
    {
        if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return wrong("holds the number " + std::to_string(value) + ", which is too large");
        return integer(static_cast<std::int64_t>(value));
    }
    bool number_float(json::number_float_t, const std::string& text) override { return scalar(text); }
    bool string(std::string& value) override;
    bool binary(json::binary_t&) override { return false; }
    bool start_object(std::size_t) override;
    bool end_object() override;
    bool start_array(std::size_t) override;
    bool end_array() override;
    bool key(std::string& name) override;

private:
    enum class Field { None, DType, Shape, Offsets, Other };

    bool inEntry() const { return m_depth == 2 && !m_inMetadata; }
    bool wrong(const std::string& what)
    {
        return refuse((m_depth > 1 ? "tensor '" + shortened(m_name, 120) + "' " : "the header ") + what, kBroken);
    }
    bool scalar(const std::string& what)
    {
        if (m_skip > 0 || (inEntry() && m_field == Field::Other))
            return true;
        return m_inMetadata ? refuse("__metadata__ holds something other than strings", kBroken)
                            : wrong("has " + what + " where it cannot be");
    }
    bool integer(std::int64_t value);
    bool finishEntry();

    std::string m_name;
    std::size_t m_nameBytes = 0; ///< of all tensors
    Field m_field = Field::None;
    int m_depth = 0; ///< 1 in the header, 2 in a tensor's entry
    int m_skip = 0; ///< open objects and arrays under a key that is not ours
    bool m_inMetadata = false;
    bool m_metadataSeen = false;
    bool m_inList = false;
    StoredTensor m_tensor;
    std::vector<std::int64_t> m_offsets;
    bool m_hasType = false;
    bool m_hasShape = false;
};

bool HeaderEvents::string(std::string& value)
{
    if (m_skip > 0 || (m_inMetadata && m_depth == 2) || (inEntry() && m_field == Field::Other))
        return true;
    if (!inEntry() || m_inList || m_field != Field::DType)
        return scalar("a text");
    const auto type = dtypeFromSafetensors(value);
    if (!type)
        return wrong("has the unknown dtype '" + shortened(value, 40) + "'");
    m_tensor.dtype = *type;
    m_hasType = true;
    return true;
}

bool HeaderEvents::integer(std::int64_t value)
{
    if (m_skip > 0 || !m_inList)
        return scalar("a number");
    if (value < 0)
        return wrong("holds the negative number " + std::to_string(value));
    std::vector<std::int64_t>& list = m_field == Field::Shape ? m_tensor.shape : m_offsets;
    if (list.size() >= (m_field == Field::Shape ? kMostDims : 2))
        return wrong(m_field == Field::Shape ? "has more than 16 dims" : "has more than two data_offsets");
    list.push_back(value);
    return true;
}

bool HeaderEvents::start_object(std::size_t)
{
    if (m_skip > 0 || (inEntry() && m_field == Field::Other)) {
        ++m_skip;
        return true;
    }
    if (m_depth >= 2)
        return scalar("an object");
    if (++m_depth == 2 && !m_inMetadata) {
        m_tensor = {};
        m_tensor.name = m_name;
        m_offsets.clear();
        m_hasType = m_hasShape = false;
        m_field = Field::None;
    }
    return true;
}

bool HeaderEvents::end_object()
{
    if (m_skip > 0) {
        --m_skip;
        return true;
    }
    const bool good = !inEntry() || finishEntry();
    --m_depth;
    m_inMetadata = false;
    return good;
}

bool HeaderEvents::start_array(std::size_t)
{
    if (m_skip > 0 || (inEntry() && m_field == Field::Other)) {
        ++m_skip;
        return true;
    }
    if (!inEntry() || m_inList || (m_field != Field::Shape && m_field != Field::Offsets))
        return scalar("a list");
    m_inList = true;
    m_hasShape = m_hasShape || m_field == Field::Shape;
    return true;
}

bool HeaderEvents::end_array()
{
    if (m_skip > 0)
        --m_skip;
    else
        m_inList = false;
    return true;
}

bool HeaderEvents::key(std::string& name)
{
    if (m_skip > 0 || m_inMetadata)
        return true;
    if (m_depth == 1) {
        if (name.size() > kLongestName)
            return refuse("a tensor's name is longer than " + std::to_string(kLongestName) + " bytes", kBroken);
        if (const auto problem = nameProblem(name))
            return refuse("the tensor name '" + shortened(visibleText(name), 80) + "' " + *problem,
                          "rename the tensor, or get the file again");
        m_nameBytes += name.size();
        if (m_nameBytes > kMostNameBytes)
            return refuse("the names take more than " + std::to_string(kMostNameBytes) + " bytes", kBroken);
        m_inMetadata = name == "__metadata__";
        if (m_inMetadata && m_metadataSeen)
            return refuse("__metadata__ appears twice", kBroken);
        m_metadataSeen = m_metadataSeen || m_inMetadata;
        m_name = name;
        return true;
    }
    m_field = name == "dtype"    ? Field::DType
        : name == "shape"        ? Field::Shape
        : name == "data_offsets" ? Field::Offsets
                                 : Field::Other;
    const bool twice = (m_field == Field::DType && m_hasType) || (m_field == Field::Shape && m_hasShape)
        || (m_field == Field::Offsets && !m_offsets.empty());
    return twice ? wrong("has '" + name + "' twice") : true;
}

bool HeaderEvents::finishEntry()
{
    if (!m_hasType || !m_hasShape || m_offsets.size() != 2)
        return wrong("lacks its dtype, shape or two data_offsets");
    m_tensor.begin = m_offsets[0];
    m_tensor.end = m_offsets[1];
    const auto elements = elementCount(m_tensor.shape);
    const auto bits = elements ? checkedMultiply(*elements, bitsOf(m_tensor.dtype)) : std::nullopt;
    const std::string size = shapeText(m_tensor.shape) + " " + dtypeName(m_tensor.dtype);
    if (!bits)
        return wrong("of " + size + " is too large to count");
    if (*bits % 8 != 0)
        return wrong("of " + size + " ends within a byte");
    if (m_tensor.end < m_tensor.begin || m_tensor.end - m_tensor.begin != *bits / 8)
        return wrong("of " + size + " needs " + std::to_string(*bits / 8) + " bytes, its data_offsets are "
                     + std::to_string(m_tensor.begin) + " to " + std::to_string(m_tensor.end));
    if (tensors.size() >= kMostTensorsOfFile)
        return refuse("more than " + std::to_string(kMostTensorsOfFile) + " tensors", kBroken);
    tensors.push_back(std::move(m_tensor));
    return true;
}

/// Sorted by offset, tensors must follow one another from 0 to the end of the file; names must differ.
Status checkWhole(const std::vector<StoredTensor>& tensors, std::int64_t dataBytes, const std::string& path)
{
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t { 0 });
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return tensors[a].name < tensors[b].name; });
    for (std::size_t i = 1; i < order.size(); ++i)
        if (tensors[order[i]].name == tensors[order[i - 1]].name)
            return inputError(path + ":" + tensors[order[i]].name, "the tensor appears twice", kBroken);
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        return std::pair(tensors[a].begin, tensors[a].end) < std::pair(tensors[b].begin, tensors[b].end);
    });
    std::int64_t expected = 0;
    for (const std::size_t index : order) {
        const StoredTensor& tensor = tensors[index];
        if (tensor.begin != expected)
            return inputError(path + ":" + tensor.name,
                              std::string(tensor.begin < expected ? "its data overlap those of another tensor"
                                                                  : "there is a hole before its data")
                                  + ": they begin at byte " + std::to_string(tensor.begin) + ", expected "
                                  + std::to_string(expected),
                              kBroken);
        expected = tensor.end;
    }
    if (expected != dataBytes)
        return inputError(path,
                          "the tensors take " + std::to_string(expected) + " bytes, the file has " + std::to_string(dataBytes)
                              + " bytes of data",
                          expected > dataBytes ? "the file is cut off; get it again" : kBroken);
    return done();
}

} // namespace

Result<std::vector<StoredTensor>> readSafetensorsHeader(const std::string& path)
{
    auto opened = OpenFile::open(path);
    if (!opened.ok())
        return opened.error();
    OpenFile& file = opened.value();
    if (const auto pointer = lfsPointerAt(path))
        return lfsPointerError(path, *pointer);
    std::array<char, 8> head {};
    const auto got = file.read(head.data(), head.size());
    if (!got || *got < head.size())
        return inputError(path, file.size() == 0 ? "the file is empty" : "the file is too short for a safetensors header",
                          "get it again");
    std::uint64_t length = 0;
    for (std::size_t i = head.size(); i-- > 0;)
        length = length << 8 | static_cast<unsigned char>(head[i]);
    if (length > static_cast<std::uint64_t>(kLongestHeader))
        return inputError(
            path, "its header claims " + std::to_string(length) + " bytes, the format allows " + std::to_string(kLongestHeader),
            "this is not a safetensors file, or it is damaged");
    if (static_cast<std::int64_t>(length) > file.size() - 8)
        return inputError(
            path, "its header claims " + std::to_string(length) + " bytes, the file has only " + std::to_string(file.size()),
            "the file is cut off; get it again");
    std::size_t left = static_cast<std::size_t>(length);
    bool first = true;
    bool begins = true;
    const JsonSource source = [&](char* buffer, std::size_t size) -> std::size_t {
        const auto count = file.read(buffer, std::min(size, left));
        if (!count)
            return 0;
        left -= *count;
        begins = begins && (!first || (*count > 0 && buffer[0] == '{'));
        first = false;
        return begins ? *count : 0;
    };
    HeaderEvents events;
    JsonLimits limits;
    limits.token = std::size_t { 1 } << 17;
    const auto status = readJsonEvents(source, events, path + ":header", limits, true);
    if (!begins)
        return inputError(path + ":header", "does not begin with '{'", "this is not a safetensors file, or it is damaged");
    if (!status.ok())
        return status.error();
    const std::int64_t dataBytes = file.size() - 8 - static_cast<std::int64_t>(length);
    if (const auto whole = checkWhole(events.tensors, dataBytes, path); !whole.ok())
        return whole.error();
    return std::move(events.tensors);
}

std::optional<LfsPointer> lfsPointerFromText(std::string_view text)
{
    constexpr std::string_view kFirst = "version https://git-lfs.github.com/spec/";
    constexpr std::size_t kLongestPointer = 1024; // the specification's own limit
    if (!text.starts_with(kFirst) || text.size() > kLongestPointer)
        return std::nullopt;
    for (const std::string_view line : split(text, '\n'))
        if (line.starts_with("size "))
            if (const auto bytes = parseInteger(line.substr(5)))
                return LfsPointer { *bytes };
    return std::nullopt;
}

std::optional<LfsPointer> lfsPointerAt(const std::string& path)
{
    auto file = OpenFile::open(path);
    if (!file.ok() || file.value().size() > 1024)
        return std::nullopt;
    std::array<char, 1025> buffer {};
    const auto count = file.value().read(buffer.data(), buffer.size());
    return count ? lfsPointerFromText(std::string_view(buffer.data(), *count)) : std::nullopt;
}

Error lfsPointerError(const std::string& path, const LfsPointer& pointer)
{
    return inputError(path, "a Git LFS pointer in place of a file of " + std::to_string(pointer.bytes) + " bytes",
                      "run 'git lfs pull' in its folder");
}

} // namespace shardboard
