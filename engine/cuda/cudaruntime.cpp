// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/cudaruntime.h"

#include "engine/cuda/cublas.h"
#include "engine/cuda/kernels.h"
#include "engine/machine/failure.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardboard::engine::cuda {

namespace {

constexpr std::int64_t kTableChunk = std::int64_t { 4 } << 20;
constexpr std::int64_t kTableAlignment = 256;
constexpr std::int64_t kWorkspace = std::int64_t { 32 } << 20; ///< of cuBLAS, as it advises for Hopper
constexpr long long kGateCycles = 20'000'000; ///< about 10 ms: a gate never waits for ever

[[noreturn]] void fail(const std::string& what, const std::string& why) { throw Failure { "internal", what + ": " + why, "cuda" }; }

void check(cudaError_t error, const char* what)
{
    if (error == cudaSuccess)
        return;
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        throw Failure { "memory", "the GPU has no more memory for the run; use a smaller batch or sequence", "cuda" };
    }
    fail(what, cudaGetErrorString(error));
}

void check(cublasStatus_t status, const char* what)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        fail(what, "cuBLAS status " + std::to_string(static_cast<int>(status)));
}

/// The SM clock by the driver's management library, which needs no header.
class ClockReader {
public:
    ClockReader()
    {
        void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr)
            return;
        const auto start = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
        const auto handle = reinterpret_cast<int (*)(unsigned, void**)>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
        m_read = reinterpret_cast<int (*)(void*, int, unsigned*)>(dlsym(library, "nvmlDeviceGetClockInfo"));
        if (start == nullptr || handle == nullptr || m_read == nullptr || start() != 0 || handle(0, &m_device) != 0)
            m_read = nullptr;
    }
    double megahertz() const
    {
        constexpr int kSm = 1;
        unsigned value = 0;
        return m_read != nullptr && m_read(m_device, kSm, &value) == 0 ? static_cast<double>(value) : 0;
    }

private:
    int (*m_read)(void*, int, unsigned*) = nullptr;
    void* m_device = nullptr;
};

class GraphReplay : public Replay {
public:
    GraphReplay(cudaStream_t stream, cudaGraph_t graph)
        : m_stream(stream)
    {
        const cudaError_t made = cudaGraphInstantiate(&m_graph, graph, 0);
        cudaGraphDestroy(graph);
        check(made, "making a graph");
        check(cudaGraphUpload(m_graph, m_stream), "uploading a graph");
    }
    ~GraphReplay() override { cudaGraphExecDestroy(m_graph); }
    GraphReplay(const GraphReplay&) = delete;
    GraphReplay& operator=(const GraphReplay&) = delete;
    void run() override { check(cudaGraphLaunch(m_graph, m_stream), "launching a graph"); }

private:
    cudaStream_t m_stream;
    cudaGraphExec_t m_graph = nullptr;
};

class CudaRuntime : public Runtime {
public:
    explicit CudaRuntime(int device);
    ~CudaRuntime() override;
    CudaRuntime(const CudaRuntime&) = delete;
    CudaRuntime& operator=(const CudaRuntime&) = delete;

    std::string name() const override { return m_properties.name; }
    std::int64_t freeBytes() const override;
    std::int64_t totalBytes() const override { return static_cast<std::int64_t>(m_properties.totalGlobalMem); }
    double flopsGuess(bool half) const override { return m_properties.multiProcessorCount * (half ? 5e12 : 0.35e12); }
    double bytesGuess() const override { return 1.5e12; }

