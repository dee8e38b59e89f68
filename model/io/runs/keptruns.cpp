// SPDX-License-Identifier: Apache-2.0
#include "model/io/runs/keptruns.h"

#include "model/io/file/textfile.h"
#include "model/io/json/jsonfields.h"
#include "model/io/json/jsontext.h"
#include "model/io/json/jsonwriter.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <system_error>
#include <tuple>

namespace shardboard {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kAbout = "kept.json";
constexpr const char* kDesign = "design.shardboard";
constexpr const char* kResult = "run.json";
constexpr const char* kProfile = "profile.json";
constexpr std::array kFiles { kAbout, kDesign, kResult, kProfile };
constexpr std::size_t kLargestProfile = std::size_t { 1 } << 30;
const JsonLimits kRunLimits { .values = 50'000'000 };

fs::path folderOf(const std::string& root, const std::string& name) { return fs::path(root) / name; }

Result<json> documentOf(const fs::path& path, std::size_t limit = std::size_t { 256 } << 20)
{
    const auto text = readTextFile(path.string(), limit);
    if (!text.ok())
        return text.error();
    return parseJson(text.value(), path.string(), kRunLimits);
}

Error problemOf(const fs::path& path, const std::error_code& code, const std::string& what)
{
    return inputError(path.string(), what + ": " + code.message(), "check the folder and its permissions");
}

std::int64_t bytesIn(const fs::path& folder)
{
    std::int64_t sum = 0;
    std::error_code code;
    for (const char* file : kFiles)
        if (const auto size = fs::file_size(folder / file, code); !code)
            sum += static_cast<std::int64_t>(size);
    return sum;
}

/// Letters, digits, '.', '-', and '_' of a text.
std::string wordOf(std::string_view text)
{
    std::string out;
    for (const char byte : text)
        out += std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '.' || byte == '-' || byte == '_' ? byte : '-';
    while (out.starts_with('.') || out.starts_with('-')) // an option on a command line
        out.erase(0, 1);
    return out.substr(0, 60);
}

} // namespace

std::string defaultRunsFolder()
{
    if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data == '/')
        return std::string(data) + "/shardboard/runs";
    if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
        return std::string(home) + "/.local/share/shardboard/runs";
    return {};
}

Status checkRunName(const std::string& name)
{
    const bool fits = !name.empty() && name.size() <= 100 && !name.starts_with('.') && std::ranges::all_of(name, [](char byte) {
        return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '.' || byte == '-' || byte == '_';
    });
    if (fits)
        return done();
    return usageError("the name of a run", "'" + name + "' cannot be one", "use 1 to 100 letters, digits, '.', '-', and '_'");
}

Status checkNewName(const std::string& name)
{
    if (name.starts_with('-'))
        return usageError("the name of a run", "'" + name + "' looks like an option", "begin it with a letter or a digit");
    return checkRunName(name);
}

std::string timeStamp()
{
    const std::time_t now = std::time(nullptr);
    std::tm parts {};
    gmtime_r(&now, &parts);
    std::array<char, 32> text {};
    return { text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts) };
}

std::string freshRunName(const std::string& root, const std::string& design, const std::string& made)
{
    std::string digits;
    for (const char byte : made)
        if (byte >= '0' && byte <= '9')
            digits += byte;
    std::string stem = wordOf(fs::path(design).stem().string());
    if (digits.size() == 14)
        digits.insert(8, "-");
    const std::string wanted = (stem.empty() ? "run" : stem) + "-" + digits;
    std::string name = wanted;
    std::error_code code;
    for (int n = 2; fs::exists(folderOf(root, name), code); ++n)
        name = wanted + "-" + std::to_string(n);
    return name;
}

Status keepRun(const std::string& root, const std::string& name, const NewRun& run)
{
    if (auto status = checkNewName(name); !status.ok())
        return status;
    const fs::path folder = folderOf(root, name);
    const fs::path unfinished = folderOf(root, "." + name);
    std::error_code code;
    if (fs::exists(folder, code))
        return inputError(folder.string(), "there is a run of this name", "give another name, or delete that run");
    fs::create_directories(unfinished, code);
    if (code)
        return problemOf(unfinished, code, "cannot be made");
    const json about { { "format", "shardboard-run" },
                       { "version", 1 },
                       { "made", run.made },
                       { "design", run.design },
                       { "hardware", run.hardware },
                       { "mesh", run.mesh },
                       { "options", toJson(run.options) } };
    const auto write = [&](const char* file, const std::string& content) {
        return writeFileAtomically((unfinished / file).string(), content);
    };
    Status status = write(kAbout, jsonText(about, 1) + "\n");
    if (status.ok())
        status = write(kDesign, run.designText);
    if (status.ok())
        status = write(kResult, jsonText(toJson(run.result), 1) + "\n");
    if (status.ok() && run.profile)
        status = write(kProfile, jsonText(profileToJson(*run.profile)) + "\n");
    if (status.ok()) {
        fs::rename(unfinished, folder, code);
        if (!code)
            return done();
        status = problemOf(folder, code, "cannot be made");
    }
    for (const char* file : kFiles)
        fs::remove(unfinished / file, code);
    fs::remove(unfinished, code);
    return status;
}

