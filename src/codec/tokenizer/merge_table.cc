#include "codec/tokenizer/merge_table.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>

namespace forebay {

namespace {

using Merge = MergeTable::Merge;
constexpr size_t kShortWord = 64;

// With few tokens, scanning all ranks for each merge costs less than a queue.
void merge_short(const MergeTable& table, std::vector<int32_t>& tokens) {
  Merge merges[kShortWord];
  size_t count = tokens.size();
  for (size_t i = 0; i + 1 < count; ++i) merges[i] = table.find(tokens[i], tokens[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == MergeTable::kNoMerge) break;
    tokens[best] = merges[best].made;
    std::copy(tokens.begin() + static_cast<std::ptrdiff_t>(best) + 2,
              tokens.begin() + static_cast<std::ptrdiff_t>(count),
              tokens.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    std::copy(merges + best + 1, merges + count - 1, merges + best);
    --count;
    if (best + 1 < count) merges[best] = table.find(tokens[best], tokens[best + 1]);
    if (best > 0) merges[best - 1] = table.find(tokens[best - 1], tokens[best]);
  }
  tokens.resize(count);
}

/// A word as a linked list of tokens, with a queue of possible merges.
class LongWord {
 public:
  LongWord(const MergeTable& table, const std::vector<int32_t>& tokens) : table_(table) {
    for (size_t i = 0; i < tokens.size(); ++i) links_.push_back({tokens[i], i == 0 ? 0 : i - 1, i + 1, true});
    for (size_t i = 0; i + 1 < links_.size(); ++i) queue_merge(i);
  }

  void merge() {
    while (!queue_.empty()) {
      const auto [rank, at, right, made] = queue_.top();
      queue_.pop();
      // Skips entries of tokens that have since been merged.
      if (!links_[at].alive || links_[at].next >= links_.size()) continue;
      const Merge current = table_.find(links_[at].token, links_[links_[at].next].token);
      // Each merge adds at most two entries to the queue, so skipped entries do not exceed n log n
      // in total.
      if (current.rank != rank || current.made != made || links_[at].next != right) continue;
      apply_merge(at, made);
    }
  }
  void write(std::vector<int32_t>& tokens) const {
    tokens.clear();
    for (size_t i = 0; i < links_.size(); i = links_[i].next) tokens.push_back(links_[i].token);
  }

 private:
  struct Link {
    int32_t token;
    size_t before, next;  ///< `before` of the first is itself; `next` of the last is the end
    bool alive;
  };
  // Rank, position, its neighbour, merged token.
  using Entry = std::tuple<uint32_t, size_t, size_t, int32_t>;

  void queue_merge(size_t at) {
    const Merge merge = table_.find(links_[at].token, links_[links_[at].next].token);
    if (merge.rank != MergeTable::kNoMerge) queue_.emplace(merge.rank, at, links_[at].next, merge.made);
  }
  void apply_merge(size_t at, int32_t made) {
    Link& left = links_[at];
    Link& right = links_[left.next];
    right.alive = false;
    left.token = made;
    left.next = right.next;
    if (left.next < links_.size()) links_[left.next].before = at;
    if (left.next < links_.size()) queue_merge(at);
    if (left.before != at) queue_merge(left.before);
  }

  const MergeTable& table_;
  std::vector<Link> links_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

MergeTable::MergeTable(size_t merges) : slots_(std::bit_ceil(2 * merges + 2)), mask_(slots_.size() - 1) {}

void MergeTable::add(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = key_of(left, right);
  size_t at = first_slot(key);
  // Terminates, because at most half of the slots are taken.
  while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & mask_;
  slots_[at] = {key, merge};
}

void merge_tokens(const MergeTable& table, std::vector<int32_t>& tokens) {
  if (tokens.size() <= kShortWord) return merge_short(table, tokens);
  LongWord word(table, tokens);
  word.merge();
  word.write(tokens);
}

}  // namespace forebay
