#include "format/files/listing_plan.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "format/files/split_points.h"

namespace forebay {

namespace {
/// A folder with more pages is divided into parts. In smaller ones the requests that find nothing
/// would not pay off.
constexpr uint64_t kPagesBeforeCut = 3;
constexpr size_t kRunNames = 100;
}  // namespace

ListingPlan::ListingPlan(const ListingTraits& traits, Boundaries known, const std::string& prefix)
    : traits_(traits), known_(std::move(known)) {
  enter(prefix);
}

std::optional<ListingPlan::Part> ListingPlan::next() {
  if (waiting_.empty() || in_flight_ >= traits_.at_once) return std::nullopt;
  Part part = std::move(waiting_.front());
  waiting_.pop_front();
  ++in_flight_;
  return part;
}

/// Lists all of a folder: in the known parts, or from its beginning.
void ListingPlan::enter(const std::string& folder) {
  Part part;
  part.request.prefix = folder;
  const auto known = known_.find(folder);
  if (known != known_.end() && traits_.in_ranges) {
    part.of_large_folder = true;
    cut(part, known->second);
  }
  waiting_.push_back(std::move(part));
}

/// `part` keeps the names before the first point; the rest becomes waiting parts.
void ListingPlan::cut(Part& part, const std::vector<std::string>& points) {
  if (points.empty()) return;
  for (size_t i = 0; i < points.size(); ++i) {
    Part next;
    next.of_large_folder = true;
    next.request.prefix = part.request.prefix;
    next.request.after = points[i];
    next.request.until = i + 1 < points.size() ? points[i + 1] : part.request.until;
    waiting_.push_back(std::move(next));
  }
  part.of_large_folder = true;
  part.request.until = points.front();
}

namespace {

/// Removes folder markers. Buckets have no folders, so consoles and Hadoop create objects of 0
/// bytes named "photos/", "photos" or "photos_$folder$". They are not samples.
void drop_folder_markers(const std::string& folder, ListPage& page) {
  const auto is_empty = [](const ObjectInfo& object) { return object.size == 0 && !object.dead_link; };
  if (std::ranges::none_of(page.objects, is_empty)) return;
  const std::unordered_set<std::string_view> folders(page.prefixes.begin(), page.prefixes.end());
  std::erase_if(page.objects, [&](const ObjectInfo& object) {
    return is_empty(object) && (object.key.ends_with('/') || object.key == folder ||
                                object.key.ends_with("_$folder$") || folders.contains(object.key + '/'));
  });
}

}  // namespace

void ListingPlan::take(Part part, ListPage& page, const OnPage& on_page) {
  --in_flight_;
  const std::string folder = part.request.prefix;
  const uint64_t found = page.objects.size() + page.prefixes.size();
  entries_ += found + page.hidden;
  ++part.pages;
  const bool more = !page.continuation.empty();
  if (traits_.in_ranges && found > 0 && (more || part.of_large_folder || part.pages > 1)) {
    record(folder, page);
  }
  std::vector<std::string> points;
  if (more && traits_.in_ranges && (part.of_large_folder || part.pages >= kPagesBeforeCut)) {
    points = split_points(folder, page, part.request.until, free_slots());
  }
  drop_folder_markers(folder, page);
  on_page(folder, page);
  for (const std::string& below : page.prefixes) enter(below);
  if (!more) return;
  part.request.continuation = page.continuation;
  cut(part, points);
  // Placed first, so that a folder is finished before others are begun and fewer are in memory at a
  // time.
  waiting_.push_front(std::move(part));
}

/// Records runs shorter than a page, so that they add up to parts of even size. Hidden names count
/// for the last name.
void ListingPlan::record(const std::string& folder, const ListPage& page) {
  size_t recorded = 0;
  if (page.prefixes.empty()) {
    for (size_t i = kRunNames; i < page.objects.size(); i += kRunNames) {
      recorder_.add(folder, page.objects[i - 1].key, kRunNames);
      recorded = i;
    }
  }
  recorder_.add(folder, last_name(page), page.objects.size() + page.prefixes.size() + page.hidden - recorded);
}

/// How many more parts may wait. More parts would be guesses that are not needed yet.
size_t ListingPlan::free_slots() const {
  const size_t busy = in_flight_ + waiting_.size() + 1;
  return busy < traits_.at_once ? traits_.at_once - busy : 0;
}

}  // namespace forebay
