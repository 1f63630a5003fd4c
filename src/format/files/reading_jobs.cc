#include "format/files/reading_jobs.h"

#include <algorithm>
#include <deque>
#include <system_error>
#include <thread>

#include "base/cond_var.h"
#include "base/mutex.h"
#include "runtime/host.h"

namespace forebay {

namespace {

constexpr size_t kMostThreads = 16;

struct Running {
  size_t number = 0;
  std::unique_ptr<ReadingJob> job;
  uint64_t bytes = 0;
  JobInput input;
  size_t awaited = 0;  ///< answers that have not arrived
};

/// Shared with the answers, which may arrive on any thread.
class JobRun : public std::enable_shared_from_this<JobRun> {
 public:
  JobRun(Store& store, size_t count, const std::function<std::unique_ptr<ReadingJob>(size_t)>& make,
         const ReadingJobsOptions& options)
      : store_(store), count_(count), make_(make), options_(options) {}

  void work() {
    Lock lock(mutex_);
    while (true) {
      std::shared_ptr<Running> next = take_ready();
      if (!next) next = begin();
      if (next) {
        lock.unlock();
        advance(std::move(next));
        lock.lock();
      } else if (active_ == 0 && (next_ == count_ || !error_.ok())) {
        return;
      } else {
        changed_.wait(lock);
      }
    }
  }

  void stop() { fail(cancelled("stopped while the tables were being opened")); }
  Status error() const {
    const Lock lock(mutex_);
    return error_;
  }

 private:
  std::shared_ptr<Running> take_ready() FOREBAY_REQUIRES(mutex_) {
    if (ready_.empty()) return nullptr;
    std::shared_ptr<Running> next = std::move(ready_.front());
    ready_.pop_front();
    return next;
  }

  std::shared_ptr<Running> begin() FOREBAY_REQUIRES(mutex_) {
    if (next_ == count_ || active_ >= options_.at_once || !error_.ok()) return nullptr;
    const uint64_t bytes = options_.bytes ? options_.bytes(next_) : 0;
    // One job always runs, however large, because otherwise nothing would make progress.
    if (active_ > 0 && bytes > options_.budget_bytes - std::min(bytes_, options_.budget_bytes)) return nullptr;
    auto running = std::make_shared<Running>();
    running->number = next_++;
    running->bytes = bytes;
    bytes_ += bytes;
    ++active_;
    return running;
  }

  void advance(std::shared_ptr<Running> running) {
    if (!failed()) {
      if (!running->job) running->job = make_(running->number);
      Result<NextReads> next = running->job->step(std::exchange(running->input, {}));
      if (!next.ok()) fail(next.status());
      if (next.ok() && !next->empty()) return ask(std::move(running), std::move(*next));
    }
    running->job.reset();
    const Lock lock(mutex_);
    bytes_ -= running->bytes;
    --active_;
    changed_.notify_all();
  }

  void ask(std::shared_ptr<Running> running, NextReads next) {
    // Set before the first request, because an answer may come at once and must not look like the
    // last one.
    running->awaited = next.reads.size() + (next.stat ? 1 : 0);
    running->input.buffers.resize(next.reads.size());
    const auto self = shared_from_this();
    if (next.stat) {
      store_.stat(*next.stat, stop_.get_token(), [self, running](Result<ObjectInfo> info) {
        self->answered(running, info.status(), [&](JobInput& input) { input.info = std::move(*info); });
      });
    }
    for (size_t i = 0; i < next.reads.size(); ++i) {
      const auto done = [self, running, i](Result<Buffer> bytes) {
        self->answered(running, bytes.status(), [&](JobInput& input) { input.buffers[i] = std::move(*bytes); });
      };
      // Data in the page cache is read without handing over to another thread.
      std::optional<Result<Buffer>> now = store_.reads_now() ? store_.read_now(next.reads[i]) : std::nullopt;
      if (now)
        done(std::move(*now));
      else
        store_.read(next.reads[i], stop_.get_token(), done);
    }
  }

  void answered(const std::shared_ptr<Running>& running, const Status& status,
                const std::function<void(JobInput&)>& store) {
    const Lock lock(mutex_);
    if (status.ok()) {
      store(running->input);
    } else if (running->input.status.ok()) {
      running->input.status = status;
    }
    if (--running->awaited > 0) return;
    ready_.push_back(running);
    changed_.notify_all();
  }

  bool failed() {
    const Lock lock(mutex_);
    return !error_.ok();
  }

  void fail(Status status) {
    {
      const Lock lock(mutex_);
      if (error_.ok()) error_ = std::move(status);
      changed_.notify_all();
    }
    stop_.request_stop();  // may call the store's callbacks, which take the lock
  }

  Store& store_;
  const size_t count_;
  const std::function<std::unique_ptr<ReadingJob>(size_t)>& make_;
  const ReadingJobsOptions& options_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<std::shared_ptr<Running>> ready_ FOREBAY_GUARDED_BY(mutex_);
  size_t next_ FOREBAY_GUARDED_BY(mutex_) = 0;
  size_t active_ FOREBAY_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;
  Status error_ FOREBAY_GUARDED_BY(mutex_);
  std::stop_source stop_;
};

}  // namespace

Status run_reading_jobs(Store& store, size_t count, const std::function<std::unique_ptr<ReadingJob>(size_t)>& make,
                        const ReadingJobsOptions& options, std::stop_token stop) {
  const auto run = std::make_shared<JobRun>(store, count, make, options);
  const std::stop_callback pass_on(std::move(stop), [run] { run->stop(); });
  std::vector<std::jthread> others;
  const size_t threads = std::min({static_cast<size_t>(usable_cores()), kMostThreads, count});
  try {
    while (others.size() + 1 < threads) others.emplace_back([run] { run->work(); });
  } catch (const std::system_error&) {
    // No further thread can be started; this thread runs all jobs.
  }
  run->work();
  others.clear();
  return run->error();
}

}  // namespace forebay
