// SPDX-License-Identifier: Apache-2.0
// The panel of the settings: every field from its text to the document and back by undo, the effect that it shows while somebody
// edits against an evaluation of the edited design, and what it does with texts that are no numbers.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "model/design/evaluate/evaluate.h"
#include "widgets/controls/card.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/settings/numberfrom.h"
#include "widgets/settings/settings.h"
#include "widgets/workload/effect.h"
#include "widgets/workload/settingrow.h"
#include "widgets/workload/workloadview.h"

#include <QApplication>
#include <QLineEdit>
#include <QTest>
#include <QToolButton>
#include <QUndoStack>

#include <algorithm>

using namespace shardboard;

namespace {

struct ShownPanel {
    Document document;
    std::unique_ptr<WorkloadView> view;

    bool open(const Design& design)
    {
        if (!document.setDesign(design).ok())
            return false;
        view = shownView<WorkloadView>(document, { 310, 700 });
        if (view)
            view->activateWindow();
        return view != nullptr && QTest::qWaitForWindowActive(view.get());
    }
    QLineEdit* number(const char* id) const { return view->findChild<QLineEdit*>(QString::fromLatin1(id)); }
    ChoiceBox* choice(const char* id) const { return view->findChild<ChoiceBox*>(QString::fromLatin1(id)); }
    QString told(const char* id) const
    {
        const auto* label = view->findChild<WrappedLabel*>(QStringLiteral("effect.") + QString::fromLatin1(id));
        return label->isVisibleTo(view.get()) ? label->fullText() : QString();
    }
    void type(const char* id, const QString& text) const
    {
        number(id)->setFocus();
        number(id)->selectAll();
        QTest::keyClicks(number(id), text);
    }
    bool settled() const
    {
        const auto jobs = view->findChildren<LatestJob*>();
        return QTest::qWaitFor([&] { return std::ranges::none_of(jobs, [](const LatestJob* job) { return job->isBusy(); }); },
                               20000);
    }
};

/// A text for a field that is another value than the design's, and can be used.
QString otherText(const Setting& setting, const Design& design)
{
    const QString now = setting.text(design);
    if (setting.isNumber())
        return setting.step(design, now, true) != now ? setting.step(design, now, true) : setting.step(design, now, false);
    for (const Setting::Option& option : setting.options)
        if (option.value != now)
            return option.value;
    return now;
}

} // namespace

class TestWorkload : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void numbers_data();
    void numbers();
    void everyFieldGoesToTheDocumentAndBack();
    void aFieldTouchesNothingElse();
    void settingsOfTrainingWait();
    void effectIsThatOfTheEditedDesign();
    void staleEffectsAreNotShown();
    void enterAppliesThatFieldAlone();
    void whatCannotBeUsedStaysInItsField();
    void arrowsStep();
    void presetIsOfferedAfterAnotherBatch();
    void whatIsToldGoesWhenItIsDone();
    void whatIsTypedIsOfItsDocument();
    void whatWaitsIsTakenOver();
    void errorsHaveNoKeysOrOptions();
    void foldedSectionsTellWhatDiffers();
    void whatDoesNothingIsGray();
    void aSettingUnfoldsItsSection();
    void whatIsTypedStaysInAFoldedSection();
};

void TestWorkload::numbers_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<double>("number"); // -1: none
    QTest::newRow("plain") << QStringLiteral("4096") << 4096.0;
    QTest::newRow("blanks around") << QStringLiteral("  8 ") << 8.0;
    QTest::newRow("comma") << QStringLiteral("1,048,576") << 1048576.0;
    QTest::newRow("narrow space") << QStringLiteral("4\u202F096") << 4096.0;
    QTest::newRow("point") << QStringLiteral("0.5") << 0.5;
    QTest::newRow("nothing") << QString() << -1.0;
    QTest::newRow("word") << QStringLiteral("many") << -1.0;
    QTest::newRow("comma for a point") << QStringLiteral("1,5") << -1.0;
    QTest::newRow("two numbers") << QStringLiteral("8 16") << -1.0;
    QTest::newRow("not a number") << QStringLiteral("nan") << -1.0;
    QTest::newRow("infinite") << QStringLiteral("1e999") << -1.0;
    QTest::newRow("hexadecimal") << QStringLiteral("0x10") << -1.0;
    QTest::newRow("markup") << QStringLiteral("<b>8</b>") << -1.0;
    QTest::newRow("endless") << QString(5000, QLatin1Char('9')) << -1.0;
}

