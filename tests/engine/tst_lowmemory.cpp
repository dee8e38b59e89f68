// SPDX-License-Identifier: Apache-2.0
// Where there is little memory: what is too large is refused before it takes any, and what fails leaves in order.
#include "engine/cpu/backend.h"
#include "engine/devices/sharded.h"
#include "engine/machine/taskpool.h"
#include "tests/engine/testprogram.h"
#include "tests/support/runner.h"

#include <QTest>

#include <atomic>
#include <cstdlib>
#include <map>
#include <new>
#include <numeric>
#include <random>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::test;

namespace {

std::atomic<std::int64_t> taken { 0 }; ///< bytes, never given back
thread_local int left = -1; ///< allocations of this thread that still succeed; below 0: all

} // namespace

void* operator new(std::size_t bytes)
{
    if (left == 0)
        throw std::bad_alloc();
    left -= left > 0 ? 1 : 0;
    taken += static_cast<std::int64_t>(bytes);
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes))
        return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

/// Allocations of this thread fail after so many.
class Failing {
public:
    explicit Failing(int after) { left = after; }
    ~Failing() { left = -1; }
};

struct Refused {
    Failure failure;
    std::int64_t announced = 0;
    std::int64_t taken = 0; ///< bytes that finding it out took, those given back included
};

Refused refusedOn(std::int64_t available, const Program& program)
{
    Refused out;
    RunOptions options;
    options.verify = true;
    options.ends = false;
    RunHooks hooks;
    hooks.announce = [&](std::int64_t bytes, double) { out.announced = bytes; };
    const std::int64_t before = taken;
    const RunOutcome outcome = runOnCpu({ program, options, hooks, { .workers = 2, .availableBytes = available } });
    out.taken = taken - before;
    if (const auto* failure = std::get_if<Failure>(&outcome))
        out.failure = *failure;
    return out;
}

Box randomBox(std::mt19937& random)
{
    Box box;
    for (std::size_t dims = 1 + random() % 4; dims > 0; --dims) {
        const auto lo = static_cast<std::int64_t>(random() % 5);
        box.push_back({ lo, lo + 1 + static_cast<std::int64_t>(random() % 9) * static_cast<std::int64_t>(random() % 4) });
    }
    return box;
}

} // namespace

class TestLowMemory : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void whatIsFarTooLargeIsRefusedWithoutLookingAtItAll_data()
    {
        QTest::addColumn<bool>("train");
        QTest::addColumn<qlonglong>("sequence");
        for (const bool train : { false, true })
            for (const int log : { 24, 31 })
                QTest::addRow("%s, sequence 2^%d", train ? "train" : "prefill", log) << train << (1LL << log);
    }
    void whatIsFarTooLargeIsRefusedWithoutLookingAtItAll()
    {
        QFETCH(bool, train);
        QFETCH(qlonglong, sequence);
        TestDesign design;
        design.mesh = "data=2,model=2";
        design.workload = { train ? WorkloadKind::Train : WorkloadKind::Prefill, 4, sequence, DType::BF16 };
        const Program program = programOf(design);
        constexpr std::int64_t kMuch = std::int64_t { 16 } << 20; // lists of what there would be to do take gigabytes
        // A little too large is told exactly, far too large at once.
        std::int64_t available = std::int64_t { 1 } << 30;
        Refused refused = refusedOn(available, program);
        QCOMPARE(refused.failure.code, std::string("memory"));
        QCOMPARE(refused.announced, 0);
        QVERIFY2(refused.failure.message.find("needs more than ") != std::string::npos, refused.failure.message.c_str());
        QVERIFY2(refused.taken < kMuch, std::to_string(refused.taken).c_str());
        while (refused.announced == 0 && available < std::int64_t { 1 } << 60) {
            available *= 2;
            refused = refusedOn(available, program);
            QVERIFY2(refused.taken < kMuch, std::to_string(refused.taken).c_str());
        }
        QVERIFY(refused.announced > available);
        QCOMPARE(refused.failure.code, std::string("memory"));
        QVERIFY2(refused.failure.message.find("are available; use a smaller batch or sequence") != std::string::npos,
                 refused.failure.message.c_str());
        // It grows with what it is made for: half of the sequence needs half of the memory, but for what does not
        // depend on it.
        design.workload.sequence /= 2;
        const Refused half = refusedOn(available / 2, programOf(design));
        QVERIFY(std::abs(2.0 * static_cast<double>(half.announced) / static_cast<double>(refused.announced) - 1) < 0.05);
    }

    void piecesAreCountedAsTheyAreCut()
    {
        std::mt19937 random(3);
        for (int trial = 0; trial < 5000; ++trial) {
            const Box box = randomBox(random);
            const auto elements = static_cast<std::int64_t>(1 + random() % 40);
            if (volumeOf(box) == 0)
                continue;
            const auto pieces = piecesOf(box, elements);
            const PieceCount count = countPieces(box, elements);
            std::int64_t largest = 0;
            std::int64_t sum = 0;
            for (const Box& piece : pieces) {
                largest = std::max(largest, volumeOf(piece));
                sum += volumeOf(piece);
            }
            QCOMPARE(count.pieces, static_cast<std::int64_t>(pieces.size()));
            QCOMPARE(count.largest, largest);
            QCOMPARE(sum, volumeOf(box));
        }
        constexpr std::int64_t kMany = std::int64_t { 1 } << 48;
        QCOMPARE(countPieces({ { 0, kMany } }, 1 << 16).pieces, kMany >> 16);
    }

    /// First fit, as a map of pages has it; and giving back, which destructors do, takes no memory.
    void blocksAreGivenBackWithoutMemory()
    {
        constexpr std::int64_t kPage = 256;
        std::vector<std::byte> memory(1);
        std::mt19937 random(11);
        Arena arena(memory.data(), std::int64_t { 1 } << 40);
        std::vector<std::pair<Block, std::pair<std::size_t, std::size_t>>> blocks; // with pages from, to
        std::vector<bool> used(100'000, false);
        for (int step = 0; step < 4000; ++step) {
            if (blocks.empty() || random() % 100 < (step % 1000 < 600 ? 60U : 20U)) {
                const std::size_t pages = 1 + random() % 20;
                std::size_t from = 0;
                for (std::size_t run = 0; run < pages; ++from)
                    run = used[from] ? 0 : run + 1;
                from -= pages;
                std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(from), pages, true);
                Block block = arena.allocate(static_cast<std::int64_t>(pages) * kPage);
                QCOMPARE(block.memory() - memory.data(), static_cast<std::ptrdiff_t>(from) * kPage);
                blocks.emplace_back(std::move(block), std::pair { from, pages });
                continue;
            }
            const std::size_t index = random() % blocks.size();
            std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(blocks[index].second.first), blocks[index].second.second, false);
            std::swap(blocks[index], blocks.back());
            const Failing failing(0);
            blocks.pop_back();
        }
    }

    void aPoolWithoutMemoryForItsThreadsIsAnError()
    {
        int failed = 0;
        for (int after = 0; after < 40; ++after) {
            const Failing failing(after);
            try {
                TaskPool pool(8, nullptr);
                QCOMPARE(pool.workers(), 8);
            } catch (const std::bad_alloc&) {
                ++failed;
            }
        }
        QVERIFY(failed > 8 && failed < 40);
    }
};

SHARDBOARD_TEST(TestLowMemory)
#include "tst_lowmemory.moc"