    std::byte* allocate(std::int64_t bytes) override;
    void release(std::byte* memory) override;
    void set(void* memory, int byte, std::int64_t bytes) override;
    void copy(void* to, const void* from, std::int64_t bytes) override;
    void download(void* to, const void* from, std::int64_t bytes) override;
    const void* table(const void* bytes, std::int64_t size) override;
    void wait() override { check(cudaStreamSynchronize(m_stream), "waiting for the GPU"); }
    void beginTimed() override;
    void openTimed() override;
    double endTimed() override;
    void beginTimedUnheld() override;
    bool isDone() override;
    void gemm(const Gemm& gemm) override;
#define SHARDBOARD_CUDA_LAUNCH(Body)                                                                                               \
    void launch(const Body& body, const Grid& grid) override                                                                       \
    {                                                                                                                              \
        use();                                                                                                                     \
        launchOn(m_stream, body, grid);                                                                                            \
        check(cudaPeekAtLastError(), "starting " #Body);                                                                           \
    }
    SHARDBOARD_CUDA_BODIES(SHARDBOARD_CUDA_LAUNCH)
#undef SHARDBOARD_CUDA_LAUNCH
    void beginRecording() override;
    std::unique_ptr<Replay> endRecording() override;
    double clock() const override { return m_clock.megahertz(); }

    void* stream() const override { return m_stream; }

private:
    /// Where there are several GPUs in a process, memory and launches go to the one that was chosen last.
    void use() const { check(cudaSetDevice(m_device), "choosing the GPU"); }

    int m_device;
    cudaDeviceProp m_properties {};
    cudaStream_t m_stream = nullptr;
    cudaEvent_t m_start = nullptr;
    cudaEvent_t m_stop = nullptr;
    unsigned* m_flag = nullptr; ///< pinned: the gate waits for it
    unsigned m_turn = 0;
    bool m_recording = false;
    bool m_stopped = false; ///< the end of what is timed was asked for
    const CublasFunctions* m_cublas = nullptr;
    cublasHandle_t m_handle = nullptr;
    void* m_workspace = nullptr;
    ClockReader m_clock;
    std::vector<std::byte*> m_chunks; ///< of tables
    std::int64_t m_chunkLeft = 0;
    std::byte* m_chunkNext = nullptr;
    std::unordered_map<std::string, const void*> m_tables;
};

CudaRuntime::CudaRuntime(int device)
    : m_device(device)
{
    if (const std::string missing = whyNoGpu(); !missing.empty())
        throw Failure { "backend", missing, "cuda" };
    std::string missing;
    m_cublas = cublasFunctions(missing);
    use();
    check(cudaGetDeviceProperties(&m_properties, m_device), "asking for the GPU's properties");
    check(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking), "making a stream");
    check(cudaEventCreate(&m_start), "making an event");
    check(cudaEventCreate(&m_stop), "making an event");
    check(cudaHostAlloc(reinterpret_cast<void**>(&m_flag), sizeof *m_flag, cudaHostAllocMapped), "pinned memory");
    *m_flag = 0;
    check(cudaMalloc(&m_workspace, static_cast<std::size_t>(kWorkspace)), "memory of cuBLAS");
    check(m_cublas->create(&m_handle), "starting cuBLAS");
    check(m_cublas->setStream(m_handle, m_stream), "cuBLAS on a stream");
    check(m_cublas->setWorkspace(m_handle, m_workspace, static_cast<std::size_t>(kWorkspace)), "memory of cuBLAS");
    check(m_cublas->setMathMode(m_handle,
                                static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
          "precision of cuBLAS");
}

CudaRuntime::~CudaRuntime()
{
    cudaSetDevice(m_device);
    if (m_stream != nullptr)
        cudaStreamSynchronize(m_stream);
    if (m_handle != nullptr)
        m_cublas->destroy(m_handle);
    cudaFree(m_workspace);
    for (std::byte* chunk : m_chunks)
        cudaFree(chunk);
    if (m_flag != nullptr)
        cudaFreeHost(m_flag);
    for (cudaEvent_t event : { m_start, m_stop })
        if (event != nullptr)
            cudaEventDestroy(event);
    if (m_stream != nullptr)
        cudaStreamDestroy(m_stream);
}

std::int64_t CudaRuntime::freeBytes() const
{
    use();
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free memory");
    return static_cast<std::int64_t>(free);
}

std::byte* CudaRuntime::allocate(std::int64_t bytes)
{
    use();
    void* memory = nullptr;
    check(cudaMalloc(&memory, static_cast<std::size_t>(bytes)), "taking memory");
    return static_cast<std::byte*>(memory);
}

void CudaRuntime::release(std::byte* memory)
{
    cudaSetDevice(m_device); // unchecked: destructors call this after a failure, which it may return again
    cudaStreamSynchronize(m_stream);
    cudaFree(memory);
}

void CudaRuntime::set(void* memory, int byte, std::int64_t bytes)
{
    use();
    check(cudaMemsetAsync(memory, byte, static_cast<std::size_t>(bytes), m_stream), "setting memory");
}

void CudaRuntime::copy(void* to, const void* from, std::int64_t bytes)
{
    use();
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, m_stream), "copying");
}

