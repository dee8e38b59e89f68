// SPDX-License-Identifier: Apache-2.0
// The document: edits, undo, redo, selection, files.
#include "model/design/checkstrategies.h"
#include "model/design/evaluate/evaluate.h"
#include "tests/support/runner.h"
#include "tests/widgets/widgets_support.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QUndoStack>

#include <random>

using namespace shardboard;

namespace {

Design llama(const char* meshText = "data=2,model=4") { return knownDesign(meshText, "megatron-tp", 512); }

} // namespace

class TestDocument : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void startsEmpty();
    void undoRestoresExactly();
    void undoUsesTheOldEvaluation();
    void undoWithoutRoomEvaluatesAgain();
    void endsWithoutAWord();
    void refusedEditChangesNothing();
    void checkWithoutAPlanSaysTheSame();
    void designWithMistakesCanBeMended();
    void selectionFollowsNames();
    void selectionKeepsToWhatIsThere();
    void axisMovesBetweenDims();
    void strategyTextsOfCuts();
    void entryOfTheSamePatternIsReplaced();
    void widerLaterPatternDoesNotHideAnEdit();
    void saveOpenRoundTrip();
    void savedStateIsClean();
    void openErrorKeepsTheDocument();
    void largeFileIsIdentifiedPieceByPiece();
};

void TestDocument::startsEmpty()
{
    Document document;
    QVERIFY(!document.hasDesign());
    QVERIFY(!document.isModified());
    QCOMPARE(document.selection()->weight(), -1);
    QCOMPARE(document.patternOf(0), std::string());
}

void TestDocument::undoRestoresExactly()
{
    std::mt19937 random(20240607);
    for (int round = 0; round < 5; ++round) {
        Document document;
        QVERIFY(document.setDesign(llama()).ok());
        const auto weights = static_cast<int>(document.evaluation()->weights.size());
        std::vector<Design> states { document.design() };
        while (states.size() < 15) {
            const int weight = std::uniform_int_distribution<int>(0, weights - 1)(random);
            const int axis = std::uniform_int_distribution<int>(0, 1)(random);
            const auto rank = static_cast<int>(weightAt(document, weight).layout.dims.size());
            const int dim = std::uniform_int_distribution<int>(-1, rank - 1)(random);
            const Design edited = document.withStrategy(document.patternOf(weight), document.withAxisOnDim(weight, axis, dim));
            const Design before = document.design();
            const Status status = document.edit(edited, QStringLiteral("edit"));
            if (!status.ok()) {
                QVERIFY(document.design() == before);
                continue;
            }
            if (!(edited == before))
                states.push_back(edited);
        }
        QCOMPARE(document.undoStack()->count(), static_cast<int>(states.size()) - 1);
        for (std::size_t i = states.size() - 1; i > 0; --i) {
            QVERIFY(document.design() == states[i]);
            document.undoStack()->undo();
        }
        QVERIFY(document.design() == states.front());
        QVERIFY(!document.isModified());
        for (std::size_t i = 1; i < states.size(); ++i) {
            document.undoStack()->redo();
            QVERIFY(document.design() == states[i]);
            const auto fresh = evaluate(document.design());
            QVERIFY(fresh.ok());
            QCOMPARE(document.evaluation()->plan.collectives.size(), fresh.value()->plan.collectives.size());
        }
    }
}

