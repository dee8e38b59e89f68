// SPDX-License-Identifier: Apache-2.0
// A preset of parts in the window: chosen one by one for a design, and typed for a new one; stages set in the panel.
#include "app/desktop/files/newdialog.h"
#include "app/desktop/menus/partsdialog.h"
#include "tests/app/desktop/appwindow.h"
#include "tests/support/runner.h"
#include "widgets/look/format.h"
#include "widgets/settings/settings.h"

#include <QComboBox>
#include <QCompleter>
#include <QDialogButtonBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>

using namespace shardboard;

namespace {

void choose(const PartsDialog& dialog, const char* box, const char* part)
{
    auto* combo = dialog.findChild<QComboBox*>(QStringLiteral("parts.") + QLatin1String(box));
    QVERIFY2(combo != nullptr, box);
    QVERIFY2(combo->findText(QLatin1String(part)) >= 0, part);
    combo->setCurrentText(QLatin1String(part));
}

QString text(const QDialog& dialog, const char* label) { return dialog.findChild<QLabel*>(QLatin1String(label))->text(); }

} // namespace

class TestPartsDialog : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void partsAreChosenForADesign()
    {
        TestWindow it;
        it.window->fileActions()->openSample();
        Design design = trainingDesign("llama3-8b", "stage=2,fsdp=2,model=2", "tp+fsdp");
        design.workload.batch = 16;
        design.workload.microBatches = 4;
        QVERIFY(it.document()->edit(design, QStringLiteral("stages")).ok());
        it.window->findChild<QAction*>(QStringLiteral("preset.combine"))->trigger();
        auto* dialog = it.window->findChild<PartsDialog*>();
        QVERIFY(dialog != nullptr);
        auto* apply = dialog->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok);
        QCOMPARE(dialog->preset(), QStringLiteral("tp+fsdp")); // what it is laid out by
        choose(*dialog, "cp-ring", "cp-ring");
        QVERIFY(!apply->isEnabled());
        QVERIFY2(text(*dialog, "parts.error").contains(QLatin1String("no mesh axis for the sequence")),
                 qPrintable(text(*dialog, "parts.error")));
        choose(*dialog, "cp-ring", "none");
        choose(*dialog, "tp", "tp-sp");
        choose(*dialog, "pp", "pp");
        QCOMPARE(dialog->preset(), QStringLiteral("pp+tp-sp+fsdp"));
        QVERIFY(apply->isEnabled() && text(*dialog, "parts.error").isEmpty());
        apply->click();
        const Design& made = it.document()->design();
        QCOMPARE(made.pipeline.axis, std::string("stage"));
        QCOMPARE(made.pins.front().source, std::string("preset pp+tp-sp+fsdp"));
        it.document()->undoStack()->undo();
        QVERIFY(!it.document()->design().pipeline.present());
    }

    void nothingChosenIsNothingToApply()
    {
        PartsDialog dialog(trainingDesign("llama3-8b", "data=4", "replicate"));
        QVERIFY(dialog.preset().isEmpty());
        QVERIFY(!dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok)->isEnabled());
        choose(dialog, "dp", "dp");
        QVERIFY(dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok)->isEnabled());
    }

    void partsAreTypedForANewDesign()
    {
        NewDialog dialog;
        dialog.show();
        auto* preset = dialog.findChild<QComboBox*>(QStringLiteral("new.preset"));
        dialog.findChild<QComboBox*>(QStringLiteral("new.workload"))->setCurrentText(QStringLiteral("train"));
        dialog.findChild<QLineEdit*>(QStringLiteral("new.mesh"))->setText(QStringLiteral("pp=2,fsdp=2,tp=2"));
        dialog.findChild<QSpinBox*>(QStringLiteral("new.batch"))->setValue(16);
        dialog.findChild<QSpinBox*>(QStringLiteral("new.microBatches"))->setValue(4);
        preset->setEditText(QStringLiteral("pp+tp-sq"));
        QVERIFY2(text(dialog, "new.presetWhat").contains(QLatin1String("did you mean 'tp-sp'")),
                 qPrintable(text(dialog, "new.presetWhat")));
        auto* completer = preset->lineEdit()->completer();
        completer->setCompletionPrefix(QStringLiteral("pp+tp-"));
        QCOMPARE(completer->completionCount(), 1);
        preset->setEditText(QStringLiteral("fsdp+tp-sp+pp"));
        QVERIFY(text(dialog, "new.presetWhat").startsWith(QLatin1String("pp: pipeline stages")));
        dialog.accept();
        QCOMPARE(dialog.result(), int(QDialog::Accepted));
        QCOMPARE(dialog.design().pipeline.axis, std::string("pp"));
        QCOMPARE(dialog.design().pins.front().source, std::string("preset pp+tp-sp+fsdp"));
    }

    void stagesAreSetInThePanel()
    {
        Design design = trainingDesign("llama3-8b", "stage=4", "pp-1f1b");
        const Setting layers = settingNamed(design, QStringLiteral("pipeline.layers"));
        QCOMPARE(layers.text(design), QString());
        QCOMPARE(layers.set(design, QStringLiteral("8x2, 9, 7")), QString());
        QCOMPARE(design.pipeline.layers, (std::vector<std::int64_t> { 8, 8, 9, 7 }));
        QCOMPARE(layers.text(design), QStringLiteral("8x2,9,7"));
        QVERIFY(layers.set(design, QStringLiteral("8 of them")).contains(QLatin1String("numbers such as")));
        QCOMPARE(layers.set(design, QString()), QString());
        const Setting counted = settingNamed(design, QStringLiteral("pipeline.counted"));
        QCOMPARE(counted.set(design, QStringLiteral("both")), QString());
        QVERIFY(design.pipeline.countEmbedding && design.pipeline.countLoss);
        const Setting schedule = settingNamed(design, QStringLiteral("pipeline.schedule"));
        QCOMPARE(schedule.set(design, QStringLiteral("zero-bubble")), QString());
        QVERIFY(design.pipeline.schedule == PipelineSchedule::ZeroBubble);
        QVERIFY(!schedule.whyNot(trainingDesign("llama3-8b", "model=4", "megatron-tp")).isEmpty());
    }
};

SHARDBOARD_TEST(TestPartsDialog)
#include "tst_partsdialog.moc"
