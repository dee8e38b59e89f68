// SPDX-License-Identifier: Apache-2.0
// Writes a picture of every view, light and dark, for people to look at: widgets_gallery DIR [MODEL] [MESH] [PRESET].
#include "widgets/cost/collectivesview.h"
#include "widgets/explain/inspector.h"
#include "widgets/findings/findingsview.h"
#include "widgets/flow/flowview.h"
#include "widgets/look/theme.h"
#include "widgets/memory/memoryview.h"
#include "widgets/mesh/meshview.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"
#include "widgets/weights/weighttable.h"
#include "widgets/workbench/summarybar.h"

#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "tests/support/drag.h"

#include <QAction>
#include <QApplication>
#include <QDir>
#include <QHBoxLayout>
#include <QPixmap>

#include <cstdio>
#include <memory>

using namespace shardboard;

namespace {

void place(QWidget& widget, const QSize& size, const QString& path)
{
    widget.resize(size);
    widget.setAttribute(Qt::WA_DontShowOnScreen);
    widget.show();
    for (auto* inspector : widget.findChildren<InspectorPanel*>())
        inspector->buildNow();
    for (int i = 0; i < 5; ++i)
        QApplication::processEvents();
    if (!widget.grab().save(path))
        std::fprintf(stderr, "%s: cannot be written\n", qPrintable(path));
}

/// The views as the main window arranges them, without its docks.
class Workbench : public QWidget {
public:
    explicit Workbench(Document* document)
    {
        auto* bar = new SummaryBar(document, this);
        bar->setAct(new QAction(QStringLiteral("Run"), this), new QAction(QStringLiteral("Stop"), this));
        auto* pair = new QHBoxLayout;
        pair->setSpacing(1);
        pair->addWidget(new MeshView(document), 2);
        pair->addWidget(new TileView(document), 3);
        auto* centre = new QVBoxLayout;
        centre->setSpacing(1);
        centre->addLayout(pair, 3);
        centre->addWidget(new FlowView(document), 2);
        auto* below = new CollectivesView(document);
        below->setFixedHeight(260);
        centre->addWidget(below);
        auto* weights = new WeightPanel(document);
        weights->setFixedWidth(310);
        auto* inspector = new InspectorPanel(document);
        inspector->setFixedWidth(340);
        auto* row = new QHBoxLayout;
        row->setSpacing(1);
        row->addWidget(weights);
        row->addLayout(centre, 1);
        row->addWidget(inspector);
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        column->addWidget(bar);
        column->addLayout(row, 1);
    }
};

int selectByName(const Document& document, const QString& part)
{
    const auto& weights = document.evaluation()->weights;
    for (std::size_t i = 0; i < weights.size(); ++i)
        if (QString::fromStdString(weights[i].spec.name).contains(part))
            return static_cast<int>(i);
    return -1;
}

void pictures(Document& document, const QString& directory, const QString& theme)
{
    const auto file = [&](const char* name) { return QStringLiteral("%1/%2-%3.png").arg(directory, QLatin1String(name), theme); };
    document.selection()->clear();
    document.selection()->setWeight(selectByName(document, QStringLiteral("o_proj")));
    document.selection()->setDevice(std::min<std::int64_t>(2, document.design().mesh.deviceCount() - 1));
    Workbench workbench(&document);
    place(workbench, { 1600, 1000 }, file("workbench"));
    place(workbench, { 1280, 800 }, file("workbench-small"));
    if (!document.evaluation()->plan.collectives.empty())
        document.selection()->setCollective(CollectiveId(0));
    place(workbench, { 1600, 1000 }, file("workbench-collective"));
    document.selection()->clear();
    document.selection()->setWeight(0);
    place(workbench, { 1600, 1000 }, file("workbench-embedding"));
    document.selection()->setWeight(selectByName(document, QStringLiteral("norm")));
    place(workbench, { 1600, 1000 }, file("workbench-norm"));
    document.selection()->setWeight(selectByName(document, QStringLiteral("o_proj")));
    TileView tiles(&document);
    place(tiles, { 620, 420 }, file("tiles"));
    if (document.design().mesh.axisCount() > 0) { // an axis is dragged over the upper edge
        const QString axis = QString::fromStdString(document.design().mesh.axis(0).name);
        const std::unique_ptr<QMimeData> data(axisMimeData(axis));
        const test::Drag drag { tiles.canvas(), data.get() };
        drag.enter(tiles.canvas()->zone(1).center());
        drag.move(tiles.canvas()->zone(1).center());
        place(tiles, { 620, 420 }, file("tiles-drag"));
    }
    FindingsView findings(&document);
    place(findings, { 950, 260 }, file("findings"));
    MemoryView memory(&document);
    place(memory, { 950, 260 }, file("memory"));
}

} // namespace

int main(int argc, char** argv)
{
    QApplication application(argc, argv);
    const QStringList arguments = application.arguments();
    const QString directory = arguments.value(1, QStringLiteral("gallery"));
    const auto opened = openModel(arguments.value(2, QStringLiteral("llama3-8b")).toStdString());
    const auto mesh = Mesh::parse(arguments.value(3, QStringLiteral("data=2,model=4")).toStdString());
    if (!opened.ok() || !mesh.ok()) {
        std::fprintf(stderr, "%s\n", (opened.ok() ? mesh.error() : opened.error()).text().c_str());
        return 3;
    }
    Design design;
    design.model = opened.value().model;
    design.mesh = mesh.value();
    std::vector<std::string> notes;
    const auto entries = presetStrategies(arguments.value(4, QStringLiteral("megatron-tp")).toStdString(), design.mesh,
                                          design.model, design.workload, notes);
    if (entries.ok())
        design.strategies = entries.value();
    Document document;
    if (const Status status = document.setDesign(design); !status.ok()) {
        std::fprintf(stderr, "%s\n", status.error().text().c_str());
        return 3;
    }
    QDir().mkpath(directory);
    for (const bool dark : { false, true }) {
        applyTheme(application, dark ? Theme::dark() : Theme::light());
        pictures(document, directory, dark ? QStringLiteral("dark") : QStringLiteral("light"));
    }
    return 0;
}
