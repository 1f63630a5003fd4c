#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "forebay/buffer.h"

namespace forebay {

/// Makes sure that an entry of a cache is made by one at a time: whoever wants an entry that another is making waits for it instead of
/// reading and computing the same. Shared by all loaders of a process that keep entries of one place.
///
/// An entry without a flight is absent, or the cache has it. A flight is in one of three states:
///
/// | state | meaning | what a waiter may do |
/// |---|---|---|
/// | working | it has just begun, a read is in flight, or a thread or user code is at work: the flight moves on by itself | wait |
/// | resting | the maker needs memory or a thread of its own loader, perhaps for long | wait, unless it is the oldest element of its loader |
/// | ended | the entry was put into the cache, or failed, or was revoked | look it up again |
///
/// The oldest element of a loader never waits for a resting flight. It makes the entry itself, from the bytes that the resting maker has
/// read, if it has. Thus no loader waits for memory, threads or a consumer of another one, and no element for a younger one.
///
/// All methods may be called from any thread.
class SingleFlight : public std::enable_shared_from_this<SingleFlight> {
 public:
  /// Functions to be called without a lock that they might take.
  using Told = std::vector<std::function<void()>>;

  /// The stored bytes of an object, as the maker of its entry read them.
  struct Stored {
    Buffer bytes;
    uint64_t version = 0;  ///< of the object, as its store told it; 0 where it did not
  };

  class Flight;

  static std::shared_ptr<SingleFlight> make() { return std::make_shared<SingleFlight>(); }

  /// The caller makes the entry from now on, until the flight ends. The flight is working: it either ends or rests before its maker waits
  /// for anything. Null where another one makes it.
  std::unique_ptr<Flight> begin(const Hash128& entry);
  /// Which flights are waited for.
  enum class Wait : uint8_t { kAny, kWorking };
  /// `told` is called once: when the entry's flight ends, or begins to rest. False, and `told` is never called, where there is no such
  /// flight: whoever waits for working ones alone is not left with one that began to rest just before.
  bool wait(const Hash128& entry, Wait what, std::function<void()> told);

  struct Look {
    bool working = true;
    std::optional<Stored> stored;  ///< of a resting flight whose maker has them
  };
  /// The entry's flight; nothing where there is none.
  std::optional<Look> look(const Hash128& entry) const;
  /// Flights under way.
  size_t size() const;

 private:
  struct State {
    Look look;
    Told waiting;
  };
  struct HashOf {
    size_t operator()(const Hash128& entry) const { return entry.low; }
  };
  Told end(const Hash128& entry);
  Told rest(const Hash128& entry, std::optional<Stored> stored);
  void work(const Hash128& entry);

  mutable std::mutex mutex_;
  std::unordered_map<Hash128, State, HashOf> flights_;
};

/// The right to make an entry. Belongs to the element that makes it.
class SingleFlight::Flight {
 public:
  /// Ends the flight and tells those who wait. Not with a lock that they might take: use end() there.
  ~Flight();
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  /// Something moves the flight on by itself now: a read, a thread, user code.
  void works() { flights_->work(entry_); }
  /// It needs something of its loader to go on. `stored`: what was read for it, if its maker has that. Call what is returned.
  [[nodiscard]] Told rests(std::optional<Stored> stored = std::nullopt) {
    return flights_->rest(entry_, std::move(stored));
  }
  /// Call what is returned; later calls do nothing.
  [[nodiscard]] Told end();

 private:
  friend class SingleFlight;
  Flight(std::shared_ptr<SingleFlight> flights, const Hash128& entry) : flights_(std::move(flights)), entry_(entry) {}

  const std::shared_ptr<SingleFlight> flights_;
  const Hash128 entry_;
  bool ended_ = false;
};

}  // namespace forebay
