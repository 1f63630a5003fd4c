#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace forebay {

/// Which old samples a rehearsal keeps where there are more than it has room for.
enum class RehearsalPolicy : uint8_t {
  /// Each class has `capacity` places. Once they are full, the t-th sample of the class takes a place drawn at random with the probability
  /// capacity / t (Vitter 1985, algorithm R), so that the kept ones are a uniform sample of the class.
  kReservoir,
  /// All classes share `capacity` places: a sample of a class that was never the largest takes the place of one of the largest class, one of any other class
  /// a place of its own class with the probability kept / seen (Chrysakis and Moens 2020, class-balancing reservoir sampling).
  kBalanced,
  kRecent,  ///< the latest `capacity` of each class
};

struct RehearsalOptions {
  uint64_t seed = 0;
  RehearsalPolicy policy = RehearsalPolicy::kReservoir;
  int64_t capacity = 1;  ///< samples: of each class, or with kBalanced of all
  int64_t draws = 1;     ///< old samples that a step gets, over all ranks
  std::optional<int64_t> candidates =
      {};  ///< new samples of a step, drawn at random, that may be kept; all where not given
};

/// A step by its place in the run.
struct StepNumber {
  int64_t epoch = 0, step = 0;
};

/// A sample that is kept, and the epoch in which it was new.
struct KeptSample {
  int64_t id = 0;
  int64_t epoch = 0;
  friend bool operator==(const KeptSample&, const KeptSample&) = default;
};

/// What a rehearsal keeps, by number: a function of the seed, the samples that came and the steps they came in, and of nothing else. The same on every rank.
class Rehearsal {
 public:
  struct Sample {
    int64_t id = 0;
    int64_t label = 0;
    friend bool operator==(const Sample&, const Sample&) = default;
  };
  struct Class {
    int64_t seen = 0;              ///< samples that could have been kept
    bool largest_once = false;     ///< with kBalanced
    std::vector<KeptSample> kept;  ///< by place
    int64_t next = 0;              ///< with kRecent: the place of the oldest
    friend bool operator==(const Class&, const Class&) = default;
  };

  explicit Rehearsal(const RehearsalOptions& options) : options_(options) {}

  const RehearsalOptions& options() const { return options_; }
  /// By label.
  const std::map<int64_t, Class>& classes() const { return classes_; }
  void restore(std::map<int64_t, Class> classes) { classes_ = std::move(classes); }
  int64_t size() const;
  /// All of them.
  std::vector<KeptSample> all() const;

  /// The old samples that a step gets, and `more` of them: uniform over all that is kept, without repeats where there are enough; none where nothing
  /// is kept.
  std::vector<KeptSample> draw(const StepNumber& at, int64_t more = 0) const;
  struct Changes {
    std::vector<KeptSample> entered, left;  ///< one that entered and left at once is in neither
  };
  /// The new samples of a step, in their order.
  Changes offer(const StepNumber& at, std::span<const Sample> fresh);

 private:
  void offer_one(const KeptSample& sample, int64_t label, uint64_t draw, Changes* changes);
  void put(Class& in, size_t place, const KeptSample& sample, Changes* changes);
  void keep_balanced(const KeptSample& sample, int64_t label, uint64_t draw, Changes* changes);

  RehearsalOptions options_;
  std::map<int64_t, Class> classes_;
};

}  // namespace forebay
