#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace forebay {

/// What the consumer of a run waits for: what its oldest element that is not done is waiting for, or is at.
enum class Awaited : uint8_t {
  kPlan,      ///< nothing has been begun yet
  kArrival,   ///< records of a stream that have not arrived
  kMemory,    ///< bytes that others hold
  kSlot,      ///< a request slot of its store
  kStorage,   ///< its bytes are on their way
  kThread,    ///< a compute thread
  kCompute,   ///< a compute thread is at work on it: reading what is at hand, decoding, operators
  kUser,      ///< user code that Python or another host runs
  kAssembly,  ///< all rows are there: they are put together
};
constexpr size_t kAwaited = 9;
/// One word, as in stats().
std::string_view name_of(Awaited what);
/// For the log; `name` is that of the oldest element that is not done.
std::string sentence_of(Awaited what, const std::string& name);

/// The waits of a consumer, divided without a rest by what was awaited: the parts are the whole to the nanosecond. All times are of
/// one monotonic clock. Guarded by the run's lock.
class Waits {
 public:
  bool waiting() const { return waiting_; }
  void begin(int64_t now_ns, Awaited what);
  /// From now on it is something else.
  void change(int64_t now_ns, Awaited what);
  /// Gives what the wait took, in nanoseconds.
  int64_t end(int64_t now_ns);

  using Parts = std::array<int64_t, kAwaited>;
  /// Nanoseconds of all waits so far, by Awaited.
  const Parts& parts() const { return parts_; }

 private:
  Parts parts_{};
  bool waiting_ = false;
  Awaited what_ = Awaited::kPlan;
  int64_t begun_ = 0, since_ = 0;
};

}  // namespace forebay
