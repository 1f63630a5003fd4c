#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "plan/mix_steps.h"
#include "plan/permutation.h"
#include "plan/philox.h"

namespace forebay {

/// The child of each position of a mix, from position 0 on. A model for tests: it goes through all
/// windows and remembers what was drawn, without tables or periods.
class SlowMix {
 public:
  SlowMix(std::vector<MixStep> steps, uint64_t seed)
      : steps_(std::move(steps)), windows_(PermutationKey::root(seed, PermutationKey::Use::kMixWindow)) {}

  std::vector<int32_t> children(int64_t count) const {
    std::vector<int32_t> children;
    for (size_t i = 0; i < steps_.size() && static_cast<int64_t>(children.size()) < count; ++i) {
      const int64_t end = i + 1 < steps_.size() ? std::min(count, steps_[i + 1].from) : count;
      const bool last = i + 1 == steps_.size();
      add_step(i, last ? int64_t{1} << 62 : steps_[i + 1].from, end, &children);
    }
    return children;
  }

 private:
  struct Possible {
    int64_t number = 0;  // the n-th of the child in the step, from 1
    int64_t weight = 0;
    int32_t child = 0;
    bool operator<(const Possible& other) const {
      const int64_t a = number * other.weight, b = other.number * weight;
      return a != b ? a < b : child < other.child;
    }
  };

  // Adds the positions up to `end`, which may be before the end of the step.
  void add_step(size_t number, int64_t step_end, int64_t end, std::vector<int32_t>* children) const {
    const MixStep& step = steps_[number];
    const int64_t length = step_end - step.from;
    const bool evens_out = step.in_ramp && length % 1024 == 0 && length < kMixPeriod;
    const std::vector<int64_t> behind = evens_out ? behind_after(number, length, *children) : std::vector<int64_t>();
    std::vector<int64_t> drawn(step.weights.size());
    for (int64_t begin = step.from; begin < end; begin += 1024) {
      std::vector<Possible> possible;
      for (size_t child = 0; child < drawn.size(); ++child) {
        // Draw n has a share from (n - 1) × period / weight on.
        for (int64_t n = drawn[child] + 1; (n - 1) * kMixPeriod < step.weights[child] * (begin + 1024 - step.from); ++n)
          possible.push_back({n, step.weights[child], static_cast<int32_t>(child)});
      }
      if (evens_out && begin + 1024 == step_end) {
        // What must have been drawn, then what is most behind.
        const auto due = std::partition(possible.begin(), possible.end(), [&](const Possible& draw) {
          return draw.number * kMixPeriod <= draw.weight * length;
        });
        std::sort(due, possible.end(), [&](const Possible& a, const Possible& b) {
          const int64_t left = behind[static_cast<size_t>(a.child)] - a.number * kMixPeriod;
          const int64_t right = behind[static_cast<size_t>(b.child)] - b.number * kMixPeriod;
          return left != right ? left > right : a.child < b.child;
        });
      } else {
        std::sort(possible.begin(), possible.end());
      }
      possible.resize(1024);
      std::vector<int32_t> window;
      for (const Possible& draw : possible) {
        window.push_back(draw.child);
        ++drawn[static_cast<size_t>(draw.child)];
      }
      std::sort(window.begin(), window.end());
      arrange(windows_.child(begin), &window);
      window.resize(static_cast<size_t>(std::min<int64_t>(1024, end - begin)));
      children->insert(children->end(), window.begin(), window.end());
    }
  }

  // The share of each child, of the period, at the end of a step, without the draws before it.
  std::vector<int64_t> behind_after(size_t number, int64_t length, const std::vector<int32_t>& children) const {
    std::vector<int64_t> behind(steps_[number].weights.size());
    for (size_t i = 0; i <= number; ++i) {
      for (size_t child = 0; child < behind.size(); ++child)
        behind[child] += steps_[i].weights[child] * (i == number ? length : steps_[i + 1].from - steps_[i].from);
    }
    for (const int32_t child : children) behind[static_cast<size_t>(child)] -= kMixPeriod;
    return behind;
  }

  static void arrange(const PermutationKey& key, std::vector<int32_t>* window) {
    for (size_t left = window->size(); left > 1; --left) {
      const auto block = static_cast<uint32_t>((left - 1) / 4 * 4);
      const uint64_t draw = philox4x32({block, 0, low_word(key.b), high_word(key.b)},
                                       {low_word(key.a), high_word(key.a)})[(left - 1) % 4];
      std::swap((*window)[left - 1], (*window)[draw * left >> 32]);
    }
  }

  std::vector<MixStep> steps_;
  PermutationKey windows_;
};

}  // namespace forebay
