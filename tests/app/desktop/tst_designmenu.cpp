// SPDX-License-Identifier: Apache-2.0
// Optimizer states and memory settings from the Design menu of the real window, and the New dialog with a hardware file: each
// choice is one step that prices everything again and can be undone.
#include "app/desktop/files/newdialog.h"
#include "model/io/design/hardwarefile.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "widgets/workload/workloadview.h"

#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>

using namespace shardboard;

class TestDesignMenu : public QObject, private AppWindow {
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        makeNew();
        // Weights are whole along data, so that the states can be cut over it.
        QVERIFY(document()->setDesign(trainingDesign("llama3-8b", "data=4,model=2", "megatron-tp")).ok());
    }
    void cleanup() { drop(); }
    void optimizerStatesOverAxes();
    void inferenceHasNoOptimizer();
    void anotherMeshHasOtherEntries();
    void memorySettings();
    void newDesignWithAHardwareFile();

private:
    QAction* action(const char* name) const { return window->findChild<QAction*>(QString::fromLatin1(name)); }
    /// The field of a setting, in its section unfolded.
    QLineEdit* box(const char* name) const
    {
        window->findChild<WorkloadView*>()->focusSetting(QString::fromLatin1(name));
        return window->findChild<QLineEdit*>(QString::fromLatin1(name));
    }
    /// Typed into the field of the panel, and Enter.
    void type(const char* name, const char* text) const
    {
        box(name)->setText(QString::fromLatin1(text));
        QTest::keyClick(box(name), Qt::Key_Return);
    }
    MemoryByCause memory() const { return document()->evaluation()->plan.memory; }
    QUndoStack* history() const { return document()->undoStack(); }
};

void TestDesignMenu::optimizerStatesOverAxes()
{
    const Design before = document()->design();
    const std::int64_t states = memory().optimizer;
    QVERIFY(states > 0);
    QVERIFY(!action("optimizer.gradients")->isEnabled()); // nothing is cut yet
    action("optimizer.over.data")->trigger();
    QCOMPARE(document()->design().workload.optimizer.axes, std::vector<std::string> { "data" });
    QVERIFY(history()->undoText().contains(QStringLiteral("data")));
    QVERIFY(action("optimizer.over.data")->isChecked());
    // All weights of this model have a dim that four devices divide.
    QVERIFY2(memory().optimizer * 4 <= states + 4096 && memory().optimizer * 4 >= states - 4096,
             qPrintable(QString::number(memory().optimizer)));
    const std::int64_t gradients = memory().gradients;
    action("optimizer.gradients")->trigger();
    QVERIFY(document()->design().workload.optimizer.gradients);
    QVERIFY(memory().gradients <= gradients);
    action("optimizer.over.data")->trigger(); // off: gradients cannot be cut alone
    QVERIFY(document()->design().workload.optimizer == OptimizerSharding {});
    QCOMPARE(memory().optimizer, states);
    QCOMPARE(history()->index(), 3);
    while (history()->canUndo())
        history()->undo();
    QVERIFY(document()->design() == before);
    QVERIFY(!action("optimizer.over.data")->isChecked());
}

void TestDesignMenu::inferenceHasNoOptimizer()
{
    QVERIFY(document()->setDesign(knownDesign("data=4,model=2")).ok());
    QVERIFY(!action("optimizer.over.data")->isEnabled());
    QVERIFY(!action("optimizer.gradients")->isEnabled());
    QVERIFY(!action("memory.logits")->isEnabled());
    raise("workload");
    QVERIFY(box("memory.reserve")->isEnabled());
}

void TestDesignMenu::anotherMeshHasOtherEntries()
{
    QVERIFY(document()->setDesign(trainingDesign("llama3-8b", "fsdp=2,model=4")).ok());
    QTRY_VERIFY(action("optimizer.over.data") == nullptr); // gone with the event that replaced it
    QVERIFY(action("optimizer.over.fsdp") && action("optimizer.over.model"));
}

void TestDesignMenu::memorySettings()
{
    const Design before = document()->design();
    const MemoryByCause usual = memory();
    raise("workload");
    QCOMPARE(box("memory.reserve")->text(), QStringLiteral("5"));
    QVERIFY(!action("memory.usual")->isEnabled());
    type("memory.reserve", "0");
    QCOMPARE(memory().reserve, std::int64_t { 0 });
    QVERIFY(history()->undoText().contains(QStringLiteral("reserve")));
    type("memory.context", "1024");
    QCOMPARE(memory().runtime - usual.runtime, std::int64_t { 512 } << 20);
    type("memory.communicator", "0");
    const auto kept = static_cast<std::int64_t>(hardwareOf(document()->design()).value().reservedBytes()); // by the driver
    QCOMPARE(memory().runtime, kept + (std::int64_t { 1 } << 30));
    action("memory.logits")->trigger();
    QVERIFY(memory().logits < usual.logits || memory().peak < usual.peak);
    type("memory.prefetchedLayers", "3");
    QCOMPARE(document()->design().memory.prefetchedLayers, std::int64_t { 3 });
    QCOMPARE(history()->index(), 5);
    action("memory.usual")->trigger();
    QVERIFY(document()->design() == before);
    QCOMPARE(memory().peak, usual.peak);
    QCOMPARE(box("memory.context")->text(), QStringLiteral("512"));
}

void TestDesignMenu::newDesignWithAHardwareFile()
{
    Hardware mine = findHardware("dgx-h100").value();
    mine.id = "mine";
    mine.levels[0].link.bytesPerSecond = 123e9;
    const QString path = at("mine.json");
    const auto write = [&path](const QByteArray& text) {
        QFile file(path);
        return file.open(QIODevice::WriteOnly) && file.write(text) == text.size();
    };
    QVERIFY(write(QByteArray::fromStdString(hardwareText(mine))));
    NewDialog dialog;
    dialog.show();
    dialog.setHardwareFile(path);
    QCOMPARE(dialog.findChild<QComboBox*>(QStringLiteral("new.hardware"))->currentText(), QStringLiteral("mine.json"));
    dialog.accept();
    QCOMPARE(dialog.result(), int(QDialog::Accepted));
    QVERIFY(hardwareOf(dialog.design()).value() == mine);
    QVERIFY(write("{\"format\": \"shardboard-hardware\", \"version\": 1, \"base\": \"dgx-h100\", \"library\": \"other\"}"));
    NewDialog refused;
    refused.show();
    refused.setHardwareFile(path);
    refused.accept();
    QVERIFY(refused.isVisible());
    QVERIFY(refused.findChild<QLabel*>(QStringLiteral("new.error"))->text().contains(QStringLiteral("mine.json")));
}

SHARDBOARD_TEST(TestDesignMenu)
#include "tst_designmenu.moc"
