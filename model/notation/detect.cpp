// SPDX-License-Identifier: Apache-2.0
// The notation of a text by its looks. `P(` begins a spec of JAX, but also DTensor's `P(sum)`: a bare name of one of
// torch's reductions is DTensor's.
#include "model/notation/notation.h"
#include "model/notation/scanner.h"
#include "model/text/contains.h"
#include "model/text/text.h"

namespace shardboard {

namespace {

constexpr std::array<std::string_view, 8> kReductions { "sum", "avg", "product", "max", "min", "band", "bor", "bxor" };

bool isJax(std::string_view text)
{
    Scanner scanner(text, {}, {});
    const std::string_view word = scanner.word();
    if (word == "PartitionSpec")
        return true;
    if (word != "P" || !scanner.take("("))
        return false;
    const std::string_view inside = scanner.word();
    return !contains(kReductions, inside);
}

Notation hloVersion(std::string_view text)
{
    const auto devices = text.find("devices=[");
    const auto close = devices == std::string_view::npos ? devices : text.find(']', devices);
    const auto after = close == std::string_view::npos ? close : text.find_first_not_of(" \t\r\n", close + 1);
    const bool listed = after != std::string_view::npos && text[after] >= '0' && text[after] <= '9';
    return listed ? Notation::HloV1 : Notation::HloV2;
}

/// Placements by their words: one word that only one of them has decides.
std::optional<Notation> placementsOf(std::string_view text)
{
    constexpr std::array<std::string_view, 6> kTorch { "S", "Shard", "_S", "_StridedShard", "Replicate", "_Partial" };
    constexpr std::array<std::string_view, 2> kMax { "Sharded", "Replicated" };
    constexpr std::array<std::string_view, 3> kBoth { "R", "P", "Partial" };
    Scanner scanner(text, {}, {});
    if (!scanner.take("["))
        scanner.take("(");
    bool any = false;
    bool bareP = false;
    while (!scanner.atEnd()) {
        const std::string word(scanner.word());
        const auto in = [&](const auto& words) { return contains(words, word); };
        if (in(kMax) || (word.size() > 1 && word.front() == 'S' && parseInteger(word.substr(1))))
            return Notation::Max;
        if (in(kTorch) || (word == "P" && scanner.peek() == '('))
            return Notation::DTensor;
        const bool codes = !word.empty() && word.find_first_not_of("RSP") == std::string::npos;
        if (!in(kBoth) && !codes)
            return std::nullopt;
        any = true;
        bareP = bareP || word == "P";
        if (scanner.take("(")) {
            scanner.word();
            if (!scanner.take(")"))
                return Notation::DTensor;
        }
        scanner.take(",");
        if (scanner.take("]") || scanner.take(")"))
            break;
    }
    if (!any)
        return std::nullopt;
    return bareP ? Notation::Max : Notation::DTensor;
}

} // namespace

std::optional<Notation> detectNotation(std::string_view text)
{
    const std::string_view trimmedText = trimmed(text);
    Scanner scanner(trimmedText, {}, {});
    if (scanner.atEnd())
        return std::nullopt;
    if (isJax(trimmedText))
        return Notation::Jax;
    switch (scanner.peek()) {
    case '#':
    case '<':
        return Notation::Shardy;
    case '{':
        return hloVersion(trimmedText);
    case '[':
        scanner.take("[");
        if (scanner.peek() == '{' || scanner.peek() == ']')
            return Notation::Shardy;
        break;
    default:
        break;
    }
    return placementsOf(trimmedText);
}

} // namespace shardboard
