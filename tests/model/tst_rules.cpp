// SPDX-License-Identifier: Apache-2.0
// Logical axis rules: the resolution against a table of answers, and the table against resolutions that are wrong.
#include "model/rules/rulesetup.h"
#include "model/text/text.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QtTest>

#include <algorithm>
#include <functional>
#include <set>

using namespace shardboard;

namespace {

using Spec = std::vector<std::vector<std::string>>;

std::vector<std::string> words(const std::string& text, char separator)
{
    std::vector<std::string> out;
    for (const std::string_view part : split(text, separator))
        if (!part.empty())
            out.emplace_back(part);
    return out;
}

/// `mlp: x y; embed: f`
std::vector<LogicalRule> rulesOf(const std::string& text)
{
    std::vector<LogicalRule> out;
    for (const std::string& part : words(text, ';')) {
        const auto colon = part.find(':');
        out.push_back({ part.substr(0, colon), words(part.substr(colon + 1), ' '), "r.yml:" + std::to_string(out.size() + 1) });
    }
    return out;
}

/// `embed mlp -`, where - is an unnamed dim.
std::vector<std::string> namesOf(const std::string& text)
{
    auto out = words(text, ' ');
    for (std::string& name : out)
        if (name == "-")
            name.clear();
    return out;
}

/// `f, x y, -`
std::string specOf(const Spec& spec)
{
    std::vector<std::string> parts;
    for (const auto& axes : spec)
        parts.push_back(axes.empty() ? "-" : joined(axes, " "));
    return joined(parts);
}

struct Case {
    const char* names;
    const char* rules;
    const char* spec;
};

const Case kCases[] = {
    { "embed mlp", "mlp: x y; embed: f x; embed: f", "f, x y" },
    { "embed", "mlp: x y; embed: f x; embed: f", "f x" },
    { "mlp embed", "mlp: x; embed: f x", "x, -" },
    { "a", "a:; a: x", "-" },
    { "zzz -", "a: x", "-, -" },
    { "- - a", "a: x", "-, -, x" },
    { "a", "a: x", "x" },
    { "a b", "a: m d; b: d", "m d, -" },
    { "a b", "a: m r; b: d m", "m r, -" },
    { "c b a", "c: d; b:; a: m; a: d", "d, -, m" },
    { "p q r", "r: m; q: m; p: d", "d, -, m" },
    { "a b", "", "-, -" },
    { "", "a: x", "" },
    { "a", "a: x x", "x x" }, // twice in one rule: not noticed here
    { "b a", "a: y x; b: z; b: x", "z, y x" }, // the order inside a rule stays, and need not be mesh order
};

/// Wrong in one way each, as implementations have been.
Spec wrongByDimOrder(const std::vector<std::string>& names, const std::vector<LogicalRule>& rules)
{
    Spec out;
    std::set<std::string> taken;
    for (const std::string& name : names) {
        out.emplace_back();
        for (const LogicalRule& rule : rules) {
            const bool free = std::ranges::none_of(rule.axes, [&](const auto& a) { return taken.contains(a); });
            if (rule.name != name || !free)
                continue;
            out.back() = rule.axes;
            taken.insert(rule.axes.begin(), rule.axes.end());
            break;
        }
    }
    return out;
}

Spec walk(const std::vector<std::string>& names, const std::vector<LogicalRule>& rules, bool keepFreeAxes, bool emptyIsFinal)
{
    Spec out(names.size());
    std::vector<bool> decided(names.size());
    std::set<std::string> taken;
    for (const LogicalRule& rule : rules) {
        const auto found = std::ranges::find(names, rule.name);
        const auto dim = static_cast<std::size_t>(found - names.begin());
        if (found == names.end() || decided[dim] || (rule.axes.empty() && !emptyIsFinal))
            continue;
        auto axes = rule.axes;
        if (keepFreeAxes)
            std::erase_if(axes, [&](const std::string& axis) { return taken.contains(axis); });
        else if (std::ranges::any_of(axes, [&](const auto& a) { return taken.contains(a); }))
            continue;
        if (axes.empty() && !rule.axes.empty())
            continue;
        decided[dim] = true;
        out[dim] = axes;
        taken.insert(axes.begin(), axes.end());
    }
    return out;
}

/// Only one rule of each name, as a dictionary keeps it.
std::vector<LogicalRule> oneOfEach(const std::vector<LogicalRule>& rules, bool last)
{
    std::vector<LogicalRule> out;
    for (const LogicalRule& rule : rules) {
        const auto known = std::ranges::find_if(out, [&](const auto& r) { return r.name == rule.name; });
        if (known == out.end())
            out.push_back(rule);
        else if (last)
            *known = rule;
    }
    return out;
}

RuleSetup setupWith(std::vector<std::string> axes, std::map<std::string, std::int64_t> options = {})
{
    RuleSetup setup;
    setup.name = "mine";
    setup.meshAxes = std::move(axes);
    setup.options = std::move(options);
    return setup;
}

} // namespace

