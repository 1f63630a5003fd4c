#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <nanobind/nanobind.h>

#include "base/cond_var.h"
#include "base/mutex.h"

namespace forebay::python {

/// Longest wait before the interpreter is asked whether Ctrl-C was pressed.
inline constexpr std::chrono::milliseconds kSignalPeriod{50};

/// Runs pending signal handlers; throws what they raised (KeyboardInterrupt).
inline void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

/// Runs `work(stop)` on its own thread without the interpreter lock and waits for it, so that
/// Ctrl-C interrupts the wait. An interrupt requests a stop; `work` then runs to its end and its
/// result is dropped. So `work` must own everything it uses, and may touch Python objects only with
/// the interpreter lock. When this function returns normally, `work` and everything it held has
/// been destroyed.
template <typename Work>
auto wait_interruptibly(Work work) {
  using Value = decltype(work(std::stop_token()));
  struct Shared {
    Mutex mutex;
    CondVar done;
    std::optional<Value> value FOREBAY_GUARDED_BY(mutex);
    std::stop_source stop;
  };
  auto shared = std::make_shared<Shared>();
  std::thread([shared, work = std::optional<Work>(std::move(work))]() mutable {
    Value value = (*work)(shared->stop.get_token());
    // Destroyed before the caller continues, perhaps to the end of the interpreter: objects that
    // `work` holds may need the interpreter to be destroyed.
    work.reset();
    Lock lock(shared->mutex);
    shared->value.emplace(std::move(value));
    shared->done.notify_one();
  }).detach();
  while (true) {
    {
      nanobind::gil_scoped_release unlocked;
      Lock lock(shared->mutex);
      if (shared->done.wait_for(lock, kSignalPeriod,
                                [&]() FOREBAY_REQUIRES(shared->mutex) { return shared->value.has_value(); })) {
        return std::move(*shared->value);
      }
    }
    try {
      check_signals();
    } catch (...) {
      shared->stop.request_stop();
      throw;
    }
  }
}

}  // namespace forebay::python
