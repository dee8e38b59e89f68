// SPDX-License-Identifier: Apache-2.0
#include "model/io/exports/exportfiles.h"

#include "model/io/file/naturalorder.h"
#include "model/io/file/textfile.h"
#include "model/text/text.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace shardboard {

namespace {

/// Tensors that are refused for the same reason, by their names with `*` for numbers.
struct RefusedTensors {
    std::string reason;
    std::vector<std::string> names; ///< the first of them
    std::unordered_set<std::string> all;
};

std::vector<RefusedTensors> groupedRefusals(const std::vector<ExportRefusal>& refusals)
{
    constexpr std::size_t kMostNamed = 40;
    std::vector<RefusedTensors> groups;
    std::unordered_map<std::string, std::size_t> byReason;
    for (const ExportRefusal& refusal : refusals) {
        const auto [known, isNew] = byReason.try_emplace(refusal.error.what, groups.size());
        if (isNew)
            groups.push_back({ refusal.error.what, {}, {} });
        RefusedTensors& group = groups[known->second];
        const std::string name = withoutNumbers(refusal.error.where);
        if (group.all.insert(name).second && group.names.size() < kMostNamed)
            group.names.push_back(name);
    }
    return groups;
}

/// `a.*.{b, c}, d`: those of layers share what stands before the layer's number.
std::string namesText(const std::vector<std::string>& names)
{
    std::vector<std::pair<std::string, std::vector<std::string>>> byPrefix;
    for (const std::string& name : names) {
        const auto star = name.find("*.");
        const std::string prefix = star == std::string::npos ? std::string() : name.substr(0, star + 2);
        auto known = std::ranges::find_if(byPrefix, [&](const auto& entry) { return entry.first == prefix; });
        if (known == byPrefix.end())
            known = byPrefix.insert(byPrefix.end(), { prefix, {} });
        known->second.push_back(name.substr(prefix.size()));
    }
    std::vector<std::string> parts;
    for (const auto& [prefix, rests] : byPrefix)
        parts.push_back(prefix.empty() || rests.size() == 1 ? prefix + joined(rests) : prefix + "{" + joined(rests) + "}");
    return joined(parts);
}

/// ` and 3 more`, or nothing.
std::string moreText(const RefusedTensors& group)
{
    const std::size_t more = group.all.size() - group.names.size();
    return more == 0 ? std::string() : " and " + std::to_string(more) + " more";
}

/// What an export that ended at a file left: `the export is incomplete: export.py is written, shards.json is not`.
std::string leftBy(const std::vector<ExportedFile>& files, std::size_t failed)
{
    if (failed == 0)
        return "nothing was exported";
    const auto names = [&](std::size_t from, std::size_t to) {
        std::string out;
        for (std::size_t i = from; i < to; ++i)
            out += (i == from ? "" : i + 1 == to ? " and " : ", ") + files[i].name;
        return out + (to - from == 1 ? " is" : " are");
    };
    return "the export is incomplete: " + names(0, failed) + " written, " + names(failed, files.size()) + " not";
}

} // namespace

std::int64_t refusedTensors(const std::vector<ExportRefusal>& refusals)
{
    std::int64_t out = 0;
    for (const ExportRefusal& refusal : refusals)
        out += refusal.tensors;
    return out;
}

Error refusalError(const std::vector<ExportRefusal>& refusals, const std::string& framework)
{
    constexpr std::size_t kLongest = 380; // bytes of one line
    const ExportRefusal& first = refusals.front();
    if (refusals.size() == 1 || first.tensors == 0)
        return first.error;
    std::string text = framework + " cannot hold " + std::to_string(refusedTensors(refusals)) + " tensors as the plan does: ";
    const std::vector<RefusedTensors> groups = groupedRefusals(refusals);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const std::string entry =
            (i > 0 ? ", " : "") + namesText(groups[i].names) + moreText(groups[i]) + " (" + groups[i].reason + ")";
        if (i > 0 && text.size() + entry.size() > kLongest) {
            text += " and others";
            break;
        }
        text += entry;
    }
    return inputError({}, text, first.error.fix);
}

Status writeExport(const std::string& folder, const std::vector<ExportedFile>& files, const std::function<bool()>& stopped)
{
    if (stopped && stopped())
        return Cancelled {};
    const auto pathOf = [&](const ExportedFile& file) { return (std::filesystem::path(folder) / file.name).string(); };
    for (const ExportedFile& file : files)
        if (auto status = refuseLink(pathOf(file)); !status.ok())
            return status;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error || !std::filesystem::is_directory(folder, error))
        return inputError(
            folder, "the folder cannot be made" + (error ? ": " + error.message() : std::string()) + ", so nothing was exported",
            "choose a folder that can be written");
    for (const ExportedFile& file : files) {
        if (stopped && stopped())
            return Cancelled {};
        const TextSource text = [&](const TextSink& sink) {
            return file.text([&](std::string_view piece) { return !(stopped && stopped()) && sink(piece); });
        };
        const Status status = writeFileAtomically(pathOf(file), text, Links::Refuse);
        if (status.cancelled())
            return status;
        if (!status.ok()) {
            Error told = status.error();
            told.what += ", so " + leftBy(files, static_cast<std::size_t>(&file - files.data()));
            return told;
        }
    }
    return done();
}

} // namespace shardboard