Result<KeptRun> keptRun(const std::string& root, const std::string& name)
{
    if (auto status = checkRunName(name); !status.ok())
        return status.error();
    const fs::path folder = folderOf(root, name);
    std::error_code code;
    if (!fs::exists(folder / kAbout, code))
        return inputError(folder.string(), "there is no such run", "shardctl runs list shows those that there are");
    const auto about = documentOf(folder / kAbout);
    if (!about.ok())
        return about.error();
    JsonFields fields(about.value(), (folder / kAbout).string());
    KeptRun out;
    out.name = name;
    const std::string format = fields.text("format");
    const std::int64_t version = fields.integer("version", 1, 1000);
    out.made = fields.text("made");
    out.design = fields.text("design");
    out.hardware = fields.text("hardware");
    out.mesh = fields.text("mesh");
    if (fields.error())
        return *fields.error();
    if (format != "shardboard-run" || version != 1)
        return inputError((folder / kAbout).string() + ":format", "this is no kept run that this version can read",
                          "it has to be shardboard-run, version 1");
    auto options = runOptionsFromJson(about.value().value("options", json::object()));
    if (!options.ok())
        return options.error();
    out.options = std::move(options).value();
    const auto document = documentOf(folder / kResult);
    if (!document.ok())
        return document.error();
    if (!document.value().is_object() || !document.value().contains("operations"))
        return inputError((folder / kResult).string(), "is no result of a run", "delete the run, or run its design again");
    auto result = runResultFromJson(document.value());
    if (!result.ok()) {
        Error error = result.error();
        error.where = (folder / kResult).string() + (error.where.empty() ? "" : ":") + error.where;
        return error;
    }
    out.result = std::move(result).value();
    out.bytes = bytesIn(folder);
    return out;
}

Result<std::vector<KeptRun>> keptRuns(const std::string& root)
{
    std::vector<KeptRun> out;
    std::error_code code;
    if (!fs::exists(root, code))
        return out;
    for (fs::directory_iterator at(root, code), end; !code && at != end; at.increment(code)) {
        const std::string name = at->path().filename().string();
        std::error_code none;
        if (!checkRunName(name).ok() || !fs::exists(at->path() / kAbout, none))
            continue;
        auto run = keptRun(root, name);
        if (run.ok()) {
            out.push_back(std::move(run).value());
            continue;
        }
        KeptRun damaged;
        damaged.name = name;
        damaged.bytes = bytesIn(at->path());
        damaged.problem = run.error().text();
        out.push_back(std::move(damaged));
    }
    if (code)
        return problemOf(root, code, "cannot be read");
    std::ranges::sort(out, [](const KeptRun& a, const KeptRun& b) { return std::tie(b.made, b.name) < std::tie(a.made, a.name); });
    return out;
}

std::string keptDesignPath(const std::string& root, const std::string& name) { return (folderOf(root, name) / kDesign).string(); }

Result<std::optional<RunProfile>> keptProfile(const std::string& root, const std::string& name)
{
    const fs::path path = folderOf(root, name) / kProfile;
    std::error_code code;
    if (!fs::exists(path, code))
        return std::optional<RunProfile> {};
    const auto document = documentOf(path, kLargestProfile);
    if (!document.ok())
        return document.error();
    auto profile = profileFromJson(document.value());
    if (!profile.ok()) {
        Error error = profile.error();
        error.where = path.string() + (error.where.empty() ? "" : ":") + error.where;
        return error;
    }
    return std::optional(std::move(profile).value());
}

Status removeRun(const std::string& root, const std::string& name)
{
    if (auto status = checkRunName(name); !status.ok())
        return status;
    const fs::path folder = folderOf(root, name);
    std::error_code code;
    if (!fs::exists(folder / kAbout, code))
        return inputError(folder.string(), "there is no such run", "shardctl runs list shows those that there are");
    for (const char* file : kFiles) {
        fs::remove(folder / file, code);
        if (code)
            return problemOf(folder / file, code, "cannot be removed");
    }
    fs::remove(folder, code); // not where something else lies in it
    return done();
}

Status renameRun(const std::string& root, const std::string& name, const std::string& newName)
{
    if (auto status = checkRunName(name); !status.ok())
        return status;
    if (auto status = checkNewName(newName); !status.ok())
        return status;
    std::error_code code;
    if (!fs::exists(folderOf(root, name) / kAbout, code))
        return inputError(folderOf(root, name).string(), "there is no such run", "shardctl runs list shows those that there are");
    if (fs::exists(folderOf(root, newName), code))
        return inputError(folderOf(root, newName).string(), "there is a run of this name", "give another name");
    fs::rename(folderOf(root, name), folderOf(root, newName), code);
    return code ? Status(problemOf(folderOf(root, newName), code, "cannot be made")) : done();
}

std::vector<RunDifference> compareRuns(const RunResult& a, const RunResult& b)
{
    std::vector<RunDifference> out;
    std::map<std::string, std::size_t> known;
    for (const RunOperation& operation : a.operations) {
        known.emplace(operation.id, out.size());
        out.push_back({ operation.id, operation.kind, operation.medianSeconds, 0, operation.count, 0 });
    }
    for (const RunOperation& operation : b.operations) {
        const auto found = known.find(operation.id);
        if (found == known.end()) {
            out.push_back({ operation.id, operation.kind, 0, operation.medianSeconds, 0, operation.count });
            continue;
        }
        RunDifference& difference = out[found->second];
        difference.b = operation.medianSeconds;
        difference.countB = operation.count;
    }
    std::ranges::stable_sort(
        out, [](const RunDifference& x, const RunDifference& y) { return std::abs(x.lost()) > std::abs(y.lost()); });
    return out;
}

} // namespace shardboard