void TestWorkload::numbers()
{
    QFETCH(const QString, text);
    QFETCH(const double, number);
    QCOMPARE(numberFrom(text).value_or(-1), number);
}

void TestWorkload::everyFieldGoesToTheDocumentAndBack()
{
    Design design = trainingDesign("llama3-8b", "data=4,model=2", "megatron-tp");
    design.workload.optimizer.axes = { "data" };
    Document document;
    QVERIFY(document.setDesign(design).ok());
    int fields = 0;
    for (const SettingGroup& group : settingGroups(design))
        for (const Setting& setting : group.settings) {
            if (setting.whyNot && !setting.whyNot(design).isEmpty())
                continue;
            const QString text = otherText(setting, design);
            QVERIFY2(text != setting.text(design), qPrintable(setting.id));
            QCOMPARE(WorkloadView::applySetting(document, setting, text), QString());
            QCOMPARE(setting.text(document.design()), text);
            QCOMPARE(document.undoStack()->index(), 1);
            QVERIFY(document.undoStack()->undoText().contains(setting.label));
            document.undoStack()->undo();
            QVERIFY2(document.design() == design, qPrintable(setting.id));
            ++fields;
        }
    QVERIFY(fields >= 17);
}

void TestWorkload::aFieldTouchesNothingElse()
{
    const Design design = trainingDesign();
    for (const SettingGroup& group : settingGroups(design))
        for (const Setting& setting : group.settings) {
            if (setting.whyNot && !setting.whyNot(design).isEmpty())
                continue;
            Design edited = design;
            QCOMPARE(setting.set(edited, otherText(setting, design)), QString());
            QVERIFY(!(edited == design));
            // A framework brings its allocator's reserve; a set and what is in it are two views of one setting.
            const auto together = [&](const Setting& other) {
                const auto pair = [&](const char* whole, const char* part) {
                    return (setting.id == QLatin1String(whole) && other.id.startsWith(QLatin1String(part)))
                        || (other.id == QLatin1String(whole) && setting.id.startsWith(QLatin1String(part)));
                };
                return pair("workload.recompute", "recompute.") || pair("workload.overlap", "overlap.")
                    || (setting.id == QLatin1String("memory.framework") && other.id == QLatin1String("memory.reserve"));
            };
            for (const SettingGroup& others : settingGroups(design))
                for (const Setting& other : others.settings)
                    if (other.id != setting.id && !together(other))
                        QCOMPARE(other.text(edited), other.text(design));
            QCOMPARE(setting.set(edited, setting.text(design)), QString());
            Design back = design;
            if (setting.id == QLatin1String("memory.reserve"))
                back.memory.reserveChosen = true; // somebody has set it, if to what is usual
            QVERIFY2(edited == back, qPrintable(setting.id));
        }
}

