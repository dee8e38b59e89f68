// SPDX-License-Identifier: Apache-2.0
// Bounds on networks that are too large to try all assignments, against a solver of integer programs, CBC
// (https://github.com/coin-or/Cbc), where it is installed: the same least without a limit; with one, what prices of memory bound.
#include "model/design/evaluation.h"
#include "tests/model/optimize/layoutcase.h"
#include "tests/support/runner.h"

#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTextStream>
#include <QtTest>

#include <cmath>
#include <limits>

using namespace shardboard;

namespace {

constexpr double kMicro = 1e6; ///< seconds are written in microseconds, bytes in MiB: the solver's tolerances are absolute
constexpr double kMiB = 1024.0 * 1024;

/// The network as an integer program: one strategy a node, and for each table of two nodes a share of every pair.
bool write(const LayoutNetwork& network, double limit, const QString& path)
{
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly | QIODevice::Text))
        return false;
    QTextStream out(&file);
    out.setRealNumberPrecision(15);
    const auto x = [](int node, int value) { return QStringLiteral("x%1_%2").arg(node).arg(value); };
    const auto y = [](std::size_t table, int a, int b) { return QStringLiteral("y%1_%2_%3").arg(table).arg(a).arg(b); };
    QStringList impossible;
    QStringList bytes;
    const auto term = [&](double seconds, double held, const QString& name, QStringList& costs) {
        if (seconds == minplus::kNever)
            impossible << name;
        else if (seconds != 0)
            costs << QStringLiteral("+ %1 %2").arg(seconds * kMicro, 0, 'g', 15).arg(name);
        if (held != 0)
            bytes << QStringLiteral("+ %1 %2").arg(held / kMiB, 0, 'g', 15).arg(name);
    };
    QStringList costs;
    QStringList links;
    for (std::size_t t = 0; t < network.tables.size(); ++t) {
        const LayoutNetwork::Table& table = network.tables[t];
        const auto held = [&](std::size_t place) { return table.bytes.empty() ? 0 : table.bytes[place]; };
        const int a = table.nodes.front();
        const int sizeA = network.sizes[static_cast<std::size_t>(a)];
        if (table.nodes.size() == 1) {
            for (int s = 0; s < sizeA; ++s)
                term(table.seconds[static_cast<std::size_t>(s)], held(static_cast<std::size_t>(s)), x(a, s), costs);
            continue;
        }
        const int b = table.nodes.back();
        const int sizeB = network.sizes[static_cast<std::size_t>(b)];
        for (int s = 0; s < sizeA; ++s) {
            QStringList row;
            for (int v = 0; v < sizeB; ++v) {
                const auto place = static_cast<std::size_t>(s * sizeB + v);
                term(table.seconds[place], held(place), y(t, s, v), costs);
                row << y(t, s, v);
            }
            links << row.join(QStringLiteral(" + ")) + QStringLiteral(" - %1 = 0").arg(x(a, s));
        }
        for (int v = 0; v < sizeB; ++v) {
            QStringList column;
            for (int s = 0; s < sizeA; ++s)
                column << y(t, s, v);
            links << column.join(QStringLiteral(" + ")) + QStringLiteral(" - %1 = 0").arg(x(b, v));
        }
    }
    out << "Minimize\n obj: " << costs.join(QStringLiteral("\n ")) << "\nSubject To\n";
    QStringList integers;
    for (std::size_t node = 0; node < network.sizes.size(); ++node) {
        QStringList row;
        for (int s = 0; s < network.sizes[node]; ++s)
            row << x(static_cast<int>(node), s);
        integers += row;
        out << " one" << node << ": " << row.join(QStringLiteral("\n + ")) << " = 1\n";
    }
    for (qsizetype i = 0; i < links.size(); ++i)
        out << " link" << i << ": " << links[i].replace(QStringLiteral(" + "), QStringLiteral("\n + ")) << "\n";
    for (qsizetype i = 0; i < impossible.size(); ++i)
        out << " never" << i << ": " << impossible[i] << " = 0\n";
    if (std::isfinite(limit) && !bytes.isEmpty())
        out << " memory: " << bytes.join(QStringLiteral("\n ")) << " <= " << limit / kMiB << "\n";
    out << "Binaries\n " << integers.join(QStringLiteral("\n ")) << "\nEnd\n";
    return true;
}

