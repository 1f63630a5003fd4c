#include "runtime/executor.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace forebay {

Executor::Executor(int threads) : thread_count_(threads) {
  threads_.reserve(static_cast<size_t>(threads));
  try {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this] { run(); });
      pthread_setname_np(threads_.back().native_handle(), "forebay-compute");
    }
  } catch (...) {
    stop();  // those that did start
    throw;
  }
}

Executor::~Executor() { stop(); }

void Executor::post(uint64_t priority, Task task) {
  // Under the lock: once it is free the task may run, and whoever waited for that may end the executor.
  std::lock_guard lock(mutex_);
  queue_.push({priority, posted_++, std::move(task)});
  if (idle_ > 0) wake_.notify_one();
}

void Executor::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Executor::abandon() {
  std::lock_guard lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.detach();
  threads_.clear();
}

void Executor::run() {
  // Signals belong to the threads of the program that uses the engine.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  WorkMemory memory;
  std::unique_lock lock(mutex_);
  for (;;) {
    while (queue_.empty() && !stopping_) {
      ++idle_;
      wake_.wait(lock);
      --idle_;
    }
    if (queue_.empty()) return;
    Task task = std::move(queue_.top().task);
    queue_.pop();
    lock.unlock();
    task(memory);
    task = nullptr;
    lock.lock();
  }
}

}  // namespace forebay