/// A design that serves for a while trains as before; meanwhile it is evaluated as one that never did.
void TestWorkload::settingsOfTrainingWait()
{
    Design design = trainingDesign("llama3-8b", "data=4,model=2", "megatron-tp");
    design.workload.microBatches = 4;
    design.workload.recompute = Recompute::Full;
    design.workload.optimizer = { { "data" }, true };
    ShownPanel panel;
    QVERIFY(panel.open(design));
    const auto settings = settingGroups(design);
    const auto choose = [&](const char* kind) {
        for (const SettingGroup& group : settings)
            for (const Setting& setting : group.settings)
                if (setting.id == QLatin1String("workload.kind"))
                    return WorkloadView::applySetting(panel.document, setting, QString::fromLatin1(kind));
        return QStringLiteral("no such setting");
    };
    QCOMPARE(choose("prefill"), QString());
    const Design serving = panel.document.design();
    QCOMPARE(serving.workload.microBatches, std::int64_t { 4 });
    QVERIFY(!panel.number("workload.microBatches")->isEnabled());
    Design never = serving;
    never.workload = { WorkloadKind::Prefill, design.workload.batch, design.workload.sequence, design.workload.dtype };
    const auto plain = evaluate(never);
    QVERIFY(plain.ok());
    QCOMPARE(panel.document.evaluation()->plan.seconds(), plain.value()->plan.seconds());
    QCOMPARE(panel.document.evaluation()->plan.memory.peak, plain.value()->plan.memory.peak);
    QCOMPARE(panel.document.evaluation()->plan.microBatches, std::int64_t { 1 });
    QCOMPARE(choose("train"), QString());
    QVERIFY(panel.document.design() == design);
    // What does not suit the batch and the mesh that it has by then is left out.
    Design other = serving;
    other.workload.batch = 8;
    other.workload.microBatches = 6;
    other.workload.optimizer.axes = { "data", "gone" };
    QVERIFY(panel.document.setDesign(other).ok());
    QCOMPARE(choose("train"), QString());
    QCOMPARE(panel.document.design().workload.microBatches, std::int64_t { 2 });
    QCOMPARE(panel.document.design().workload.optimizer.axes, std::vector<std::string> { "data" });
}

void TestWorkload::effectIsThatOfTheEditedDesign()
{
    ShownPanel panel;
    QVERIFY(panel.open(trainingDesign()));
    const auto before = panel.document.evaluation();
    panel.type("workload.batch", QStringLiteral("32"));
    QVERIFY(panel.document.evaluation() == before); // nothing is edited yet
    QVERIFY(panel.settled());
    Design edited = panel.document.design();
    edited.workload.batch = 32;
    const auto wanted = evaluate(edited, Misfits::Replicate);
    QVERIFY(wanted.ok());
    const double seconds = wanted.value()->plan.seconds();
    const std::int64_t peak = wanted.value()->plan.memory.peak;
    const QString told = panel.told("workload.batch");
    QVERIFY2(told.contains(secondsText(seconds)), qPrintable(told));
    QVERIFY2(told.contains(bytesText(peak)), qPrintable(told));
    QVERIFY2(told.contains(stepDeltaText(before->plan.seconds(), seconds)), qPrintable(told));
    QVERIFY2(told.contains(bytesDeltaText(before->plan.memory.peak, peak)), qPrintable(told));
    const double limit = hardwareOf(edited).value().memoryBytes();
    QCOMPARE(told.contains(QStringLiteral("does not fit")), static_cast<double>(peak) > limit);
}

void TestWorkload::staleEffectsAreNotShown()
{
    ShownPanel panel;
    QVERIFY(panel.open(trainingDesign()));
    panel.type("workload.batch", QStringLiteral("3"));
    panel.type("workload.batch", QStringLiteral("32")); // the first ones are still under way
    QVERIFY(panel.settled());
    const QString last = panel.told("workload.batch");
    Design edited = panel.document.design();
    edited.workload.batch = 32;
    QVERIFY2(last.contains(secondsText(evaluate(edited).value()->plan.seconds())), qPrintable(last));
    panel.type("workload.batch", QStringLiteral("64"));
    QTest::keyClick(panel.number("workload.batch"), Qt::Key_Escape);
    QVERIFY(panel.settled());
    QTest::qWait(50);
    QCOMPARE(panel.told("workload.batch"), QString()); // what was asked for is not wanted any more
    QCOMPARE(panel.number("workload.batch")->text(), QStringLiteral("16"));
}