/// Seconds; none where the solver did not prove an optimum.
std::optional<double> solved(const QString& cbc, const LayoutNetwork& network, double limit)
{
    const QTemporaryDir folder;
    const QString problem = folder.filePath(QStringLiteral("p.lp"));
    const QString answer = folder.filePath(QStringLiteral("p.sol"));
    if (!write(network, limit, problem))
        return std::nullopt;
    QProcess process;
    process.start(cbc,
                  { problem, QStringLiteral("ratioGap"), QStringLiteral("0"), QStringLiteral("allowableGap"), QStringLiteral("0"),
                    QStringLiteral("seconds"), QStringLiteral("60"), QStringLiteral("solve"), QStringLiteral("solution"), answer });
    if (!process.waitForFinished(120000))
        return std::nullopt;
    QFile file(answer);
    if (!file.open(QIODevice::ReadOnly))
        return std::nullopt;
    const QByteArray first = file.readLine(); // Optimal - objective value 123.4
    if (!first.startsWith("Optimal"))
        return std::nullopt;
    return first.trimmed().split(' ').last().toDouble() / kMicro;
}

} // namespace

class TestLayoutBounds : public QObject {
    Q_OBJECT
private:
    QString m_cbc = QStandardPaths::findExecutable(QStringLiteral("cbc"));

    void holds(const LayoutNetwork& network, const char* what)
    {
        const auto free = minplus::least(network.costs(0));
        const auto best = solved(m_cbc, network, std::numeric_limits<double>::infinity());
        QVERIFY2(best, what);
        QVERIFY2(std::abs(*best / free.cost - 1) < 1e-6 && std::abs(*best / free.bound - 1) < 1e-6, what);
        const auto small = minplus::least(network.costs(1e3));
        const double most = network.bytes(free.values);
        const double least = network.bytes(small.values);
        if (!(least < most))
            return;
        const double limit = (most + least) / 2;
        const auto [bound, found] = withinLimit(network, limit);
        const auto within = solved(m_cbc, network, limit);
        QVERIFY2(within, what);
        qInfo() << what << "bound" << bound << "least" << *within << "found" << found;
        QVERIFY2(bound <= *within * (1 + 1e-6) && found >= *within * (1 - 1e-6), what);
    }

private Q_SLOTS:
    void randomGraphs()
    {
        if (m_cbc.isEmpty())
            QSKIP("cbc is not installed: the bounds of larger networks are not compared with it (package coinor-cbc)");
        Random random(41);
        for (int i = 0; i < 12; ++i) {
            const Case of = randomCase(random, 1 + i % 2, i % 2 == 0 ? 8 : 3);
            holds(Searched(of).network, qPrintable(QStringLiteral("graph %1").arg(i)));
        }
    }

    void model()
    {
        if (m_cbc.isEmpty())
            QSKIP("cbc is not installed: the bounds of larger networks are not compared with it (package coinor-cbc)");
        const Design design = designOn("model=8", llama3Model(), { WorkloadKind::Train, 8, 2048, DType::BF16 }, "megatron-tp");
        const auto evaluation = sure(planOnly(design));
        LayoutNumbers layouts;
        const LayoutSpace space = sure(layoutSpace(evaluation->graph, design.mesh, {}, layouts));
        const Hardware hardware = sure(hardwareOf(design));
        LayoutPrices prices(evaluation->graph, design.mesh, hardware, Dispatch::PerExpert, layouts);
        const StepRates rates = ratesAt(evaluation->graph, evaluation->plan, hardware.levels.size());
        holds(layoutNetwork({ evaluation->graph,
                              design.mesh,
                              hardware,
                              design.workload,
                              design.memory,
                              evaluation->plan,
                              rates,
                              space,
                              layouts,
                              prices,
                              {} }),
              "llama3-8b on model=8");
    }
};

SHARDBOARD_TEST(TestLayoutBounds)
#include "tst_layoutbounds.moc"
