// SPDX-License-Identifier: Apache-2.0
// Results as values. Nothing in model/ throws across its API: a function that can fail on something a user typed
// or opened returns Result<T>. A cancelled job is a third state, not an error.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace shardboard {

/// What kind of failure it is; `shardctl` turns it into an exit code (contract: usage 2, input 3, engine 4, cancelled 5).
enum class ErrorCode { Usage, Input, Engine };

/// One clear line: `WHERE: what is wrong; what to do`.
/// `where` names the file and the place in it (FILE:PLACE), or the option or object that was wrong; it may be empty.
struct Error {
    ErrorCode code = ErrorCode::Input;
    std::string where;
    std::string what;
    std::string fix;

    /// The line shown to people. Never contains a newline.
    std::string text() const;
};

/// An input error at `where`.
Error inputError(std::string where, std::string what, std::string fix = {});
/// A wrong use of a command at `where` (an option or argument).
Error usageError(std::string where, std::string what, std::string fix = {});

struct Cancelled { };
struct Unit { };

template <class T>
class [[nodiscard]] Result {
public:
    Result(T value)
        : m_state(std::in_place_index<0>, std::move(value))
    {
    }
    Result(Error error)
        : m_state(std::in_place_index<1>, std::move(error))
    {
    }
    Result(Cancelled cancelled)
        : m_state(std::in_place_index<2>, cancelled)
    {
    }
    explicit operator bool() const = delete; // write ok(), so that nobody mistakes it for the value

    bool ok() const { return m_state.index() == 0; }
    bool cancelled() const { return m_state.index() == 2; }
    const T& value() const& { return std::get<0>(m_state); }
    T& value() & { return std::get<0>(m_state); }
    T&& value() && { return std::get<0>(std::move(m_state)); }
    /// Only when !ok() and !cancelled().
    const Error& error() const { return std::get<1>(m_state); }

private:
    std::variant<T, Error, Cancelled> m_state;
};

using Status = Result<Unit>;
inline Status done() { return Status(Unit {}); }

} // namespace shardboard
