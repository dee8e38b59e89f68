// SPDX-License-Identifier: Apache-2.0
// A worker that follows a script, for tests of the client: fakeengine
// ok|slow|flood|garbage|crash|wordy|hang|silent|chatty|chatter|stranger|old|gpuless|fails|lost
//   ok       hello; a run is announced, makes progress and gives a verified result
//   slow     as ok, but the run lasts until it is cancelled
//   flood    as ok, with a million steps of progress before the result (or as many as `flood N` says), as fast as it can write
//   garbage  hello; then a line that is no message
//   crash    hello; a run writes to the log and dies of a signal
//   wordy    as crash, with a log of many long lines
//   hang     hello; a run never answers, not even a cancel
//   silent   never says hello
//   chatty   as ok, but others speak before the hello, also in its line
//   chatter  others speak for ever, and no worker comes
//   stranger a message in the place of the hello
//   old      hello of another protocol version
//   gpuless  as ok; hello also tells of a backend that cannot be used
//   fails    hello; a run is refused with an error of its own
//   lost     hello; a run is cancelled though nobody asked, and the worker ends: its launcher has lost a process
#include "tests/support/chatter.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include <unistd.h>

using nlohmann::json;

namespace {

void say(const json& message) { std::cout << message.dump() << '\n' << std::flush; }

json result()
{
    const json operation = { { "id", "block/self_attn.o_proj" }, { "kind", "matmul" }, { "median_seconds", 0.002 },
                             { "predicted_seconds", 0.001 },     { "bytes", 0 },       { "count", 2 },
                             { "relative_error", 2.5e-7 } };
    return { { "backend", "cpu" },
             { "devices", 8 },
             { "steps", 1 },
             { "layers", 2 },
             { "verified", true },
             { "compared", true },
             { "tolerance", 1e-5 },
             { "max_relative_error", 2.5e-7 },
             { "worst_op", "block/self_attn.o_proj" },
             { "first_deviation", "" },
             { "step_seconds", { { "median", 0.01 }, { "min", 0.01 }, { "max", 0.01 } } },
             { "predicted_step_seconds", 0.001 },
             { "peak_bytes", 1048576 },
             { "operations", { operation } } };
}

void run(const std::string& script, const json& id, int steps)
{
    say({ { "type", "announce" }, { "id", id }, { "bytes", 1048576 }, { "seconds", 0.5 } });
    say({ { "type", "progress" }, { "id", id }, { "step", 1 }, { "of", 2 }, { "what", "layer 0" } });
    if (script == "flood") {
        const std::string begin =
            R"({"type":"progress","id":)" + id.dump() + R"(,"of":)" + std::to_string(steps) + R"(,"what":"layer 0","step":)";
        for (int step = 2; step <= steps; ++step) // after the one that every run tells of
            std::cout << begin << step << "}\n";
        say({ { "type", "result" }, { "id", id }, { "run", result() } });
    } else if (script == "ok" || script == "gpuless" || script == "chatty") {
        say({ { "type", "unknown-to-you" }, { "id", id } });
        say({ { "type", "result" }, { "id", id }, { "run", result() } });
    } else if (script == "garbage") {
        std::cout << "Segmentation fault (this is no JSON)\n" << std::flush;
    } else if (script == "crash") {
        std::cerr << "out of luck in layer 0\n" << std::flush;
        std::raise(SIGKILL);
    } else if (script == "wordy") {
        for (int line = 0; line < 40; ++line)
            std::cerr << "rank " << line
                      << " of this run could not exchange block/mlp.residual/mlp_out with the others: connection lost\n";
        std::cerr << std::flush;
        std::raise(SIGKILL);
    } else if (script == "lost") {
        say({ { "type", "error" }, { "id", id }, { "code", "cancelled" }, { "message", "cancelled" }, { "where", "" } });
        std::cerr << "rank 1 was killed by signal 9\n" << std::flush;
        std::exit(137);
    } else if (script == "fails") {
        say({ { "type", "error" },
              { "id", id },
              { "code", "memory" },
              { "message", "needs 900 GiB, this machine has 24 GiB; run fewer layers" },
              { "where", "" } });
    }
}

} // namespace

int main(int argc, char** argv)
{
    const std::string script = argc > 1 ? argv[1] : "ok";
    if (script == "chatty" || script == "chatter")
        for (const std::string& line : shardboard::chatterLines())
            std::cout << line << '\n';
    while (script == "chatter") {
        std::cout << "still connecting" << std::endl;
        if (!std::cout)
            return 1; // nobody listens any more
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (script == "chatty")
        std::cout << shardboard::chatterPrompt();
    if (script == "stranger")
        say({ { "type", "result" }, { "id", 1 } });
    if (script != "silent") {
        const json device = { { "name", "test" }, { "threads", 2 }, { "memory_bytes", 1 << 30 } };
        json backends = json::array({ { { "name", "cpu" }, { "devices", { device } } } });
        if (script == "gpuless")
            backends.push_back({ { "name", "cuda" },
                                 { "usable", false },
                                 { "reason", "there is no NVIDIA driver; install one" },
                                 { "devices", json::array() } });
        say({ { "type", "hello" }, { "protocol", script == "old" ? 0 : 1 }, { "backends", backends } });
    }
    std::string line;
    while (std::getline(std::cin, line)) {
        const json message = json::parse(line, nullptr, false);
        if (message.value("type", "") == "run")
            run(script, message["id"], argc > 2 ? std::stoi(argv[2]) : 1000000);
        else if (message.value("type", "") == "cancel" && script == "slow")
            say({ { "type", "error" },
                  { "id", message["id"] },
                  { "code", "cancelled" },
                  { "message", "cancelled" },
                  { "where", "" } });
        else if (message.value("type", "") == "quit")
            break;
        else if (script != "hang") // as a real worker does
            say({ { "type", "error" },
                  { "id", message.value("id", 0) },
                  { "code", "unknown-request" },
                  { "message", "this worker does not know it" },
                  { "where", "type" } });
    }
    if (script == "hang") {
        for (;;)
            ::pause(); // does not leave when its input closes
    }
    return 0;
}
