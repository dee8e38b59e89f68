// SPDX-License-Identifier: Apache-2.0
// shardctl plan --against: two design files side by side, as text and as a document.
#include "tests/support/runner.h"
#include "tests/support/shardctlrun.h"

#include <QJsonArray>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <map>

using namespace shardboard::test;

class TestPlanCommand : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;
    QString path(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)); }

private Q_SLOTS:
    void initTestCase()
    {
        const auto make = [&](const char* mesh, const char* preset, const char* file) {
            return shardctl({ "new", "--model", "llama3-8b", "--mesh", mesh, "--preset", preset, "--batch", "8", "--sequence",
                              "2048", "-o", path(file) })
                .code;
        };
        QCOMPARE(make("data=2,model=4", "megatron-tp", "tp.shardboard"), 0);
        QCOMPARE(make("data=8,model=1", "replicate", "whole.shardboard"), 0);
    }

    /// A file that was one of training before is planned as one that never was.
    void settingsOfTrainingWait()
    {
        QFile file(path("tp.shardboard"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray kind = "\"kind\": \"prefill\"";
        QByteArray text = file.readAll();
        QCOMPARE(text.count(kind), 1);
        text.replace(
            kind,
            kind + R"(, "micro_batches": 3, "recompute": "full", "optimizer_sharding": {"axes": ["gone"], "gradients": true})");
        QFile waiting(path("waiting.shardboard"));
        QVERIFY(waiting.open(QIODevice::WriteOnly) && waiting.write(text) == text.size());
        waiting.close();
        for (const QStringList& command : { QStringList { "plan", "--json" }, QStringList { "plan" }, QStringList { "check" } }) {
            const auto outcome = [&](const char* name) {
                QStringList arguments = command;
                arguments.insert(1, path(name));
                return shardctl(arguments);
            };
            const Outcome with = outcome("waiting.shardboard");
            const Outcome without = outcome("tp.shardboard");
            QVERIFY2(with.code == without.code, qPrintable(with.err));
            QCOMPARE(QString(with.out).replace("waiting.shardboard", "tp.shardboard"), without.out);
        }
    }

    void asText()
    {
        const Outcome it = shardctl({ "plan", path("tp.shardboard"), "--against", path("whole.shardboard") });
        QCOMPARE(it.code, 0);
        for (const char* text : { "what differs", "whole.shardboard", "tp.shardboard", "data=8,model=1", "data=2,model=4",
                                  "tok/s/device", "memory per device", "better", "worse", "all-reduce over model" })
            QVERIFY2(it.out.contains(QLatin1String(text)), text);
        QVERIFY(!it.out.contains(QLatin1String("nan")) && !it.out.contains(QLatin1String("inf ")));
    }

    void asDocument()
    {
        const auto figures = [&](const char* file) { return shardctl({ "plan", path(file), "--json" }).json(); };
        const QJsonObject it = shardctl({ "plan", path("tp.shardboard"), "--against", path("whole.shardboard"), "--json" }).json();
        QCOMPARE(it["same"].toBool(), false);
        bool seen = false;
        for (const QJsonValue& line : it["costs"].toArray()) {
            if (line["key"].toString() != QLatin1String("memory_peak_bytes"))
                continue;
            seen = true;
            QCOMPARE(line["verdict"].toString(), QString("better"));
            // The same figures as each file has alone.
            QVERIFY(line["after"].toDouble() > 0 && line["after"].toDouble() < line["before"].toDouble());
            QCOMPARE(line["after"].toDouble(), figures("tp.shardboard")["memory"].toObject()["peak_bytes_per_device"].toDouble());
            QCOMPARE(line["before"].toDouble(),
                     figures("whole.shardboard")["memory"].toObject()["peak_bytes_per_device"].toDouble());
        }
        QVERIFY(seen);
    }

    void partsAsTextAndDocument()
    {
        const QString plain = shardctl({ "plan", path("tp.shardboard") }).out;
        QVERIFY(!plain.contains(QLatin1String("Parts of the model")));
        const Outcome it = shardctl({ "plan", path("tp.shardboard"), "--parts" });
        QCOMPARE(it.code, 0);
        for (const char* text : { "Parts of the model in one step", "of a layer", "embed", "block", "head", "forward" })
            QVERIFY2(it.out.contains(QLatin1String(text)), text);
        const QJsonObject document = shardctl({ "plan", path("tp.shardboard"), "--json" }).json();
        double seconds = 0;
        double operations = 0;
        int layers = 0;
        for (const QJsonValue& part : document["parts"].toArray()) {
            seconds += part["seconds"].toDouble();
            layers += part["layers"].toInt();
            for (const QJsonValue& operation : part["operations"].toArray())
                operations += operation["compute_seconds"].toDouble() + operation["collective_seconds"].toDouble();
        }
        const double step = document["totals"].toObject()["seconds"].toDouble();
        QVERIFY(step > 0);
        QVERIFY(std::abs(seconds - step) < 1e-9 * step);
        QVERIFY(std::abs(operations - step) < 1e-9 * step); // nothing is hidden in this design
        QCOMPARE(layers, 1 + 32 + 1);
    }

    void trafficAddsUp()
    {
        const QJsonObject document = shardctl({ "plan", path("tp.shardboard"), "--json" }).json();
        double seconds = 0;
        double bytes = 0;
        for (const QJsonValue& level : document["traffic"].toArray()) {
            QVERIFY(!level["link"].toString().isEmpty() && !level["fabric"].toString().isEmpty());
            seconds += level["collective_seconds"].toDouble();
            bytes += level["bytes_per_device"].toDouble();
        }
        const double all = document["totals"].toObject()["collective_seconds"].toDouble();
        QVERIFY(all > 0 && bytes > 0 && std::abs(seconds - all) < 1e-9 * all);
    }

    void partsOfAPipelineAddUp()
    {
        const auto make = [&](const char* workload, const char* file) {
            return shardctl({ "new", "--model", "llama3-8b", "--mesh", "stage=4,data=2", "--preset", "pp-1f1b", "--batch", "8",
                              "--sequence", "2048", "--workload", workload, "-o", path(file) });
        };
        const Outcome made = make("decode", "stages.shardboard");
        QVERIFY2(made.code == 0, qPrintable(made.err));
        const QJsonObject document = shardctl({ "plan", path("stages.shardboard"), "--json" }).json();
        const QJsonObject totals = document["totals"].toObject();
        QJsonObject sums;
        for (const QJsonValue& part : document["parts"].toArray())
            for (const char* key : { "compute_seconds", "collective_seconds", "exposed_seconds", "moved_bytes" })
                sums[QLatin1String(key)] = sums[QLatin1String(key)].toDouble() + part[QLatin1String(key)].toDouble();
        QVERIFY(document["parts"].toArray().last()["name"].toString() == QLatin1String("stage sends"));
        for (const auto& [part, total] : { std::pair { "compute_seconds", "compute_seconds" },
                                           { "collective_seconds", "collective_seconds" },
                                           { "exposed_seconds", "exposed_collective_seconds" },
                                           { "moved_bytes", "collective_bytes" } }) {
            const double sum = totals[QLatin1String(total)].toDouble();
            QVERIFY2(sum > 0 && std::abs(sums[QLatin1String(part)].toDouble() - sum) < 1e-9 * sum, part);
        }
        const QJsonObject pipeline = document["pipeline"].toObject();
        const double step = totals["seconds"].toDouble();
        const double terms =
            pipeline["stage_seconds"].toDouble() + pipeline["bubble_seconds"].toDouble() + pipeline["update_seconds"].toDouble();
        QVERIFY(std::abs(terms - step) < 1e-9 * step);
        // The step of one device, which has a quarter of the layers; each part as far as it has it.
        const QJsonObject device = totals["device"].toObject();
        const double parts = device["compute_seconds"].toDouble() + device["exposed_collective_seconds"].toDouble()
            + device["bubble_seconds"].toDouble();
        QVERIFY(std::abs(parts - step) < 1e-9 * step);
        QVERIFY(device["compute_seconds"].toDouble() < totals["compute_seconds"].toDouble() / 2);
        QVERIFY(device["bubble_seconds"].toDouble() > 0);
        for (const QJsonValue& part : document["parts"].toArray()) {
            const QString name = part["name"].toString();
            // The busiest stage is the last, which has the head and sends nothing on.
            const double share = name == QLatin1String("block") ? 0.25 : name == QLatin1String("stage sends") ? 0 : 1;
            QVERIFY2(std::abs(part["device_seconds"].toDouble() - part["seconds"].toDouble() * share) < 1e-9 * step,
                     qPrintable(name));
            double exposed = 0;
            for (const QJsonValue& operation : part["operations"].toArray())
                exposed += operation["exposed_seconds"].toDouble();
            QVERIFY(name == QLatin1String("stage sends") || std::abs(exposed - part["exposed_seconds"].toDouble()) < 1e-9 * step);
        }
        // One micro-batch goes through all stages: it takes as long as everything together.
        QVERIFY(std::abs(totals["compute_seconds"].toDouble() + totals["exposed_collective_seconds"].toDouble() - step)
                < 1e-9 * step);
        const QString text = shardctl({ "plan", path("stages.shardboard"), "--parts" }).out;
        QVERIFY2(text.contains(
                     QStringLiteral("bubble %1 % of the step").arg(100 * pipeline["bubble_seconds"].toDouble() / step, 0, 'f', 1)),
                 qPrintable(text));
        QVERIFY(text.contains(QLatin1String("stage sends")));
    }

    /// The reasons add up to the step, and what was published says how far such predictions are off.
    void whyTime()
    {
        for (const QStringList& options :
             { QStringList { "--mesh", "fsdp=16,model=8", "--preset", "tp-sp+fsdp", "--overlap", "weights" },
               QStringList { "--mesh", "stage=4,model=2", "--preset", "pp-1f1b", "--micro-batches", "4" } }) {
            const QStringList words { "new",
                                      "--model",
                                      "llama3-8b",
                                      "--workload",
                                      "train",
                                      "--batch",
                                      "32",
                                      "--sequence",
                                      "2048",
                                      "-o",
                                      path("timed.shardboard") };
            QCOMPARE(shardctl(words + options).code, 0);
            const QJsonObject document = shardctl({ "plan", path("timed.shardboard"), "--json" }).json();
            const QJsonObject totals = document["totals"].toObject();
            const double step = totals["seconds"].toDouble();
            double sum = 0;
            for (const QJsonValue& cause : document["why_time"].toArray())
                sum += cause["seconds"].toDouble();
            QVERIFY2(step > 0 && std::abs(sum - step) < 1e-9 * step, qPrintable(QString::number(sum / step, 'g', 12)));
            const QJsonObject range = totals["seconds_range"].toObject();
            QVERIFY(range["least"].toDouble() > 0 && range["least"].toDouble() < range["most"].toDouble());
            QVERIFY(range["from"].toString().contains(QLatin1String("published steps: GPUs, dense models")));
            const QString text = shardctl({ "plan", path("timed.shardboard"), "--why-time" }).out;
            QVERIFY(text.contains(QLatin1String("what a device's step is made of")));
            QVERIFY(text.contains(QLatin1String("step: likely ")));
            QVERIFY(text.contains(QLatin1String("matmul, limited by the units that compute")));
        }
    }

    /// The predicted step as a trace: slices of one thread never cross, the last ends with the step, what is computed and why
    /// nothing is are the step, and the critical path has no hole.
    void timelineOfAStep()
    {
        for (const QStringList& options :
             { QStringList { "--mesh", "fsdp=8", "--preset", "fsdp", "--overlap", "weights" },
               QStringList { "--mesh", "stage=4,model=2", "--preset", "pp-1f1b", "--micro-batches", "4" } }) {
            const QStringList words { "new",
                                      "--model",
                                      "qwen3-0.6b",
                                      "--workload",
                                      "train",
                                      "--batch",
                                      "16",
                                      "--sequence",
                                      "1024",
                                      "-o",
                                      path("drawn.shardboard") };
            QCOMPARE(shardctl(words + options).code, 0);
            const QJsonObject document =
                shardctl({ "plan", path("drawn.shardboard"), "--json", "--timeline", path("drawn.json") }).json();
            const double step = document["totals"].toObject()["seconds"].toDouble();
            QFile file(path("drawn.json"));
            QVERIFY(file.open(QIODevice::ReadOnly));
            const QJsonArray events = QJsonDocument::fromJson(file.readAll()).object()["traceEvents"].toArray();
            QVERIFY(events.size() > 1000);
            std::map<std::pair<int, int>, QString> threads;
            std::map<std::pair<int, int>, double> free;
            std::map<std::pair<int, int>, double> busy;
            double end = 0;
            int memory = 0;
            for (const QJsonValue& event : events) {
                const std::pair at { event["pid"].toInt(), event["tid"].toInt() };
                const QString kind = event["ph"].toString();
                memory += kind == "C" ? 1 : 0;
                if (kind == "M" && event["name"] == "thread_name")
                    threads[at] = event["args"]["name"].toString();
                if (kind != "X")
                    continue;
                const double start = event["ts"].toDouble();
                const double seconds = event["dur"].toDouble();
                QVERIFY2(start >= free[at] - 1e-9 * step * 1e6, qPrintable(event["name"].toString()));
                free[at] = start + seconds;
                busy[at] += seconds / 1e6;
                end = std::max(end, free[at] / 1e6);
            }
            QVERIFY(memory > 100);
            QVERIFY(std::abs(end - step) < 1e-9 * step);
            bool critical = false;
            for (const auto& [at, name] : threads)
                if (name == "critical path") {
                    critical = true;
                    QVERIFY(std::abs(busy[at] - step) < 1e-6 * step);
                } else if (name == "idle") {
                    QVERIFY2(std::abs(busy[at] + busy[{ at.first, 1 }] - step) < 1e-6 * step, qPrintable(name));
                }
            QVERIFY(critical);
            const QJsonObject timeline = document["timeline"].toObject();
            QVERIFY(std::abs(timeline["seconds"].toDouble() - step) < 1e-9 * step);
            for (const QJsonValue& device : timeline["devices"].toArray()) {
                double sum = device["streams"].toArray().first()["busy_seconds"].toDouble();
                const QJsonObject idle = device["idle_seconds"].toObject();
                QCOMPARE(idle.keys(), (QStringList { "pipeline bubble", "waiting for a collective", "waiting for the host" }));
                for (const QJsonValue& seconds : idle)
                    sum += seconds.toDouble();
                QVERIFY2(std::abs(sum - step) < 1e-6 * step, qPrintable(device["name"].toString()));
            }
        }
        QVERIFY(shardctl({ "plan", path("drawn.shardboard"), "--timeline", path("no/such/folder.json") }).code != 0);
    }

    void notesOfADocument()
    {
        const auto notes = [&](const char* model, const char* sequence) {
            if (shardctl({ "new", "--model", model, "--mesh", "data=1", "--workload", "decode", "--batch", "1", "--sequence",
                           sequence, "-o", path("notes.shardboard") })
                    .code
                != 0)
                return QJsonArray { "not made" };
            return shardctl({ "plan", path("notes.shardboard"), "--json" }).json()["notes"].toArray();
        };
        QVERIFY(notes("llama3-8b", "131072").isEmpty());
        QVERIFY(notes("gemma3-27b", "1024").isEmpty());
        QVERIFY(notes("gemma3-27b", "131072")
                    .at(0)
                    .toString()
                    .startsWith(QLatin1String("sliding windows of 1,024 tokens in 52 of 62 layers")));
        // At 1M tokens attention counted whole is more than what is computed.
        QCOMPARE(shardctl({ "new", "--model", "llama3-8b", "--mesh", "data=1", "--workload", "prefill", "--batch", "1",
                            "--sequence", "1048576", "-o", path("long.shardboard") })
                     .code,
                 0);
        const QJsonObject document = shardctl({ "plan", path("long.shardboard"), "--json" }).json();
        QVERIFY(document["totals"].toObject()["mfu"].toDouble() > 1);
        QVERIFY(document["notes"].toArray().at(0).toString().startsWith(QLatin1String("mfu is above 1: ")));
    }

    /// What is looked up and not multiplied counts in P, too.
    void aHighUtilizationSaysWhatItCounts()
    {
        const auto note = [&](const char* model) {
            const int code = shardctl({ "new", "--model", model, "--mesh", "data=1", "--workload", "prefill", "--batch", "1",
                                        "--sequence", "1048576", "-o", path("note.shardboard") })
                                 .code;
            return code != 0 ? QString()
                             : shardctl({ "plan", path("note.shardboard"), "--json" }).json()["notes"].toArray().at(0).toString();
        };
        QCOMPARE(note("llama3-8b"),
                 QString("mfu is above 1: that counts the embedding's table, in which rows are only looked up, and "
                         "all of causal attention, of which kernels compute half"));
        QCOMPARE(note("qwen3-0.6b"),
                 QString("mfu is above 1: that counts all of causal attention, of which kernels compute half")); // tied
    }

    /// MAX 26.7 refuses what moves unless a mode is given; a design keeps the mode that was chosen for it.
    void theReleasedProfileRaises()
    {
        const QString file = path("tp.shardboard");
        QCOMPARE(shardctl({ "plan", file, "--profile", "max-26.6" }).code, 0);
        const Outcome raised = shardctl({ "plan", file, "--profile", "max-26.7" });
        QCOMPARE(raised.code, 3);
        QVERIFY2(raised.err.contains("on_reshard is raise"), qPrintable(raised.err));
        QCOMPARE(shardctl({ "plan", file, "--profile", "max-26.7", "--on-reshard", "silent" }).code, 0);
    }

    /// Sharding what every device has whole makes a step shorter: the seconds that a fix loses are below 0 then.
    void secondsThatAFixLoses()
    {
        QCOMPARE(shardctl({ "new", "--model", "llama3-8b", "--mesh", "data=8", "--preset", "replicate", "--workload", "train",
                            "--batch", "8", "--sequence", "2048", "-o", path("whole8.shardboard") })
                     .code,
                 0);
        const QJsonObject document = shardctl({ "plan", path("whole8.shardboard"), "--json" }).json();
        const QJsonArray fixes = document["memory"].toObject()["fit"].toObject()["fixes"].toArray();
        QVERIFY(!fixes.isEmpty());
        const double step = document["totals"].toObject()["seconds"].toDouble();
        for (const QJsonValue& fix : fixes)
            QVERIFY(std::abs(fix["lost_seconds"].toDouble() - (fix["seconds"].toDouble() - step)) < 1e-9 * step);
        QVERIFY(fixes.first()["lost_seconds"].toDouble() < 0);
    }

    void otherWorkIsSaid()
    {
        QCOMPARE(shardctl({ "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "--preset", "megatron-tp", "--batch", "8",
                            "--sequence", "2048", "--workload", "train", "-o", path("train.shardboard") })
                     .code,
                 0);
        const Outcome it = shardctl({ "plan", path("tp.shardboard"), "--against", path("train.shardboard") });
        QVERIFY(it.out.contains(
            QLatin1String("note: the two designs do different work: a training step of 8 sequences of 2,048 tokens before, "
                          "a prefill of 8 sequences of 2,048 tokens after; times and memory do not compare\n")));
        const QJsonObject document =
            shardctl({ "plan", path("tp.shardboard"), "--against", path("train.shardboard"), "--json" }).json();
        QVERIFY(document["notes"].toArray().at(0).toString().startsWith(QLatin1String("the two designs do different work")));
        QVERIFY(shardctl({ "plan", path("tp.shardboard"), "--against", path("whole.shardboard"), "--json" })
                    .json()["notes"]
                    .toArray()
                    .isEmpty());
    }

    void fp8AndSoftware()
    {
        const auto make = [&](const char* file, const QStringList& more) {
            return shardctl(QStringList { "new", "--model", "llama3-8b", "--mesh", "data=2,model=4", "--preset", "megatron-tp",
                                          "--batch", "8", "--sequence", "2048", "-o", path(file) }
                            + more);
        };
        QCOMPARE(make("fp8.shardboard", { "--dtype", "fp8", "--workload", "train", "--software", "eager" }).code, 0);
        const QString h100 = shardctl({ "plan", path("fp8.shardboard") }).out;
        QVERIFY(h100.contains(QLatin1String(", f8e4m3, eager kernels; mesh")));
        QVERIFY(shardctl({ "plan", path("fp8.shardboard"), "--hardware", "dgx-a100" })
                    .out.contains(QLatin1String("f8e4m3 (computed in bf16: a100-sxm-80 has no fp8), eager kernels")));
        const Outcome run = shardctl({ "run", path("fp8.shardboard"), "--layers", "1", "--dtype", "design" });
        QCOMPARE(run.code, 3);
        QCOMPARE(run.err.count(QLatin1Char('\n')), 1);
        QVERIFY(run.err.contains(QLatin1String("f8e4m3 cannot be emulated on the CPU"))
                && run.err.contains(QLatin1String("--dtype f32")));
        const Outcome software = make("x.shardboard", { "--software", "lazy" });
        QCOMPARE(software.code, 2);
        QVERIFY(software.err.contains(QLatin1String("use fused, compiled or eager")));
        QVERIFY(make("x.shardboard", { "--dtype", "f8e5m2" }).err.contains(QLatin1String("use bf16, f16, f32 or f8e4m3")));
    }

    void memorySettings()
    {
        const auto make = [&](std::vector<std::string> more, const char* file) {
            QStringList words { "new",         "--model",    "llama3-8b", "--mesh", "data=2,model=4", "--preset",
                                "megatron-tp", "--workload", "train",     "-o",     path(file) };
            for (const std::string& word : more)
                words << QString::fromStdString(word);
            return shardctl(words).code;
        };
        const auto memory = [&](const QStringList& more, const char* file) {
            return shardctl(QStringList { "plan", path(file), "--json" } + more).json()["memory"].toObject();
        };
        QCOMPARE(make({}, "usual.shardboard"), 0);
        QCOMPARE(make({ "--reserve", "0", "--context", "0", "--communicator", "0", "--loss", "fused", "--gather-ahead", "2" },
                      "bare.shardboard"),
                 0);
        const QJsonObject usual = memory({}, "usual.shardboard");
        const QJsonObject bare = memory({}, "bare.shardboard");
        QVERIFY(usual["by_cause"].toObject()["reserve"].toDouble() > 0);
        QVERIFY(bare["peak_bytes_per_device"].toDouble() < usual["peak_bytes_per_device"].toDouble());
        QCOMPARE(bare["by_cause"].toObject()["reserve"].toDouble(), 0.0);
        QCOMPARE(bare["by_cause"].toObject()["runtime"].toInteger(), 550 << 20); // what the driver of an H100 keeps
        // The same for one run of a design that says nothing.
        QCOMPARE(memory({ "--reserve", "0", "--context", "0", "--communicator", "0", "--loss", "fused", "--gather-ahead", "2" },
                        "usual.shardboard"),
                 bare);
        const auto refuses = [&](const char* option, const char* value, int code) {
            const Outcome refused = shardctl({ "plan", path("usual.shardboard"), option, value });
            QCOMPARE(refused.code, code);
            QVERIFY2(refused.err.contains(QLatin1String(option)), qPrintable(refused.err));
        };
        for (const auto& [option, value] : { std::pair { "--reserve", "5%" }, { "--communicator", "1e3" }, { "--loss", "none" } })
            refuses(option, value, 2); // not of the form
        for (const auto& [option, value] : { std::pair { "--reserve", "101" },
                                             { "--reserve", "nan" },
                                             { "--reserve", "-1" },
                                             { "--context", "-1" },
                                             { "--gather-ahead", "65" } })
            refuses(option, value, 3); // out of range
    }

    void withItself()
    {
        const Outcome it = shardctl({ "plan", path("tp.shardboard"), "--against", path("tp.shardboard") });
        QCOMPARE(it.code, 0);
        QVERIFY(it.out.startsWith(QLatin1String("Both designs are the same.")));
        QVERIFY(!it.out.contains(QLatin1String("worse")));
    }

    void otherFileMissing()
    {
        const Outcome it = shardctl({ "plan", path("tp.shardboard"), "--against", path("missing.shardboard") });
        QCOMPARE(it.code, 3);
        QVERIFY(it.err.contains(QLatin1String("missing.shardboard")));
        QCOMPARE(it.err.count(QLatin1Char('\n')), 1);
    }
};

SHARDBOARD_TEST(TestPlanCommand)
#include "tst_plancommand.moc"
