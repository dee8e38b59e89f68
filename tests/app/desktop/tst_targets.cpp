// SPDX-License-Identifier: Apache-2.0
// Deliver with several targets: what each can say, off the GUI thread; files with line numbers; proofs by a Python, which end
// whatever it does; and what an edit makes of them. The targets are the test's own, and the shell stands for Python.
#include "app/desktop/export/codeview.h"
#include "app/desktop/export/exportform.h"
#include "app/desktop/export/exportpanel.h"
#include "app/desktop/export/prover.h"
#include "app/desktop/export/targetstates.h"
#include "model/io/exports/exportrefusals.h"
#include "model/io/targets/targets.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/cuts/cutsview.h"

#include <QClipboard>
#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QTextBlock>
#include <QToolButton>

#include <atomic>
#include <thread>

using namespace shardboard;

namespace {

std::atomic<bool> s_slow { false }; ///< the target `slow` takes its time until it is stopped
std::atomic<int> s_stopped { 0 };

/// Files of two kinds, and a check that the shell runs.
ExportTarget target(const char* id, const char* title, const char* check)
{
    const std::string framework = title;
    return { .id = id,
             .title = title,
             .summary = "files for a test",
             .check = "check.sh",
             .refusals =
                 [framework](const Design& design, const Evaluation& evaluation, const std::function<bool()>& stopped) {
                     return commonRefusals(design, evaluation, { framework }, stopped);
                 },
             .leftOut = [](const Design&, const Evaluation&) { return std::vector<std::string> {}; },
             .usage = [](const Design&, const Evaluation&) { return std::string("from plan import plan\nrun(plan)\n"); },
             .files = [check = std::string(check)](const Design&,
                                                   const Evaluation& evaluation) -> Result<std::vector<ExportedFile>> {
                 std::string yaml = "# a test\nrules:\n";
                 for (const WeightLayout& weight : evaluation.weights)
                     yaml += "  \"" + weight.spec.name + "\": 8\n";
                 return std::vector<ExportedFile> { { "plan.yml", textSource(yaml) }, { "check.sh", textSource(check) } };
             } };
}

std::vector<ExportTarget> testTargets()
{
    std::vector<ExportTarget> out {
        *findExportTarget("jax"),
        target("good", "Good", "echo 9 of 9 tensors have the same shards in Good 1.2\n"),
        target("bad", "Bad", "echo 7 of 9 tensors have the same shards in Bad 1.2\nexit 1\n"),
        target("absent", "Absent", "echo 'skipped: there is no Absent here'\nexit 77\n"),
        target("endless", "Endless", "trap '' TERM\nwhile true; do echo working; sleep 0.05; done\n"),
        target("slow", "Slow", "exit 0\n"),
    };
    out.back().refusals = [](const Design&, const Evaluation&,
                             const std::function<bool()>& stopped) -> Result<std::vector<ExportRefusal>> {
        while (s_slow)
            if (stopped()) {
                ++s_stopped;
                return Cancelled {};
            } else {
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
            }
        return std::vector<ExportRefusal> {};
    };
    return out;
}

QString marked(const QString& line)
{
    QString out(line.size(), QLatin1Char('.'));
    for (const CodeToken& token : codeTokens(line))
        for (int i = 0; i < token.length; ++i)
            out[token.start + i] = QLatin1Char("ksn#"[static_cast<int>(token.kind)]);
    return out;
}

} // namespace

class TestTargets : public QObject, private AppWindow {
    Q_OBJECT
private:
    void start()
    {
        drop();
        folder = QTemporaryDir();
        makeSettings();
        settings->setLastFolder(folder.path());
        for (const char* id : { "good", "bad", "absent", "endless", "slow" })
            settings->setPython(QString::fromLatin1(id), QStringLiteral("sh"));
        window = std::make_unique<MainWindow>(*settings, *theme, testTargets());
        window->resize(1600, 1000);
        window->show();
        QVERIFY(QTest::qWaitForWindowExposed(window.get()));
        window->activateWindow();
        window->fileActions()->openSample();
        action("mode.deliver")->trigger();
        QTRY_VERIFY(!window->targets()->isBusy());
    }
    QListWidget* list() const { return child<QListWidget>("targetList"); }
    QString stateOf(const char* id) const
    {
        const auto& all = window->targets()->targets();
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i].id == id)
                return window->targets()->state(i).text();
        return {};
    }
    /// By a click on its row.
    void choose(int row) const
    {
        QTest::mouseClick(list()->viewport(), Qt::LeftButton, {}, list()->visualItemRect(list()->item(row)).center());
        settle();
        QCOMPARE(window->targets()->current(), static_cast<std::size_t>(row));
    }
    ExportForm* form() const
    {
        ExportForm* out = nullptr;
        for (ExportForm* one : window->findChildren<ExportForm*>())
            if (one->isVisible())
                out = one;
        return out;
    }
    CodeView* code() const { return form()->findChild<CodeView*>(); }
    bool filesAreThere() const
    {
        return QTest::qWaitFor([this] { return form() != nullptr && form()->files() != nullptr && !form()->isBusy(); }, 20000);
    }
    QString verdict() const { return child<QLabel>("proof.verdict")->text(); }
    void prove() const
    {
        auto* button = child<QPushButton>("proof.prove");
        QVERIFY(button->isVisible() && button->isEnabled());
        QTest::mouseClick(button, Qt::LeftButton);
    }
    Prover* prover() const { return window->findChild<Prover*>(); }
    void edit() const
    {
        Design edited = document()->design();
        edited.workload.batch *= 2;
        QVERIFY(document()->edit(edited, QStringLiteral("Batch")).ok());
    }

