#include "format/joined/join_rows.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

// A value of a sample. The hash stands for the value, so that no texts have to be kept.
struct HashedRow {
  Hash128 hash;
  int64_t row = 0;
  friend bool operator<(const HashedRow& a, const HashedRow& b) {
    return std::tie(a.hash.high, a.hash.low, a.row) < std::tie(b.hash.high, b.hash.low, b.row);
  }
};

// The samples of a part by their values.
class RowsByValue {
 public:
  static Result<RowsByValue> of(const JoinedPart& part, const JoinValue& value) {
    RowsByValue index;
    const int64_t all = part.own_size();
    index.rows_.reserve(static_cast<size_t>(all));
    for (int64_t i = 0; i < all; ++i) {
      const int64_t row = part.row(i);
      FOREBAY_ASSIGN(const std::string text, value(part, row));
      index.rows_.push_back({hash128(text), row});
    }
    std::sort(index.rows_.begin(), index.rows_.end());
    for (size_t i = 1; i < index.rows_.size(); ++i) {
      if (!(index.rows_[i].hash == index.rows_[i - 1].hash)) continue;
      const int64_t a = index.rows_[i - 1].row, b = index.rows_[i].row;
      FOREBAY_ASSIGN(const std::string text, value(part, a));
      return invalid_argument(
          fmt::format("zip: two samples of the part '{}' are '{}': {} and {}; only the first part may have several "
                      "samples of one value",
                      part.name, text, part.source->key(a), part.source->key(b)));
    }
    return index;
  }

  // The sample with that value, or -1.
  int64_t find(const Hash128& hash) const {
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), HashedRow{hash, 0});
    return at != rows_.end() && at->hash == hash ? at->row : -1;
  }

 private:
  std::vector<HashedRow> rows_;
};

// Samples of the first part that have no partner in another one.
struct Lonely {
  static constexpr size_t kShown = 3;
  const JoinedPart* lacking = nullptr;  // the part without a partner of the first of them
  std::vector<std::string> values;      // of the first few
  int64_t count = 0;

  Status to_status(int64_t all) const {
    std::string names;
    for (const std::string& value : values) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", value);
    const int64_t more = count - static_cast<int64_t>(values.size());
    if (more > 0) names += fmt::format(" and {} more", more);
    const std::string what =
        count == all ? fmt::format("zip: no sample has a partner in the part '{}'", lacking->name)
                     : fmt::format("zip: {} of {} samples have no partner in the part '{}'", count, all, lacking->name);
    return invalid_argument(fmt::format("{}: {}; {}", what, names,
                                        count == all ? "compare the keys of both, or join on another field with on="
                                                     : "add what is missing, or leave them out with missing=\"drop\""));
  }
};

}  // namespace

Result<JoinedRows> join_rows(const std::vector<JoinedPart>& parts, const JoinValue& value, Unmatched unmatched) {
  const JoinedPart& first = parts.front();
  const int64_t all = first.own_size();
  std::vector<Hash128> hashes;
  hashes.reserve(static_cast<size_t>(all));
  for (int64_t i = 0; i < all; ++i) {
    FOREBAY_ASSIGN(const std::string text, value(first, first.row(i)));
    hashes.push_back(hash128(text));
  }
  // The partners in each part, -1 without one. One part after the other, so that one index is in
  // memory at a time.
  std::vector<std::vector<int64_t>> partners;
  std::vector<bool> complete(hashes.size(), true);
  for (size_t part = 1; part < parts.size(); ++part) {
    FOREBAY_ASSIGN(const RowsByValue index, RowsByValue::of(parts[part], value));
    std::vector<int64_t>& of_part = partners.emplace_back();
    Lonely lonely{&parts[part], {}, 0};
    for (size_t row = 0; row < hashes.size(); ++row) {
      of_part.push_back(index.find(hashes[row]));
      if (of_part.back() >= 0) continue;
      complete[row] = false;
      ++lonely.count;
      if (lonely.values.size() == Lonely::kShown) continue;
      FOREBAY_ASSIGN(lonely.values.emplace_back(), value(first, first.row(static_cast<int64_t>(row))));
    }
    if (lonely.count > 0 && (unmatched == Unmatched::kError || lonely.count == all)) return lonely.to_status(all);
  }
  JoinedRows matches;
  matches.others.resize(partners.size());
  for (size_t row = 0; row < hashes.size(); ++row) {
    if (!complete[row]) continue;
    matches.first.push_back(first.row(static_cast<int64_t>(row)));
    for (size_t part = 0; part < partners.size(); ++part) matches.others[part].push_back(partners[part][row]);
  }
  return matches;
}

std::shared_ptr<const PackedInts> packed_rows(const std::vector<int64_t>& rows) {
  const int64_t largest = rows.empty() ? 0 : *std::ranges::max_element(rows);
  auto packed = std::make_shared<PackedInts>(rows.size(), static_cast<uint64_t>(largest));
  for (const int64_t row : rows) packed->push_back(static_cast<uint64_t>(row));
  return packed;
}

}  // namespace forebay