/// Evaluations of many layers told apart are large: not every step keeps its own.
void TestDocument::undoWithoutRoomEvaluatesAgain()
{
    Document document;
    QVERIFY(document.setDesign(llama()).ok());
    const std::int64_t one = roughBytes(*document.evaluation());
    QVERIFY(one > 100'000 && one < 10'000'000);
    document.setUndoMemory(one * 5 / 2); // two of them
    std::vector<std::weak_ptr<const Evaluation>> evaluations { document.evaluation() };
    std::vector<Design> states { document.design() };
    std::vector<double> seconds { document.evaluation()->plan.seconds() };
    for (const char* name : { "o_proj", "down_proj", "q_proj", "k_proj" }) {
        const int weight = weightNamed(document, name);
        QVERIFY(document.edit(document.withStrategy(document.patternOf(weight), {}), QStringLiteral("Replicate")).ok());
        evaluations.push_back(document.evaluation());
        states.push_back(document.design());
        seconds.push_back(document.evaluation()->plan.seconds());
    }
    int kept = 0;
    for (const auto& evaluation : evaluations)
        kept += evaluation.expired() ? 0 : 1;
    QCOMPARE(kept, 2);
    QVERIFY(!evaluations.back().expired());
    for (int index : { 2, 0, 3, 4, 1 }) {
        document.undoStack()->setIndex(index);
        QVERIFY(document.design() == states[static_cast<std::size_t>(index)]);
        QCOMPARE(document.evaluation()->plan.seconds(), seconds[static_cast<std::size_t>(index)]);
    }
}

/// Views outlive the document by a moment: what its stack said as it is cleared would make them ask a document that is half gone.
void TestDocument::endsWithoutAWord()
{
    auto document = std::make_unique<Document>();
    QVERIFY(document->setDesign(llama()).ok());
    const int weight = weightNamed(*document, "o_proj");
    QVERIFY(document->edit(document->withStrategy(document->patternOf(weight), {}), QStringLiteral("Replicate")).ok());
    const QSignalSpy index(document->undoStack(), &QUndoStack::indexChanged);
    const QSignalSpy clean(document->undoStack(), &QUndoStack::cleanChanged);
    const QSignalSpy undo(document->undoStack(), &QUndoStack::canUndoChanged);
    document.reset();
    QCOMPARE(index.count() + clean.count() + undo.count(), 0);
}

void TestDocument::undoUsesTheOldEvaluation()
{
    Document document;
    QVERIFY(document.setDesign(llama()).ok());
    const auto before = document.evaluation();
    const int weight = weightNamed(document, "o_proj");
    QSignalSpy evaluated(&document, &Document::evaluated);
    QVERIFY(document.edit(document.withStrategy(document.patternOf(weight), {}), QStringLiteral("Replicate o_proj")).ok());
    QVERIFY(document.evaluation() != before);
    QCOMPARE(document.undoStack()->undoText(), QStringLiteral("Replicate o_proj"));
    document.undoStack()->undo();
    QVERIFY(document.evaluation() == before);
    QCOMPARE(evaluated.count(), 2);
}

void TestDocument::refusedEditChangesNothing()
{
    Document document;
    QVERIFY(document.setDesign(llama()).ok());
    Design wrong = document.design();
    wrong.workload.batch = 0;
    QVERIFY(!document.check(wrong).ok());
    const auto before = document.evaluation();
    QVERIFY(!document.edit(wrong, QStringLiteral("Batch 0")).ok());
    QVERIFY(document.evaluation() == before);
    QCOMPARE(document.undoStack()->count(), 0);
    QVERIFY(!document.setDesign(wrong).ok());
    QVERIFY(document.evaluation() == before);
}

/// What a menu asks of each entry, against the whole flow.
void TestDocument::checkWithoutAPlanSaysTheSame()
{
    int refused = 0;
    int allowed = 0;
    Design mistaken = llama(); // what is wrong already may stay
    mistaken.strategies.push_back({ "lm_head.weight", { StrategyKind::Spec, {}, 0, "P('nowhere')" }, std::nullopt });
    for (const Design& design : { llama("data=2,model=4"), llama("data=3,model=28"), mistaken }) {
        Document document;
        QVERIFY(document.setDesign(design).ok());
        const Evaluation& now = *document.evaluation();
        for (int weight = 0; weight < static_cast<int>(now.weights.size()); ++weight) {
            std::vector<Strategy> tried { {},
                                          { StrategyKind::Rowwise, { "model" }, 0, {} },
                                          { StrategyKind::Rowwise, { "pod" }, 0, {} },
                                          { StrategyKind::Columnwise, { "data", "data" }, 0, {} },
                                          { StrategyKind::Spec, {}, 0, "P(None, None, 'model')" } };
            for (const int dim : { -1, 0, 1 })
                for (const int axis : { 0, 1 })
                    tried.push_back(document.withAxisOnDim(weight, axis, dim));
            for (const Strategy& strategy : tried)
                for (const auto cut : { std::optional<CutRule>(), std::optional<CutRule>(CutRule::Strict) }) {
                    Design edited = document.withStrategy(document.patternOf(weight), strategy);
                    edited.strategies.back().cut = cut;
                    const auto quick = checkStrategies(edited, design, now);
                    QVERIFY(quick.has_value());
                    const auto whole = evaluate(edited, Misfits::Replicate);
                    QVERIFY(whole.ok());
                    const Misfit* misfit = newMisfit(*whole.value(), now);
                    QCOMPARE(quick->ok(), misfit == nullptr);
                    if (misfit)
                        QCOMPARE(quick->error().text(), misfit->error.text());
                    ++(misfit ? refused : allowed);
                }
        }
    }
    QVERIFY2(refused > 50 && allowed > 50, qPrintable(QStringLiteral("%1 refused, %2 allowed").arg(refused).arg(allowed)));
    // What only the whole flow can tell is left to it.
    Document document;
    QVERIFY(document.setDesign(llama()).ok());
    Design other = document.withStrategy("model.layers.3.mlp.up_proj.weight", {});
    QVERIFY(!checkStrategies(other, document.design(), *document.evaluation()));
    other = document.design();
    other.workload.batch = 16;
    QVERIFY(!checkStrategies(other, document.design(), *document.evaluation()));
}

void TestDocument::designWithMistakesCanBeMended()
{
    Design wrong = llama();
    wrong.strategies.push_back({ "lm_head.weight", { StrategyKind::Rowwise, { "modle" } }, {} });
    wrong.strategies.push_back({ "*.o_proj.weight", { StrategyKind::Axiswise, { "model" }, 5 }, {} });
    Document document;
    QVERIFY(document.setDesign(wrong).ok());
    const auto errors = [&] {
        const auto& findings = document.evaluation()->findings;
        return std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return f.severity == Severity::Error; });
    };
    QCOMPARE(errors(), 2);
    QVERIFY(weightAt(document, weightNamed(document, "lm_head")).layout.isReplicated());
    // A new mistake is refused with its reason; other edits are not.
    const Strategy again { StrategyKind::Rowwise, { "x" } };
    const Status refused = document.edit(document.withStrategy("*.up_proj.weight", again), QStringLiteral("no"));
    QVERIFY(!refused.ok());
    QVERIFY(QString::fromStdString(refused.error().text()).contains(QStringLiteral("the mesh has no axis 'x'")));
    QVERIFY(!document.check(document.withStrategy("lm_head.weight", again)).ok()); // another mistake than before
    QVERIFY(document.edit(document.withStrategy("*.up_proj.weight", {}), QStringLiteral("yes")).ok());
    QCOMPARE(errors(), 2);
    while (errors() > 0) {
        const DesignFinding finding = document.evaluation()->findings.front();
        QVERIFY(finding.fix);
        QVERIFY(document.edit(repaired(document.design(), *finding.fix), QString::fromStdString(finding.fix->text)).ok());
    }
    QVERIFY(evaluate(document.design()).ok());
    QCOMPARE(document.undoStack()->count(), 3);
    QCOMPARE(weightAt(document, weightNamed(document, "lm_head")).layout, Layout::cut(2, 0, { 1 }));
    document.undoStack()->undo();
    QCOMPARE(errors(), 1);
}