void TestWorkload::enterAppliesThatFieldAlone()
{
    ShownPanel panel;
    QVERIFY(panel.open(trainingDesign()));
    panel.type("workload.sequence", QStringLiteral("x")); // cannot be used, and stays
    panel.type("workload.batch", QStringLiteral("32"));
    QTest::keyClick(panel.number("workload.batch"), Qt::Key_Return);
    QCOMPARE(panel.document.design().workload.batch, std::int64_t { 32 });
    QCOMPARE(panel.document.design().workload.sequence, std::int64_t { 4096 });
    QCOMPARE(panel.document.undoStack()->index(), 1);
    QVERIFY(panel.number("workload.batch")->hasFocus());
    QCOMPARE(panel.number("workload.sequence")->text(), QStringLiteral("x"));
    panel.document.undoStack()->undo();
    QVERIFY(panel.number("workload.batch")->hasFocus());
    QCOMPARE(panel.number("workload.batch")->text(), QStringLiteral("16"));
}

void TestWorkload::whatCannotBeUsedStaysInItsField()
{
    ShownPanel panel;
    QVERIFY(panel.open(trainingDesign()));
    for (const QString& text : { QStringLiteral("many"), QStringLiteral("0"), QStringLiteral("-4"),
                                 QStringLiteral("99999999999999999999"), QStringLiteral("<img src=x>") }) {
        panel.type("workload.batch", text);
        QTest::keyClick(panel.number("workload.batch"), Qt::Key_Return);
        QCOMPARE(panel.number("workload.batch")->text(), text);
        const QString told = panel.told("workload.batch");
        QVERIFY2(told.startsWith(QStringLiteral("Batch ")) && told.endsWith(QLatin1Char('.')) && told.count(QLatin1Char('\n')) == 0,
                 qPrintable(told));
    }
    panel.type("workload.microBatches", QStringLiteral("3")); // 16 cannot be cut so
    QTest::keyClick(panel.number("workload.microBatches"), Qt::Key_Return);
    QVERIFY2(panel.told("workload.microBatches").contains(QStringLiteral("micro-batches")),
             qPrintable(panel.told("workload.microBatches")));
    QCOMPARE(panel.number("workload.microBatches")->text(), QStringLiteral("3"));
    QCOMPARE(panel.document.undoStack()->index(), 0);
}

void TestWorkload::arrowsStep()
{
    ShownPanel panel;
    QVERIFY(panel.open(trainingDesign()));
    QLineEdit* batch = panel.number("workload.batch");
    batch->setFocus();
    QTest::keyClick(batch, Qt::Key_Up);
    QCOMPARE(batch->text(), QStringLiteral("32"));
    QTest::keyClick(batch, Qt::Key_Down);
    QTest::keyClick(batch, Qt::Key_Down);
    QCOMPARE(batch->text(), QStringLiteral("8"));
    QCOMPARE(panel.document.design().workload.batch, std::int64_t { 16 }); // until Enter
    QTest::keyClick(batch, Qt::Key_Escape);
    QLineEdit* micro = panel.number("workload.microBatches");
    micro->setFocus();
    QTest::keyClick(micro, Qt::Key_Up);
    QTest::keyClick(micro, Qt::Key_Up);
    QCOMPARE(micro->text(), QStringLiteral("4")); // 3 does not divide 16
}

void TestWorkload::presetIsOfferedAfterAnotherBatch()
{
    ShownPanel panel;
    Design design = trainingDesign("llama3-8b", "data=2,fsdp=4,model=2", "tp+fsdp");
    QVERIFY(panel.open(design));
    QVERIFY(panel.settled());
    const auto card = [&] { return panel.view->findChild<Card*>(QStringLiteral("workloadPreset")); };
    QVERIFY(card() == nullptr);
    panel.type("workload.batch", QStringLiteral("2"));
    QTest::keyClick(panel.number("workload.batch"), Qt::Key_Return);
    // The tokens are cut over data and fsdp, and two sequences do not divide by eight: refused, or allowed with an offer.
    QTRY_VERIFY(card() != nullptr && card()->isVisible());
    QVERIFY(!panel.told("workload.batch").isEmpty()); // why it was refused
    QTest::mouseClick(card()->button(), Qt::LeftButton);
    design.workload.batch = 2;
    QVERIFY(applyPreset(design, "tp+fsdp").ok());
    QTRY_VERIFY(panel.document.design() == design);
    QVERIFY(panel.settled());
    QCOMPARE(panel.told("workload.batch"), QString()); // it was not refused so
    QCOMPARE(panel.number("workload.batch")->text(), QStringLiteral("2"));
    panel.document.undoStack()->undo();
    QVERIFY(!(panel.document.design() == design));
    panel.document.undoStack()->redo();
    QVERIFY(panel.settled());
    QTRY_VERIFY(card() == nullptr || !card()->isVisible()); // a new look makes it anew
}

