// SPDX-License-Identifier: Apache-2.0
#include "model/io/trace/collectivenames.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace shardboard {

namespace {

/// Letters and digits alone, small.
std::string plain(std::string_view name)
{
    std::string out;
    for (const char byte : name) {
        if (byte >= 'A' && byte <= 'Z')
            out += static_cast<char>(byte - 'A' + 'a');
        else if ((byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9'))
            out += byte;
    }
    return out;
}

struct Word {
    std::string_view text;
    CollectiveKind kind;
};
/// In plain letters; the first that a name holds decides.
constexpr std::array<Word, 8> kWords { {
    { "allreduce", CollectiveKind::AllReduce },
    { "allgather", CollectiveKind::AllGather },
    { "reducescatter", CollectiveKind::ReduceScatter },
    { "alltoall", CollectiveKind::AllToAll },
    { "sendrecv", CollectiveKind::SendRecv },
    { "collectivepermute", CollectiveKind::SendRecv },
    { "broadcast", CollectiveKind::Broadcast },
    { "localslice", CollectiveKind::LocalSlice },
} };

std::optional<CollectiveKind> kindIn(std::string_view name)
{
    const std::string text = plain(name);
    for (const Word& word : kWords)
        if (text.find(word.text) != std::string::npos)
            return word.kind;
    return {};
}

/// all-gather.12, all-reduce-start, all-reduce-start.3; not all-reduce-done, and not `all-gather fusion of …`.
std::optional<CollectiveKind> hloKind(std::string_view name)
{
    const std::size_t dot = name.find('.');
    std::string_view op = name.substr(0, dot);
    if (dot != std::string_view::npos && name.find_first_not_of("0123456789.", dot) != std::string_view::npos)
        return {};
    if (op.ends_with("-start"))
        op.remove_suffix(6);
    constexpr std::array<std::string_view, 7> kOps { "all-reduce",        "all-gather",         "reduce-scatter",      "all-to-all",
                                                     "ragged-all-to-all", "collective-permute", "collective-broadcast" };
    return std::ranges::find(kOps, op) == kOps.end() ? std::nullopt : kindIn(op);
}

} // namespace

std::optional<CollectiveKind> collectiveOfArgument(std::string_view name)
{
    if (const auto kind = kindIn(name))
        return kind;
    const std::string text = plain(name);
    return text == "send" || text == "recv" ? std::optional(CollectiveKind::SendRecv) : std::nullopt;
}

std::optional<NamedCollective> collectiveOfSlice(std::string_view name, std::string_view category)
{
    const auto from = [](std::optional<CollectiveKind> kind, CollectiveSource source) -> std::optional<NamedCollective> {
        return kind ? std::optional(NamedCollective { *kind, source }) : std::nullopt;
    };
    if (name.starts_with("nccl") || name.starts_with("rccl"))
        return name.find("Kernel") == std::string_view::npos ? from(collectiveOfArgument(name.substr(5)), CollectiveSource::Worker)
                                                             : from(kindIn(name), CollectiveSource::Kernel);
    if (name.starts_with("c10d::"))
        return from(collectiveOfArgument(name.substr(6)), CollectiveSource::Call);
    if (name.starts_with("gloo:"))
        return from(collectiveOfArgument(name.substr(5)), CollectiveSource::Worker);
    if (category == "collective") // ours
        return from(kindIn(name), CollectiveSource::Kernel);
    return from(hloKind(name), CollectiveSource::Hlo);
}

std::int64_t bytesOfElement(std::string_view dtype)
{
    if (const std::size_t colon = dtype.rfind(':'); colon != std::string_view::npos)
        dtype.remove_prefix(colon + 1);
    const std::string text = plain(dtype);
    constexpr std::array<std::pair<std::string_view, std::int64_t>, 24> kSizes { {
        { "float", 4 },      { "float32", 4 }, { "f32", 4 },      { "double", 8 },       { "float64", 8 },      { "half", 2 },
        { "float16", 2 },    { "f16", 2 },     { "bfloat16", 2 }, { "bf16", 2 },         { "byte", 1 },         { "char", 1 },
        { "signedchar", 1 }, { "uint8", 1 },   { "int8", 1 },     { "unsignedchar", 1 }, { "float8e4m3fn", 1 }, { "float8e5m2", 1 },
        { "int", 4 },        { "int32", 4 },   { "long", 8 },     { "longint", 8 },      { "int64", 8 },        { "bool", 1 },
    } };
    const auto found = std::ranges::find(kSizes, std::string_view(text), &std::pair<std::string_view, std::int64_t>::first);
    return found == kSizes.end() ? 0 : found->second;
}

} // namespace shardboard
