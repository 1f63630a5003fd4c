#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "format/files/listing_boundaries.h"
#include "store/store.h"

namespace forebay {

/// Decides which listings a walk requests next. Folders are listed one by one; small ones page
/// after page. Large ones are listed in many parts at once if the store can list ranges. Has no
/// threads and no clock: one call at a time.
///
/// Parts divide a folder's names without gap or overlap, so the result does not depend on where the
/// cuts are. Cuts are guessed from the pages received (split_points()), or known from an earlier
/// walk.
class ListingPlan {
 public:
  /// A folder, or a part of it, that is listed page after page.
  struct Part {
    ListRequest request;
    uint64_t pages = 0;
    bool of_large_folder = false;  ///< part of a folder that is known to be large
  };
  using OnPage = std::function<void(const std::string& folder, ListPage& page)>;

  ListingPlan(const ListingTraits& traits, Boundaries known, const std::string& prefix);

  /// The next part to list. Returns nullopt if that depends on an answer in flight, or if
  /// everything was requested.
  std::optional<Part> next();
  /// Takes the answer to a part that next() returned. `on_page` may drop folders that should not be
  /// entered.
  void take(Part part, ListPage& page, const OnPage& on_page);
  /// Called in place of take() if the listing failed.
  void fail() { --in_flight_; }
  size_t in_flight() const { return in_flight_; }
  bool done() const { return in_flight_ == 0 && waiting_.empty(); }

  uint64_t entries() const { return entries_; }
  Boundaries boundaries() { return std::move(recorder_).boundaries(); }

 private:
  void enter(const std::string& folder);
  void cut(Part& part, const std::vector<std::string>& points);
  void record(const std::string& folder, const ListPage& page);
  size_t free_slots() const;

  const ListingTraits traits_;
  const Boundaries known_;
  std::deque<Part> waiting_;
  size_t in_flight_ = 0;
  uint64_t entries_ = 0;
  BoundaryRecorder recorder_;
};

}  // namespace forebay
