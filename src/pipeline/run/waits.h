#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace forebay {

/// Reasons why the consumer of a run waits: states of its oldest element that is not done.
enum class Awaited : uint8_t {
  kPlan,      ///< nothing has begun yet
  kArrival,   ///< records of a stream have not arrived
  kMemory,    ///< it waits for memory that other elements hold
  kSlot,      ///< it waits for a request slot of its store
  kStorage,   ///< its bytes are being read from storage
  kThread,    ///< it waits for a compute thread
  kCompute,   ///< a compute thread works on it
  kUser,      ///< user code runs, in Python or on another host
  kAssembly,  ///< its batch is being assembled
};
constexpr size_t kAwaited = 9;
/// The name in stats().
std::string_view name_of(Awaited what);
/// A sentence for the log. `name` is that of the oldest element that is not done.
std::string sentence_of(Awaited what, const std::string& name);

/// The consumer's waits, divided by what was awaited. The parts add up exactly to the time that was
/// waited. All times are of one monotonic clock. The window owns it; the run's lock guards it.
class Waits {
 public:
  bool waiting() const { return waiting_; }
  void begin(int64_t now_ns, Awaited what);
  /// The reason of the wait is `what` from now on.
  void change(int64_t now_ns, Awaited what);
  /// Returns the length of the wait in nanoseconds.
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