void TestDocument::selectionFollowsNames()
{
    Document document;
    QVERIFY(document.setDesign(llama()).ok());
    Selection* selection = document.selection();
    const int oProj = weightNamed(document, "o_proj");
    selection->setWeight(oProj);
    selection->setMeshAxis(1);
    selection->setDevice(7);
    const auto& collectives = document.evaluation()->plan.collectives;
    QVERIFY(!collectives.empty());
    const std::string id = collectives.back().id;
    selection->setCollective(lastId(collectives));

    Design edited = document.design();
    edited.mesh = Mesh::parse("model=4").value(); // axis 1 becomes axis 0, device 7 goes
    edited.strategies = llama("model=4").strategies;
    QVERIFY(document.edit(edited, QStringLiteral("Remove data")).ok());
    QCOMPARE(selection->weight(), weightNamed(document, "o_proj"));
    QCOMPARE(selection->meshAxis(), 0);
    QCOMPARE(selection->device(), std::int64_t { -1 });
    const CollectiveId collective = selection->collective();
    if (collective.valid())
        QCOMPARE(document.evaluation()->plan.collective(collective).id, id);
    document.undoStack()->undo();
    QCOMPARE(selection->weight(), oProj);
    QCOMPARE(selection->meshAxis(), 1);

    QVERIFY(document.setDesign(llama()).ok());
    QCOMPARE(selection->weight(), -1);
}