void CudaRuntime::download(void* to, const void* from, std::int64_t bytes)
{
    use();
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, m_stream), "downloading");
    wait();
}

const void* CudaRuntime::table(const void* bytes, std::int64_t size)
{
    std::string key(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
    if (const auto found = m_tables.find(key); found != m_tables.end())
        return found->second;
    if (m_recording)
        throw Failure { "internal", "a new table was uploaded while launches were recorded", "cuda" };
    const std::int64_t room = (size + kTableAlignment - 1) / kTableAlignment * kTableAlignment;
    if (room > m_chunkLeft) {
        const std::int64_t chunk = std::max(kTableChunk, room);
        m_chunks.push_back(allocate(chunk));
        m_chunkNext = m_chunks.back();
        m_chunkLeft = chunk;
    }
    std::byte* const memory = m_chunkNext;
    m_chunkNext += room;
    m_chunkLeft -= room;
    const auto entry = m_tables.emplace(std::move(key), memory).first;
    check(cudaMemcpyAsync(memory, entry->first.data(), static_cast<std::size_t>(size), cudaMemcpyHostToDevice, m_stream),
          "uploading a table");
    return memory;
}

void CudaRuntime::beginTimed()
{
    if (m_recording)
        return;
    use();
    launchGate(m_stream, m_flag, ++m_turn, kGateCycles);
    check(cudaPeekAtLastError(), "starting the gate");
    check(cudaEventRecord(m_start, m_stream), "recording an event");
    m_stopped = false;
}

void CudaRuntime::beginTimedUnheld()
{
    if (m_recording)
        return;
    use();
    check(cudaEventRecord(m_start, m_stream), "recording an event");
    m_stopped = false;
}

bool CudaRuntime::isDone()
{
    if (m_recording)
        return true;
    const cudaError_t state = cudaEventQuery(m_stop);
    if (state != cudaErrorNotReady)
        check(state, "waiting for the GPU");
    return state == cudaSuccess;
}

void CudaRuntime::openTimed()
{
    if (m_recording || m_stopped)
        return;
    use();
    check(cudaEventRecord(m_stop, m_stream), "recording an event");
    *static_cast<volatile unsigned*>(m_flag) = m_turn;
    m_stopped = true;
}

double CudaRuntime::endTimed()
{
    if (m_recording)
        return 0;
    openTimed();
    check(cudaEventSynchronize(m_stop), "waiting for the GPU");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, m_start, m_stop), "reading the time");
    return 1e-3 * static_cast<double>(milliseconds);
}

/// The distance between the same operand of neighbouring products, in bytes; `even` becomes false when it changes.
std::int64_t strideOf(const std::vector<Gemm::Product>& products, const void* (*pick)(const Gemm::Product&), bool& even)
{
    const auto* first = static_cast<const std::byte*>(pick(products.front()));
    const std::int64_t stride = products.size() < 2 ? 0 : static_cast<const std::byte*>(pick(products[1])) - first;
    for (std::size_t i = 1; i < products.size(); ++i)
        if (static_cast<const std::byte*>(pick(products[i])) - first != stride * static_cast<std::int64_t>(i))
            even = false;
    return stride;
}

int asInt(std::int64_t value)
{
    if (value > std::numeric_limits<int>::max())
        fail("a matrix product", "it is larger than cuBLAS counts");
    return static_cast<int>(value);
}

