#include "pipeline/run/thread_time.h"

#include <utility>

#include "base/clock.h"

namespace forebay {

namespace {

thread_local Spell* innermost = nullptr;

size_t place(Work what) { return static_cast<size_t>(what); }

}  // namespace

void ThreadTime::begin(Work what, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  ended_less_begun_[place(what)] -= now_ns;
  ++at_it_[place(what)];
}

void ThreadTime::end(Work what, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  ended_less_begun_[place(what)] += now_ns;
  --at_it_[place(what)];
}

void ThreadTime::change(Work from, Work to, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  ended_less_begun_[place(from)] += now_ns;
  --at_it_[place(from)];
  ended_less_begun_[place(to)] -= now_ns;
  ++at_it_[place(to)];
}

ThreadTime::Parts ThreadTime::parts(int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  Parts parts = ended_less_begun_;
  for (size_t i = 0; i < kWorks; ++i) parts[i] += at_it_[i] * now_ns;
  return parts;
}

Spell::Spell(ThreadTime& time, Work what) : time_(time), what_(what), outer_(std::exchange(innermost, this)) {
  time_.begin(what_, monotonic_ns());
}

Spell::~Spell() {
  time_.end(what_, monotonic_ns());
  innermost = outer_;
}

void Spell::change(const ThreadTime& time, Work to) {
  if (innermost == nullptr || &innermost->time_ != &time) return;
  innermost->time_.change(std::exchange(innermost->what_, to), to, monotonic_ns());
}

}  // namespace forebay
