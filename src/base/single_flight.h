#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/mutex.h"
#include "forebay/buffer.h"

namespace forebay {

/// Ensures that each entry of a cache is made by one element at a time: an element that wants an
/// entry which another one is making waits instead of reading and computing the same. Shared by all
/// loaders of a process that use the same cache.
///
/// An entry without a flight is absent or in the cache. A flight is in one of three states:
///
/// | state | meaning | what a waiter may do |
/// |---|---|---|
/// | working | a read is in flight, or a thread or user code is at work | wait |
/// | paused | the maker needs memory or a thread of its own loader | wait, unless it is oldest |
/// | ended | the entry is in the cache, or failed, or was revoked | look the entry up again |
///
/// A flight begins as working. A working flight makes progress by itself; a paused one may stay
/// so for long. The oldest element of a loader never waits for a paused flight. It makes the entry
/// itself, from the bytes that the paused maker has read, if there are any. Thus no loader waits
/// for memory, threads or a consumer of another loader, and no element waits for a younger one.
///
/// All methods may be called from any thread.
class SingleFlight : public std::enable_shared_from_this<SingleFlight> {
 public:
  /// Callbacks of subscribers. Call them without any lock that they might take.
  using Callbacks = std::vector<std::function<void()>>;

  /// The stored bytes of an object, as read by the maker of its entry.
  struct Stored {
    Buffer bytes;
    uint64_t version = 0;  ///< version of the object as given by its store; 0 if unknown
  };

  class Flight;

  static std::shared_ptr<SingleFlight> make() { return std::make_shared<SingleFlight>(); }

  /// Begins a flight: the caller makes the entry until the flight ends. The flight is working, and
  /// its maker must end or pause it before the maker waits for anything. Null if another element is
  /// making the entry.
  std::unique_ptr<Flight> begin(const Hash128& entry);
  /// Flights that a caller is willing to wait for.
  enum class Wait : uint8_t { kAny, kWorking };
  /// Registers `callback`, which is called once, on any thread: when the entry's flight ends or is
  /// paused. Returns false, and never calls `callback`, if there is no such flight. kWorking
  /// refuses a flight that was just paused, so that the caller is not left waiting for it.
  bool subscribe(const Hash128& entry, Wait what, std::function<void()> callback);

  struct FlightState {
    bool working = true;
    std::optional<Stored> stored;  ///< set for a paused flight whose maker has read them
  };
  /// State of the entry's flight; empty if there is none.
  std::optional<FlightState> state(const Hash128& entry) const;
  /// Number of flights.
  size_t size() const;

 private:
  struct Record {
    FlightState state;
    Callbacks waiting;
  };
  struct HashOf {
    size_t operator()(const Hash128& entry) const { return entry.low; }
  };
  Callbacks end(const Hash128& entry);
  Callbacks pause(const Hash128& entry, std::optional<Stored> stored);
  void resume(const Hash128& entry);

  mutable Mutex mutex_;
  std::unordered_map<Hash128, Record, HashOf> flights_ FOREBAY_GUARDED_BY(mutex_);
};

/// The right to make an entry. Owned by the element that makes it.
class SingleFlight::Flight {
 public:
  /// Ends the flight and calls the subscribers. Must not run under a lock that they might take: use
  /// end() there.
  ~Flight();
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  /// The flight makes progress by itself from here on: a read, a thread or user code is at work.
  void resume() { flights_->resume(entry_); }
  /// The flight needs something of its own loader to go on. `stored` holds the bytes that were read
  /// for it, if any. The caller must call the returned functions.
  [[nodiscard]] Callbacks pause(std::optional<Stored> stored = std::nullopt) {
    return flights_->pause(entry_, std::move(stored));
  }
  /// Ends the flight; later calls do nothing. The caller must call the returned functions.
  [[nodiscard]] Callbacks end();

 private:
  friend class SingleFlight;
  Flight(std::shared_ptr<SingleFlight> flights, const Hash128& entry) : flights_(std::move(flights)), entry_(entry) {}

  const std::shared_ptr<SingleFlight> flights_;
  const Hash128 entry_;
  bool ended_ = false;
};

}  // namespace forebay
