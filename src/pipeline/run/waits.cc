#include "pipeline/run/waits.h"

#include <fmt/format.h>

namespace forebay {

std::string_view name_of(Awaited what) {
  switch (what) {
    case Awaited::kPlan: return "plan";
    case Awaited::kArrival: return "arrival";
    case Awaited::kMemory: return "memory";
    case Awaited::kSlot: return "slot";
    case Awaited::kStorage: return "storage";
    case Awaited::kThread: return "thread";
    case Awaited::kCompute: return "compute";
    case Awaited::kUser: return "user";
    case Awaited::kAssembly: break;
  }
  return "assembly";
}

std::string sentence_of(Awaited what, const std::string& name) {
  switch (what) {
    case Awaited::kPlan: return "nothing has been begun yet";
    case Awaited::kArrival: return fmt::format("waiting for {}", name);
    case Awaited::kMemory: return fmt::format("{} waits for memory", name);
    case Awaited::kSlot: return fmt::format("{} waits for a request slot", name);
    case Awaited::kStorage: return fmt::format("waiting for storage to give {}", name);
    case Awaited::kThread: return fmt::format("{} waits for a compute thread", name);
    case Awaited::kCompute: return fmt::format("a compute thread is at work on {}", name);
    case Awaited::kUser: return fmt::format("waiting for the user's function on {}", name);
    case Awaited::kAssembly: break;
  }
  return "the batch is being put together";
}

void Waits::begin(int64_t now_ns, Awaited what) {
  waiting_ = true;
  what_ = what;
  begun_ = since_ = now_ns;
}

void Waits::change(int64_t now_ns, Awaited what) {
  if (!waiting_) return;
  parts_[static_cast<size_t>(what_)] += now_ns - since_;
  since_ = now_ns;
  what_ = what;
}

int64_t Waits::end(int64_t now_ns) {
  change(now_ns, what_);
  waiting_ = false;
  return now_ns - begun_;
}

}  // namespace forebay