/// A click on a picture of a larger design comes after the smaller one.
void TestDocument::selectionKeepsToWhatIsThere()
{
    Document document;
    Selection* selection = document.selection();
    const auto selectAll = [selection](int index) {
        selection->setWeights({ index, index + 1 }, index);
        selection->setDevice(index);
        selection->setCollective(CollectiveId(index));
        selection->setMeshAxis(index);
        selection->setHoveredDevice(index);
        selection->setHoveredWeight(index);
    };
    const auto nothing = [selection] {
        return selection->weight() == -1 && selection->weights().empty() && selection->device() == -1
            && !selection->collective().valid() && selection->meshAxis() == -1 && selection->hoveredDevice() == -1
            && selection->hoveredWeight() == -1;
    };
    selectAll(0);
    QVERIFY(nothing());
    QVERIFY(document.setDesign(llama()).ok());
    const Evaluation& evaluation = *document.evaluation();
    const int last = static_cast<int>(evaluation.weights.size()) - 1;
    selection->setWeights({ 0, last, last + 1 }, last);
    QCOMPARE(selection->weight(), last);
    QCOMPARE(selection->weights(), (std::vector<int> { 0, last }));
    selection->setDevice(evaluation.plan.mesh.deviceCount() - 1);
    QCOMPARE(selection->device(), evaluation.plan.mesh.deviceCount() - 1);
    selectAll(1'000'000);
    QVERIFY(nothing());
    const PlannedSegmentId first(0);
    const auto& ops = evaluation.plan.segment(first).ops;
    selection->setOperation(first, lastId(ops));
    QVERIFY(selection->operation().valid());
    selection->setOperation(first, nextId(ops));
    QVERIFY(!selection->operation().valid());
    selection->setOperation(nextId(evaluation.plan.segments), PlannedOpId(0));
    QVERIFY(!selection->segment().valid());
}

void TestDocument::axisMovesBetweenDims()
{
    Document document;
    QVERIFY(document.setDesign(llama()).ok());
    const int oProj = weightNamed(document, "o_proj");
    QCOMPARE(weightAt(document, oProj).layout, Layout::cut(2, 1, { 1 })); // row-parallel by the preset
    const Strategy moved = document.withAxisOnDim(oProj, 1, 0);
    QVERIFY(document.edit(document.withStrategy(document.patternOf(oProj), moved), QStringLiteral("move")).ok());
    QCOMPARE(weightAt(document, oProj).layout, Layout::cut(2, 0, { 1 }));
    const Strategy off = document.withAxisOnDim(oProj, 1, -1);
    QCOMPARE(off, Strategy {});
}

void TestDocument::strategyTextsOfCuts()
{
    Document document;
    QVERIFY(document.setDesign(llama()).ok());
    const int oProj = weightNamed(document, "o_proj");
    const Strategy both = document.withAxisOnDim(oProj, 0, 1); // a second axis on the same dim, minor
    QCOMPARE(both.kind, StrategyKind::Columnwise);
    QCOMPARE(both.axes, (std::vector<std::string> { "model", "data" }));
    const Strategy two = document.withAxisOnDim(oProj, 0, 0); // one axis on each dim
    QCOMPARE(two.kind, StrategyKind::Spec);
    QCOMPARE(two.spec, std::string("P('data', 'model')"));
}

void TestDocument::entryOfTheSamePatternIsReplaced()
{
    Document document;
    QVERIFY(document.setDesign(llama()).ok());
    const int oProj = weightNamed(document, "o_proj");
    const std::string pattern = document.patternOf(oProj);
    const Strategy rows { StrategyKind::Rowwise, { "model" }, 0, {} };
    const Strategy columns { StrategyKind::Columnwise, { "model" }, 0, {} };
    QVERIFY(document.edit(document.withStrategy(pattern, rows), QStringLiteral("a")).ok());
    const auto entries = document.design().strategies.size();
    QVERIFY(document.edit(document.withStrategy(pattern, columns), QStringLiteral("b")).ok());
    QCOMPARE(document.design().strategies.size(), entries);
    QCOMPARE(weightAt(document, oProj).strategy, columns);
}