private Q_SLOTS:
    void cleanup()
    {
        s_slow = false;
        if (window)
            document()->undoStack()->setClean();
        drop();
    }

    void codeIsToldApart_data()
    {
        QTest::addColumn<QString>("line");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* line, const char* expected) {
            QTest::newRow(line) << QString::fromLatin1(line) << QString::fromLatin1(expected);
        };
        row("# all of it", "###########");
        row("a = \"b # c\"  # d", "k...sssssss..###");
        row("  \"key\": [1, 2.5],", "..kkkkk...n..nnn..");
        row("key: value", "kkk.......");
        row("- key: 'x\\'y'", "..kkk..ssssss");
        row("if a == 1:", "........n.");
        row("vllm serve --tp-size 8", "...........kkkkkkkkk.n");
        row("sdy.sharding = #sdy.sharding<@mesh>", "...................................");
        row("// mlir", "#######");
        row("x1 = f(b)", "kk.......");
        row("\"never ends", "sssssssssss");
    }

    void codeIsToldApart()
    {
        QFETCH(QString, line);
        QFETCH(QString, expected);
        QCOMPARE(marked(line), expected);
    }

    void allTargetsSayTheirState()
    {
        start();
        QCOMPARE(list()->count(), 6);
        QVERIFY(list()->isVisible());
        for (const char* id : { "jax", "good", "bad", "absent", "endless", "slow" })
            QCOMPARE(stateOf(id), QStringLiteral("exact, not checked here"));
        QVERIFY2(list()->item(1)->data(Qt::AccessibleTextRole).toString() == QStringLiteral("Good: exact, not checked here"),
                 qPrintable(list()->item(1)->data(Qt::AccessibleTextRole).toString()));
        Design uneven = document()->design();
        uneven.model.vocabSize = 128001;
        QVERIFY(document()->edit(uneven, QStringLiteral("Vocabulary"), Misfits::Replicate).ok());
        QTRY_COMPARE(stateOf("good"), QStringLiteral("2 tensors cannot be said"));
        QCOMPARE(stateOf("slow"), QStringLiteral("exact, not checked here"));
    }

    /// A target that takes its time neither holds the window nor is waited for after an edit.
    void slowTargetsAreAskedAside()
    {
        start();
        s_slow = true;
        s_stopped = 0;
        QElapsedTimer timer;
        timer.start();
        edit();
        QVERIFY2(timer.elapsed() < 2000, qPrintable(QString::number(timer.elapsed())));
        QTRY_COMPARE(stateOf("good"), QStringLiteral("exact, not checked here"));
        QCOMPARE(stateOf("slow"), QStringLiteral("looking …"));
        QVERIFY(window->targets()->isBusy());
        edit(); // the answer for the design before is not wanted any more
        QTRY_VERIFY(s_stopped > 0);
        s_slow = false;
        QTRY_COMPARE(stateOf("slow"), QStringLiteral("exact, not checked here"));
    }

    void nothingIsAskedWhileNobodyLooks()
    {
        start();
        action("mode.design")->trigger();
        edit();
        QTest::qWait(100);
        QCOMPARE(stateOf("good"), QStringLiteral("looking …"));
        QVERIFY(!window->targets()->isBusy());
        action("mode.deliver")->trigger();
        QTRY_COMPARE(stateOf("good"), QStringLiteral("exact, not checked here"));
    }

    void filesOfTheChosenTarget()
    {
        start();
        choose(1);
        QVERIFY(filesAreThere());
        const auto* files = form()->findChild<QListWidget*>(QStringLiteral("export.files"));
        QCOMPARE(files->count(), 3);
        QVERIFY(code()->hasNumbers());
        QVERIFY(code()->toPlainText().startsWith(QStringLiteral("# a test\nrules:\n")));
        QVERIFY(
            form()->findChild<QLabel*>(QStringLiteral("export.tick"))->text().contains(QStringLiteral("Nothing is lost: Good")));
        QVERIFY2(form()->folder().endsWith(QStringLiteral("-good")), qPrintable(form()->folder()));
        QTest::mouseClick(form()->findChild<QPushButton*>(QStringLiteral("export.copy")), Qt::LeftButton);
        QCOMPARE(QGuiApplication::clipboard()->text(), code()->toPlainText());
        QTest::mouseClick(child<QPushButton>("proof.copy"), Qt::LeftButton);
        QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("from plan import plan\nrun(plan)"));
    }

    void selectedWeightIsFoundInTheFile()
    {
        start();
        choose(1);
        QVERIFY(filesAreThere());
        const int weight = weightNamed(*document(), "mlp.up_proj");
        selection()->setWeight(weight);
        QVERIFY(code()->markedLine() > 2);
        QVERIFY(code()->document()->findBlockByNumber(code()->markedLine() - 1).text().contains(QStringLiteral("mlp.up_proj")));
        selection()->setWeight(weightNamed(*document(), "lm_head"));
        QVERIFY(code()->document()->findBlockByNumber(code()->markedLine() - 1).text().contains(QStringLiteral("lm_head")));
        choose(0); // also where another target writes it otherwise
        QVERIFY(filesAreThere());
        QTRY_VERIFY(code()->document()->findBlockByNumber(code()->markedLine() - 1).text().contains(QStringLiteral("lm_head")));
    }

    void againstLastIsAChoice()
    {
        start();
        choose(1);
        QVERIFY(filesAreThere());
        auto* against = form()->findChild<QToolButton*>(QStringLiteral("export.againstLast"));
        QVERIFY(!against->isEnabled()); // there is none yet
        QTest::keyClick(window.get(), Qt::Key_F5);
        QTRY_VERIFY(QFile::exists(form()->folder() + QStringLiteral("/plan.yml")));
        (void)QTest::qWaitFor([this] { return !form()->isBusy(); });
        QFile file(form()->folder() + QStringLiteral("/plan.yml"));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("older\n") > 0);
        file.close();
        form()->compare();
        QTRY_VERIFY(against->isEnabled());
        QVERIFY(!code()->hasNumbers() && code()->toPlainText().contains(QStringLiteral("− older")));
        QTest::mouseClick(against, Qt::LeftButton);
        QVERIFY(code()->hasNumbers() && code()->toPlainText().startsWith(QStringLiteral("# a test")));
        choose(0);
        choose(1);
        QVERIFY(filesAreThere());
        QTRY_VERIFY(code()->hasNumbers()); // the choice stays
    }

    void refusedWeightsAreComparedByCutRules()
    {
        start();
        Design uneven = document()->design();
        uneven.model.vocabSize = 128001;
        QVERIFY(document()->edit(uneven, QStringLiteral("Vocabulary"), Misfits::Replicate).ok());
        choose(1);
        auto* problems = form()->findChild<QListWidget*>(QStringLiteral("export.problems"));
        QTRY_COMPARE(problems->count(), 2);
        selection()->setWeight(weightNamed(*document(), "mlp.up_proj"));
        const auto cuts = [this] {
            const auto* view = window->findChild<CutsView*>(QStringLiteral("exportCutsView"));
            return view != nullptr && view->isVisible();
        };
        QVERIFY(!cuts());
        QTest::mouseClick(problems->viewport(), Qt::LeftButton, {}, problems->visualItemRect(problems->item(0)).center());
        QTRY_VERIFY(cuts());
        QVERIFY(weightAt(*document(), selection()->weight()).spec.name.find("embed_tokens") != std::string::npos);
        QTRY_VERIFY(child<QWidget>("proof.why")->isVisible());
        QVERIFY(!child<QPushButton>("proof.prove")->isEnabled());
    }

    void proofIsMadeAndKeptUntilAnEdit()
    {
        start();
        choose(1);
        prove();
        QTRY_COMPARE(stateOf("good"), QStringLiteral("proven with Good 1.2 here"));
        QCOMPARE(verdict(), QStringLiteral("9 of 9 tensors equal"));
        QVERIFY(child<QLabel>("proof.detail")->text().contains(QStringLiteral("Good 1.2")));
        edit();
        QTRY_COMPARE(stateOf("good"), QStringLiteral("proven before the last edit"));
        QVERIFY(child<WrappedLabel>("proof.detail")->fullText().contains(QStringLiteral("before the last edit")));
        document()->undoStack()->undo();
        QTRY_COMPARE(stateOf("good"), QStringLiteral("proven with Good 1.2 here"));
        window->fileActions()->openSample(samples()[1].id);
        QTRY_COMPARE(stateOf("good"), QStringLiteral("exact, not checked here"));
    }

    void otherOutcomesAreTold()
    {
        start();
        choose(2);
        prove();
        QTRY_COMPARE(stateOf("bad"), QStringLiteral("2 tensors differ"));
        QCOMPARE(verdict(), QStringLiteral("7 of 9 tensors equal"));
        choose(3);
        prove();
        QTRY_COMPARE(verdict(), QStringLiteral("not checked: no framework here"));
        QVERIFY2(child<WrappedLabel>("proof.detail")->fullText().startsWith(QStringLiteral("there is no Absent here")),
                 qPrintable(child<WrappedLabel>("proof.detail")->fullText()));
        QVERIFY(child<WrappedLabel>("proof.elsewhere")->fullText().endsWith(QStringLiteral("python3 check.sh")));
        QCOMPARE(stateOf("absent"), QStringLiteral("exact, not checked here"));
        auto* python = child<QLineEdit>("proof.python");
        python->setFocus();
        python->selectAll();
        QTest::keyClicks(python, QStringLiteral("no-such-python"));
        prove();
        QTRY_COMPARE(verdict(), QStringLiteral("not checked: the check failed"));
        QVERIFY(child<WrappedLabel>("proof.detail")->fullText().contains(QStringLiteral("no program 'no-such-python'")));
        QCOMPARE(settings->python(QStringLiteral("absent")), QStringLiteral("no-such-python")); // of this target alone
        QCOMPARE(settings->python(QStringLiteral("good")), QStringLiteral("sh"));
    }

    /// The window goes on while a check runs, and a cancel is answered at once.
    void proofIsCancelled()
    {
        start();
        choose(4);
        prove();
        QVERIFY(prover()->isBusy());
        QTRY_COMPARE(child<WrappedLabel>("proof.said")->fullText(), QStringLiteral("working"));
        QVERIFY(child<QWidget>("proof.progress")->isVisible());
        QElapsedTimer timer;
        timer.start();
        QTest::mouseClick(child<QPushButton>("proof.cancel"), Qt::LeftButton);
        QVERIFY(!prover()->isBusy());
        QVERIFY2(timer.elapsed() < 500, qPrintable(QString::number(timer.elapsed())));
        QVERIFY(child<QPushButton>("proof.prove")->isVisible());
        prove(); // again, behind the one that is being ended
        QTRY_VERIFY(prover()->isBusy());
        timer.restart();
        drop(); // a window that goes away ends it
        QVERIFY2(timer.elapsed() < 5000, qPrintable(QString::number(timer.elapsed())));
    }

    void proofOfTheDesignBeforeAnEdit()
    {
        start();
        choose(1);
        prove();
        edit();
        QTRY_VERIFY(!prover()->isBusy());
        QTRY_COMPARE(stateOf("good"), QStringLiteral("proven before the last edit"));
    }

    void commandsLeadToTargets()
    {
        start();
        action("mode.design")->trigger();
        action("file.export.bad")->trigger();
        settle();
        QCOMPARE(window->workbench()->mode(), WorkMode::Deliver);
        QCOMPARE(list()->currentRow(), 2);
        QVERIFY(action("file.export.good")->text().contains(QStringLiteral("Good")));
        action("mode.design")->trigger();
        QVERIFY(!child<QWidget>("proofView")->isVisible());
        action("file.export")->trigger(); // to the one that was chosen
        settle();
        QCOMPARE(list()->currentRow(), 2);
        QVERIFY(child<QWidget>("proofView")->isVisible());
        QTest::keyClick(list(), Qt::Key_Up);
        QCOMPARE(window->targets()->current(), std::size_t { 1 });
        QTRY_VERIFY(action("proof.start")->isEnabled());
        action("proof.start")->trigger();
        QTRY_COMPARE(stateOf("good"), QStringLiteral("proven with Good 1.2 here"));
    }
};

SHARDBOARD_TEST(TestTargets, withFonts)

#include "tst_targets.moc"