/// An edit made elsewhere may be the very one that the field still waits with.
void TestWorkload::whatIsToldGoesWhenItIsDone()
{
    ShownPanel panel;
    QVERIFY(panel.open(trainingDesign()));
    panel.type("workload.batch", QStringLiteral("32"));
    QVERIFY(panel.settled());
    QVERIFY(!panel.told("workload.batch").isEmpty());
    Design edited = panel.document.design();
    edited.workload.batch = 32;
    QVERIFY(panel.document.edit(edited, QStringLiteral("Batch")).ok());
    QVERIFY(panel.settled());
    QCOMPARE(panel.told("workload.batch"), QString());
    panel.type("workload.microBatches", QStringLiteral("5")); // 32 cannot be cut so
    QTest::keyClick(panel.number("workload.microBatches"), Qt::Key_Return);
    QVERIFY(!panel.told("workload.microBatches").isEmpty());
    edited.workload.batch = 40;
    edited.workload.microBatches = 5;
    QVERIFY(panel.document.edit(edited, QStringLiteral("Both")).ok());
    QVERIFY(panel.settled());
    QCOMPARE(panel.told("workload.microBatches"), QString());
    QVERIFY(!panel.number("workload.microBatches")->property("refused").toBool());
}

void TestWorkload::whatIsTypedIsOfItsDocument()
{
    ShownPanel panel;
    QVERIFY(panel.open(trainingDesign()));
    panel.type("workload.batch", QStringLiteral("32"));
    Design other = trainingDesign("llama3-8b", "fsdp=4,model=2");
    other.workload.batch = 64;
    QVERIFY(panel.document.setDesign(other).ok());
    QVERIFY(panel.settled());
    QCOMPARE(panel.number("workload.batch")->text(), QStringLiteral("64"));
    QCOMPARE(panel.told("workload.batch"), QString());
    panel.number("workload.sequence")->setFocus(); // leaving the field applies what waits in it
    QCOMPARE(panel.document.design().workload.batch, std::int64_t { 64 });
    QCOMPARE(panel.document.undoStack()->index(), 0);
}

/// Before the design is saved or closed, which no field hears of.
void TestWorkload::whatWaitsIsTakenOver()
{
    ShownPanel panel;
    QVERIFY(panel.open(trainingDesign()));
    QCOMPARE(panel.view->applyWaiting(), QString());
    panel.type("workload.batch", QStringLiteral("32"));
    QCOMPARE(panel.view->applyWaiting(), QString());
    QCOMPARE(panel.document.design().workload.batch, std::int64_t { 32 });
    QCOMPARE(panel.document.undoStack()->index(), 1);
    QVERIFY(panel.number("workload.batch")->hasFocus());
    panel.type("workload.batch", QStringLiteral("many"));
    const QString told = panel.view->applyWaiting();
    QVERIFY2(told.startsWith(QStringLiteral("Batch")), qPrintable(told));
    QCOMPARE(panel.number("workload.batch")->text(), QStringLiteral("many"));
    QCOMPARE(panel.document.undoStack()->index(), 1);
}

