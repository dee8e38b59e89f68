// SPDX-License-Identifier: Apache-2.0
// The window under random hands: it lives, its document stays sound, and it does not grow. As a test a fixed number of deeds;
// `tst_monkey --seconds N [--seed S]` goes on for as long as one likes, best under sanitizers.
#include "app/desktop/base/actions.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/files/sample.h"
#include "app/desktop/menus/themecontrol.h"
#include "app/desktop/window/fonts.h"
#include "app/desktop/window/mainwindow.h"
#include "model/design/evaluate/evaluate.h"
#include "model/io/design/designfile.h"
#include "model/io/file/textfile.h"
#include "model/session/document.h"
#include "tests/app/desktop/heapuse.h"
#include "tests/app/desktop/monkey.h"
#include "tests/support/runner.h"
#include "tests/widgets/testfonts.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QPixmapCache>
#include <QTemporaryDir>
#include <QTest>
#include <QUndoStack>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <unistd.h>

using namespace shardboard;

namespace {

double residentMiB()
{
    QFile file(QStringLiteral("/proc/self/statm"));
    if (!file.open(QIODevice::ReadOnly))
        return 0;
    return file.readAll().split(' ').value(1).toDouble() * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// What two texts have behind what they share, in a line each; QtTest cuts long messages.
std::string fromDifference(const std::string& a, const std::string& b)
{
    const auto at = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    return at == a.size() && at == b.size() ? "the texts are equal"
                                            : "\n" + a.substr(at, 120) + "\n" + b.substr(std::min(at, b.size()), 120);
}

/// The members of two designs that differ, by name: a member that a file does not hold leaves the texts equal.
std::string membersThatDiffer(const Design& a, const Design& b)
{
    std::string names;
    const auto look = [&](const char* name, auto Design::*member) {
        if (!(a.*member == b.*member))
            names += std::string(names.empty() ? "" : ", ") + name;
    };
    look("mesh", &Design::mesh);
    look("hardware", &Design::hardware);
    look("ownHardware", &Design::ownHardware);
    look("model", &Design::model);
    look("workload", &Design::workload);
    look("strategies", &Design::strategies);
    look("rules", &Design::rules);
    look("picker", &Design::picker);
    look("pins", &Design::pins);
    look("pipeline", &Design::pipeline);
    look("memory", &Design::memory);
    look("viewState", &Design::viewState);
    look("unknownKeys", &Design::unknownKeys);
    return names;
}

struct Stage {
    QTemporaryDir folder;
    std::unique_ptr<Settings> settings;
    std::unique_ptr<ThemeControl> theme;
    std::unique_ptr<MainWindow> window;
    std::unique_ptr<Monkey> monkey;

    explicit Stage(quint32 seed)
    {
        settings = std::make_unique<Settings>(folder.filePath(QStringLiteral("settings.ini")));
        settings->setLastFolder(folder.path());
        settings->setEngineCommand(QStringLiteral("\"" SHARDBOARD_BINARY_DIR "/tests/fakeengine\" slow"));
        theme = std::make_unique<ThemeControl>(*qApp, *settings);
        window = std::make_unique<MainWindow>(*settings, *theme);
        window->resize(1280, 800);
        window->show();
        (void)writeDesign(path("good.shardboard"), sampleDesign().value()).ok();
        (void)writeFileAtomically(path("wrong.shardboard"), "{ \"format\": 1,").ok();
        (void)writeFileAtomically(path("rules.yml"), "logical_axis_rules: [['mlp', 'model']]\n").ok();
        (void)writeFileAtomically(path("picture.png"), "no picture").ok();
        (void)writeFileAtomically(path("trace.json"),
                                  R"({"traceEvents": [
                                      {"ph": "X", "name": "all_reduce", "ts": 0, "dur": 120, "pid": 0, "tid": 1},
                                      {"ph": "X", "name": "gemm", "ts": 130, "dur": 900.5, "pid": 0, "tid": 0},
                                      {"ph": "X", "name": "gemm", "ts": 1e300, "dur": -4, "pid": "x", "tid": 0}]})")
            .ok();
        monkey = std::make_unique<Monkey>(*window, folder.path(), seed);
    }
    std::string path(const char* name) const { return QFile::encodeName(folder.filePath(QString::fromLatin1(name))).toStdString(); }

