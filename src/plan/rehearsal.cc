#include "plan/rehearsal.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "plan/permutation.h"
#include "plan/philox.h"

namespace forebay {

namespace {

/// Random numbers of one step for one purpose. The n-th is a function of n.
class StepDraws {
 public:
  StepDraws(uint64_t seed, const StepNumber& at, PermutationKey::Use use)
      : key_(PermutationKey::root(seed, use).child(at.epoch).child(at.step)) {}

  uint64_t at(uint64_t n) const {
    const PhiloxCounter drawn = philox4x32({low_word(n), high_word(n), low_word(key_.b), high_word(key_.b)},
                                           {low_word(key_.a), high_word(key_.a)});
    return join_words(drawn[0], drawn[1]);
  }

 private:
  PermutationKey key_;
};

// Maps 64 random bits to [0, bound): the upper half of a product. The bias is below bound / 2^64.
uint64_t rehearsal_below(uint64_t bits, uint64_t bound) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * bound >> 64);
}

/// A set of at most `most` numbers below 2^64 - 1: an open-addressing hash table, because each step
/// needs a set of some dozens of numbers.
class ChosenNumbers {
 public:
  explicit ChosenNumbers(size_t most) : slots_(std::bit_ceil(2 * most + 1), kNone) {}
  /// Returns false if the number is in the set.
  bool insert(uint64_t number) {
    const size_t mask = slots_.size() - 1;
    size_t at = static_cast<size_t>(number * UINT64_C(0x9E3779B97F4A7C15) >> 32) & mask;
    for (; slots_[at] != kNone; at = (at + 1) & mask)
      if (slots_[at] == number) return false;
    slots_[at] = number;
    return true;
  }

 private:
  static constexpr uint64_t kNone = UINT64_MAX;
  std::vector<uint64_t> slots_;
};

// Draws `count` different numbers of [0, size), in random order: Floyd's algorithm, then a shuffle.
std::vector<uint64_t> draw_distinct(const StepDraws& draws, uint64_t count, uint64_t size) {
  ChosenNumbers chosen(count);
  std::vector<uint64_t> order;
  order.reserve(count);
  for (uint64_t last = size - count; last < size; ++last) {
    const uint64_t drawn = rehearsal_below(draws.at(last), last + 1);
    const uint64_t one = chosen.insert(drawn) ? drawn : last;
    if (one == last && drawn != last) chosen.insert(last);
    order.push_back(one);
  }
  // Draws are numbered. [size - count, size) choose, size + 1 to size + count shuffle, and repeats
  // use numbers from 2 × size on.
  for (uint64_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rehearsal_below(draws.at(size + i), i)]);
  return order;
}

}  // namespace

int64_t Rehearsal::size() const {
  int64_t size = 0;
  for (const auto& [label, one] : classes_) size += static_cast<int64_t>(one.samples.size());
  return size;
}

std::vector<ReplaySample> Rehearsal::all() const {
  std::vector<ReplaySample> all;
  for (const auto& [label, one] : classes_) all.insert(all.end(), one.samples.begin(), one.samples.end());
  return all;
}

std::vector<ReplaySample> Rehearsal::draw(const StepNumber& at, int64_t more) const {
  std::vector<std::pair<uint64_t, const Class*>> begins;
  uint64_t all = 0;
  for (const auto& [label, one] : classes_) {
    begins.emplace_back(all, &one);
    all += one.samples.size();
  }
  if (all == 0) return {};
  const StepDraws draws(options_.seed, at, PermutationKey::Use::kRehearsed);
  const auto wanted = static_cast<uint64_t>(options_.draws + more);
  std::vector<uint64_t> slots = draw_distinct(draws, std::min(wanted, all), all);
  for (uint64_t i = slots.size(); i < wanted; ++i) slots.push_back(rehearsal_below(draws.at(2 * all + i), all));
  std::vector<ReplaySample> drawn;
  for (const uint64_t slot : slots) {
    const auto behind = std::upper_bound(begins.begin(), begins.end(), slot,
                                         [](uint64_t sought, const auto& begin) { return sought < begin.first; });
    const auto& [begin, its_class] = *std::prev(behind);
    drawn.push_back(its_class->samples[slot - begin]);
  }
  return drawn;
}

