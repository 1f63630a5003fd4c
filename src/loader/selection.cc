#include "loader/selection.h"

#include <algorithm>
#include <bit>

namespace forebay {

namespace {

class FirstSamples final : public Selection {
 public:
  explicit FirstSamples(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  int64_t id_at(int64_t index) const override { return index; }
  void ids_at(std::span<int64_t>) const override {}

 private:
  const int64_t size_;
};

class FirstOf final : public Selection {
 public:
  FirstOf(std::shared_ptr<const Selection> from, int64_t size) : from_(std::move(from)), size_(size) {}
  int64_t size() const override { return size_; }
  int64_t id_at(int64_t index) const override { return from_->id_at(index); }
  void ids_at(std::span<int64_t> indices) const override { from_->ids_at(indices); }

 private:
  const std::shared_ptr<const Selection> from_;
  const int64_t size_;
};

// Position of the n-th (from 0) set bit of a word that has more than n.
int select_bit(uint64_t word, int64_t n) {
  for (; n > 0; --n) word &= word - 1;
  return std::countr_zero(word);
}

}  // namespace

std::shared_ptr<const Selection> first_samples(int64_t size) { return std::make_shared<FirstSamples>(size); }

std::shared_ptr<const Selection> first_of(std::shared_ptr<const Selection> from, int64_t size) {
  const int64_t limited = std::min(size, from->size());
  return std::make_shared<FirstOf>(std::move(from), limited);
}

KeptSamples::KeptSamples(std::shared_ptr<const Selection> from, std::vector<uint64_t> bits)
    : from_(std::move(from)), bits_(std::move(bits)) {
  for (size_t word = 0; word < bits_.size(); ++word) {
    if (word % kWordsPerBlock == 0) ranks_.push_back(size_);
    size_ += std::popcount(bits_[word]);
  }
}

int64_t KeptSamples::id_at(int64_t index) const {
  const auto after = std::upper_bound(ranks_.begin(), ranks_.end(), index);
  const auto block = after - ranks_.begin() - 1;
  int64_t left = index - ranks_[static_cast<size_t>(block)];
  auto word = static_cast<size_t>(block * kWordsPerBlock);
  for (; left >= std::popcount(bits_[word]); ++word) left -= std::popcount(bits_[word]);
  return from_->id_at(static_cast<int64_t>(word) * 64 + select_bit(bits_[word], left));
}

Hash128 KeptSamples::version() const { return hash128(bits_.data(), bits_.size() * sizeof(uint64_t)); }

}  // namespace forebay