void TestWorkload::errorsHaveNoKeysOrOptions()
{
    QCOMPARE(errorText(inputError("--preset", "there is no preset 'x'", "use --micro-batches 4")),
             QStringLiteral("there is no preset 'x'; use 4 micro-batches"));
    QCOMPARE(errorText(inputError("strategies[3] on model.norm.weight", "is wrong")),
             QStringLiteral("model.norm.weight: is wrong"));
    QCOMPARE(errorText(inputError("workload", "batch 0 cannot be used")), QStringLiteral("batch 0 cannot be used"));
    QCOMPARE(errorText(inputError("my.shardboard:mesh.device_ids[0]", "is wrong")),
             QStringLiteral("my.shardboard, mesh › device ids 1: is wrong"));
    QCOMPARE(problemText(inputError("my.shardboard:mesh", "is wrong", "mend it")), QStringLiteral("is wrong; mend it"));
    QCOMPARE(toldText("it moves, and on_reshard is raise"), QStringLiteral("it moves, and data may not be moved"));
    QCOMPARE(errorText(inputError("my--file.json:12", "is wrong")), QStringLiteral("my--file.json:12: is wrong"));
}

/// A section that is folded tells in its heading what is not as designs have it by themselves, and nothing else.
void TestWorkload::foldedSectionsTellWhatDiffers()
{
    Design design = trainingDesign("llama3-8b", "data=4,model=2", "megatron-tp");
    ShownPanel panel;
    QVERIFY(panel.open(design));
    const auto summary = [&](const char* section) {
        const auto* label = panel.view->findChild<WrappedLabel*>(QStringLiteral("summary.") + QString::fromLatin1(section));
        return label->isVisibleTo(panel.view.get()) ? label->fullText() : QString();
    };
    const auto edit = [&](auto change) {
        change(design);
        return panel.document.edit(design, QStringLiteral("edit")).ok();
    };
    QCOMPARE(panel.view->unfolded(), QStringList({ QStringLiteral("workload"), QStringLiteral("hardware") }));
    for (const char* section : { "parallel", "precision", "recompute", "overlap", "kernels", "memory" })
        QCOMPARE(summary(section), QString());
    QVERIFY(edit([](Design& d) { d.workload.recompute = Recompute::Full; }));
    QCOMPARE(summary("recompute"), QStringLiteral("full"));
    QVERIFY(edit([](Design& d) { d.workload.recompute = Recompute(Recompute::None).with(RecomputePart::MlpIn, true); }));
    QCOMPARE(summary("recompute"), QStringLiteral("MLP gate and up recomputed"));
    QVERIFY(edit([](Design& d) {
        d.workload.overlap = Overlap(Overlap::None).with(OverlapKind::Tensor, true);
        d.workload.precision.gradients = DType::F32;
        d.workload.optimizer.axes = { "data" };
        d.memory.reserveShare = 0.15;
        d.memory.prefetchedLayers = 2;
    }));
    QCOMPARE(summary("overlap"), QStringLiteral("Tensor parallel overlaps"));
    QCOMPARE(summary("precision"), QStringLiteral("Gradients f32"));
    QCOMPARE(summary("parallel"), QStringLiteral("Optimizer over data cut"));
    QCOMPARE(summary("memory"), QStringLiteral("Layers gathered ahead 2 layers · Allocator's reserve 15 %"));
    QCOMPARE(summary("workload"), QString()); // it is unfolded
    panel.view->setUnfolded({ QStringLiteral("memory") });
    QCOMPARE(summary("memory"), QString());
    QVERIFY2(summary("workload").startsWith(QStringLiteral("train · Batch 16 sequences · Sequence 4,096 tokens")),
             qPrintable(summary("workload")));
    // What does not apply is not told, but why none does.
    QVERIFY(edit([](Design& d) { d.workload.kind = WorkloadKind::Prefill; }));
    QCOMPARE(summary("recompute"), QStringLiteral("Only a training step saves activations."));
    QCOMPARE(summary("parallel"), QString());
    QVERIFY(
        panel.view->findChild<QToolButton*>(QStringLiteral("fold.memory"))->accessibleName().contains(QStringLiteral("unfolded")));
}

