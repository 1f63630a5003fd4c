#include "pipeline/selection.h"

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

class SpreadOver final : public Selection {
 public:
  SpreadOver(std::shared_ptr<const Selection> from, int64_t size) : from_(std::move(from)), size_(size) {}
  int64_t size() const override { return size_; }
  int64_t id_at(int64_t index) const override {
    // The product of an index and a size needs 128 bits.
    const auto place = static_cast<Wide>(index) * static_cast<Wide>(from_->size()) / static_cast<Wide>(size_);
    return from_->id_at(static_cast<int64_t>(place));
  }

 private:
  using Wide = unsigned __int128;
  const std::shared_ptr<const Selection> from_;
  const int64_t size_;
};

/// The first rows of several ranges of another selection, one range after another.
class Ranges final : public Selection {
 public:
  struct Range {
    int64_t begin = 0, rows = 0;  ///< in the other selection
  };
  Ranges(std::shared_ptr<const Selection> from, std::vector<Range> ranges)
      : from_(std::move(from)), ranges_(std::move(ranges)) {
    for (const Range& range : ranges_) {
      before_.push_back(size_);
      size_ += range.rows;
    }
  }
  int64_t size() const override { return size_; }
  int64_t id_at(int64_t index) const override {
    const auto at = static_cast<size_t>(std::upper_bound(before_.begin(), before_.end(), index) - before_.begin()) - 1;
    return from_->id_at(ranges_[at].begin + index - before_[at]);
  }

 private:
  const std::shared_ptr<const Selection> from_;
  const std::vector<Range> ranges_;
  std::vector<int64_t> before_;
  int64_t size_ = 0;
};

// Chooses `count` chunks evenly, each from the middle of an equal part.
std::vector<Ranges::Range> evenly_chosen(const std::vector<Ranges::Range>& chunks, size_t count) {
  std::vector<Ranges::Range> chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back(chunks[(2 * i + 1) * chunks.size() / (2 * count)]);
  return chosen;
}

int64_t rows_of(const std::vector<Ranges::Range>& chunks) {
  int64_t rows = 0;
  for (const Ranges::Range& chunk : chunks) rows += chunk.rows;
  return rows;
}

// Reduces the chunks to `rows` rows in all. Each chunk gives the same number; if one has fewer,
// others give more.
void limit_rows(std::vector<Ranges::Range>& chunks, int64_t rows) {
  std::vector<int64_t> spare;
  for (size_t i = 0; i < chunks.size(); ++i) {
    const auto left = static_cast<int64_t>(chunks.size() - i);
    const int64_t given = std::min(chunks[i].rows, (rows + left - 1) / left);
    spare.push_back(chunks[i].rows - given);
    chunks[i].rows = given;
    rows -= given;
  }
  for (size_t i = 0; i < chunks.size(); ++i) {
    const int64_t more = std::min(spare[i], rows);
    chunks[i].rows += more;
    rows -= more;
  }
}

// Position of the n-th (from 0) set bit of a word with more than n bits set.
int select_bit(uint64_t word, int64_t n) {
  for (; n > 0; --n) word &= word - 1;
  return std::countr_zero(word);
}

}  // namespace

int64_t selected_before(const Selection& selection, int64_t id) {
  int64_t begin = 0, end = selection.size();
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (selection.id_at(middle) < id) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

std::shared_ptr<const Selection> first_samples(int64_t size) { return std::make_shared<FirstSamples>(size); }

std::shared_ptr<const Selection> first_of(std::shared_ptr<const Selection> from, int64_t size) {
  const int64_t limited = std::min(size, from->size());
  return std::make_shared<FirstOf>(std::move(from), limited);
}

std::shared_ptr<const Selection> spread_over(std::shared_ptr<const Selection> from, int64_t size) {
  if (size >= from->size()) return from;
  return std::make_shared<SpreadOver>(std::move(from), size);
}

std::shared_ptr<const Selection> spread_over_chunks(std::shared_ptr<const Selection> from,
                                                    std::span<const int64_t> rows, int64_t size) {
  if (size >= from->size()) return from;
  std::vector<Ranges::Range> chunks;
  int64_t before = 0;
  for (const int64_t chunk : rows) {
    if (chunk > 0) chunks.push_back({before, chunk});
    before += chunk;
  }
  std::vector<Ranges::Range> chosen;
  // The loop ends: each round has more chunks, and all chunks have more rows than are asked for.
  while (rows_of(chosen) < size) {
    const int64_t lacking = size - rows_of(chosen);
    const int64_t mean = std::max<int64_t>(before / static_cast<int64_t>(chunks.size()), 1);
    const auto more = static_cast<size_t>((lacking + mean - 1) / mean);
    chosen = evenly_chosen(chunks, std::min(chosen.size() + more, chunks.size()));
  }
  limit_rows(chosen, size);
  return std::make_shared<Ranges>(std::move(from), std::move(chosen));
}

MarkedSamples::MarkedSamples(std::shared_ptr<const Selection> from, std::vector<uint64_t> bits)
    : from_(std::move(from)), bits_(std::move(bits)) {
  // One count for each 512 bits: a look-up searches the counts, and then at most eight words.
  for (size_t word = 0; word < bits_.size(); ++word) {
    if (word % kWordsPerBlock == 0) ranks_.push_back(size_);
    size_ += std::popcount(bits_[word]);
  }
}

int64_t MarkedSamples::id_at(int64_t index) const {
  // Only the last block of several with the same rank has set bits.
  const auto after = std::upper_bound(ranks_.begin(), ranks_.end(), index);
  const auto block = after - ranks_.begin() - 1;
  int64_t left = index - ranks_[static_cast<size_t>(block)];
  auto word = static_cast<size_t>(block * kWordsPerBlock);
  for (; left >= std::popcount(bits_[word]); ++word) left -= std::popcount(bits_[word]);
  return from_->id_at(static_cast<int64_t>(word) * 64 + select_bit(bits_[word], left));
}

Hash128 MarkedSamples::version() const { return hash128(bits_.data(), bits_.size() * sizeof(uint64_t)); }

}  // namespace forebay