class TestRules : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void resolution()
    {
        for (const Case& c : kCases) {
            const auto resolved = sure(resolveNames(namesOf(c.names), rulesOf(c.rules), "w"));
            QCOMPARE(specOf(resolved.spec), std::string(c.spec));
        }
    }

    void aNameTwiceIsRefused()
    {
        const auto resolved = resolveNames({ "a", "", "a" }, rulesOf("a: x"), "w");
        QVERIFY(!resolved.ok());
        QCOMPARE(resolved.error().text(),
                 std::string("w: dims 0 and 2 are both named 'a'; give each dim of a tensor its own logical name, or null"));
    }

    /// Each wrong way must fail on some row of the table, or the table proves nothing.
    void theTableTellsWrongWays()
    {
        using Wrong = std::function<Spec(const std::vector<std::string>&, const std::vector<LogicalRule>&)>;
        const std::vector<std::pair<const char*, Wrong>> wrongWays {
            { "dim order instead of rule order", wrongByDimOrder },
            { "keeps the free axes of a conflicting rule", [](const auto& n, const auto& r) { return walk(n, r, true, true); } },
            { "an empty rule is passed over", [](const auto& n, const auto& r) { return walk(n, r, false, false); } },
            { "only the first rule of a name",
              [](const auto& n, const auto& r) { return walk(n, oneOfEach(r, false), false, true); } },
            { "only the last rule of a name",
              [](const auto& n, const auto& r) { return walk(n, oneOfEach(r, true), false, true); } },
        };
        for (const auto& [what, wrong] : wrongWays) {
            int noticed = 0;
            for (const Case& c : kCases)
                noticed += specOf(wrong(namesOf(c.names), rulesOf(c.rules))) != c.spec;
            QVERIFY2(noticed > 0, what);
        }
    }

    void traceSaysWhoDecidedAndWhy()
    {
        const auto rules = rulesOf("mlp: x y; other: x; embed: f x; embed: f; mlp: z");
        const auto resolved = sure(resolveNames({ "embed", "mlp" }, rules, "w"));
        const Resolution& r = resolved;
        QCOMPARE(r.decidedBy, (std::vector<int> { 3, 0 }));
        QCOMPARE(r.trials.size(), std::size_t(4));
        QCOMPARE(int(r.trials[0].outcome), int(RuleOutcome::Decided));
        QCOMPARE(r.trials[1].rule, 2);
        QCOMPARE(int(r.trials[1].outcome), int(RuleOutcome::AxisTaken));
        QCOMPARE(r.trials[1].axis, std::string("x"));
        QCOMPARE(r.trials[1].takenByDim, 1);
        QCOMPARE(r.trials[1].takenByRule, 0);
        QCOMPARE(int(r.trials[2].outcome), int(RuleOutcome::Decided));
        QCOMPARE(int(r.trials[3].outcome), int(RuleOutcome::DimDecided));
    }

    void lostAxesAreThoseThatCutNothing()
    {
        const auto rules = rulesOf("mlp: x; embed: f x; embed: g x; norm:");
        const auto resolved = resolveNames({ "embed", "mlp" }, rules, "w");
        QCOMPARE(lostAxes(resolved.value(), rules, 0), (std::vector<std::string> { "f", "g" })); // x cuts dim 1
        QCOMPARE(lostAxes(resolved.value(), rules, 1), std::vector<std::string> {});
    }

    void explanation()
    {
        const Mesh mesh = Mesh::parse("f=4,x=1,y=2").value();
        const auto rules = rulesOf("mlp: x y; embed: f x; embed: f tensor; layers:; heads: x");
        const std::vector<std::string> names { "embed", "mlp", "layers", "", "norm", "heads" };
        const auto lines = explainResolution(names, rules, resolveNames(names, rules, "w").value(), mesh);
        QCOMPARE(lines.size(), names.size());
        QCOMPARE(lines[0],
                 std::string("dim 0 (embed): rule 3 (r.yml:3) f=4, tensor (not in the mesh); skipped rule 2 (r.yml:2) f, x: "
                             "x, of size 1, already cuts dim 1 by rule 1 (r.yml:1)"));
        QCOMPARE(lines[1], std::string("dim 1 (mlp): rule 1 (r.yml:1) x=1, y=2"));
        QCOMPARE(lines[2], std::string("dim 2 (layers): rule 4 (r.yml:4) replicates it"));
        QCOMPARE(lines[3], std::string("dim 3 (unnamed): replicated, it has no name"));
        QCOMPARE(lines[4], std::string("dim 4 (norm): replicated, no rule is for this name"));
        QVERIFY(lines[5].starts_with(
            "dim 5 (heads): replicated, no rule for the name fits; skipped rule 5 (r.yml:5) x: x, of size 1,"));
    }

    void meshSizes_data()
    {
        QTest::addColumn<QString>("axes");
        QTest::addColumn<QString>("options");
        QTest::addColumn<int>("devices");
        QTest::addColumn<int>("slices");
        QTest::addColumn<QString>("mesh"); // or the error
        dataRow("fsdp fills", "data fsdp expert", "ici_expert=4", 16, 1, "data=1,fsdp=4,expert=4");
        dataRow("data fills the slices", "data fsdp", "", 16, 8192, "data=8192,fsdp=16");
        dataRow("one axis both ways", "fsdp data", "dcn_fsdp=2 dcn_data=1", 8, 2, "fsdp=16,data=1");
        dataRow("stage is pipeline", "stage fsdp", "ici_pipeline=2", 8, 1, "stage=2,fsdp=4");
        dataRow("model is tensor", "model fsdp", "ici_tensor=2", 8, 1, "model=2,fsdp=4");
        dataRow("own names", "rows cols", "ici_rows=2 ici_cols=-1", 8, 1, "rows=2,cols=4");
        dataRow("options of other axes", "fsdp", "ici_tensor=4", 16, 1, "fsdp=16");
        dataRow("two open", "data fsdp", "ici_data=-1", 8, 1,
                "mine: more than one ICI option is -1: ici_data_parallelism and ici_fsdp_parallelism; at most "
                "one mesh axis can be left to be filled");
        dataRow("not whole", "fsdp expert", "ici_expert=3", 16, 1,
                "mine: ici_fsdp_parallelism is -1 and cannot be filled: 16 devices per slice are not a multiple of 3, the product "
                "of the others; change ici_fsdp_parallelism -1 x ici_expert_parallelism 3");
        dataRow("less than one", "fsdp expert", "ici_expert=32", 16, 1,
                "mine: ici_fsdp_parallelism is -1 and cannot be filled: 16 devices per slice are not a multiple of 32, the product "
                "of the others; change ici_fsdp_parallelism -1 x ici_expert_parallelism 32");
        dataRow("product", "fsdp expert", "ici_fsdp=4 ici_expert=2", 16, 1,
                "mine: the number of devices per slice, 16, does not match the product of the ICI parallelism, 8; "
                "ici_fsdp_parallelism 4 x ici_expert_parallelism 2; set one of them, or set it to -1");
        dataRow("slices without data", "fsdp", "", 16, 4,
                "mine: the number of slices, 4, does not match the product of the DCN parallelism, 1; "
                "all dcn options of these mesh axes are 1; set one of them, or set it to -1");
        dataRow("dcn on one slice", "data fsdp", "dcn_fsdp=2", 16, 1,
                "mine: dcn_fsdp_parallelism is 2 but there is only one slice; give the number of "
                "slices, or leave the dcn options out");
        dataRow("too large", "fsdp a b", "ici_a=1073741824 ici_b=1073741824", 16, 1,
                "mine: the product of the ICI options is too large at ici_b_parallelism; use smaller sizes");
    }
    void meshSizes()
    {
        QFETCH(QString, axes);
        QFETCH(QString, options);
        QFETCH(int, devices);
        QFETCH(int, slices);
        QFETCH(QString, mesh);
        RuleSetup setup = setupWith(words(axes.toStdString(), ' '));
        for (const std::string& option : words(options.toStdString(), ' ')) {
            const auto equals = option.find('=');
            setup.options[option.substr(0, equals) + "_parallelism"] = *parseInteger(std::string_view(option).substr(equals + 1));
        }
        const auto made = meshOf(setup, devices, slices);
        QCOMPARE(QString::fromStdString(made.ok() ? made.value().text() : made.error().text()), mesh);
    }

    void topologies()
    {
        QCOMPARE(devicesPerSlice("tpu7x-16", "w").value(), std::int64_t(16));
        QCOMPARE(devicesPerSlice("v6e-16", "w").value(), std::int64_t(16));
        QCOMPARE(devicesPerSlice("v5p-16", "w").value(), std::int64_t(8)); // the name counts cores
        QCOMPARE(devicesPerSlice("a3", "w").value(), std::int64_t(8));
        for (const char* wrong : { "", "v5p", "v5p-3", "v5p-0", "h100-8", "tpu7x-", "tpu7x--4" })
            QVERIFY2(!devicesPerSlice(wrong, "w").ok(), wrong);
    }

    void uselessAxesGo()
    {
        const Mesh mesh = Mesh::parse("a=2,b=1,c=4").value();
        QCOMPARE(specOf(withoutUselessAxes({ { "a", "b", "c" }, { "b" }, {}, { "zzz", "c" } }, mesh)), std::string("a c, -, -, c"));
    }

    void specsBecomeLayouts()
    {
        const Mesh mesh = Mesh::parse("a=2,b=1,c=4").value();
        const auto layout = sure(layoutFromSpec({ { "c", "a" }, {}, { "b" } }, mesh, "w"));
        QCOMPARE(specText(layout, mesh), std::string("P(('c', 'a'), None, 'b')"));
        QVERIFY(!layoutFromSpec({ { "d" } }, mesh, "w").ok());
        QVERIFY(!layoutFromSpec({ { "a" }, { "a" } }, mesh, "w").ok());
    }

    void mergingMovesNamesToTheEnd()
    {
        const auto merged = mergedRules(rulesOf("a: x; b: y; a: z; c: w"), rulesOf("a: q; d: r; a: s"));
        std::string shown;
        for (const LogicalRule& rule : merged)
            shown += rule.name + ":" + joined(rule.axes, " ") + " ";
        QCOMPARE(shown, std::string("b:y c:w a:q d:r a:s "));
    }

    void pipelineChangesRulesAndMesh()
    {
        RuleSetup setup = setupWith({ "data", "stage", "fsdp" }, { { "ici_pipeline_parallelism", 2 } });
        setup.rules = rulesOf("activation_embed_and_logits_batch: data; layers: stage; activation_embed_and_logits_batch: fsdp");
        setup.dataSharding = { "data", "stage", "fsdp" };
        applyPipeline(setup);
        QCOMPARE(setup.meshAxes, (std::vector<std::string> { "stage", "data", "fsdp" }));
        QCOMPARE(setup.dataSharding, (std::vector<std::string> { "stage", "data", "fsdp" }));
        QCOMPARE(setup.rules[0].axes, (std::vector<std::string> { "stage", "data", "fsdp", "fsdp_transpose", "expert" }));
        QCOMPARE(setup.rules[2].axes, (std::vector<std::string> { "fsdp" }));
        QVERIFY(setup.warnings.size() >= 3);

        const auto outside = rulesOutsidePipeline(rulesOf("a: fsdp data stage; layers: stage; b: fsdp"));
        QCOMPARE(outside[0].axes, (std::vector<std::string> { "fsdp", "stage", "data" }));
        QVERIFY(outside[1].axes.empty());
        QCOMPARE(outside[2].axes, (std::vector<std::string> { "fsdp" }));

        RuleSetup without = setupWith({ "data", "stage", "fsdp" });
        without.rules = rulesOf("activation_embed_and_logits_batch: data");
        applyPipeline(without);
        QCOMPARE(without.meshAxes.front(), std::string("data"));
        QCOMPARE(without.rules[0].axes, (std::vector<std::string> { "data" }));
        QVERIFY(without.warnings.empty());
    }

    void presets()
    {
        const std::vector<std::string> names { "default",  "pure-fsdp",        "ep-as-cp", "cp-as-ep", "pipeline-large-moe",
                                               "ep-as-dp", "shard-exp-on-fsdp" };
        QCOMPARE(rulePresetNames(), names);
        const std::vector<std::size_t> rules { 76, 14, 37, 37, 42, 38, 30 };
        const std::vector<std::size_t> axes { 12, 1, 4, 5, 6, 4, 6 };
        const std::vector<std::string> context { "context", "context", "expert", "context", "context", "context", "context" };
        for (std::size_t i = 0; i < names.size(); ++i) {
            const auto preset = sure(rulePreset(names[i], "w"));
            QCOMPARE(preset.rules.size(), rules[i]);
            QCOMPARE(preset.meshAxes.size(), axes[i]);
            QCOMPARE(preset.contextAxis, context[i]);
            QVERIFY(!rulePresetSummary(names[i]).empty());
            QVERIFY(meshOf(preset, 16, 1).ok());
        }
        QCOMPARE(rulePreset("fsdp", "w").error().text(), "w: there is no built-in rule set 'fsdp'; known are " + joined(names));
    }

    /// Worked by hand: tensor of size 1 blocks nothing here, and expert joins fsdp outside the experts.
    void aPresetResolves()
    {
        const auto preset = rulePreset("pipeline-large-moe", "w");
        const auto resolved = resolveNames({ "heads", "dense_layers", "kv", "embed" }, preset.value().rules, "w");
        QCOMPARE(specOf(resolved.value().spec), std::string("tensor, -, -, fsdp expert"));
    }

    /// 126 layers of 10 weights, one by one.
    void aLargeModelWeightByWeight()
    {
        const auto rules = rulePreset("default", "w").value().rules;
        std::size_t cut = 0;
        for (int i = 0; i < 1260; ++i) {
            const auto resolved = resolveNames({ "embed", "layers", "q_heads", "kv" }, rules, "w");
            for (const auto& axes : resolved.value().spec)
                cut += axes.size();
        }
        QCOMPARE(cut, std::size_t(1260 * (5 + 1 + 3)));
    }
};

SHARDBOARD_TEST(TestRules)
#include "tst_rules.moc"