    /// The same design, the same window, nothing under way: what then is more than before is a leak.
    void rest()
    {
        monkey->pause(true);
        for (int tries = 0; QApplication::activeModalWidget() != nullptr || QApplication::activePopupWidget() != nullptr; ++tries) {
            QWidget* open = QApplication::activePopupWidget() != nullptr ? QApplication::activePopupWidget()
                                                                         : QApplication::activeModalWidget();
            open->close();
            QCoreApplication::processEvents();
            if (tries == 20)
                break;
        }
        for (int tries = 0; tries < 40; ++tries) { // what was typed somewhere becomes an edit, and then it is asked about
            window->document()->undoStack()->setClean();
            monkey->pause(false);
            window->fileActions()->openSample(samples().front().id);
            monkey->pause(true);
            if (!window->document()->isModified())
                break;
        }
        if (QAction* reset = window->findChild<QAction*>(QStringLiteral("view.reset")))
            reset->trigger();
        window->resize(1280, 800);
        for (int i = 0; i < 20; ++i) {
            QTest::qWait(50);
            QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        }
        QPixmapCache::clear();
        monkey->pause(false);
    }
    /// What is shown is what the design says, and it can be written and read again; empty, or what is wrong.
    std::string unsound() const
    {
        const Document* document = window->document();
        if (!document->hasDesign())
            return {};
        const std::string text = designText(document->design());
        const auto fresh = evaluate(document->design(), Misfits::Replicate);
        if (!fresh.ok())
            return "it cannot be evaluated: " + fresh.error().text() + "\n" + text;
        const auto again = designFromText(text, "again");
        if (!again.ok())
            return "it cannot be read: " + again.error().text() + "\n" + text;
        if (!(again.value() == document->design()))
            return "it is read as another one (" + membersThatDiffer(document->design(), again.value())
                + "), from here: " + fromDifference(text, designText(again.value())) + "\n" + text;
        const auto differ = [](double a, double b) { return !(a == b) && !(std::isnan(a) && std::isnan(b)); };
        if (const Plan& shown = document->evaluation()->plan;
            differ(fresh.value()->plan.seconds(), shown.seconds()) || fresh.value()->plan.memory.peak != shown.memory.peak)
            return "what is shown is not what it says:\n" + text;
        return {};
    }
};

int forSeconds(int seconds, quint32 seed)
{
    Stage stage(seed);
    QElapsedTimer clock;
    clock.start();
    qint64 deeds = 0;
    constexpr int kRests = 10;
    int rests = 0;
    for (; clock.elapsed() < qint64 { seconds } * 1000; ++deeds) {
        stage.monkey->act();
        if (deeds % 500 == 0) {
            std::printf("%lld s, %lld deeds, %.0f MiB, last %s\n", static_cast<long long>(clock.elapsed() / 1000),
                        static_cast<long long>(deeds), residentMiB(), qPrintable(stage.monkey->last()));
            std::fflush(stdout);
            if (const std::string why = stage.unsound(); !why.empty()) {
                std::printf("the document is not sound after: %s\n%s\n", qPrintable(stage.monkey->last()), why.c_str());
                std::fflush(stdout);
                return 1;
            }
        }
        if (clock.elapsed() * kRests / 1000 >= qint64 { seconds } * (rests + 1)) {
            ++rests;
            stage.rest();
            std::printf("at rest after %lld deeds: %.2f MiB in use, %lld objects in the window, %lld windows, %.0f MiB resident\n",
                        static_cast<long long>(deeds), heapUseMiB(),
                        static_cast<long long>(stage.window->findChildren<QObject*>().size()),
                        static_cast<long long>(QApplication::topLevelWidgets().size()), residentMiB());
            std::fflush(stdout);
        }
    }
    std::printf("%lld deeds\n", static_cast<long long>(deeds));
    for (const auto& [what, times] : stage.monkey->visits())
        std::printf("%8d %s\n", times, qPrintable(what));
    return 0;
}

std::optional<int> prepareOrRunLong(const QStringList& arguments)
{
    QApplication::setQuitOnLastWindowClosed(false);
    (void)withFonts(arguments);
    if (const auto at = arguments.indexOf(QStringLiteral("--seconds")); at > 0) {
        const auto seed = arguments.indexOf(QStringLiteral("--seed"));
        return forSeconds(arguments.value(at + 1).toInt(), seed > 0 ? arguments.value(seed + 1).toUInt() : 1);
    }
    return std::nullopt;
}

} // namespace

class TestMonkey : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void randomHands_data()
    {
        QTest::addColumn<quint32>("seed");
        for (const quint32 seed : { 1U, 2U, 3U })
            QTest::addRow("seed %u", seed) << seed;
    }
    void randomHands()
    {
        QFETCH(quint32, seed);
        Stage stage(seed);
        constexpr int kDeeds = 400;
        for (int i = 0; i < kDeeds; ++i) {
            stage.monkey->act();
            if (i % 50 == 0)
                QVERIFY2(stage.unsound().empty(),
                         qPrintable(stage.monkey->last() + QStringLiteral(": ") + QString::fromStdString(stage.unsound())));
        }
        QVERIFY2(stage.unsound().empty(),
                 qPrintable(stage.monkey->last() + QStringLiteral(": ") + QString::fromStdString(stage.unsound())));
    }
};

SHARDBOARD_TEST(TestMonkey, prepareOrRunLong)

#include "tst_monkey.moc"