void CudaRuntime::gemm(const Gemm& g)
{
    if (g.products.empty())
        return;
    use();
    const cudaDataType_t type = g.half ? CUDA_R_16BF : CUDA_R_32F;
    const cudaDataType_t typeC = g.halfC ? CUDA_R_16BF : CUDA_R_32F;
    const std::int64_t bytes = g.half ? 2 : 4;
    const std::int64_t bytesC = g.halfC ? 2 : 4;
    // cuBLAS counts columns first: the same memory is the transposed matrices, so that it works out CT = op(B)T op(A)T.
    const cublasOperation_t opA = g.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t opB = g.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int m = asInt(g.n);
    const int n = asInt(g.m);
    const int k = asInt(g.k);
    const int lda = asInt(g.ldb);
    const int ldb = asInt(g.lda);
    const int ldc = asInt(g.ldc);
    const auto count = static_cast<int>(g.products.size());
    bool even = true;
    const std::int64_t strideA = strideOf(
        g.products, [](const Gemm::Product& p) { return p.a; }, even);
    const std::int64_t strideB = strideOf(
        g.products, [](const Gemm::Product& p) { return p.b; }, even);
    const std::int64_t strideC = strideOf(
        g.products, [](const Gemm::Product& p) { return static_cast<const void*>(p.c); }, even);
    even = even && strideA >= 0 && strideB >= 0 && strideC >= 0 && strideA % bytes == 0 && strideB % bytes == 0
        && strideC % bytesC == 0;
    const Gemm::Product& first = g.products.front();
    if (count == 1) {
        check(m_cublas->gemm(m_handle, opB, opA, m, n, k, &g.alpha, first.b, type, lda, first.a, type, ldb, &g.beta, first.c, typeC,
                             ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
              "a matrix product");
    } else if (even) {
        check(m_cublas->gemmStrided(m_handle, opB, opA, m, n, k, &g.alpha, first.b, type, lda, strideB / bytes, first.a, type, ldb,
                                    strideA / bytes, &g.beta, first.c, typeC, ldc, strideC / bytesC, count, CUBLAS_COMPUTE_32F,
                                    CUBLAS_GEMM_DEFAULT),
              "matrix products at once");
    } else {
        std::vector<const void*> pointers;
        for (const Gemm::Product& product : g.products)
            pointers.push_back(product.b);
        for (const Gemm::Product& product : g.products)
            pointers.push_back(product.a);
        for (const Gemm::Product& product : g.products)
            pointers.push_back(product.c);
        const auto* table = static_cast<const void* const*>(
            this->table(pointers.data(), static_cast<std::int64_t>(pointers.size() * sizeof(void*))));
        check(m_cublas->gemmPointers(m_handle, opB, opA, m, n, k, &g.alpha, table, type, lda, table + count, type, ldb, &g.beta,
                                     const_cast<void* const*>(table + 2 * static_cast<std::int64_t>(count)), typeC, ldc, count,
                                     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
              "matrix products at once");
    }
}

void CudaRuntime::beginRecording()
{
    wait();
    check(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeThreadLocal), "recording");
    m_recording = true;
}

std::unique_ptr<Replay> CudaRuntime::endRecording()
{
    m_recording = false;
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(m_stream, &graph), "recording");
    return std::make_unique<GraphReplay>(m_stream, graph);
}

std::string findReason()
{
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
        int driver = 0;
        if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
            return "there is no NVIDIA driver on this machine, so no GPU; run on a machine with one";
        return error == cudaErrorInsufficientDriver
            ? "the NVIDIA driver is older than the CUDA " + std::to_string(CUDART_VERSION / 1000) + "."
                + std::to_string(CUDART_VERSION % 1000 / 10) + " of this build; install a newer driver"
            : "the NVIDIA driver finds no GPU; see nvidia-smi";
    }
    if (error != cudaSuccess)
        return std::string("the NVIDIA driver answers: ") + cudaGetErrorString(error);
    if (const char* kernel = kernelError())
        return std::string("this build has no kernels for the GPU here (") + kernel
            + "); configure with -DCMAKE_CUDA_ARCHITECTURES=native on this machine";
    std::string missing;
    cublasFunctions(missing);
    return missing;
}

} // namespace

std::string whyNoGpu()
{
    static const std::string reason = findReason();
    return reason;
}

int gpuCount()
{
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

GpuFacts gpuFacts(int device)
{
    cudaDeviceProp properties {};
    check(cudaGetDeviceProperties(&properties, device), "asking for the GPU's properties");
    std::string id;
    for (const char byte : properties.uuid.bytes)
        for (const int half : { byte >> 4 & 15, byte & 15 })
            id += "0123456789abcdef"[half];
    return { properties.name, properties.multiProcessorCount, static_cast<std::int64_t>(properties.totalGlobalMem), id };
}

std::string chooseGpu(int device)
{
    const cudaError_t error = cudaSetDevice(device);
    return error == cudaSuccess ? std::string() : cudaGetErrorString(error);
}

std::unique_ptr<Runtime> makeCudaRuntime(int device) { return std::make_unique<CudaRuntime>(device); }

} // namespace shardboard::engine::cuda
