// SPDX-License-Identifier: Apache-2.0
// Names that somebody could give to have them obeyed instead of shown, through every way by which text gets into
// shardctl and out of it. No control character reaches a terminal, JSON holds names exactly, and nothing ends the
// program but itself.
#include "model/text/contains.h"
#include "model/text/visibletext.h"
#include "tests/support/hostilenames.h"
#include "tests/support/rawrun.h"
#include "tests/support/runner.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace shardboard;
using namespace shardboard::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

std::string contentOf(const fs::path& path)
{
    std::ifstream file(path, std::ios::binary);
    std::stringstream out;
    out << file.rdbuf();
    return out.str();
}

void write(const fs::path& path, const std::string& text)
{
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

/// Tensors of bf16 [4,4].
std::string safetensors(const Words& names)
{
    json header = json::object();
    std::size_t offset = 0;
    for (const std::string& name : names) {
        header[name] = { { "dtype", "BF16" }, { "shape", { 4, 4 } }, { "data_offsets", { offset, offset + 32 } } };
        offset += 32;
    }
    const std::string text = header.dump();
    std::string out;
    for (int byte = 0; byte < 8; ++byte)
        out += static_cast<char>(text.size() >> (8 * byte) & 0xffU);
    return out + text + std::string(offset, '\0');
}

json tinyConfig()
{
    return { { "model_type", "llama" },    { "vocab_size", 32 },       { "hidden_size", 16 },
             { "intermediate_size", 32 },  { "num_hidden_layers", 2 }, { "num_attention_heads", 4 },
             { "num_key_value_heads", 2 }, { "rms_norm_eps", 1e-5 },   { "torch_dtype", "bfloat16" } };
}

/// What is wrong with what a command did; empty: nothing.
std::string flawOf(const RawOutcome& outcome, const std::vector<int>& codes, bool asJson)
{
    if (outcome.signal != 0)
        return "ended by signal " + std::to_string(outcome.signal) + ": " + outcome.err;
    if (!contains(codes, outcome.code))
        return "exit code " + std::to_string(outcome.code) + ": " + outcome.err;
    for (const std::string* text : { &outcome.out, &outcome.err })
        if (visibleLines(*text) != *text)
            return "a control character: " + visibleLines(*text).substr(0, 500);
    if (outcome.code >= 2 && !outcome.out.empty())
        return "a result beside an error";
    std::istringstream lines(outcome.err);
    int errors = 0;
    for (std::string line; std::getline(lines, line);)
        if (!line.starts_with("warning: ") && !line.starts_with("note: ") && !line.starts_with("error: ")
            && !line.starts_with("needs ") && line.find("/") == std::string::npos)
            ++errors;
    if (outcome.code >= 2 && (std::ranges::count(outcome.err, '\n') < 1 || errors > 1))
        return "not one line: " + outcome.err;
    if (outcome.code < 2 && asJson && !json::accept(outcome.out))
        return "no JSON: " + outcome.out.substr(0, 500);
    return {};
}

/// All texts in a document, keys too.
void collect(const json& document, Words& out)
{
    if (document.is_string())
        out.push_back(document.get<std::string>());
    for (const auto& item : document.items()) {
        if (document.is_object())
            out.push_back(item.key());
        if (document.is_structured())
            collect(item.value(), out);
    }
}

bool holds(const std::string& document, const std::string& name)
{
    Words texts;
    collect(json::parse(document, nullptr, false), texts); // of what is no JSON: nothing
    return std::ranges::any_of(texts, [&](const std::string& text) { return text.find(name) != std::string::npos; });
}

std::vector<HostileName> allNames()
{
    std::vector<HostileName> all = printableHostileNames();
    for (const auto& list : { controlHostileNames(), malformedHostileNames() })
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

/// As a file or folder can be called: no slash, no NUL, at most 200 bytes.
std::vector<HostileName> fileNames()
{
    std::vector<HostileName> out;
    for (HostileName& hostile : allNames())
        if (hostile.name.find('/') == std::string::npos && hostile.name.find('\0') == std::string::npos
            && hostile.name.size() <= 200)
            out.push_back(std::move(hostile));
    out.push_back({ "as long as a name can be", std::string(200, 'n') });
    return out;
}

} // namespace

class TestHostileNames : public QObject {
    Q_OBJECT

private:
    fs::path m_folder;
    json m_tiny; ///< a design with a graph

    std::string at(const std::string& name) const { return (m_folder / name).string(); }

    /// Runs a command, looks at what it did, and gives what it printed.
    RawOutcome run(const Words& words, const std::vector<int>& codes, const std::string& what)
    {
        const bool asJson = contains(words, "--json");
        RawOutcome outcome = shardctlRaw(words);
        if (const std::string flaw = flawOf(outcome, codes, asJson); !flaw.empty())
            QTest::qFail((what + ": " + words.front() + ": " + flaw).c_str(), __FILE__, __LINE__);
        return outcome;
    }
    void both(const Words& words, const std::vector<int>& codes, const std::string& what)
    {
        run(words, codes, what);
        Words more = words;
        more.push_back("--json");
        run(more, codes, what);
    }
    /// Refused, whatever is asked of it, in a line that names the file and the place.
    void refused(const Words& words, const std::string& what, const std::string& place)
    {
        const RawOutcome outcome = run(words, { 2, 3 }, what);
        if (outcome.err.find(place) == std::string::npos)
            QTest::qFail((what + ": does not name " + place + ": " + outcome.err).c_str(), __FILE__, __LINE__);
    }
    std::string design(const json& document, const std::string& name = "changed.shardboard")
    {
        write(m_folder / name, document.dump());
        return at(name);
    }

private Q_SLOTS:
    void initTestCase()
    {
        std::string folder = (fs::temp_directory_path() / "hostile-XXXXXX").string();
        QVERIFY(::mkdtemp(folder.data()) != nullptr);
        m_folder = folder;
        write(m_folder / "tiny/config.json", tinyConfig().dump());
        run({ "new", "--model", at("tiny"), "--mesh", "data=2,model=2", "--preset", "megatron-tp", "--batch", "2", "--sequence",
              "8", "-o", at("tiny.shardboard") },
            { 0 }, "tiny");
        m_tiny = json::parse(contentOf(m_folder / "tiny.shardboard"));
    }
    void cleanupTestCase() { fs::remove_all(m_folder); }

    /// All at once: they are shown as they are, in text and in JSON.
    void printableNamesInCheckpointsAndDesigns()
    {
        Words names;
        for (const HostileName& hostile : printableHostileNames())
            if (hostile.name.size() <= 1000) // longer ones no checkpoint has
                names.push_back(hostile.name);
        write(m_folder / "weights.safetensors", safetensors(names));
        run({ "new", "--model", at("weights.safetensors"), "--mesh", "data=2,model=2", "--preset", "replicate", "-o",
              at("weights.shardboard") },
            { 0 }, "weights");
        json weights = json::parse(contentOf(m_folder / "weights.shardboard"));
        Words found;
        for (const json& weight : weights["model"]["weights"])
            found.push_back(weight["name"]);
        std::ranges::sort(found);
        Words sorted = names;
        std::ranges::sort(sorted);
        QVERIFY(found == sorted);
        for (const HostileName& hostile : printableHostileNames())
            weights["strategies"].push_back({ { "match", hostile.name }, { "strategy", "rowwise" }, { "axes", { "model" } } });
        weights["model"]["weights"][0]["name"] = std::string(100'000, 'w');
        const std::string path = design(weights, "weights.shardboard");
        for (const Words& words :
             { Words { "plan", path }, Words { "check", path }, Words { "explain", path, "*" }, Words { "diff", path, path } })
            both(words, { 0, 1 }, "weights");
        run({ "dump", path, "-o", at("dumped") }, { 0 }, "weights");
        const RawOutcome difference = run({ "diff", path, at("dumped"), "--json" }, { 0 }, "weights");
        QVERIFY(json::parse(difference.out, nullptr, false).value("equal", false));
        QVERIFY(holds(contentOf(m_folder / "dumped/named_shardings.json"), names.front()));
        for (const std::string& name : names) {
            const RawOutcome explained = run({ "explain", path, name, "--json" }, { 0, 3 }, name);
            if (explained.code == 0 && !holds(explained.out, name))
                QTest::qFail(name.c_str(), __FILE__, __LINE__);
        }
    }

    void printableNamesOfModels()
    {
        for (const HostileName& hostile : printableHostileNames()) {
            json changed = m_tiny;
            changed["model"]["name"] = hostile.name;
            changed["rules"] = { { "source", hostile.name },
                                 { "entries", json::array({ json::array({ hostile.name, { "model" } }) }) } };
            const std::string path = design(changed);
            const RawOutcome planned = run({ "plan", path }, { 0 }, hostile.what);
            QVERIFY2(planned.out.find(hostile.name) != std::string::npos, hostile.what.c_str());
            run({ "plan", path, "--json" }, { 0 }, hostile.what);
            run({ "check", path, "--json" }, { 0, 1 }, hostile.what);
            run({ "plan", path, "--against", at("tiny.shardboard"), "--json" }, { 0 }, hostile.what);
            run({ "explain", path, "*q_proj*" }, { 0 }, hostile.what);
        }
        json changed = m_tiny;
        changed["model"]["name"] = printableHostileNames().front().name;
        both({ "run", design(changed), "--layers", "1", "--verify" }, { 0 }, "run");
    }

    void printableNamesInRulesAndRequests()
    {
        for (const HostileName& hostile : printableHostileNames()) {
            const std::string& name = hostile.name;
            const std::string quoted = json(name).dump(); // JSON is YAML, but for its surrogates
            write(m_folder / "rules.yml", "mesh_axes: ['data']\nlogical_axis_rules: [[" + quoted + ", ['data']]]\n");
            run({ "rules", "show", at("rules.yml") }, { 0 }, hostile.what);
            QVERIFY2(holds(run({ "rules", "show", at("rules.yml"), "--json" }, { 0 }, hostile.what).out, name),
                     hostile.what.c_str());
            write(m_folder / "logical.json", json { { name, { { "partition_spec", { name } }, { "shape", { 8 } } } } }.dump());
            const Words resolve { "rules",
                                  "resolve",
                                  "--rules",
                                  at("rules.yml"),
                                  "--devices-per-slice",
                                  "2",
                                  "--set",
                                  "ici_data_parallelism=2",
                                  "--logical",
                                  at("logical.json") };
            const RawOutcome resolved = run(resolve, { 0 }, hostile.what);
            QVERIFY2(holds(resolved.out, name), hostile.what.c_str());
            both({ "diff", at("rules.yml"), "default", "--devices-per-slice", "2", "--set", "ici_data_parallelism=2", "--logical",
                   at("logical.json") },
                 { 0, 1 }, hostile.what);
            const json request {
                { "op", "matmul" },
                { "mesh", { { "shape", { 4 } }, { "axes", { "tp" } } } },
                { "policy", { { "on_reshard", "warn" } } },
                { "inputs",
                  json::array({ { { "name", name }, { "global_shape", { 4, 8 } }, { "placements", { "P" } } },
                                { { "name", name + "2" }, { "global_shape", { 8, 6 } }, { "placements", { "S0" } } } }) }
            };
            write(m_folder / "pick.json", request.dump());
            const RawOutcome picked = run({ "pick", at("pick.json") }, { 0 }, hostile.what);
            QVERIFY2(picked.err.find(name) != std::string::npos, hostile.what.c_str());
            run({ "pick", at("pick.json"), "--json" }, { 0 }, hostile.what);
        }
    }

    /// What was not understood is kept, whatever it holds.
    void unknownKeysMayHoldAnything()
    {
        json changed = m_tiny;
        for (const HostileName& hostile : controlHostileNames())
            changed["ours"][hostile.what] = hostile.name;
        changed["ours"][controlHostileNames().front().name] = 1;
        const std::string path = design(changed);
        both({ "plan", path }, { 0 }, "unknown keys");
        json mended = changed;
        mended["strategies"].push_back({ { "match", "nothing" }, { "strategy", "replicate" } });
        run({ "check", design(mended), "--repair", "all", "-o", at("mended.shardboard") }, { 0, 1 }, "unknown keys");
        QVERIFY(json::parse(contentOf(m_folder / "mended.shardboard"))["ours"] == changed["ours"]);
        QVERIFY(visibleLines(contentOf(m_folder / "mended.shardboard")) == contentOf(m_folder / "mended.shardboard"));
    }

    void controlCharactersInDesignsAreRefused_data()
    {
        QTest::addColumn<QString>("pointer");
        for (const char* pointer :
             { "/model/name", "/model/source", "/model/weight_prefix", "/model/activation", "/mesh/axes/0", "/strategies/0/match",
               "/strategies/0/axes", "/hardware", "/workload/dtype", "/rules/source", "/pins/0/match", "/pins/0/source" })
            QTest::addRow("%s", pointer) << QString::fromLatin1(pointer);
    }
    void controlCharactersInDesignsAreRefused()
    {
        QFETCH(QString, pointer);
        const std::string where = pointer.toStdString();
        for (const HostileName& hostile : controlHostileNames()) {
            json changed = m_tiny;
            if (where.starts_with("/pins"))
                changed["pins"] = json::array({ { { "match", "*" }, { "dims", { { "batch", { "data" } } } } } });
            if (where.starts_with("/rules"))
                changed["rules"] = { { "entries", json::array() } };
            if (where == "/strategies/0/axes")
                changed[json::json_pointer(where)] = { hostile.name };
            else
                changed[json::json_pointer(where)] = hostile.name;
            const std::string path = design(changed);
            refused({ "plan", path, "--json" }, hostile.what, path + ":" + where.substr(1, where.find('/', 1) - 1));
        }
        json malformed = m_tiny;
        std::string text = malformed.dump();
        text.insert(text.find("\"megatron") == std::string::npos ? text.find("\"tiny\"") + 2 : text.find("\"tiny\"") + 2, "\xff");
        write(m_folder / "malformed.shardboard", text);
        refused({ "plan", at("malformed.shardboard") }, "not UTF-8", at("malformed.shardboard"));
    }

    void controlCharactersInOtherFilesAreRefused()
    {
        for (const HostileName& hostile : controlHostileNames()) {
            const std::string& name = hostile.name;
            const std::string quoted = json(name).dump();
            write(m_folder / "odd.safetensors", safetensors({ name }));
            refused({ "new", "--model", at("odd.safetensors"), "--mesh", "a=2", "-o", at("o") }, hostile.what,
                    "odd.safetensors:header");
            write(m_folder / "indexed/model.safetensors.index.json", "{\"weight_map\":{" + quoted + ":\"a.safetensors\"}}");
            refused({ "new", "--model", at("indexed"), "--mesh", "a=2", "-o", at("o") }, hostile.what, "index.json:weight_map");
            write(m_folder / "indexed/model.safetensors.index.json", "{\"weight_map\":{\"a\":" + quoted + "}}");
            refused({ "new", "--model", at("indexed"), "--mesh", "a=2", "-o", at("o") }, hostile.what, "index.json:weight_map.a");
            json config = tinyConfig();
            config["model_type"] = name;
            write(m_folder / "family/config.json", config.dump());
            refused({ "new", "--model", at("family"), "--mesh", "a=2", "-o", at("o") }, hostile.what, "config.json:model_type");
            config = tinyConfig();
            config.erase("model_type");
            config["architectures"] = { name };
            config["quantization_config"] = { { "quant_method", name } };
            config["torch_dtype"] = name;
            write(m_folder / "family/config.json", config.dump());
            run({ "new", "--model", at("family"), "--mesh", "a=2", "-o", at("o") }, { 3 }, hostile.what);
            // JSON is YAML, and only there can a newline stand in a key.
            write(m_folder / "rules.yml", "mesh_axes: ['data']\nlogical_axis_rules: [[" + quoted + ", ['data']]]\n");
            run({ "rules", "show", at("rules.yml"), "--json" }, { 3 }, hostile.what);
            write(m_folder / "rules.yml", "mesh_axes: [" + quoted + "]\nlogical_axis_rules: []\n" + quoted + ": 1\n");
            run({ "rules", "show", at("rules.yml") }, { 3 }, hostile.what);
            for (const json& dump : { json { { name, { { "partition_spec", { "embed" } } } } },
                                      json { { "w", { { "partition_spec", { name } } } } } }) {
                write(m_folder / "logical.json", dump.dump());
                refused({ "rules", "resolve", "--devices-per-slice", "8", "--logical", at("logical.json") }, hostile.what,
                        "logical.json:1:");
                refused({ "diff", at("logical.json"), at("logical.json"), "--json" }, hostile.what, "logical.json:1:");
            }
            const json request { { "profile", "G1" },
                                 { "op", "matmul" },
                                 { "mesh", { { "shape", { 4 } }, { "axes", { "tp" } } } },
                                 { "inputs",
                                   json::array({ { { "name", "x" }, { "global_shape", { 4, 8 } }, { "placements", { "P" } } },
                                                 { { "global_shape", { 8, 6 } }, { "placements", { "S0" } } } }) } };
            for (const char* place :
                 { "/op", "/profile", "/mesh/axes/0", "/inputs/0/name", "/inputs/0/placements/0", "/call_site" }) {
                json changed = request;
                changed[json::json_pointer(place)] = name;
                write(m_folder / "pick.json", changed.dump());
                refused({ "pick", at("pick.json"), "--json" }, hostile.what, "pick.json:");
            }
            write(m_folder / "module.json", json { { "module", name }, { "params", { { "strategy", name } } } }.dump());
            refused({ "module", at("module.json") }, hostile.what, "module.json:module");
            json hardware { { "format", "shardboard-hardware" }, { "version", 1 }, { "base", "dgx-h100" }, { "id", name } };
            write(m_folder / "hardware.json", hardware.dump());
            refused({ "hardware", at("hardware.json") }, hostile.what, "hardware.json:");
        }
    }

    /// Paths are bytes: files are opened by them, and shown as they can be shown.
    void namesOfFilesAndFolders()
    {
        for (const HostileName& hostile : fileNames()) {
            const std::string& name = hostile.name;
            const std::string shown = isUtf8(name) ? name : visibleText(name);
            const fs::path folder = m_folder / ("f-" + name);
            write(folder / "config.json", tinyConfig().dump());
            const std::string path = (folder / (name + ".shardboard")).string();
            const Words make {
                "new", "--model", folder.string(), "--mesh", "data=2,model=2", "--preset", "megatron-tp", "-o", path
            };
            run(make, { 0 }, hostile.what);
            Words more = make;
            more.push_back("--json");
            const RawOutcome made = run(more, { 0 }, hostile.what);
            QVERIFY2(holds(made.out, shown), (hostile.what + made.out).c_str());
            const json saved = json::parse(contentOf(path));
            QCOMPARE(saved["model"]["name"].get<std::string>(), "f-" + visibleText(name));
            QCOMPARE(saved["model"]["source"].get<std::string>(), visibleText(folder.string()));
            const std::string dump = (folder / (name + ".d")).string();
            for (const Words& words :
                 { Words { "plan", path }, Words { "check", path }, Words { "diff", path, at("tiny.shardboard") },
                   Words { "plan", at("tiny.shardboard"), "--against", path } })
                both(words, { 0, 1 }, hostile.what);
            run({ "explain", path, "*q_proj*" }, { 0 }, hostile.what);
            run({ "dump", path, "-o", dump }, { 0 }, hostile.what);
            const RawOutcome difference = run({ "diff", path, dump, "--json" }, { 0 }, hostile.what);
            QVERIFY2(holds(difference.out, shown), hostile.what.c_str());
            write(folder / (name + ".yml"), "mesh_axes: ['data']\nlogical_axis_rules: [['embed', ['data']]]\n");
            both({ "rules", "show", (folder / (name + ".yml")).string() }, { 0 }, hostile.what);
            write(folder / "weights" / (name + ".safetensors"), safetensors({ "w" }));
            run({ "new", "--model", (folder / "weights").string(), "--mesh", "a=2", "-o", path }, { 0 }, hostile.what);
            // Wrong files of such names.
            const std::string wrong = (folder / (name + ".json")).string();
            write(wrong, "{");
            for (const Words& words :
                 { Words { "plan", wrong }, Words { "pick", wrong }, Words { "module", wrong }, Words { "hardware", wrong },
                   Words { "new", "--model", wrong, "--mesh", "a=2", "-o", path }, Words { "diff", wrong, wrong } })
                run(words, { 3 }, hostile.what);
            fs::remove_all(folder);
        }
    }

    void namesOnCommandLines()
    {
        const std::string tiny = at("tiny.shardboard");
        for (const HostileName& hostile : allNames()) {
            const std::string name = hostile.name.substr(0, hostile.name.find('\0'));
            for (const Words& words : {
                     Words { name },
                     Words { "plan", "--" + name },
                     Words { "plan", tiny, "--picker", name },
                     Words { "plan", tiny, "--hardware", name },
                     Words { "tiles", "--shape", "8,8", "--mesh", name + "=2", "--strategy", "rowwise" },
                     Words { "tiles", "--shape", "8,8", "--mesh", "a=" + name, "--strategy", "rowwise" },
                     Words { "tiles", "--shape", name, "--mesh", "a=2", "--strategy", "rowwise" },
                     Words { "tiles", "--shape", "8,8", "--mesh", "a=2", "--strategy", name },
                     Words { "tiles", "--shape", "8,8", "--mesh", "a=2", "--spec", name, "--json" },
                     Words { "notation", "--mesh", "a=2", name },
                     Words { "cuts", "--shape", "8", "--mesh", "a=2", "--dim", "0", "--axis", name },
                     Words { "new", "--model", name, "--mesh", "a=2", "-o", at("o") },
                     Words { "new", "--model", at("tiny"), "--mesh", "data=2", "--pin", name + ":batch=data", "-o", at("o") },
                     Words { "rules", name },
                     Words { "rules", "explain", "--devices-per-slice", "8", "--names", name, "--json" },
                     Words { "rules", "show", "default", "--set", name + "=1" },
                     Words { "pick", name },
                     Words { "bench", name },
                     Words { "run", tiny, "--backend", name },
                     Words { "run", tiny, "--break-collective", name, "--layers", "1", "--engine", "/bin/false" },
                 })
                run(words, { 0, 1, 2, 3, 4 }, hostile.what);
            both({ "explain", tiny, name }, { 0, 3 }, hostile.what);
        }
        // A pin that is taken can be read again.
        for (const HostileName& hostile : controlHostileNames()) {
            const std::string name = hostile.name.substr(0, hostile.name.find('\0'));
            const RawOutcome made =
                run({ "new", "--model", at("tiny"), "--mesh", "data=2", "--pin", name + ":batch=data", "-o", at("o") }, { 0, 2, 3 },
                    hostile.what);
            if (made.code == 0)
                run({ "plan", at("o") }, { 0 }, hostile.what);
        }
    }
};

SHARDBOARD_TEST(TestHostileNames)
#include "tst_hostilecommands.moc"