/// Parts that the model has not, a cache in training, the axis of the stages; and no two fields have one name.
void TestWorkload::whatDoesNothingIsGray()
{
    Design dense = trainingDesign("llama3-8b", "stage=2,data=2,model=2", "megatron-tp");
    dense.pipeline.axis = "stage";
    const auto applies = [&](const Design& design, const char* id) {
        const Setting setting = settingNamed(design, QLatin1String(id));
        return !setting.id.isEmpty() && setting.applies(design);
    };
    for (const char* none :
         { "recompute.experts", "recompute.shared-experts", "recompute.latent-up", "overlap.experts", "workload.dispatch",
           "workload.capacityFactor", "precision.cache", "optimizer.stage", "workload.logits" })
        QVERIFY2(!settingNamed(dense, QLatin1String(none)).id.isEmpty() && !applies(dense, none), none);
    for (const char* has : { "recompute.norms", "recompute.cheap", "overlap.tensor", "overlap.sends", "optimizer.data" })
        QVERIFY2(applies(dense, has), has);
    const Design sparse = trainingDesign("deepseek2-16b", "data=4,model=2", "megatron-tp");
    for (const char* has : { "recompute.experts", "recompute.shared-experts", "recompute.latent-up", "overlap.experts",
                             "workload.dispatch", "workload.capacityFactor" })
        QVERIFY2(applies(sparse, has), has);
    // `selective` and norms beside it is a state of its own, and undone by its two fields.
    Design both = dense;
    both.workload.recompute = Recompute(Recompute::Selective).with(RecomputePart::Norms);
    QCOMPARE(settingNamed(both, QStringLiteral("recompute.cheap")).text(both), QStringLiteral("again"));
    QCOMPARE(settingNamed(both, QStringLiteral("recompute.norms")).set(both, QStringLiteral("saved")), QString());
    QVERIFY(both.workload.recompute == Recompute::Selective);
    QStringList labels;
    for (const SettingGroup& group : settingGroups(dense))
        for (const Setting& setting : group.settings)
            if (group.id != QLatin1String("recompute")) // parts of a layer are called what they are
                labels << setting.label;
    QCOMPARE(labels.removeDuplicates(), 0);
}

void TestWorkload::aSettingUnfoldsItsSection()
{
    ShownPanel panel;
    QVERIFY(panel.open(trainingDesign()));
    QVERIFY(panel.number("memory.reserve") == nullptr); // made when it is first asked for
    QVERIFY(panel.view->focusSetting(QStringLiteral("memory.reserve")));
    QVERIFY(panel.number("memory.reserve")->hasFocus());
    QVERIFY(panel.view->unfolded().contains(QStringLiteral("memory")));
    QTRY_VERIFY(panel.number("memory.reserve")->visibleRegion().boundingRect().height() > 10); // scrolled to
    auto* heading = panel.view->findChild<QToolButton*>(QStringLiteral("fold.memory"));
    heading->setFocus();
    QTest::keyClick(heading, Qt::Key_Space);
    QVERIFY(!panel.number("memory.reserve")->isVisible());
    QTest::mouseClick(heading, Qt::LeftButton);
    QVERIFY(panel.number("memory.reserve")->isVisible());
    QVERIFY(!panel.view->focusSetting(QStringLiteral("memory.nothing")));
    QVERIFY(panel.view->focusSetting());
    QVERIFY(panel.choice("workload.kind")->hasFocus());
}

void TestWorkload::whatIsTypedStaysInAFoldedSection()
{
    ShownPanel panel;
    QVERIFY(panel.open(trainingDesign()));
    panel.view->focusSetting(QStringLiteral("memory.reserve"));
    panel.number("memory.reserve")->setText(QStringLiteral("many"));
    panel.view->setUnfolded({});
    QVERIFY(panel.view->applyWaiting().startsWith(QStringLiteral("Allocator's reserve")));
    panel.number("memory.reserve")->setText(QStringLiteral("20"));
    QCOMPARE(panel.view->applyWaiting(), QString());
    QCOMPARE(panel.document.design().memory.reserveShare, 0.2);
}

SHARDBOARD_TEST(TestWorkload)
#include "tst_workload.moc"
