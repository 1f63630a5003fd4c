#include "format/files/split_points.h"

#include <algorithm>
#include <bitset>

namespace forebay {

namespace {

using Characters = std::bitset<128>;

std::string_view without_slash(std::string_view name) {
  if (name.ends_with('/')) name.remove_suffix(1);
  return name;
}

void add_span(char first, char last, Characters* set) {
  for (char c = first; c <= last; ++c) set->set(static_cast<size_t>(c));
}

/// Adds all characters of the same kind as `c`: digits, or letters of one case. If
/// `only_hexadecimal`, hexadecimal letters add only hexadecimal letters.
void add_kind(char c, bool only_hexadecimal, Characters* set) {
  if (c >= '0' && c <= '9') add_span('0', '9', set);
  if (c >= 'a' && c <= 'z') add_span('a', only_hexadecimal && c <= 'f' ? 'f' : 'z', set);
  if (c >= 'A' && c <= 'Z') add_span('A', only_hexadecimal && c <= 'F' ? 'F' : 'Z', set);
}

/// What the names of a page suggest about later names.
class Names {
 public:
  Names(size_t folder_size, const ListPage& page) : begin_(folder_size) {
    const auto for_each = [&page](auto&& use) {
      for (const ObjectInfo& object : page.objects) use(object.key);
      for (const std::string& folder : page.prefixes) use(without_slash(folder));
    };
    for_each([this](std::string_view name) { add(name); });
    for_each([this, from = differ_at(), tail = common_tail()](std::string_view name) {
      name.remove_suffix(std::min(tail, name.size()));
      for (size_t i = from; i < name.size(); ++i) {
        if (static_cast<unsigned char>(name[i]) < 128) seen_.set(static_cast<size_t>(name[i]));
      }
    });
    bool beyond_f = false;
    for (size_t letter = 'g'; letter <= 'z'; ++letter) beyond_f = beyond_f || seen_[letter] || seen_[letter - 32];
    kinds_ = seen_;
    for (size_t i = 0; i < seen_.size(); ++i) {
      if (seen_[i]) add_kind(static_cast<char>(i), !beyond_f, &kinds_);
    }
  }

  std::string_view last() const { return last_; }
  /// The first position at which names differ; later positions vary within a page.
  size_t differ_at() const {
    const auto at = std::ranges::mismatch(first_, last_);
    return static_cast<size_t>(at.in1 - first_.begin());
  }

  /// Characters that may occur where the last name has `c`.
  Characters alphabet(char c) const {
    Characters all = kinds_;
    add_kind(c, /*only_hexadecimal=*/false, &all);
    // A bound must not contain a slash after its folder.
    all.reset('/');
    return all;
  }

 private:
  void add(std::string_view name) {
    if (name.size() <= begin_) return;
    if (first_.empty() || name < first_) first_ = name;
    if (name > last_) last_ = name;
  }
  /// Length of the common ending, such as ".jpg", which says nothing about how names begin.
  size_t common_tail() const {
    size_t tail = 0;
    while (tail < std::min(first_.size(), last_.size()) &&
           first_[first_.size() - 1 - tail] == last_[last_.size() - 1 - tail]) {
      ++tail;
    }
    return tail;
  }

  const size_t begin_;
  std::string_view first_, last_;
  Characters seen_, kinds_;  ///< at positions that differ; the same with the rest of each kind
};

}  // namespace

std::string last_name(const ListPage& page) {
  std::string_view last;
  for (const ObjectInfo& object : page.objects) last = std::max(last, std::string_view(object.key));
  for (const std::string& folder : page.prefixes) last = std::max(last, without_slash(folder));
  return std::string(last);
}

std::vector<std::string> split_points(const std::string& folder, const ListPage& page, std::string_view until,
                                      size_t count) {
  const Names names(folder.size(), page);
  const std::string_view last = names.last();
  std::vector<std::string> points;
  if (last.empty() || count == 0) return points;
  const size_t deepest = std::min(names.differ_at(), last.size() - 1);
  // Positions are visited from the end of the last name backwards, so points come in ascending
  // order.
  for (size_t at = deepest + 1; at-- > folder.size();) {
    const char here = last[at];
    // A part of a non-ASCII character, whose successors are unknown.
    if (static_cast<unsigned char>(here) >= 128) continue;
    const Characters alphabet = names.alphabet(here);
    for (size_t next = static_cast<size_t>(here) + 1; next < alphabet.size(); ++next) {
      if (!alphabet[next]) continue;
      std::string point(last.substr(0, at));
      point += static_cast<char>(next);
      if (!until.empty() && point >= until) break;
      points.push_back(std::move(point));
    }
  }
  // Distant points divide more names than near ones.
  if (points.size() > count) points.erase(points.begin(), points.end() - static_cast<std::ptrdiff_t>(count));
  return points;
}

}  // namespace forebay
