#include "runtime/executor.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace forebay {

Executor::Executor(int threads) : thread_count_(threads) {
  threads_.reserve(static_cast<size_t>(threads));
  try {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([state = state_] { run(state); });
      pthread_setname_np(threads_.back().native_handle(), "forebay-compute");
    }
  } catch (...) {
    stop();  // those that did start
    throw;
  }
}

Executor::~Executor() { stop(); }

void Executor::post(uint64_t priority, Task task) {
  // Notified under the lock: once that is free the task may run, and whoever waited for it may end the executor.
  std::lock_guard lock(state_->mutex);
  state_->queue.push({priority, state_->posted++, std::move(task)});
  if (state_->idle > 0) state_->wake.notify_one();
}

void Executor::stop() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    state_->wake.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else if (thread.joinable()) {
      thread.join();
    }
  }
}

void Executor::abandon() {
  std::lock_guard lock(state_->mutex);
  state_->stopping = true;
  state_->wake.notify_all();
  for (std::thread& thread : threads_) thread.detach();
  threads_.clear();
}

void Executor::run(const std::shared_ptr<State>& state) {
  // Signals belong to the threads of the program that uses the engine.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  WorkMemory memory;
  std::unique_lock lock(state->mutex);
  for (;;) {
    while (state->queue.empty() && !state->stopping) {
      ++state->idle;
      state->wake.wait(lock);
      --state->idle;
    }
    if (state->queue.empty()) return;
    Task task = std::move(state->queue.top().task);
    state->queue.pop();
    lock.unlock();
    task(memory);
    task = nullptr;
    lock.lock();
  }
}

}  // namespace forebay
