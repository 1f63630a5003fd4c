#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace forebay {

/// Which samples the replay buffer retains once it is full.
enum class RehearsalPolicy : uint8_t {
  /// Each class has `capacity` slots. Once they are full, the t-th sample of the class takes a
  /// random slot with probability capacity / t (Vitter 1985, algorithm R). So the retained samples
  /// are a uniform sample of the class.
  kReservoir,
  /// All classes share `capacity` slots. A sample of a class that was never the largest replaces a
  /// sample of the largest class. Otherwise it replaces a sample of its own class with probability
  /// retained / seen (Chrysakis and Moens 2020, class-balancing reservoir sampling).
  kBalanced,
  kRecent,  ///< the latest `capacity` of each class
};

struct RehearsalOptions {
  uint64_t seed = 0;
  RehearsalPolicy policy = RehearsalPolicy::kReservoir;
  int64_t capacity = 1;  ///< in samples: of each class, or of all with kBalanced
  int64_t draws = 1;     ///< replayed samples of a step, over all ranks
  /// New samples of a step that may enter the buffer, drawn at random; all if not given.
  std::optional<int64_t> candidates = {};
};

/// A step of a run.
struct StepNumber {
  int64_t epoch = 0, step = 0;
};

/// A sample in the replay buffer, and the epoch in which it was new.
struct ReplaySample {
  int64_t id = 0;
  int64_t epoch = 0;
  friend bool operator==(const ReplaySample&, const ReplaySample&) = default;
};

/// The replay buffer, by sample numbers. Its contents are a function of the seed and of the samples
/// offered at each step, so they are equal on every rank. Used by one thread at a time.
class Rehearsal {
 public:
  struct Sample {
    int64_t id = 0;
    int64_t label = 0;
    friend bool operator==(const Sample&, const Sample&) = default;
  };
  struct Class {
    int64_t seen = 0;                   ///< samples that were offered
    bool was_largest = false;           ///< with kBalanced
    std::vector<ReplaySample> samples;  ///< the samples in the buffer, by slot
    int64_t next = 0;                   ///< with kRecent: slot of the oldest sample
    friend bool operator==(const Class&, const Class&) = default;
  };

  explicit Rehearsal(const RehearsalOptions& options) : options_(options) {}

  const RehearsalOptions& options() const { return options_; }
  /// The classes by label.
  const std::map<int64_t, Class>& classes() const { return classes_; }
  void restore(std::map<int64_t, Class> classes) { classes_ = std::move(classes); }
  int64_t size() const;
  /// All samples in the buffer.
  std::vector<ReplaySample> all() const;

  /// Draws the replayed samples of a step and `more` further ones: uniform over the buffer, without
  /// repeats if it has enough samples. Empty if the buffer is empty.
  std::vector<ReplaySample> draw(const StepNumber& at, int64_t more = 0) const;
  struct Changes {
    std::vector<ReplaySample> entered, left;  ///< without samples that did both
  };
  /// Offers the new samples of a step, in their order.
  Changes offer(const StepNumber& at, std::span<const Sample> fresh);

 private:
  void offer_one(const ReplaySample& sample, int64_t label, uint64_t draw, Changes* changes);
  void put(Class& in, size_t slot, const ReplaySample& sample, Changes* changes);
  void offer_balanced(const ReplaySample& sample, int64_t label, uint64_t draw, Changes* changes);

  RehearsalOptions options_;
  std::map<int64_t, Class> classes_;
};

}  // namespace forebay