void TestDocument::widerLaterPatternDoesNotHideAnEdit()
{
    Document document;
    Design design = llama();
    const Strategy columns { StrategyKind::Columnwise, { "model" }, 0, {} };
    design.strategies = { { "model.layers.*.self_attn.o_proj.weight", columns, {} }, { "*", {}, {} } };
    QVERIFY(document.setDesign(design).ok());
    const int oProj = weightNamed(document, "o_proj");
    QVERIFY(weightAt(document, oProj).layout.isReplicated());
    QVERIFY(document.edit(document.withStrategy(document.patternOf(oProj), columns), QStringLiteral("cut")).ok());
    QCOMPARE(document.design().strategies.size(), std::size_t { 2 });
    QCOMPARE(weightAt(document, oProj).layout, Layout::cut(2, 1, { 1 }));
}

void TestDocument::saveOpenRoundTrip()
{
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("Größe 1.shardboard"));
    Document document;
    QVERIFY(document.setDesign(llama()).ok());
    QVERIFY(document.save(path).ok());
    Document other;
    QVERIFY(other.open(path).ok());
    QVERIFY(other.design() == document.design());
    QCOMPARE(other.filePath(), path);
}

void TestDocument::savedStateIsClean()
{
    const QTemporaryDir folder;
    Document document;
    QVERIFY(document.setDesign(llama()).ok());
    QSignalSpy modified(&document, &Document::modifiedChanged);
    const int oProj = weightNamed(document, "o_proj");
    QVERIFY(document.edit(document.withStrategy(document.patternOf(oProj), {}), QStringLiteral("a")).ok());
    QVERIFY(document.isModified());
    QVERIFY(document.save(folder.filePath(QStringLiteral("a.shardboard"))).ok());
    QVERIFY(!document.isModified());
    document.undoStack()->undo();
    QVERIFY(document.isModified());
    QCOMPARE(modified.count(), 3);
    QVERIFY(!document.save(folder.filePath(QStringLiteral("missing/a.shardboard"))).ok());
    QVERIFY(document.isModified());
}

void TestDocument::openErrorKeepsTheDocument()
{
    const QTemporaryDir folder;
    Document document;
    QVERIFY(document.setDesign(llama()).ok());
    const auto before = document.evaluation();
    const QString path = folder.filePath(QStringLiteral("wrong.shardboard"));
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("{\"format\":\"shardboard\",");
    file.close();
    const Status status = document.open(path);
    QVERIFY(!status.ok());
    QVERIFY(QString::fromStdString(status.error().text()).startsWith(path));
    QVERIFY(document.evaluation() == before);
    QVERIFY(document.filePath().isEmpty());
}

/// A program may write whatever it likes where a design was, and the window looks at it again and again.
void TestDocument::largeFileIsIdentifiedPieceByPiece()
{
    const auto kilobytes = [](const char* key) {
        QFile status(QStringLiteral("/proc/self/status"));
        if (status.open(QIODevice::ReadOnly))
            for (const QByteArray& line : status.readAll().split('\n'))
                if (line.startsWith(key))
                    return line.mid(static_cast<qsizetype>(qstrlen(key))).replace("kB", "").trimmed().toLongLong();
        return -1LL;
    };
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("large"));
    QFile file(path);
    constexpr qint64 kBytes = qint64 { 128 } << 20;
    QVERIFY(file.open(QIODevice::WriteOnly) && file.resize(kBytes));
    QFile peak(QStringLiteral("/proc/self/clear_refs"));
    if (!peak.open(QIODevice::WriteOnly) || peak.write("5") != 1 || !peak.flush())
        QSKIP("the peak of memory cannot be set back here");
    const qint64 before = kilobytes("VmRSS:");
    const FileIdentity identity = identityOf(path);
    const qint64 more = kilobytes("VmHWM:") - before;
    QVERIFY2(before > 0 && more < 32 * 1024, qPrintable(QString::number(more)));
    QCOMPARE(identity.size, kBytes);
    QCOMPARE(identity.digest, digestOf(std::string(static_cast<std::size_t>(kBytes), '\0')));
    QVERIFY(identity.sameContent(identity) && !identity.sameContent(identityOf(folder.path())));
}

SHARDBOARD_TEST(TestDocument)
#include "tst_document.moc"