Rehearsal::Changes Rehearsal::offer(const StepNumber& at, std::span<const Sample> fresh) {
  const StepDraws draws(options_.seed, at, PermutationKey::Use::kOffered);
  std::vector<uint64_t> offered(fresh.size());
  std::iota(offered.begin(), offered.end(), uint64_t{0});
  if (options_.candidates && static_cast<uint64_t>(*options_.candidates) < fresh.size()) {
    const StepDraws chosen(options_.seed, at, PermutationKey::Use::kCandidates);
    offered = draw_distinct(chosen, static_cast<uint64_t>(*options_.candidates), fresh.size());
    // In order of arrival, because the contents of a reservoir depend on it.
    std::sort(offered.begin(), offered.end());
  }
  Changes changes;
  for (const uint64_t i : offered) offer_one({fresh[i].id, at.epoch}, fresh[i].label, draws.at(i), &changes);
  return changes;
}

void Rehearsal::offer_one(const ReplaySample& sample, int64_t label, uint64_t draw, Changes* changes) {
  if (options_.policy == RehearsalPolicy::kBalanced) return offer_balanced(sample, label, draw, changes);
  Class& own = classes_[label];
  ++own.seen;
  const auto capacity = static_cast<uint64_t>(options_.capacity);
  if (own.samples.size() < capacity) {
    put(own, own.samples.size(), sample, changes);
  } else if (options_.policy == RehearsalPolicy::kRecent) {
    put(own, static_cast<size_t>(own.next), sample, changes);
    own.next = (own.next + 1) % options_.capacity;
  } else if (const uint64_t slot = rehearsal_below(draw, static_cast<uint64_t>(own.seen)); slot < capacity) {
    put(own, slot, sample, changes);
  }
}

void Rehearsal::put(Class& in, size_t slot, const ReplaySample& sample, Changes* changes) {
  if (slot == in.samples.size()) {
    in.samples.push_back(sample);
  } else {
    const ReplaySample old = std::exchange(in.samples[slot], sample);
    if (std::erase(changes->entered, old) == 0) changes->left.push_back(old);
  }
  changes->entered.push_back(sample);
}

void Rehearsal::offer_balanced(const ReplaySample& sample, int64_t label, uint64_t draw, Changes* changes) {
  Class& own = classes_[label];
  ++own.seen;
  const auto larger = [](const auto& a, const auto& b) { return a.second.samples.size() < b.second.samples.size(); };
  if (size() < options_.capacity) {
    put(own, own.samples.size(), sample, changes);
  } else if (!own.was_largest) {
    Class& largest = std::max_element(classes_.begin(), classes_.end(), larger)->second;
    const uint64_t slot = rehearsal_below(draw, largest.samples.size());
    const ReplaySample old = std::exchange(largest.samples[slot], largest.samples.back());
    largest.samples.pop_back();
    if (std::erase(changes->entered, old) == 0) changes->left.push_back(old);
    put(own, own.samples.size(), sample, changes);
  } else if (const uint64_t slot = rehearsal_below(draw, static_cast<uint64_t>(own.seen)); slot < own.samples.size()) {
    put(own, slot, sample, changes);
  }
  // Only while the buffer is full does it matter which classes were the largest. In all, each
  // sample takes a few passes over the classes.
  if (size() < options_.capacity) return;
  const size_t most = std::max_element(classes_.begin(), classes_.end(), larger)->second.samples.size();
  for (auto& [label_of_class, one] : classes_) one.was_largest |= one.samples.size() == most;
}

}  // namespace forebay
